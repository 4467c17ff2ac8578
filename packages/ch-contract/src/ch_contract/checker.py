"""A quick check of a value against our own schemas.

It interprets the same files as `jsonschema`, for the keywords our schemas use, and only ever says
"surely valid" or "ask the authority". What it does not accept is decided and explained by
`jsonschema` (documents.py), whose import costs more than a whole run.
Rules: JSON Schema 2020-12, core and validation.
"""

from __future__ import annotations

import json
import os
import re

KEYWORDS = frozenset(
    {
        "$ref", "additionalProperties", "allOf", "anyOf", "else", "enum", "exclusiveMinimum", "if",
        "items", "maxItems", "maxLength", "maximum", "minItems", "minLength", "minimum", "oneOf",
        "pattern", "patternProperties", "properties", "required", "then", "type",
    }
)  # fmt: skip
ANNOTATIONS = frozenset({"$defs", "$id", "$schema", "default", "description", "title"})

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "schemas")

_loaded: dict[str, dict] = {}  # type: ignore[type-arg]
_patterns: dict[str, re.Pattern[str]] = {}


def load(name: str) -> dict:  # type: ignore[type-arg]
    """The schema file `name`, such as `run.schema.json`; read once per process."""
    schema = _loaded.get(name)
    if schema is None:
        with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
            schema = _loaded[name] = json.load(file)
    return schema


def resolve(ref: str, home: str) -> tuple[dict, str]:  # type: ignore[type-arg]
    """The schema that `ref` names, seen from the file `home`, and the file it stands in."""
    name, _, pointer = ref.partition("#")
    file = os.path.normpath(os.path.join(os.path.dirname(home), name)) if name else home
    schema = load(file)
    for step in pointer.strip("/").split("/") if pointer.strip("/") else ():
        schema = schema[step.replace("~1", "/").replace("~0", "~")]
    return schema, file


def accepts(value: object, ref: str) -> bool:
    """Whether `value` surely satisfies `ref` (`run.schema.json#/$defs/gated`)."""
    schema, home = resolve(ref, ref.partition("#")[0])
    return _accepts(value, schema, home)


def _accepts(value: object, schema: dict, home: str) -> bool:  # type: ignore[type-arg]
    for keyword, rule in schema.items():
        if keyword in ANNOTATIONS:
            continue
        if keyword == "type":
            wanted = rule if isinstance(rule, list) else (rule,)
            if not any(_is(value, name) for name in wanted):
                return False
        elif keyword == "enum":
            # 1 == True in Python, not in JSON
            if not any(type(value) is type(entry) and value == entry for entry in rule):
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
            return False
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
    return isinstance(value, int | float) and not isinstance(value, bool)


def _object(
    value: dict,  # type: ignore[type-arg]
    keyword: str,
    rule: object,
    schema: dict,  # type: ignore[type-arg]
    home: str,
) -> bool:
    if keyword == "required":
        return all(key in value for key in rule)  # type: ignore[attr-defined]
    if keyword == "properties":
        return all(_accepts(value[k], part, home) for k, part in rule.items() if k in value)  # type: ignore[attr-defined]
    if keyword == "patternProperties":
        return all(
            _accepts(entry, part, home)
            for pattern, part in rule.items()  # type: ignore[attr-defined]
            for key, entry in value.items()
            if _search(pattern, key)
        )
    if keyword == "additionalProperties":
        known = schema.get("properties", ())
        foreign = schema.get("patternProperties", ())
        rest = [
            key
            for key in value
            if key not in known and not any(_search(pattern, key) for pattern in foreign)
        ]
        if isinstance(rule, bool):
            return rule or not rest
        return all(_accepts(value[key], rule, home) for key in rest)  # type: ignore[arg-type]
    return True


def _array(value: list, keyword: str, rule: object, home: str) -> bool:  # type: ignore[type-arg]
    if keyword == "items":
        return all(_accepts(entry, rule, home) for entry in value)  # type: ignore[arg-type]
    if keyword == "minItems":
        return len(value) >= rule  # type: ignore[operator]
    if keyword == "maxItems":
        return len(value) <= rule  # type: ignore[operator]
    return True


def _scalar(value: object, keyword: str, rule: object) -> bool:
    if isinstance(value, str):
        if keyword == "pattern":
            # Python's `$` also matches before a last newline; leave such a text to the authority
            return _search(rule, value) and "\n" not in value  # type: ignore[arg-type]
        if keyword == "minLength":
            return len(value) >= rule  # type: ignore[operator]
        if keyword == "maxLength":
            return len(value) <= rule  # type: ignore[operator]
    elif isinstance(value, int | float) and not isinstance(value, bool):
        if keyword == "minimum":
            return value >= rule  # type: ignore[operator]
        if keyword == "maximum":
            return value <= rule  # type: ignore[operator]
        if keyword == "exclusiveMinimum":
            return value > rule  # type: ignore[operator]
    return True


def _search(pattern: str, text: str) -> bool:
    compiled = _patterns.get(pattern)
    if compiled is None:
        compiled = _patterns[pattern] = re.compile(pattern)
    return compiled.search(text) is not None
