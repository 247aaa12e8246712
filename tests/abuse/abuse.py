"""One account that acts as badly as the API lets it, and its neighbours who are measured; for
tests/abuse/run. What the account does is a table of kinds, each a process. They and the neighbours
stand for machines elsewhere: so they take what the product leaves of the cores, and the neighbours
wait for none. The quiet is measured before and after, so that what else changes on the machine
meanwhile is in both."""

import atexit
import contextlib
import http.client
import json
import multiprocessing
import os
import secrets
import sys
import threading
import time

from neighbours import Neighbours, p99_of
from rig import Rig, read_env
from task_server import TaskServer
from villain import KINDS, Villain

QUIET_SECONDS = float(os.environ.get("ABUSE_QUIET_SECONDS", "60"))
ABUSE_SECONDS = float(os.environ.get("ABUSE_SECONDS", "120"))
ONLY = os.environ.get("ABUSE_ONLY", "").split()
SETTLE_SECONDS = 10
END_SECONDS_MAX = 60
TIMES_MAX = 3


def set_niceness(number):
    """Of the process, and of its session where Linux weighs sessions. Below 0 as root alone."""
    os.setpriority(os.PRIO_PROCESS, 0, number)
    with contextlib.suppress(OSError), open("/proc/self/autogroup", "w", encoding="ascii") as group:
        group.write(str(number))


def make_idle_group():
    """A control group whose processes run when nobody else wants the core. None: there cannot be
    one, and the least weight has to do."""
    for base in ("/sys/fs/cgroup/cpu", "/sys/fs/cgroup"):
        folder = os.path.join(base, f"hostler-abuse-{os.getpid()}")
        try:
            os.mkdir(folder)
        except OSError:
            continue
        try:
            with open(os.path.join(folder, "cpu.idle"), "w", encoding="ascii") as idle:
                idle.write("1")
            atexit.register(os.rmdir, folder)
            return folder
        except OSError:
            os.rmdir(folder)
    return None


def step_aside(group):
    """Takes what the product leaves of the cores."""
    os.setsid()
    set_niceness(19)
    if group:
        with open(os.path.join(group, "cgroup.procs"), "w", encoding="ascii") as members:
            members.write(str(os.getpid()))


class Abuse:
    """All kinds at once, until it is left; what was answered to each is in `told`."""

    def __init__(self, villain, kinds, group):
        self.villain, self.kinds, self.group = villain, kinds, group
        self.fork = multiprocessing.get_context("fork")
        self.is_over = self.fork.Event()
        self.told, self.running = {}, []

    def act(self, kind, tell):
        step_aside(self.group)
        seen, clients = {}, KINDS[kind][0]
        threads = [threading.Thread(target=self.repeat, args=(kind, i, seen), daemon=True)
                   for i in range(clients)]
        for thread in threads:
            thread.start()
        self.is_over.wait()
        end = time.monotonic() + 15
        for thread in threads:
            thread.join(max(0, end - time.monotonic()))
        tell.send(dict(seen))

    def repeat(self, kind, number, seen):
        step = KINDS[kind][1](self.villain, number)
        while not self.is_over.is_set():
            try:
                status = next(step)
            except (OSError, http.client.HTTPException) as fault:
                status = type(fault).__name__
                step = KINDS[kind][1](self.villain, number)
            seen[status] = seen.get(status, 0) + 1
            if status in (429, 503):  # sooner than Retry-After asks, yet not as fast as it goes
                time.sleep(0.05)

    def __enter__(self):
        for kind in self.kinds:
            told, tell = self.fork.Pipe(duplex=False)
            process = self.fork.Process(target=self.act, args=(kind, tell))
            process.start()
            self.running.append((kind, process, told))
        return self

    def __exit__(self, *_):
        self.is_over.set()
        for kind, process, told in self.running:
            self.told[kind] = told.recv() if told.poll(30) else {"never ended": 1}
            process.kill()
            process.join()


