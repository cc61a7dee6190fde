# SPDX-License-Identifier: Apache-2.0
"""What a scenario is. Each file in cases/ defines one as CASE."""

import os
from dataclasses import dataclass, field

from .bench import FILES


@dataclass(frozen=True)
class Case:
    name: str
    about: str
    mode: str                    # of programs/loop
    cause: str = ""              # the true cause; empty: no fault, nothing may be blamed
    kernel_ms: float = 10
    host_ms: float = 0           # lock: holder's sleep; cpu: the step's own work
    control_host_ms: float = 0   # the same without the fault
    read_delay: str = ""         # of slowfs, which is mounted if set
    idle_worker: bool = False    # an equal read beside the path
    hog: list = field(default_factory=list)  # arguments of the hog, which runs if set

    def program_arguments(self, mount, fault):
        arguments = ["--mode", self.mode, "--kernel-ms", f"{self.kernel_ms:g}",
                     "--host-ms", f"{self.host_ms if fault else self.control_host_ms:g}"]
        if mount:
            arguments += ["--dir", os.path.join(mount, "path")]
        if self.idle_worker:
            arguments += ["--idle-worker", os.path.join(mount, "decoy")]
        return arguments

    def true_objects(self, run, step):
        """The (cause, key) to blame for what the fault added to the host work before operation `step`."""
        if not self.cause:
            return []
        if run.mount:
            return [(self.cause, ("file", os.path.join(run.mount, "path", f"{step % FILES:04d}.bin")))]
        if self.hog:
            return [(self.cause, ("process", run.hog_pid))]
        return [(self.cause, ("lock", int(run.ready["lock_address"], 16), run.ready["holder_tid"]))]

    def decoy_objects(self, run):
        return [("process", run.ready["worker_pids"][1])] if self.idle_worker else []

    def decoy_folder(self, run):
        return os.path.join(run.mount, "decoy") + "/" if self.idle_worker else None
