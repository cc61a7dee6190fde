# SPDX-License-Identifier: Apache-2.0
from harness import things
from harness.case import Case, Fault, Part

CASE = Case("worker-cpu", "a worker process prepares the data",
            [Part("worker/cpu", 10), Part("worker/cpu", 10, elsewhere=True, decoy=True)],
            [Fault("cpu.busy", things.threads("worker_pid"), chain="worker")],
            decoys=[things.threads("decoy_worker_pid"), things.process("decoy_worker_pid")])
