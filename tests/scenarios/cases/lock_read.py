# SPDX-License-Identifier: Apache-2.0
from harness import things
from harness.case import Case, Fault, Part

CASE = Case("lock-read", "the main thread asks for a mutex whose holder reads a cold file",
            [Part("lock/read", folder="path"), Part("thread/read", folder="decoy", elsewhere=True, decoy=True)],
            [Fault("storage.read", things.file, chain="holder")],
            delays={"read": "10ms"},
            decoys=[things.threads("decoy_thread_tid")])
