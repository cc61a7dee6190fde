# SPDX-License-Identifier: Apache-2.0
"""whystall under observation, for tests/robust/run."""

import contextlib
import json
import os
import select
import subprocess
import time

from harness.recorder import wait_begun

BPFTOOL = next((t for t in ("/usr/sbin/bpftool", "/usr/bin/bpftool") if os.path.exists(t)), "bpftool")
END_S = 20  # generous: a machine may be busy


def bpftool(*arguments):
    return json.loads(subprocess.run([BPFTOOL, "-j", *arguments], stdout=subprocess.PIPE, check=True).stdout)


def pause(seconds=0.01):
    select.select([], [], [], seconds)


class Tracer:
    """whystall at work; remembers what of it the kernel held and how much memory it took."""

    def __init__(self, program, *arguments, recording):
        self.recording = recording
        self.errors = recording + ".err"
        self.output = recording + ".out"
        with open(self.errors, "wb") as err, open(self.output, "wb") as out:
            self.process = subprocess.Popen([program, *arguments, "-o", recording], stdin=subprocess.DEVNULL,
                                            stdout=out, stderr=err)
        self.ids = {"prog": set(), "link": set(), "map": set()}
        self.peak_bytes = 0

    def look(self):
        """Notes what it holds now."""
        folder = f"/proc/{self.process.pid}"
        with contextlib.suppress(OSError, ProcessLookupError):
            for fd in os.listdir(f"{folder}/fdinfo"):
                with contextlib.suppress(OSError), open(f"{folder}/fdinfo/{fd}", encoding="ascii") as lines:
                    for line in lines:
                        for kind, ids in self.ids.items():
                            if line.startswith(f"{kind}_id:"):
                                ids.add(int(line.split()[1]))
            with open(f"{folder}/status", encoding="ascii") as lines:
                for line in lines:
                    if line.startswith("VmHWM:"):
                        self.peak_bytes = int(line.split()[1]) * 1024

    def wait_begun(self):
        wait_begun(self.process, self.recording, self.stderr, END_S)
        self.look()

    def wait_end(self):
        deadline = time.monotonic() + END_S
        while self.process.poll() is None:
            if time.monotonic() > deadline:
                raise AssertionError("whystall did not end")
            self.look()
            pause(0.02)
        return self.process.returncode

    def stderr(self):
        with open(self.errors, encoding="utf-8", errors="replace") as file:
            return file.read()

    def stdout(self):
        with open(self.output, encoding="utf-8", errors="replace") as file:
            return file.read()

    def still_held(self):
        return [(kind, entry["id"]) for kind, ids in self.ids.items() for entry in bpftool(kind, "show")
                if entry["id"] in ids]

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
