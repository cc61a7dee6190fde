# SPDX-License-Identifier: Apache-2.0
from harness import things
from harness.case import Case, Fault, Part

# Long steps beside a short kernel: where the hog delays the return from the sync itself, no program on
# the host's side can tell when the device became idle, so that part must stay small.
CASE = Case("cpu", "the main thread computes while a process on the same CPU takes its share",
            [Part("cpu", 40, control_ms=40)], [Fault("cpu.contention", things.hog)],
            hog=["--busy", "20ms", "--idle", "30ms"], idle_hog=True, decoys=[things.idle_hog], kernel_ms=2, uneven=3)
