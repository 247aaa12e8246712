# The many-hosts shape under load, and what is judged of it, a line a check. For
# tests/hosts/cluster.
import collections
import json
import os
import pathlib
import shutil
import time

import net
import watched
from programs import APIS, Programs

CARRIED_OVER_S = float(os.environ.get("CARRIED_OVER_S", "30"))
SWITCHOVER_S, STANDBY_S, REFUSED_S = 5, 20, 3
WHOLE_AGAIN_S = 120
STREAMS = 3  # that each client follows at once
verdicts = []


def check(name, is_well, said=""):
    verdicts.append(bool(is_well))
    verdict = "ok" if is_well else "not ok"
    print(f"{verdict} {len(verdicts)} - {name}{': ' if said else ''}{said}", flush=True)


def told(text):
    print(f"# {text}", flush=True)


class SetUp:
    """`hostlerctl setup` of a host, as root, with an /etc of its own."""

    def __init__(self, shape, name):
        self.shape, etc = shape, shape.folder / f"{name}-etc"
        (etc / "hostler").mkdir(parents=True)
        for file in ("passwd", "group", "nsswitch.conf"):
            shutil.copy(f"/etc/{file}", etc)
        with open(etc / "passwd", "a") as users:
            users.write("hostler_api:x:990:990::/:/bin/false\n"
                        "hostler_runner:x:991:991::/:/bin/false\n")
        self.etc, self.key = etc, etc / "hostler/secret.key"

    def run(self):
        programs, members = self.shape.programs, self.shape.cluster.members.values()
        addresses = ",".join(member.host.address for member in members)
        return net.sh("ip", "netns", "exec", programs.edge.namespace, "unshare", "-m", "sh", "-c",
                      'mount --bind "$0" /etc && exec "$@"', self.etc, "env", "-i",
                      "PATH=/usr/sbin:/usr/bin:/sbin:/bin", *programs.database("postgres"),
                      programs.bin / "hostlerctl", "setup", "--without-nginx", "--superuser-url",
                      f"postgresql://postgres@{addresses}/postgres", check=False)


class Shape:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.fixture = net.Fixture(folder)
        settings = (watched.FILES / "hostler.toml").read_text().splitlines()
        url = next(line.split('"')[1] for line in settings if line.startswith("url = "))
        self.programs = Programs(self.fixture, folder, url)
        self.programs.password = watched.PASSWORDS["POSTGRES"]
        self.cluster = watched.Cluster(self.fixture)
        self.clients = []

    def start(self):
        self.cluster.start()
        self.set_up_first()
        for role in ("hostler_api", "hostler_runner"):
            self.cluster.ask(f"ALTER ROLE {role} PASSWORD '{self.programs.password}'")
        self.programs.make_users()
        self.programs.start_all()
        self.programs.register_model()
        self.set_up_second()
        for name in APIS:
            out = self.folder / f"{name}.jsonl"
            self.clients.append(self.programs.start_client(name, out, "0.02", STREAMS))
        net.until(30, "both API hosts take messages",
                  lambda: all(self.lines(name) for name in APIS))

    def set_up_first(self):
        """As docs/scaling.md says: roles and schema, wherever the leader is."""
        host = SetUp(self, "first")
        done = host.run()
        check("setup makes the key file, and the database wherever the leader is",
              done.returncode == 0 and host.key.exists(), done.stderr)
        shutil.copy(host.key, self.programs.key)
        shutil.chown(self.programs.key, net.USER)

    def set_up_second(self):
        """Where the first one's programs run already: with their key file, or not at all."""
        host = SetUp(self, "second")
        done = host.run()
        check("setup makes no other key file on a second host",
              done.returncode != 0 and not host.key.exists() and "secret.key" in done.stderr,
              done.stderr.strip())
        shutil.copy(self.programs.key, host.key)
        done = host.run()
        check("setup takes a second host with the first one's key file", done.returncode == 0,
              done.stderr)

    def lines(self, name):
        text = (self.folder / f"{name}.jsonl").read_text()
        return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]

    def all_lines(self):
        return [line for name in APIS for line in self.lines(name)]

    def doctor(self):
        """Its findings that are not ok, by what they are about."""
        said = self.programs.ctl("-o", "json", "doctor", check=False, timeout=60)
        about = ("postgres", "database", "durability", "maintenance", "daemon")
        if not said.stdout:
            return {"doctor": said.stderr}
        return {row["what"]: row["message"] for row in json.loads(said.stdout)
                if row["verdict"] != "ok" and row["what"].startswith(about)}

    def end(self):
        for client in self.clients:
            client.terminate()
        for client in self.clients:
            client.wait(timeout=150)
        self.clients = []


def is_well(line):
    return line["status"] in (200, 201, 202) and line["id"]


def writes_go_on(shape, since):
    """On both hosts, begun after that, as many as in half a quiet second."""
    return all(sum(1 for line in shape.lines(name) if line["kind"] == "message"
                   and is_well(line) and line["begun"] > since + 0.5) >= 20 for name in APIS)


def longest_gap(shape, since, until):
    worst = 0
    for name in APIS:
        times = sorted(line["at"] for line in shape.lines(name) if line["kind"] == "message"
                       and is_well(line) and since < line["at"] < until)
        times = [since, *times, until]
        worst = max(worst, max(later - earlier for earlier, later in zip(times, times[1:])))
    return worst


def judge(shape, name, since, limit_s):
    try:
        net.until(90, f"{name}: writes go on", lambda: writes_go_on(shape, since))
    except SystemExit as fault:
        check(f"{name}: writes go on", False, str(fault))
        return
    time.sleep(2)
    gap_s = longest_gap(shape, since, time.monotonic())
    refused = collections.Counter(line["status"] for line in shape.all_lines()
                                  if line["at"] > since and not is_well(line))
    check(f"{name}: writes go on within {limit_s:g} s", gap_s <= limit_s,
          f"after {gap_s:.1f} s; load {os.getloadavg()[0]:.1f}; refused {dict(refused)}")


def lost_ids(shape):
    acknowledged = {line["id"] for line in shape.all_lines()
                    if is_well(line) and line["kind"] != "stream"}
    there = set(shape.cluster.ask("SELECT id FROM messages UNION ALL SELECT id FROM runs",
                                  "hostler").split())
    return acknowledged - there, len(acknowledged)


def whole_again(shape, name):
    since = time.monotonic()
    try:
        net.until(WHOLE_AGAIN_S, "three members, one of them synchronous", shape.cluster.is_whole)
    except SystemExit as fault:
        check(f"{name}: all three are back", False, f"{fault}: {shape.cluster.listed()}")
        return
    took_s = time.monotonic() - since
    time.sleep(2)
    gap_s = longest_gap(shape, since, time.monotonic())
    check(f"{name}: all three are back, and nobody noticed", gap_s < SWITCHOVER_S,
          f"after {took_s:.1f} s; {gap_s:.1f} s without a write")
    lost, of_how_many = lost_ids(shape)
    check(f"{name}: nothing acknowledged is lost", not lost, f"{len(lost)} of {of_how_many}")
