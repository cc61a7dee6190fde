# SPDX-License-Identifier: Apache-2.0
from harness import things
from harness.case import Case, Fault, Part

CASE = Case("queue-sleep", "the main thread takes from a queue of a thread that sleeps",
            [Part("queue/sleep", 10), Part("queue/sleep", 10, elsewhere=True, decoy=True)],
            [Fault("wait.sleep", things.threads("thread_tid"), chain="thread")],
            decoys=[things.threads("decoy_thread_tid")], long_only=True)
