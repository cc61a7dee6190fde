# SPDX-License-Identifier: Apache-2.0
"""What whystall claims of a device, held against the schedule that the simulated one wrote."""

import bisect

import truth
from against_schedule import common, json_lines

SUBMIT = 1                      # enum wst_api_kind
LOST_API, LOST_STORAGE = 3, 5  # enum wst_loss_class; the second: scheduler events of new tasks, no record


class Claims:
    """What a recording proves of the one context in it."""

    def __init__(self, dump_evidence, recording):
        head, *contexts = json_lines(dump_evidence, recording)
        self.window = tuple(head["window"])
        self.contexts = len(contexts)
        context = contexts[0] if contexts else {}
        starved = context.get("starved", [])
        self.starved = [(lo, hi) for lo, hi, _ in starved]
        self.proven_ns = sum(hi - lo for lo, hi, how in starved if how == "proven")
        self.had_work, self.not_known, self.possibly, self.silences = (
            [tuple(at) for at in context.get(name, [])]
            for name in ("had_work", "not_known", "possibly_starved", "silences"))

    def gaps_and_overlaps(self):
        """Where the three states do not cover the window, each nanosecond once."""
        wrong, at = [], self.window[0]
        for lo, hi in sorted(self.starved + self.had_work + self.not_known):
            if lo != at:
                wrong.append((at, lo))
            at = hi
        if at != self.window[1]:
            wrong.append((at, self.window[1]))
        return wrong


def seen_at_entry(ops, calls):
    """The operations as pending from where their call's probe was hit. The device looks at the clock a little later;
    and much later where the thread lost its CPU in between. The first and the last call of a run are told."""
    entries = {}
    for call in calls:
        if call["record"] == "api" and call["call"] == SUBMIT:
            entries.setdefault(call["tid"], set()).update(
                [call["entry_ns"]] + ([call["last_ns"]] if call["last_ns"] else []))
    entries = {tid: sorted(times) for tid, times in entries.items()}
    before, moved = {}, []
    for op in sorted(ops, key=lambda op: op["api_ns"]):
        times = entries.get(op["tid"], [])
        at = bisect.bisect_right(times, op["api_ns"]) - 1
        entry = times[at] if at >= 0 else 0
        moved.append(dict(op, api_ns=entry) if entry > before.get(op["tid"], op["api_ns"]) else op)
        before[op["tid"]] = op["api_ns"]
    return moved


def overlap(some, others, lo, hi):
    """Sorted pieces that lie in both."""
    return common(truth.union(some, lo, hi), truth.union(others, lo, hi))


def lost_records(calls, *kinds):
    """How many, of these kinds or of all."""
    return sum(line["count"] for line in calls if line["record"] == "loss"
               and (line["class"] in kinds if kinds else line["class"] != LOST_STORAGE))


class Comparison:
    def __init__(self, claims, ops, calls):
        lo, hi = claims.window
        self.claims, self.ops = claims, ops
        self.window_ns = hi - lo
        self.lost = lost_records(calls, LOST_API)
        self.empty = truth.empty_intervals(ops, lo, hi)
        # "Had work" is claimed since the probe, "starved" up to it.
        pending_seen = truth.pending_intervals(seen_at_entry(ops, calls), lo, hi)
        self.false_starved = overlap(claims.starved, truth.pending_intervals(ops, lo, hi), lo, hi)
        self.false_had_work = overlap(claims.had_work, truth.complement(pending_seen, lo, hi), lo, hi)
        self.false_possibly = overlap(claims.possibly, claims.starved, lo, hi)

    def coverage(self):
        idle = truth.total(self.empty)
        return truth.total(overlap(self.claims.starved, self.empty, *self.claims.window)) / idle if idle else 1.0

    def numbers(self):
        claims, window = self.claims, self.window_ns
        return {
            "window_ns": window, "true_idle_ns": truth.total(self.empty),
            "starved_ns": truth.total(claims.starved), "proven_ns": claims.proven_ns,
            "coverage": self.coverage(), "had_work": truth.total(claims.had_work) / window,
            "not_known": truth.total(claims.not_known) / window,
            "possibly_starved_ns": truth.total(claims.possibly), "silence_ns": truth.total(claims.silences),
            "false_starved_ns": truth.total(self.false_starved), "false_had_work_ns": truth.total(self.false_had_work),
        }

    def around(self, at):
        """The operations next to an instant, for a message."""
        near = [op for op in self.ops if op["end_ns"] > at[0] - 1_000_000 and op["api_ns"] < at[1] + 1_000_000]
        return [f"      op {op['op']} {op['kind']} stream {op['stream']}: api {op['api_ns'] - at[0]:+} start "
                f"{op['start_ns'] - at[0]:+} end {op['end_ns'] - at[0]:+} ns" for op in near[:12]]

    def problems(self):
        found = []
        if self.claims.contexts != 1:
            found.append(f"{self.claims.contexts} contexts, not one")
        if self.lost:
            found.append(f"{self.lost} records of the driver's calls were lost")
        for lo, hi in self.claims.gaps_and_overlaps():
            found.append(f"the states do not cover the window once: {lo} to {hi}")
        for name, wrong in (("starved while work was pending", self.false_starved),
                            ("had work while nothing was pending", self.false_had_work),
                            ("possibly starved and starved", self.false_possibly)):
            for at in wrong[:3]:
                found.append(f"{name}: {at[1] - at[0]} ns at {at[0]}")
                found += self.around(at)
            if len(wrong) > 3:
                found.append(f"{name}: {len(wrong)} times in all, {truth.total(wrong)} ns")
        return found
