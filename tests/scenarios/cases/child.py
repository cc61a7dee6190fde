# SPDX-License-Identifier: Apache-2.0
from harness import things
from harness.case import Case, Fault, Part

CASE = Case("child", "the main thread waits for a program that it started, which computes",
            [Part("child/cpu", 10)], [Fault("cpu.busy", things.comm("child"))])
