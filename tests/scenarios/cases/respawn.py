# SPDX-License-Identifier: Apache-2.0
from harness import things
from harness.case import Case, Fault, Part

CASE = Case("respawn", "a worker process is forked for each step, computes and ends",
            [Part("respawn/cpu", 20)], [Fault("cpu.busy", things.comm("respawned"))])
