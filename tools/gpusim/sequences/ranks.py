#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Processes that each compute on a device and meet at a barrier after each step; one of them is late now and then."""
import multiprocessing
import os
import signal

from common import Loop, compute, gpusim, parser, say, several, WARM_UP


def rank_main(number, options, barrier, ready):
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    device = gpusim.Device(number % options.devices, gpusim.BLOCKING)
    stream = device.stream()
    step = 0
    while True:
        late = number == options.late_rank and step % options.late_every == 0
        compute(options.host_ms + (options.late_ms if late else 0))
        several(device, 3, options.device_ms, stream)
        stream.synchronize()
        barrier.wait()
        step += 1
        if step == WARM_UP:
            ready.put(os.getpid())


def main():
    options = parser(__doc__)
    options.add_argument("--ranks", type=int, default=8)
    options.add_argument("--devices", type=int, default=1)
    options.add_argument("--device-ms", type=float, default=1)
    options.add_argument("--host-ms", type=float, default=0.5)
    options.add_argument("--late-rank", type=int, default=3)
    options.add_argument("--late-every", type=int, default=4, help="steps")
    options.add_argument("--late-ms", type=float, default=20)
    options = options.parse_args()
    context = multiprocessing.get_context("fork")
    barrier, ready = context.Barrier(options.ranks), context.SimpleQueue()
    ranks = [context.Process(target=rank_main, args=(number, options, barrier, ready), daemon=True)
             for number in range(options.ranks)]
    for rank in ranks:
        rank.start()
    for _ in ranks:
        ready.get()
    loop = Loop(options.seconds, ranks=[rank.pid for rank in ranks], late=ranks[options.late_rank].pid)
    say("steady", **loop.facts)
    loop.wait()
    for rank in ranks:
        rank.terminate()


if __name__ == "__main__":
    main()
