# SPDX-License-Identifier: Apache-2.0
from harness.case import Case

CASE = Case("worker-read", "a worker process reads a cold file each step, and the main thread waits for it",
            mode="worker-read", cause="storage.read", read_delay="20ms")
