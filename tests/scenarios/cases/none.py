# SPDX-License-Identifier: Apache-2.0
from harness.case import Case

CASE = Case("none", "no fault: nothing may be blamed", kernel_ms=10)
