# SPDX-License-Identifier: Apache-2.0
from harness import things
from harness.case import Case, Fault, Part

# A short kernel: while the main thread waits for the device by looking at it, it uses up its quota, too, and nobody can tell
# when the device became idle.
CASE = Case("quota", "the main thread computes in a control group with less CPU than it asks for",
            [Part("cpu", 60, control_ms=60)], [Fault("cpu.throttled", things.threads("main_tid"))],
            kernel_ms=1, quota_us=(80_000, 200_000), uneven=True)
