"""Event streams: fan-out against nchan, memory of those that idle, a thousand live runs. The client
of all is follow.c."""

import contextlib
import json
import os
import socket
import subprocess
import threading
import time

from rig import ROUNDS, SECONDS

RUN_SPEAKS, RUN_ENDS = '"type":"message.delta"', '"type":"run.completed"'
NCHAN_ENDS = '"seq":0,'


class Subscribers:
    """Streams of the C client; made when all have their answer's head. A request is (path, token),
    or (path, token, Idempotency-Key, body). The seconds begin with a line that has `first`.
    at_once: or one behind the other."""

    def __init__(self, rig, port, requests, end, first=RUN_SPEAKS, at_once=True):
        listed = rig.file("streams", "".join("\t".join(fields) + "\n" for fields in requests))
        self.program = subprocess.Popen(
            [os.path.join(rig.scratch, "follow"), str(port), first, end, listed,
             *([] if at_once else ["one-by-one"])], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        if self.program.stdout.readline() != "open\n":
            raise SystemExit("the client's streams were not opened")

    def result(self, seconds=None):
        """When all have ended, or what there is after so many seconds."""
        timer = threading.Timer(seconds, self.program.stdin.close) if seconds else None
        if timer:
            timer.start()
        line = self.program.stdout.readline()
        if timer:
            timer.cancel()
        self.program.wait()
        self.program.stdout.close()
        return json.loads(line)


def build_client(rig):
    subprocess.run(["gcc", "-O2", "-o", os.path.join(rig.scratch, "follow"),
                    os.path.join(rig.source, "tests/bench/follow.c"), "-lssl", "-lcrypto"],
                   check=True)


def fan_ours(rig, meter, account, thread, count, words):
    api = rig.api(account)
    run = api.start_run(thread, f"[pause {1500 + 3 * count}] [delay 1] [words {words}]")
    subscribers = Subscribers(rig, rig.port, [(f"/v1/runs/{run}/events", account.token)] * count,
                          RUN_ENDS)
    meter.start()
    result = subscribers.result(60 + SECONDS)
    if result["least"] != result["most"] or result["ended"] != count:
        raise SystemExit(f"not every subscriber read every event: {result}")
    return result, meter.per_unit(count * words)


def publish(port, words):
    """As fast as nchan takes them, on one connection, each as long as one of our events."""
    with socket.create_connection(("127.0.0.1", port)) as line:
        def send():
            for seq in range(words, -1, -1):
                body = (f'{{"seq":{seq},"type":"message.delta","data":{{"content":"stream "}},'
                        f'"created_at":"2026-01-01T00:00:00.{seq:06}Z"}}')
                line.sendall(f"POST /publish HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
                             f"{len(body)}\r\n\r\n{body}".encode())
        sender = threading.Thread(target=send)
        sender.start()
        answered = 0
        while answered <= words:
            got = line.recv(1 << 16)
            if not got:
                raise SystemExit("nchan closed the publisher's connection")
            answered += got.count(b"HTTP/1.1 2")
        sender.join()


def fan_nchan(rig, peers, meter, account, count, words):
    subscribers = Subscribers(rig, peers.port("nchan"), [("/follow", account.token)] * count,
                          NCHAN_ENDS)
    time.sleep(0.2)
    meter.start()
    publisher = threading.Thread(target=publish, args=(peers.port("publish"), words))
    publisher.start()
    result = subscribers.result(60 + SECONDS)
    publisher.join()
    if result["ended"] != count:
        raise SystemExit(f"not every subscriber of nchan read to the end: {result}")
    return result, meter.per_unit(result["deliveries"])


def fan_out(rig, peers, meter, figures):
    count, words = 1000, max(300, round(300 * SECONDS))
    account = rig.accounts(1, 1)[0]
    rates, events, ours, nchan_rates, theirs, client = [], [], [], [], [], []
    for _ in range(ROUNDS):
        result, costs = fan_ours(rig, meter, account, account.threads[0], count, words)
        rates.append(words * count / result["seconds"])
        events.append(result["deliveries"] / result["seconds"])
        client.append(result["cpu_us"] / (words * count))
        ours.append(costs)
        if peers.has("nchan"):
            result, costs = fan_nchan(rig, peers, meter, account, count, words)
            nchan_rates.append(result["deliveries"] / result["seconds"])
            theirs.append(costs)
    figures.add(f"{count} subscribers of one run", rates, "words/s",
                note=f"{words} words, one each ms; every subscriber read every event")
    figures.add("events they came in", events, "events/s", note="words that wait are joined")
    figures.cpu("one word to one subscriber", ours, ("daemon", "nginx"), unit="µs")
    figures.add("the client's own CPU", client, "µs", note="of the same machine")
    if nchan_rates:
        figures.add(f"nchan, {count} subscribers of one channel", nchan_rates, "messages/s",
                    note="of a word each")
        figures.cpu("one delivery of nchan", theirs, ("peer nginx",), unit="µs")
        figures.add("fan-out / nchan", [a / b for a, b in zip(rates, nchan_rates)], "times",
                    at_least=1.3)
        figures.chart("fan-out", f"{count} subscribers, nginx with TLS", "words delivered a second",
                      [("Hostler", {"": sorted(rates)[len(rates) // 2]}),
                       ("nchan", {"": sorted(nchan_rates)[len(nchan_rates) // 2]})])


def idle_cost(meter, seconds):
    """The daemon's CPU in percent of a core."""
    meter.start()
    time.sleep(seconds)
    return meter.per_unit(seconds)["daemon"] / 10_000


@contextlib.contextmanager
def idle_streams(rig, meter, figures):
    """They stay open meanwhile."""
    account = rig.accounts(1, 1)[0]
    run = rig.api(account).start_run(account.threads[0], "[ask Which one?]")
    wanted = 2000
    warm = Subscribers(rig, rig.port, [(f"/v1/runs/{run}/events", account.token)] * 20, RUN_ENDS)
    seconds = max(2, 2 * SECONDS)
    alone = idle_cost(meter, seconds)
    before = meter.memory_kib("daemon"), meter.memory_kib("nginx")
    subscribers = Subscribers(rig, rig.port, [(f"/v1/runs/{run}/events", account.token)] * wanted,
                          RUN_ENDS)
    time.sleep(1)
    after = meter.memory_kib("daemon"), meter.memory_kib("nginx")
    full = idle_cost(meter, seconds)
    figures.add("daemon, a stream", (after[0] - before[0]) / wanted, "KiB", at_most=0.5,
                note=f"{wanted} streams of a run that waits for an answer; its buffers included")
    figures.add("nginx with TLS, a stream", (after[1] - before[1]) / wanted, "KiB", at_most=31)
    figures.add("what they add to the daemon's CPU", full - alone, "% of a core", at_most=0.01,
                note=f"{alone:.2f} % without them: heartbeat, polls, maintenance; a ping each 15 s")
    try:
        yield
    finally:
        for open_ones in (subscribers, warm):
            open_ones.program.stdin.close()
            open_ones.result()
        rig.api(account).call("POST", f"/v1/runs/{run}:cancel")


def live_runs(rig, peers, meter, figures):
    """A thousand at once, at 50 tokens a second each."""
    del peers
    count, tokens = 1000, max(100, round(100 * SECONDS / 2))
    message = f"[pause 10000] [delay 20] [stamps {tokens}]"
    accounts = rig.accounts(100, 10, message)
    paths = []
    for account in accounts:
        api = rig.api(account)
        for thread in account.threads:
            paths.append((f"/v1/runs/{api.start_run(thread)}/events", account.token))
        api.line.close()
    before = meter.memory_kib("daemon", "Rss")
    subscribers = Subscribers(rig, rig.port, paths, RUN_ENDS)
    meter.start()
    most = []
    watch = threading.Event()

    def look():
        while not watch.wait(0.5):
            most.append(meter.memory_kib("daemon", "Rss"))
    watcher = threading.Thread(target=look)
    watcher.start()
    result = subscribers.result(90 + tokens / 20)
    watch.set()
    watcher.join()
    costs = meter.per_unit(result["seconds"] * 1_000_000)
    done = rig.sql("SELECT count(*) FROM runs WHERE status = 'completed' AND id IN ("
                     + ",".join(f"'{path.split('/')[3]}'" for path, _ in paths) + ")")
    figures.add("runs completed and followed to their end", min(int(done[0][0]), result["ended"]),
                f"of {count}", at_least=count, note=f"{tokens} tokens each")
    figures.add("emission of a token -> client, p50", result["lag_p50_us"] / 1000, "ms",
                note=f"{result['lags']} tokens whose time of writing the model told")
    figures.add("emission of a token -> client, p99", result["lag_p99_us"] / 1000, "ms", at_most=50)
    figures.add("daemon's memory, a run", max(most + [before]) / count, "KiB RSS", at_most=75,
                note=f"all of it, {max(most + [before]) / 1024:.0f} MiB; model without TLS")
    figures.add("CPU while they speak",
                sum(costs[group] for group in ("daemon", "nginx", "Postgres")), "cores",
                note=", ".join(f"{group} {costs[group]:.2f}"
                               for group in ("daemon", "nginx", "Postgres", "model")))
