# SPDX-License-Identifier: Apache-2.0
from harness import things
from harness.case import Case, Fault, Part

CASE = Case("write", "the main thread writes a file on a slow file system",
            [Part("write", folder="path"), Part("thread/write", folder="decoy", elsewhere=True, decoy=True)],
            [Fault("storage.write", things.file)], delays={"write": "10ms"},
            decoys=[things.threads("decoy_thread_tid")])
