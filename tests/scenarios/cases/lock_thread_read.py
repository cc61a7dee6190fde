# SPDX-License-Identifier: Apache-2.0
from harness import things
from harness.case import Case, Fault, Part

CASE = Case("lock-thread-read", "the holder of a mutex waits for a third thread, which reads a cold file",
            [Part("lock/thread/read", folder="path")], [Fault("storage.read", things.file, chain="holder.*thread")],
            delays={"read": "10ms"})
