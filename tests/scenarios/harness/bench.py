# SPDX-License-Identifier: Apache-2.0
"""One run of a case: simulated device, slow file system, target, hog, and whystall attached to the target."""

import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time

from .noise import Others
from .processes import Child, Failure, cpus, where_it_waits
from .quota import Group
from .things import FILES

FILE_BYTES = 64 * 1024  # one request to slowfs when read by one pread


class Paths:
    def __init__(self, build_dir, whystall=None):
        self.build = os.path.abspath(build_dir)
        self.source = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
        self.whystall = os.path.abspath(whystall or os.path.join(self.build, "whystall"))
        self.gpusim = os.path.join(self.build, "tools/gpusim")
        self.daemon = os.path.join(self.gpusim, "gpusimd")
        self.driver = os.path.join(self.gpusim, "lib/libcuda.so.1")
        self.slowfs = os.path.join(self.build, "tools/faults/slowfs")
        self.hog = os.path.join(self.build, "tools/faults/hog")
        self.loop = os.path.join(self.build, "tests/scenarios/programs/loop")
        self.programs = os.path.join(self.source, "tests/scenarios/programs")
        self._others = None
        self.gpusim_source = os.path.join(self.source, "tools/gpusim")
        sys.path.insert(0, self.gpusim_source)

    @property
    def others(self):
        """Made when it is first asked for: it moves this process to a control group."""
        self._others = self._others or Others()
        return self._others

    def keep(self, recordings):
        """Moves a run's recordings to where they outlive it; returns the folder."""
        logs = os.path.join(self.build, "test-logs")
        os.makedirs(logs, exist_ok=True)
        return shutil.move(recordings, tempfile.mkdtemp(prefix="late-", dir=logs))

    def missing(self):
        needed = [self.whystall, self.daemon, self.driver, self.slowfs, self.hog, self.loop]
        return [p for p in needed if not os.path.exists(p)]


class Run:
    """What is known of a finished run: whystall's report if it was attached, and the truth's sources."""

    def __init__(self):
        self.ready = None    # the target's first line
        self.report = None   # whystall's JSON
        self.schedule = None # all operations of the target
        self.hog_pid = self.idle_hog_pid = None
        self.mount = None
        self.injected = []   # lines of the injectors' logs
        self.others_ns = 0   # for so long at most, tasks of others kept the main thread from its CPU
        self.others_share = 0.0


def make_files(backing):
    for folder in ("path", "decoy"):
        os.makedirs(os.path.join(backing, folder))
        for i in range(FILES):
            with open(os.path.join(backing, folder, f"{i:04d}.bin"), "wb") as f:
                f.write(os.urandom(FILE_BYTES))


def unmount(mount):
    """For a slowfs that did not do it itself: a dead mount must not outlive the run."""
    if os.path.ismount(mount):
        subprocess.run(["umount", "-l", mount], check=False)


def ndjson(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f if line.strip()]


