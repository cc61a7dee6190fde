# SPDX-License-Identifier: Apache-2.0
"""Child processes that say when they are ready and that surely end."""

import glob
import os
import select
import signal
import subprocess
import time


class Failure(Exception):
    """Something the harness needs did not work; the text says what."""


def cpus():
    """(CPU of the target and the hog, CPU of everything else)."""
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        raise Failure("scenarios need two CPUs, one for the target and one for the rest")
    return allowed[1], allowed[0]


def stolen_ns():
    """What the hypervisor took from all CPUs: the kernel takes it off what its tasks ran, a wall clock does not."""
    with open("/proc/stat", encoding="ascii") as f:
        return int(f.readline().split()[8]) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def where_it_waits(pid):
    """The threads of a process and its children, each with its state and kernel stack, for one who asks why it does not
    end."""
    texts = []
    for task in sorted(glob.glob(f"/proc/{pid}/task/*")):
        texts += [f"{name}: {look(f'{task}/{name}')}" for name in ("comm", "stat", "syscall", "stack")]
        texts += [where_it_waits(child) for child in look(f"{task}/children").split()]
    return "\n".join(texts)


def look(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read().strip()
    except OSError as error:
        return error.strerror


class Child:
    """A process, pinned to one CPU unless that is None, whose first line of output tells that it is ready."""

    def __init__(self, arguments, cpu, log, env=None, cwd=None):
        self.name = os.path.basename(arguments[0])
        self.log_path = log
        self._buffer = b""
        with open(log, "wb") as err:
            self.process = subprocess.Popen(
                arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err, env=env, cwd=cwd,
                preexec_fn=None if cpu is None else lambda: os.sched_setaffinity(0, {cpu}))

    @property
    def pid(self):
        return self.process.pid

    def read_line(self, timeout_s):
        deadline = time.monotonic() + timeout_s
        fd = self.process.stdout.fileno()
        while b"\n" not in self._buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([fd], [], [], left)[0]:
                raise Failure(f"{self.name} said nothing within {timeout_s} s{self.errors()}")
            data = os.read(fd, 65536)
            if not data:
                raise Failure(f"{self.name} ended (status {self.process.wait()}){self.errors()}")
            self._buffer += data
        line, self._buffer = self._buffer.split(b"\n", 1)
        return line.decode()

    def wait_ready(self, timeout_s=60):  # generous: a machine may be writing back a build
        line = self.read_line(timeout_s)
        if not line.startswith("ready"):
            raise Failure(f"{self.name} said '{line}' and not that it is ready")
        return line

    def errors(self):
        with open(self.log_path, "rb") as f:
            text = f.read().decode(errors="replace").strip()
        return f": {text[-2000:]}" if text else ""

    def stop(self, timeout_s=10):
        """Asks it to end by closing its input and by SIGTERM; returns its exit status."""
        self.process.stdin.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise Failure(f"{self.name} did not end within {timeout_s} s of SIGTERM") from None
        finally:
            self.process.stdout.close()
