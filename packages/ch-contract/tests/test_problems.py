"""Problems: kinds, sentences, and the exit code a document answers with."""

from __future__ import annotations

import errno
import os

import pytest

from ch_contract import documents, problems
from ch_contract.problems import Problem, answer, refusal, sentence

CODES = {
    "usage": 64,
    "document": 65,
    "malformed": 65,
    "ignored": 65,
    "settings": 65,
    "refused": 1,
    "unsupported": 1,
    "system": 74,
    "busy": 75,
    "bug": 70,
    "interrupted": 130,
}


def test_the_exit_codes_are_those_of_the_manual():
    assert problems.CODES == CODES


@pytest.mark.parametrize(("kind", "code"), CODES.items())
def test_a_problem_has_the_code_of_its_kind(kind, code):
    assert Problem(kind, "x").code == code


def test_an_unknown_kind_is_a_mistake_in_the_code():
    with pytest.raises(ValueError, match="unknown kind of problem: fatal"):
        Problem("fatal", "x")


def test_a_section_is_a_valid_problem_section():
    section = Problem("malformed", "timeout: soon", "give seconds", 3).section("ch-parse")
    assert section == {
        "tool": "ch-parse",
        "kind": "malformed",
        "message": "timeout: soon",
        "hint": "give seconds",
        "line": 3,
    }
    documents.check(section, "problem.schema.json", "a section")


def test_a_section_can_be_written_though_a_name_in_it_is_not_unicode():
    section = Problem("system", "cannot read a\udcffb", "see \udc80").section("ch-exec")
    assert (section["message"], section["hint"]) == ("cannot read a\\udcffb", "see \\udc80")
    documents.encode(section)


@pytest.mark.parametrize(
    ("message", "hint", "line", "expected"),
    [
        ("no", None, None, "no"),
        ("no", "do it", None, "no — do it"),
        ("no", None, 3, "no (line 3)"),
        ("no", "do it", 3, "no (line 3) — do it"),
        ("two\n  lines", None, None, "two lines"),
        ("esc \x1b]0;title\x07 end", None, None, "esc \\x1b]0;title\\x07 end"),
        ("bidi \u202e end", None, None, "bidi \\u202e end"),
        ("byte \udcff end", None, None, "byte \\udcff end"),
        ("é — 日本", None, None, "é — 日本"),
    ],
)
def test_a_sentence_is_one_line_that_does_nothing_to_a_terminal(message, hint, line, expected):
    assert sentence(Problem("system", message, hint, line).section("t")) in (
        expected,
        expected.replace("\udcff", "\\udcff"),
    )


@pytest.mark.parametrize(
    ("number", "hint"),
    [
        (errno.ENOSPC, "free some space on that disk, then try again"),
        (errno.EACCES, "check who owns it and its mode"),
        (errno.ELOOP, "a symbolic link stands there; put the file itself in its place"),
        (errno.EIO, None),
    ],
)
def test_a_refusal_names_the_act_the_path_and_the_reason(number, hint):
    problem = refusal(OSError(number, os.strerror(number)), "write", "/a/b")
    assert (problem.kind, problem.message, problem.hint) == (
        "system",
        f"cannot write /a/b: {os.strerror(number)}",
        hint,
    )


def problem(kind):
    return {"tool": "t", "kind": kind, "message": "m", "hint": None, "line": None}


def result(exit_code):
    return {"exit_code": exit_code}


ALLOW, ASK, DENY = ({"decision": word} for word in ("allow", "ask", "deny"))
ACCEPT, REJECT, CANCELLED = ([{"decision": w}] for w in ("accept", "reject", "cancelled"))
APPLIED = {"entries": [{"outcome": "NEW"}], "rolled_back": False}
FAILED = {"entries": [{"outcome": "NEW"}, {"outcome": "FAILED"}], "rolled_back": False}
ROLLED_BACK = {"entries": [], "rolled_back": True}

ANSWERS = {
    "parsed": ({}, 0),
    "allowed": ({"verdict": ALLOW}, 0),
    "denied": ({"verdict": DENY}, 1),
    "held": ({"verdict": ASK}, 3),
    "held, staged": ({"verdict": ASK, "candidates": [{"status": "pending"}], "decisions": []}, 3),
    "accepted": ({"verdict": ASK, "decisions": ACCEPT}, 0),
    "rejected": ({"verdict": ASK, "decisions": REJECT}, 1),
    "cancelled": ({"verdict": ASK, "decisions": CANCELLED}, 1),
    "one of two rejected": ({"verdict": ASK, "decisions": ACCEPT + REJECT}, 1),
    "succeeded": ({"verdict": ALLOW, "result": result(0)}, 0),
    "failed": ({"verdict": ALLOW, "result": result(3)}, 1),
    "ended by a signal": ({"verdict": ALLOW, "result": result(None)}, 1),
    "accepted and succeeded": ({"verdict": ASK, "decisions": ACCEPT, "result": result(0)}, 0),
    "accepted and failed": ({"verdict": ASK, "decisions": ACCEPT, "result": result(1)}, 1),
    "applied": ({"verdict": ASK, "decisions": ACCEPT, "applied": APPLIED}, 0),
    "a file failed": ({"verdict": ASK, "decisions": ACCEPT, "applied": FAILED}, 1),
    "rolled back": ({"verdict": ASK, "decisions": ACCEPT, "applied": ROLLED_BACK}, 1),
    "rolled back, ran": (
        {"verdict": ASK, "decisions": ACCEPT, "applied": ROLLED_BACK, "result": result(0)},
        1,
    ),
    "applied, command failed": (
        {"verdict": ASK, "decisions": ACCEPT, "applied": APPLIED, "result": result(1)},
        1,
    ),
    "problem wins over deny": ({"verdict": DENY, "problem": problem("busy")}, 75),
    "problem wins over success": ({"result": result(0), "problem": problem("system")}, 74),
    **{f"problem {kind}": ({"problem": problem(kind)}, code) for kind, code in CODES.items()},
}


@pytest.mark.parametrize(("sections", "code"), ANSWERS.values(), ids=ANSWERS)
def test_the_answer_of_a_document(sections, code):
    assert answer({"payload": {"kind": "command"}, **sections}) == code


@pytest.mark.parametrize(
    ("kind", "code"), [("ignored", 65), ("control", 0), ("goal", 0), ("changes", 0)]
)
def test_the_answer_of_a_kind(kind, code):
    assert answer({"payload": {"kind": kind}}) == code
