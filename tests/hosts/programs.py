# Hostler's programs on the hosts of tests/hosts/net.py, as docs/scaling.md says: API hosts (nginx,
# a pool, and a daemon that only serves streams) and runner hosts (a daemon, and a fake model beside
# it). For tests/hosts/run and tests/hosts/cluster.
import filecmp
import json
import os
import pathlib
import shutil
import signal

import net

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = os.environ.get("BUILD_DIR", SOURCE / "build/release")
PORT, MODEL_PORT = 8443, 18080
LOGIN, PASSWORD = "hosts", "many hosts 4711"
APIS, RUNNERS = ("api1", "api2"), ("runner1", "runner2", "runner3")


class Programs:
    """folder: of the fixture. url: of the database, without a role."""

    def __init__(self, fixture, folder, url):
        self.fixture, self.folder, self.url = fixture, pathlib.Path(folder), url
        self.bin = net.copy_programs(BUILD, folder)
        os.chmod(folder, 0o755)
        self.edge = fixture.add("edge", 2)
        self.key = self.folder / "key"
        self.key.write_bytes(os.urandom(32))
        self.key.chmod(0o600)
        shutil.chown(self.key, net.USER)
        self.password = None  # of all roles; None: they need none
        self.more = []  # settings, beside those of environment()

    def database(self, role):
        words = [f"PGUSER={role}", f"HOSTLER_DATABASE_URL={self.url}"]
        return words + ([f"PGPASSWORD={self.password}"] if self.password else [])

    def ctl(self, *words, program=None, **more):
        environment = [*self.database("postgres"), f"HOSTLER_SECRETS_KEY_FILE={self.key}"]
        return self.edge.run((program or self.bin) / "hostlerctl", *words,
                             environment=environment, **more)

    def make_users(self):
        for login, words in ((LOGIN, ("user", "create")), ("admin", ("admin", "create"))):
            self.ctl(*words, "--login", login, "--email", f"{login}@hostler.invalid",
                     "--password-stdin", input=PASSWORD + "\n")

    def start_all(self):
        for number, name in enumerate(APIS):
            self.start_api(self.fixture.add(name, 21 + number))
        for number, name in enumerate(RUNNERS):
            self.start_runner(self.fixture.add(name, 31 + number), slots=100)
        for name in APIS:
            net.until(30, f"{name} is ready", lambda n=name: self.get(n, "/readyz") == "200")

    def environment(self, host, role):
        return [*self.database(role), f"HOSTLER_SECRETS_KEY_FILE={self.key}",
                f"HOSTLER_API_SOCKET={host.folder}/api.sock",
                f"HOSTLER_STREAM_SOCKET={host.folder}/stream.sock",
                f"HOSTLER_METRICS_API_SOCKET={host.folder}/ma.sock", "HOSTLER_LOG_LEVEL=info",
                f"HOSTLER_METRICS_RUNNER_SOCKET={host.folder}/mr.sock", "HOSTLER_API_WORKERS=1",
                f"HOSTLER_API_LOCK_DIR={host.folder}",
                f"HOSTLER_OUTBOUND_SOCKET={host.folder}/out.sock",
                "HOSTLER_API_OWN_CONNECTIONS=6", "HOSTLER_ACCESS_LOG_DIR=",
                "HOSTLER_CREDIT_INITIAL_GRANT=100000000",
                "HOSTLER_AUTH_ACCESS_TOKEN_SECONDS=86400",  # clients log in once
                "HOSTLER_LIMIT_REQUESTS_PER_MINUTE=1000000", "HOSTLER_LIMIT_CONCURRENT_RUNS=10000",
                "HOSTLER_LIMIT_CONCURRENT_RUNS_PER_USER=0", *self.more]

    def start_daemon(self, host, slots, program=None):
        host.start("runner", (program or self.bin) / "hostler-runner",
                   environment=[*self.environment(host, "hostler_runner"),
                                f"HOSTLER_RUN_SLOTS={slots}"])

    def start_runner(self, host, slots, *words_of_model):
        host.start("model", self.bin / "fake-model", "--port", MODEL_PORT, *words_of_model)
        self.start_daemon(host, slots)

    def start_pool(self, host, program=None):
        host.start("pool", (program or self.bin) / "hostler-api",
                   environment=self.environment(host, "hostler_api"))

    def start_api(self, host):
        self.start_pool(host)
        self.start_daemon(host, slots=0)
        net.sh("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
               "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=hosts",
               "-keyout", host.folder / "key.pem", "-out", host.folder / "cert.pem")
        shutil.chown(host.folder / "key.pem", net.USER)
        net.sh(SOURCE / "dev/stack/nginx", "write", host.folder,
               f"LISTEN={host.address}:{PORT}", "LISTEN6=",
               f"API_SOCKET={host.folder}/api.sock", f"STREAM_SOCKET={host.folder}/stream.sock",
               f"CERTIFICATE={host.folder}/cert.pem", f"CERTIFICATE_KEY={host.folder}/key.pem",
               f"ACCESS_LOG_DIR={host.folder}", "CONNECTIONS_MAX=65535",
               "REQUESTS_PER_SECOND=200000", "REQUESTS_BURST=100000")
        shutil.chown(host.folder / "temp", net.USER)
        host.start("nginx", self.bin / "nginx", "run", host.folder)

    def place(self, build):
        """Programs of another build, by rename, as a package does it: what runs keeps its own."""
        for name in ("hostler-api", "hostler-runner", "hostlerctl"):
            shutil.copy(pathlib.Path(build) / name, self.bin / f".{name}")
            (self.bin / f".{name}").rename(self.bin / name)

    def replace(self, host, slots):
        """As systemd does behind place(): reloads the pool, stops and starts the daemon."""
        if "pool" in host.programs:
            host.programs["pool"].send_signal(signal.SIGHUP)
        host.programs["runner"].terminate()
        host.programs["runner"].wait(timeout=30)
        self.start_daemon(host, slots)

    def runs_from(self, build, host):
        """How many of the host's programs are of that build, when they had the time for it."""
        files = {"pool": "hostler-api", "runner": "hostler-runner"}
        here = files.keys() & host.programs.keys()

        def is_new(name):
            return filecmp.cmp(f"/proc/{host.programs[name].pid}/exe",
                               pathlib.Path(build) / files[name], shallow=False)
        net.until(20, f"{host.name} runs the next version", lambda: all(map(is_new, here)))
        return len(here)

    def get(self, name, path):
        url = f"https://{self.fixture.hosts[name].address}:{PORT}{path}"
        return self.edge.run("curl", "-sk", "--max-time", 5, "-o", "/dev/null",
                             "-w", "%{http_code}", url, check=False).stdout

    def post(self, path, body, token=""):
        """Through the first API host; the answer."""
        return self.call(path, token, "-H", "Content-Type: application/json", "-d",
                         json.dumps(body))

    def call(self, path, token, *words):
        base = f"https://{self.fixture.hosts['api1'].address}:{PORT}"
        caller = f"Authorization: Bearer {token}" if token else "X-None: 1"
        return json.loads(self.edge.run("curl", "-sk", "--max-time", 10, "-H", caller, *words,
                                        base + path).stdout)

    def log_in_admin(self):
        answer = self.post("/v1/auth/login", {"login": "admin", "password": PASSWORD})
        return answer["access_token"]

    def register_model(self):
        """As dev/stack/up does."""
        token = self.log_in_admin()
        provider = self.post("/v1/llm-providers?scope=platform", {
            "name": "fake-model", "provider_kind": "openai",
            "base_url": f"http://127.0.0.1:{MODEL_PORT}/v1", "api_key": "a secret"}, token)
        self.post(f"/v1/llm-providers/{provider['id']}/models?scope=platform",
                  {"model": "fake-model", "is_default": True}, token)

    def start_client(self, name, out, *further):
        """tests/hosts/client.py against one API host."""
        address = f"{self.fixture.hosts[name].address}:{PORT}"
        source = (SOURCE / "tests/hosts/client.py").read_text()
        words = ("/usr/bin/python3", "-c", source, address, LOGIN, PASSWORD, *further)
        return net.popen(self.edge.words(*words), out)
