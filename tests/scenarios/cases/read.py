# SPDX-License-Identifier: Apache-2.0
from harness.case import Case

CASE = Case("read", "the main thread reads a cold file each step", mode="read", cause="storage.read", read_delay="20ms")
