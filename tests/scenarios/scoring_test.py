#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The score of made-up runs whose right answer is plain."""

import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../../tools/gpusim")]
sys.dont_write_bytecode = True
from harness import attempts, scoring  # noqa: E402
from harness.bench import FILES, Run  # noqa: E402
from harness.case import Case  # noqa: E402

MS = 1_000_000
READ = Case("read", "", mode="read", cause="storage.read", read_delay="20ms", idle_worker=True)


def file_object(name, ns):
    return {"kind": "file", "name": name, "path": name, "ns": ns}


def made_up_run(findings, idle_ms=21, busy_ms=10, steps=20):
    run = Run()
    run.mount = "/m"
    run.ready = {"pid": 1, "worker_pids": [2, 3]}
    period = (idle_ms + busy_ms) * MS
    run.schedule = [{"start_ns": k * period, "end_ns": k * period + busy_ms * MS} for k in range(steps)]
    total = sum(f["ns"] for f in findings)
    run.report = {"window": {"start_ns": 2 * period, "end_ns": 10 * period}, "findings": findings,
                  "starved_ns": total, "micro_gap_ns": 0, "conservation_error_ns": 0, "lost_records": 0}
    return run


def full_answer(ns=20 * MS, cause="storage.read"):
    objects = [file_object(f"/m/path/{i:04d}.bin", ns) for i in range(FILES)]
    return [{"cause": cause, "ns": ns * FILES, "objects": objects}]


class Scoring(unittest.TestCase):
    def truth(self, run):
        return scoring.true_stall(READ, run, control_ns=1 * MS)

    def test_truth_is_idle_less_control_by_file(self):
        truth = self.truth(made_up_run(full_answer()))
        self.assertEqual(len(truth), FILES)
        self.assertEqual(set(truth.values()), {20 * MS})

    def test_a_gap_cut_by_the_window_counts_in_part(self):
        run = made_up_run(full_answer())
        period = 31 * MS
        # Half of the idle before operation 3, and nothing else.
        run.report["window"] = {"start_ns": 2 * period + 10 * MS, "end_ns": 2 * period + 10 * MS + 21 * MS // 2}
        self.assertEqual(self.truth(run), {("storage.read", ("file", "/m/path/0003.bin")): 10 * MS})

    def test_full_and_missing_answers(self):
        run = made_up_run(full_answer())
        self.assertEqual(scoring.matched(run, self.truth(run)), 20 * MS * FILES)
        run = made_up_run(full_answer(cause="storage.fault"))
        self.assertEqual(scoring.matched(run, self.truth(run)), 0)

    def test_too_much_on_one_file_does_not_make_up_for_another(self):
        findings = [{"cause": "storage.read", "ns": 160 * MS, "objects": [file_object("/m/path/0003.bin", 160 * MS)]}]
        run = made_up_run(findings)
        self.assertEqual(scoring.matched(run, self.truth(run)), 20 * MS)

    def test_decoy_by_folder_and_by_process(self):
        findings = [{"cause": "storage.read", "ns": 5, "objects": [file_object("/m/decoy/0001.bin", 5)]},
                    {"cause": "ipc.worker", "ns": 7, "objects": [{"kind": "process", "name": "w", "pid": 3, "ns": 7}]},
                    {"cause": "ipc.worker", "ns": 9, "objects": [{"kind": "process", "name": "w", "pid": 2, "ns": 9}]}]
        self.assertEqual(scoring.decoy_ns(READ, made_up_run(findings)), 12)

    def test_sums_are_added_up_and_not_believed(self):
        run = made_up_run(full_answer())
        self.assertEqual(scoring.conservation_error(run.report), 0)
        run.report["starved_ns"] -= 1
        self.assertEqual(scoring.conservation_error(run.report), 1)

    def test_lock_needs_address_and_holder(self):
        key = ("lock", 0x7F00, 12)
        self.assertTrue(scoring.same_object(key, {"kind": "lock", "address": "0x7f00", "holder_tid": 12}))
        self.assertFalse(scoring.same_object(key, {"kind": "lock", "address": "0x7f00", "holder_tid": 13}))
        self.assertFalse(scoring.same_object(key, {"kind": "lock", "address": "0x7f04", "holder_tid": 12}))

    def test_noise_gate(self):
        tries = attempts.Attempts(READ, None, 3, print)
        self.assertFalse(tries.noisy(1.0 * MS))
        self.assertFalse(tries.noisy(1.2 * MS))  # 0.2 of an 11 ms step
        self.assertTrue(tries.noisy(1.3 * MS))
        self.assertFalse(tries.noisy(0.9 * MS))


if __name__ == "__main__":
    unittest.main()
