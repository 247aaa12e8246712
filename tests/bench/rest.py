"""Requests: one run read, fifty listed, a message posted, a run posted; against pgbench, the bare
libfcgi pool, php-fpm and fastify with the same statements."""

import hashlib
import json
import statistics

from rig import ROUNDS, SECONDS

OURS = ("pool", "nginx", "Postgres")
RUN = {"multitask_strategy": "enqueue"}
# CPU of a request, of it Postgres, and how many times the rate of fastify with the same answer.
GOALS = {"GET run": (105, 40, 4), "GET 50 runs": (350, 180, 3), "POST message": (240, 120, 2.5),
         "POST run": (480, 330, 3)}


def authentication(rig, account):
    """The API's statement that every request begins with, as pgbench says it."""
    context = json.dumps({"trace_id": "0" * 32, "client_ip": "127.0.0.1", "user_agent": "wrk"})
    digest = hashlib.sha256(account.token.encode()).hexdigest()
    return one_line(filled(rig.statements["authenticate_by_token"],
                           [f"'\\x{digest}'", "NULL", "'data.runs.read'", "false", "false",
                            f"'{context}'"]))


def pipelined(rig, account, statement, values):
    """The API's batch as pgbench says it: who calls and what is asked, in one pipeline."""
    return ("\\startpipeline\n" + authentication(rig, account) + ";\n"
            + one_line(filled(rig.statements[statement], values)) + ";\n\\endpipeline\n")


def filled(statement, values):
    for number, value in reversed(list(enumerate(values, start=1))):
        statement = statement.replace(f"${number}", value)
    return statement


def one_line(statement):
    return " ".join(statement.split())


class Work:
    """A load with its rounds, of ours or of a peer."""

    def __init__(self, name, groups, run):
        self.name, self.groups, self.run = name, groups, run
        self.rates, self.p99s, self.costs = [], [], []

    def measure(self, meter):
        meter.start()
        count, rate, p99 = self.run()
        self.costs.append(meter.per_unit(count))
        self.rates.append(rate)
        self.p99s.append(p99)


def ratios(ours, theirs):
    return [own / other for own, other in zip(ours, theirs)]


def prepare(rig):
    """64 organizations with threads; the reader has 50 runs that have ended."""
    reader = rig.accounts(1, 50)[0]
    api = rig.api(reader)
    runs = [api.start_run(thread) for thread in reader.threads]
    writers = rig.accounts(64, max(40, round(62 * SECONDS)))  # threads that are idle
    rig.wait_for_runs()
    targets = [(account.token, f"/v1/threads/{thread}/")
               for threads in zip(*(account.threads for account in writers))
               for account, thread in zip(writers, threads)]
    return reader, runs[0], targets


def works_of(rig, peers, reader, run, targets):
    message = rig.post_script("message.lua", [(t, p + "messages") for t, p in targets],
                                json.dumps({"content": "[delay 0] [words 1]"}))
    start = rig.post_script("start.lua", [(t, p + "runs") for t, p in targets], json.dumps(RUN))
    asked = {"GET run": (f"/v1/runs/{run}", None, 32),
             "GET 50 runs": ("/v1/runs?limit=50", None, 32),
             "POST message": ("/", message, 16), "POST run": ("/", start, 16)}
    works = {}

    def work(name, asked_name, server, groups, port):
        path, script, connections = asked[asked_name]
        works[asked_name, server] = Work(
            name, groups, lambda: rig.wrk(path, reader, script, connections, port))

    for name in asked:
        work(name, name, "Hostler", OURS, rig.port)
        if peers.has("fastify"):
            work(name + ", fastify+pg", name, "fastify", ("fastify", "peer nginx", "Postgres"),
                 peers.port("fastify"))
    if peers.has("php"):
        work("GET run, php-fpm", "GET run", "php", ("php", "peer nginx", "Postgres"),
             peers.port("php"))
    if peers.has("hello"):
        work("libfcgi hello, no database", "GET run", "hello", ("hello", "peer nginx"),
             peers.port("hello"))
    return works


