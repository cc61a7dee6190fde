# SPDX-License-Identifier: Apache-2.0
from harness import things
from harness.case import Case, Fault, Part

# From before the attach until the end.
CASE = Case("stuck-pipe", "the main thread writes to a full pipe which nobody reads",
            [Part("stuck", control_mode="none")], [Fault("ipc.pipe", things.pipe)], hang=True)
