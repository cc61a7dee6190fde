# SPDX-License-Identifier: Apache-2.0
from harness import things
from harness.case import Case, Fault, Part

CASE = Case("worker-sleep", "a worker process sleeps",
            [Part("worker/sleep", 10), Part("worker/sleep", 10, elsewhere=True, decoy=True)],
            [Fault("wait.sleep", things.threads("worker_pid"), chain="worker")],
            decoys=[things.threads("decoy_worker_pid"), things.process("decoy_worker_pid")])
