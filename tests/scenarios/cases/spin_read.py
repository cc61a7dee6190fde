# SPDX-License-Identifier: Apache-2.0
from harness import things
from harness.case import Case, Fault, Part

CASE = Case("spin-read", "the main thread spins until a thread comes that reads a cold file",
            [Part("spin/read", folder="path", elsewhere=True)], [Fault("storage.read", things.file)],
            delays={"read": "10ms"})
