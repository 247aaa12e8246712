"""POST run while many runs are active: what it costs must not grow with them."""

import json

from rest import OURS, RUN, Work
from rig import ROUNDS, SECONDS

ORGS, EACH = 12, 1000

# They wait for a human: active, and nobody works on them.
WAITING = """
INSERT INTO runs (org_id, thread_id, created_by_user_id, status, source, trace_id, persona_id,
    persona_row_id, model_id, model, provider_kind, credential_name, input_request, input_deadline)
SELECT t.org_id, t.id, t.created_by_user_id, 'waiting_for_input', l.source, l.trace_id,
    l.persona_id, l.persona_row_id, l.model_id, l.model, l.provider_kind, l.credential_name,
    json_build_object('kind', 'question', 'turn', 1, 'tool_call_id', 'c',
                      'request_id', gen_random_uuid()), clock_timestamp() + interval '1 day'
FROM threads t, (SELECT * FROM runs WHERE id = '{like}') AS l WHERE t.id = ANY ('{{{threads}}}');
SELECT account_runs_recount();
"""
ENDED = """
UPDATE runs SET status = 'cancelled', input_request = NULL, input_deadline = NULL,
    ended_at = clock_timestamp()
WHERE status = 'waiting_for_input' AND thread_id = ANY ('{{{threads}}}');
SELECT account_runs_recount();
"""


def active(rig, peers, meter, figures):
    del peers
    writers = rig.accounts(ORGS, EACH + max(100, round(330 * SECONDS)))
    like = rig.api(writers[0]).start_run(writers[0].threads[-1])
    rig.wait_for_runs()
    targets = [(account.token, f"/v1/threads/{thread}/runs")
               for threads in zip(*(account.threads[EACH:-1] for account in writers))
               for account, thread in zip(writers, threads)]
    script = rig.post_script("active.lua", targets, json.dumps(RUN))
    threads = ",".join(thread for account in writers for thread in account.threads[:EACH])
    alone, among = (Work("POST run", OURS, lambda: rig.wrk("/", writers[0], script, 16))
                    for _ in range(2))
    with rig.daemon_held():
        alone.run()
    for _ in range(ROUNDS):
        with rig.daemon_held():
            alone.measure(meter)
        rig.sql(WAITING.format(like=like, threads=threads))
        with rig.daemon_held():
            among.measure(meter)
        rig.sql(ENDED.format(threads=threads))
    figures.cpu(f"POST run, {ORGS} organizations without active runs", alone.costs, OURS)
    figures.cpu(f"POST run, {EACH} active runs in each of them", among.costs, OURS)
    figures.add(f"POST run, {ORGS * EACH:,} active runs, {EACH:,} of its organization / none",
                [sum(many[group] for group in OURS) / sum(few[group] for group in OURS)
                 for many, few in zip(among.costs, alone.costs)], "times", at_most=1.1)
