#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""hooks_test.py OBJECT WRONG...: reads compiled programs and checks what their hooks call. OBJECT must keep the rules, and
each WRONG, which breaks one, must be found out. A guest shows a hang only when luck is bad; this needs none.

Hooks in the scheduler look task storage up and never make it: the flags of bpf_task_storage_get are 0 there.
Hooks on lock contention use no ring buffer and change no map's keys: those take locks that may be the contended one.
No hook takes a stack: at a wake-up a user's is another task's, at a switch-out nobody knows yet if it is worth one."""

import struct
import sys

CALL, MOV64, MOV32, LOAD64 = 0x85, 0xB7, 0xB4, 0x18
JUMPS, WRITERS = (5, 6), (0, 1, 4, 7)  # classes of instructions; loads and arithmetic write their first register
TASK_STORAGE_GET = 156
KEYS_AND_RINGS = {2: "map_update_elem", 3: "map_delete_elem", 25: "perf_event_output", 130: "ringbuf_output",
                  131: "ringbuf_reserve", 132: "ringbuf_submit", 133: "ringbuf_discard"}
STACKS = {27: "get_stackid", 67: "get_stack", 141: "get_task_stack"}


def code_sections(path):
    """(name, bytes) of each section with instructions."""
    with open(path, "rb") as f:
        elf = f.read()
    offset, size, count, names = struct.unpack_from("<Q10xHHH", elf, 0x28)
    headers = [struct.unpack_from("<IIQQQQ", elf, offset + i * size) for i in range(count)]
    for name, kind, flags, _, start, length in headers:
        if kind == 1 and flags & 4:  # SHT_PROGBITS, SHF_EXECINSTR
            at = headers[names][4] + name
            yield elf[at:elf.index(b"\0", at)].decode(), elf[start:start + length]


def calls(code):
    """(helper, what r4 was set to: a number, or None where that depends on the way there) for each call of a helper."""
    instructions = list(struct.iter_unpack("<BBhi", code))
    targets = {at + 1 + offset for at, (op, _, offset, _) in enumerate(instructions) if op & 7 in JUMPS and op != CALL}
    r4, skip = None, False
    for at, (op, registers, _, number) in enumerate(instructions):
        if skip:  # the second half of a 64-bit constant
            skip = False
            continue
        skip = op == LOAD64
        if at in targets:
            r4 = None
        if op == CALL:
            if registers >> 4 == 0:
                yield number, r4
            r4 = None
        elif registers & 15 == 4 and op & 7 in WRITERS:
            r4 = number if op in (MOV64, MOV32) else None


def problems(path):
    found = []
    for name, code in code_sections(path):
        shared = name == ".text"  # functions that any hook may call
        scheduler, contention = name.startswith("tp_btf/sched_"), name.startswith("tp_btf/contention_")
        # The end of a process is not the scheduler's, though its event is named so.
        scheduler = scheduler and not name.startswith("tp_btf/sched_process_")
        for helper, flags in calls(code):
            if helper == TASK_STORAGE_GET and flags != 0 and (scheduler or contention or shared):
                found.append(f"{name} may make task storage")
            if helper in STACKS:
                found.append(f"{name} calls bpf_{STACKS[helper]}")
            if helper in KEYS_AND_RINGS and contention:
                found.append(f"{name} calls bpf_{KEYS_AND_RINGS[helper]}")
    return found


def main():
    good, *wrong = sys.argv[1:]
    bad = problems(good)
    for text in bad:
        print(f"{good}: {text}")
    unseen = [path for path in wrong if not problems(path)]
    for path in unseen:
        print(f"{path}: breaks a rule, which was not seen")
    print(f"{sum(1 for _, code in code_sections(good) for _ in calls(code))} calls looked at")
    return 1 if bad or unseen else 0


if __name__ == "__main__":
    sys.exit(main())
