# SPDX-License-Identifier: Apache-2.0
from harness import things
from harness.case import Case, Fault, Part

CASE = Case("queue-sleep", "the main thread takes from a queue of a thread that sleeps",
            [Part("queue/sleep", 10)], [Fault("wait.sleep", things.threads("thread_tid"), chain="thread")])
