"""Tenants who do nothing out of the ordinary, and how long each thing takes them: requests, runs
with their streams, tasks of an MCP server, logins, and mails until they have left. There are so
many of them that two minutes hold some four hundred of each: a p99 of few is their maximum. Each is
a process: threads of one Python would wait for each other, those of the lightest requests for the
readers of mails."""

import http.client
import itertools
import json
import math
import multiprocessing
import os
import secrets
import time

# Each asks less than half of what a minute allows.
REQUEST_PAUSE, RUN_PAUSE, TASK_PAUSE, LOGIN_PAUSE, MAIL_PAUSE = 1.5, 1.0, 0.5, 1.5, 0.5
TENANTS, RUNNERS, TASKERS, LOGINS, MAILERS = 6, 4, 6, 6, 2
RUN_SECONDS_MAX = 60
TASK_SECONDS_MAX = 120  # far more than the bound, so that a breach has a figure
LISTING_SECONDS_MAX = 30
PASSWORD = "correct horse battery"


def p99_of(waits):
    if not waits:
        return float("inf")
    waits = sorted(waits)
    return waits[min(len(waits) - 1, int(len(waits) * 0.99))]


class Measured:
    """Of each kind, how long each took in seconds, and what failed; told when all are over."""

    def __init__(self, phase):
        self.phase = phase  # which of its process's is meant; 0: none
        self.waits, self.failed = {}, {}

    def add(self, told):
        waits, failed = told.get(self.phase, ({}, {}))
        for own, others in ((self.waits, waits), (self.failed, failed)):
            for kind, rows in others.items():
                own.setdefault(kind, []).extend(rows)


