#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""As loop, in Python: each step does the host work of its modes, launches one kernel and waits for it.

    queue/read   a worker process reads a cold file of --dir and puts it on a queue of multiprocessing, whose feeder thread
                 writes it to a pipe; the main thread asks by such a queue and takes from it
    queue/sleep  the same with a sleep of --host-ms
    gil          another thread computes in the interpreter all the time, on --cpu; with --host-ms 0 it rests

Prints one line of JSON once it runs steadily and ends by SIGTERM or with its standard input."""

import argparse
import ctypes
import json
import multiprocessing
import os
import select
import signal
import sys
import threading
import time

import gpusim  # of tools/gpusim, by PYTHONPATH

WARM_UP = 4  # steps
PR_SET_PDEATHSIG = 1


class Queue:
    """The work of each step is done by a worker, which is there the whole time."""

    def __init__(self, options):
        self.options = options
        context = multiprocessing.get_context("fork")
        self.asked, self.results = context.Queue(), context.Queue()
        self.worker = context.Process(target=self.serve, daemon=True)
        self.worker.start()
        self.results.get()
        self.facts = {"worker_pid": self.worker.pid}

    def serve(self):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        files = []
        if self.options.dir:
            names = sorted(entry.path for entry in os.scandir(self.options.dir) if entry.is_file())
            files = [os.open(name, os.O_RDONLY) for name in names]
        for file in files:
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        self.results.put(b"")
        while (step := self.asked.get()) is not None:
            if not files:
                time.sleep(self.options.host_ms / 1e3)
                self.results.put(b"")
                continue
            file = files[step % len(files)]
            self.results.put(os.pread(file, 1 << 20, 0))
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)

    def run(self, step):
        self.asked.put(step)
        self.results.get()


class Gil:
    """A thread that holds the interpreter lock whenever it can."""

    def __init__(self, options):
        self.options = options
        begun = threading.Event()
        threading.Thread(target=self.burn, args=(begun,), daemon=True).start()
        begun.wait()
        self.facts = {"holder_tid": self.tid}

    def burn(self, begun):
        self.tid = threading.get_native_id()
        if self.options.cpu >= 0:
            os.sched_setaffinity(self.tid, {self.options.cpu})
        begun.set()
        if not self.options.host_ms:
            return
        count = 0
        while True:
            count = (count * 3 + 1) & 0xffff

    def run(self, step):
        pass


MODES = {"queue/read": Queue, "queue/sleep": Queue, "gil": Gil}


def input_ended():
    """A pipe whose writer went away. /dev/null and a terminal never hang up."""
    wanted = select.poll()
    wanted.register(sys.stdin, 0)
    return any(events & select.POLLHUP for _, events in wanted.poll(0))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mode", choices=MODES, required=True)
    parser.add_argument("--kernel-ms", type=float, default=10)
    parser.add_argument("--host-ms", type=float, default=0)
    parser.add_argument("--dir")
    parser.add_argument("--cpu", type=int, default=-1)
    options = parser.parse_args()
    if (options.mode == "queue/read") != bool(options.dir):
        parser.error("--dir and queue/read need each other")

    stopped = []
    work = MODES[options.mode](options)
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
    device = gpusim.Device()
    step = 0
    while not stopped:
        work.run(step)
        device.launch(int(options.kernel_ms * 1e6))
        if step == WARM_UP:
            facts = {"ready": True, "pid": os.getpid(), "main_tid": os.getpid(), **work.facts}
            print(json.dumps(facts), flush=True)
        if input_ended():
            stopped.append(True)
        device.synchronize()
        step += 1
    os._exit(0)  # the worker ends with the process, and the thread never does


if __name__ == "__main__":
    main()
