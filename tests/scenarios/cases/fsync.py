# SPDX-License-Identifier: Apache-2.0
from harness import things
from harness.case import Case, Fault, Part

CASE = Case("fsync", "the main thread writes a file and waits until it is stored",
            [Part("fsync", folder="path"), Part("thread/fsync", folder="decoy", elsewhere=True, decoy=True)],
            [Fault("storage.write", things.file)], delays={"fsync": "10ms"},
            decoys=[things.threads("decoy_thread_tid")], long_only=True)
