"""What holds for every text, whatever it is made of."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from ch_contract import checker
from ch_contract.problems import Problem
from ch_parse import parse
from ch_parse.ladder import bare, is_bare

LINES = st.sampled_from(
    [
        "```shell", "```run", "```file", "```patch", "```edit", "```", "````", "````shell", "~~~",
        "~~~file", "```python", "```result", "```cancel```", "```cancel", "`rerun id=s1`", "```x```",
        "   ```", "    ```shell", "- ```shell", "> ```shell", "``` done",
        "session: s1", "session: ../x", "session:", "action: goal-set", "action: run it",
        "action: goal-sett", "cwd: ~/x", "timeout: 5", "timeout: soon", "attend: true",
        "attend: maybe", "writes: a, b", "writes:", "goal: u", "expect-revision: 7", "action-id: k",
        "path: a.txt", "path:", "path: [a](b)", "op: create", "op: update", "op: delete", "op: x",
        "replace_all: true", "replace_all: x", "old_string:", "new_string:", "old_string: x",
        "--- a/a", "+++ b/a", "@@ -1 +1 @@", "diff --git a/a b/a",
        "clip-harness: ignore", "shell", "Copy code", "$ ls", "$ ls \\", "ls -la", "cat <<EOF", "EOF",
        "Path: a.txt", "> path: a.txt", "> $ ls", "- ls", "result", "markdown", "[denied]", "[goal] x",
        "> clip-harness: ignore", "@@ -1 +1 @@", "action: goal-set now",
        "[exit 0 \u00b7 3.2s]", "", " ", "\t", "\u00a0", "\ufeff", "\u200bsession: s1",
        "Session: s1", "echo \u201chi\u201d", "\x00", "\x1b[31m", "\u202e", "\u2028", "\x0c", "\x85",
    ]
)  # fmt: skip
ENDS = st.sampled_from(["\n", "\n", "\n", "\r\n", "\n\n", "\r", "", "\u00a0\n", " \n"])
GRAMMAR = st.lists(st.tuples(LINES, ENDS), max_size=14).map(
    lambda pairs: "".join(line + end for line, end in pairs)
)
BLOCKS = st.builds(
    lambda before, char, info, body, after: f"{before}{char}{info}\n{body}{char}\n{after}",
    st.sampled_from(["", "prose\n\n", "\ufeff"]),
    st.sampled_from(["```", "````", "~~~"]),
    st.sampled_from(["shell", "run", "file", "patch", "edit", "python", ""]),
    GRAMMAR,
    st.sampled_from(["", "\nprose\n"]),
)
TEXTS = st.one_of(st.text(), GRAMMAR, BLOCKS, st.tuples(GRAMMAR, st.text()).map("".join))
CHANGED = {"crlf", "prompt-sign", "fence-indent"}


def outcome(text):
    """The payload of `text` or the Problem it raised; the other one is None."""
    try:
        return parse(text), None
    except Problem as problem:
        return None, problem


@settings(deadline=None, max_examples=600)
@given(TEXTS)
@example("path: a.txt")
@example("$ \\\n")
@example("path: a\nop: create\n\r\n")
def test_payload_or_problem(text):
    """Any text gives a payload that its schema accepts, or a Problem; never anything else."""
    payload, problem = outcome(text)
    if problem is not None:
        assert problem.kind == "malformed"
        assert problem.message
        assert "\n" not in problem.message
        assert problem.line is None or 1 <= problem.line <= text.count("\n") + 1
        return
    assert checker.accepts(payload, "payload.schema.json")
    assert payload["kind"] != "malformed"
    assert parse(text) == payload


@settings(deadline=None, max_examples=600)
@given(TEXTS)
def test_command_is_never_changed_in_silence(text):
    """A command stands in the text byte for byte unless a repair says what was changed."""
    try:
        payload = parse(text)
    except Problem:
        return
    for part in (payload["command"], payload["body"]):
        if part is not None and CHANGED.isdisjoint(payload["repairs"]):
            assert part in text
        if part is not None and "fence-indent" not in payload["repairs"]:
            # all that a mend takes away: carriage returns before a line end, and one prompt
            assert part in text.replace("\r\n", "\n").replace("$ ", "", 1) or part in text.replace(
                "\r\n", "\n"
            )


@settings(deadline=None, max_examples=600)
@given(TEXTS)
def test_no_command_holds_what_is_no_command(text):
    """Without a here-document, no line of a command belongs to a change, a block or a result."""
    payload, _ = outcome(text)
    if payload is None or payload["command"] is None or "<<" in text:
        return
    for line in payload["command"].split("\n"):
        assert not line.startswith(
            ("path:", "op:", "replace_all:", "old_string:", "new_string:", "```", "~~~", "@@ -")
        )
        assert not line.startswith(("clip-harness: ignore", "[goal] "))
        assert line not in ("[denied]", "[exit 0 \u00b7 3.2s]")


RESULT = st.builds(
    lambda label, lines, quote: "".join(f"{quote}{line}\n" for line in [*label, "$ cat x", *lines]),
    st.sampled_from([[], ["result"], ["text", "Copy code"], ["```result"], ["````result"]]),
    st.lists(LINES, max_size=10),
    st.sampled_from(["", "> ", "\u00a0"]),
)


@settings(deadline=None, max_examples=400)
@given(RESULT)
def test_result_is_ignored(text):
    """Whatever a command printed: a result asks for nothing, with its fence or without."""
    assert parse(f"{text}[exit 0 \u00b7 0.1s]\n")["kind"] == "ignored"


@settings(deadline=None, max_examples=400)
@given(RESULT)
def test_beginning_of_a_result_runs_nothing_it_shows(text):
    """Cut before its status line, at most its command itself runs: nothing that was printed."""
    payload, _ = outcome(text)
    if payload is not None and payload["kind"] != "ignored":
        assert payload["command"].strip().removeprefix("$ ") == "cat x"


@settings(deadline=None, max_examples=400)
@given(TEXTS)
def test_content_is_never_touched(text):
    """The content of a change stands in the text, apart from a last line end that was lost."""
    try:
        payload = parse(text)
    except Problem:
        return
    if "fence-indent" in payload["repairs"]:
        return
    for change in payload["changes"]:
        for name in ("content", "diff", "old_string", "new_string"):
            value = change.get(name)
            if value is None:
                continue
            if "final-newline" in payload["repairs"]:
                value = value.removesuffix("\n")
            assert value in text


@settings(deadline=None, max_examples=300)
@given(TEXTS)
def test_bare_is_the_text_itself(text):
    """A text handed over as a command is that command, less one line end at its end."""
    try:
        payload = bare(text)
    except Problem:
        assert not text.strip()
        return
    assert text in (payload["command"], payload["command"] + "\n", payload["command"] + "\r\n")
    assert payload["repairs"] == []


@settings(deadline=None, max_examples=300)
@given(TEXTS)
def test_bare_rung_is_told_apart(text):
    """What ends as a bare command was recognised as bare, and a block never is."""
    try:
        payload = parse(text)
    except Problem:
        is_bare(text)
        return
    if payload["form"] == "bare":
        assert is_bare(text)
    if payload["kind"] in ("changes", "mixed", "goal") or payload["form"] == "unfenced":
        assert not is_bare(text)


@settings(deadline=None, max_examples=300)
@given(GRAMMAR)
def test_header_first_line_is_never_a_bare_command(text):
    """A text that begins with a header never falls through to the shell as it stands."""
    try:
        payload = parse("timeout: 5\n" + text)
    except Problem:
        return
    assert payload["form"] == "unfenced"
    assert payload["metadata"]["timeout"] == 5
