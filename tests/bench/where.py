"""Where the time of a request goes: nginx, pool, daemon, and Postgres by statement. One client at a
time (a whole run: eight), so that what a statement took is mostly CPU; what Postgres spent besides
its statements (the commit, the protocol, its own processes) is told as the rest.
pg_stat_statements, which tests/bench/run loads, counts here only."""

import contextlib
import json
import re

from rest import RUN
from rig import SECONDS
from whole_runs import THREADS, TOKENS, ours

SHOWN_MIN = 0.02  # of Postgres: statements below are told together
SHOWN_INSIDE_MIN = 0.1  # the same of those in functions, which are not told

COUNTED = """
SELECT replace(replace(query, E'\\n', ' '), E'\\t', ' '), calls, total_exec_time * 1000, toplevel
FROM pg_stat_statements JOIN pg_roles r ON r.oid = userid
WHERE dbid = (SELECT oid FROM pg_database WHERE datname = 'hostler')
      AND (NOT toplevel OR r.rolname IN ('hostler_api', 'hostler_runner'))
ORDER BY total_exec_time DESC
"""


def plain_text(statement):
    """Without what differs between a statement and what pg_stat_statements keeps of it."""
    text = re.sub(r"'(?:[^']|'')*'|\$\d+|\b\d+\b|\b(?:null|true|false)\b", "?", statement,
                  flags=re.I)
    return re.sub(r"\s+", " ", text).strip().rstrip(";").strip().lower()


@contextlib.contextmanager
def counting(rig):
    rig.sql("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
    rig.sql("ALTER SYSTEM SET pg_stat_statements.track = 'all'")
    rig.sql("SELECT pg_reload_conf(), pg_sleep(0.3)")
    try:
        yield
    finally:
        rig.sql("ALTER SYSTEM RESET pg_stat_statements.track")
        rig.sql("SELECT pg_reload_conf()")


class Profiled:
    """One kind of work: run() answers how many units it did."""

    def __init__(self, title, groups, run):
        self.title, self.groups, self.run = title, groups, run

    def measure(self, rig, meter):
        """(CPU by group, [(statement, calls, µs)] of the top level, the same of functions)."""
        self.run()  # plans and caches
        rig.sql("SELECT pg_stat_statements_reset()")
        meter.start()
        count = self.run()
        costs = meter.per_unit(count)
        names = {plain_text(text): name for name, text in rig.statements.items()}
        sums = {}
        for text, calls, spent, is_top in rig.sql(COUNTED):
            if plain_text(text) not in ("commit", "begin", ""):
                key = is_top, names.get(plain_text(text)) or one_line(text)
                told = sums.get(key, (0, 0))
                sums[key] = told[0] + int(calls) / count, told[1] + float(spent) / count
        rows = sorted(((is_top, name, *told) for (is_top, name), told in sums.items()),
                      key=lambda row: -row[3])
        return costs, *([row[1:] for row in rows if row[0] == level] for level in "tf")


def one_line(text):
    text = " ".join(text.split()).replace("|", "¦")
    return text if len(text) <= 90 else text[:87] + "…"


def works_of(rig, meter):
    account = rig.accounts(1, max(400, round(1200 * SECONDS)), "[delay 0] [words 1]")[0]
    api = rig.api(account)
    runs = [api.start_run(thread) for thread in account.threads[:50]]
    rig.wait_for_runs()
    targets = [(account.token, f"/v1/threads/{thread}/") for thread in account.threads[50:]]
    message = rig.post_script("profile_message.lua", [(t, p + "messages") for t, p in targets],
                              json.dumps({"content": "[delay 0] [words 1]"}))
    start = rig.post_script("profile_start.lua", [(t, p + "runs") for t, p in targets],
                            json.dumps(RUN))

    def read(path, script=None):
        return lambda: rig.wrk(path, account, script, 1)[0]

    def post_runs():
        with rig.daemon_held():
            return rig.wrk("/", account, start, 1)[0]

    load = ours(rig, meter, rig.accounts(8, THREADS),
                f"[delay 0] [words {TOKENS}]")

    asked = ("nginx", "pool", "Postgres")
    return (Profiled("GET run", asked, read(f"/v1/runs/{runs[0]}")),
            Profiled("GET 50 runs", asked, read("/v1/runs?limit=50")),
            Profiled("POST message", asked, read("/", message)),
            Profiled("POST run", asked, post_runs),
            Profiled("a whole run", ("nginx", "pool", "daemon", "Postgres"), load.run))


def tell(figures, work, costs, top, inner):
    bars = [(group, {"": costs[group]}) for group in work.groups if group != "Postgres"]
    for group in work.groups:
        figures.add(f"{work.title}: {group}", costs[group], "µs", is_cpu=True)
    spent = sum(cost for _, _, cost in top)
    # Among several clients a statement waits too.
    share = min(1.0, costs["Postgres"] / spent) if spent else 1.0
    small = 0.0
    for name, calls, cost in top:
        if cost * share < SHOWN_MIN * costs["Postgres"]:
            small += cost * share
            continue
        figures.add(f"{work.title}: Postgres, `{name}`", cost * share, "µs", is_cpu=True,
                    note=f"{calls:.2f} calls")
        bars.append((f"Postgres, {name[:24]}", {"": cost * share}))
    rest = costs["Postgres"] - spent * share
    figures.add(f"{work.title}: Postgres, the rest", rest + small, "µs", is_cpu=True,
                note="commit, protocol, its own processes, statements of little weight")
    bars.append(("Postgres, the rest", {"": rest + small}))
    for name, calls, cost in inner[:12]:
        if cost * share >= SHOWN_INSIDE_MIN * costs["Postgres"]:
            figures.add(f"{work.title}: in functions, `{name}`", cost * share, "µs", is_cpu=True,
                        note=f"{calls:.2f} calls")
    figures.chart("where-" + work.title.lower().replace(" ", "-"),
                  work.title + ", where the time goes", "µs of CPU", bars)


def profile(rig, peers, meter, figures):
    del peers
    with counting(rig):
        for work in works_of(rig, meter):
            costs, top, inner = work.measure(rig, meter)
            tell(figures, work, costs, top, inner)
            if work.title == "a whole run":
                tell_flight(figures, top)


def tell_flight(figures, top):
    """How many runs end in one statement of the daemon."""
    calls = sum(count for name, count, _ in top if name == "runs_commit")
    if calls > 0:
        figures.add("a whole run: runs that a daemon's statement ends", 1 / calls, "runs",
                    note="the size of a flight, with 8 clients")
