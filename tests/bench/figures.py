"""The figures of a whole run: printed as they come, and written as docs/performance.md at last.

A figure is the median of its rounds with their spread; it may have a goal, a bound that says
whether it is met, and for a plot the name of its chart."""

import os
import platform
import re
import statistics
import subprocess
import textwrap

from peers import Peers, php_version
from plot import bars
from rig import POSTGRES_BIN


BARE_ANSWER_US = 59  # of the machine that the goals were set on


class Bound:
    """At least or at most so much; text is how it stands in the table."""

    def __init__(self, at_least=None, at_most=None):
        self.at_least, self.at_most = at_least, at_most

    def holds(self, value):
        if self.at_least is not None:
            return value >= self.at_least
        return value <= self.at_most

    def __str__(self):
        if self.at_least is not None:
            return f"≥ {plain(self.at_least)}"
        return f"≤ {plain(self.at_most)}"


def plain(value):
    """Three digits that mean something, thousands apart."""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    if abs(value) >= 100:
        return f"{value:.0f}"
    if abs(value) >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}"


def spread_of(rounds):
    middle = statistics.median(rounds)
    if len(rounds) < 2 or middle == 0:
        return ""
    return f"±{(max(rounds) - min(rounds)) / 2 / abs(middle):.0%}"


class Figures:
    def __init__(self):
        self.parts = []  # (title, rows, foreign)
        self.charts = {}
        self.skipped = []
        self.failed = []
        self.scale = None  # what the bare libfcgi answer costs here, against BARE_ANSWER_US

    def begin_part(self, title):
        self.parts.append([title, [], None])
        print(f"\n{title}", flush=True)

    def end_part(self, foreign):
        self.parts[-1][2] = foreign
        print(f"  (others used {foreign:.0%} of the machine)", flush=True)

    def set_scale(self, costs):
        """costs: CPU microseconds of the bare libfcgi answer, one of each round."""
        self.scale = statistics.median(costs) / BARE_ANSWER_US

    def add(self, work, rounds, unit, at_least=None, at_most=None, note="", is_cpu=False):
        """rounds: a number, or one of each round. Answers the median. Of CPU, what it would be on
        the machine of the goals is told beside it and judged."""
        rounds = list(rounds) if isinstance(rounds, (list, tuple)) else [rounds]
        value = statistics.median(rounds)
        is_scaled = is_cpu and self.scale is not None
        scaled = value / self.scale if is_scaled else value
        bound = Bound(at_least, at_most) if at_least is not None or at_most is not None else None
        verdict = "" if bound is None else "met" if bound.holds(scaled) else "MISSED"
        row = (work, f"{plain(value)} {unit}", spread_of(rounds),
               plain(scaled) if is_scaled else "", str(bound) if bound else "", verdict, note)
        self.parts[-1][1].append(row)
        print(f"  {work:<52} {plain(value):>9} {unit:<14} {row[2]:>5} {row[3]:>7} {row[4]:>9} "
              f"{verdict:<6} {note}", flush=True)
        return value

    def cpu(self, work, rounds, groups, at_most=None, unit="µs a request"):
        """The CPU of a unit of work, by group; rounds are what Meter.per_unit answered."""
        sums = [sum(costs.get(group, 0) for group in groups) for costs in rounds]
        each = {group: statistics.median([costs.get(group, 0) for costs in rounds])
                for group in groups}
        note = ", ".join(f"{group} {plain(cost)}" for group, cost in each.items())
        self.add(work + ", CPU", sums, unit, at_most=at_most, note=note, is_cpu=True)
        return each

    def chart(self, name, title, unit, rows):
        """rows: (label, {part: value}); a bar a row, its parts behind each other."""
        self.charts[name] = (title, unit, rows)

    def skip(self, what, why):
        self.skipped.append((what, why))
        print(f"\n  !! SKIPPED: {what}: {why}", flush=True)

    def fail(self, why):
        """The part that is on could not be measured."""
        self.failed.append((self.parts[-1][0], why))
        print(f"\n  !! FAILED: {self.parts[-1][0]}: {why}", flush=True)

    def missed(self):
        return [row for _, rows, _ in self.parts for row in rows if row[5] == "MISSED"]

    def tell_end(self, seconds):
        known = [row for _, rows, _ in self.parts for row in rows if row[5]]
        missed = self.missed()
        print(f"\n{len(known) - len(missed)} of {len(known)} goals met, in {seconds:.0f} s.")
        for row in missed:
            scaled = f", scaled {row[3]}" if row[3] else ""
            print(f"  missed: {row[0]}: {row[1]}{scaled}, goal {row[4]}")
        for what, why in self.skipped:
            print(f"  skipped: {what}: {why}")
        for what, why in self.failed:
            print(f"  FAILED: {what}: {why}")

    def write(self, folder, settings):
        os.makedirs(os.path.join(folder, "performance"), exist_ok=True)
        for name, (title, unit, rows) in self.charts.items():
            with open(os.path.join(folder, "performance", name + ".svg"), "w",
                      encoding="utf-8") as file:
                file.write(bars(title, unit, rows))
        with open(os.path.join(folder, "performance.md"), "w", encoding="utf-8") as file:
            file.write(self.document(settings))

    def document(self, settings):
        scale = f"{self.scale:.2f}" if self.scale is not None else "not measured"
        lines = [HEAD.format(machine=machine(), settings=settings, bare=BARE_ANSWER_US,
                             scale=scale)]
        for title, rows, foreign in self.parts:
            lines += [f"\n## {title}\n"]
            if foreign is not None:
                lines += [f"Others used {foreign:.0%} of the machine meanwhile.\n"]
            lines += ["| Work | Figure | Spread | Scaled | Goal | | |", "|" + 7 * "---|"]
            lines += [f"| {' | '.join(row)} |" for row in rows]
        lines += ["\n## Plots\n"]
        lines += [f"![{title}](performance/{name}.svg)\n"
                  for name, (title, _, _) in self.charts.items()]
        if self.skipped or self.failed:
            lines += ["## Not measured\n"]
            lines += [textwrap.fill(f"- {what}: {without_places(why)}", 110, subsequent_indent="  ")
                      for what, why in self.skipped + self.failed]
        return "\n".join(lines).rstrip("\n") + "\n"


