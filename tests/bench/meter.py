"""CPU time and memory of the private stack's processes, from /proc. Used by bench.py alone."""

import os


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


def machine_idle_seconds():
    with open("/proc/stat", encoding="ascii") as file:
        return int(file.readline().split()[4]) / os.sysconf("SC_CLK_TCK")


class Meter:
    """Groups: pool, nginx, postgres, runner; a group is its masters and their children."""

    ORDER = ("pool", "nginx", "postgres", "runner")

    def __init__(self, env):
        with open(env["PG_DATA"] + "/postmaster.pid", encoding="utf-8") as file:
            postmaster = file.readline().strip()
        self.masters = {
            "pool": env["API_PID"].split(), "nginx": env["NGINX_PID"].split(),
            "postgres": [postmaster], "runner": env["RUNNER_PIDS"].split()}
        self.begin = {}

    def pids(self, group):
        masters = {int(pid) for pid in self.masters[group]}
        return masters | {pid for pid, parent in parents().items() if parent in masters}

    def start(self):
        self.begin = {group: {pid: cpu_ns(pid) for pid in self.pids(group)} for group in self.ORDER}

    def per_unit(self, units):
        """CPU microseconds a unit since start(), in ORDER."""
        costs = []
        for group in self.ORDER:
            spent = sum(cpu_ns(pid) - self.begin[group].get(pid, 0) for pid in self.pids(group))
            costs.append(spent / 1000 / max(units, 1))
        return costs

    def all_seconds(self):
        return sum(cpu_ns(pid) for group in self.ORDER for pid in self.pids(group)) / 1e9

    def memory_kib(self, group):
        total = 0
        for pid in self.pids(group):
            try:
                with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
                    total += sum(int(line.split()[1]) for line in file if line.startswith("Pss:"))
            except OSError:
                continue
        return total
