# SPDX-License-Identifier: Apache-2.0
from harness import things
from harness.case import Case, Fault, Part

# When a call waits for attributes it has found the file and holds its name no longer.
CASE = Case("stat", "the main thread asks for the attributes of a file on a slow file system",
            [Part("stat", folder="path"), Part("thread/stat", folder="decoy", elsewhere=True, decoy=True)],
            [Fault("storage.metadata", things.anything)], delays={"stat": "10ms"},
            decoys=[things.threads("decoy_thread_tid")], long_only=True)
