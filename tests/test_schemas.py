"""The schemas: valid, described, closed, with examples that two checkers agree on."""

from __future__ import annotations

import copy
import functools
import json
import re
import typing
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from ch_contract import checker, documents, messages
from mutations import guaranteed, mutations

SCHEMAS = Path(__file__).parents[1] / "schemas"
FILES = sorted(SCHEMAS.rglob("*.schema.json"))
NAMES = [str(path.relative_to(SCHEMAS)) for path in FILES]
EXAMPLES = SCHEMAS / "examples"
GOOD = sorted(EXAMPLES.rglob("good/*.json"))
BAD = sorted(EXAMPLES.rglob("bad/*.json"))
BASE = "https://clip-harness.invalid/schemas/"

# Objects that hold what others put there; each says so in its description or below.
OPEN = {
    ("settings.schema.json", ""): "unknown keys are named by doctor and otherwise ignored",
    ("settings.schema.json", "backends"): "one entry per backend, options are the backend's",
    ("settings.schema.json", "backends.*"): "one entry per backend, options are the backend's",
    ("settings.schema.json", "rails"): "one entry per rail",
    ("settings.schema.json", "rules"): "one entry per rule",
    ("hook-input.schema.json", "tool_input"): "its keys depend on the tool",
    ("hook-output.schema.json", "hookSpecificOutput.updatedInput"): "as the hook's input",
}


def ident(path):
    return str(path.relative_to(EXAMPLES).with_suffix(""))


def of_example(path):
    """The schema that an example is for; those of a run document name the stage first."""
    name = str(path.parents[1].relative_to(EXAMPLES))
    stage = path.stem.partition("-")[0]
    return f"{name}.schema.json" + (f"#/$defs/{stage}" if name == "run" else "")


REGISTRY = (
    Registry()
    .with_resources(
        (BASE + name, DRAFT202012.create_resource(checker.load(name))) for name in NAMES
    )
    .crawl()
)


def plain(ref):
    """A validator of `jsonschema` as it comes, without our stricter rules."""
    return jsonschema.Draft202012Validator({"$ref": BASE + ref}, registry=REGISTRY)


def subschemas(schema, path=()):
    """Every declared schema in `schema` with the path of its value; conditions are none."""
    yield path, schema
    for key, part in schema.get("properties", {}).items():
        yield from subschemas(part, (*path, key))
    for part in schema.get("patternProperties", {}).values():
        yield from subschemas(part, (*path, "*"))
    if isinstance(schema.get("additionalProperties"), dict):
        yield from subschemas(schema["additionalProperties"], (*path, "*"))
    if "items" in schema:
        yield from subschemas(schema["items"], (*path, "0"))
    for keyword in ("oneOf", "anyOf"):
        for part in schema.get(keyword, ()):
            if "required" not in part or "properties" in part:
                yield from subschemas(part, path)


def test_the_schemas_are_found():
    assert "run.schema.json" in NAMES
    assert "store/session.schema.json" in NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_valid_2020_12(name):
    schema = json.loads((SCHEMAS / name).read_text())
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("name", NAMES)
def test_the_id_is_the_file_name(name):
    assert checker.load(name)["$id"] == BASE + name


@pytest.mark.parametrize("name", NAMES)
def test_every_property_has_a_title_and_a_description(name):
    silent = [
        f"{'.'.join(path)}: {key}"
        for path, schema in subschemas(checker.load(name))
        for key in ("title", "description")
        if not schema.get(key, "").strip()
    ]
    silent += [
        f"$defs.{stage}: {key}"
        for stage, schema in checker.load(name).get("$defs", {}).items()
        for key in ("title", "description")
        if not schema.get(key, "").strip()
    ]
    assert silent == []


@pytest.mark.parametrize("name", NAMES)
def test_every_object_is_closed_unless_it_is_listed(name):
    is_open = [
        ".".join(path)
        for path, schema in subschemas(checker.load(name))
        if "object" in schema.get("type", ()) and schema.get("additionalProperties") is not False
    ]
    assert is_open == [path for file, path in OPEN if file == name]


