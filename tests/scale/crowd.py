# Users of the shape of tests/scale/run: accounts with threads, those that start runs, those that
# follow streams, and servers that take webhooks or hang.
import json
import pathlib
import subprocess

import net
from accounts import make_accounts
from programs import PORT, SOURCE

RECEIVER_PORT = 18443
CALLERS = 8


class Crowd:
    def __init__(self, shape):
        self.shape, self.folder = shape, pathlib.Path(shape.folder)
        self.follow = self.folder / "bin/follow"
        net.sh("gcc", "-O2", "-o", self.follow, SOURCE / "tests/bench/follow.c", "-lssl",
               "-lcrypto")
        self.streams = []

    def accounts(self, count, threads_each, message):
        return make_accounts(self.rows, count, threads_each, message)

    def rows(self, text):
        return [line.split("\t") for line in self.shape.run_sql(text).splitlines()]

    def post(self, requests):
        """Requests are (token, path, body); what was answered, in their order."""
        text = "".join(f"{token}\t{path}\t{json.dumps(body)}\n" for token, path, body in requests)
        source = (SOURCE / "tests/scale/poster.py").read_text()
        address = f"{self.shape.fixture.hosts['api1'].address}:{PORT}"
        said = json.loads(self.shape.programs.edge.run(
            "/usr/bin/python3", "-c", source, address, CALLERS, input=text).stdout)
        if said["refusals"]:
            raise SystemExit(f"{said['refusals']} refused: {said['refused']}")
        return said["answers"]

    def start_runs(self, accounts):
        """One in each of their threads; the ids."""
        return self.post([(account.token, f"/v1/threads/{thread}/runs", {})
                          for account in accounts for thread in account.threads])

    def make_certificate(self):
        """Of the receivers; the daemons trust it."""
        key = self.folder / "receiver-key.pem"
        net.sh("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
               "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=receiver",
               "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key,
               "-out", self.shape.certificate)
        for path in (key, self.shape.certificate):
            path.chmod(0o644)

    def receive_at(self, host):
        """Beside a daemon: all call the same address, each its own host's."""
        source = SOURCE / "tests/support/peers/webhook_receiver.py"
        host.start("receiver", "/usr/bin/python3", "-c", source.read_text(), RECEIVER_PORT,
                   self.shape.certificate, self.folder / "receiver-key.pem", "/dev/null")

    def make_endpoints(self, accounts, hanging):
        """Told of each run that completes; the first so many of them never answer."""
        self.post([(account.token, "/v1/webhook-endpoints", {
            "url": f"https://127.0.0.1:{RECEIVER_PORT}/{'hang' if n < hanging else 'ok'}/{n}",
            "events": ["run.completed"]}) for n, account in enumerate(accounts)])

    def open_streams(self, runs, each):
        """runs: (token, id). So many streams of each, the runs in equal parts on the API hosts."""
        hosts = [host for name, host in self.shape.fixture.hosts.items() if name.startswith("api")]
        opening = []
        for number, host in enumerate(hosts):
            listed = self.folder / f"streams-{number}"
            listed.write_text("".join(f"/v1/runs/{run}/events\t{token}\n" * each
                                      for token, run in runs[number::len(hosts)]))
            listed.chmod(0o644)
            opening.append(subprocess.Popen(
                self.shape.programs.edge.words(self.follow, f"{host.address}:{PORT}", "data:",
                                               '"type":"run.cancelled"', listed, "one-by-one"),
                text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        self.streams += opening
        for stream in opening:
            if stream.stdout.readline() != "open\n":
                raise SystemExit("a stream was not opened")
        return len(runs) * each

    def streams_ended(self):
        """How many ended, how many there were, and how many events each had."""
        said = [json.loads(stream.stdout.readline()) for stream in self.streams]
        for stream in self.streams:
            stream.wait()
        self.streams = []
        return (sum(one["ended"] for one in said), sum(one["streams"] for one in said),
                {one[which] for one in said for which in ("least", "most")})

    def end(self):
        for stream in self.streams:
            stream.kill()
            stream.wait()
