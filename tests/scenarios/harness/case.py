# SPDX-License-Identifier: Apache-2.0
"""What a scenario is. Each file in cases/ defines one as CASE."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Part:
    """A piece of each step's host work: a mode of programs/loop, which a Python program may take, too."""
    mode: str
    ms: float = 0            # its length, where it has one
    control_ms: float = 0    # the same without the fault
    folder: str = ""         # of the slow file system
    elsewhere: bool = False  # who does it has the other CPU
    decoy: bool = False      # asked for, and nobody waits for it
    control_mode: str = ""   # another mode without the fault

    def arguments(self, mount, fault, other_cpu):
        mode, ms = (self.mode, self.ms) if fault else (self.control_mode or self.mode, self.control_ms)
        made = ["--decoy" if self.decoy else "--mode", mode, "--host-ms", f"{ms:g}"]
        if self.folder:
            made += ["--dir", os.path.join(mount, self.folder)]
        if self.elsewhere:
            made += ["--cpu", str(other_cpu)]
        return made


@dataclass(frozen=True)
class Fault:
    """What is to be blamed. `thing` makes from a run and the number of a step what things.py calls a key."""
    cause: str
    thing: Callable
    ms: float = 0    # of each step; 0: what the others leave
    part: float = 0  # of each step's stall, where none has a length of its own
    chain: str = ""  # what the path of the finding must contain, a regular expression
    code: str = ""   # where it must have been seen most, the same


@dataclass(frozen=True)
class Case:
    name: str
    about: str
    parts: list = field(default_factory=lambda: [Part("none")])
    faults: list = field(default_factory=list)  # empty: nothing may be blamed
    program: str = ""                  # of programs/, for Python; else loop
    kernel_ms: float = 5
    control_kernel_ms: float = 0       # if it differs
    delays: dict = field(default_factory=dict)  # of slowfs, which is mounted if there are any: {operation: duration}
    hog: list = field(default_factory=list)     # arguments of a hog beside the main thread, which runs if set
    idle_hog: bool = False             # a hog on the other CPU
    quota_us: tuple = ()               # (quota, period) of the program's cgroup
    decoys: list = field(default_factory=list)  # things
    uneven: float = 0                  # the fault is no step's own, so steps differ: the seconds that it takes to see enough
    hang: bool = False                 # no step ends: the whole time is one stall
    long_only: bool = False            # like another one, by another way: not in the short form
    unmet: str = ""                    # why its bars are known not to be met yet: it is measured and told, but fails nothing
    no_demand: bool = False            # the fault is that nothing was asked for, which is no stall

    def program_arguments(self, mount, fault, other_cpu):
        kernel_ms = self.kernel_ms if fault or not self.control_kernel_ms else self.control_kernel_ms
        made = ["--kernel-ms", f"{kernel_ms:g}"]
        for part in self.parts:
            made += part.arguments(mount, fault, other_cpu)
        return made

    @property
    def gives_cpu_to_others(self):
        """While the main thread waits for a file others may run, while it waits for the hog they do not: nobody tells apart
        how much of what is true of which."""
        return bool(self.hog and self.delays)

    def has_decoy_folder(self):
        return any(part.decoy and part.folder for part in self.parts)
