# SPDX-License-Identifier: Apache-2.0
"""Repeats a case until enough attempts pass the noise gate, and sums up."""

import collections

from . import bench, scoring, things

NOISE = 0.02         # share of a step by which a control run may exceed the best one seen
OTHERS = 0.02        # share of the time in which others may keep the main thread from its CPU
UNEVEN = 0.02        # share of a step by which equal steps may differ
BAR_ONE, BAR_MORE = 0.95, 0.90  # right cause, with one fault and with more
BAR_THING = 0.90
BAR_DECOY = 0.01
BAR_FALSE = 0.02     # share of the stall; where there is no fault, of the window
BAR_UNKNOWN = 0.05
SUMS = ("true_ns", "right_cause_ns", "right_thing_ns", "stalled_ns", "idle_ns", "window_ns", "decoy_ns", "false_ns",
        "vague_ns", "unknown_ns")


def share(part, whole):
    return part / whole if whole else 0.0


class Attempts:
    def __init__(self, case, paths, seconds, control_seconds, say):
        self.case, self.paths, self.say = case, paths, say
        self.seconds = max(seconds, case.uneven)
        self.control_seconds = control_seconds
        self.best_control = None
        self.rejects = []
        self.runs = []

    def noisy(self, control_ns):
        """Whether the machine's other work got into the control run."""
        if self.best_control is None or control_ns < self.best_control:
            self.best_control = control_ns
        step_ns = self.best_control + self.case.kernel_ms * 1e6
        return (control_ns - self.best_control) / step_ns > NOISE

    def reject(self, reason):
        self.rejects.append(reason)
        self.say(f"{self.case.name}: rejected, {reason}")

    def one(self):
        control = bench.execute(self.case, self.paths, fault=False, seconds=self.control_seconds)
        control_ns = scoring.control_idle(control)
        if self.noisy(control_ns):
            return self.reject(f"control idle {control_ns / 1e6:.3f} ms a step, best {self.best_control / 1e6:.3f}")
        run = bench.execute(self.case, self.paths, fault=True, seconds=self.seconds)
        if not self.case.gives_cpu_to_others and run.others_share > OTHERS:
            return self.reject(f"others had {run.others_share:.1%} of the CPU")
        if not self.case.uneven and scoring.unevenness(run) > UNEVEN:
            return self.reject(f"steps differ by {scoring.unevenness(run):.1%}")
        self.runs.append(scoring.measure(self.case, run, control_ns))
        kept = self.runs[-1]
        ms = {name: f"{kept[name + '_ns'] / 1e6:.1f}" for name in ("true", "idle", "stalled")}
        self.say(f"{self.case.name}: kept, cause {share(kept['right_cause_ns'], kept['true_ns']):.3f}, true {ms['true']} ms of "
                 f"{ms['idle']} idle, stalled {ms['stalled']}, control idle {control_ns / 1e6:.3f} ms a step")
        return None

    def repeat(self, wanted):
        bound = wanted + max(3, wanted // 2)
        while len(self.runs) < wanted and len(self.runs) + len(self.rejects) < bound:
            self.one()
        return self.summary(wanted)

    def scores(self):
        total = {key: sum(r[key] for r in self.runs) for key in SUMS}
        stalled = total["stalled_ns"]
        return {
            "right_cause": share(total["right_cause_ns"], total["true_ns"]),
            "right_object": share(total["right_thing_ns"], total["true_ns"]),
            "decoy": share(total["decoy_ns"], stalled),
            "false": share(total["false_ns"], stalled),
            "vague": share(total["vague_ns"], stalled),
            "unknown": share(total["unknown_ns"], stalled),
            "coverage": share(stalled, total["idle_ns"]),
            "stalled": share(stalled, total["window_ns"]),
        }

    def misses(self, scores, wanted):
        """What does not reach its bar, in words."""
        case, missed = self.case, []

        def bar(name, holds):
            if not holds:
                missed.append(f"{name} {scores[name]:.3f}")

        if len(self.runs) < wanted:
            missed.append(f"kept {len(self.runs)} of {len(self.runs) + len(self.rejects)}")
        if case.faults:
            bar("right_cause", scores["right_cause"] >= (BAR_ONE if len(case.faults) == 1 else BAR_MORE))
        if case.faults and not case.no_demand:
            bar("right_object", scores["right_object"] >= BAR_THING)
            bar("decoy", scores["decoy"] <= BAR_DECOY)
            bar("false", scores["false"] <= BAR_FALSE)
            bar("unknown", scores["unknown"] <= BAR_UNKNOWN)
        else:
            bar("stalled", scores["stalled"] <= BAR_FALSE)
        for run in self.runs:
            missed += [f"false at proven: {text}" for text in run["false_at_proven"]]
            missed += [f"chain: {text}" for text in run["broken_chains"]]
            missed += [f"{name} {run[name]}" for name in ("conservation_error_ns", "objects_over_ns", "over_claimed_ns")
                       if run[name] != 0]
        return missed

    def summary(self, wanted):
        truth, answers = collections.Counter(), collections.Counter()
        for r in self.runs:
            for (cause, key), ns in r["truth"].items():
                truth[cause, things.name_of(key)] += ns
            answers.update(r["attributed"])
        scores = self.scores()
        missed = self.misses(scores, wanted)
        return {
            "scenario": self.case.name, "ok": not missed, "missed": missed,
            "scores": {name: round(value, 4) for name, value in scores.items()},
            "conservation_error_ns": max((r["conservation_error_ns"] for r in self.runs), default=0),
            "truth": [{"cause": c, "object": o, "ns": ns} for (c, o), ns in truth.most_common()],
            "attributed": [{"cause": c, "object": o, "ns": ns} for (c, o), ns in answers.most_common()],
            "rejects": self.rejects,
            "runs": [{k: v for k, v in r.items() if k not in ("truth", "attributed")} for r in self.runs],
        }
