"""Documents: what a strict reader refuses, and that writing and reading are inverse."""

from __future__ import annotations

import contextlib
import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ch_contract import documents
from ch_contract.problems import Problem

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | TEXT
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXT, inner, max_size=5),
    max_leaves=30,
)

REFUSED = {
    "empty": (b"", "it is empty"),
    "blank": (b" \n\t ", "it is empty"),
    "no json": (b"hello", "it is not JSON: Expecting value: line 1 column 1 (char 0)"),
    "two values": (b"{} {}", "it is not JSON: Extra data: line 1 column 4 (char 3)"),
    "cut": (b'{"a": [1', "it is not JSON: Expecting ',' delimiter: line 1 column 9 (char 8)"),
    "comment": (b"{} // x", "it is not JSON: Extra data: line 1 column 4 (char 3)"),
    "single quotes": (
        b"{'a': 1}",
        "it is not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
    ),
    "raw control": (b'"a\x01"', "it is not JSON: Invalid control character at: line 1 column 3 (char 2)"),
    "twice": (b'{"a": 1, "b": 2, "a": 1}', "it: the key 'a' stands twice in one object"),
    "twice, deep": (b'[{"x": {"k": 1, "k": null}}]', "it: the key 'k' stands twice in one object"),
    "twice, by escape": (b'{"a": 1, "\\u0061": 2}', "it: the key 'a' stands twice in one object"),
    "NaN": (b'{"a": NaN}', "it: NaN is no JSON number"),
    "infinity": (b"Infinity", "it: Infinity is no JSON number"),
    "minus infinity": (b"[-Infinity]", "it: -Infinity is no JSON number"),
    "overflow": (b"[1e999]", "it: the number 1e999 is too large"),
    "minus overflow": (b"[-1e999]", "it: the number -1e999 is too large"),
    "latin-1": (b'"\xe9"', "it is not UTF-8 at byte 1"),
    "utf-16": ('{"a": 1}'.encode("utf-16-le"), "it is not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
    "byte order mark": (b"\xef\xbb\xbf{}", "it begins with a byte order mark"),
    "half a pair": (b'"\\ud800"', "it holds half of a surrogate pair"),
    "half a pair as key": (b'{"\\udfff": 1}', "it holds half of a surrogate pair"),
    "pair the wrong way": (b'"\\udc00\\ud800"', "it holds half of a surrogate pair"),
    "encoded surrogate": (b'"\xed\xa0\x80"', "it is not UTF-8 at byte 1"),
    "very deep": (b"[" * 100_000 + b"]" * 100_000, "it is nested too deeply"),
    "just too deep": (b"[" * 101 + b"]" * 101, "it is nested too deeply"),
    "deep object": (b'{"a":' * 101 + b"1" + b"}" * 101, "it is nested too deeply"),
}  # fmt: skip


@pytest.mark.parametrize(("data", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(data, message):
    with pytest.raises(Problem) as caught:
        documents.parse_json(data, "it")
    assert (caught.value.kind, caught.value.message) == ("document", message)


ACCEPTED = {
    "a whole pair": (b'"\\ud83d\\ude00"', "😀"),
    "a backslash before u": (b'"\\\\ud800"', "\\ud800"),
    "as deep as may be": (b"[" * 100 + b"]" * 100, None),
    "wide, not deep": (b"[" + b"[]," * 500 + b"[]]", [[]] * 501),
    "brackets in a text": (b'"' + b"[" * 500 + b'"', "[" * 500),
    "big integer": (b"1" * 400, int("1" * 400)),
    "zero": (b"-0.0", -0.0),
    "blanks around": (b"\n {} \n", {}),
}


@pytest.mark.parametrize(("data", "value"), ACCEPTED.values(), ids=ACCEPTED)
def test_accepted(data, value):
    found = documents.parse_json(data, "it")
    assert value is None or found == value
    assert documents.parse_json(documents.encode(found), "again") == found


def test_a_huge_integer_is_refused_not_crashed_on():
    with pytest.raises(Problem) as caught:
        documents.parse_json(b"9" * 10_000, "it")
    assert caught.value.message.startswith("it is not JSON: Exceeds the limit")


def test_a_long_key_is_cut_in_the_message():
    key = json.dumps("k" * 100_000)
    with pytest.raises(Problem) as caught:
        documents.parse_json(f"{{{key}: 1, {key}: 2}}".encode(), "it")
    assert len(caught.value.message) < 400


@pytest.mark.parametrize(("size", "passes"), [(10, True), (11, False)])
def test_the_limit_counts_bytes(size, passes):
    data = b'"' + b"a" * (size - 2) + b'"'
    if passes:
        assert documents.parse_json(data, "it", 10) == "a" * 8
    else:
        with pytest.raises(Problem, match="it is larger than 10 bytes"):
            documents.parse_json(data, "it", 10)


@settings(deadline=None, max_examples=400)
@given(VALUES)
def test_what_is_written_is_read_again(value):
    data = documents.encode(value)
    assert data.count(b"\n") == 1
    assert data.endswith(b"\n")
    again = documents.parse_json(data, "it")
    assert again == value
    assert repr(again) == repr(value)


@settings(deadline=None, max_examples=400)
@given(st.binary(max_size=60) | TEXT.map(str.encode))
def test_any_bytes_are_a_value_or_a_problem(data):
    with contextlib.suppress(Problem):
        documents.encode(documents.parse_json(data, "it"))


@settings(deadline=None, max_examples=200)
@given(VALUES, st.data())
def test_a_damaged_document_is_a_value_or_a_problem(value, data):
    encoded = bytearray(documents.encode(value))
    place = data.draw(st.integers(0, len(encoded) - 1))
    encoded[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    with contextlib.suppress(Problem):
        documents.encode(documents.parse_json(bytes(encoded), "it"))


def test_a_name_that_is_not_unicode_cannot_be_written():
    with pytest.raises(Problem) as caught:
        documents.encode({"cwd": "/a/b\udcff"})
    assert caught.value.kind == "document"
    assert caught.value.message == (
        'not Unicode text, so no document can carry it: \'{"cwd":"/a/b\\udcff"}\''
    )


def read(document):
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    return documents.read_run(io.BytesIO(data), "parsed")


def test_a_run_document_is_read(run_document):
    assert read(run_document()) == run_document()


def test_foreign_keys_are_carried_through(run_document):
    document = run_document(**{"x-note": [1, {"a": None}], "x-": "é"})
    stream = io.BytesIO()
    documents.write_run(stream, read(document), "parsed")
    assert json.loads(stream.getvalue()) == document


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ({"format": "clip-harness/run@2"}, "'clip-harness/run@2'"),
        ({"format": None}, "None"),
        ({}, "None"),
        ([], "None"),
        ("clip-harness/run@1", "None"),
        (1, "None"),
    ],
)
def test_another_format_is_refused(value, found):
    with pytest.raises(Problem) as caught:
        read(value)
    assert (caught.value.kind, caught.value.message) == (
        "document",
        f"standard input is no run document: its format is {found}",
    )


def test_a_refusal_says_path_expected_and_found(run_document):
    document = run_document()
    document["payload"]["metadata"]["timeout"] = "soon"
    with pytest.raises(Problem) as caught:
        read(document)
    assert caught.value.message == (
        "run document: payload.metadata.timeout: 'soon' is not of type 'integer', 'null'"
    )


def test_a_name_in_a_refusal_does_nothing_to_a_terminal():
    message = documents.explain({"backends": {"\x1b[2J": 1}}, "settings.schema.json")
    assert message == "backends.'\\x1b[2J': 1 is not of type 'object'"


def test_a_long_refusal_is_cut(run_document):
    document = run_document()
    document["trigger"] = "x" * 10_000
    with pytest.raises(Problem) as caught:
        read(document)
    assert len(caught.value.message) < 400


def test_a_document_of_a_later_stage_is_refused_before(run_document):
    with pytest.raises(Problem, match="'verdict' is a required property"):
        documents.read_run(io.BytesIO(documents.encode(run_document())), "gated")


def test_a_document_is_checked_before_a_byte_is_written(run_document):
    stream = io.BytesIO()
    with pytest.raises(Problem) as caught:
        documents.write_run(stream, run_document(run_id="nonsense"), "parsed")
    assert caught.value.kind == "bug"
    assert stream.getvalue() == b""


def test_what_was_written_for_one_stage_is_checked_for_another(run_document):
    stream = io.BytesIO()
    documents.write_run(stream, run_document(), "parsed")
    written = stream.getvalue()
    assert documents.read_run(io.BytesIO(written), "parsed") == run_document()
    with pytest.raises(Problem, match="'verdict' is a required property"):
        documents.read_run(io.BytesIO(written), "gated")


def test_a_schema_below_a_folder_is_found():
    with pytest.raises(Problem, match=r"a record: the document: .* is a required property"):
        documents.check({}, "store/session.schema.json", "a record")


class Deaf(io.BytesIO):
    def __init__(self, error):
        super().__init__()
        self.error = error

    def write(self, _data):
        raise self.error


def test_a_full_disk_behind_standard_output_is_a_problem():
    with pytest.raises(Problem) as caught:
        documents.put(Deaf(OSError(28, "No space left on device")), b"x")
    assert (caught.value.kind, caught.value.message) == (
        "system",
        "cannot write standard output: No space left on device",
    )


def test_a_closed_pipe_stays_a_closed_pipe():
    with pytest.raises(BrokenPipeError):
        documents.put(Deaf(BrokenPipeError()), b"x")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"timeout": "soon"}, "timeout: 'soon' is not of type 'integer'"),
        ({"timeout": "curl -H 'Authorization: Bearer abcdefgh'"}, "timeout: this text is not of type 'integer'"),
        ({"timeout": ["curl -H 'Authorization: Bearer abcdefgh'"]}, "timeout: this list is not of type 'integer'"),
        ({"timeout": {"curl": "-H 'Authorization: Bearer abcdefgh'"}}, "timeout: this object is not of type 'integer'"),
        ({"timeout": []}, "timeout: [] is not of type 'integer'"),
    ],
)  # fmt: skip
def test_a_complaint_does_not_repeat_what_may_be_a_command(value, said):
    """A mistyped word is shown, a long text is named: it may hold a password."""
    assert documents.explain(value, "settings.schema.json") == said