class Neighbours:
    def __init__(self, rig, tasks_url, seconds):
        """seconds: how long they are at work, at most. Each second has a mailbox, because an
        address gets at most five mails in ten minutes."""
        self.rig = rig
        self.accounts = rig.accounts(TENANTS, 2)
        self.taskers = rig.accounts(TASKERS, 1)
        for account in self.taskers:
            self.furnish(rig.api(account), tasks_url)
        # Users who log in: through the API, each from an address of its own.
        self.logins = [self.register(f"198.51.100.{i + 1}") for i in range(LOGINS)]
        users = "', '".join(a.user for a in rig.accounts(math.ceil(seconds), 0))
        emails = rig.sql(f"SELECT email FROM users WHERE id IN ('{users}')")
        self.mail_to = [email for email, in emails]
        fork = multiprocessing.get_context("fork")
        self.fork, self.is_over, self.phase = fork, fork.Event(), fork.Value("i", 0)
        self.measured, self.running = [], []
        self.told = {}  # of this process: phase to (waits, failed) by kind

    @staticmethod
    def furnish(api, tasks_url):
        """An MCP server whose tools are listed, and a persona that uses them."""
        server = api.call("POST", "/v1/mcp-servers?scope=org", {
            "key": "own", "url": tasks_url, "authorization": {"type": "none"}})
        api.call("POST", "/v1/personas?scope=org", {
            "persona_key": "clerk", "version": "1", "tools": ["own__*"]})
        end = time.monotonic() + LISTING_SECONDS_MAX
        while True:
            listing = api.call("GET", f"/v1/mcp-servers/{server['id']}?scope=org")["listing"]
            if listing["state"] == "ok":
                return
            if time.monotonic() > end:
                raise SystemExit(f"the neighbours' MCP server is not listed: {listing}")
            time.sleep(0.1)

    def register(self, address):
        login = "n" + secrets.token_hex(6)
        email = login + "@neighbours.example"
        body = {"login": login, "email": email, "password": PASSWORD}
        status, text = self.call(self.connect(), "POST", "/v1/auth/register", body, address)
        if status != 201:
            raise SystemExit(f"register answered {status}: {text}")
        return login, email, address

    def connect(self):
        return self.rig.api().line

    def call(self, line, method, path, body=None, address="192.0.2.1", token=None):
        headers = {"X-Forwarded-For": address, "User-Agent": "neighbour/1"}
        if token:
            headers["Authorization"] = "Bearer " + token
        if body is not None:
            headers["Content-Type"] = "application/json"
        line.request(method, path, None if body is None else json.dumps(body), headers)
        answer = line.getresponse()
        return answer.status, answer.read().decode()

    def note(self, kind, begin, fault=None):
        phase = self.phase.value
        if phase == 0:
            return
        waits, failed = self.told.setdefault(phase, ({}, {}))
        if fault:
            failed.setdefault(kind, []).append(fault)
        else:
            waits.setdefault(kind, []).append(time.monotonic() - begin)

    def paced(self, work, pause, tell):
        """Calls it again and again; what goes wrong in between is a fault of the kind it tells."""
        line = self.connect()
        self.told = {}
        while not self.is_over.wait(pause):
            try:
                work(line)
            except (OSError, ValueError, http.client.HTTPException) as fault:
                self.note(work.kind, 0, f"{type(fault).__name__}: {fault}")
                line = self.connect()
        tell.send(self.told)

    def asked(self, kind, line, wanted, *call, **more):
        begin = time.monotonic()
        status, text = self.call(line, *call, **more)
        self.note(kind, begin, None if status == wanted else f"{call[1]}: {status} {text}")
        return json.loads(text) if status == wanted and text else None

    def request(self, account):
        def work(line):
            thread = account.threads[0]
            for kind, wanted, method, path, body in (
                    ("GET", 200, "GET", "/v1/me", None),
                    ("GET of a list", 200, "GET", "/v1/runs?limit=50", None),
                    ("POST message", 201, "POST", f"/v1/threads/{thread}/messages",
                     {"content": "good morning"})):
                self.asked(kind, line, wanted, method, path, body, token=account.token)
        work.kind = "GET"
        return work

    def run(self, account):
        def work(line):
            thread, begin = account.threads[1], time.monotonic()
            made = self.asked("POST run", line, 201, "POST", f"/v1/threads/{thread}/runs", {},
                              token=account.token)
            if not made:
                return
            line.request("GET", f"/v1/runs/{made['run_id']}/events", None,
                         {"Authorization": "Bearer " + account.token, "User-Agent": "neighbour/1",
                          "X-Forwarded-For": "192.0.2.1"})
            answer = line.getresponse()
            line.sock.settimeout(RUN_SECONDS_MAX)
            text = answer.read().decode()
            is_done = answer.status == 200 and '"type":"run.completed"' in text
            fault = None if is_done else f"{answer.status} {text[-300:]}"
            self.note("run to its end", begin, fault)
        work.kind = "run to its end"
        return work

    def task(self, account):
        """From the event of the call to that of its result."""
        def work(line):
            path = f"/v1/threads/{account.threads[0]}"
            said = {"content": "[tool own__now] [say done]"}
            if not self.asked("POST message", line, 201, "POST", path + "/messages", said,
                              token=account.token):
                return
            made = self.asked("POST run", line, 201, "POST", path + "/runs",
                              {"persona_id": "clerk"}, token=account.token)
            if not made:
                return
            line.sock.settimeout(TASK_SECONDS_MAX)
            line.request("GET", f"/v1/runs/{made['run_id']}/events", None,
                         {"Authorization": "Bearer " + account.token, "User-Agent": "neighbour/1",
                          "X-Forwarded-For": "192.0.2.1"})
            answer, called, told, text = line.getresponse(), None, None, ""
            for row in answer:
                text += row.decode()
                if b'"type":"tool.call"' in row:
                    called = time.monotonic()
                elif b'"type":"tool.result"' in row:
                    told = time.monotonic()
            is_done = called and told and '"done"' in text and '"type":"run.completed"' in text
            fault = None if is_done else f"{answer.status} {text[-300:]}"
            self.note("MCP task", time.monotonic() - (told - called if is_done else 0), fault)
        work.kind = "MCP task"
        return work

    def log_in(self, user):
        login, _, address = user

        def work(line):
            self.asked("login", line, 200, "POST", "/v1/auth/login",
                       {"login": login, "password": PASSWORD}, address=address)
        work.kind = "login"
        return work

    def mailer(self, first):
        """Each has numbers of its own."""
        numbers = itertools.count(first, MAILERS)

        def work(line):
            self.mail(line, next(numbers))
        work.kind = "mail"
        return work

    def mail(self, line, number):
        """Until a mail to the address lies in the folder."""
        email = self.mail_to[number % len(self.mail_to)]
        address = f"203.0.113.{number % 250 + 1}"
        folder, begin = self.rig.env["MAIL_DIR"], time.monotonic()
        before = set(os.listdir(folder))
        status, text = self.call(line, "POST", "/v1/auth/email/otp/send", {"email": email},
                                 address=address)
        if status >= 300:
            return self.note("mail", begin, f"{status} {text}")
        while time.monotonic() < begin + 30:
            for name in {n for n in os.listdir(folder) if not n.startswith(".")} - before:
                before.add(name)
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    if email in file.read():
                        return self.note("mail", begin)
            time.sleep(0.002)
        return self.note("mail", begin, "none within 30 s")

    def __enter__(self):
        works = [(self.request(account), REQUEST_PAUSE) for account in self.accounts]
        works += [(self.run(account), RUN_PAUSE) for account in self.accounts[:RUNNERS]]
        works += [(self.task(account), TASK_PAUSE) for account in self.taskers]
        works += [(self.log_in(user), LOGIN_PAUSE) for user in self.logins]
        works += [(self.mailer(i), MAIL_PAUSE) for i in range(MAILERS)]
        for work, pause in works:
            told, tell = self.fork.Pipe(duplex=False)
            process = self.fork.Process(target=self.paced, args=(work, pause, tell), daemon=True)
            process.start()
            self.running.append((process, told))
        return self

    def __exit__(self, *_):
        self.is_over.set()
        for process, told in self.running:
            if not told.poll(RUN_SECONDS_MAX + 30):
                raise SystemExit("a neighbour never ended")
            rows = told.recv()
            for measured in self.measured:
                measured.add(rows)
            process.join()

    def measure(self, seconds, measured=None):
        """Adds to what was measured before."""
        if measured is None:
            measured = Measured(len(self.measured) + 1)
            self.measured.append(measured)
        self.phase.value = measured.phase
        time.sleep(seconds)
        self.phase.value = 0
        return measured
