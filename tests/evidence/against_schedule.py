# SPDX-License-Identifier: Apache-2.0
"""What the driver's calls are said to prove, held against the schedule that the device really had."""
import bisect
import collections
import json
import subprocess

import truth  # tools/gpusim; its folder is on the path once harness.bench.Paths exists

SUBMIT, SYNC_STREAM = 1, 2  # bpf/abi/events.h
STATES = ("starved", "had_work", "not_known")


def json_lines(*command):
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return [json.loads(line) for line in text.splitlines()]


def common(a, b):
    """What lies in both of two lists of sorted disjoint intervals."""
    both, i, j = [], 0, 0
    while i < len(a) and j < len(b):
        lo, hi = max(a[i][0], b[j][0]), min(a[i][1], b[j][1])
        if lo < hi:
            both.append((lo, hi))
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return both


def joined(intervals):
    return truth.union([tuple(at[:2]) for at in intervals], 0, 2**63)


class Submits:
    """The last entries of runs of submitting calls, as recorded. The device takes the time a little after the entry, so what
    it calls pending begins too late by that."""

    def __init__(self, dumped):
        self._by_tid = collections.defaultdict(list)
        for line in dumped:
            if line["record"] == "api" and line["call"] == SUBMIT:
                self._by_tid[line["tid"]].append((line["last_ns"], line["entry_ns"]))
        for entries in self._by_tid.values():
            entries.sort()

    def entry(self, op):
        """Of the call that submitted `op`; where it is one within a run, the device's time."""
        entries = self._by_tid[op["tid"]]
        at = bisect.bisect_right(entries, (op["api_ns"], 2**63)) - 1
        within_next = at + 1 < len(entries) and entries[at + 1][1] <= op["api_ns"]
        return op["api_ns"] if at < 0 or within_next else entries[at][0]


def between_syncs_and_submits(dumped, pid, window):
    """When a process that uses one stream, and waits for it after all that it submits, was seen to have nothing pending."""
    calls = [line for line in dumped if line["record"] == "api" and line["tgid"] == pid]
    moves = sorted([(line["ts"], True) for line in calls if line["call"] == SYNC_STREAM and line["ret"] == 0]
                   + [(line["entry_ns"], False) for line in calls if line["call"] == SUBMIT])
    spans = [(at, following[0]) for (at, done), following in zip(moves, moves[1:] + [(window[1], False)]) if done]
    return truth.union(spans, *window)


class Held:
    """One context, or several taken together as of one device, against the operations of their processes."""

    def __init__(self, window, contexts, ops, submits):
        lo, hi = window
        self.window_ns = hi - lo
        self.wrong = []
        self.starved = [(lo, hi)]
        self.had_work = []
        for context in contexts:
            self._check_cover(context, window)
            self.starved = common(self.starved, joined(context["starved"]))
            self.had_work += [tuple(at) for at in context["had_work"]]
        self.had_work = joined(self.had_work)
        self.empty = truth.empty_intervals(ops, lo, hi)
        pending = truth.pending_intervals(ops, lo, hi)
        entered = truth.union([(submits.entry(op), op["end_ns"]) for op in ops], lo, hi)
        self.wrongly_starved = common(self.starved, pending)
        self.wrongly_working = common(self.had_work, truth.complement(entered, lo, hi))
        if not ops:
            self.wrong.append("the device ran nothing")
        if self.wrongly_starved:
            self.wrong.append(f"called starved with work pending {len(self.wrongly_starved)} times, "
                              f"{truth.total(self.wrongly_starved)} ns, at {self.wrongly_starved[0]}")
        if self.wrongly_working:
            self.wrong.append(f"called working with nothing pending {len(self.wrongly_working)} times, "
                              f"{truth.total(self.wrongly_working)} ns, at {self.wrongly_working[0]}")

    def _check_cover(self, context, window):
        stretches = sorted(tuple(at[:2]) for state in STATES for at in context[state])
        ends = [window[0]] + [hi for _, hi in stretches]
        if [lo for lo, _ in stretches] + [window[1]] != ends:
            self.wrong.append(f"the states of {context['pid']} do not cover the window")

    @property
    def starved_ns(self):
        return truth.total(self.starved)

    @property
    def empty_ns(self):
        return truth.total(self.empty)

    def coverage(self):
        """In words: shares of the window."""
        n = self.window_ns
        return (f"starved {self.starved_ns / n:.1%} of the {self.empty_ns / n:.1%} that were empty, "
                f"had work {truth.total(self.had_work) / n:.1%}")
