# SPDX-License-Identifier: Apache-2.0
"""What the sequences share: options, the loop that says when it is steady, and work of the host."""
import argparse
import json
import os
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(__file__))))

import gpusim  # noqa: E402, F401

WARM_UP = 5  # steps


def ms(value):
    return int(value * 1e6)


def parser(description):
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--seconds", type=float, default=0, help="for how long, once it is steady (0: until SIGTERM)")
    return made


def say(word, **facts):
    print(word, json.dumps(facts), flush=True)


class Loop:
    """`for step in loop`: after the first steps prints "steady" with what is known by then, and ends by time or SIGTERM."""

    def __init__(self, seconds, **facts):
        self.facts = dict(facts, pid=os.getpid())
        self.stopped = False
        self._seconds = seconds
        signal.signal(signal.SIGTERM, self._stop)

    def _stop(self, *_):
        self.stopped = True

    def wait(self):
        """Instead of steps: until the time is over, or SIGTERM."""
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
        if self._seconds:
            signal.sigtimedwait([signal.SIGTERM], self._seconds)
        else:
            signal.sigwait([signal.SIGTERM])

    def __iter__(self):
        step, end = 0, None
        while not self.stopped and (end is None or time.monotonic() < end):
            if step == WARM_UP:
                say("steady", **self.facts)
                if self._seconds:
                    end = time.monotonic() + self._seconds
            yield step
            step += 1


def compute(milliseconds):
    """Keeps the CPU busy, as the host's part of a step does."""
    end = time.monotonic_ns() + ms(milliseconds)
    while time.monotonic_ns() < end:
        pass


def several(device, count, milliseconds, stream=None, name="kernel"):
    """A few launches one after the other, as the layers of a model make."""
    for _ in range(count):
        device.launch(ms(milliseconds) // count, stream, name)
