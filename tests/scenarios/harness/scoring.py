# SPDX-License-Identifier: Apache-2.0
"""The true stall by (cause, thing) from the device's schedule, and whystall's answer held against it."""

import bisect
import collections
import os
import re
import statistics

from . import things

FALSE_AT_PROVEN = 0.02  # share of the stalled time above which one untrue thing at `proven` is a failure
SHALLOW = ("cpu.busy", "ipc.", "wait.")  # causes that say where and not why


def idle_by_step(ops, lo, hi):
    """[(step, idle ns inside [lo, hi], share of that step's idle which is inside)].

    Step k is the host work before operation k, so its idle ends where that operation starts.
    """
    import truth

    starts = [op["start_ns"] for op in ops]
    steps = []
    for begin, end in truth.idle_intervals(ops, lo, hi):
        step = bisect.bisect_left(starts, end)
        if step == 0 or step == len(ops):
            continue  # before the first operation or after the last: no step of the loop
        whole = starts[step] - ops[step - 1]["end_ns"]
        steps.append((step, end - begin, (end - begin) / whole))
    return steps


def idle_ns(run):
    import truth

    return truth.idle_ns(run.schedule, run.report["window"]["start_ns"], run.report["window"]["end_ns"])


def control_idle(run, warm_up_steps=4):
    """Idle per step, in ns, of a run without the fault. The median: what others did in some steps is not the loop's."""
    ops = run.schedule[warm_up_steps:]
    return statistics.median(b["start_ns"] - a["end_ns"] for a, b in zip(ops, ops[1:]))


