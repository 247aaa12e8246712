"""Durable events through the daemon while many models speak as fast as it goes, against the same
rows by binary COPY."""

import os
import subprocess

from rest import filled, one_line
from rig import ROUNDS, SECONDS

COPY_TABLE = """
CREATE TABLE bench_events (run_id uuid NOT NULL DEFAULT '00000000-0000-7000-8000-000000000000',
    seq bigserial, type text NOT NULL, data json NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(), PRIMARY KEY (run_id, seq));
"""


def build_copy(rig):
    program = os.path.join(rig.scratch, "copy")
    subprocess.run(["gcc", "-O2", "-o", program, "-I", "/usr/include/postgresql",
                    os.path.join(rig.source, "tests/bench/peers/copy.c"), "-lpq"], check=True)
    rig.sql(COPY_TABLE)
    return program


def copied(rig, program):
    done = subprocess.run([program, rig.database(), str(max(1, SECONDS / 2))],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return float(done.stdout)


OWNED_RUN = """
INSERT INTO runs (org_id, thread_id, created_by_user_id, source, trace_id, persona_id,
    persona_row_id, model_id, model, provider_kind, credential_name, owner_id, epoch)
SELECT org_id, thread_id, created_by_user_id, source, trace_id, persona_id, persona_row_id,
    model_id, model, provider_kind, credential_name, '{daemon}', 1
FROM runs WHERE id = '{like}' RETURNING id;
"""
APART = 250  # pairs of words
DAEMON = "00000000-0000-7000-8000-00000000da00"


def append_script(rig, like):
    """The daemon's own statement for pgbench, a hundred events of one run a call, in the order of
    their numbers, as runs tell them and as COPY is given its rows; and that run. Its daemon has no
    heartbeat: another one takes the run when a lease is over, so each round has its own."""
    run = rig.sql(OWNED_RUN.format(daemon=DAEMON, like=like))[0][0]
    content = '"{\\"content\\":\\"streaming \\"}"'
    each = ["'{" + ",".join([text] * 100) + "}'" for text in ("1", "message.delta", content)]
    seqs = "ARRAY(SELECT generate_series(:n::bigint * 100, :n::bigint * 100 + 99))"
    values = [f"'{DAEMON}'", f"'{{{run}}}'", "'{1}'", each[0], seqs, each[1], each[2],
              "server_number()"]
    statement = one_line(filled(rig.statements["event_append"], values))
    return rig.file("append.sql", f"\\set n :n + 1\n{statement};\n"), run


def spoken(rig, meter, account, words):
    """All threads at once; (events a second, tokens a second, CPU an event)."""
    api = rig.api(account)
    meter.start()
    runs = ",".join(f"'{api.start_run(thread)}'" for thread in account.threads)
    api.line.close()
    rig.wait_for_runs(90 + 10 * SECONDS)
    found = rig.sql("SELECT sum(last_seq), extract(epoch FROM max(ended_at) - min(started_at)), "
                      "count(*) FILTER (WHERE status = 'completed') "
                      f"FROM runs WHERE id IN ({runs})")
    events, seconds, completed = int(found[0][0]), float(found[0][1]), int(found[0][2])
    if completed != len(account.threads):
        raise SystemExit(f"of {len(account.threads)} runs {completed} completed")
    return events / seconds, completed * words / seconds, meter.per_unit(events)


def durable(rig, peers, meter, figures):
    del peers
    program = build_copy(rig)
    first = rig.accounts(1, 1, "[words 1]")[0]
    like = rig.api(first).start_run(first.threads[0])
    rig.wait_for_runs()
    copies, appended = [], []
    for _ in range(ROUNDS):
        copies.append(copied(rig, program))
        script, run = append_script(rig, like)
        appended.append(100 * rig.pgbench(script, 1, "hostler_runner"))
        owned = f"id = '{run}' AND owner_id = '{DAEMON}'"
        if not rig.sql(f"DELETE FROM runs WHERE {owned} RETURNING 1"):
            raise SystemExit("the run was taken from the daemon that wrote its events")
        rig.sql(f"DELETE FROM run_events WHERE run_id = '{run}'")
    count, words = 100, max(500, round(500 * SECONDS))
    rates, tokens, costs, apart_rates, apart_costs = [], [], [], [], []
    for _ in range(ROUNDS):
        account = rig.accounts(1, count, f"[delay 1] [words {words}]")[0]
        events, said, cost = spoken(rig, meter, account, words)
        rates.append(events)
        tokens.append(said)
        costs.append(cost)
        # Reasoning and text in turn, which cannot be joined.
        account = rig.accounts(1, count, "[delay 0] " + "[think one] [say two] " * APART)[0]
        events, _, cost = spoken(rig, meter, account, 2 * APART)
        apart_rates.append(events)
        apart_costs.append(cost)
    figures.add("binary COPY, 100 rows a transaction", copies, "events/s", note="one connection")
    figures.add("the daemon's statement, 100 events a call", appended, "events/s",
                at_least=100_000, note="one connection, pgbench")
    figures.add("the daemon's statement / binary COPY",
                [a / b for a, b in zip(appended, copies)], "times", at_least=0.9)
    figures.add(f"through the daemon: {count} models, a word each ms", rates, "events/s",
                note="model, daemon and Postgres on the same cores; waiting words are joined")
    figures.add("words in them", tokens, "words/s")
    figures.cpu("an event", costs, ("daemon", "Postgres", "model"), unit="µs an event")
    figures.add(f"the same, {2 * APART} words each that cannot be joined", apart_rates, "events/s",
                at_least=50_000, note="reasoning and text in turn")
    figures.cpu("an event that is not joined", apart_costs, ("daemon", "Postgres", "model"),
                unit="µs an event")
