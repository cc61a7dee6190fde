#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Forward from the main thread, backward from the thread of an autograd engine, for which the main one waits; the loss is
fetched between the two, the norm of the gradients after them, each by a copy and a synchronise as .item() makes them."""
import queue
import threading
import time

from common import Loop, compute, gpusim, parser, several


class Engine:
    """Runs what it is given in a thread of its own; the caller waits."""

    def __init__(self):
        self.native_id = None
        self._tasks, self._done = queue.SimpleQueue(), queue.SimpleQueue()
        threading.Thread(target=self._run, daemon=True).start()
        self(lambda: None)

    def _run(self):
        self.native_id = threading.get_native_id()
        while True:
            self._tasks.get()()
            self._done.put(None)

    def __call__(self, task):
        self._tasks.put(task)
        self._done.get()


def main():
    options = parser(__doc__)
    options.add_argument("--device-ms", type=float, default=2, help="of forward; backward has twice as much")
    options.add_argument("--log-ms", type=float, default=2, help="the main thread sleeps after it has the loss")
    options.add_argument("--hook-ms", type=float, default=3, help="the engine's thread computes before its first launch")
    options = options.parse_args()
    device = gpusim.Device()
    stream = device.stream()
    value, held = device.alloc(4), bytearray(4)
    engine = Engine()

    def item():
        device.copy_to_host(held, value, stream)
        stream.synchronize()

    def backward():
        compute(options.hook_ms)
        several(device, 8, 2 * options.device_ms, stream, "backward")

    for _ in Loop(options.seconds, main=threading.get_native_id(), engine=engine.native_id):
        several(device, 8, options.device_ms, stream, "forward")
        item()
        time.sleep(options.log_ms / 1e3)
        engine(backward)
        several(device, 2, 0.5, stream, "optimizer")
        item()


if __name__ == "__main__":
    main()
