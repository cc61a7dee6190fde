# SPDX-License-Identifier: Apache-2.0
"""A control group with a CPU quota."""

import contextlib
import os


class NoQuota(Exception):
    """This host has no quotas."""


class Group:
    """Of whichever version of control groups the host has."""

    V1, V2 = "/sys/fs/cgroup/cpu", "/sys/fs/cgroup"

    def __init__(self, quota_us, period_us, parent=None):
        """`parent`: the group of version 1 to make it in."""
        name = f"whystall-quota-{os.getpid()}"
        self.old = os.path.exists(f"{self.V1}/cgroup.procs")
        if self.old:
            self.path = f"{parent or self.V1}/{name}"
        else:
            self.path = f"{self.V2}/{name}"
            try:
                self.write("cgroup.subtree_control", "+cpu", self.V2)
            except OSError as error:
                raise NoQuota(f"there is no cgroup with CPU quotas here ({error})") from None
        try:
            os.mkdir(self.path)
        except OSError as error:
            raise NoQuota(f"cannot make a cgroup ({error})") from None
        try:
            if self.old:
                self.write("cpu.cfs_period_us", period_us)
                self.write("cpu.cfs_quota_us", quota_us)
            else:
                self.write("cpu.max", f"{quota_us} {period_us}")
        except OSError as error:
            self.remove()
            raise NoQuota(f"the kernel has no CPU quotas ({error})") from None

    def write(self, file, value, folder=None):
        with open(os.path.join(folder or self.path, file), "w", encoding="ascii") as f:
            f.write(str(value))

    def take(self, pid):
        self.write("cgroup.procs", pid)

    def throttled_ns(self):
        with open(os.path.join(self.path, "cpu.stat"), encoding="ascii") as f:
            stat = dict(line.split() for line in f)
        return int(stat["throttled_time"]) if self.old else int(stat["throttled_usec"]) * 1000

    def remove(self):
        with contextlib.suppress(OSError):
            os.rmdir(self.path)
