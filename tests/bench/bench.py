"""What Hostler's work costs on this machine: requests, runs, events, streams. For tests/bench/run.

Costs are CPU microseconds a unit, from /proc/*/schedstat of our own processes, medians of
interleaved rounds; speeds are ratios against pgbench in the same run. A busy machine makes
latencies worse, costs hardly.
"""

import http.client
import json
import os
import re
import shutil
import ssl
import statistics
import subprocess
import sys
import threading
import time

from meter import Meter, machine_idle_seconds

SECONDS = float(os.environ.get("BENCH_SECONDS", "4"))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
ONLY = os.environ.get("BENCH_ONLY", "").split()


def read_env(path):
    with open(path, encoding="utf-8") as file:
        return dict(re.findall(r"^(\w+)='(.*)'$", file.read(), re.M))


class Api:
    """One keep-alive connection with somebody's token."""

    def __init__(self, env):
        self.host = env["BASE_URL"].removeprefix("https://")
        self.context = ssl.create_default_context(cafile=env["CA_CERT"])
        self.context.check_hostname = False
        self.token = None
        self.line = self.connect()

    def connect(self):
        return http.client.HTTPSConnection(self.host, context=self.context, timeout=60)

    def headers(self):
        return {"Authorization": "Bearer " + self.token} if self.token else {}

    def call(self, method, path, body=None):
        headers = self.headers()
        if body is not None:
            headers["Content-Type"] = "application/json"
        self.line.request(method, path, None if body is None else json.dumps(body), headers)
        answer = self.line.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise SystemExit(f"{method} {path} answered {answer.status}: {text.decode()}")
        return json.loads(text) if text else None

    def stream(self, path):
        """An open stream: the response object, read line by line."""
        line = self.connect()
        line.request("GET", path, headers=self.headers())
        answer = line.getresponse()
        if answer.status != 200:
            raise SystemExit(f"GET {path} answered {answer.status}")
        return line, answer


def new_user(env):
    api = Api(env)
    name = f"bench{time.time_ns()}"
    made = api.call("POST", "/v1/auth/register",
                    {"login": name, "password": "a good password", "email": name + "@example.org"})
    api.token = made["access_token"]
    return api


def new_thread(api, message):
    thread = api.call("POST", "/v1/threads", {})["id"]
    api.call("POST", f"/v1/threads/{thread}/messages", {"content": message})
    return thread


def read_to_end(answer):
    events = 0
    for line in answer:
        events += line.startswith(b"data: ")
    return events


class Table:
    def __init__(self):
        self.rows = []

    def add(self, work, figure, unit, note=""):
        self.rows.append((work, figure, unit, note))
        print(f"{work:<44} {figure:>12} {unit:<14} {note}", flush=True)


def wrk(env, api, path, script=None, connections=32):
    command = ["wrk", "-t2", f"-c{connections}", f"-d{max(1, round(SECONDS))}s", "--latency",
               "-H", "Authorization: Bearer " + api.token, env["BASE_URL"] + path]
    if script:
        command[1:1] = ["-s", script]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    bad = re.search(r"Non-2xx or 3xx responses: (\d+)", out)
    if bad:
        raise SystemExit(f"{path}: {bad[1]} answers were no success")
    count = int(re.search(r"(\d+) requests in", out)[1])
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", out)[1])
    slowest = re.search(r"99%\s+([\d.]+)(us|ms|s)", out)
    p99 = float(slowest[1]) * {"us": 0.001, "ms": 1, "s": 1000}[slowest[2]]
    return count, rate, p99


def pgbench(env, statement_file):
    """Requests a second of Postgres alone with the same look-up, four connections."""
    command = ["/usr/lib/postgresql/15/bin/pgbench", "-n", "-M", "prepared", "-c4", "-j2",
               f"-T{max(1, round(SECONDS))}", "-f", statement_file, env["DATABASE_URL"]]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return float(re.search(r"tps = ([\d.]+)", out)[1])


