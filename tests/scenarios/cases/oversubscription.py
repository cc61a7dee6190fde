# SPDX-License-Identifier: Apache-2.0
from harness import things
from harness.case import Case, Fault, Part

# As cpu, but what takes the CPU is the process itself.
CASE = Case("oversubscription", "the main thread computes while another thread of the process shares its CPU",
            [Part("cpu", 40, control_ms=40), Part("thread/bursts", 20, decoy=True)],
            [Fault("cpu.oversubscription", things.process("pid"))], kernel_ms=2, uneven=3)
