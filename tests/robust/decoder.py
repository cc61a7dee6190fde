# SPDX-License-Identifier: Apache-2.0
"""Reads what tests/robust/run looks at in a recording, without whystall's own reader."""

import collections
import ctypes
import struct

# The records of bpf/abi/events.h that this test reads: kind, name, layout after the header, fields.
Header = collections.namedtuple("Header", "size kind cpu ts")
LAYOUTS = {
    1: ("task", "<QIIII16sI", "start_ns tid tgid ppid flags comm ns_tid"),
    2: ("exit", "<II", "tid tgid"),
    3: ("wait", "<QQQ4QQQIIII", "ran_ns out_ns wake_ns a0 a1 a2 a3 ino pos dev generation tid tgid"),
    4: ("slice", "<QII16s", "start_ns tid tgid comm"),
    6: ("api", "<QQQIIHHi", "entry_ns stream event tid tgid call symbol ret"),
    9: ("sums", "<QQQII", "from_ns short_blocked_ns short_runnable_ns tid tgid"),
    12: ("end", "<QQIIiIBBHHH16s16s", "ino peer_ino dev tgid fd flags file_kind family local_port remote_port reserved "
                                      "local_address remote_address"),
    13: ("sample", "<QII", "ip tid tgid"),
}
RECORDS = {kind: (name, struct.Struct(layout), collections.namedtuple(name, "ts " + fields))
           for kind, (name, layout, fields) in LAYOUTS.items()}
WRITES = 2
STORAGE = 5  # the class of losses that is no lost record


def read_recording(path):
    """{name: records}"""
    zstd = ctypes.CDLL("libzstd.so.1")
    zstd.ZSTD_decompress.restype = ctypes.c_size_t
    zstd.ZSTD_decompress.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    found = collections.defaultdict(list)
    with open(path, "rb") as file:
        data = file.read()
    at = 16
    while at + 40 <= len(data):
        _, chunk_class, flags, stored, raw = struct.unpack_from("<IHHII", data, at)
        body = data[at + 40:at + 40 + stored]
        at += 40 + stored
        if chunk_class != 2 or len(body) < stored:
            continue
        if flags & 1:
            room = ctypes.create_string_buffer(raw)
            if zstd.ZSTD_decompress(room, raw, body, stored) != raw:
                raise AssertionError("a chunk does not decompress")
            body = room.raw
        position = 0
        while position + 16 <= len(body):
            size, kind, _, _, ts = struct.unpack_from("<HBBIQ", body, position)
            if kind in RECORDS:
                name, layout, make = RECORDS[kind]
                found[name].append(make(ts, *layout.unpack_from(body, position + 16)))
            position += size
    return found


def text_of(comm):
    return comm.split(b"\0")[0].decode()
