"""How large the tables are that whole runs write again and again, against the rows that live in
them: after BLOAT_RUNS runs at full speed, or BLOAT_SECONDS of them, with Postgres' own autovacuum.
pgbench makes the runs by the statements of pool and daemon (bloat.sql), so that a million of them
fit in an hour. No commit waits for the disk, which changes no table. The stack's own daemon is
ended, and not started again: the last part of all."""

import os
import re
import signal
import subprocess
import time

from instructions import BOUND
from rig import POSTGRES_BIN

RUNS = int(os.environ.get("BLOAT_RUNS", "20000"))
SECONDS = float(os.environ.get("BLOAT_SECONDS", "0"))  # instead of a number of runs
CLIENTS, FLIGHT, BLOCKS, ROUNDS = 4, 8, 32, 2
CALLERS = CLIENTS * BLOCKS * FLIGHT
HOLD = 10  # as credit.run_hold has it
TABLES = ("runs", "credit_accounts", "sessions")
TIMES_MAX = 3

SIZES = """
SELECT c.relname, t.table_len, t.tuple_count, t.tuple_len, t.dead_tuple_len, t.free_space,
    pg_indexes_size(c.oid), s.autovacuum_count, s.n_tup_upd, s.n_tup_hot_upd
FROM unnest(ARRAY['{tables}']) WITH ORDINALITY AS w(name, place)
JOIN pg_class c ON c.oid = w.name::regclass JOIN pg_stat_user_tables s ON s.relid = c.oid
CROSS JOIN LATERAL pgstattuple(c.oid) AS t ORDER BY w.place
"""


def bound(rig):
    """The statements with the functions' variables in the places of their parameters."""
    values = {
        "run_claim": ("daemon", *BOUND["run_claim"][1:]),
        "thread_lock": ("threads",),
        "event_append": ("daemon", "ids", "epochs",
                         "ARRAY(SELECT n::bigint FROM generate_series(1, size) AS n)",
                         "array_fill(number, ARRAY[size])",
                         "array_fill('message.delta'::text, ARRAY[size])",
                         BOUND["event_append"][6].replace("[8]", "[size]"), "server_number()"),
    }
    return {name: re.sub(r"\$(\d+)", lambda found, given=given: given[int(found[1]) - 1],
                         rig.statements[name])
            for name, given in values.items()}


def script():
    """One login and its refresh, then threads of a flight of callers with some runs each."""
    own = "bloat_daemon(:client_id)"
    lines = [rf"\set first (:client_id * {BLOCKS} + random(0, {BLOCKS - 1})) * {FLIGHT}",
             rf"\set who :first + random(0, {FLIGHT - 1})",
             "SELECT bloat_login(:who);", "SELECT bloat_refresh(:who);"]
    callers = [f"(:first + {n})" for n in range(FLIGHT)]
    lines += [f"SELECT bloat_thread({caller});" for caller in callers]
    for _ in range(ROUNDS):
        for step in ("message", "run"):
            lines += [f"SELECT bloat_{step}({caller});" for caller in callers]
        lines += [f"SELECT bloat_claim({own});", f"SELECT bloat_append({own}, 1);",
                  f"SELECT bloat_append({own}, 2);", f"SELECT bloat_commit({own});"]
    return "\n".join(lines) + "\n"


def prepare(rig):
    for pid in rig.env["RUNNER_PIDS"].split():
        os.kill(int(pid), signal.SIGTERM)
    rig.cancel_queue()
    accounts = rig.accounts(CALLERS, 0)
    hashes = dict(rig.sql("SELECT s.user_id, t.hash FROM access_tokens t"
                          " JOIN sessions s ON s.id = t.session_id"))
    callers = ", ".join(f"({n}, '{a.user}', '{a.org}', '{hashes[a.user]}')"
                        for n, a in enumerate(accounts))
    rig.sql(rig.own_sql("bloat.sql", callers=callers, clients=CLIENTS, hold=HOLD, **bound(rig)))


def completed(rig):
    return int(rig.sql("SELECT count(*) FROM runs WHERE status = 'completed'")[0][0])


def make_runs(rig):
    """How many became whole."""
    before = completed(rig)
    each = max(1, RUNS // (CLIENTS * FLIGHT * ROUNDS))
    length = f"-T{round(SECONDS)}" if SECONDS else f"-t{each}"
    done = subprocess.run(
        [POSTGRES_BIN + "pgbench", "-n", "-M", "prepared", f"-c{CLIENTS}", "-j2", length,
         "-f", rig.file("bloat.pgbench", script()), rig.database()],
        capture_output=True, text=True, check=False,
        env={**os.environ, "PGOPTIONS": "-c synchronous_commit=off"})
    if done.returncode != 0 or "aborted" in done.stderr:
        raise SystemExit("pgbench: " + done.stderr)
    rig.sql("CALL bloat_drain()")
    return completed(rig) - before


def bloat(rig, peers, meter, figures):
    del peers, meter
    prepare(rig)
    begin = time.monotonic()
    runs = make_runs(rig)
    seconds = time.monotonic() - begin
    figures.add("whole runs, by the statements alone", runs, "runs",
                note=f"{CLIENTS} sessions, {CALLERS:,} organizations, {seconds:.0f} s")
    mib = 1 << 20
    for name, *sizes in rig.sql(SIZES.format(tables="', '".join(TABLES))):
        whole, rows, living, dead, free, indexes, vacuums, updates, hot = map(int, sizes)
        note = (f"{whole / mib:.1f} MiB: {rows:,} rows of {living / mib:.1f}, dead "
                f"{dead / mib:.1f}, free {free / mib:.1f}; indexes {indexes / mib:.1f}; "
                f"{updates:,} updates, {hot / max(1, updates):.0%} of them HOT; "
                f"{vacuums} autovacuums")
        figures.add(f"{name}: the table / its living rows", whole / max(1, living), "times",
                    at_most=TIMES_MAX, note=note)
