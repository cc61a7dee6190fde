# SPDX-License-Identifier: Apache-2.0
from harness import things
from harness.case import Case, Fault, Part

CASE = Case("eventfd", "a worker process, asked by eventfd, computes",
            [Part("eventfd/cpu", 10)], [Fault("cpu.busy", things.threads("worker_pid"), chain="worker")])
