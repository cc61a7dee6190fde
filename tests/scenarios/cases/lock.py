# SPDX-License-Identifier: Apache-2.0
from harness import things
from harness.case import Case, Fault, Part

CASE = Case("lock", "the main thread asks for a mutex whose holder sleeps",
            [Part("lock/sleep", 10)], [Fault("lock.user", things.lock)])
