# SPDX-License-Identifier: Apache-2.0
from harness import things
from harness.case import Case, Fault, Part

# The interpreter lets a thread wait for 5 ms before it asks the other to let go: after each call of the driver, for one. The
# kernel must last longer than those after the launch.
CASE = Case("gil", "Python: another thread computes in the interpreter and lets go of its lock only when asked",
            [Part("gil", 1, elsewhere=True)], [Fault("lock.gil", things.lock_held_by("holder_tid"))], program="pyloop.py",
            kernel_ms=20,
            unmet="the thread that waits runs a little between its waits, more when others disturb it")
