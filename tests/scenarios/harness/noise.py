# SPDX-License-Identifier: Apache-2.0
"""Keeps what others do on this machine away from what is measured, and tells how much of it is left."""

import atexit
import contextlib
import ctypes
import os
import struct
import time

from .processes import stolen_ns

V1 = "/sys/fs/cgroup"
MOST_SHARES = 262144
SCHED_SETATTR = 314  # x86-64
SHORTEST_SLICE_NS = 100_000


class Others:
    """This process and all that it starts have control groups of their own. One has the largest share of the CPUs that there
    is; the other counts: what a CPU did beyond that, others did. And they ask for short slices, so that the kernel lets them
    run as soon as they wake. Where the kernel has none of this, nothing is kept away and nobody else is seen."""

    def __init__(self):
        name = f"whystall-scenarios-{os.getpid()}"
        self.cpu_group = self._join(os.path.join(V1, "cpu"), name, {"cpu.shares": MOST_SHARES})
        _ask_for_short_slices()
        self.group = self._join(os.path.join(V1, "cpuacct"), name, {})

    @staticmethod
    def _join(root, name, settings):
        group = os.path.join(root, name)
        try:
            os.mkdir(group)
            for file, value in settings.items():
                _write(os.path.join(group, file), value)
            _write(os.path.join(group, "cgroup.procs"), os.getpid())
        except OSError:
            return None
        atexit.register(_leave, root, group)
        return group

    def look(self, cpu, tid):
        return Look(self.group, cpu, tid)


class Look:
    """The accounts of a CPU and of a thread that belongs there, at one moment."""

    def __init__(self, group, cpu, tid):
        self.at_ns = time.monotonic_ns()
        self.others_ns = stolen_ns()
        if group is not None:
            self.others_ns += self._used(os.path.dirname(group), cpu) - self._used(group, cpu)
        with open(f"/proc/{tid}/schedstat", encoding="ascii") as f:
            self.waited_ns = int(f.read().split()[1])

    @staticmethod
    def _used(group, cpu):
        with open(os.path.join(group, "cpuacct.usage_percpu"), encoding="ascii") as f:
            return int(f.read().split()[cpu])

    def taken_since(self, before, throttled_ns):
        """The most that others can have taken from the thread since then: no more than they ran there, nor than it waited
        for the CPU."""
        waited = self.waited_ns - before.waited_ns - throttled_ns
        return max(0, min(self.others_ns - before.others_ns, waited))


def _ask_for_short_slices():
    """For SCHED_OTHER the kernel takes sched_runtime as the slice since 6.12, and refuses or ignores it before."""
    attributes = struct.pack("=IIQiIQQQ", 48, 0, 0, 0, 0, SHORTEST_SLICE_NS, 0, 0)
    ctypes.CDLL(None).syscall(SCHED_SETATTR, 0, attributes, 0)


def _write(path, value):
    with open(path, "w", encoding="ascii") as f:
        f.write(str(value))


def _leave(root, group):
    with contextlib.suppress(OSError):
        _write(os.path.join(root, "cgroup.procs"), os.getpid())
        os.rmdir(group)
