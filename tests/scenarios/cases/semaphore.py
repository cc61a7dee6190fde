# SPDX-License-Identifier: Apache-2.0
from harness import things
from harness.case import Case, Fault, Part

CASE = Case("semaphore", "a worker process, asked by a semaphore in shared memory, sleeps",
            [Part("semaphore/sleep", 10)], [Fault("wait.sleep", things.threads("worker_pid"), chain="worker")],
            long_only=True)
