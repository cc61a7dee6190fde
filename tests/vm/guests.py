# SPDX-License-Identifier: Apache-2.0
"""What the tests that boot guests share: the built files, the boot, and what the console tells."""

import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "../.."))
KERNELS = ("linux-image-cloud-amd64", "linux-image-6.12-cloud-amd64")
DATA = "/mnt/data/"  # where guest-lib.sh mounts the slow file system
TARGET = ("tools/gpusim/gpusimd", "tools/gpusim/lib/libcuda.so.1", "tools/faults/slowfs",
          "tests/scenarios/programs/loop")


class Skip(Exception):
    """QEMU or the kernel cannot be had."""


def built(build_dir, programs):
    files = [os.path.join(build_dir, program) for program in programs]
    missing = [path for path in files if not os.path.exists(path)]
    if missing:
        sys.exit(f"not built: {', '.join(missing)}")
    # Without what only a debugger reads: a guest with little memory holds its files in it.
    bare = os.path.join(build_dir, "tests/vm/bare")
    os.makedirs(bare, exist_ok=True)
    for path in files:
        subprocess.run(["strip", "--strip-debug", "-o", os.path.join(bare, os.path.basename(path)), path], check=True)
    return [os.path.join(bare, os.path.basename(path)) for path in files]


class Boot:
    """A guest that has ended: its status and what it printed."""

    def __init__(self, kernel, script, files, *options):
        done = subprocess.run(
            [os.path.join(ROOT, "tools/vm-run"), "--kernel", kernel, *options, os.path.join(HERE, script),
             os.path.join(HERE, "guest-lib.sh"), *files],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", check=False)
        sys.stderr.write(done.stderr)
        if done.returncode == 77:
            raise Skip(done.stdout.strip().splitlines()[-1].removeprefix("skipped: "))
        self.status = done.returncode
        self.silent = done.returncode == 124 and "has been silent" in done.stderr
        self.console = done.stdout.replace("\r", "")

    def times(self, word):
        """The guest's uptime, in seconds, at each line of a word and that time."""
        return [float(t) for t in re.findall(rf"\b{word} (\d+\.\d+)$", self.console, re.MULTILINE)]

    def number(self, word):
        """The last number that follows a word; 0 if there is none."""
        found = re.findall(rf"\b{word} (\d+)\b", self.console)
        return int(found[-1]) if found else 0

    def last(self, word):
        """The rest of the last line that begins with a word and a time."""
        found = re.findall(rf"^{word} \d+\.\d+: (.*)$", self.console, re.MULTILINE)
        return found[-1] if found else ""

    @property
    def release(self):
        found = re.search(r"vm-run: Linux (\S+) up", self.console)
        return found.group(1) if found else "no Linux"

    @property
    def longest_pause(self):
        """Between two beats of the guest's heart."""
        beats = self.times("beat")
        return max((b - a for a, b in zip(beats, beats[1:])), default=float("inf"))


def report_problems(report):
    """What is wrong with a report on the loop that start_target starts; an empty list if nothing is."""
    found = []
    findings = report["findings"]
    if report["conservation_error_ns"] != 0:
        found.append(f"conservation error {report['conservation_error_ns']} ns")
    if report["starved_ns"] <= 0:
        found.append("no stall seen")
    if not findings:
        return found + ["no findings"]
    top = top_finding(report)
    if top["cause"] != "storage.read":
        found.append(f"the top cause is {top['cause']} and not storage.read")
    names = [thing.get("path") or thing.get("name", "") for thing in top.get("objects", [])]
    if not any(name.startswith(DATA) for name in names):
        found.append(f"no file under {DATA} is named, but: {', '.join(names) or 'nothing'}")
    return found


def top_finding(report):
    return max(report["findings"], key=lambda finding: finding["ns"])
