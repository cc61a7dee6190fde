# SPDX-License-Identifier: Apache-2.0
from harness import things
from harness.case import Case, Fault, Part

# The other thread asks for the mutex while the main thread waits for it, and has it as short a time.
CASE = Case("lock-waiters", "the main thread asks for a mutex whose holder sleeps, and so does another thread",
            [Part("contended-lock/sleep", 10)], [Fault("lock.user", things.lock)],
            decoys=[things.threads("also_waits_tid"), things.lock_held_by("also_waits_tid")], long_only=True)
