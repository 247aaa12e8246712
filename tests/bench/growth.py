"""The same requests on tables that are nearly empty and on full ones. BENCH_GROWTH=full: ten
million events, a million runs, a hundred thousand users, ten thousand IP rules; else a fiftieth,
but a tenth of the rules."""

import os
import statistics
import time

from dispatch import first_event
from rest import authentication

IS_FULL = os.environ.get("BENCH_GROWTH") == "full"
RUNS = 1_000_000 if IS_FULL else 20_000
RULES = 10_000 if IS_FULL else 1_000

def timed(calls):
    """The median in milliseconds."""
    waits = []
    for call in calls:
        begin = time.perf_counter()
        call()
        waits.append((time.perf_counter() - begin) * 1000)
    return statistics.median(waits)


def admin_token(rig):
    return rig.api().call("POST", "/v1/auth/login", {
        "login": rig.env["ADMIN_LOGIN"], "password": rig.env["ADMIN_PASSWORD"]})["access_token"]


def look(rig, account, run, threads):
    """What each request takes now, one at a time; 60 idle threads are used up."""
    api, admin = rig.api(account), rig.api()
    admin.token = admin_token(rig)
    found = {
        "GET run": timed([lambda: api.call("GET", f"/v1/runs/{run}")] * 300),
        "GET 50 runs": timed([lambda: api.call("GET", "/v1/runs?limit=50")] * 200),
        "POST run": timed([lambda t=t: api.start_run(t) for t in threads[:40]]),
    }
    rig.wait_for_runs()
    found["first event"] = statistics.median(
        [first_event(rig, account, thread) for thread in threads[40:60]])
    script = rig.file("authentication.sql", authentication(rig, account) + ";\n")
    found["authentication"] = 1000 / rig.pgbench(script, clients=1)
    found["dashboard"] = timed([lambda: admin.call("GET", "/v1/admin/dashboard")] * 100)
    rig.wait_for_runs()
    return found


class Growth:
    """Two parts: the nearly empty system is looked at first of all, the full one in the end."""

    def __init__(self):
        self.account = self.run = self.before = None

    def empty(self, rig, peers, meter, figures):
        del peers, meter
        self.account = rig.accounts(1, 301)[0]
        api = rig.api(self.account)
        self.run = [api.start_run(thread) for thread in self.account.threads[180:240]][0]
        rig.wait_for_runs()
        self.before = self.look_warm(rig, 0)
        for name, wait in self.before.items():
            figures.add(f"{name}, one client", wait, "ms")

    def look_warm(self, rig, first):
        """The second look: the first one warms caches and plans."""
        threads = self.account.threads[first:first + 60]
        look(rig, self.account, self.run, threads)
        rig.wait_for_runs()
        return look(rig, self.account, self.run, threads)

    def full(self, rig, peers, meter, figures):
        del peers, meter
        if self.before is None:
            return figures.skip("growth", "it needs the part `empty` in the same run")
        begin = time.perf_counter()
        rig.sql(rig.own_sql("growth.sql", users=RUNS // 10,
                                user=self.account.user, org=self.account.org,
                                thread=self.account.threads[300], run=self.run, rules=RULES))
        rig.sql("VACUUM (ANALYZE)")
        rig.sql("CHECKPOINT")
        spent = time.perf_counter() - begin
        rows = rig.sql("SELECT count(*) FROM runs")[0][0]
        note = f"{int(rows):,} runs, {RUNS * 10:,} events, {RULES:,} rules; filled in {spent:.0f} s"
        after = self.look_warm(rig, 240)
        for name, wait in after.items():
            figures.add(f"{name}, against the nearly empty system", wait / self.before[name],
                        "times", at_most=1.15, note=f"{wait:.2f} ms; {note}")
            note = ""
        return None
