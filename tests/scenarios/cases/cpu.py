# SPDX-License-Identifier: Apache-2.0
from harness.case import Case

# Long steps beside a short kernel: where the hog delays the return from the sync itself, no program on
# the host's side can tell when the device became idle, so that part must stay small.
CASE = Case("cpu", "the main thread computes while a process on the same CPU takes its share", mode="cpu",
            cause="cpu.contention", kernel_ms=5, host_ms=40, control_host_ms=40,
            hog=["--busy", "20ms", "--idle", "30ms"])