def rest(env, meter, table):
    api = new_user(env)
    thread = new_thread(api, "[words 1]")
    run = api.call("POST", f"/v1/threads/{thread}/runs")["run_id"]
    for _ in range(49):
        other = new_thread(api, "[words 1]")
        api.call("POST", f"/v1/threads/{other}/runs")
    scratch = os.path.dirname(env["CA_CERT"])
    post = os.path.join(scratch, "post.lua")
    with open(post, "w", encoding="ascii") as file:
        file.write('wrk.method = "POST"\nwrk.body = "{\\"content\\":\\"hello\\"}"\n'
                   'wrk.headers["Content-Type"] = "application/json"\n')
    look_up = os.path.join(scratch, "run.sql")
    with open(look_up, "w", encoding="ascii") as file:
        file.write(f"SELECT run_json(r) FROM runs r WHERE id = '{run}';\n")
    works = [("GET run", f"/v1/runs/{run}", None), ("GET 50 runs", "/v1/runs?limit=50", None),
             ("POST message", f"/v1/threads/{thread}/messages", post)]
    found = {name: [] for name, _, _ in works}
    bare = []
    for _ in range(ROUNDS):
        bare.append(pgbench(env, look_up))
        for name, path, script in works:
            meter.start()
            count, rate, p99 = wrk(env, api, path, script)
            found[name].append((rate, p99, *meter.per_unit(count)))
    base = statistics.median(bare)
    table.add("pgbench, the look-up alone", f"{base:.0f}", "a second", "peer")
    for name, rounds in found.items():
        rate, p99, pool, nginx, postgres, _ = (statistics.median(column) for column in zip(*rounds))
        table.add(name, f"{rate:.0f}", "a second",
                  f"{rate / base:.2f} of pgbench; p99 {p99:.1f} ms")
        table.add(name + ", CPU", f"{pool + nginx + postgres:.0f}", "us a request",
                  f"pool {pool:.0f}, nginx {nginx:.0f}, Postgres {postgres:.0f}")


class LoginStorm:
    """Clients that log in with a wrong password, one after the other each, until it is left."""

    def __init__(self, env, clients):
        self.env = env
        self.is_over = threading.Event()
        self.statuses = [dict() for _ in range(clients)]
        self.threads = [threading.Thread(target=self.guess, args=(i,)) for i in range(clients)]

    def guess(self, place):
        line = Api(self.env).line
        seen = self.statuses[place]
        while not self.is_over.is_set():
            body = json.dumps({"login": f"guess{place}", "password": "wrong, each time"})
            line.request("POST", "/v1/auth/login", body, {"Content-Type": "application/json"})
            answer = line.getresponse()
            answer.read()
            seen[answer.status] = seen.get(answer.status, 0) + 1
            if answer.status == 503:  # as its Retry-After asks, compressed
                time.sleep(0.1)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        for thread in self.threads:
            thread.join()

    def count(self, status):
        return sum(seen.get(status, 0) for seen in self.statuses)


def login_storm(env, meter, table):
    """GET run while 64 clients guess passwords, against the same without them, in turns."""
    api = new_user(env)
    del meter
    thread = new_thread(api, "[words 1]")
    path = "/v1/runs/" + api.call("POST", f"/v1/threads/{thread}/runs")["run_id"]
    found = {"calm": [], "storm": []}
    judged = shed = 0
    for _ in range(ROUNDS):
        found["calm"].append(wrk(env, api, path, connections=8)[2])
        with LoginStorm(env, 64) as storm:
            found["storm"].append(wrk(env, api, path, connections=8)[2])
        judged += storm.count(401)
        shed += storm.count(503)
        others = [seen for seen in storm.statuses if set(seen) - {401, 503}]
        if others:
            raise SystemExit(f"a login was answered otherwise: {others[0]}")
    calm, storm = (statistics.median(found[name]) for name in ("calm", "storm"))
    table.add("GET run under 64 wrong logins, p99", f"{storm:.1f}", "ms",
              f"{storm / calm:.2f} of {calm:.1f} ms without; {judged} judged, {shed} shed")


def first_event(env, meter, table):
    del meter
    api = new_user(env)
    waits = []
    for _ in range(100):
        thread = new_thread(api, "[words 1]")
        run = api.call("POST", f"/v1/threads/{thread}/runs")["run_id"]
        answered = time.perf_counter()
        line, answer = api.stream(f"/v1/runs/{run}/events")
        for text in answer:
            if text.startswith(b"data: "):
                break
        waits.append((time.perf_counter() - answered) * 1000)
        answer.close()
        line.close()
    waits.sort()
    table.add("POST run answered -> first event read", f"{waits[50]:.1f}", "ms, median",
              f"p99 {waits[98]:.1f}; a new TLS connection included")


