# Three Postgres hosts under Patroni and three etcd, started from the files of docs/cluster as they
# stand there: only their placeholders are filled in, and folders moved below the host's own. For
# tests/hosts/cluster.
import json
import os
import pathlib
import re
import secrets
import shutil
import signal

import net

FILES = pathlib.Path(__file__).resolve().parents[2] / "docs/cluster"
POSTGRES, ETCD = ("pg1", "pg2", "pg3"), ("etcd1", "etcd2", "etcd3")
BACKUP = ("var/log/pgbackrest", "var/spool/pgbackrest", "etc/pgbackrest")
DATA_MIB, WAL_MIB = 700, 500
PASSWORDS = {name: secrets.token_hex(12) 
             for name in ("POSTGRES", "REPLICATION", "PATRONI", "CIPHER")}


def written(host, name, target, **values):
    """A file of docs/cluster for this host."""
    text = (FILES / name).read_text()
    values |= {"NAME": host.name, "ADDRESS": host.address, "WAL_THIRD": f"{WAL_MIB // 3}MB",
               "VERSION": net.PG_VERSION}
    values |= {f"{who}_PASSWORD": password for who, password in PASSWORDS.items()}
    for placeholder, value in values.items():
        text = text.replace(f"@{placeholder}@", value)
    if left := re.findall("@[A-Z_]+@", text):
        raise SystemExit(f"docs/cluster/{name}: nobody fills in {left}")
    for folder in ("/var/lib/postgresql", "/run/postgresql", *(f"/{b}" for b in BACKUP)):
        text = re.sub(rf"(?<![\w/]){folder}", f"{host.folder}{folder}", text)
    # All mount one repository; its programs read a file of the host's own.
    text = text.replace("/var/lib/pgbackrest", f"{host.fixture.folder}/repository")
    text = re.sub(r"(?<![\w/])pgbackrest (?=--stanza)",
                  f"pgbackrest --config={host.folder}/etc/pgbackrest/pgbackrest.conf ", text)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)
    target.chmod(0o600)
    shutil.chown(target, net.USER)
    return target


def start_etcd(host):
    lines = [line for line in written(host, "etcd", host.folder / "etcd").read_text().splitlines()
             if line and not line.startswith("#")]
    host.start("etcd", "/usr/bin/etcd", environment=[*lines, f"ETCD_DATA_DIR={host.folder}/data"])


class Member:
    """A Postgres host under Patroni."""

    def __init__(self, host):
        self.host = host
        for name, size in (("postgresql", DATA_MIB), ("postgresql-wal", WAL_MIB)):
            volume = host.folder / "var/lib" / name
            if name == "postgresql":
                volume = volume / net.PG_VERSION
            host.mount(volume, size)
        for folder in ("run/postgresql", *BACKUP):
            (host.folder / folder).mkdir(parents=True)
        for path in [host.folder / top for top in ("run", "var", "etc")]:
            for folder, _, _ in os.walk(path):
                shutil.chown(folder, net.USER, net.USER)
        self.data = host.folder / "var/lib/postgresql" / net.PG_VERSION
        self.wal = host.folder / "var/lib/postgresql-wal"
        self.file = written(host, "patroni.yml", host.folder / "patroni.yml")
        self.backup_file = written(host, "pgbackrest.conf",
                                   host.folder / "etc/pgbackrest/pgbackrest.conf")

    def start(self):
        self.host.start("patroni", "/usr/bin/patroni", self.file,
                        environment=[f"HOME={self.host.folder}"])

    def fill(self, volume):
        """Takes all room that a volume has, until the file that it answers is deleted."""
        ballast = volume / "ballast"
        file = os.open(ballast, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        for piece in (bytes(1 << 20), bytes(4096)):
            try:
                while True:
                    os.write(file, piece)
            except OSError:
                pass  # there is no room for such a piece any more
        os.close(file)
        return ballast


class Cluster:
    def __init__(self, fixture):
        self.fixture = fixture
        repository = fixture.folder / "repository"
        repository.mkdir()
        shutil.chown(repository, net.USER)
        self.etcd = [fixture.add(name, 51 + number) for number, name in enumerate(ETCD)]
        self.members = {name: Member(fixture.add(name, 11 + number))
                        for number, name in enumerate(POSTGRES)}

    def start(self):
        for host in self.etcd:
            start_etcd(host)
        for member in self.members.values():
            member.start()
        net.until(90, "three members, one of them synchronous", self.is_whole)
        self.backrest("stanza-create")

    def patronictl(self, *words, check=True, by=None):
        """As on any host; here by one whose programs go."""
        member = self.members[by] if by else next(
            m for m in self.members.values()
            if "patroni" in m.host.programs and not m.host.is_stopped)
        return member.host.run("/usr/bin/patronictl", "-c", member.file, *words, check=check,
                               timeout=30).stdout

    def backrest(self, *words):
        """On the host that leads."""
        member = self.members[net.until(20, "a leader", self.leader)]
        return member.host.run("pgbackrest", f"--config={member.backup_file}", "--stanza=hostler",
                               *words).stdout

    def listed(self, by=None):
        try:
            return json.loads(self.patronictl("list", "-f", "json", check=False, by=by) or "[]")
        except (ValueError, net.subprocess.TimeoutExpired):
            return []

    def roles(self):
        return {row["Member"]: (row["Role"], row["State"]) for row in self.listed()}

    def member_as(self, role):
        return next((name for name, (is_role, _) in self.roles().items() if is_role == role), None)

    def leader(self):
        return self.member_as("Leader")

    def is_whole(self):
        rows = self.listed()
        roles = sorted(row["Role"] for row in rows if row["State"] in ("running", "streaming"))
        timelines = {row.get("TL") for row in rows}
        return roles == ["Leader", "Replica", "Sync Standby"] and len(timelines) == 1

    def ask(self, text, database="postgres", by=None, check=True):
        """Whoever takes writes, or that one."""
        addresses = ",".join(m.host.address for m in self.members.values()) if by is None else (
            self.members[by].host.address)
        attributes = "any" if by else "read-write"
        url = (f"postgresql://postgres@{addresses}/{database}"
               f"?connect_timeout=3&target_session_attrs={attributes}")
        return self.fixture.hosts["edge"].run(
            "psql", url, "-XAtqc", text, check=check,
            environment=[f"PGPASSWORD={PASSWORDS['POSTGRES']}"]).stdout.strip()


def kill(host):
    host.kill_all()
    for program in host.programs.values():
        program.wait()
    host.programs.clear()


def freeze(host):
    host.is_stopped = True
    host.signal_all(signal.SIGSTOP)


def wake(host):
    host.signal_all(signal.SIGCONT)
    host.is_stopped = False
