# Hosts in network namespaces on one bridge, and what runs on them, for tests/hosts/run. Needs root;
# undoes all.
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import time

STACK = pathlib.Path(__file__).resolve().parents[2] / "dev/stack"
PG_BIN = pathlib.Path(subprocess.check_output([STACK / "postgres-bin"], text=True).strip())
PG_VERSION = PG_BIN.parent.name
USER = "postgres"  # neither Postgres nor the programs want root
NETWORK = "10.77.0."


def sh(*words, check=True, **more):
    done = subprocess.run([str(word) for word in words], check=False, capture_output=True,
                          text=True, **more)
    if check and done.returncode != 0:
        said = f"{done.returncode} {done.stdout}{done.stderr}"
        raise SystemExit(f"{' '.join(map(str, words))}: {said}")
    return done


def popen(words, out):
    with open(out, "wb") as file:
        return subprocess.Popen(words, stdout=file)


class Host:
    """One namespace with an address, and its programs."""

    def __init__(self, fixture, name, number):
        self.fixture, self.name, self.address = fixture, name, NETWORK + str(number)
        self.namespace = f"{fixture.mark}-{name}"
        self.folder = fixture.folder / name
        self.folder.mkdir()
        self.programs, self.volumes, self.is_stopped = {}, [], False
        # An interface's name is short, and for a moment it stands among the machine's own.
        near, far = f"h{os.getpid() % 100000}n{number}", f"h{os.getpid() % 100000}f{number}"
        sh("ip", "netns", "add", self.namespace)
        sh("ip", "link", "add", near, "netns", self.namespace, "type", "veth", "peer", "name", far,
           "netns", fixture.switch)
        self.ip("addr", "add", f"{self.address}/24", "dev", near)
        for link in (near, "lo"):
            self.ip("link", "set", link, "up")
        sh("ip", "-n", fixture.switch, "link", "set", far, "master", "bridge0", "up")
        self.link, self.port = near, far

    def ip(self, *words):
        sh("ip", "-n", self.namespace, *words)

    def words(self, *command, environment=()):
        return ["ip", "netns", "exec", self.namespace, "setpriv", f"--reuid={USER}",
                f"--regid={USER}", "--init-groups", "env", "-C", "/", "-i",
                "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", *environment,
                *map(str, command)]

    def run(self, *command, environment=(), check=True, **more):
        return sh(*self.words(*command, environment=environment), check=check, **more)

    def start(self, name, *command, environment=()):
        """With a name of the host's own."""
        named = ["unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"', self.name]
        words = self.words(*command, environment=environment)
        log = open(self.folder / f"{name}.log", "ab")
        self.programs[name] = subprocess.Popen(
            named + words, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            start_new_session=True)

    def pids(self):
        pids = sh("ip", "netns", "pids", self.namespace, check=False).stdout
        return [int(pid) for pid in pids.split()]

    def cut_off(self):
        """Its packets are swallowed from now on, in both directions, as when the power fails."""
        sh("ip", "-n", self.fixture.switch, "link", "set", self.port, "nomaster")

    def signal_all(self, number):
        for pid in self.pids():
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def kill_all(self):
        self.signal_all(signal.SIGKILL)

    def mount(self, path, mebibytes):
        """A small volume of its own."""
        path.mkdir(parents=True)
        options = f"size={mebibytes}m,uid={pwd.getpwnam(USER).pw_uid},mode=0700"
        sh("mount", "-t", "tmpfs", "-o", options, "none", path)
        self.volumes.append(path)


class Fixture:
    def __init__(self, folder):
        self.folder, self.hosts = pathlib.Path(folder), {}
        self.mark = f"hostler-{os.getpid()}"
        self.switch = f"{self.mark}-switch"
        sh("ip", "netns", "add", self.switch)
        sh("ip", "-n", self.switch, "link", "add", "bridge0", "type", "bridge")
        sh("ip", "-n", self.switch, "link", "set", "bridge0", "up")

    def add(self, name, number):
        self.hosts[name] = Host(self, name, number)
        owner = pwd.getpwnam(USER)
        os.chown(self.hosts[name].folder, owner.pw_uid, owner.pw_gid)
        return self.hosts[name]

    def end(self):
        for host in self.hosts.values():
            host.kill_all()
            for program in host.programs.values():
                program.wait()
            for volume in host.volumes:
                sh("umount", "-l", volume, check=False)
            sh("ip", "netns", "del", host.namespace, check=False)
        sh("ip", "netns", "del", self.switch, check=False)


def until(seconds, what, condition):
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise SystemExit(f"gave up after {seconds} s: {what}")
        time.sleep(0.1)


class Postgres:
    def __init__(self, host):
        self.host, self.data = host, host.folder / "pg"

    def cluster(self, *words):
        """A command of dev/stack/cluster.sh, on this host."""
        script = (f". {STACK}/paths.sh; . {STACK}/cluster.sh; log_dir=$1 stack_user=$2; "
                  'mapfile -t run_as <<<"$3"; "${@:4}"')
        sh("bash", "-euo", "pipefail", "-c", script, "cluster", self.host.folder, USER,
           "\n".join(self.host.words()), *words)

    def make_primary(self, *settings):
        self.cluster("make_cluster", self.data, "--no-sync")
        with open(self.data / "pg_hba.conf", "a") as rules:
            rules.write(f"host all all {NETWORK}0/24 trust\n")
            rules.write(f"host replication all {NETWORK}0/24 trust\n")
        self.start(*settings)

    def make_standby_of(self, primary):
        source = f"host={primary.host.address} user=postgres application_name=standby"
        self.host.run(PG_BIN / "pg_basebackup", "-d", source, "-D", self.data, "-R", "-X", "stream",
                      "-c", "fast", "--no-sync")
        self.start()

    def start(self, *settings):
        log = self.host.folder / "postgres.log"
        self.cluster("start_cluster", self.data, self.host.folder, log,
                     f"listen_addresses = '{self.host.address}'", "max_connections = 400",
                     "wal_level = replica", "hot_standby = on", *settings)

    def ask(self, text, database="postgres", check=True):
        return self.host.run("psql", "-h", self.host.folder, "-U", "postgres", "-d", database,
                             "-XAtqc", text, check=check).stdout.strip()

    def promote(self):
        self.host.run(PG_BIN / "pg_ctl", "promote", "-D", self.data, "-w", "-t", "30", "-s")


def copy_programs(build, folder):
    """Where the user that runs them may enter."""
    target = pathlib.Path(folder) / "bin"
    target.mkdir()
    for name in ("hostler-api", "hostler-runner", "hostlerctl", "fake-model"):
        shutil.copy(pathlib.Path(build) / name, target)
    shutil.copy(STACK / "nginx", target)
    return target
