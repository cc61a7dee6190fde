# SPDX-License-Identifier: Apache-2.0
from harness import things
from harness.case import Case, Fault, Part

CASE = Case("tcp-read", "a server on this host, asked by TCP, reads a cold file",
            [Part("tcp/read", folder="path"), Part("worker/read", folder="decoy", elsewhere=True, decoy=True)],
            [Fault("storage.read", things.file, chain="server")],
            delays={"read": "10ms"},
            decoys=[things.threads("decoy_worker_pid"), things.process("decoy_worker_pid")])
