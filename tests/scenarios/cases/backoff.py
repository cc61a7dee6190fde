# SPDX-License-Identifier: Apache-2.0
from harness import things
from harness.case import Case, Fault, Part

CASE = Case("backoff", "the main thread looks for something and sleeps longer each time",
            [Part("backoff", 20), Part("thread/backoff", 20, elsewhere=True, decoy=True)],
            [Fault("wait.sleep", things.threads("main_tid"))],
            decoys=[things.threads("decoy_thread_tid")])
