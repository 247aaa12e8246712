"""How many instructions Postgres takes for each step of a whole run, by callgrind: the same on any
machine, however busy, so that a change of some percent can be told. A copy of the stack's database
is opened in single-user mode below valgrind; what the kernel does, and other processes, is not in
it. Flights of eight runs."""

import glob
import os
import re
import shutil
import subprocess

from rig import POSTGRES_BIN

CALLERS, FLIGHT = 24, 8
DAEMON = "00000000-0000-7000-8000-0000000000aa"
MARK = "SELECT pg_sleep(0);"  # callgrind begins a new count at it

BOUND = {
    "run_claim": (f"'{DAEMON}'::uuid", f"{FLIGHT}::bigint", "8192",
                  "'00000000-0000-0000-0000-000000000000'::uuid", "'{}'::uuid[]", "'{}'::uuid[]",
                  "50::bigint", "100::bigint", "600::bigint", "'{}'::uuid[]", "'{}'::uuid[]"),
    "stream_open": ("run", "0::bigint", "false", "false"),
    "event_page": ("run", "0::bigint", "false", "500::bigint", "1000000::bigint"),
    "run_show": ("run",),
    "thread_lock": ("threads",),
    "event_append": (f"'{DAEMON}'::uuid", "ids", "epochs", "'{1, 2, 3, 4, 5, 6, 7, 8}'::bigint[]",
                     "array_fill(number, ARRAY[8])", "array_fill('message.delta'::text, ARRAY[8])",
                     "array_fill('{\"content\":\"some words that a model said\"}'::json, ARRAY[8])",
                     "server_number()"),
}

# Title, calls for all callers, what frames them alone, how often a whole run does it.
STEPS = (
    ("the frame of a caller", "SELECT bench_caller({n});", None, 0),
    ("POST message", "SELECT bench_post_message({n});", 0, 1),
    ("POST run", "SELECT bench_post_run({n});", 0, 1),
    ("a claim, a run", "SELECT bench_claim();", None, 1),
    ("the frame of a flight", "SELECT bench_flight({n});", None, 0),
    ("events, a run and commit", "SELECT bench_append({n}, {commit});", 4, 3),
    ("turn and end, a run", "SELECT bench_commit();", 4, 1),
    ("authenticate, to read", "SELECT bench_authenticate({n}, 'data.runs.read', false);", 0, 1),
    ("authenticate, to write", "SELECT bench_authenticate({n}, 'data.runs.write', true);", 0, 2),
    ("the frame of a run", "SELECT bench_run({n});", None, 0),
    ("GET run", "SELECT bench_show({n});", 9, 0),
    ("opening a stream", "SELECT bench_open({n});", 9, 1),
    ("a page of its events", "SELECT bench_page({n});", 9, 1),
)
OF_FLIGHTS = ("bench_claim", "bench_flight", "bench_append", "bench_commit")
ROLES = {"the frame of a run": "hostler_api", "opening a stream": "hostler_runner"}  # from then on


def bound(rig):
    """The statements with values in the places of their parameters."""
    return {name: re.sub(r"\$(\d+)", lambda found, values=values: values[int(found[1]) - 1],
                         rig.statements[name])
            for name, values in BOUND.items()}


def lines_of(call):
    """The lines of a step for all callers, or for their flights."""
    count = CALLERS // FLIGHT if any(name in call for name in OF_FLIGHTS) else CALLERS
    commits = (1, 2, 3) if "{commit}" in call else (1,)
    return [call.format(n=n, commit=commit) for commit in commits for n in range(count)]


def script():
    """Twice to warm plans and caches, then counted."""
    lines = []
    for mark in ("", "", MARK):
        for title, call, _, _ in STEPS:
            role = f"SET ROLE {ROLES[title]};" if title in ROLES else ""
            lines += [role, mark, *lines_of(call)]
        lines += [mark, "RESET ROLE;"]
    return "\n".join(line for line in lines if line) + "\n"


def prepare(rig):
    accounts = rig.accounts(CALLERS, 1)
    hashes = dict(rig.sql("SELECT s.user_id, t.hash FROM access_tokens t"
                          " JOIN sessions s ON s.id = t.session_id"))
    callers = ", ".join(f"({n}, '{a.user}', '{a.org}', '{a.threads[0]}', '{hashes[a.user]}')"
                        for n, a in enumerate(accounts))
    rig.sql(rig.own_sql("instructions.sql", callers=callers, daemon=DAEMON, **bound(rig)))
    rig.sql("VACUUM ANALYZE")


def count(rig):
    """Instructions of each step."""
    owner = os.stat(rig.env["PG_DATA"])
    user = ["setpriv", f"--reuid={owner.st_uid}", f"--regid={owner.st_gid}", "--clear-groups"]
    as_owner = user if os.getuid() != owner.st_uid else []
    folder = os.path.join(rig.scratch, "instructions")
    os.makedirs(folder)
    os.chown(folder, owner.st_uid, owner.st_gid)
    copy = os.path.join(folder, "pg")
    with open(rig.env["PG_DATA"] + "/pg_hba.conf", "a", encoding="ascii") as file:
        file.write("local replication postgres trust\n")
    rig.sql("SELECT pg_reload_conf(), pg_sleep(0.3)")
    subprocess.run([*as_owner, POSTGRES_BIN + "pg_basebackup", "-D", copy, "-c", "fast", "-d",
                    rig.database(name="postgres")], check=True, capture_output=True)
    told = os.path.join(folder, "out")
    done = subprocess.run(
        [*as_owner, "valgrind", "--tool=callgrind", "--callgrind-out-file=" + told,
         "--dump-before=pg_sleep", POSTGRES_BIN + "postgres", "--single", "-D", copy,
         "-c", "jit=off", "-c", "fsync=off", "-c", "shared_preload_libraries=", "hostler"],
        input=script(), capture_output=True, text=True, check=False, cwd=folder)
    if fault := re.search(r"(?:ERROR|FATAL):.*", done.stdout + done.stderr):
        raise SystemExit("instructions: " + fault[0])
    # The first is what came before the first mark, the last what comes behind the last one.
    parts = sorted(glob.glob(told + ".*"), key=lambda path: int(path.rpartition(".")[2]))
    totals = []
    for path in parts[1:len(STEPS) + 1]:
        with open(path, encoding="utf-8", errors="replace") as file:
            totals.append(int(re.search(r"^(?:summary|totals): (\d+)", file.read(), re.M)[1]))
    return totals


def instructions(rig, peers, meter, figures):
    del peers, meter
    if not shutil.which("valgrind"):
        figures.skip("instructions of Postgres", "there is no valgrind")
        return
    prepare(rig)
    totals = count(rig)
    whole = 0.0
    for (title, call, frame, times), total in zip(STEPS, totals):
        if frame is not None:
            framed = len(lines_of(call)) / len(lines_of(STEPS[frame][1]))
            total -= totals[frame] * framed
        if "frame" in title:
            continue
        commits = 3 if "{commit}" in call else 1
        each = total / CALLERS / commits / 1000
        whole += times * each
        note = f"{times} in a whole run" if times else ""
        figures.add(title, each, "thousand", note=note)
    figures.add("a whole run of them", whole, "thousand", note="in flights of eight")
