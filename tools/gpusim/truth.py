#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the simulated device did in a window, from the schedule that gpusimd wrote.

busy   some operation runs (the union over all streams and engines); of a kernel whose process takes
       turns with others, while it is its turn. A host function keeps no engine busy
idle   the rest of the window
empty  no operation is even pending; pending is from the entry of its API call to its end
All times are CLOCK_MONOTONIC nanoseconds; intervals are half-open pairs.
"""
import argparse
import json
import sys

FORMAT = 1


class ScheduleError(ValueError):
    """The file is no schedule, or is damaged."""


def load_schedule(path):
    """Returns (header, operations). An unfinished last line of a running device is left out."""
    with open(path, encoding="ascii") as file:
        lines = file.read().split("\n")
    del lines[-1]  # empty, or cut by the reader being earlier than the writer
    try:
        records = [json.loads(line) for line in lines]
    except ValueError as error:
        raise ScheduleError(f"{path}: {error}") from error
    if not all(isinstance(record, dict) for record in records):
        raise ScheduleError(f"{path}: not a schedule")
    if not records or records[0].get("gpusim_schedule") != FORMAT:
        raise ScheduleError(f"{path}: not a schedule of format {FORMAT}")
    for number, op in enumerate(records[1:]):
        if op.get("op") != number:
            raise ScheduleError(f"{path}: line {number + 2}: operation {number} expected")
    return records[0], records[1:]


def of_processes(ops, pids):
    """The operations of these processes; of all if there are none named."""
    return [op for op in ops if not pids or op["pid"] in pids]


def union(intervals, lo, hi):
    """Sorted disjoint intervals that cover the same time within [lo, hi)."""
    merged = []
    for start, end in sorted(intervals):
        start, end = max(start, lo), min(end, hi)
        if start >= end:
            continue
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def complement(intervals, lo, hi):
    """What disjoint sorted intervals leave of [lo, hi)."""
    rest = []
    for start, end in intervals:
        if lo < start:
            rest.append((lo, start))
        lo = end
    if lo < hi:
        rest.append((lo, hi))
    return rest


def total(intervals):
    return sum(end - start for start, end in intervals)


def runs(op):
    """When an operation kept an engine busy, as a list of intervals."""
    if op.get("kind") == "host":
        return []
    return op.get("slices") or [(op["start_ns"], op["end_ns"])]


def busy_intervals(ops, lo, hi):
    return union((tuple(run) for op in ops for run in runs(op)), lo, hi)


def pending_intervals(ops, lo, hi):
    return union(((op["api_ns"], op["end_ns"]) for op in ops), lo, hi)


def idle_intervals(ops, lo, hi):
    return complement(busy_intervals(ops, lo, hi), lo, hi)


def idle_ns(ops, lo, hi):
    return total(idle_intervals(ops, lo, hi))


def empty_intervals(ops, lo, hi):
    return complement(pending_intervals(ops, lo, hi), lo, hi)


def summary(ops, lo, hi):
    gaps = idle_intervals(ops, lo, hi)
    empty = empty_intervals(ops, lo, hi)
    return {
        "from_ns": lo,
        "to_ns": hi,
        "window_ns": hi - lo,
        "ops": sum(1 for op in ops if op["start_ns"] < hi and op["end_ns"] > lo),
        "busy_ns": hi - lo - total(gaps),
        "idle_ns": total(gaps),
        "empty_ns": total(empty),
        "gaps": gaps,
        "empty": empty,
    }


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("schedule")
    parser.add_argument("--from", dest="lo", type=int, required=True, metavar="NS")
    parser.add_argument("--to", dest="hi", type=int, required=True, metavar="NS")
    parser.add_argument("--pid", dest="pids", type=int, action="append", default=[])
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(argv)
    if args.hi <= args.lo:
        parser.error("--to must be later than --from")
    try:
        _, ops = load_schedule(args.schedule)
    except (OSError, ScheduleError) as error:
        print(f"truth.py: {error}", file=sys.stderr)
        return 1
    result = summary(of_processes(ops, args.pids), args.lo, args.hi)
    if args.json:
        print(json.dumps(result))
        return 0
    for name in ("window", "busy", "idle", "empty"):
        ns = result[f"{name}_ns"]
        print(f"{name:6} {ns / 1e6:12.3f} ms {100 * ns / result['window_ns']:6.2f} %")
    print(f"{len(result['gaps'])} gaps, {result['ops']} operations")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
