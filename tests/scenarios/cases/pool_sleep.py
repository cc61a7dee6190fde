# SPDX-License-Identifier: Apache-2.0
from harness import things
from harness.case import Case, Fault, Part

CASE = Case("pool-sleep", "all threads of a pool sleep when the main thread queues its task",
            [Part("pool/sleep", 10)], [Fault("wait.sleep", things.threads("pool_tid0", "pool_tid1"), chain="pool")],
            long_only=True)
