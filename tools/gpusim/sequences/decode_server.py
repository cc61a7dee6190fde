#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Serves text generation: clients of a server process ask for tokens over TCP, it hands them to an engine process over a
socket, and that launches a captured graph for each token and sends each one back. The clients are this program's own
process, which starts the server and is no part of what serves."""
import json
import os
import selectors
import socket
import struct
import subprocess
import sys
import time

from common import Loop, compute, gpusim, parser, say, several

NUMBER = struct.Struct("<I")


def received(connection):
    """The next number, or None at the end."""
    data = b""
    while len(data) < NUMBER.size:
        part = connection.recv(NUMBER.size - len(data))
        if not part:
            return None
        data += part
    return NUMBER.unpack(data)[0]


def engine(options, api):
    device = gpusim.Device()
    stream = device.stream()
    token, fetched = device.alloc(4), device.pinned(4)
    several(device, 1, 0.1, stream)
    with stream.capture() as graph:
        several(device, 8, options.device_ms, stream)
        device.copy_to_host(fetched, token, stream)
    api.send(NUMBER.pack(os.getpid()))
    while (count := received(api)) is not None:
        for i in range(count):
            graph.launch(stream)
            stream.synchronize()
            compute(options.host_ms)
            api.send(NUMBER.pack(count - i - 1))


def server(options):
    ours, theirs = socket.socketpair()
    child = subprocess.Popen([sys.executable, "-B", *sys.argv, "--role", "engine", "--fd", str(theirs.fileno())],
                             pass_fds=[theirs.fileno()])
    theirs.close()
    listening = socket.create_server(("127.0.0.1", 0))
    pid = received(ours)
    assert pid == child.pid
    say("serving", server=os.getpid(), engine=pid, port=listening.getsockname()[1])
    selector = selectors.DefaultSelector()
    selector.register(listening, selectors.EVENT_READ)
    selector.register(ours, selectors.EVENT_READ)
    client = None
    while True:
        for key, _ in selector.select():
            if key.fileobj is listening:
                client, _ = listening.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                selector.register(client, selectors.EVENT_READ)
            elif key.fileobj is ours:
                left = received(ours)
                if left is None:
                    return
                client.send(NUMBER.pack(left))
            else:
                count = received(client)
                if count is None:
                    return
                ours.send(NUMBER.pack(count))


def clients(options):
    child = subprocess.Popen([sys.executable, "-B", *sys.argv, "--role", "server"], stdout=subprocess.PIPE)
    facts = json.loads(child.stdout.readline().decode().removeprefix("serving "))
    connection = socket.create_connection(("127.0.0.1", facts["port"]))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    requests = []
    for _ in Loop(options.seconds, **facts):
        begun = time.monotonic_ns()
        connection.send(NUMBER.pack(options.tokens))
        while received(connection):
            pass
        requests.append((begun, time.monotonic_ns()))
        time.sleep(options.think_ms / 1e3)
    connection.close()
    child.wait()
    say("requests", spans=requests)


def main():
    options = parser(__doc__)
    options.add_argument("--device-ms", type=float, default=1.5, help="of a token")
    options.add_argument("--host-ms", type=float, default=0.1, help="of the engine, between tokens")
    options.add_argument("--tokens", type=int, default=10, help="of a request")
    options.add_argument("--think-ms", type=float, default=30, help="until the next request")
    options.add_argument("--role", choices=("clients", "server", "engine"), default="clients")
    options.add_argument("--fd", type=int)
    options = options.parse_args()
    if options.role == "engine":
        return engine(options, socket.socket(fileno=options.fd))
    return server(options) if options.role == "server" else clients(options)


if __name__ == "__main__":
    main()
