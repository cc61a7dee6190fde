# SPDX-License-Identifier: Apache-2.0
from harness import things
from harness.case import Case, Fault, Part

CASE = Case("lock-thread-cpu", "the holder of a mutex waits for a third thread, which computes",
            [Part("lock/thread/cpu", 10)],
            [Fault("cpu.busy", things.threads("thread_tid"), chain="holder.*thread")], long_only=True)