@pytest.mark.parametrize("name", NAMES)
def test_every_keyword_is_one_the_quick_checker_reads(name):
    unknown = []

    def walk(schema):
        unknown.extend(set(schema) - checker.KEYWORDS - checker.ANNOTATIONS)
        for keyword in ("properties", "patternProperties", "$defs"):
            for part in schema.get(keyword, {}).values():
                walk(part)
        for keyword in ("allOf", "anyOf", "oneOf"):
            for part in schema.get(keyword, ()):
                walk(part)
        for keyword in ("items", "additionalProperties", "if", "then", "else"):
            part = schema.get(keyword)
            if isinstance(part, dict):
                walk(part)

    walk(checker.load(name))
    assert unknown == []


@pytest.mark.parametrize("name", NAMES)
def test_patterns_mean_the_same_in_python_and_in_ecma_262(name):
    """No class whose extent differs (`\\d` `\\w` `\\s` `.`); an end anchor only at the end."""
    patterns = re.findall(r'"pattern": ("(?:[^"\\]|\\.)*")', (SCHEMAS / name).read_text())
    for pattern in map(json.loads, patterns):
        assert re.search(r"\\[dDwWsSbBzZA]|(?<!\\)\.(?![^\[]*\])|\$.", pattern) is None, pattern


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_has_good_and_bad_examples(name):
    folder = EXAMPLES / name.removesuffix(".schema.json")
    assert list((folder / "good").glob("*.json"))
    assert list((folder / "bad").glob("*.json"))


def test_every_example_belongs_to_a_schema():
    assert {of_example(path).partition("#")[0] for path in GOOD + BAD} <= set(NAMES)


@pytest.mark.parametrize("path", GOOD, ids=ident)
def test_a_good_example_passes_every_checker(path):
    value = documents.parse_json(path.read_bytes(), path.name)
    ref = of_example(path)
    assert checker.accepts(value, ref)
    assert documents.explain(value, ref) is None
    assert plain(ref).is_valid(value)
    assert documents.parse_json(documents.encode(value), "again") == value


@pytest.mark.parametrize("path", BAD, ids=ident)
def test_a_bad_example_is_refused_and_its_place_named(path):
    value = documents.parse_json(path.read_bytes(), path.name)
    ref = of_example(path)
    assert not checker.accepts(value, ref)
    assert not plain(ref).is_valid(value)
    where = path.with_suffix(".txt").read_text().strip()
    assert documents.explain(value, ref).startswith(f"{where}: ")


STAGES = [path for path in GOOD if path.parents[1].name == "run"]


def refused_by_both(found, ref):
    authority = plain(ref)
    assert [m.name for m in found if checker.accepts(m.document, ref)] == []
    # 7.0 is an integer to the standard; the stricter reader is asked for a sample
    assert [m.name for m in found if authority.is_valid(m.document)] == []
    assert [m.name for m in found[::40] if documents.explain(m.document, ref) is None] == []


@pytest.mark.heavy
@pytest.mark.parametrize("path", STAGES, ids=ident)
def test_no_mutation_of_a_stage_document_passes(path):
    """One field removed, added or retyped at any depth: both checkers refuse, the text says where."""
    document = json.loads(path.read_text())
    ref = of_example(path)
    stage = path.stem.partition("-")[0]
    found = list(mutations(document, ref, guaranteed(document, stage)))
    assert len(found) > 100
    refused_by_both(found, ref)


@pytest.mark.heavy
@pytest.mark.parametrize("path", [path for path in GOOD if path not in STAGES], ids=ident)
def test_no_mutation_of_another_document_passes(path):
    value = json.loads(path.read_text())
    ref = of_example(path)
    refused_by_both(list(mutations(value, ref)), ref)


@settings(deadline=None, max_examples=200)
@given(st.data())
def test_a_second_mutation_does_not_heal_the_first(data):
    path = data.draw(st.sampled_from(STAGES))
    ref = of_example(path)
    found = cached_mutations(path)
    first, second = (found[data.draw(st.integers(0, len(found) - 1))] for _ in range(2))
    shared = min(len(first.path), len(second.path))
    if first.path[:shared] == second.path[:shared]:
        return  # one lies within the other
    assert not checker.accepts(_apply(second, copy.deepcopy(first.document)), ref)


@functools.cache
def cached_mutations(path):
    return list(mutations(json.loads(path.read_text()), of_example(path)))


def _apply(mutation, document):
    """`mutation` done to another document that has its place."""
    holder, source = document, mutation.document
    for step in mutation.path[:-1]:
        holder, source = holder[step], source[step]
    last = mutation.path[-1]
    if mutation.act == "removed":
        del holder[last]
    else:
        holder[last] = source[last]
    return document


# ---- messages.py


