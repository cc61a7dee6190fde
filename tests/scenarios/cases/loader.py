# SPDX-License-Identifier: Apache-2.0
from harness import things
from harness.case import Case, Fault, Part

# An item takes 15 ms to read and 3 ms to decode, for steps of 12 ms: without the read no step would wait, nor without the
# decoding and some of the read, so the stall is theirs by what they take. Half of the stall itself is decoding.
CASE = Case("loader", "a thread works ahead: each item is read from a cold file, then decoded",
            [Part("loader/read+cpu", 3, control_ms=3, folder="path", elsewhere=True)],
            [Fault("storage.read", things.folder("path"), part=15 / 18),
             Fault("cpu.busy", things.threads("loader_tid"), part=3 / 18)],
            delays={"read": "15ms"}, kernel_ms=12, uneven=3)
