"""What the same work costs Postgres at the least, by a bare prototype beside ours: as many
statements and round trips as there must be, on tables without all that makes them a service
(floors.sql). No goal is held against these; they say how much of a figure could be saved."""

import re

from rig import ROUNDS, SECONDS

DATABASE = "bench_floors"
FLIGHT = 8

CALLER = r"""SELECT user_id, org_id FROM tokens
 WHERE hash = sha256((:a)::text::bytea) AND expires_at > clock_timestamp();
"""
RUN_COLUMNS = ("id, org_id, thread_id, user_id, status, created_at, trace_id, model, persona_id,"
               " metadata, input_tokens, output_tokens, cost, credits, last_seq, error_code,"
               " error_message, started_at, ended_at")

# Title of ours, and what a transaction of pgbench asks: a pipeline, as the API's batches.
REQUESTS = {
    "GET run": f"""SELECT {RUN_COLUMNS} FROM runs
 WHERE id = id_of('run', (:n)::bigint) AND org_id = id_of('org', (:a)::bigint);
""",
    "GET 50 runs": f"""SELECT {RUN_COLUMNS} FROM runs
 WHERE org_id = id_of('org', (:a)::bigint) AND user_id = id_of('user', (:a)::bigint)
 ORDER BY id DESC LIMIT 50;
""",
    "POST message": """WITH thread AS (
 UPDATE threads SET updated_at = clock_timestamp() WHERE id = id_of('thread', (:n)::bigint)
 RETURNING id, org_id, user_id, updated_at),
account AS (
 UPDATE accounts a SET stored_bytes = a.stored_bytes + 20 FROM thread t
 WHERE a.org_id = t.org_id AND a.stored_bytes < 1000000000000 RETURNING a.org_id)
INSERT INTO messages (id, org_id, thread_id, user_id, role, content, created_at)
SELECT id_now(), t.org_id, t.id, t.user_id, 'user', '[delay 0] [words 1]', t.updated_at
FROM thread t JOIN account USING (org_id) RETURNING id;
""",
    "POST run": """WITH thread AS (
 UPDATE threads SET updated_at = clock_timestamp(), active_run_id = id_now()
 WHERE id = id_of('thread', (:n)::bigint) RETURNING id, org_id, user_id, active_run_id, updated_at),
account AS (
 UPDATE accounts a SET active_runs = a.active_runs + 1 FROM thread t
 WHERE a.org_id = t.org_id AND a.active_runs < 1000000000 RETURNING a.org_id)
INSERT INTO runs (id, org_id, thread_id, user_id, trace_id, persona_id, model, created_at)
SELECT t.active_run_id, t.org_id, t.id, t.user_id, md5((:n)::text), 'normal@1', 'fake', t.updated_at
FROM thread t JOIN account USING (org_id) RETURNING id;
""",
    "the stream's opening and page": """SELECT id, status, last_seq FROM runs
 WHERE id = id_of('run', (:n)::bigint) AND org_id = id_of('org', (:a)::bigint);
SELECT seq, type, data, created_at FROM events WHERE run_id = id_of('run', (:n)::bigint)
 AND seq > 0 ORDER BY seq LIMIT 500;
""",
}
# Eight runs from their claim to their end, the events in three commits.
EVENTS = """INSERT INTO events SELECT run_id, {seq}, 'message.delta',
 '{{"content":"some words that a model said"}}', clock_timestamp()
 FROM unnest((:ids)::uuid[]) AS run_id;
"""
FLIGHT_SCRIPT = f"""WITH claimed AS (
 UPDATE runs SET owner_id = id_of('daemon', 1), epoch = 1, started_at = clock_timestamp()
 WHERE id = ANY (ARRAY(SELECT id FROM runs WHERE status = 'running' AND owner_id IS NULL
  ORDER BY org_id, user_id, id LIMIT {FLIGHT} FOR UPDATE SKIP LOCKED))
 RETURNING id, thread_id)
SELECT array_agg(c.id) AS ids, array_agg((SELECT string_agg(m.content, '' ORDER BY m.id)
 FROM messages m WHERE m.thread_id = c.thread_id)) AS histories FROM claimed c
\\gset
{"".join(EVENTS.format(seq=seq) for seq in (1, 2))}BEGIN;
{EVENTS.format(seq=3)}WITH ended AS (
 UPDATE runs SET status = 'completed', owner_id = NULL, ended_at = clock_timestamp(), last_seq = 3,
  input_tokens = 20, output_tokens = 50, cost = 1, credits = 0
 WHERE id = ANY ((:ids)::uuid[]) RETURNING id, org_id, thread_id),
answered AS (
 INSERT INTO messages (id, org_id, thread_id, run_id, role, content, created_at)
 SELECT id_now(), org_id, thread_id, id, 'assistant', repeat('word ', 50), clock_timestamp()
 FROM ended),
freed AS (
 UPDATE threads t SET active_run_id = NULL, updated_at = clock_timestamp() FROM ended e
 WHERE t.id = e.thread_id),
paid AS (
 UPDATE accounts a SET active_runs = a.active_runs - c.ended
 FROM (SELECT org_id, count(*) AS ended FROM ended GROUP BY org_id) AS c WHERE a.org_id = c.org_id)
INSERT INTO usage SELECT id_now(), org_id, id, 'fake', 20, 50, 1, clock_timestamp() FROM ended;
COMMIT;
"""
# Runs that wait, for the flights.
WAITING = """INSERT INTO runs (id, org_id, thread_id, user_id, trace_id, persona_id, model,
 created_at)
SELECT id_now(), id_of('org', n % 64 + 1), id_of('thread', n % 20000 + 1),
 id_of('user', n % 64 + 1), md5(n::text), 'normal@1', 'fake', clock_timestamp()
FROM generate_series(1, {count}) n;
VACUUM ANALYZE runs;
"""


