# SPDX-License-Identifier: Apache-2.0
from harness import things
from harness.case import Case, Fault, Part

CASE = Case("signal", "a worker process, which answers by a signal, reads a cold file",
            [Part("signal/read", folder="path")], [Fault("storage.read", things.file, chain="worker")],
            delays={"read": "10ms"}, long_only=True)
