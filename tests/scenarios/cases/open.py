# SPDX-License-Identifier: Apache-2.0
from harness import things
from harness.case import Case, Fault, Part

CASE = Case("open", "the main thread opens a file on a file system that is slow at it",
            [Part("open", folder="path"), Part("thread/open", folder="decoy", elsewhere=True, decoy=True)],
            [Fault("storage.metadata", things.mount)], delays={"open": "10ms"},
            decoys=[things.threads("decoy_thread_tid")])
