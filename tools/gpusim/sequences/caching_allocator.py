#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A caching allocator of pinned memory: a block that is given back while a copy may still use it comes with an event, and
each allocation asks the events which blocks are free again. The loop never waits for the device."""
import collections

from common import Loop, compute, gpusim, parser, several

BATCH, METRICS = 256 << 10, 4 << 10


class Allocator:
    def __init__(self, device):
        self._device = device
        self._free = collections.defaultdict(list)  # by size
        self._events = []                           # for reuse
        self._in_use = collections.deque()          # (event, block), in the order of their return

    def allocate(self, nbytes):
        while self._in_use and self._in_use[0][0].query():
            event, block = self._in_use.popleft()
            self._events.append(event)
            self._free[block.nbytes].append(block)
        free = self._free[nbytes]
        return free.pop() if free else self._device.pinned(nbytes)

    def give_back(self, block, stream):
        event = self._events.pop() if self._events else self._device.event(gpusim.EVENT_DISABLE_TIMING)
        event.record(stream)
        self._in_use.append((event, block))


def main():
    options = parser(__doc__)
    options.add_argument("--device-ms", type=float, default=3)
    options.add_argument("--host-ms", type=float, default=5, help="of the loader, before each batch")
    options.add_argument("--collate-ms", type=float, default=2, help="to fill the pinned batch")
    options = options.parse_args()
    device = gpusim.Device()
    stream = device.stream()
    batch, metrics = device.alloc(BATCH), device.alloc(METRICS)
    allocator = Allocator(device)
    for _ in Loop(options.seconds):
        compute(options.host_ms)
        block = allocator.allocate(BATCH)
        compute(options.collate_ms)
        device.copy_to_device(block, batch, stream)
        allocator.give_back(block, stream)
        several(device, 6, options.device_ms, stream)
        result = allocator.allocate(METRICS)
        device.copy_to_host(result, metrics, stream)
        allocator.give_back(result, stream)


if __name__ == "__main__":
    main()
