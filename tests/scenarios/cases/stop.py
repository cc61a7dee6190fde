# SPDX-License-Identifier: Apache-2.0
from harness import things
from harness.case import Case, Fault, Part

CASE = Case("stop", "another process stops the program for a while in each step",
            [Part("stop", 10)], [Fault("cpu.stopped", things.stop("stopper_pid"))])
