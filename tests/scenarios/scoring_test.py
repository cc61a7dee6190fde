#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The score of made-up runs whose right answer is plain."""

import dataclasses
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../../tools/gpusim")]
sys.dont_write_bytecode = True
from harness import attempts, scoring, things  # noqa: E402
from harness.bench import Run  # noqa: E402
from harness.case import Case, Fault, Part  # noqa: E402
from harness.things import FILES  # noqa: E402

MS = 1_000_000
PARTS = [Part("worker/read", folder="path"), Part("worker/read", folder="decoy", decoy=True)]
READ = Case("read", "", PARTS, [Fault("storage.read", things.file, chain="worker")],
            delays={"read": "20ms"}, decoys=[things.process("decoy_worker_pid")])
TWO = Case("two", "", PARTS, [Fault("storage.read", things.file), Fault("lock.user", things.lock, ms=15)])
HANG = Case("hang", "", faults=[Fault("ipc.pipe", things.pipe)], hang=True)
HEALTHY = Case("none", "")
IDLE, BUSY = 21 * MS, 10 * MS
PERIOD = IDLE + BUSY


def file_object(name, ns):
    return {"kind": "file", "name": name, "path": name, "ns": ns}


def finding(cause, objects, ns=None, confidence="proven", path="main <- read pipe <- worker"):
    return {"cause": cause, "ns": sum(o["ns"] for o in objects) if ns is None else ns, "objects": objects,
            "confidence": confidence, "path": path, "code": []}


def made_up_run(findings, silences=(), steps=20):
    run = Run()
    run.mount = "/m"
    run.ready = {"pid": 1, "worker_pid": 2, "decoy_worker_pid": 3, "lock_address": "0x7f00", "holder_tid": 12,
                 "pipe_inode": 8, "reader_pid": 9}
    run.schedule = [{"start_ns": k * PERIOD, "end_ns": k * PERIOD + BUSY} for k in range(steps)]
    total = sum(f["ns"] for f in findings)
    run.report = {"window": {"start_ns": 2 * PERIOD, "end_ns": 10 * PERIOD}, "findings": findings,
                  "silence_findings": list(silences), "silent_ns": sum(f["ns"] for f in silences),
                  "starved_ns": total, "stalled_ns": total, "micro_gap_ns": 0, "conservation_error_ns": 0,
                  "lost_records": 0}
    return run


def full_answer(ns=20 * MS, cause="storage.read"):
    return [finding(cause, [file_object(f"/m/path/{i:04d}.bin", ns) for i in range(FILES)])]


def measured(run, case=READ):
    return scoring.measure(case, run, control_ns=1 * MS)


def judged(case, run, wanted=1):
    tries = attempts.Attempts(case, None, 3, 1, print)
    tries.runs.append(measured(run, case))
    return tries.misses(tries.scores(), wanted)


