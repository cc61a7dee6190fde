# SPDX-License-Identifier: Apache-2.0
from harness import things
from harness.case import Case, Fault, Part

CASE = Case("stat", "the main thread asks for the attributes of a file on a slow file system",
            [Part("stat", folder="path")], [Fault("storage.metadata", things.mount)], delays={"stat": "10ms"})
