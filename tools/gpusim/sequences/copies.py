#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Copies from memory that is not pinned; says of each twenty of them how long the calls took by the program's own clock."""
import time

from common import Loop, gpusim, parser, say, several

TOLD = 20


def main():
    options = parser(__doc__)
    options.add_argument("--bytes", type=int, default=8 << 20)
    options = options.parse_args()
    device = gpusim.Device()
    stream = device.stream()
    data, batch = bytearray(options.bytes), device.alloc(options.bytes)
    took = 0
    for step in Loop(options.seconds, bytes=options.bytes):
        begun = time.monotonic_ns()
        device.copy_to_device(data, batch, stream)
        took += time.monotonic_ns() - begun
        if step % TOLD == TOLD - 1:
            say("copied", calls=TOLD, ns=took)
            took = 0
        several(device, 4, 2, stream)
        stream.synchronize()


if __name__ == "__main__":
    main()
