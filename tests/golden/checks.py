# SPDX-License-Identifier: Apache-2.0
"""What must hold of any report, whatever it reports on."""

import json
import re

UNITS = {"s": 1e9, "ms": 1e6, "µs": 1e3}
ROW = re.compile(r"^ *(?:\d+ +)?(\d{1,3}) % +([\d.]+) (s|ms|µs)(?: .*)?$")
TIME = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?) (s|ms|µs)(?!\w)")
PERCENT = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?) %")
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.]*\w)")
# Constants of the words themselves, not of the recording.
WORDS = ("gaps under 20 µs",)
COUNTS = re.compile(r"and \d+ more|whystall report --cause \d+|\d+ smaller causes|\d+ threads|\d+ processes|\d+ files")


def numbers_in(value, found):
    """All numbers of a JSON value, those inside its strings too."""
    if isinstance(value, dict):
        for key, one in value.items():
            numbers_in(one, found)
    elif isinstance(value, list):
        found.add(len(value))
        for one in value:
            numbers_in(one, found)
    elif isinstance(value, str):
        found.update(float(n) for n in re.findall(r"\d+(?:\.\d+)?", value))
        found.update(float(int(n, 16)) for n in re.findall(r"0x([0-9a-f]+)", value))
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        found.add(value)


def half_unit(text):
    """The most by which a number printed so may be off."""
    return 0.5 * 10 ** -len(text.partition(".")[2]) * 1.0001


def shares_of(report):
    """What percents may be of: the shares of findings and the parts of the window, in percent."""
    whole, stalled = report["observed_ns"], report["stalled_ns"]
    shares = {100 * report[name] / whole for name in report if name.endswith("_ns") and whole > 0}
    for device in report["devices"]:
        shares.add(100 * (device["nvml_busy"] or 0))
    if stalled > 0:
        shares.add(100 * report["explained_ns"] / stalled)
    for finding in report["findings"]:
        shares.add(100 * (finding["share"] or 0))
    return shares


def untold(text, report):
    """Numbers of the screen that the JSON of the same diagnosis does not have."""
    known = set()
    numbers_in(report, known)
    missing = []
    for phrase in WORDS:
        text = text.replace(phrase, "")
    rows = {line for line in text.splitlines() if ROW.match(line)}
    shares = shares_of(report)
    smaller = {f["smaller"]["ns"] for f in report["findings"] if f["smaller"]}
    after_start = {f["recurrence"]["last_after_ns"] for f in report["findings"] if f["recurrence"]}
    for line in text.splitlines():
        for value, unit in TIME.findall(line):
            off = half_unit(value) * UNITS[unit]
            if not any(abs(n - float(value) * UNITS[unit]) <= off for n in known | smaller | after_start):
                missing.append(f"{value} {unit} in: {line}")
        for value in PERCENT.findall(line):
            # Whole percents of the rows are rounded so that they sum to 100.
            off = 1.0 if line in rows else half_unit(value)
            smaller_share = {100 * n / report["stalled_ns"] for n in smaller if report["stalled_ns"]}
            if not any(abs(n - float(value)) <= off for n in shares | smaller_share):
                missing.append(f"{value} % in: {line}")
        rest = COUNTS.sub("", PERCENT.sub("", TIME.sub("", line)))
        rest = re.sub(r"^ ?\d+  ", "", rest)  # the rank
        for value in NUMBER.findall(rest):
            if float(value) not in known and not any(abs(n - float(value)) <= half_unit(value) for n in known):
                missing.append(f"{value} in: {line}")
    return missing


def screen_problems(text, report):
    """What is wrong with a first screen."""
    problems = []
    lines = text.splitlines()
    if len(lines) > 24:
        problems.append(f"{len(lines)} lines")
    problems += [f"{len(line)} columns: {line}" for line in lines if len(line) > 80]
    controls = {c for c in text if (ord(c) < 0x20 and c != "\n") or 0x7f <= ord(c) < 0xa0}
    if controls:
        problems.append(f"control characters {controls}")
    problems += [f"blank at the end: '{line}'" for line in lines if line != line.rstrip()]
    rows = [ROW.match(line).groups() for line in lines if ROW.match(line)]
    if rows and sum(int(share) for share, _, _ in rows) != 100:
        problems.append(f"the shares sum to {sum(int(share) for share, _, _ in rows)}")
    if rows:
        told = sum(float(value) * UNITS[unit] for _, value, unit in rows)
        off = sum(half_unit(value) * UNITS[unit] for _, value, unit in rows)
        if abs(told - report["stalled_ns"]) > off:
            problems.append(f"the rows' times sum to {told}, the stall is {report['stalled_ns']}")
    return problems + [f"not in the JSON: {one}" for one in untold(text, report)]


