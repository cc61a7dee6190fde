# SPDX-License-Identifier: Apache-2.0
from harness import things
from harness.case import Case, Fault, Part

# The lock has its own 10 ms of each step, the file the rest.
CASE = Case("read-and-lock", "the main thread reads a cold file, then asks for a mutex whose holder sleeps",
            [Part("read", folder="path"), Part("lock/sleep", 10)],
            [Fault("storage.read", things.file), Fault("lock.user", things.lock, ms=10)], delays={"read": "10ms"},
            long_only=True)
