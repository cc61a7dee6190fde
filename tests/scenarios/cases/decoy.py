# SPDX-License-Identifier: Apache-2.0
from harness.case import Case

# The idle worker's read starts and ends with the other's, on the same mount, and nobody waits for it.
CASE = Case("decoy", "worker-read beside an idle worker's equal read", mode="worker-read", cause="storage.read",
            read_delay="20ms", idle_worker=True)
