# SPDX-License-Identifier: Apache-2.0
from harness import things
from harness.case import Case, Fault, Part

# The file has its own 10 ms of each step, the hog the rest.
CASE = Case("read-and-hog", "the main thread reads a cold file and computes, while a process takes its share of the CPU",
            [Part("read+cpu", 30, control_ms=30, folder="path")],
            [Fault("storage.read", things.file, ms=10), Fault("cpu.contention", things.hog)], delays={"read": "10ms"},
            kernel_ms=2, hog=["--busy", "20ms", "--idle", "30ms"], uneven=3)
