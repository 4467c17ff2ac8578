"""What a document must not become: one field removed, added or retyped, at any depth.

Reads the schema to know what a place allows, so that a mutation is always one that the schema has
to refuse: a null where a null may stand is no retyping.
"""

from __future__ import annotations

import copy
from typing import NamedTuple

from ch_contract import checker

SAMPLES = {
    "object": {"unexpected": 1},
    "array": [{"unexpected": 1}],
    "string": "retyped",
    "integer": 7,
    "number": 1.5,
    "boolean": True,
    "null": None,
}


class Mutation(NamedTuple):
    """A wrong document, and what was done to it where."""

    act: str
    path: tuple
    document: object

    @property
    def name(self):
        """A test id, such as `removed payload.metadata.cwd`."""
        return f"{self.act} {'.'.join(str(step) for step in self.path)}"


def mutations(document, ref, guaranteed=()):
    """Every wrong document that is one step away from `document`, which satisfies `ref`.

    `guaranteed` are the top-level keys that this document must have beyond the schema's own list:
    a stage's condition asks for them.
    """
    schema, home = checker.resolve(ref, "")
    for act, path, new in _steps(document, [(schema, home)], (), frozenset(guaranteed)):
        yield Mutation(act, path, _changed(document, path, new))


# A stage's condition asks for these sections of a document that was let through.
SECTIONS = {
    "parsed": set(),
    "gated": {"verdict"},
    "staged": {"verdict", "candidates", "decisions"},
    "executed": {"verdict", "candidates", "decisions", "result"},
    "receipted": {"receipt"},
}


def guaranteed(document, stage):
    """The sections that a run document of this stage cannot lose."""
    kind = document["payload"]["kind"]
    if "problem" in document:
        # a malformed text keeps its problem; anything else may lack what came after it
        return ({"problem"} if kind == "malformed" else set()) | ({"receipt"} & SECTIONS[stage])
    if stage != "receipted" and kind in ("goal", "control", "ignored", "malformed"):
        return set()
    decision = document.get("verdict", {}).get("decision")
    spared = {"deny": {"candidates", "decisions", "result"}, "ask": {"result"}}
    return SECTIONS[stage] - spared.get(decision, set())


def of_stage(document, stage):
    """Every wrong run document one step away from `document`, which `stage` has left."""
    return mutations(document, f"run.schema.json#/$defs/{stage}", guaranteed(document, stage))


REMOVED = object()


def _changed(document, path, new):
    if not path:
        return copy.deepcopy(new)
    result = copy.deepcopy(document)
    holder = result
    for step in path[:-1]:
        holder = holder[step]
    if new is REMOVED:
        del holder[path[-1]]
    else:
        holder[path[-1]] = copy.deepcopy(new)
    return result


def _steps(value, schemas, path, guaranteed):
    rules = [rule for schema, home in schemas for rule in _flat(value, schema, home)]
    allowed = set(SAMPLES).intersection(*(_types(schema, home) for schema, home in schemas))
    for name, sample in SAMPLES.items():
        if name not in allowed:
            yield f"retyped to {name}", path, sample
    if isinstance(value, dict):
        needed = {key for schema, _ in rules for key in schema.get("required", ())} | guaranteed
        for key in value:
            if key in needed:
                yield "removed", (*path, key), REMOVED
            yield from _steps(value[key], _below(key, rules), (*path, key), frozenset())
        if any(schema.get("additionalProperties") is False for schema, _ in rules):
            yield "added", (*path, "unexpected"), 1
    elif isinstance(value, list):
        for index, entry in enumerate(value):
            items = [(schema["items"], home) for schema, home in rules if "items" in schema]
            yield from _steps(entry, items, (*path, index), frozenset())


def _types(schema, home):
    """The JSON types that `schema` allows."""
    allowed = set(SAMPLES)
    if "type" in schema:
        names = schema["type"]
        allowed = {names} if isinstance(names, str) else set(names)
        if "number" in allowed:
            allowed.add("integer")
    if "$ref" in schema:
        allowed &= _types(*checker.resolve(schema["$ref"], home))
    for part in schema.get("allOf", ()):
        allowed &= _types(part, home)
    for keyword in ("oneOf", "anyOf"):
        if keyword in schema:
            allowed &= set().union(*(_types(part, home) for part in schema[keyword]))
    return allowed


def _flat(value, schema, home):
    """`schema` and every schema that it applies to the same value, each with its file."""
    yield schema, home
    if "$ref" in schema:
        yield from _flat(value, *checker.resolve(schema["$ref"], home))
    for part in schema.get("allOf", ()):
        yield from _flat(value, part, home)
    for keyword in ("oneOf", "anyOf"):
        for part in schema.get(keyword, ()):
            if checker._accepts(value, part, home):
                yield from _flat(value, part, home)


def _below(key, rules):
    """The schemas for the value under `key`."""
    found = []
    for schema, home in rules:
        if key in schema.get("properties", ()):
            found.append((schema["properties"][key], home))
        elif isinstance(schema.get("additionalProperties"), dict):
            found.append((schema["additionalProperties"], home))
    return found
