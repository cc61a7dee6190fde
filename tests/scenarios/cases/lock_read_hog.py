# SPDX-License-Identifier: Apache-2.0
from harness import things
from harness.case import Case, Fault, Part

# Nested: what the holder of the lock has of the CPU, the loop without its faults has, too.
CASE = Case("lock-read-hog", "a mutex's holder reads a cold file and computes, while a process takes its share of the CPU",
            [Part("lock/read+cpu", 30, control_ms=30, folder="path")],
            [Fault("storage.read", things.file, ms=10, chain="holder"), Fault("cpu.contention", things.hog)],
            delays={"read": "10ms"}, kernel_ms=2, hog=["--busy", "20ms", "--idle", "30ms"], uneven=3)
