#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The reader of the simulated device's schedule."""
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest

TOOL_DIR = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "gpusim")
sys.path.insert(0, TOOL_DIR)

import truth  # noqa: E402


def op(api, start, end, pid=1, number=0):
    return {"op": number, "pid": pid, "api_ns": api, "start_ns": start, "end_ns": end}


class Intervals(unittest.TestCase):
    OPS = [op(5, 10, 20), op(6, 15, 30), op(28, 40, 50), op(70, 75, 80, pid=2)]

    def test_busy_is_the_union_cut_to_the_window(self):
        self.assertEqual(truth.busy_intervals(self.OPS, 0, 100), [(10, 30), (40, 50), (75, 80)])
        self.assertEqual(truth.busy_intervals(self.OPS, 12, 45), [(12, 30), (40, 45)])
        self.assertEqual(truth.busy_intervals(self.OPS, 30, 40), [])

    def test_idle_is_the_rest(self):
        self.assertEqual(
            truth.idle_intervals(self.OPS, 0, 100), [(0, 10), (30, 40), (50, 75), (80, 100)]
        )
        self.assertEqual(truth.idle_ns(self.OPS, 0, 100), 65)
        self.assertEqual(truth.idle_intervals(self.OPS, 10, 30), [])
        self.assertEqual(truth.idle_intervals([], 3, 9), [(3, 9)])

    def test_pending_starts_at_the_api_entry(self):
        self.assertEqual(truth.pending_intervals(self.OPS, 0, 100), [(5, 50), (70, 80)])
        self.assertEqual(truth.empty_intervals(self.OPS, 0, 100), [(0, 5), (50, 70), (80, 100)])

    def test_touching_operations_leave_no_gap(self):
        self.assertEqual(truth.idle_intervals([op(0, 0, 5), op(0, 5, 9)], 0, 9), [])

    def test_processes(self):
        self.assertEqual(len(truth.of_processes(self.OPS, [])), 4)
        self.assertEqual(truth.of_processes(self.OPS, [2]), self.OPS[3:])

    def test_agrees_with_counting_every_nanosecond(self):
        rng = random.Random(7)
        for _ in range(200):
            ops = []
            for _ in range(rng.randrange(12)):
                api, delay, duration = rng.randrange(90), rng.randrange(10), rng.randrange(15)
                ops.append(op(api, api + delay, api + delay + duration))
            lo = rng.randrange(50)
            hi = lo + 1 + rng.randrange(60)
            idle = sum(
                not any(o["start_ns"] <= t < o["end_ns"] for o in ops) for t in range(lo, hi)
            )
            empty = sum(
                not any(o["api_ns"] <= t < o["end_ns"] for o in ops) for t in range(lo, hi)
            )
            result = truth.summary(ops, lo, hi)
            self.assertEqual(result["idle_ns"], idle)
            self.assertEqual(result["busy_ns"], hi - lo - idle)
            self.assertEqual(result["empty_ns"], empty)


class Files(unittest.TestCase):
    HEADER = '{"gpusim_schedule":1,"device":"d","start_ns":0}\n'

    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.dir.name, "schedule.ndjson")

    def tearDown(self):
        self.dir.cleanup()

    def write(self, text):
        with open(self.path, "w", encoding="ascii") as file:
            file.write(text)

    def lines(self, *ops):
        return "".join(json.dumps(o) + "\n" for o in ops)

    def run_tool(self, *arguments):
        tool = os.path.join(TOOL_DIR, "truth.py")
        return subprocess.run(
            ["/usr/bin/python3", tool, self.path, *arguments],
            capture_output=True, text=True, check=False,
        )

    def test_unfinished_last_line_is_left_out(self):
        self.write(self.HEADER + self.lines(op(0, 1, 2)) + '{"op":1,"pi')
        header, ops = truth.load_schedule(self.path)
        self.assertEqual(header["device"], "d")
        self.assertEqual(ops, [op(0, 1, 2)])

    def test_damage_is_an_error(self):
        for text in (
            "", "[]\n", '{"other":1}\n', self.HEADER.replace("1", "2", 1),
            self.HEADER + "{\n", self.HEADER + self.lines(op(0, 1, 2, number=1)),
        ):
            self.write(text)
            with self.assertRaises(truth.ScheduleError, msg=text):
                truth.load_schedule(self.path)

    def test_command(self):
        self.write(self.HEADER + self.lines(op(0, 10, 20), op(30, 40, 60, pid=2, number=1)))
        window = ("--from", "0", "--to", "100")
        result = json.loads(self.run_tool(*window, "--json").stdout)
        self.assertEqual((result["busy_ns"], result["idle_ns"], result["empty_ns"]), (30, 70, 50))
        self.assertEqual(result["gaps"], [[0, 10], [20, 40], [60, 100]])
        result = json.loads(self.run_tool(*window, "--json", "--pid", "2").stdout)
        self.assertEqual((result["busy_ns"], result["empty_ns"]), (20, 70))
        self.assertIn("idle", self.run_tool(*window).stdout)

    def test_command_refuses(self):
        self.write("nonsense\n")
        self.assertEqual(self.run_tool("--from", "0", "--to", "1").returncode, 1)
        self.assertEqual(self.run_tool("--from", "1", "--to", "1").returncode, 2)


if __name__ == "__main__":
    unittest.main()
