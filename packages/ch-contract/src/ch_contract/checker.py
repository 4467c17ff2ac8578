"""A quick check of a value against our own schemas.

It interprets the same files as `jsonschema`, for the keywords our schemas use, and answers
"surely valid" or "ask the authority". What it does not accept is decided and explained by
`jsonschema` (documents.py), whose import costs more than a whole run. Within a schema its answer
is exact: where it cannot be, it gives up on the whole value, since a branch of `if` or `oneOf`
that is wrongly refused would make the other one pass.
Rules: JSON Schema 2020-12, core and validation.
"""

from __future__ import annotations

import json
import os
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Schema = dict[str, Any]

KEYWORDS = frozenset(
    {
        "$ref", "additionalProperties", "allOf", "anyOf", "else", "enum", "exclusiveMinimum", "if",
        "items", "maxItems", "maxLength", "maximum", "minItems", "minLength", "minimum", "oneOf",
        "pattern", "patternProperties", "properties", "required", "then", "type",
    }
)  # fmt: skip
ANNOTATIONS = frozenset({"$defs", "$id", "$schema", "default", "description", "title"})

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "schemas")

_loaded: dict[str, Schema] = {}
_resolved: dict[tuple[str, str], tuple[Schema, str]] = {}
_patterns: dict[str, re.Pattern[str]] = {}


class _Unsure(Exception):
    """The value meets a rule that is not read exactly here."""


def load(name: str) -> Schema:
    """The schema file `name`, such as `run.schema.json`; read once per process."""
    schema = _loaded.get(name)
    if schema is None:
        with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
            schema = _loaded[name] = json.load(file)
    return schema


def resolve(ref: str, home: str) -> tuple[Schema, str]:
    """The schema that `ref` names, seen from the file `home`, and the file it stands in."""
    known = _resolved.get((ref, home))
    if known is not None:
        return known
    name, _, pointer = ref.partition("#")
    file = os.path.normpath(os.path.join(os.path.dirname(home), name)) if name else home
    schema = load(file)
    for step in pointer.strip("/").split("/") if pointer.strip("/") else ():
        schema = schema[step.replace("~1", "/").replace("~0", "~")]
    _resolved[ref, home] = schema, file
    return schema, file


def accepts(value: object, ref: str) -> bool:
    """Whether `value` surely satisfies `ref` (`run.schema.json#/$defs/gated`)."""
    schema, home = resolve(ref, "")
    try:
        return _accepts(value, schema, home)
    except _Unsure:
        return False


def search(pattern: str, text: str) -> bool:
    """Whether `pattern` finds something in `text`, with `$` at its end as JSON Schema means it.

    Schemas are written for ECMA-262, where `$` matches at the very end alone; Python's also
    matches before a last newline.
    """
    compiled = _patterns.get(pattern)
    if compiled is None:
        anchored = pattern.endswith("$") and not pattern.endswith("\\$")
        source = pattern[:-1] + r"\Z" if anchored else pattern
        compiled = _patterns[pattern] = re.compile(source)
    return compiled.search(text) is not None


def _accepts(value: object, schema: Schema, home: str) -> bool:
    for keyword, rule in schema.items():
        if keyword in ANNOTATIONS:
            continue
        if keyword == "type":
            wanted = rule if isinstance(rule, list) else (rule,)
            if not any(_is(value, name) for name in wanted):
                return False
        elif keyword == "enum":
            if not any(_same(value, entry) for entry in rule):
                return False
        elif keyword == "$ref":
            target, file = resolve(rule, home)
            if not _accepts(value, target, file):
                return False
        elif keyword == "allOf":
            if not all(_accepts(value, part, home) for part in rule):
                return False
        elif keyword == "anyOf":
            if not any(_accepts(value, part, home) for part in rule):
                return False
        elif keyword == "oneOf":
            if sum(_accepts(value, part, home) for part in rule) != 1:
                return False
        elif keyword == "if":
            branch = schema.get("then" if _accepts(value, rule, home) else "else")
            if branch is not None and not _accepts(value, branch, home):
                return False
        elif keyword in ("then", "else"):
            continue
        elif keyword in KEYWORDS:
            if isinstance(value, dict):
                if not _object(value, keyword, rule, schema, home):
                    return False
            elif isinstance(value, list):
                if not _array(value, keyword, rule, home):
                    return False
            elif not _scalar(value, keyword, rule):
                return False
        else:
            raise _Unsure
    return True


def _is(value: object, name: str) -> bool:
    if name == "object":
        return isinstance(value, dict)
    if name == "string":
        return isinstance(value, str)
    if name == "null":
        return value is None
    if name == "array":
        return isinstance(value, list)
    if name == "boolean":
        return isinstance(value, bool)
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if name == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    raise _Unsure


def _same(value: object, entry: object) -> bool:
    """Whether two JSON values are equal: 1 and True are not, though Python says so."""
    if isinstance(entry, dict | list | float) or isinstance(value, float):
        raise _Unsure
    return type(value) is type(entry) and value == entry


def _object(value: dict[str, Any], keyword: str, rule: Any, schema: Schema, home: str) -> bool:
    if keyword == "required":
        return all(key in value for key in rule)
    if keyword == "properties":
        return all(_accepts(value[key], part, home) for key, part in rule.items() if key in value)
    if keyword == "patternProperties":
        return all(
            _accepts(entry, part, home)
            for pattern, part in rule.items()
            for key, entry in value.items()
            if search(pattern, key)
        )
    if keyword == "additionalProperties":
        known = schema.get("properties", ())
        foreign = schema.get("patternProperties", ())
        rest = [
            key
            for key in value
            if key not in known and not any(search(pattern, key) for pattern in foreign)
        ]
        if isinstance(rule, bool):
            return rule or not rest
        return all(_accepts(value[key], rule, home) for key in rest)
    return True


def _array(value: list[Any], keyword: str, rule: Any, home: str) -> bool:
    if keyword == "items":
        return all(_accepts(entry, rule, home) for entry in value)
    if keyword == "minItems":
        return bool(len(value) >= rule)
    if keyword == "maxItems":
        return bool(len(value) <= rule)
    return True


def _scalar(value: object, keyword: str, rule: Any) -> bool:
    if isinstance(value, str):
        if keyword == "pattern":
            return search(rule, value)
        if keyword == "minLength":
            return bool(len(value) >= rule)
        if keyword == "maxLength":
            return bool(len(value) <= rule)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        if keyword == "minimum":
            return bool(value >= rule)
        if keyword == "maximum":
            return bool(value <= rule)
        if keyword == "exclusiveMinimum":
            return bool(value > rule)
    return True
