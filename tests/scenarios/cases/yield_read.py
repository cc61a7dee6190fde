# SPDX-License-Identifier: Apache-2.0
from harness import things
from harness.case import Case, Fault, Part

CASE = Case("yield-read", "the main thread yields its CPU until a thread comes that reads a cold file",
            [Part("yield/read", folder="path", elsewhere=True)], [Fault("storage.read", things.file)],
            delays={"read": "10ms"}, long_only=True)
