# SPDX-License-Identifier: Apache-2.0
from harness.case import Case

CASE = Case("lock", "the main thread asks for a mutex whose holder sleeps", mode="lock", cause="lock.user", host_ms=20)
