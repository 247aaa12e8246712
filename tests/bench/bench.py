"""All parts of the bench in their order, on the private stack of an env file; for tests/bench/run.

A part is a function of rig, peers, meter and figures. One that cannot be measured is told loudly,
and the bench fails in the end: a figure that is missing must not look like one that is fine."""

import http.client
import os
import shutil
import subprocess
import sys
import time

from active import active
from bloat import bloat
from console import console
from dispatch import dispatch, latency
from events import durable
from figures import Figures
from floors import floors
from growth import Growth
from instructions import instructions
from logins import login_stress
from meter import Foreign, Meter
from peers import Peers
from protocols import answers, followers, stream_memory
from where import profile
from rest import rest, scale
from starts import starts
from streams import build_client, fan_out, live_runs
from rig import ROUNDS, SECONDS, Rig, read_env
from whole_runs import build_clients, whole_runs

ONLY = os.environ.get("BENCH_ONLY", "").split()
growth = Growth()
PARTS = (
    ("scale", "The scale", scale),
    ("empty", "The nearly empty system", growth.empty),
    ("stream_memory", "Idle streams", stream_memory),
    ("rest", "Requests", rest),
    ("floors", "The same work, bare", floors),
    ("active", "A run posted among many", active),
    ("login_stress", "Guessed passwords", login_stress),
    ("latency", "From the answer to the first event", latency),
    ("dispatch", "Dispatch", dispatch),
    ("whole_runs", "Whole runs", whole_runs),
    ("answers", "Answers in other protocols", answers),
    ("durable", "Durable events", durable),
    ("fan_out", "Fan-out", fan_out),
    ("followers", "Fan-out in other protocols", followers),
    ("live_runs", "A thousand live runs at 50 tokens a second", live_runs),
    ("console", "The console", console),
    ("starts", "Start", starts),
    ("profile", "Where the time goes", profile),
    ("instructions", "Instructions of Postgres", instructions),
    ("full", "Growth", growth.full),
    ("bloat", "Bloat after many runs", bloat),
)


def measure(part, rig, peers, meter, figures):
    try:
        part(rig, peers, meter, figures)
    except (SystemExit, OSError, LookupError, ValueError, http.client.HTTPException,
            subprocess.SubprocessError) as fault:
        figures.fail(f"{type(fault).__name__}: {fault}")
        try:
            rig.drop_queue()
        except SystemExit:
            pass


def main():
    if not shutil.which("wrk"):
        raise SystemExit("wrk is missing: apt-get install wrk")
    names = [name for name, _, _ in PARTS]
    unknown = [name for name in ONLY if name not in names]
    if unknown:
        raise SystemExit(f"BENCH_ONLY: no part {unknown[0]}; there are {', '.join(names)}")
    source = os.getcwd()
    rig = Rig(read_env(sys.argv[1]), sys.argv[2], source)
    meter, figures = Meter(rig.env), Figures()
    peers = Peers(rig, meter, figures)
    begin = time.monotonic()
    build_client(rig)
    build_clients(rig)
    try:
        peers.start()
        for name, title, part in PARTS:
            if not ONLY or name in ONLY or name == "scale":
                figures.begin_part(title)
                foreign = Foreign(meter)
                measure(part, rig, peers, meter, figures)
                figures.end_part(foreign.share())
    finally:
        peers.stop()
    figures.tell_end(time.monotonic() - begin)
    folder = os.environ.get("BENCH_OUT") or (None if ONLY else os.path.join(source, "docs"))
    if folder:
        figures.write(folder, f"Rounds: {ROUNDS} of {SECONDS:g} s each.")
        print(f"Written: {os.path.relpath(folder)}/performance.md")
    if figures.failed:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
