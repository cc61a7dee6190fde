# SPDX-License-Identifier: Apache-2.0
from harness import things
from harness.case import Case, Fault, Part

CASE = Case("worker-lock-read", "a worker process asks for a mutex whose holder reads a cold file",
            [Part("worker/lock/read", folder="path")], [Fault("storage.read", things.file, chain="worker.*holder")],
            delays={"read": "10ms"}, long_only=True)
