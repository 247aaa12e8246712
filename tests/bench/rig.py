"""What the bench measures with: the stack's addresses, accounts and their threads, one keep-alive
connection, and the programs that make load."""

import contextlib
import http.client
import json
import os
import re
import signal
import ssl
import subprocess
import time

from accounts import make_accounts

SECONDS = float(os.environ.get("BENCH_SECONDS", "4"))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
STACK = os.path.join(os.path.dirname(__file__), "../../dev/stack")
# The bench's own stack runs the newest one that is installed.
POSTGRES_BIN = subprocess.check_output([STACK + "/postgres-bin"], text=True).strip() + "/"


def read_env(path):
    with open(path, encoding="utf-8") as file:
        return dict(re.findall(r"^(\w+)='(.*)'$", file.read(), re.M))


def statements(folder):
    """The named statements of sql/queries, so that peers and pgbench say the very same."""
    found = {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            for part in file.read().split("-- name: ")[1:]:
                title, _, text = part.partition("\n")
                lines = [line for line in text.split("\n") if not line.startswith("--")]
                found[title.strip()] = "\n".join(lines).strip().rstrip(";")
    return found


class Rig:
    """The private stack as the parts see it."""

    def __init__(self, env, scratch, source):
        self.env, self.scratch, self.source = env, scratch, source
        self.port = int(env["BASE_URL"].rpartition(":")[2])
        self.statements = statements(os.path.join(source, "sql/queries"))
        self.socket_dir = re.search(r"host=([^&]*)", env["DATABASE_URL"])[1]

    def file(self, name, text):
        path = os.path.join(self.scratch, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o644)
        return path

    def database(self, user="postgres", name="hostler"):
        return f"postgresql:///{name}?host={self.socket_dir}&user={user}"

    def sql(self, text, database="hostler"):
        """Rows of texts; as a superuser."""
        done = subprocess.run(
            ["psql", "-qAtX", "-F", "\t", "-v", "ON_ERROR_STOP=1", self.database(name=database)],
            input=text, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit("psql: " + done.stderr)
        return [line.split("\t") for line in done.stdout.splitlines()]

    def own_sql(self, name, **values):
        with open(os.path.join(self.source, "tests/bench", name), encoding="utf-8") as file:
            return file.read().format(**values)

    def accounts(self, count, threads_each, message="[delay 0] [words 1]"):
        return make_accounts(self.sql, count, threads_each, message)

    def wait_for_runs(self, seconds=60):
        """Until no run is left that a daemon works on or could take."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.sql("SELECT count(*) FROM runs WHERE status = 'running'")[0][0] == "0":
                return
            time.sleep(0.1)
        raise SystemExit(f"runs are still at work after {seconds} s")

    def wait_for_no_session(self, database, seconds=10):
        """Until the sessions of a database have ended, which follows their clients' ends."""
        end = time.monotonic() + seconds
        asked = f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{database}'"
        while self.sql(asked)[0][0] != "0":
            if time.monotonic() > end:
                raise SystemExit(f"sessions of {database} are still there after {seconds} s")
            time.sleep(0.05)

    @contextlib.contextmanager
    def daemon_held(self):
        """Stops the daemon, which would share the cores, for less than a lease; then drops what is
        in the queue."""
        pids = [int(pid) for pid in self.env["RUNNER_PIDS"].split()]
        try:
            for pid in pids:
                os.kill(pid, signal.SIGSTOP)
            yield
            self.cancel_queue()
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGCONT)
        self.drop_queue()

    def drop_queue(self):
        """Ends what a load of POST run left waiting, without working it off."""
        self.cancel_queue()
        self.wait_for_runs()

    def cancel_queue(self):
        self.sql("UPDATE runs SET status = 'cancelled', queued = false, ended_at ="
                 " clock_timestamp() WHERE status = 'running' AND owner_id IS NULL;"
                 " SELECT account_runs_recount()")

    def wrk(self, path, account, script=None, connections=32, port=None):
        """(requests, a second, p99 in ms), never with an answer that is no success."""
        command = ["wrk", f"-t{min(2, connections)}", f"-c{connections}",
                   f"-d{max(1, round(SECONDS))}s", "--latency",
                   "-H", "Authorization: Bearer " + account.token,
                   f"https://127.0.0.1:{port or self.port}{path}"]
        if script:
            command[1:1] = ["-s", script]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"wrk {path}: {done.stderr}")
        for fault in (r"Non-2xx or 3xx responses: \d+", r"Socket errors: .*"):
            if bad := re.search(fault, done.stdout):
                raise SystemExit(f"{path} at port {port or self.port}: {bad[0]}")
        slowest = re.search(r"99%\s+([\d.]+)(us|ms|s)", done.stdout)
        return (int(re.search(r"(\d+) requests in", done.stdout)[1]),
                float(re.search(r"Requests/sec:\s+([\d.]+)", done.stdout)[1]),
                float(slowest[1]) * {"us": 0.001, "ms": 1, "s": 1000}[slowest[2]])

    def post_script(self, name, targets, body):
        """A wrk script whose requests take the targets, (token, path), in turn."""
        rows = ",\n".join(f'{{"{token}", "{path}"}}' for token, path in targets)
        return self.file(name, POST_SCRIPT.replace("ROWS", rows).replace("BODY", json.dumps(body)))

    def pgbench(self, script, clients=4, role="hostler_api", name="hostler"):
        """Transactions a second of Postgres alone. A script may count on in :n."""
        done = subprocess.run(
            [POSTGRES_BIN + "pgbench", "-n", "-M", "prepared", f"-c{clients}",
             f"-j{min(2, clients)}", f"-T{max(1, round(SECONDS))}", "-D", "n=0",
             "-f", script, self.database(role, name)],
            capture_output=True, text=True, check=False)
        found = re.search(r"tps = ([\d.]+)", done.stdout)
        if done.returncode != 0 or not found:
            raise SystemExit("pgbench: " + done.stderr)
        return float(found[1])

    def api(self, account=None):
        return Api(self, account)


POST_SCRIPT = """local targets = {
ROWS}
local next_thread = 0
function setup(thread) thread:set("place", next_thread) next_thread = next_thread + 1 end
local place_set = false
function request()
  if not place_set then place = place * math.floor(#targets / 2) place_set = true end
  place = place + 1
  local target = targets[place % #targets + 1]
  local headers = {["Content-Type"] = "application/json"}
  headers["Authorization"] = "Bearer " .. target[1]
  return wrk.format("POST", target[2], headers, BODY)
end
"""


class Api:
    """One keep-alive connection with somebody's token."""

    def __init__(self, rig, account=None):
        self.rig = rig
        self.context = ssl.create_default_context(cafile=rig.env["CA_CERT"])
        self.context.check_hostname = False
        self.token = account.token if account else None
        self.line = self.connect()

    def connect(self):
        line = http.client.HTTPSConnection("127.0.0.1", self.rig.port, context=self.context,
                                           timeout=60)
        line.connect()
        return line

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

    def start_run(self, thread, message=None):
        if message:
            self.call("POST", f"/v1/threads/{thread}/messages", {"content": message})
        return self.call("POST", f"/v1/threads/{thread}/runs", {})["run_id"]
