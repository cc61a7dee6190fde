# SPDX-License-Identifier: Apache-2.0
from harness import things
from harness.case import Case, Fault, Part

CASE = Case("python-queue-sleep", "Python: a worker sleeps before it puts something on a queue of multiprocessing",
            [Part("queue/sleep", 30)], [Fault("wait.sleep", things.threads("worker_pid"))], program="pyloop.py",
            long_only=True)