def check_same_answer(rig, peers, reader, run):
    """A peer that answers something else does other work."""
    one, many = f"/v1/runs/{run}", "/v1/runs?limit=50"
    for name, paths in (("fastify", (one, many)), ("php", (one,))):
        if not peers.has(name):
            continue
        for path in paths:
            api = rig.api(reader)
            api.line.close()
            api.line.port = peers.port(name)
            if api.call("GET", path) != rig.api(reader).call("GET", path):
                raise SystemExit(f"{name} answers {path} otherwise than Hostler")


def scale(rig, peers, meter, figures):
    """What the bare answer costs: what goals of CPU are held against in every part."""
    if not peers.has("hello"):
        return figures.skip("the scale", "the bare libfcgi answer was not to be had")
    account = rig.accounts(1, 1)[0]
    work = Work("libfcgi hello", ("hello", "peer nginx"),
                lambda: rig.wrk("/", account, None, 32, peers.port("hello")))
    work.run()
    for _ in range(ROUNDS):
        work.measure(meter)
    figures.cpu("the bare libfcgi answer", work.costs, work.groups)
    figures.set_scale([cost["hello"] + cost["peer nginx"] for cost in work.costs])
    figures.add("of the machine that the goals were set on", figures.scale, "times")
    return None


def rest(rig, peers, meter, figures):
    reader, run, targets = prepare(rig)
    check_same_answer(rig, peers, reader, run)
    works = works_of(rig, peers, reader, run, targets)
    script = rig.file("run.sql", pipelined(rig, reader, "run_show", [f"'{run}'"]))
    for (asked, _), work in works.items():  # Node compiles what is hot, Postgres caches plans
        if not asked.startswith("POST"):
            work.run()
    bare = []
    for _ in range(ROUNDS):
        bare.append(rig.pgbench(script))
        for (asked, _), work in works.items():
            if asked == "POST run":
                with rig.daemon_held():
                    work.measure(meter)
            else:
                work.measure(meter)
    tell(figures, works, bare)


def tell(figures, works, bare):
    figures.add("pgbench, the same two statements in a pipeline, 4 clients", bare, "a second")
    for work in works.values():
        figures.add(work.name, work.rates, "a second")
    if bare_answer := works.get(("GET run", "hello")):
        figures.set_scale([cost["hello"] + cost["peer nginx"] for cost in bare_answer.costs])
    for (asked, server), work in works.items():
        if server == "Hostler":
            figures.cpu(work.name, work.costs, work.groups, GOALS[asked][0])
            figures.add(f"{work.name}, of it Postgres", [cost["Postgres"] for cost in work.costs],
                        "µs a request", at_most=GOALS[asked][1], is_cpu=True)
        elif asked == "GET run":
            figures.cpu(work.name, work.costs, work.groups)
    own = {asked: work for (asked, server), work in works.items() if server == "Hostler"}
    figures.add("GET run / pgbench", ratios(own["GET run"].rates, bare), "times", at_least=0.40)
    for (asked, server), work in works.items():
        goal = {"fastify": GOALS[asked][2], "php": 3.5}.get(server)
        if server != "Hostler":
            figures.add(f"{asked} / {work.name.rpartition(', ')[2] if goal else 'libfcgi hello'}",
                        ratios(own[asked].rates, work.rates), "times", at_least=goal)
    figures.add("POST run, 16 clients, 64 organizations", own["POST run"].rates, "a second",
                at_least=3000, note="the daemon is stopped meanwhile; with it: Dispatch")
    figures.add("GET run, p99", own["GET run"].p99s, "ms")
    if peer := works.get(("GET run", "fastify")):
        figures.add("GET run, p99 / fastify's", ratios(own["GET run"].p99s, peer.p99s), "times",
                    at_most=0.4, note=f"fastify's is {statistics.median(peer.p99s):.1f} ms")
    chart(figures, works, bare)


def chart(figures, works, bare):
    middle = lambda rounds: sorted(rounds)[len(rounds) // 2]
    of_get = [(work.name, {"": middle(work.rates)})
              for (asked, _), work in works.items() if asked == "GET run"]
    figures.chart("get-run", "One run read, TLS, 32 clients", "requests a second",
                  [("pgbench (no HTTP)", {"": middle(bare)})] + of_get)
    figures.chart("cpu", "Server CPU", "µs a request", [
        (work.name, {group.removeprefix("peer "): middle([cost[group] for cost in work.costs])
                     for group in work.groups}) for work in works.values()])
