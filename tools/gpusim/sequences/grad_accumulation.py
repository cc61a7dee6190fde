#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Gradients of four micro-batches are added up before the optimizer's step; the loss is fetched once after it."""
from common import Loop, compute, gpusim, parser, several

MICRO_STEPS, BATCH = 4, 128 << 10


def main():
    options = parser(__doc__)
    options.add_argument("--device-ms", type=float, default=2, help="of a micro-step")
    options.add_argument("--host-ms", type=float, default=3, help="of the loader, before each micro-step")
    options = options.parse_args()
    device = gpusim.Device()
    batch, value, held = device.alloc(BATCH), device.alloc(4), bytearray(4)
    host = device.pinned(BATCH)
    for _ in Loop(options.seconds):
        for _ in range(MICRO_STEPS):
            compute(options.host_ms)
            device.copy_to_device(host, batch)
            several(device, 6, options.device_ms)
        several(device, 2, 0.5, name="optimizer")
        device.copy_to_host(held, value)
        device.default_stream.synchronize()


if __name__ == "__main__":
    main()