def whole_runs(env, meter, table):
    users, each, words = 20, 10, 50
    apis = [new_user(env) for _ in range(users)]
    events = [0] * users

    def work(place):
        api = apis[place]
        for _ in range(each):
            thread = new_thread(api, f"[delay 0] [words {words}]")
            run = api.call("POST", f"/v1/threads/{thread}/runs")["run_id"]
            line, answer = api.stream(f"/v1/runs/{run}/events")
            events[place] += read_to_end(answer)
            line.close()

    meter.start()
    begin = time.perf_counter()
    threads = [threading.Thread(target=work, args=(place,)) for place in range(users)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - begin
    runs = users * each
    pool, nginx, postgres, runner = meter.per_unit(runs)
    table.add(f"whole runs, {words} words, {users} clients", f"{runs / seconds:.0f}",
              "runs a second", f"{sum(events)} events followed; Python clients share the machine")
    table.add("whole run, CPU", f"{(pool + nginx + postgres + runner) / 1000:.2f}", "ms a run",
              f"daemon {runner / 1000:.2f}, pool {pool / 1000:.2f}, nginx {nginx / 1000:.2f}, "
              f"Postgres {postgres / 1000:.2f}")
    memory_mib = meter.memory_kib("runner") / 1024
    table.add("daemon's memory after them", f"{memory_mib:.0f}", "MiB resident")


def idle_streams(env, meter, table):
    api = new_user(env)
    thread = new_thread(api, "[ask Which one?]")
    run = api.call("POST", f"/v1/threads/{thread}/runs")["run_id"]
    wanted = 1000
    before = meter.memory_kib("runner"), meter.memory_kib("nginx")
    opened = [api.stream(f"/v1/runs/{run}/events") for _ in range(wanted)]
    time.sleep(1)
    after = meter.memory_kib("runner"), meter.memory_kib("nginx")
    meter.start()
    time.sleep(5)
    _, _, _, runner = meter.per_unit(5)
    table.add("idle stream, daemon", f"{(after[0] - before[0]) / wanted:.2f}", "KiB each",
              f"{wanted} streams")
    table.add("idle stream, nginx with TLS", f"{(after[1] - before[1]) / wanted:.1f}", "KiB each")
    table.add("daemon while they idle", f"{runner / 10_000:.2f}", "% of a core")
    for line, _ in opened:
        line.close()


def fan_out(env, meter, table):
    followers, words = 200, 300
    api = new_user(env)
    thread = new_thread(api, f"[delay 10] [words {words}]")
    run = api.call("POST", f"/v1/threads/{thread}/runs")["run_id"]
    counts = [0] * followers

    def follow(place):
        line, answer = api.stream(f"/v1/runs/{run}/events")
        counts[place] = read_to_end(answer)
        line.close()

    meter.start()
    threads = [threading.Thread(target=follow, args=(place,)) for place in range(followers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if len(set(counts)) != 1:
        raise SystemExit(f"followers read different numbers of events: {sorted(set(counts))}")
    _, nginx, _, runner = meter.per_unit(sum(counts))
    table.add(f"fan-out to {followers}, CPU", f"{runner + nginx:.1f}", "us a delivery",
              f"daemon {runner:.1f}, nginx {nginx:.1f}; {sum(counts)} deliveries")


PARTS = {"rest": rest, "login_storm": login_storm, "first_event": first_event,
         "whole_runs": whole_runs, "fan_out": fan_out, "idle_streams": idle_streams}


def main():
    env = read_env(sys.argv[1])
    if not shutil.which("wrk"):
        raise SystemExit("wrk is missing: apt-get install wrk")
    unknown = [name for name in ONLY if name not in PARTS]
    if unknown:
        raise SystemExit(f"BENCH_ONLY: no part {unknown[0]}; there are {', '.join(PARTS)}")
    meter = Meter(env)
    table = Table()
    begin, idle = time.monotonic(), machine_idle_seconds()
    own = meter.all_seconds()
    for name, part in PARTS.items():
        if not ONLY or name in ONLY:
            part(env, meter, table)
    spent = (time.monotonic() - begin) * os.cpu_count()
    idle = machine_idle_seconds() - idle
    ours = meter.all_seconds() - own
    print(f"{os.cpu_count()} cores: {ours / spent:.0%} Hostler and Postgres, "
          f"{idle / spent:.0%} idle, the rest clients and others")


if __name__ == "__main__":
    main()