def json_problems(report):
    """What is wrong with the sums of a report."""
    problems = []
    findings = sum(f["ns"] for f in report["findings"])
    if findings != report["starved_ns"] + report["micro_gap_ns"]:
        problems.append(f"the findings sum to {findings}")
    parts = sum(report[k] for k in ("starved_ns", "micro_gap_ns", "had_work_ns", "not_known_ns"))
    if parts != report["observed_ns"]:
        problems.append(f"the parts sum to {parts}, observed is {report['observed_ns']}")
    if report["conservation_error_ns"]:
        problems.append("conservation error")
    for f in report["findings"] + report["silence_findings"]:
        if sum(o["ns"] for o in f["objects"]) != f["ns"] or sum(f["confidence_ns"].values()) != f["ns"]:
            problems.append(f"{f['cause']}: its objects or confidences do not sum to {f['ns']}")
        problems += evidence_problems(f)
    return problems


def evidence_problems(finding):
    problems = []
    name = finding["cause"]
    if not finding["evidence"] and finding["gaps"]:
        problems.append(f"{name}: no evidence")
    if len(finding["evidence"]) != min(3, finding["gaps"]):
        problems.append(f"{name}: {len(finding['evidence'])} gaps told of {finding['gaps']}")
    for e in finding["evidence"]:
        gap, longest = e["gap"], e["longest"]
        if not 0 < e["ns"] <= gap["length_ns"]:
            problems.append(f"{name}: {e['ns']} ns in a gap of {gap['length_ns']}")
        if longest["start_ns"] < gap["start_ns"] or longest["end_ns"] > gap["end_ns"]:
            problems.append(f"{name}: a piece outside of its gap")
        for hop in e["chain"]:
            before = hop["at"]["start_ns"] < gap["start_ns"] and not e["lineage"]
            if before or hop["at"]["end_ns"] > gap["end_ns"]:
                problems.append(f"{name}: a hop outside of its gap")
    return problems


KEYWORDS = {"$schema", "$defs", "$ref", "title", "description", "type", "properties", "required",
            "additionalProperties", "items", "enum", "const", "minimum", "maximum", "maxItems", "anyOf"}
TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool,
         "null": type(None)}


def schema_problems(schema, value, root=None, where="$"):
    """Checks a value against the part of JSON Schema that the report's schema uses; another keyword is a problem."""
    root = root or schema
    problems = [f"{where}: the keyword {key} is not checked" for key in schema.keys() - KEYWORDS]
    if "$ref" in schema:
        target = root
        for part in schema["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        problems += schema_problems(target, value, root, where)
    if "anyOf" in schema and all(schema_problems(one, value, root, where) for one in schema["anyOf"]):
        problems.append(f"{where}: none of anyOf")
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(isinstance(value, TYPES[t]) and not (isinstance(value, bool) and t != "boolean") for t in types):
        return problems + [f"{where}: {json.dumps(value)[:60]} is not of type {types}"]
    if "enum" in schema and value not in schema["enum"]:
        problems.append(f"{where}: {value!r} is none of {schema['enum']}")
    if "const" in schema and value != schema["const"]:
        problems.append(f"{where}: {value!r} is not {schema['const']!r}")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if not schema.get("minimum", value) <= value <= schema.get("maximum", value):
            problems.append(f"{where}: {value} is out of bounds")
    if isinstance(value, list):
        if len(value) > schema.get("maxItems", len(value)):
            problems.append(f"{where}: {len(value)} items")
        for i, one in enumerate(value):
            problems += schema_problems(schema.get("items", {}), one, root, f"{where}[{i}]")
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        problems += [f"{where}: no {name}" for name in schema.get("required", []) if name not in value]
        for name, one in value.items():
            if name in properties:
                problems += schema_problems(properties[name], one, root, f"{where}.{name}")
            elif schema.get("additionalProperties") is False:
                problems.append(f"{where}: {name} is not in the schema")
    return problems
