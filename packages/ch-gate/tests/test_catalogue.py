"""The catalogue: its form, its index, and every entry's own examples."""

import json
from pathlib import Path

import pytest

from ch_gate import catalogue, effects, mutations, shfmt, syntax
from ch_gate.catalogue import CLASSES, entry

# the tables are long, and the same under every interpreter
pytestmark = pytest.mark.heavy

FOLDER = Path(catalogue.FOLDER)
FAMILIES = sorted(path.stem for path in FOLDER.glob("*.json") if path.stem != "index")
PROGRAMS = [
    (family, row)
    for family in FAMILIES
    for row in json.loads((FOLDER / f"{family}.json").read_text(encoding="utf-8"))["programs"]
]
IDS = [row["names"][0] for _family, row in PROGRAMS]
KEYS = {
    "names", "class", "change", "subcommands", "options", "valued", "long", "tasks", "traits",
    "starts", "runs", "before", "examples",
}  # fmt: skip
CHANGE = {
    "class", "kind", "targets", "when", "unless", "values", "acts", "valued", "attached", "long",
}  # fmt: skip
STARTS = {
    "valued", "attached", "long", "operands", "assignments", "lookup", "script", "joined",
    "appended", "transparent",
}  # fmt: skip
TRAITS = {"reads", "talks", "names", "searches", "fetches", "filters", "idles", "cloud", "sql"}


def read(text):
    clock = shfmt.Clock(10)
    reading = syntax.read(text, "bash", lambda part, tongue: shfmt.parse(part, tongue, clock))
    assert reading.cause is None, reading.cause
    return reading


CHANGING = {"change", "subcommands", "options", "tasks"}


def changes(text):
    """Whether something in the text changes something, or nobody can tell."""
    return any(item.what != mutations.SECRET for item in mutations.effects_of(read(text)))


def starts(text):
    """Whether something in the text starts something else."""
    return any(command.outer is not None for command in read(text).commands)


@pytest.mark.parametrize(("family", "row"), PROGRAMS, ids=IDS)
def test_an_entry_is_well_formed(family, row):
    """Known keys, known classes, options that take values where a rule needs their value."""
    assert set(row) <= KEYS
    assert row["names"] == list(dict.fromkeys(row["names"]))
    assert set(row.get("traits", ())) <= TRAITS
    classes = [row.get("class", "read"), *row.get("subcommands", ()), *row.get("options", ())]
    change = row.get("change")
    if change is not None:
        assert set(change) <= CHANGE
        classes.append(change["class"])
        assert change["kind"] in (effects.WRITE, effects.EDIT, effects.DELETE, effects.CREATE)
        assert change["targets"] in ("all", "last", "move", "rest", "first", "none")
        for option in change.get("values", ()):
            short = change.get("valued", "") + change.get("attached", "")
            assert option.lstrip("-") in (short if len(option) == 2 else change["long"])
    assert set(classes) <= set(CLASSES)
    for own in [row.get("starts", {}), *row.get("runs", {}).values()]:
        assert set(own) <= STARTS
    assert catalogue.families()[row["names"][0]] == family


@pytest.mark.parametrize("row", [row for _family, row in PROGRAMS], ids=IDS)
def test_the_examples_of_an_entry(row):
    """What must match does, what must not does not; every entry has one of the latter."""
    examples = row["examples"]
    changing = CHANGING.intersection(row) or {"cloud", "sql"}.intersection(row.get("traits", ()))
    assert examples.get("must_match") or not (changing or {"starts", "runs"}.intersection(row))
    assert examples["must_not_match"]
    for text in examples.get("must_match", ()):
        assert changes(text) or starts(text), text
    for text in examples["must_not_match"]:
        assert not changes(text), text
        assert changing or not starts(text), text


@pytest.mark.parametrize("row", [row for _family, row in PROGRAMS], ids=IDS)
def test_every_row_of_subcommands_is_met(row):
    """A row by itself has the effect its class says."""
    for grade, rows in row.get("subcommands", {}).items():
        for steps in rows:
            text = f"{row['names'][0]} {steps.replace('*', 'x')} y"
            reading = read(text)
            found = [
                effect.grade
                for effect in mutations.effects_of(reading)
                if effect.command is reading.commands[0]
            ]
            assert found, text
            assert max(found, key=CLASSES.index) in (grade, "opaque", "destructive"), text


def test_the_index_is_that_of_the_families():
    """Derived: `python tests/support/regen_docs.py` writes it."""
    names = {}
    for family, row in PROGRAMS:
        for name in row["names"]:
            assert name not in names, f"{name} stands in {names.get(name)} and in {family}"
            names[name] = family
    assert catalogue.families() == names


def test_a_name_that_stands_nowhere_reads():
    """An unknown program is no mutation by itself; `mkfs.x` is mkfs."""
    assert (entry("frobnicate").grade, entry("frobnicate").rule) == ("read", None)
    assert entry("mkfs.btrfs") is entry("mkfs")


@pytest.mark.parametrize(
    ("text", "grades"),
    [
        ("ls; frobnicate", ["read", "read"]),
        ("mkdir a && touch b", ["write-preserving", "write-preserving"]),
        ("echo x > a", ["write"]),
        ("chmod +x a", ["write"]),
        ("sudo ls", ["privilege", "read"]),
        ("curl -s https://x.example | jq .", ["network", "read"]),
        ("git fetch && git status", ["network", "read"]),
        ("rm a; git reset --hard", ["destructive", "destructive"]),
        ("docker volume rm x", ["destructive"]),
        ("kubectl apply -f x", ["write"]),
        ("terraform destroy", ["destructive"]),
        ('eval "$x"', ["opaque"]),
        ("npm publish", ["network"]),
    ],
)
def test_classes(text, grades):
    """The worst class a command has."""
    reading = read(text)
    found = mutations.graded(reading, mutations.effects_of(reading))
    assert [grade for _command, grade in found] == grades
