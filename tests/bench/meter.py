"""CPU time and memory of processes by group, from /proc. Used by every part of the bench."""

import os
import resource


def threads_of(pid):
    try:
        return os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []


def cpu_ns(pid):
    """What all threads of a process have run; 0 when it is gone."""
    total = 0
    for thread in threads_of(pid):
        try:
            with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as file:
                total += int(file.read().split()[0])
        except OSError:
            continue
    return total


def parents():
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                    found[int(entry)] = int(file.read().rpartition(")")[2].split()[1])
            except OSError:
                continue
    return found


def machine_busy_seconds():
    """All that ran on all cores, ours or not."""
    with open("/proc/stat", encoding="ascii") as file:
        fields = [int(field) for field in file.readline().split()[1:9]]
    idle = fields[3] + fields[4]
    return (sum(fields) - idle) / os.sysconf("SC_CLK_TCK")


def own_seconds():
    """The bench itself and its clients that have ended."""
    spent = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(who)
        spent += usage.ru_utime + usage.ru_stime
    return spent


class Meter:
    """Groups of processes: pool, nginx, postgres, runner, model, and the peers' when they run. A
    group is its first processes and their children."""

    def __init__(self, env):
        with open(env["PG_DATA"] + "/postmaster.pid", encoding="utf-8") as file:
            postmaster = file.readline().strip()
        run_dir = os.path.dirname(env["METRICS_API"])
        with open(os.path.join(run_dir, "fake-model.pid"), encoding="utf-8") as file:
            model = file.read().split()[0]
        self.masters = {
            "pool": env["API_PID"].split(), "nginx": env["NGINX_PID"].split(),
            "Postgres": [postmaster], "daemon": env["RUNNER_PIDS"].split(), "model": [model]}
        self.begin = {}

    def add(self, group, pid):
        self.masters[group] = [str(pid)]

    def pids(self, group):
        masters = {int(pid) for pid in self.masters.get(group, ())}
        return masters | {pid for pid, parent in parents().items() if parent in masters}

    def start(self):
        self.begin = {group: {pid: cpu_ns(pid) for pid in self.pids(group)}
                      for group in self.masters}

    def per_unit(self, units):
        """CPU microseconds a unit since start(), by group."""
        return {group: sum(cpu_ns(pid) - self.begin.get(group, {}).get(pid, 0)
                           for pid in self.pids(group)) / 1000 / max(units, 1)
                for group in self.masters}

    def ended_children_seconds(self, group):
        """What those children of a group have run that ended: sessions that came and went."""
        ticks = 0
        for pid in self.masters[group]:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                ticks += sum(int(part) for part in file.read().rpartition(")")[2].split()[13:15])
        return ticks / os.sysconf("SC_CLK_TCK")

    def known_seconds(self):
        known = sum(cpu_ns(pid) for group in self.masters for pid in self.pids(group)) / 1e9
        return known + own_seconds()

    def memory_kib(self, group, what="Pss"):
        total = 0
        for pid in self.pids(group):
            try:
                with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
                    total += sum(int(line.split()[1]) for line in file
                                 if line.startswith(what + ":"))
            except OSError:
                continue
        return total


class Foreign:
    """The share of the machine that others used, from its making to share(). Postgres' backends and
    clients that end in between count as others when nobody waits for them: a little too much."""

    def __init__(self, meter):
        self.meter = meter
        self.busy, self.known = machine_busy_seconds(), meter.known_seconds()
        self.clock = os.times().elapsed

    def share(self):
        spent = (os.times().elapsed - self.clock) * os.cpu_count()
        others = machine_busy_seconds() - self.busy - (self.meter.known_seconds() - self.known)
        return max(0.0, others / spent) if spent > 0 else 0.0
