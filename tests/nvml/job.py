# SPDX-License-Identifier: Apache-2.0
"""A job that keeps the simulated device busy for BUSY_MS of each PERIOD_MS, by the clock: job.py BUSY_MS PERIOD_MS."""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../tools/gpusim"))

import gpusim  # noqa: E402

busy_ns, period_ns = (int(float(text) * 1e6) for text in sys.argv[1:3])
device = gpusim.Device()
device.launch(1000)
device.synchronize()
print("ready", flush=True)
start = time.monotonic_ns()
while True:
    device.launch(busy_ns)
    device.synchronize()
    # Late by a little, it catches up; by more than a period, it leaves those out.
    wait = period_ns - (time.monotonic_ns() - start) % period_ns
    time.sleep(wait / 1e9)
