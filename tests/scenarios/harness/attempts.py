# SPDX-License-Identifier: Apache-2.0
"""Repeats a case until enough attempts pass the noise gate, and sums up."""

import collections

from . import bench, scoring

CONTROL_SECONDS = 1.5
NOISE = 0.02       # share of a step by which a control run may exceed the best one seen
BAR_SCORE = 0.90
BAR_DECOY = 0.02
BAR_FALSE = 0.02   # share of the window that may be blamed on anything where there is no fault


class Attempts:
    def __init__(self, case, paths, seconds, say):
        self.case, self.paths, self.seconds, self.say = case, paths, seconds, say
        self.best_control = None
        self.rejects = []
        self.runs = []

    def noisy(self, control_ns):
        """Whether the machine's other work got into the control run."""
        if self.best_control is None or control_ns < self.best_control:
            self.best_control = control_ns
        step_ns = self.best_control + self.case.kernel_ms * 1e6
        return (control_ns - self.best_control) / step_ns > NOISE

    def one(self):
        control = bench.execute(self.case, self.paths, fault=False, seconds=CONTROL_SECONDS)
        control_ns = scoring.control_idle(control)
        if self.noisy(control_ns):
            reason = f"control idle {control_ns / 1e6:.3f} ms a step, best {self.best_control / 1e6:.3f}"
            self.rejects.append(reason)
            self.say(f"{self.case.name}: rejected, {reason}")
            return
        run = bench.execute(self.case, self.paths, fault=True, seconds=self.seconds)
        self.runs.append(self.measure(run, control_ns))
        kept = self.runs[-1]
        self.say(f"{self.case.name}: kept, score {kept['score']:.3f}, true {kept['true_ns'] / 1e6:.1f} ms, "
                 f"attributed {kept['matched_ns'] / 1e6:.1f} ms, control idle {control_ns / 1e6:.3f} ms a step")

    def measure(self, run, control_ns):
        report = run.report
        truth = scoring.true_stall(self.case, run, control_ns)
        true_ns, matched_ns = sum(truth.values()), scoring.matched(run, truth)
        window_ns = report["window"]["end_ns"] - report["window"]["start_ns"]
        stalled_ns = report["starved_ns"] + report["micro_gap_ns"]
        if self.case.cause:
            score = matched_ns / true_ns if true_ns else 0.0
        else:  # the share of the window in which nothing was blamed
            score = 1 - stalled_ns / window_ns
        return {
            "score": score, "true_ns": true_ns, "matched_ns": matched_ns, "stalled_ns": stalled_ns,
            "window_ns": window_ns, "decoy_ns": scoring.decoy_ns(self.case, run),
            "conservation_error_ns": scoring.conservation_error(report),
            "objects_over_ns": max(0, scoring.object_sum_error(report)),
            "lost_records": report["lost_records"], "injected_ns": scoring.injected_ns(run),
            "control_idle_per_step_ns": round(control_ns), "device_idle_ns": device_idle(run),
            "over_claimed_ns": max(0, stalled_ns - device_idle(run)),  # idle is a fact: more was never there
            "truth": truth, "attributed": attributed_by_name(report),
        }

    def repeat(self, wanted):
        bound = wanted + max(3, wanted // 2)
        while len(self.runs) < wanted and len(self.runs) + len(self.rejects) < bound:
            self.one()
        return self.summary(wanted)

    def summary(self, wanted):
        runs = self.runs
        total = {key: sum(r[key] for r in runs) for key in ("true_ns", "matched_ns", "stalled_ns", "window_ns", "decoy_ns")}
        truth, answers = collections.Counter(), collections.Counter()
        for r in runs:
            for (cause, key), ns in r["truth"].items():
                truth[cause, name_of(key)] += ns
            answers.update(r["attributed"])
        if not runs:
            score = 0.0
        elif self.case.cause:
            score = total["matched_ns"] / total["true_ns"] if total["true_ns"] else 0.0
        else:
            score = 1 - total["stalled_ns"] / total["window_ns"]
        decoy = total["decoy_ns"] / total["stalled_ns"] if total["stalled_ns"] else 0.0
        error = max((r["conservation_error_ns"] for r in runs), default=0)
        bar = BAR_SCORE if self.case.cause else 1 - BAR_FALSE
        ok = (len(runs) >= wanted and score >= bar and decoy <= BAR_DECOY and error == 0
              and all(r["objects_over_ns"] == 0 and r["over_claimed_ns"] == 0 for r in runs))
        return {
            "scenario": self.case.name, "ok": ok, "score": round(score, 4), "decoy_share": round(decoy, 4),
            "conservation_error_ns": error,
            "attributed": [{"cause": c, "object": o, "ns": ns} for (c, o), ns in answers.most_common()],
            "truth": {"total_ns": total["true_ns"],
                      "objects": [{"cause": c, "object": o, "ns": ns} for (c, o), ns in truth.most_common()]},
            "rejects": self.rejects,
            "runs": [{k: round(v, 4) if isinstance(v, float) else v for k, v in r.items()
                      if k not in ("truth", "attributed")} for r in runs],
        }


def device_idle(run):
    import truth

    return truth.idle_ns(run.schedule, run.report["window"]["start_ns"], run.report["window"]["end_ns"])


def name_of(key):
    if key[0] == "file":
        return "/".join(key[1].split("/")[-2:])  # the mount's own name differs from run to run
    if key[0] == "lock":
        return "the lock"
    return "the hog"


def attributed_by_name(report):
    """{(cause, object's name): ns}; what a finding does not give to an object goes to its own text."""
    out = collections.Counter()
    for finding in report["findings"]:
        rest = finding["ns"]
        for thing in finding.get("objects", []):
            name = thing.get("path") or thing.get("name", "")
            if thing.get("kind") == "file":
                name = "/".join(name.split("/")[-2:])
            out[finding["cause"], name] += thing["ns"]
            rest -= thing["ns"]
        if rest:
            out[finding["cause"], finding.get("object", "")] += rest
    return out
