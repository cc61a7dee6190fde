#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""faults_test.py SLOWFS HOG: the fault injectors do what they say. Needs root and /dev/fuse, else 77."""

import os
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from harness.bench import ndjson, unmount  # noqa: E402
from harness.processes import Child  # noqa: E402

SLOWFS, HOG = sys.argv[1:3] if len(sys.argv) > 2 else (None, None)
CPU = min(os.sched_getaffinity(0))


class SlowFs(unittest.TestCase):
    def setUp(self):
        work = tempfile.TemporaryDirectory(prefix="whystall-faults-")
        self.addCleanup(work.cleanup)
        self.backing, self.mount, self.log = (os.path.join(work.name, n) for n in ("backing", "mnt", "log"))
        for folder in ("train", "other"):
            os.makedirs(os.path.join(self.backing, folder))
            for size in (10, 65536, 131072, 262144):
                with open(os.path.join(self.backing, folder, str(size)), "wb") as f:
                    f.write(os.urandom(size))
        os.mkdir(self.mount)
        self.slowfs = Child([SLOWFS, self.backing, self.mount, "--read-delay", "5ms", "--delay-under", "train=20ms",
                             "--log", self.log], CPU, os.path.join(work.name, "err"))
        self.addCleanup(unmount, self.mount)
        self.addCleanup(self.end)
        self.assertEqual(self.slowfs.wait_ready(), f"ready {self.mount}")

    def end(self):
        if not self.slowfs.process.stdin.closed:
            self.slowfs.stop()

    def cold_read(self, name):
        """(ms, requests) of one cold read of a whole file."""
        fd = os.open(os.path.join(self.mount, name), os.O_RDONLY)
        try:
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            before, begin = len(ndjson(self.log)), time.monotonic()
            data = os.read(fd, 1 << 20)
            ms = (time.monotonic() - begin) * 1e3
        finally:
            os.close(fd)
        with open(os.path.join(self.backing, name), "rb") as f:
            self.assertEqual(data, f.read())
        return ms, len(ndjson(self.log)) - before

    def test_a_small_file_is_one_request(self):
        for size in ("10", "65536", "131072"):
            ms, requests = self.cold_read(f"train/{size}")
            self.assertEqual(requests, 1)
            self.assertGreaterEqual(ms, 20)
        self.assertGreater(self.cold_read("train/262144")[1], 1)

    def test_delay_by_prefix_and_cached_read(self):
        self.assertGreaterEqual(self.cold_read("other/10")[0], 5)
        before = len(ndjson(self.log))
        with open(os.path.join(self.mount, "other/10"), "rb") as f:
            f.read()
        self.assertEqual(len(ndjson(self.log)), before)

    def test_control_file(self):
        control = os.path.join(self.mount, ".slowfs")
        with open(control, "w", encoding="ascii") as f:
            f.write("read 40ms train/\n")
        self.assertGreaterEqual(self.cold_read("train/10")[0], 40)
        with open(control, encoding="ascii") as f:
            self.assertEqual(f.read(), "read 40000000ns train\nread 5000000ns\n")
        with self.assertRaises(OSError):
            fd = os.open(control, os.O_WRONLY)
            try:
                os.write(fd, b"nonsense")
            finally:
                os.close(fd)

    def test_each_operation_has_its_delay(self):
        def ms(call):
            begin = time.monotonic()
            call()
            return (time.monotonic() - begin) * 1e3

        def logged(operation):
            return sum(event["op"] == operation and event["path"] == "other/10" for event in ndjson(self.log))

        path = os.path.join(self.mount, "other/10")
        fd = os.open(path, os.O_WRONLY)
        self.addCleanup(os.close, fd)
        calls = {"write": lambda: os.pwrite(fd, b"0123456789", 0), "fsync": lambda: os.fsync(fd),
                 "open": lambda: os.close(os.open(path, os.O_RDONLY))}
        for operation, call in calls.items():
            call()
            self.assertEqual(logged(operation), 0)
            with open(os.path.join(self.mount, ".slowfs"), "w", encoding="ascii") as f:
                f.write(f"{operation} 30ms other\n")
            self.assertGreaterEqual(ms(call), 30)
            self.assertEqual(logged(operation), 1)

    def test_log_tells_path_bytes_and_times(self):
        self.cold_read("train/65536")
        event = ndjson(self.log)[-1]
        self.assertEqual((event["op"], event["path"], event["offset"], event["bytes"]),
                         ("read", "train/65536", 0, 65536))
        self.assertGreaterEqual(event["end_ns"] - event["start_ns"], 20_000_000)

    def test_unmounts_when_told_to_end(self):
        self.assertEqual(self.slowfs.stop(), 0)
        self.assertFalse(os.path.ismount(self.mount))


class Hog(unittest.TestCase):
    def test_bursts_of_the_set_cpu_time(self):
        with tempfile.TemporaryDirectory() as work:
            log = os.path.join(work, "log")
            hog = Child([HOG, "--cpu", str(CPU), "--busy", "5ms", "--idle", "5ms", "--seconds", "0.1", "--log", log],
                        CPU, os.path.join(work, "err"))
            self.assertEqual(hog.wait_ready(), f"ready {hog.pid}")
            self.assertEqual(hog.process.wait(10), 0)
            hog.stop()
            bursts = ndjson(log)
            self.assertGreater(len(bursts), 1)
            for burst in bursts:
                self.assertGreaterEqual(burst["cpu_ns"], 5_000_000)
                self.assertLessEqual(burst["cpu_ns"], burst["end_ns"] - burst["start_ns"] + 1_000_000)


if __name__ == "__main__":
    if os.geteuid() != 0 or not os.access("/dev/fuse", os.W_OK):
        print("skipped: mounting needs root and /dev/fuse")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