HEAD = """# What Hostler costs

Written by `make bench`, not by hand. [Readings](performance/readings.md) explain the figures that
miss their goals. Clients, nginx, Hostler, Postgres, peers and the fake model share one machine.
So compare ratios, and the CPU that a unit of work costs. Requests a second are true for this
machine only. A peer runs behind an nginx of the same kind (TLS, the same certificate) with the
same client, in turn with Hostler in every round. A figure is the median of its rounds. Its spread
is half the distance between the best and the worst.

Goals of CPU are microseconds on a machine where the bare libfcgi answer costs {bare:g} µs. Here it
costs {scale} of that. The column Scaled has the CPU divided by this factor, and a goal is compared
with it.

To show where the time goes, one client asks at a time (eight for whole runs). pg_stat_statements
reports the time of each statement. Statements inside functions appear too, and are part of the
statement that calls them. The rest is Postgres' other work: commits, the protocol, its own
processes. `BENCH_GROWTH=full BENCH_INSTALL=1 make bench` makes everything again, and
`BENCH_ONLY=profile BENCH_OUT=… tests/bench/run` only the pictures.

{machine}

{settings}"""


def without_places(text):
    """A document that is published names no folders of the machine."""
    return re.sub(r"/[\w.-]+/\S*", "…", text)


def first_line(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return (done.stdout + done.stderr).split("\n", maxsplit=1)[0].strip()


def machine():
    """By what it is, never by its name or its places."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        model = re.search(r"model name\s*: (.*)", file.read())
    with open("/proc/meminfo", encoding="utf-8") as file:
        memory_gib = int(file.readline().split()[1]) / (1 << 20)
    versions = [
        "Postgres " + first_line(POSTGRES_BIN + "postgres", "--version").split()[2],
        first_line("nginx", "-v").replace("nginx version: nginx/", "nginx "),
        "g++ " + first_line("g++", "-dumpfullversion")]
    peers = (("Node ", (Peers.node(), "--version")), ("PHP ", (f"php-fpm{php_version()}", "-v")))
    for name, command in peers:
        if found := re.search(r"\d+\.\d+\.\d+", first_line(*command)):
            versions.append(name + found[0])
    return (f"Machine: {model[1] if model else platform.machine()}, {os.cpu_count()} cores, "
            f"{memory_gib:.0f} GiB,\nLinux {platform.release().split('-')[0]}; "
            + ", ".join(versions) + ".")
