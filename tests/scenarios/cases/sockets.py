# SPDX-License-Identifier: Apache-2.0
from harness import things
from harness.case import Case, Fault, Part

CASE = Case("socket", "a worker process, asked by a unix socket, reads a cold file",
            [Part("socket/read", folder="path")], [Fault("storage.read", things.file, chain="worker")],
            delays={"read": "10ms"}, long_only=True)
