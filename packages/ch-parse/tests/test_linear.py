"""Time grows with the length of the text, whatever it holds."""

import contextlib
import time

import pytest

from ch_contract.problems import Problem
from ch_parse.ladder import LIMIT, climb

# name: (what stands before, what is repeated, what stands behind)
HOSTILE = {
    "plain": ("", "echo hello\n", ""),
    "newlines": ("ls", "\n", "x"),
    "blank lines": ("ls", "   \n", "x"),
    "blanks": ("", " ", "x"),
    "blanks and an inline fence": ("```x```", " ", "x"),
    "lines and an inline fence": ("```x```", "\n", "x"),
    "backticks": ("", "`", ""),
    "tildes": ("", "~", ""),
    "fence lines": ("", "```\n", ""),
    "named fence lines": ("", "```python\n", ""),
    "pairs of fences": ("", "```python\n```\n", ""),
    "plain pairs above a block": ("", "```\n```\n", "```shell\nls\n```\n"),
    "file blocks": ("", "```file\npath: a\nop: create\nx\n```\n", ""),
    "one file": ("```file\npath: a\nop: create\n", "x\n", "\n```\n"),
    "old markers": ("```edit\npath: a\n", "old_string:\n", "\n```\n"),
    "new markers": ("```edit\npath: a\nold_string:\nx\n", "new_string:\nold_string\n", "\n```\n"),
    "path lines": ("ls\n", "path: x\n", ""),
    "path lines in a body": ("session: s\nls\n", "path:\n", ""),
    "halves of a status line": ("$ ls\n", "[ \u00b7 ", ""),
    "almost status lines": ("$ ls\n", "[ \u00b7 ]x\n", ""),
    "CRLF": ("session: s\r\n", "a\r\n", ""),
    "carriage returns": ("session: s\n", "\r", ""),
    "hard blanks in a header": ("session: s", "\u00a0", ""),
    "hard blanks on a fence line": ("```shell", "\u00a0", "\nls\n```"),
    "here-documents": ("", "<<A <<'B' ", "\n```shell\nls\n```\nZ"),
    "here-documents and blocks": ("", "<<A\n```python\n```\n", "\n```shell\nls\n```\nZ"),
    "triggers glued": ("", "```cancel x", ""),
    "trigger lines": ("", "```cancel```\n", ""),
    "trigger with blanks": ("```cancel", " ", "```x"),
    "list signs": ("", "- ", ""),
    "list lines": ("", "- - ```shell x\n", ""),
    "tabs above a fence": ("", "\t", "```shell x"),
    "indented block": ("   ```shell\n", "   a\n", "\n```"),
    "labels": ("", "shell\n", ""),
    "blank lines below a label": ("shell\n", "\n", "session: s\nls"),
    "writes": ("writes: ", "a,", "\nls"),
    "digits": ("timeout: ", "9", "\nls"),
    "words of an action": ("action: ", "a ", "\nls"),
    "hyphens of an action": ("action: ", "-_", "\nls"),
    "hidden characters": ("", "\u200b", "session: x"),
    "quote signs": ("", ">", ""),
    "brackets of a link": ("path: ", "[](", ""),
    "prompts": ("", "$ ls \\\n", ""),
    "four-byte characters": ("", "\U0001f600", ""),
    "git preamble": ("path: a\ndiff --git a b\n", "index a\n", ""),
    "nested blocks": ("````markdown\n", "```shell\n", "````\n"),
    "NUL": ("", "\0", ""),
    "path lines in a here-document": ("cat <<A\n", "path: x\n", "A"),
    "here-documents with a path": ("", "cat <<A\npath: x\nA\n", ""),
    "here-documents of other words": ("cat <<'B'\npath: x\nB\n", "cat <<A ", "\npath: x\nB\n"),
    "here-documents that never end": ("", "cat <<A\n", "\npath: x"),
    "here-documents that end behind tabs": ("", "cat <<A\n\tA\n", "\npath: x"),
    "openers on one line": ("cat", " <<A", "\npath: x\nA\n"),
    "openers of other words": ("cat ", "<<A <<B ", "\npath: x\nA\n"),
    "parentheses and an opener": ("", "(", " <<A\npath: x\nA"),
    "quotes and an opener": ("cat <<A ", '"$', "\npath: x\nA"),
    "escaped quotes and an opener": ('cat <<A "', '\\"', "\npath: x\nA"),
    "apostrophes and an opener": ("cat <<A ", "'a", "\npath: x\nA"),
    "indented path lines": ("ls\n", "  path: x\n", ""),
    "blanks before a path": ("ls\n", " ", "path: x\nop: x"),
    "signs before a path": ("ls\npath\n", ">*", "x:"),
    "blanks before an opener": ("cat", " ", "<<A\npath: x\nA"),
    "closing brackets": ("ls\n[", "] ", "x"),
    "status lines in a here-document": ("cat <<A\n", "[exit 0 \u00b7 1.0s]\n", "A"),
    "middle dots": ("ls\n[", " \u00b7 ", "]"),
    "status lines beside a block": ("```shell\nls\n```\n", "[ \u00b7 ]\n", ""),
    "diff lines": ("ls\n", "--- \n", "+++ \n"),
    "quoted lines": ("", "> a\n", "ls"),
    "signs before the marker": ("ls\n", "#<!", "ignore"),
    "marker lines in a here-document": ("cat <<A\n", "clip-harness: ignore\n", "A"),
    "change lines beside a block": ("```shell\nls\n```\n", "path: x\n", ""),
    "host of a prompt": ("me@", "a", ""),
    "user of a prompt": ("", "a", "@a"),
    "result labels": ("", "result\n", ""),
}


def build(name, size):
    """The hostile text of this name with exactly `size` characters."""
    before, middle, after = HOSTILE[name]
    room = size - len(before) - len(after)
    return before + (middle * (room // len(middle) + 1))[:room] + after


def best_time(text, runs):
    """Seconds of processor time of the quickest of `runs`: noise only ever adds."""
    best = float("inf")
    for _ in range(runs):
        start = time.process_time()
        with contextlib.suppress(Problem):
            climb(text)
        best = min(best, time.process_time() - start)
    return best


@pytest.mark.parametrize("name", HOSTILE)
def test_growth(name):
    """Eight times the text takes about eight times as long: a square law would take 64 times."""
    floor = 100e-6
    for attempt in range(4):
        small = max(best_time(build(name, LIMIT), 5 + 5 * attempt), floor)
        large = best_time(build(name, 8 * LIMIT), 2 + attempt)
        if large / small < 20:
            return
    pytest.fail(f"{name}: {small * 1e3:.2f} ms, eight times the text {large * 1e3:.2f} ms")


@pytest.mark.parametrize("name", HOSTILE)
def test_largest_allowed_text(name):
    """No text of the largest allowed size takes more than ten milliseconds."""
    text = build(name, LIMIT)
    best = min(best_time(text, 3) for _ in range(10))
    assert best < 0.010, f"{best * 1e3:.2f} ms"
