"""One run read while 64 clients guess passwords: hashing must not take the cores from everybody."""

import json
import multiprocessing
import os
import statistics
import threading
import time

from rig import ROUNDS


class LoginStress:
    """Clients that log in with a wrong password, one after the other each, until it is left."""

    def __init__(self, rig, clients):
        self.rig = rig
        self.clients = clients
        fork = multiprocessing.get_context("fork")
        self.is_over = fork.Event()
        self.told, tell = fork.Pipe(duplex=False)
        self.process = fork.Process(target=self.stress, args=(tell,))
        self.statuses = []

    def stress(self, tell):
        # They stand for other machines, and should not take this one's cores from what is measured:
        # a session of little weight, for kernels that weigh those first.
        os.setsid()
        os.setpriority(os.PRIO_PROCESS, 0, 19)
        try:
            with open("/proc/self/autogroup", "w", encoding="ascii") as group:
                group.write("19")
        except OSError:
            pass
        statuses = [{} for _ in range(self.clients)]
        threads = [threading.Thread(target=self.guess, args=(place, seen))
                   for place, seen in enumerate(statuses)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        tell.send(statuses)

    def guess(self, place, seen):
        line = self.rig.api().line
        while not self.is_over.is_set():
            body = json.dumps({"login": f"guess{place}", "password": "wrong, each time"})
            line.request("POST", "/v1/auth/login", body, {"Content-Type": "application/json"})
            answer = line.getresponse()
            answer.read()
            seen[answer.status] = seen.get(answer.status, 0) + 1
            if answer.status == 503:  # as its Retry-After asks, compressed
                time.sleep(0.1)
        line.close()

    def __enter__(self):
        self.process.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.statuses = self.told.recv()
        self.process.join()

    def count(self, status):
        return sum(seen.get(status, 0) for seen in self.statuses)


def login_stress(rig, peers, meter, figures):
    """In turns with the same without them."""
    del peers, meter
    account = rig.accounts(1, 1)[0]
    path = "/v1/runs/" + rig.api(account).start_run(account.threads[0])
    # In turns with pauses, as clients ask: a machine that is full already has no p99 to keep.
    paced = rig.file("paced.lua", "function delay() return 20 end\n")
    calm, stormy = [], []
    checked = shed = 0
    for _ in range(ROUNDS):
        calm.append(rig.wrk(path, account, paced, connections=8)[2])
        with LoginStress(rig, 64) as stress:
            stormy.append(rig.wrk(path, account, paced, connections=8)[2])
        checked += stress.count(401)
        shed += stress.count(503)
        others = [seen for seen in stress.statuses if set(seen) - {401, 503}]
        if others:
            raise SystemExit(f"a login was answered otherwise: {others[0]}")
    figures.add("GET run, 8 clients with pauses, p99", calm, "ms")
    figures.add("the same under 64 wrong logins, p99", stormy, "ms",
                note=f"{statistics.median(stormy) / statistics.median(calm):.2f} of it without; "
                f"{checked} checked, {shed} shed")
