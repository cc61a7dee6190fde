# SPDX-License-Identifier: Apache-2.0
"""whystall as a recorder beside a test: begun when everything is attached, ended by Ctrl-C."""

import os
import signal
import subprocess
import time

from .processes import Failure


def wait_begun(process, recording, errors, within_s=30):
    """Returns when the recording has begun: the file is filled when everything is attached. `errors()` says what whystall
    said."""
    deadline = time.monotonic() + within_s
    while not os.path.exists(recording) or os.path.getsize(recording) == 0:
        if process.poll() is not None or time.monotonic() > deadline:
            raise Failure(f"whystall did not begin: {errors()}")
        time.sleep(0.002)


class Recorder:
    def __init__(self, paths, pid, folder):
        self.recording = os.path.join(folder, "recording.wst")
        self.errors = os.path.join(folder, "whystall.err")
        with open(self.errors, "wb") as err:
            self.process = subprocess.Popen(
                [paths.whystall, "record", "-p", str(pid), "-o", self.recording], stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=err)
        wait_begun(self.process, self.recording, self.text)

    def text(self):
        with open(self.errors, encoding="utf-8", errors="replace") as f:
            return f.read().strip()

    def stop(self):
        """Ends the recording and returns its path."""
        self.process.send_signal(signal.SIGINT)
        if self.process.wait(60) != 0:  # beside a crowd, detaching takes its time
            raise Failure(f"whystall ended with {self.process.returncode}: {self.text()}")
        return self.recording

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
