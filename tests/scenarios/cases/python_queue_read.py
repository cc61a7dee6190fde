# SPDX-License-Identifier: Apache-2.0
from harness import things
from harness.case import Case, Fault, Part

CASE = Case("python-queue-read", "Python: a worker reads a cold file and puts it on a queue of multiprocessing",
            [Part("queue/read", folder="path")], [Fault("storage.read", things.file)], delays={"read": "30ms"},
            program="pyloop.py")
