"""Whole runs: a message, a run, its stream to the end. Hostler's against those of Mastra and
LangGraph, which keep all in memory; many at once of one organization; and what they write to the
log of Postgres. The client is clients.c, whose own CPU is told apart."""

import json
import os
import subprocess

from peers import AGENTS
from rig import ROUNDS, SECONDS

CLIENTS, TOKENS = 50, 50
# Runs of a client, in turn. In a single thread a faster system has longer histories, after a minute
# hundreds of messages; a peer's runs get one.
THREADS = 40
RUN_ENDS = '"type":"run.completed"'
OURS = ("daemon", "pool", "nginx", "Postgres")
# Its title, how many times its rate is the goal, and the package that says its version.
PEERS = {"mastra": ("Mastra", 4, "@mastra/core"),
         "langgraph": ("LangGraph", 15, "@langchain/langgraph-api")}


def build_clients(rig):
    subprocess.run(["gcc", "-O2", "-o", os.path.join(rig.scratch, "clients"),
                    os.path.join(rig.source, "tests/bench/clients.c"), "-lssl", "-lcrypto"],
                   check=True)


def run_clients(rig, port, end, clients, seconds=SECONDS):
    """clients: of each its token, its threads and its requests, (method, path, body)."""
    lines = ["\t".join([token, ",".join(threads), *(field for request in requests
                                                    for field in request)])
             for token, threads, requests in clients]
    done = subprocess.run(
        [os.path.join(rig.scratch, "clients"), str(port), str(seconds), end,
         rig.file("clients.list", "\n".join(lines) + "\n")],
        capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(done.stderr.strip() or f"clients ended with {done.returncode}")
    return json.loads(done.stdout)


def requests_of(message):
    """A message, a run, its stream; each time in the client's next thread."""
    return [("POST", "/v1/threads/{thread}/messages", json.dumps({"content": message})),
            ("POST", "/v1/threads/{thread}/runs", "{}"), ("GET", "/v1/runs/{run}/events", "")]


def wal_bytes(rig):
    return int(rig.sql("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint")[0][0])


class Load:
    """A load of whole runs with its rounds, ours or a peer's."""

    def __init__(self, rig, meter, port, end, clients):
        self.rig, self.meter = rig, meter
        self.given = (port, end, clients)
        self.rates, self.costs, self.told, self.wal = [], [], [], []

    def warm(self):
        """Node compiles what is hot, Postgres caches plans."""
        run_clients(self.rig, *self.given, seconds=5)

    def run(self):
        self.told.append(run_clients(self.rig, *self.given))
        return self.told[-1]["laps"]

    def measure(self):
        begin = wal_bytes(self.rig)
        self.meter.start()
        count = self.run()
        self.costs.append(self.meter.per_unit(count))
        self.wal.append((wal_bytes(self.rig) - begin) / 1024 / count)
        self.rates.append(count / self.told[-1]["seconds"])

    def client_cost(self):
        return [told["cpu_us"] / told["laps"] for told in self.told]

    def client_share(self):
        return [told["cpu_us"] / 1e4 / told["seconds"] / os.cpu_count() for told in self.told]

    def waits(self, name):
        return [told[name] / 1000 for told in self.told]


def ours(rig, meter, accounts, message, threads_each=THREADS):
    """Clients have so many threads each; an account with more has several clients."""
    clients = [(account.token, account.threads[first:first + threads_each], requests_of(message))
               for account in accounts
               for first in range(0, len(account.threads), threads_each)]
    return Load(rig, meter, rig.port, RUN_ENDS, clients)


def of_peer(rig, peers, meter, name):
    agent = AGENTS[name]
    body = json.dumps(agent.body(f"[delay 0] [words {TOKENS}]"))
    return Load(rig, meter, peers.port(name), agent.end,
                [("none", [], [("POST", agent.path, body)])] * CLIENTS)


def whole_runs(rig, peers, meter, figures):
    joined = ours(rig, meter, rig.accounts(CLIENTS, THREADS), f"[delay 0] [words {TOKENS}]")
    paced = ours(rig, meter, rig.accounts(CLIENTS, THREADS), f"[delay 20] [words {TOKENS}]")
    alone = ours(rig, meter, rig.accounts(1, 100), "[delay 0] [words 1]", 1)
    with peers.agents():
        loads = {name: of_peer(rig, peers, meter, name) for name in PEERS if peers.has(name)}
        for load in [joined, *loads.values()]:
            load.warm()
        for _ in range(ROUNDS):
            for load in [joined, alone, paced, *loads.values()]:
                load.measure()
    tell(meter, figures, joined, paced, alone)
    for name, load in loads.items():
        tell_peer(figures, peers, name, joined, load)


def tell(meter, figures, joined, paced, alone):
    figures.add(f"whole runs of {TOKENS} tokens, {CLIENTS} clients", joined.rates, "runs/s",
                at_least=800, note="message, run, stream to its end; as fast as the model goes")
    figures.cpu("a whole run", joined.costs, OURS, unit="µs a run", at_most=2000)
    figures.add("a whole run, of it Postgres", [cost["Postgres"] for cost in joined.costs],
                "µs a run", at_most=1300, is_cpu=True)
    figures.add("the client's own CPU", joined.client_cost(), "µs a run", is_cpu=True,
                note="one process in C; not part of the run's")
    figures.add("the client's share of the machine", joined.client_share(), "%", at_most=15)
    figures.add("message posted -> run's end read, p50", joined.waits("whole_p50_us"), "ms")
    figures.add("message posted -> run's end read, p99", joined.waits("whole_p99_us"), "ms")
    figures.add("WAL of a whole run, words joined", joined.wal, "KiB", at_most=6.5)
    figures.add(f"WAL of a whole run, {TOKENS} tokens at 50 a second", paced.wal, "KiB",
                at_most=8.8, note="too slow to be joined")
    figures.cpu("the same run, not joined", paced.costs, OURS, unit="µs a run")
    figures.add("one organization, 100 runs at once", alone.rates, "turns/s", at_least=600,
                note="message, run of one turn, stream; whole runs like the others")
    figures.add("daemon's memory after them", meter.memory_kib("daemon", "Rss") / 1024, "MiB RSS",
                at_most=50)


def tell_peer(figures, peers, name, joined, load):
    title, goal, package = PEERS[name]
    figures.add(f"{title}, whole runs, {CLIENTS} clients", load.rates, "runs/s",
                note=f"{package} {peers.version(package)}: its own server behind nginx, one"
                " process, all in memory")
    figures.cpu(f"{title}, a whole run", load.costs, (name, "peer nginx"), unit="µs a run")
    figures.add(f"whole runs / {title}", [a / b for a, b in zip(joined.rates, load.rates)], "times",
                at_least=goal)
