# SPDX-License-Identifier: Apache-2.0
from harness import things
from harness.case import Case, Fault, Part

CASE = Case("tcp-sleep", "a server on this host, asked by TCP, sleeps",
            [Part("tcp/sleep", 10)], [Fault("wait.sleep", things.threads("server_pid"), chain="server")], long_only=True)
