# SPDX-License-Identifier: Apache-2.0
from harness import things
from harness.case import Case, Fault, Part

CASE = Case("worker-stop", "another process stops the worker for a while in each step",
            [Part("worker/stop", 10), Part("worker/stop", 10, elsewhere=True, decoy=True)],
            [Fault("cpu.stopped", things.stop("stopper_pid"), chain="worker")],
            decoys=[things.threads("decoy_worker_pid"), things.process("decoy_stopper_pid")], long_only=True)
