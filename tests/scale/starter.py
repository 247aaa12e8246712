# Starts runs through one API host as fast as it takes them, each in a thread of its own, and says
# how many; one JSON object at its end. Called by tests/scale/run:
#   starter.py HOST:PORT LOGIN PASSWORD COUNT MESSAGE
import http.client
import json
import ssl
import sys
import threading

ADDRESS, LOGIN, PASSWORD, COUNT, MESSAGE = sys.argv[1:6]
CALLERS = 8
refused = []


class Line:
    def __init__(self, token=""):
        trust = ssl.create_default_context()
        trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
        self.line = http.client.HTTPSConnection(ADDRESS, timeout=30, context=trust)
        self.headers = {"Content-Type": "application/json"}
        if token:
            self.headers["Authorization"] = f"Bearer {token}"

    def post(self, path, body):
        self.line.request("POST", path, json.dumps(body), self.headers)
        answer = self.line.getresponse()
        text = answer.read()
        if answer.status not in (200, 201, 202):
            raise SystemExit(f"{path}: {answer.status} {text[:300]}")
        return json.loads(text)


def start(token, count):
    line = Line(token)
    try:
        for _ in range(count):
            thread = line.post("/v1/threads", {"title": "of many"})
            line.post(f"/v1/threads/{thread['id']}/messages", {"content": MESSAGE})
            line.post(f"/v1/threads/{thread['id']}/runs", {})
    except (SystemExit, OSError, http.client.HTTPException) as fault:
        refused.append(str(fault))


def main():
    token = Line().post("/v1/auth/login", {"login": LOGIN, "password": PASSWORD})["access_token"]
    shares = [len(range(n, int(COUNT), CALLERS)) for n in range(CALLERS)]
    threads = [threading.Thread(target=start, args=(token, share)) for share in shares]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps({"started": int(COUNT), "refused": refused}))


main()
