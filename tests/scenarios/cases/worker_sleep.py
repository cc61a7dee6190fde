# SPDX-License-Identifier: Apache-2.0
from harness import things
from harness.case import Case, Fault, Part

CASE = Case("worker-sleep", "a worker process sleeps",
            [Part("worker/sleep", 10)], [Fault("wait.sleep", things.threads("worker_pid"), chain="worker")])
