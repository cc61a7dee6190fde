# SPDX-License-Identifier: Apache-2.0
from harness import things
from harness.case import Case, Fault, Part

CASE = Case("queue-read", "the main thread takes from a queue of a thread that reads a cold file",
            [Part("queue/read", folder="path"), Part("queue/read", folder="decoy", elsewhere=True, decoy=True)],
            [Fault("storage.read", things.file, chain="thread")],
            delays={"read": "10ms"},
            decoys=[things.threads("decoy_thread_tid")])