def unevenness(run):
    """By how much the mean idle of the steps within the window exceeds their lower quartile, as a share of a step."""
    window = run.report["window"]
    inside = [op for op in run.schedule if window["start_ns"] < op["start_ns"] and op["end_ns"] < window["end_ns"]]
    idle = sorted(b["start_ns"] - a["end_ns"] for a, b in zip(inside, inside[1:]))
    if not idle:
        return 0.0
    step = (inside[-1]["end_ns"] - inside[0]["end_ns"]) / len(idle)
    return (sum(idle) / len(idle) - idle[len(idle) // 4]) / step


def split_by_fault(faults, extra_ns, share):
    """What each fault has of a step's extra idle: its own length, its part of it, or what those leave."""
    def own(fault):
        if fault.part:
            return extra_ns * fault.part
        return min(extra_ns, fault.ms * 1e6 * share) if fault.ms else None

    known = [own(fault) for fault in faults]
    rest = max(0, extra_ns - sum(ns for ns in known if ns is not None))
    return [rest if ns is None else ns for ns in known]


class Truth:
    """What the fault added inside whystall's own window: {(cause, thing): ns}, and what there is without it."""

    def __init__(self, case, run, control_ns):
        window = run.report["window"]
        by_thing = collections.Counter()
        self.base_ns = 0
        if case.hang:
            by_thing[case.faults[0].cause, case.faults[0].thing(run, 0)] = idle_ns(run)
        else:
            for step, idle, share in idle_by_step(run.schedule, window["start_ns"], window["end_ns"]):
                self.base_ns += control_ns * share
                for fault, ns in zip(case.faults, split_by_fault(case.faults, idle - control_ns * share, share)):
                    by_thing[fault.cause, fault.thing(run, step)] += ns
        self.by_thing = {key: max(0, round(ns)) for key, ns in by_thing.items()}
        self.by_cause = collections.Counter()
        for (cause, _), ns in self.by_thing.items():
            self.by_cause[cause] += ns
        self.total_ns = sum(self.by_cause.values())
        self.base_ns = round(self.base_ns)

    def has(self, cause, thing):
        return any(c == cause and things.same(key, thing) for c, key in self.by_thing)


def findings_of(case, report):
    """A hang has no launch that ends it: all that can be said is of its silence."""
    return report["findings"] + (report["silence_findings"] if case.hang else [])


def stalled_ns(case, report):
    return report["stalled_ns"] + (report["silent_ns"] if case.hang else 0)


def answers(case, report):
    """{cause: ns} of the whole answer."""
    out = collections.Counter()
    for finding in findings_of(case, report):
        out[finding["cause"]] += finding["ns"]
    return out


def objects_of(case, report):
    """[(cause, object, ns)], the finest that the report tells."""
    return [(finding["cause"], thing, thing["ns"])
            for finding in findings_of(case, report) for thing in finding.get("objects", [])]


def matched_things(case, report, truth):
    """Sum of min(attributed, true) over (cause, thing)."""
    said = objects_of(case, report)
    total = 0
    for (cause, key), true_ns in truth.by_thing.items():
        given = sum(ns for c, thing, ns in said if c == cause and things.same(key, thing))
        total += min(given, true_ns)
    return total


def decoy_ns(case, run):
    keys = [make(run, 0) for make in case.decoys]
    if case.has_decoy_folder():
        keys.append(things.folder("decoy")(run, 0))
    return sum(ns for _, thing, ns in objects_of(case, run.report) if any(things.same(key, thing) for key in keys))


def false_at_proven(case, run, truth, stalled):
    """What was said to be proven and is not true, beyond what the loop has without its fault and what others took of the CPU
    by the kernel's own accounts."""
    report = run.report
    window = report["window"]["end_ns"] - report["window"]["start_ns"]
    limit = FALSE_AT_PROVEN * (stalled if case.faults and not case.no_demand else window) + truth.base_ns
    taken = collections.Counter({"cpu.contention": run.others_ns})
    return [f"{finding['cause']} {thing['name']} {thing['ns'] / 1e6:.1f} ms"
            for finding in findings_of(case, report) if finding["confidence"] == "proven"
            for thing in finding.get("objects", [])
            if thing["ns"] > limit + taken[finding["cause"]] and not truth.has(finding["cause"], thing)]


def broken_chains(case, report):
    """Of each fault with a chain, or with code: whether the largest finding of its cause tells it."""
    broken = []
    for fault in case.faults:
        found = [f for f in findings_of(case, report) if f["cause"] == fault.cause]
        if not found:
            continue
        largest = max(found, key=lambda f: f["ns"])
        if not re.search(fault.chain, largest["path"]):
            broken.append(f"'{largest['path']}' lacks /{fault.chain}/")
        code = largest["code"][0]["name"] if largest["code"] else ""
        if not re.search(fault.code, code):
            broken.append(f"computed in '{code}', not in /{fault.code}/")
    return broken


def conservation_error(case, report):
    """What the findings' sum misses of the stall, added up here and not taken on trust; of a hang, of the silence, too."""
    total = sum(finding["ns"] for finding in report["findings"])
    own = total - report["starved_ns"] - report["micro_gap_ns"]
    silent = sum(f["ns"] for f in report["silence_findings"]) - report["silent_ns"] if case.hang else 0
    return max(abs(own), abs(silent), abs(report["conservation_error_ns"]))


def object_sum_error(report):
    """By how much the objects of a finding exceed it."""
    return max((sum(t["ns"] for t in f.get("objects", [])) - f["ns"] for f in report["findings"]), default=0)


def injected_ns(run):
    """Busy time of the injectors inside the window: a cross-check, never part of the score."""
    lo, hi = run.report["window"]["start_ns"], run.report["window"]["end_ns"]
    return sum(max(0, min(e["end_ns"], hi) - max(e["start_ns"], lo)) for e in run.injected
               if "path" not in e or not e["path"].startswith("decoy/"))


def measure(case, run, control_ns):
    """All sums of one run. Shares are made of the sums of several."""
    report = run.report
    truth = Truth(case, run, control_ns)
    said = answers(case, report)
    stalled = stalled_ns(case, report)
    untrue = {cause: ns for cause, ns in said.items() if cause not in truth.by_cause and cause != "unknown"}
    return {
        "true_ns": truth.total_ns,
        "right_cause_ns": sum(min(said[cause], ns) for cause, ns in truth.by_cause.items()),
        "right_thing_ns": matched_things(case, report, truth),
        "stalled_ns": stalled, "idle_ns": idle_ns(run), "control_idle_per_step_ns": round(control_ns),
        "window_ns": report["window"]["end_ns"] - report["window"]["start_ns"],
        "decoy_ns": decoy_ns(case, run),
        "false_ns": max(0, sum(untrue.values()) - truth.base_ns) if case.faults else 0,
        "vague_ns": sum(ns for cause, ns in untrue.items() if cause.startswith(SHALLOW)),
        "unknown_ns": said["unknown"],
        "conservation_error_ns": conservation_error(case, report),
        "objects_over_ns": max(0, object_sum_error(report)),
        "over_claimed_ns": max(0, stalled - idle_ns(run)),  # idle is a fact: more was never there
        "false_at_proven": false_at_proven(case, run, truth, stalled),
        "broken_chains": broken_chains(case, report),
        "lost_records": report["lost_records"], "injected_ns": injected_ns(run),
        "truth": truth.by_thing, "attributed": by_name(case, report),
    }


def by_name(case, report):
    """{(cause, object's name): ns}; what a finding does not give to an object goes to its own text."""
    out = collections.Counter()
    for finding in findings_of(case, report):
        rest = finding["ns"]
        for thing in finding.get("objects", []):
            name = thing.get("path") or thing.get("name", "")
            if thing.get("kind") == "file":
                name = "/".join(os.path.normpath(name).split("/")[-2:])
            out[finding["cause"], name] += thing["ns"]
            rest -= thing["ns"]
        if rest:
            out[finding["cause"], finding.get("object", "")] += rest
    return out
