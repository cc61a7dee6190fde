# SPDX-License-Identifier: Apache-2.0
"""What a fault can be blamed on. Each makes a key from a run and a step's number:

    ("file", path) ("folder", path/) ("mount", path) ("lock", address or None, holder's tid) ("process", pid)
    ("threads", tids) ("comm", name) ("pipe", inode, pid) ("stop", pid of who lets go on) ("any",)

and same() says whether an object of a report is the one that a key names."""

import os

FILES = 8


def file(run, step):
    """The file that step k reads."""
    return ("file", os.path.join(run.mount, "path", f"{step % FILES:04d}.bin"))


def folder(name):
    return lambda run, step: ("folder", os.path.join(run.mount, name) + "/")


def lock(run, step):
    return ("lock", int(run.ready["lock_address"], 16), run.ready["holder_tid"])


def lock_held_by(fact):
    """Whichever lock it is."""
    return lambda run, step: ("lock", None, run.ready[fact])


def mount(run, step):
    """The file system, or any file of it: a call that gives a path may not tell which."""
    return ("mount", run.mount)


def hog(run, step):
    return ("process", run.hog_pid)


def idle_hog(run, step):
    return ("process", run.idle_hog_pid)


def process(fact):
    return lambda run, step: ("process", run.ready[fact])


def threads(*facts):
    """Any of these: which one is left open."""
    return lambda run, step: ("threads", tuple(run.ready[fact] for fact in facts))


def comm(name):
    """Any of a name, of which there is a new one in each step."""
    return lambda run, step: ("comm", name)


def stop(fact):
    return lambda run, step: ("stop", run.ready[fact])


def anything(run, step):
    """The cause alone counts: what it was on cannot be known."""
    return ("any",)


def pipe(run, step):
    return ("pipe", run.ready["pipe_inode"], run.ready["reader_pid"])


def path_of(thing):
    return os.path.normpath(thing.get("path") or thing.get("name", ""))


def same(key, thing):
    kind = thing.get("kind")
    if key[0] == "any":
        return True
    if key[0] == "comm":
        return kind in ("thread", "process") and thing.get("comm") == key[1]
    if key[0] == "folder":
        return kind == "file" and path_of(thing).startswith(key[1])
    if key[0] == "mount":
        return (path_of(thing) + "/").startswith(key[1] + "/")
    if key[0] == "threads":
        return kind == "thread" and thing.get("tid") in key[1]
    if kind != key[0]:
        return False
    if kind == "file":
        return path_of(thing) == os.path.normpath(key[1])
    if kind == "lock":
        return key[1] in (None, int(thing["address"], 16)) and thing.get("holder_tid") == key[2]
    if kind == "stop":
        return thing.get("let_go_on_by_pid") == key[1]
    if kind == "pipe":
        return thing.get("inode") == key[1] and thing.get("pid") == key[2]
    return thing.get("pid") == key[1]


def name_of(key):
    """For people: no numbers that differ from run to run."""
    if key[0] in ("file", "folder", "mount"):
        return "/".join(key[1].rstrip("/").split("/")[-2:])
    return key[1] if key[0] == "comm" else f"the {key[0]}"
