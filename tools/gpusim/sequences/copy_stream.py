#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A prefetcher with a stream of its own for copies: the stream that computes waits for the copy's event, and the batch's
memory is used again once an event that was recorded behind its last use is done, for which the allocator asks."""
import collections

from common import Loop, compute, gpusim, parser, several

BATCH = 512 << 10


class Blocks:
    """Device memory that several streams use, as record_stream() has it."""

    def __init__(self, device):
        self._device = device
        self._free, self._in_use = [], collections.deque()

    def allocate(self):
        while self._in_use and self._in_use[0][0].query():
            event, block = self._in_use.popleft()
            event.destroy()
            self._free.append(block)
        return self._free.pop() if self._free else self._device.alloc(BATCH)

    def give_back(self, block, stream):
        event = self._device.event(gpusim.EVENT_DISABLE_TIMING)
        event.record(stream)
        self._in_use.append((event, block))


def main():
    options = parser(__doc__)
    options.add_argument("--device-ms", type=float, default=3)
    options.add_argument("--host-ms", type=float, default=5, help="of the loader, between its look at the memory and the copy")
    options = options.parse_args()
    device = gpusim.Device()
    computing, copying = device.stream(), device.stream()
    host = device.pinned(BATCH)
    blocks = Blocks(device)
    copied = device.event(gpusim.EVENT_DISABLE_TIMING)

    def prefetch():
        block = blocks.allocate()
        compute(options.host_ms)
        device.copy_to_device(host, block, copying)
        copied.record(copying)
        return block

    following = prefetch()
    for _ in Loop(options.seconds):
        computing.wait_event(copied)
        block = following
        several(device, 6, options.device_ms, computing)
        blocks.give_back(block, computing)
        compute(options.host_ms)
        following = prefetch()


if __name__ == "__main__":
    main()