class TheTruth(unittest.TestCase):
    def test_is_idle_less_control_by_file(self):
        truth = measured(made_up_run(full_answer()))["truth"]
        self.assertEqual(len(truth), FILES)
        self.assertEqual(set(truth.values()), {20 * MS})

    def test_of_a_gap_cut_by_the_window_counts_in_part(self):
        run = made_up_run(full_answer())
        # Half of the idle before operation 3, and nothing else.
        run.report["window"] = {"start_ns": 2 * PERIOD + BUSY, "end_ns": 2 * PERIOD + BUSY + IDLE // 2}
        self.assertEqual(measured(run)["truth"], {("storage.read", ("file", "/m/path/0003.bin")): 10 * MS})

    def test_of_two_faults_gives_each_its_length(self):
        truth = measured(made_up_run([]), TWO)["truth"]
        self.assertEqual(truth["lock.user", ("lock", 0x7F00, 12)], 15 * MS * FILES)
        self.assertEqual(truth["storage.read", ("file", "/m/path/0003.bin")], 5 * MS)

    def test_of_two_faults_of_one_pipeline_gives_each_its_part(self):
        faults = [dataclasses.replace(TWO.faults[0], ms=0, part=0.75), dataclasses.replace(TWO.faults[1], ms=0, part=0.25)]
        self.assertEqual(scoring.split_by_fault(faults, 20 * MS, 1), [15 * MS, 5 * MS])

    def test_of_a_hang_is_all_of_the_idle_time(self):
        run = made_up_run([])
        truth = measured(run, HANG)["truth"]
        self.assertEqual(truth, {("ipc.pipe", ("pipe", 8, 9)): scoring.idle_ns(run)})

    def test_control_idle_leaves_out_what_disturbed_some_steps(self):
        run = made_up_run([])
        for op in run.schedule[15:]:
            op["start_ns"] += 7 * MS
            op["end_ns"] += 7 * MS
        self.assertEqual(scoring.control_idle(run), IDLE)

    def test_equal_steps_are_even(self):
        run = made_up_run([])
        self.assertEqual(scoring.unevenness(run), 0)
        for op in run.schedule[5:]:
            op["start_ns"] += 14 * MS
            op["end_ns"] += 14 * MS
        self.assertAlmostEqual(scoring.unevenness(run), 14 / (6 * 31 + 14))  # six steps are within


class Score(unittest.TestCase):
    def test_full_and_missing_answers(self):
        full, missing = measured(made_up_run(full_answer())), measured(made_up_run(full_answer(cause="storage.fault")))
        self.assertEqual((full["right_cause_ns"], full["right_thing_ns"]), (20 * MS * FILES, 20 * MS * FILES))
        self.assertEqual((missing["right_cause_ns"], missing["right_thing_ns"]), (0, 0))

    def test_too_much_on_one_file_does_not_make_up_for_another(self):
        kept = measured(made_up_run([finding("storage.read", [file_object("/m/path/0003.bin", 160 * MS)])]))
        self.assertEqual((kept["right_cause_ns"], kept["right_thing_ns"]), (160 * MS, 20 * MS))

    def test_decoy_by_folder_and_by_process(self):
        findings = [finding("storage.read", [file_object("/m/decoy/0001.bin", 5)]),
                    finding("ipc.worker", [{"kind": "process", "name": "w", "pid": 3, "ns": 7}]),
                    finding("ipc.worker", [{"kind": "process", "name": "w", "pid": 2, "ns": 9}])]
        self.assertEqual(measured(made_up_run(findings))["decoy_ns"], 12)

    def test_false_is_what_exceeds_the_loop_without_its_fault(self):
        busy = finding("cpu.busy", [{"kind": "thread", "name": "t", "tid": 1, "ns": 11 * MS}], confidence="likely")
        kept = measured(made_up_run([*full_answer(), busy]))
        self.assertEqual((kept["false_ns"], kept["vague_ns"]), (3 * MS, 11 * MS))  # 8 steps of 1 ms are the loop's own

    def test_sums_are_added_up_and_not_believed(self):
        run = made_up_run(full_answer())
        self.assertEqual(scoring.conservation_error(READ, run.report), 0)
        run.report["starved_ns"] -= 1
        self.assertEqual(scoring.conservation_error(READ, run.report), 1)

    def test_so_are_the_sums_of_a_hang(self):
        run = made_up_run([], [finding("ipc.pipe", [], 100 * MS)])
        self.assertEqual(scoring.conservation_error(HANG, run.report), 0)
        run.report["silent_ns"] += 1
        self.assertEqual(scoring.conservation_error(HANG, run.report), 1)

    def test_a_hang_is_scored_by_its_silence(self):
        pipe = finding("ipc.pipe", [{"kind": "pipe", "name": "p", "inode": 8, "pid": 9, "ns": 100 * MS}])
        kept = measured(made_up_run([], [pipe]), HANG)
        self.assertEqual((kept["right_cause_ns"], kept["stalled_ns"]), (100 * MS, 100 * MS))


class Bars(unittest.TestCase):
    def test_a_full_answer_reaches_all(self):
        self.assertEqual(judged(READ, made_up_run(full_answer())), [])

    def test_each_bar_can_be_missed(self):
        decoy = finding("storage.read", [file_object("/m/decoy/0001.bin", 2 * MS)], confidence="likely")
        busy = finding("cpu.busy", [{"kind": "thread", "name": "t", "tid": 1, "ns": 14 * MS}], confidence="likely")
        unknown = finding("unknown", [], 9 * MS, confidence="unknown")
        for extra, name in ((decoy, "decoy"), (busy, "false"), (unknown, "unknown")):
            (missed,) = judged(READ, made_up_run([*full_answer(19 * MS), extra]))
            self.assertTrue(missed.startswith(name), missed)
        missed = judged(READ, made_up_run(full_answer(18 * MS)))
        self.assertEqual(missed, ["right_cause 0.900"])

    def test_false_at_proven(self):
        def wrong(confidence):
            thing = {"kind": "process", "name": "other", "pid": 7, "ns": 13 * MS}
            return judged(READ, made_up_run([*full_answer(), finding("cpu.contention", [thing], confidence=confidence)]))

        self.assertIn("false at proven: cpu.contention other 13.0 ms", wrong("proven"))
        self.assertNotIn("false at proven: cpu.contention other 13.0 ms", wrong("likely"))

    def test_a_chain_must_be_told(self):
        answer = full_answer()
        answer[0]["path"] = "main <- read"
        self.assertEqual(judged(READ, made_up_run(answer)), ["chain: 'main <- read' lacks /worker/"])

    def test_nothing_may_be_blamed_without_a_fault(self):
        self.assertEqual(judged(HEALTHY, made_up_run([])), [])
        self.assertEqual(judged(HEALTHY, made_up_run([finding("cpu.busy", [], 6 * MS)])), ["stalled 0.024"])

    def test_too_few_attempts(self):
        self.assertEqual(judged(READ, made_up_run(full_answer()), wanted=2), ["kept 1 of 1"])

    def test_noise_gate(self):
        tries = attempts.Attempts(READ, None, 3, 1, print)
        self.assertFalse(tries.noisy(1.0 * MS))
        self.assertFalse(tries.noisy(1.1 * MS))  # 0.1 of a 6 ms step
        self.assertTrue(tries.noisy(1.2 * MS))
        self.assertFalse(tries.noisy(0.9 * MS))


class Things(unittest.TestCase):
    def test_lock_needs_address_and_holder(self):
        key = ("lock", 0x7F00, 12)
        self.assertTrue(things.same(key, {"kind": "lock", "address": "0x7f00", "holder_tid": 12}))
        self.assertFalse(things.same(key, {"kind": "lock", "address": "0x7f00", "holder_tid": 13}))
        self.assertFalse(things.same(key, {"kind": "lock", "address": "0x7f04", "holder_tid": 12}))

    def test_pipe_needs_inode_and_process(self):
        self.assertTrue(things.same(("pipe", 8, 9), {"kind": "pipe", "inode": 8, "pid": 9}))
        self.assertFalse(things.same(("pipe", 8, 9), {"kind": "pipe", "inode": 8}))
        self.assertFalse(things.same(("pipe", 8, 9), {"kind": "process", "inode": 8, "pid": 9}))

    def test_one_of_several(self):
        self.assertTrue(things.same(("threads", (4, 5)), {"kind": "thread", "tid": 5}))
        self.assertFalse(things.same(("threads", (4, 5)), {"kind": "process", "pid": 5}))
        self.assertTrue(things.same(("comm", "child"), {"kind": "thread", "tid": 5, "comm": "child"}))
        self.assertTrue(things.same(("folder", "/m/path/"), file_object("/m/path/0001.bin", 1)))
        self.assertFalse(things.same(("folder", "/m/path/"), file_object("/m/path2/0001.bin", 1)))


if __name__ == "__main__":
    unittest.main()
