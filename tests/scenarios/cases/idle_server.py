# SPDX-License-Identifier: Apache-2.0
from harness import things
from harness.case import Case, Fault, Part

CASE = Case("idle-server", "a server whose client asks for little: no stall",
            [Part("serve", 20)], [Fault("wait.idle", things.threads("main_tid"))], no_demand=True)
