#!/usr/bin/env python3
# Writes through one API host until it is told to end, and says of every call what became of it,
# one JSON line each. Started by tests/hosts/run and tests/upgrade/run:
#   client.py HOST:PORT LOGIN PASSWORD
import http.client
import json
import signal
import ssl
import sys
import threading
import time

WRITERS = 3
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
        time.sleep(0.003 if answered == 201 else 0.1)


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


def main():
    address, login, password = sys.argv[1:4]
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    status, answer = Line(address).post("/v1/auth/login", {"login": login, "password": password})
    if status != 200:
        raise SystemExit(f"login at {address}: {status} {answer}")
    caller = (address, answer["access_token"])
    threads = [threading.Thread(target=write_messages, args=caller) for _ in range(WRITERS)]
    threads.append(threading.Thread(target=start_runs, args=caller))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


main()
