# SPDX-License-Identifier: Apache-2.0
from harness import things
from harness.case import Case, Fault, Part

# An unrelated thread computes as much, on the other CPU.
CASE = Case("cpu-busy", "the main thread prepares the data itself",
            [Part("cpu", 10), Part("thread/cpu", 10, elsewhere=True, decoy=True)],
            [Fault("cpu.busy", things.threads("main_tid"), code="/loop$")], decoys=[things.threads("decoy_thread_tid")])
