#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Gives memory back and takes it anew between steps, once a line on its input says so: with GPUSIM_STALL_FREE=3:MS the
third time takes long. Says "freed" after the fifth."""
import select
import sys
import time

from common import Loop, gpusim, parser, say, several

TIMES = 5


def main():
    options = parser(__doc__).parse_args()
    device = gpusim.Device()
    memory, left, asked = device.alloc(1 << 20), TIMES, False
    calls = []
    for _ in Loop(options.seconds):
        several(device, 4, 2)
        device.synchronize()
        asked = asked or bool(select.select([sys.stdin], [], [], 0)[0])
        if not asked or not left:
            continue
        begun = time.monotonic_ns()
        memory.free()
        calls.append(time.monotonic_ns() - begun)
        memory = device.alloc(1 << 20)
        left -= 1
        if not left:
            say("freed", took_ns=calls)


if __name__ == "__main__":
    main()
