# SPDX-License-Identifier: Apache-2.0
from harness import things
from harness.case import Case, Fault, Part

# The idle worker's read starts and ends with the other's, on the same mount, and nobody waits for it. It has the other CPU: on
# the same one the two would wait for each other.
CASE = Case("decoy", "worker-read beside an idle worker's equal read",
            [Part("worker/read", folder="path"), Part("worker/read", folder="decoy", elsewhere=True, decoy=True)],
            [Fault("storage.read", things.file, chain="worker")], delays={"read": "10ms"},
            decoys=[things.process("decoy_worker_pid"), things.threads("decoy_worker_pid")])
