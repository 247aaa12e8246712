"""From a run's creation to a daemon and to the first event; graphile-worker as the peer of the
queue."""

import json
import subprocess
import time

from rig import ROUNDS, SECONDS


def rank(values, part):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def paced(api, threads, rate):
    """Runs at a steady rate on idle threads: (run, when it was answered in microseconds)."""
    started = []
    begin = time.perf_counter()
    for i, thread in enumerate(threads):
        wait = begin + i / rate - time.perf_counter()
        if wait > 0:
            time.sleep(wait)
        run = api.start_run(thread)
        started.append((run, time.time_ns() // 1000))
    return started


def claim_waits(rig, started):
    rows = rig.sql("SELECT id, (extract(epoch FROM started_at) * 1000000)::bigint,"
                     " (extract(epoch FROM created_at) * 1000000)::bigint FROM runs WHERE id IN ("
                     + ",".join(f"'{run}'" for run, _ in started) + ")")
    taken = {run: (int(claimed), int(made)) for run, claimed, made in rows}
    return ([(taken[run][0] - answered) / 1000 for run, answered in started],
            [(taken[run][0] - taken[run][1]) / 1000 for run, _ in started])


def first_event(rig, account, thread):
    """Milliseconds from the answer of POST run to its first event, on two open connections."""
    api, other = rig.api(account), rig.api(account)
    run = api.start_run(thread)
    answered = time.perf_counter()
    other.line.request("GET", f"/v1/runs/{run}/events", headers=other.headers())
    answer = other.line.getresponse()
    for line in answer:
        if line.startswith(b"data: "):
            break
    waited = (time.perf_counter() - answered) * 1000
    answer.close()
    other.line.close()
    api.line.close()
    return waited


def latency(rig, peers, meter, figures):
    del peers, meter
    after_answer, after_insert, firsts = [], [], []
    for _ in range(ROUNDS):
        count = max(100, round(50 * SECONDS))
        account = rig.accounts(1, count)[0]
        answered, inserted = claim_waits(rig, paced_and_done(rig, account))
        after_answer.append(answered)
        after_insert.append(inserted)
        account = rig.accounts(1, 60)[0]
        firsts.append([first_event(rig, account, thread) for thread in account.threads])
        rig.wait_for_runs()
    figures.add("run inserted -> claimed, p50 at 100 runs/s", [rank(w, .5) for w in after_insert],
                "ms", at_most=1.2, note="the commit included")
    figures.add("run inserted -> claimed, p99", [rank(w, .99) for w in after_insert], "ms")
    figures.add("POST run answered -> claimed, p50", [rank(w, .5) for w in after_answer], "ms",
                at_most=1.5, note="below 0: claimed before the client had its answer")
    figures.add("POST run answered -> claimed, p99", [rank(w, .99) for w in after_answer], "ms")
    figures.add("POST run answered -> first event read, p50", [rank(w, .5) for w in firsts], "ms",
                at_most=1.8, note="TLS, nginx; one client at a time, in Python")
    figures.add("POST run answered -> first event read, p99", [rank(w, .99) for w in firsts], "ms")


def paced_and_done(rig, account):
    api = rig.api(account)
    started = paced(api, account.threads, 100)
    api.line.close()
    rig.wait_for_runs()
    return started


def jobs_of_graphile(rig, peers):
    environment = peers.database_environment("postgres", "bench_jobs")
    environment.update({"SECONDS": str(SECONDS), "PRODUCERS": "16", "NODE_ENV": "production",
                        "NO_LOG_SUCCESS": "1"})
    done = subprocess.run([peers.node(), peers.script("jobs.mjs")], env=environment,
                          capture_output=True, text=True, check=False, timeout=60 + SECONDS)
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            return json.loads(line), None
    return None, (done.stderr or done.stdout).strip()[-200:]


def claimed_between(rig, begin, end):
    rows = rig.sql("SELECT count(*) FROM runs WHERE started_at BETWEEN "
                     f"to_timestamp({begin}) AND to_timestamp({end})")
    return int(rows[0][0])


def dispatch(rig, peers, meter, figures):
    """Ours through everything: TLS, nginx, the API, the queue and the whole run behind it."""
    reason = peers.npm()
    if not reason:
        rig.sql("CREATE DATABASE bench_jobs", "postgres")
    made, claimed, jobs, drained = [], [], [], []
    for _ in range(ROUNDS):
        writers = rig.accounts(64, max(40, round(62 * SECONDS)))
        targets = [(a.token, f"/v1/threads/{thread}/runs")
                   for threads in zip(*(account.threads for account in writers))
                   for a, thread in zip(writers, threads)]
        script = rig.post_script("dispatch.lua", targets, '{"multitask_strategy": "enqueue"}')
        meter.start()
        begin = time.time()
        count, rate, _ = rig.wrk("/", writers[0], script, 16)
        end = time.time()
        made.append(rate)
        claimed.append(claimed_between(rig, begin, end) / (end - begin))
        drained.append(meter.per_unit(count))
        rig.drop_queue()
        if not reason:
            found, reason = jobs_of_graphile(rig, peers)
            if found:
                jobs.append(min(found["made"], found["taken"]))
    figures.add("POST run, 16 producers, idle threads", made, "runs/s")
    figures.add("of them claimed and begun meanwhile", claimed, "runs/s", at_least=2500,
                note="the daemon runs each to its end on the same cores")
    figures.cpu("a run posted, and run as far as it came", drained,
                ("pool", "nginx", "Postgres", "daemon"), unit="µs a run")
    if jobs:
        figures.add("graphile-worker, 16 producers in one Node process", jobs, "jobs/s",
                    note="jobs that do nothing, without HTTP")
        figures.add("runs posted and claimed / graphile-worker",
                    [min(a, b) / c for a, b, c in zip(made, claimed, jobs)], "times", at_least=3.5)
    else:
        figures.skip("graphile-worker", reason)
