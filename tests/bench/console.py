"""The console in Debian's Chromium: how soon its first page can be used, what it asks for, and
whether it keeps up with an answer. The browser is driven by tests/console/figures.mjs."""

import json
import os
import subprocess

from rig import ROUNDS, SECONDS


def console(rig, peers, meter, figures):
    del peers, meter
    done = subprocess.run(
        ["tests/console/run", str(ROUNDS), str(max(2, round(SECONDS)))], cwd=rig.source,
        env={**os.environ, **rig.env, "CONSOLE_STACK": "",
             "CONSOLE_SCRIPT": "tests/console/figures.mjs"},
        capture_output=True, text=True, check=False)
    if "# SKIP" in done.stdout:
        return figures.skip("the console", done.stdout.partition("# SKIP console: ")[2].strip())
    if done.returncode != 0:
        raise SystemExit(f"figures.mjs: {done.stderr.strip()[-2000:]}")
    rounds = json.loads(done.stdout.splitlines()[-1])
    pages = (("sign_in", "the form to sign in", "nobody is signed in, nothing cached"),
             ("list", "50 threads", "signed in, nothing cached"))
    for key, what, note in pages:
        seen = [each[key] for each in rounds]
        figures.add(f"{what}, on the screen after", [one["ms"] for one in seen], "ms",
                    at_most=300, note=note)
        figures.add(f"{what}, requests", [one["requests"] for one in seen], "", at_most=40)
        figures.add(f"{what}, files of the console", [one["bytes"] / 1024 for one in seen], "KiB",
                    at_most=120, note="as they travel, compressed")
    streams = [each["stream"] for each in rounds]
    figures.add("from frame to frame at 50 tokens a second, p99",
                [one["frame_p99_ms"] for one in streams], "ms", at_most=50)
    figures.add("the longest task meanwhile", [one["task_ms"] for one in streams], "ms",
                at_most=50, note="0: none took 50 ms")
    return None
