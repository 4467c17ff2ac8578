"""The quick checker: what it accepts, `jsonschema` accepts too."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from ch_contract import checker, documents

BASE = "https://clip-harness.invalid/schemas/"
FOLDER = Path(checker.FOLDER)
NAMES = sorted(str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*.schema.json"))
STAGES = ["parsed", "gated", "staged", "executed", "receipted"]
REFS = NAMES + [f"run.schema.json#/$defs/{stage}" for stage in STAGES]
REGISTRY = (
    Registry()
    .with_resources((BASE + n, DRAFT202012.create_resource(checker.load(n))) for n in NAMES)
    .crawl()
)
VALIDATORS = {
    ref: jsonschema.Draft202012Validator({"$ref": BASE + ref}, registry=REGISTRY) for ref in REFS
}
EXAMPLES = [
    (str(path.parents[1].relative_to(FOLDER / "examples")), json.loads(path.read_text()))
    for path in sorted((FOLDER / "examples").rglob("*.json"))
]

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([0, 1, -1, 10**400, -(10**400), 86400, 86401]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, 1.0, -0.0, 1e300]),
    st.text(max_size=6),
    st.sampled_from(
        ["", "a" * 64, "a" * 64 + "\n", "/", "/\n", "r-00000000", "r-00000000\n", "😀"]
    ),
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


def never_more_lenient(value, ref):
    if checker.accepts(value, ref):
        assert VALIDATORS[ref].is_valid(value), (ref, value)


def places(value, path=()):
    yield path
    for key, entry in value.items() if isinstance(value, dict) else ():
        yield from places(entry, (*path, key))
    for index, entry in enumerate(value) if isinstance(value, list) else ():
        yield from places(entry, (*path, index))


@pytest.mark.heavy
@settings(deadline=None, max_examples=1000)
@given(st.data())
def test_it_never_accepts_a_mutated_document_that_the_authority_refuses(data):
    name, value = data.draw(st.sampled_from(EXAMPLES))
    value = copy.deepcopy(value)
    keys = sorted({str(step) for path in places(value) for step in path}) or ["a"]
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(list(places(value))))
        act = data.draw(st.sampled_from(["replace", "remove", "add", "graft"]))
        holder, target = None, value
        for step in path:
            holder, target = target, target[step]
        if act == "add" and isinstance(target, dict):
            target[data.draw(st.sampled_from(keys) | st.text(max_size=4))] = data.draw(JSON)
        elif act == "add" and isinstance(target, list):
            target.append(data.draw(JSON))
        elif holder is None:
            continue
        elif act == "remove":
            del holder[path[-1]]
        elif act == "graft":
            other = data.draw(st.sampled_from(EXAMPLES))[1]
            holder[path[-1]] = copy.deepcopy(other)
        else:
            holder[path[-1]] = data.draw(JSON)
    for ref in REFS if name == "run" else [f"{name}.schema.json"]:
        never_more_lenient(value, ref)


@settings(deadline=None, max_examples=300)
@given(JSON, st.sampled_from(REFS))
def test_it_never_accepts_a_random_value_that_the_authority_refuses(value, ref):
    never_more_lenient(value, ref)


@pytest.mark.parametrize("ref", REFS)
def test_it_is_no_more_lenient_with_the_examples_of_all_schemas(ref):
    for _name, value in EXAMPLES:
        never_more_lenient(value, ref)


# Small schemas, one rule each: (schema, value, does the quick checker accept it?)
RULES = [
    ({"type": "integer"}, 1, True),
    ({"type": "integer"}, 1.0, False),
    ({"type": "integer"}, True, False),
    ({"type": "integer"}, 10**400, True),
    ({"type": "number"}, 1, True),
    ({"type": "number"}, 1.5, True),
    ({"type": "number"}, True, False),
    ({"type": "boolean"}, 1, False),
    ({"type": "boolean"}, False, True),
    ({"type": ["string", "null"]}, None, True),
    ({"type": "null"}, 0, False),
    ({"type": "object"}, [], False),
    ({"type": "array"}, {}, False),
    ({"type": "unheard-of"}, 1, False),
    ({"enum": [1]}, True, False),
    ({"enum": [0]}, False, False),
    ({"enum": [True]}, 1, False),
    ({"enum": [True]}, True, True),
    ({"enum": ["a", None]}, None, True),
    ({"enum": [1]}, 1.0, False),
    ({"enum": [[1]]}, [True], False),
    ({"enum": ["a"]}, "a\n", False),
    ({"minLength": 2}, "😀", False),
    ({"minLength": 2}, "😀😀", True),
    ({"maxLength": 1}, "😀", True),
    ({"maxLength": 1}, "e\u0301", False),
    ({"minLength": 2}, [], True),
    ({"pattern": "^a$"}, "a", True),
    ({"pattern": "^a$"}, "a\n", False),
    ({"pattern": "^a"}, "a\nb", True),
    ({"pattern": "b"}, "a\nb", True),
    ({"pattern": "^b"}, "a\nb", False),
    ({"pattern": "a\\$"}, "a$\n", True),
    ({"pattern": "^a$"}, 7, True),
    ({"minimum": 1}, 0, False),
    ({"minimum": 1}, 10**400, True),
    ({"maximum": 1}, 10**400, False),
    ({"minimum": 0}, -0.0, True),
    ({"minimum": 1}, False, True),
    ({"exclusiveMinimum": 0}, 0, False),
    ({"exclusiveMinimum": 0}, 0.001, True),
    ({"minItems": 1}, [], False),
    ({"maxItems": 1}, [1, 2], False),
    ({"maxItems": 1}, "text", True),
    ({"items": {"type": "string"}}, ["a", 1], False),
    ({"items": {"type": "string"}}, [], True),
    ({"required": ["a"]}, {"a": None}, True),
    ({"required": ["a"]}, {}, False),
    ({"required": ["a"]}, [], True),
    ({"properties": {"a": {"type": "null"}}}, {"b": 1}, True),
    ({"properties": {"a": {"type": "null"}}}, {"a": 1}, False),
    ({"properties": {"a": {}}, "additionalProperties": False}, {"b": 1}, False),
    ({"patternProperties": {"^x-": {}}, "additionalProperties": False}, {"x-b": 1}, True),
    ({"patternProperties": {"^x-": {}}, "additionalProperties": False}, {"ax-": 1}, False),
    ({"patternProperties": {"^x-": {"type": "null"}}}, {"x-b": 1}, False),
    ({"properties": {"a": {}}, "additionalProperties": {"type": "null"}}, {"a": 1, "b": 1}, False),
    ({"properties": {"a": {}}, "additionalProperties": {"type": "null"}}, {"a": 1, "b": None}, True),
    ({"oneOf": [{"type": "string"}, {"minLength": 1}]}, "a", False),
    ({"oneOf": [{"type": "string"}, {"type": "null"}]}, "a", True),
    ({"anyOf": [{"type": "string"}, {"minLength": 1}]}, "a", True),
    ({"allOf": [{"type": "string"}, {"minLength": 2}]}, "a", False),
    ({"if": {"type": "string"}, "then": {"minLength": 2}}, "a", False),
    ({"if": {"type": "string"}, "then": {"minLength": 2}}, 1, True),
    ({"if": {"type": "string"}, "else": {"minimum": 2}}, 1, False),
    ({"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"type": "string"}}}, "x", True),
    ({"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"type": "string"}}}, 1, False),
    # what it cannot read exactly it leaves to the authority, wherever it stands
    ({"const": 1}, 1, False),
    ({"anyOf": [{"const": 1}, {"type": "integer"}]}, 1, False),
    ({"if": {"const": 2}, "else": {"type": "integer"}}, 1, False),
    ({"oneOf": [{"enum": [1]}, {"type": "number"}]}, 1.0, False),
    ({"if": {"enum": [1]}, "then": {"type": "string"}}, 1.0, False),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "value", "accepted"), RULES, ids=lambda part: str(part)[:60])
def test_a_rule(schema, value, accepted, monkeypatch):
    monkeypatch.setitem(checker._loaded, "rule.json", schema)
    monkeypatch.setattr(checker, "_resolved", {})
    assert checker.accepts(value, "rule.json") is accepted
    if accepted:
        assert jsonschema.Draft202012Validator(schema).is_valid(value)


def test_a_keyword_that_it_does_not_know_is_never_accepted(monkeypatch):
    for keyword in ("multipleOf", "uniqueItems", "unevaluatedProperties", "not", "contains"):
        monkeypatch.setitem(checker._loaded, "rule.json", {keyword: 1})
        monkeypatch.setattr(checker, "_resolved", {})
        assert not checker.accepts({}, "rule.json")


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("captured", "bytes"), 1.0, "captured.bytes: 1.0 is not of type 'integer'"),
        (("run_id",), "r-0000000000000001\n", "run_id: 'r-0000000000000001\\n' does not match "),
    ],
)
def test_the_explanation_knows_our_stricter_rules(path, value, message, run_document):
    document = run_document()
    holder = document
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = value
    ref = "run.schema.json#/$defs/parsed"
    assert not checker.accepts(document, ref)
    assert documents.explain(document, ref).startswith(message)


def test_its_import_does_not_bring_jsonschema():
    import subprocess
    import sys

    code = (
        "import sys; from ch_contract import checker, documents; "
        "documents.check({}, 'hook-output.schema.json', 'x'); "
        "print('jsonschema' in sys.modules, 'typing' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, check=True)
    assert done.stdout.split()[0] == b"False"