def end(rig, neighbours, villain):
    """As its operator does: suspended, with all its runs, which would go on for minutes."""
    line = neighbours.connect()
    login = {"login": rig.env["ADMIN_LOGIN"], "password": rig.env["ADMIN_PASSWORD"]}
    status, text = neighbours.call(line, "POST", "/v1/auth/login", login)
    if status == 200:
        admin = json.loads(text)["access_token"]
        status, text = neighbours.call(line, "PATCH", "/v1/admin/users/" + villain.id,
                                       {"status": "suspended"}, token=admin)
    if status != 200:
        raise SystemExit(f"suspending the villain answered {status}: {text}")
    waits_until = time.monotonic() + END_SECONDS_MAX
    asked = ("SELECT count(*) FROM runs WHERE status = 'running' AND created_by_user_id ="
             f" '{villain.id}'")
    while rig.sql(asked)[0][0] != "0":
        if time.monotonic() > waits_until:
            raise SystemExit(f"the villain's runs are still at work after {END_SECONDS_MAX} s")
        time.sleep(0.5)


def tell(quiet, loud):
    """The figures, kind by kind; whether all are within bounds."""
    is_well = True
    print(f"{'':24}{'quiet p99':>12}{'abused p99':>12}{'times':>8}{'asked':>14}{'failed':>8}")
    for kind in quiet.waits:
        before, after = p99_of(quiet.waits[kind]), p99_of(loud.waits[kind])
        failed = quiet.failed.get(kind, []) + loud.failed.get(kind, [])
        is_well &= not failed and after <= TIMES_MAX * before
        print(f"{kind:24}{before * 1000:9.1f} ms{after * 1000:9.1f} ms{after / before:8.2f}"
              f"{len(quiet.waits[kind]):8} +{len(loud.waits[kind]):4}{len(failed):8}")
        for fault in failed[:5]:
            print("    " + fault)
    return is_well


def measure(rig, villain, kinds, group):
    """(what the neighbours measured in the quiet, and under abuse; what the abuser was answered)"""
    seconds = 2 * QUIET_SECONDS + ABUSE_SECONDS + END_SECONDS_MAX + SETTLE_SECONDS
    with TaskServer() as tasks, Neighbours(rig, tasks.url, seconds) as neighbours:
        villain.victims = [login for login, _, _ in neighbours.logins]
        quiet = neighbours.measure(QUIET_SECONDS)
        with Abuse(villain, kinds, group) as abuse:
            loud = neighbours.measure(ABUSE_SECONDS)
        end(rig, neighbours, villain)
        time.sleep(SETTLE_SECONDS)
        neighbours.measure(QUIET_SECONDS, quiet)
    return quiet, loud, abuse.told


def main():
    kinds = ONLY or list(KINDS)
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        raise SystemExit(f"ABUSE_ONLY: no kind {unknown[0]}; there are {', '.join(KINDS)}")
    rig = Rig(read_env(sys.argv[1]), sys.argv[2], os.getcwd())
    group = make_idle_group()
    print("The abuser's clients " + ("run when nobody else wants the core." if group else
                                     "have the least weight: there is no control group."))
    with TaskServer(lambda: step_aside(group)) as tasks:
        villain = Villain(rig, "villain" + secrets.token_hex(4), tasks.url)
        if os.geteuid() == 0:
            set_niceness(-15)
        quiet, loud, told = measure(rig, villain, kinds, group)
    print("What the abuser was answered:")
    for kind, seen in told.items():
        print(f"  {kind:20}{json.dumps({str(k): n for k, n in sorted(seen.items(), key=str)})}")
    # Counts every fault of ours, whoever caused the request.
    broken = {kind: n for kind, seen in told.items() for k, n in seen.items() if k == 500}
    if broken:
        print(f"answered 500: {broken}")
    if not tell(quiet, loud) or broken:
        raise SystemExit("abuse: the neighbours noticed")
    print("abuse: the neighbours noticed nothing")


if __name__ == "__main__":
    main()
