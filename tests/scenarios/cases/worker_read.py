# SPDX-License-Identifier: Apache-2.0
from harness import things
from harness.case import Case, Fault, Part

CASE = Case("worker-read", "a worker process reads a cold file each step, and the main thread waits for it",
            [Part("worker/read", folder="path")], [Fault("storage.read", things.file, chain="worker")],
            delays={"read": "10ms"})