class Bench:
    """The processes of one run, which end with it."""

    def __init__(self, stack, case, paths, fault):
        self.stack, self.case, self.paths, self.fault = stack, case, paths, fault
        self.target_cpu, self.rest_cpu = cpus()
        self.others = paths.others  # first: what is started from here on is not somebody else's
        self.work = stack.enter_context(tempfile.TemporaryDirectory(prefix="whystall-scenario-"))
        self.device_dir = os.path.join(self.work, "gpu")
        self.run = Run()
        self.quota = None
        self.children, self.logs = [], []  # the target is the first to end

    def start(self, arguments, cpu, env=None):
        log = os.path.join(self.work, os.path.basename(arguments[0]) + ".err")
        child = Child(arguments, cpu, log, env)
        self.children.append(child)
        self.stack.push(lambda kind, *_: stop_quietly(child) if kind else None)
        return child

    def log(self, name):
        self.logs.append(os.path.join(self.work, name))
        return self.logs[-1]

    def start_device(self):
        os.mkdir(self.device_dir)
        self.start([self.paths.daemon, "--dir", self.device_dir], self.rest_cpu).wait_ready()

    def start_file_system(self):
        backing, mount = os.path.join(self.work, "backing"), os.path.join(self.work, "mnt")
        os.mkdir(backing)
        os.mkdir(mount)
        make_files(backing)
        self.run.mount = mount
        self.stack.callback(unmount, mount)
        self.start([self.paths.slowfs, backing, mount, "--log", self.log("slowfs.ndjson")], self.rest_cpu).wait_ready()

    def slow_down_files(self):
        """Once the target is steady: opening its files is no part of the fault."""
        with open(os.path.join(self.run.mount, ".slowfs"), "w", encoding="ascii") as f:
            for operation, duration in self.case.delays.items():
                f.write(f"{operation} {duration}\n")

    def start_target(self):
        arguments = self.case.program_arguments(self.run.mount, self.fault, self.rest_cpu)
        program = [self.paths.loop]
        if self.case.program:
            program = ["/usr/bin/python3", "-B", os.path.join(self.paths.programs, self.case.program)]
        env = dict(os.environ, GPUSIM_DIR=self.device_dir, GPUSIM_LIB=self.paths.driver, PYTHONPATH=self.paths.gpusim_source,
                   LD_LIBRARY_PATH=os.path.dirname(self.paths.driver))
        target = self.start([*program, *arguments], self.target_cpu, env)
        self.run.ready = json.loads(target.read_line(30))
        return target

    def start_hog(self, cpu, arguments):
        hog = self.start([self.paths.hog, "--cpu", str(cpu), *arguments, "--log", self.log(f"hog-{cpu}.ndjson")], cpu)
        hog.wait_ready()
        return hog.pid

    def inject(self, target):
        case = self.case
        if case.delays:
            self.slow_down_files()
        if case.hog:
            self.run.hog_pid = self.start_hog(self.target_cpu, case.hog)
        if case.idle_hog:
            self.run.idle_hog_pid = self.start_hog(self.rest_cpu, ["--busy", "10ms", "--idle", "5ms"])
        if case.quota_us:
            self.quota = Group(*case.quota_us, self.others.cpu_group)
            self.stack.callback(self.quota.remove)
            self.quota.take(target.pid)

    def watch(self, target, seconds):
        others, cpu, tid = self.others, self.target_cpu, self.run.ready["main_tid"]
        before, throttled = others.look(cpu, tid), self.throttled_ns()
        if self.fault:
            self.run.report = attach(self.paths, target, seconds, self.rest_cpu, self.work)
        else:
            watch(target, seconds)
        after = others.look(cpu, tid)
        self.run.others_ns = after.taken_since(before, self.throttled_ns() - throttled)
        self.run.others_share = self.run.others_ns / (after.at_ns - before.at_ns)

    def throttled_ns(self):
        return self.quota.throttled_ns() if self.quota else 0

    def end(self, target):
        for child in [target] + [c for c in reversed(self.children) if c is not target]:
            if child.stop() != 0:
                raise Failure(f"{child.name} failed{child.errors()}")
        self.run.schedule = load_schedule(self.device_dir, self.run.ready["pid"])
        for log in self.logs:
            self.run.injected += ndjson(log)


def execute(case, paths, fault, seconds):
    """Runs `case` with or without its fault; with it, whystall is attached once the target is steady."""
    with contextlib.ExitStack() as stack:
        bench = Bench(stack, case, paths, fault)
        bench.start_device()
        if case.delays:
            bench.start_file_system()
        target = bench.start_target()
        if fault:
            bench.inject(target)
        bench.watch(target, seconds)
        bench.end(target)
        return bench.run


def stop_quietly(child):
    """After another failure, which is the one to tell."""
    with contextlib.suppress(Failure, OSError, ValueError):
        child.stop(timeout_s=3)


def watch(target, seconds):
    """Lets the target run for a while and fails if it ends by itself."""
    if select.select([target.process.stdout], [], [], seconds)[0]:
        raise Failure(f"the target ended by itself{target.errors()}")


def attach(paths, target, seconds, cpu, work):
    recordings = os.path.join(work, "recordings")
    os.mkdir(recordings)
    command = [paths.whystall, "-p", str(target.pid), "-d", f"{seconds:g}s", "--json"]
    with subprocess.Popen(command, cwd=recordings, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          preexec_fn=lambda: os.sched_setaffinity(0, {cpu})) as whystall:
        try:
            out, errors = whystall.communicate(timeout=seconds + 60)
        except subprocess.TimeoutExpired as late:
            where = where_it_waits(whystall.pid)
            whystall.kill()
            kept = paths.keep(recordings)
            raise Failure(f"whystall did not end within {late.timeout:g} s (recording kept in {kept}):\n{where}") from None
    errors = errors.decode(errors="replace").strip()
    if whystall.returncode != 0:
        raise Failure(f"whystall ended with {whystall.returncode}: {errors}")
    if target.process.poll() is not None:
        raise Failure(f"the target ended while whystall was attached{target.errors()}")
    try:
        return json.loads(out)
    except ValueError as error:
        raise Failure(f"whystall's output is not JSON ({error}): {out[:500]!r}") from None


def load_schedule(device_dir, pid):
    import truth  # tools/gpusim; its folder is on the path once Paths exists

    _, ops = truth.load_schedule(os.path.join(device_dir, "schedule.ndjson"))
    return sorted(truth.of_processes(ops, [pid]), key=lambda op: op["start_ns"])
