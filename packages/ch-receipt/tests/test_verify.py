"""Verifying: the first line that was edited, removed or moved is named."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ch_receipt import ledger, verify
from ch_receipt.receipt import entry
from receipts import AT, chain, head_of

QUIET = settings(
    deadline=None,
    max_examples=120,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
COUNTS = st.integers(2, 12)


def first(state):
    report = verify.verify(str(state))
    assert report["whole"] == (report["findings"] == [])
    return report["findings"][0]


@QUIET
@given(COUNTS)
def test_a_ledger_that_nobody_touched_is_whole(lay, count):
    state = lay(chain(count))
    assert verify.verify(str(state)) == {
        "whole": True,
        "lines": count,
        "findings": [],
        "notes": [],
    }


@QUIET
@given(COUNTS, st.data())
def test_the_edited_line_is_named(lay, count, data):
    """Whichever byte of whichever line is replaced by whatever."""
    lines = chain(count)
    index = data.draw(st.integers(0, count - 1))
    at = data.draw(st.integers(0, len(lines[index]) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda value: value != 10))
    edited = lines[index][:at] + bytes([byte]) + lines[index][at + 1 :]
    assume(edited != lines[index])
    found = first(lay([*lines[:index], edited, *lines[index + 1 :]], head_of(lines)))
    assert (found["kind"] in ("edited", "removed", "added"), found["line"]) == (True, index + 1)


@QUIET
@given(COUNTS, st.data())
def test_a_line_whose_fields_were_edited_is_named(lay, count, data):
    lines = chain(count)
    index = data.draw(st.integers(0, count - 1))
    field = data.draw(st.sampled_from(["at", "run_id", "cwd", "note", "prev"]))
    line = json.loads(lines[index])
    line[field] = "0" * 63 + "1"
    edited = json.dumps(line).encode()
    found = first(lay([*lines[:index], edited, *lines[index + 1 :]], head_of(lines)))
    assert (found["kind"], found["line"]) == ("edited", index + 1)
    assert found["message"].startswith(f"line {index + 1} was edited")


@QUIET
@given(COUNTS, st.data())
def test_the_removed_line_is_named(lay, count, data):
    lines = chain(count)
    index = data.draw(st.integers(0, count - 2))
    rest = [*lines[:index], *lines[index + 1 :]]
    found = first(lay(rest, head_of(lines)))
    assert found == {
        "kind": "removed",
        "line": index + 1,
        "message": f"line {index + 1} was removed: line {index + 2} stands in its place",
    }


@QUIET
@given(st.integers(3, 12), st.data())
def test_the_first_of_two_swapped_lines_is_named(lay, count, data):
    lines = chain(count)
    one = data.draw(st.integers(0, count - 2))
    two = data.draw(st.integers(one + 1, count - 1))
    swapped = list(lines)
    swapped[one], swapped[two] = swapped[two], swapped[one]
    found = first(lay(swapped, head_of(lines)))
    assert (found["kind"], found["line"]) == ("reordered", one + 1)


@QUIET
@given(st.integers(3, 12), st.data())
def test_a_line_that_stands_twice_is_named(lay, count, data):
    lines = chain(count)
    index = data.draw(st.integers(0, count - 1))
    found = first(lay([*lines[: index + 1], *lines[index:]], head_of(lines)))
    assert (found["kind"], found["line"]) == ("added", index + 1)


@QUIET
@given(COUNTS, st.data())
def test_a_cut_tail_is_named(lay, count, data):
    lines = chain(count)
    kept = data.draw(st.integers(0, count - 1))
    found = first(lay(lines[:kept], head_of(lines)))
    assert found == {
        "kind": "cut-tail",
        "line": kept + 1,
        "message": f"the end was cut off: the head names line {count}",
    }


@QUIET
@given(COUNTS, st.data())
def test_a_tail_cut_amid_a_line_is_no_crash(lay, count, data):
    lines = chain(count)
    kept = data.draw(st.integers(0, count - 1))
    rest = lines[kept][: data.draw(st.integers(1, len(lines[kept])))]
    found = first(lay(lines[:kept], head_of(lines), rest))
    assert (found["kind"], found["line"]) == ("cut-tail", kept + 1)


def test_a_head_that_is_gone_is_named(lay):
    found = first(lay(chain(9), None))
    assert found == {
        "kind": "lost-head",
        "line": 9,
        "message": "ledger.head is missing or cannot be read",
    }


def test_lines_that_the_head_does_not_know_are_named(lay):
    lines = chain(9)
    found = first(lay(lines, head_of(lines[:4])))
    assert (found["kind"], found["line"]) == ("unknown-lines", 5)


@pytest.mark.parametrize("difference", [1, -1, 4096])
@pytest.mark.parametrize("known", [9, 8], ids=["whole", "crash"])
def test_a_head_whose_size_does_not_fit_is_named(lay, state, difference, known):
    """The next append would say so too."""
    lines = chain(9)
    head = head_of(lines[:known])
    size = head["size"]
    lay(lines, {**head, "size": size + difference})
    assert first(state) == {
        "kind": "head-size",
        "line": known,
        "message": f"the head's size does not fit: {size + difference} bytes,"
        f" the line ends at {size}",
    }
    ledger.append(str(state), entry("PreRun", AT))
    assert first(state)["kind"] == "broken"
    if known == 9:
        told = "line 10 records that the head had the size of another ledger"
        assert first(state)["message"] == told


@pytest.mark.parametrize(
    ("kept", "told"),
    [
        (3, "line 4 records that the lines after 3, up to 9, are gone"),
        (8, "line 9 records that the lines after 8, up to 9, are gone"),
    ],
)
def test_a_cut_tail_that_an_append_found_is_told(lay, state, kept, told):
    lines = chain(9)
    lay(lines[:kept], head_of(lines))
    ledger.append(str(state), entry("PreRun", AT))
    assert first(state)["message"] == told


def test_a_crash_between_line_and_head_is_a_note(lay):
    lines = chain(9)
    report = verify.verify(str(lay(lines, head_of(lines[:8]))))
    assert report == {
        "whole": True,
        "lines": 9,
        "findings": [],
        "notes": [
            "the head does not know line 9 yet: a crash came in between, the next append mends it"
        ],
    }


def test_a_state_folder_without_a_ledger_is_whole(state):
    assert verify.verify(str(state)) == {"whole": True, "lines": 0, "findings": [], "notes": []}


OLD = b'{"event":"PostRun"}\n'


@pytest.mark.parametrize(
    ("after", "whole", "told"),
    [
        (OLD, True, None),
        (OLD + b'{"event":"PreRun"}\n', True, "receipts.jsonl has grown since line 1 pinned it"),
        (OLD.replace(b"Post", b"Past"), False, "receipts.jsonl is not the file that line 1 pins"),
        (b"", False, "receipts.jsonl is not the file that line 1 pins"),
        (None, False, "receipts.jsonl, which line 1 pins, is gone"),
    ],
)
def test_the_earlier_ledger_is_checked_against_its_pin(state, after, whole, told):
    state.mkdir(parents=True)
    old = state / "receipts.jsonl"
    old.write_bytes(OLD)
    ledger.append(str(state), entry("PreRun", AT))
    if after is None:
        old.unlink()
    else:
        old.write_bytes(after)
    report = verify.verify(str(state))
    messages = [finding["message"] for finding in report["findings"]] + report["notes"]
    assert (report["whole"], messages) == (whole, [told] if told else [])


def test_an_earlier_ledger_that_appears_later_is_named(state):
    ledger.append(str(state), entry("PreRun", AT))
    (state / "receipts.jsonl").write_bytes(OLD)
    assert first(state)["message"] == "receipts.jsonl appeared after this ledger began"