def classes():
    return {
        name: item
        for name, item in vars(messages).items()
        if typing.is_typeddict(item) and item.__module__ == messages.__name__
    }


# The class of each schema file's own object; nested ones are found through the properties.
TOP = {
    "payload.schema.json": "Payload",
    "verdict.schema.json": "Verdict",
    "candidate.schema.json": "Candidate",
    "decision.schema.json": "Decision",
    "applied.schema.json": "Applied",
    "result.schema.json": "Result",
    "standing.schema.json": "Standing",
    "notices.schema.json": "Notices",
    "problem.schema.json": "ProblemSection",
    "receipt.schema.json": "Receipt",
    "run.schema.json": "Run",
    "store/run-record.schema.json": "RunRecord",
    "store/open-run.schema.json": "OpenRun",
    "store/session.schema.json": "Session",
    "store/ledger-line.schema.json": "LedgerLine",
    "store/ledger-head.schema.json": "LedgerHead",
    "store/trust.schema.json": "Trust",
    "store/candidate-manifest.schema.json": "CandidateManifest",
    "store/decision-record.schema.json": "DecisionRecord",
    "store/apply-record.schema.json": "ApplyRecord",
    "store/grants.schema.json": "Grants",
    "store/allowed.schema.json": "Allowed",
}
# Settings and hook documents are read by key, as dictionaries: they are not ours to shape.
UNTYPED = {"settings.schema.json", "hook-input.schema.json", "hook-output.schema.json"}


def closed_objects(name):
    """Every closed object of a schema file as (path, properties, required), files apart."""
    return [
        (path, frozenset(schema["properties"]), frozenset(schema.get("required", ())))
        for path, schema in subschemas(checker.load(name))
        if schema.get("additionalProperties") is False
    ]


def shape(item):
    return frozenset(item.__annotations__), frozenset(required(item))


def required(item):
    hints = typing.get_type_hints(item, include_extras=True)
    return {key for key, hint in hints.items() if typing.get_origin(hint) is not typing.NotRequired}


def test_every_schema_has_its_class():
    assert set(TOP) | UNTYPED == set(NAMES)


@pytest.mark.parametrize("name", sorted(TOP))
def test_every_object_of_a_schema_is_a_class_with_the_same_keys(name):
    shapes = {shape(item) for item in classes().values()}
    assert [
        path for path, keys, needed in closed_objects(name) if (keys, needed) not in shapes
    ] == []
    own = checker.load(name)
    assert shape(classes()[TOP[name]]) == (frozenset(own["properties"]), frozenset(own["required"]))


def test_every_class_is_an_object_of_a_schema():
    shapes = {(keys, needed) for name in TOP for _path, keys, needed in closed_objects(name)}
    assert [name for name, item in classes().items() if shape(item) not in shapes] == []


def test_the_readme_lists_every_message():
    """schemas/README.md: message, producer, consumers, version, file."""
    rows = re.findall(
        r"^\|([^|]+)\|([^|]+)\|([^|]+)\|([^|]+)\|\s*\[`([^`]+)`\]\(([^)]+)\)\s*\|$",
        (SCHEMAS / "README.md").read_text(),
        re.MULTILINE,
    )
    assert sorted(row[4] for row in rows) == sorted(NAMES)
    assert all(row[4] == row[5] for row in rows)
    for _message, _producer, _consumers, version, file, _link in rows:
        form = checker.load(file)["properties"].get("format", {}).get("enum")
        assert version.strip().strip("`") == (form[0] if form else "—"), file


def test_the_kinds_of_problem_are_those_of_the_code():
    from ch_contract import problems

    kinds = checker.load("problem.schema.json")["properties"]["kind"]["enum"]
    assert list(problems.CODES) == kinds


def test_the_settings_keys_are_those_of_the_code():
    from ch_contract import settings as module

    schema = checker.load("settings.schema.json")["properties"]
    assert set(schema) == module.KEYS
    assert {key: part["default"] for key, part in schema.items() if "default" in part}.items() <= (
        module.DEFAULTS.items()
    )
    assert checker.accepts(module.DEFAULTS, "settings.schema.json")


def test_the_reasons_a_key_has_no_effect_are_those_of_the_code():
    from ch_contract import settings as module

    left_out = checker.load("verdict.schema.json")["properties"]["settings"]["properties"][
        "left_out"
    ]
    keys = left_out["items"]["properties"]["ignored"]["items"]
    assert keys["properties"]["why"]["enum"] == list(module.WHY)
