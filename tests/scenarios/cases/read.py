# SPDX-License-Identifier: Apache-2.0
from harness import things
from harness.case import Case, Fault, Part

# An idle thread reads as long on the same file system.
CASE = Case("read", "the main thread reads a cold file each step",
            [Part("read", folder="path"), Part("thread/read", folder="decoy", decoy=True)],
            [Fault("storage.read", things.file)], delays={"read": "10ms"},
            decoys=[things.threads("decoy_thread_tid")])
