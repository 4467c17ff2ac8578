"""The result block: a table of files, its order, and what holds for every text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ch_contract import documents
from ch_receipt import block
from ch_receipt.block import footer
from hermetic import make_run
from receipts import part, result, verdict

CASES = sorted((Path(__file__).parent / "cases" / "blocks").glob("*.json"))
TEXT = st.text(alphabet=st.characters(exclude_categories=("Cc", "Cs")), max_size=40)
OUTPUT = st.one_of(TEXT, st.text(alphabet="`~\n a$>[]", max_size=60))


def laid_over(document, changes):
    for key, value in changes.items():
        if isinstance(value, dict) and isinstance(document.get(key), dict):
            laid_over(document[key], value)
        else:
            document[key] = value
    return document


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_document_is_told_as_its_file_says(path):
    """A case names the sections; `allow`, `ask`, `deny` and `ran` stand for whole ones."""
    case = json.loads(path.read_text())
    document = make_run("echo hello", cwd="/w", project="/w")
    if "ran" in case:
        document["result"] = result(**case["ran"])
    if "verdict" in case:
        parts = [part(**fields) for fields in case["verdict"].get("parts", ())]
        left_out = case["verdict"].get("left_out", ())
        document["verdict"] = verdict(case["verdict"]["decision"], *parts, left_out=left_out)
    laid_over(document, case.get("document", {}))
    documents.check(document, "run.schema.json#/$defs/parsed", path.name)
    text = block(
        document,
        case.get("output", ""),
        diffs=case.get("diffs"),
        no_receipt=case.get("no_receipt"),
    )
    assert text == path.with_suffix(".txt").read_text()


def test_the_table_is_found():
    assert len(CASES) > 20


def opened(text):
    """The lines within the block, read as CommonMark reads a fence; None when it falls apart."""
    first, *rest = text.removesuffix("\n").split("\n")
    fence = first.removesuffix("result")
    assert set(fence) == {"`"}
    for number, row in enumerate(rest):
        bare = row.strip(" ")
        if set(bare) == {"`"} and len(bare) >= len(fence):
            return rest[:number] if number == len(rest) - 1 else None
    return None


@settings(deadline=None, max_examples=300)
@given(OUTPUT, st.one_of(TEXT, st.text(alphabet="`\n a", max_size=40)).filter(str.strip))
def test_no_output_and_no_command_closes_the_block(output, command):
    document = make_run(command)
    document["result"] = result()
    text = block(document, output)
    rows = opened(text)
    assert rows is not None
    assert rows[0].startswith("$ ")
    assert rows[-1] == "[exit 0 · 3.2s]"
    assert (output.removesuffix("\n") + "\n") in "\n".join([*rows, ""]) or not output


@settings(deadline=None, max_examples=100)
@given(st.text(alphabet="a\n", max_size=12))
def test_no_line_of_output_is_invented_or_lost(output):
    document = make_run("true")
    document["result"] = result()
    rows = opened(block(document, output))
    assert rows is not None
    shown = "".join(f"{row}\n" for row in rows[1:-1])
    assert shown == (output if output.endswith("\n") or not output else output + "\n")


def test_everything_stands_in_its_order():
    """Command, output, status, remarks, capabilities, context, pending, update, footer."""
    document = make_run("make")
    document["result"] = result()
    ignored = [{"key": "hooks", "why": "not-in-this-version"}]
    document["verdict"] = verdict(left_out=[{"path": "/w/s.json", "ignored": ignored}])
    document["payload"]["metadata"]["session"] = "demo"
    document["payload"]["repairs"] = ["bom"]
    document["notices"] = {
        "manifest": "shell.run\nfile.write",
        "context": "from a hook",
        "pending": "one candidate waits",
        "update": "0.5.0 is out",
        "host": "not for the block",
    }
    goal = {"goal_uid": "3f9a1c2e-0000", "text": "Ship it", "status": "active", "revision": 2}
    tasks = [
        {"title": "wire tokens", "status": "doing"},
        {"title": "plan", "status": "done"},
        {"title": "update tests", "status": "open"},
    ]
    document["standing"] = {"goal": goal, "tasks": tasks}
    assert block(document, "built\n") == (
        "```result\n"
        "$ make\n"
        "built\n"
        "[exit 0 · 3.2s]\n"
        "repaired: bom\n"
        "settings without effect in /w/s.json: hooks (not in this version)\n"
        "— capabilities:\n"
        "  shell.run\n"
        "  file.write\n"
        "from a hook\n"
        "one candidate waits\n"
        "[update] 0.5.0 is out\n"
        "[goal] Ship it [active] (3f9a1c2e)\n"
        "[open tasks] [doing] wire tokens · [open] update tests\n"
        "```\n"
    )
    document["payload"]["metadata"]["session"] = None
    unbound = block(document, "built\n")
    assert "capabilities" not in unbound
    assert unbound.endswith("[update] 0.5.0 is out\n```\n")


@pytest.mark.parametrize(
    ("standing", "rows"),
    [
        (
            {"goal": None, "tasks": []},
            [
                "[goal] none set — set one with a payload that has action: goal-set",
                "[open tasks] none",
            ],
        ),
        (
            {
                "goal": {
                    "goal_uid": "11111111-2222-4333-8444-555555555555",
                    "text": "two\nlines\u202e",
                    "status": "paused",
                    "revision": 1,
                },
                "tasks": [{"title": "old", "status": "done"}],
            },
            ["[goal] two lines\\u202e [paused] (11111111)", "[open tasks] none"],
        ),
    ],
)
def test_the_footer_always_has_two_lines(standing, rows):
    assert footer(standing) == rows
