# SPDX-License-Identifier: Apache-2.0
"""Plans a list of work again, from the times of its calls alone, as the simulated device says that it does: an
operation starts when its call's latency, what its stream has before it and its engine allow, and lasts as planned."""

import json

import truth

LAUNCH_LATENCY_NS = 5_000  # gpusimd's defaults
COPY_LATENCY_NS = 1_000
COPY_BYTES_PER_NS = 25


def lines(output):
    return [json.loads(line) for line in output.splitlines()]


def duration(work):
    return work["ns"] if "ns" in work else COPY_LATENCY_NS + work["bytes"] // COPY_BYTES_PER_NS


class Engine:
    """Runs one operation at a time; a later call's may fit before one that has to wait for its stream."""

    def __init__(self):
        self.busy = []

    def place(self, ready, length):
        start = ready
        for begin, end in sorted(self.busy):
            if start + length <= begin:
                break
            start = max(start, end)
        self.busy.append((start, start + length))
        self.busy = [run for run in self.busy if run[1] > ready - 1_000_000_000]
        return start


def differences(planned, ops):
    """What of the schedule is not so, a text each."""
    if len(planned) != len(ops):
        return [f"{len(ops)} operations, not {len(planned)}"]
    wrong = []
    engines, tails = {}, {}
    numbers = sorted({op["stream"] for op in ops})
    for work, op in zip(planned, ops):
        stream = numbers[work["stream"]]
        if (op["kind"], op["stream"]) != (work["kind"], stream):
            return [*wrong, f"operation {op['op']} is a {op['kind']} on stream {op['stream']}"]
        ready = max(op["api_ns"] + LAUNCH_LATENCY_NS, tails.get(stream, 0))
        start = engines.setdefault(op["kind"], Engine()).place(ready, duration(work))
        end = start + duration(work)
        tails[stream] = op["end_ns"]
        if (op["start_ns"], op["end_ns"]) != (start, end):
            wrong.append(f"operation {op['op']}, {op['kind']}: start {op['start_ns'] - start:+} ns, "
                         f"length {op['end_ns'] - op['start_ns'] - duration(work):+} ns off")
    return wrong


__all__ = ["differences", "lines", "truth"]
