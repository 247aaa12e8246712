#!/usr/bin/env python3
# Writes through one API host until it is told to end, and says of every call what became of it,
# one JSON line each. Started by tests/hosts/run and tests/upgrade/run:
#   client.py HOST:PORT LOGIN PASSWORD [PAUSE_S [STREAMS]]
# PAUSE_S (0.003): between two messages of a writer. STREAMS (0): so many follow streams of runs to
# their ends, one after the other, and take them up again where they broke off.
import http.client
import json
import signal
import ssl
import sys
import threading
import time

WRITERS = 3
PAUSE_S = float((sys.argv[4:] or ["0.003"])[0])
STREAMS = int((sys.argv[5:] or ["0"])[0])
TIMEOUT_S = 6
ended = threading.Event()
told = threading.Lock()


def tell(**what):
    with told:
        print(json.dumps({"at": time.monotonic(), **what}), flush=True)


class Line:
    """One connection, made anew after every failure."""

    def __init__(self, address, token=None):
        self.address, self.token, self.connection = address, token, None
        self.trust = ssl.create_default_context()
        self.trust.check_hostname, self.trust.verify_mode = False, ssl.CERT_NONE

    def post(self, path, body):
        """Status and answer; status 0 when there was none."""
        headers = {"Content-Type": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        try:
            if self.connection is None:
                self.connection = http.client.HTTPSConnection(
                    self.address, timeout=TIMEOUT_S, context=self.trust)
            self.connection.request("POST", path, json.dumps(body), headers)
            answer = self.connection.getresponse()
            text = answer.read()
            return answer.status, json.loads(text) if text else {}
        except (OSError, http.client.HTTPException, ValueError):
            self.connection = None
            return 0, {}


def write_messages(address, token):
    line = Line(address, token)
    status, thread = line.post("/v1/threads", {"title": "many hosts"})
    count = 0
    while status == 201 and not ended.is_set():
        count += 1
        begun = time.monotonic()
        answered, message = line.post(
            f"/v1/threads/{thread['id']}/messages", {"content": f"message {count}"})
        tell(kind="message", status=answered, id=message.get("id"), begun=begun)
        time.sleep(PAUSE_S if answered == 201 else 0.1)


def start_runs(address, token):
    line = Line(address, token)
    while not ended.wait(0.2):
        begun = time.monotonic()
        status, thread = line.post("/v1/threads", {"title": "a run"})
        if status == 201:
            status, _ = line.post(
                f"/v1/threads/{thread['id']}/messages", {"content": "Please say hello."})
        run = {}
        if status == 201:
            status, run = line.post(f"/v1/threads/{thread['id']}/runs", {})
        tell(kind="run", status=status, id=run.get("run_id"), begun=begun)


class Stream:
    """One stream, over as many connections as it takes."""

    def __init__(self, address, token, run_id):
        self.address, self.token, self.run_id = address, token, run_id
        self.last_seq, self.gaps, self.connections, self.has_ended = 0, 0, 0, False
        self.trust = ssl.create_default_context()
        self.trust.check_hostname, self.trust.verify_mode = False, ssl.CERT_NONE

    def read(self, answer):
        for line in answer:
            if not line.startswith(b"data:"):
                continue
            event = json.loads(line[5:])
            self.gaps += event["seq"] != self.last_seq + 1
            self.last_seq = event["seq"]
            if event["type"] in ("run.completed", "run.failed", "run.cancelled"):
                self.has_ended = True

    def follow(self):
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "text/event-stream"}
        if self.last_seq:
            headers["Last-Event-ID"] = str(self.last_seq)
        self.connections += 1
        try:
            line = http.client.HTTPSConnection(self.address, timeout=40, context=self.trust)
            line.request("GET", f"/v1/runs/{self.run_id}/events", headers=headers)
            answer = line.getresponse()
            if answer.status == 200:
                self.read(answer)
        except (OSError, http.client.HTTPException):
            pass


def follow_runs(address, token):
    line = Line(address, token)
    while not ended.is_set():
        run = {}
        status, thread = line.post("/v1/threads", {"title": "a long run"})
        if status == 201:
            status, _ = line.post(f"/v1/threads/{thread['id']}/messages",
                                  {"content": "[delay 100] [words 150]"})
        if status == 201:
            _, run = line.post(f"/v1/threads/{thread['id']}/runs", {})
        if "run_id" not in run:
            time.sleep(0.2)
            continue
        begun = time.monotonic()
        stream = Stream(address, token, run["run_id"])
        while not stream.has_ended and time.monotonic() - begun < 120:
            stream.follow()
            time.sleep(0.2)
        tell(kind="stream", status=200 if stream.has_ended else 0, id=run["run_id"], begun=begun,
             gaps=stream.gaps, events=stream.last_seq, connections=stream.connections)


def main():
    address, login, password = sys.argv[1:4]
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    status, answer = Line(address).post("/v1/auth/login", {"login": login, "password": password})
    if status != 200:
        raise SystemExit(f"login at {address}: {status} {answer}")
    caller = (address, answer["access_token"])
    threads = [threading.Thread(target=write_messages, args=caller) for _ in range(WRITERS)]
    threads.append(threading.Thread(target=start_runs, args=caller))
    threads += [threading.Thread(target=follow_runs, args=caller) for _ in range(STREAMS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


main()
