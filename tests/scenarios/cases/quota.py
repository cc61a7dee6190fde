# SPDX-License-Identifier: Apache-2.0
from harness import things
from harness.case import Case, Fault, Part

# A short kernel: while the main thread waits for the device by looking at it, it uses up its quota, too, and nobody can tell
# when the device became idle.
CASE = Case("quota", "the main thread computes in a control group with less CPU than it asks for",
            [Part("cpu", 30, control_ms=30)], [Fault("cpu.throttled", things.threads("main_tid"))],
            kernel_ms=0.5, quota_us=(40_000, 100_000), uneven=5)
