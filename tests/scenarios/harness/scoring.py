# SPDX-License-Identifier: Apache-2.0
"""The true stall by (cause, object) from the device's schedule, and whystall's answer held against it."""

import bisect
import os


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


def control_idle(run, warm_up_steps=4):
    """Mean idle per step, in ns, of a run without the fault."""
    ops = run.schedule[warm_up_steps:]
    gaps = [b["start_ns"] - a["end_ns"] for a, b in zip(ops, ops[1:])]
    return sum(gaps) / len(gaps)


def true_stall(case, run, control_ns):
    """{(cause, object): ns} of what the fault added inside whystall's own window."""
    window = run.report["window"]
    truth = {}
    for step, idle, share in idle_by_step(run.schedule, window["start_ns"], window["end_ns"]):
        for key in case.true_objects(run, step):
            truth[key] = truth.get(key, 0) + idle - control_ns * share
    return {key: max(0, round(ns)) for key, ns in truth.items()}


def attributed(run):
    """[(cause, object of the report, ns)], the finest that the report tells."""
    return [(finding["cause"], thing, thing["ns"])
            for finding in run.report["findings"] for thing in finding.get("objects", [])]


def same_object(key, thing):
    """Whether a report's object is the one a truth's key names. Keys are ("file", path),
    ("lock", address, holder's tid) and ("process", pid)."""
    if thing.get("kind") != key[0]:
        return False
    if key[0] == "file":
        path = thing.get("path") or thing.get("name", "")
        return os.path.normpath(path) == os.path.normpath(key[1])
    if key[0] == "lock":
        return int(thing["address"], 16) == key[1] and thing.get("holder_tid") == key[2]
    return thing.get("pid") == key[1]


def matched(run, truth):
    """Sum of min(attributed, true) over (cause, object)."""
    answers = attributed(run)
    total = 0
    for (cause, key), true_ns in truth.items():
        given = sum(ns for c, thing, ns in answers if c == cause and same_object(key, thing))
        total += min(given, true_ns)
    return total


def decoy_ns(case, run):
    keys = case.decoy_objects(run)
    in_folder = case.decoy_folder(run)

    def is_decoy(thing):
        if any(same_object(key, thing) for key in keys):
            return True
        path = thing.get("path") or thing.get("name", "")
        return in_folder is not None and thing.get("kind") == "file" and path.startswith(in_folder)

    return sum(ns for _, thing, ns in attributed(run) if is_decoy(thing))


def conservation_error(report):
    """What the findings' sum misses of the stall, added up here and not taken on trust."""
    total = sum(finding["ns"] for finding in report["findings"])
    own = total - report["starved_ns"] - report["micro_gap_ns"]
    return max(abs(own), abs(report["conservation_error_ns"]))


def object_sum_error(report):
    """By how much the objects of a finding exceed it."""
    return max((sum(t["ns"] for t in f.get("objects", [])) - f["ns"] for f in report["findings"]), default=0)


def injected_ns(run):
    """Busy time of the injectors inside the window: a cross-check, never part of the score."""
    lo, hi = run.report["window"]["start_ns"], run.report["window"]["end_ns"]
    return sum(max(0, min(e["end_ns"], hi) - max(e["start_ns"], lo)) for e in run.injected
               if "path" not in e or not e["path"].startswith("decoy/"))
