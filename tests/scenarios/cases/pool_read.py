# SPDX-License-Identifier: Apache-2.0
from harness import things
from harness.case import Case, Fault, Part

# Which of the two files is read first is open.
CASE = Case("pool-read", "all threads of a pool read cold files when the main thread queues its task",
            [Part("pool/read", folder="path")], [Fault("storage.read", things.folder("path"), chain="pool")],
            delays={"read": "10ms"})
