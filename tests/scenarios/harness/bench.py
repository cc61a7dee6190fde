# SPDX-License-Identifier: Apache-2.0
"""One run of a case: simulated device, slow file system, target, hog, and whystall attached to the target."""

import contextlib
import json
import os
import select
import subprocess
import sys
import tempfile

from .processes import Child, Failure, cpus

FILES = 8
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
        sys.path.insert(0, os.path.join(self.source, "tools/gpusim"))

    def missing(self):
        needed = [self.whystall, self.daemon, self.driver, self.slowfs, self.hog, self.loop]
        return [p for p in needed if not os.path.exists(p)]


class Run:
    """What is known of a finished run: whystall's report if it was attached, and the truth's sources."""

    def __init__(self):
        self.ready = None    # the target's first line
        self.report = None   # whystall's JSON
        self.schedule = None # all operations of the target
        self.hog_pid = None
        self.mount = None
        self.injected = []   # lines of the injectors' logs


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


def execute(case, paths, fault, seconds):
    """Runs `case` with or without its fault; with it, whystall is attached once the target is steady."""
    target_cpu, rest_cpu = cpus()
    run = Run()
    with contextlib.ExitStack() as stack:
        work = stack.enter_context(tempfile.TemporaryDirectory(prefix="whystall-scenario-"))

        def start(arguments, cpu, env=None):
            log = os.path.join(work, os.path.basename(arguments[0]) + ".err")
            child = Child(arguments, cpu, log, env)
            stack.push(lambda kind, *_: stop_quietly(child) if kind else None)
            return child

        device_dir = os.path.join(work, "gpu")
        os.mkdir(device_dir)
        daemon = start([paths.daemon, "--dir", device_dir], rest_cpu)
        daemon.wait_ready()

        logs = []
        slowfs = None
        if case.read_delay:
            backing, run.mount = os.path.join(work, "backing"), os.path.join(work, "mnt")
            os.mkdir(backing)
            os.mkdir(run.mount)
            make_files(backing)
            logs.append(os.path.join(work, "slowfs.ndjson"))
            stack.callback(unmount, run.mount)
            slowfs = start([paths.slowfs, backing, run.mount, "--log", logs[-1], "--read-delay",
                            case.read_delay if fault else "0"], rest_cpu)
            slowfs.wait_ready()

        env = dict(os.environ, GPUSIM_DIR=device_dir, LD_LIBRARY_PATH=os.path.dirname(paths.driver))
        target = start([paths.loop, *case.program_arguments(run.mount, fault)], target_cpu, env)
        run.ready = json.loads(target.read_line(30))

        hog = None
        if case.hog and fault:
            logs.append(os.path.join(work, "hog.ndjson"))
            hog = start([paths.hog, "--cpu", str(target_cpu), *case.hog, "--log", logs[-1]], target_cpu)
            hog.wait_ready()
            run.hog_pid = hog.pid

        if fault:
            run.report = attach(paths, target, seconds, rest_cpu, work)
        else:
            watch(target, seconds)
        for child in (target, hog, daemon, slowfs):
            if child is not None and child.stop() != 0:
                raise Failure(f"{child.name} failed{child.errors()}")
        run.schedule = load_schedule(device_dir, run.ready["pid"])
        for log in logs:
            run.injected += ndjson(log)
    return run


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
    try:
        done = subprocess.run(
            [paths.whystall, "-p", str(target.pid), "-d", f"{seconds:g}s", "--json"], cwd=recordings,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=seconds + 60,
            check=False, preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))
    except subprocess.TimeoutExpired as late:
        raise Failure(f"whystall did not end within {late.timeout:g} s") from None
    if done.returncode != 0:
        raise Failure(f"whystall ended with {done.returncode}: {done.stderr.decode(errors='replace').strip()}")
    if target.process.poll() is not None:
        raise Failure(f"the target ended while whystall was attached{target.errors()}")
    try:
        return json.loads(done.stdout)
    except ValueError as error:
        raise Failure(f"whystall's output is not JSON ({error}): {done.stdout[:500]!r}") from None


def load_schedule(device_dir, pid):
    import truth  # tools/gpusim; its folder is on the path once Paths exists

    _, ops = truth.load_schedule(os.path.join(device_dir, "schedule.ndjson"))
    return sorted(truth.of_processes(ops, [pid]), key=lambda op: op["start_ns"])
