# SPDX-License-Identifier: Apache-2.0
from harness.case import Case

CASE = Case("slow-device", "the device takes twice as long: nothing may be blamed", kernel_ms=20, control_kernel_ms=10)