def request_script(name, statement):
    number = "3200" if "POST" not in name else "20000"
    return (f"\\set n random(1, {number})\n\\set a :n % 64 + 1\n\\startpipeline\n"
            + one_line(CALLER) + "".join(one_line(part) for part in statement.split(";\n") if part)
            + "\\endpipeline\n")


def one_line(statement):
    return " ".join(statement.split()).rstrip(";") + ";\n"


class Floor:
    def __init__(self, rig, name, script, clients, units=1):
        self.rig, self.name, self.clients, self.units = rig, name, clients, units
        self.script = rig.file("floor_" + re.sub(r"\W+", "_", name) + ".sql", script)
        self.costs = []

    def measure(self, meter):
        begin = meter.ended_children_seconds("Postgres")
        rate = self.rig.pgbench(self.script, self.clients, "postgres", DATABASE)
        self.rig.wait_for_no_session(DATABASE)
        count = rate * max(1, round(SECONDS)) * self.units
        spent = meter.ended_children_seconds("Postgres") - begin
        self.costs.append(spent * 1e6 / count)


def floors(rig, peers, meter, figures):
    del peers
    rig.sql(f"DROP DATABASE IF EXISTS {DATABASE}", "postgres")
    rig.sql(f"CREATE DATABASE {DATABASE}", "postgres")
    rig.sql(rig.own_sql("floors.sql"), DATABASE)
    requests = [Floor(rig, name, request_script(name, statement), 4)
                for name, statement in REQUESTS.items()]
    flights = Floor(rig, "a run from its claim to its end, in flights of eight", FLIGHT_SCRIPT, 2,
                    FLIGHT)
    for _ in range(ROUNDS):
        for request in requests:
            request.measure(meter)
        # Runs that POST run left are claimed first; more than two clients could claim meanwhile.
        rig.sql(WAITING.format(count=round(20000 * SECONDS)), DATABASE)
        flights.measure(meter)
    rig.sql(f"DROP DATABASE {DATABASE}", "postgres")
    for floor in (*requests, flights):
        figures.add(f"{floor.name}: Postgres, bare", floor.costs, "µs", is_cpu=True)
    parts = [floor.costs for floor in (*requests[2:], flights)]
    figures.add("a whole run of these: Postgres, bare", [sum(costs) for costs in zip(*parts)],
                "µs a run", is_cpu=True,
                note="message, run, opening and page, and its share of a flight")
