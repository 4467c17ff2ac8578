"""A text that takes no parser is read as the parser reads it, in every dialect."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ch_gate import plain, shfmt, syntax

WORD = st.text("abcxyzABC0129_./,:@%+=-", min_size=1, max_size=8)
NAMES = st.sampled_from(
    ["git", "ls", "if", "export", "noglob", "-", "[", "rm", "./run", "a=b", "1", "time", ".", "_x",
     "repeat", "in", "command", "2", "coproc", "read", "/bin/rm", "eval", "builtin", "set"]
)  # fmt: skip


def seen(reading):
    return reading.cause, [
        (
            [(word.value, word.start, word.end, word.source, word.glob) for word in command.words],
            command.start, command.end, command.source, command.contexts, command.scope,
            [item.name for item in command.assignments],
            [item.why for item in command.unread], command.how,
        )
        for command in reading.commands
    ]  # fmt: skip


def parse(text, dialect):
    return shfmt.parse(text, dialect, shfmt.Clock(10))


@settings(deadline=None, max_examples=300)
@given(st.one_of(NAMES, WORD), st.lists(st.one_of(NAMES, WORD), max_size=5),
       st.sampled_from(["bash", "zsh", "posix", "mksh"]))  # fmt: skip
def test_it_gives_what_the_parser_gives(name, words, dialect):
    """The same words, places, and what they start."""
    text = " ".join([name, *words])
    tree = plain.tree(text)
    if tree is None:
        return
    with_parser = syntax.read(text, dialect, parse)
    without = syntax.read(
        text, dialect, lambda part, tongue: plain.tree(part) or parse(part, tongue)
    )
    assert seen(without) == seen(with_parser)


@pytest.mark.parametrize(
    "text",
    [
        "", " ls", "ls ", "ls  a", "ls\n", "ls a;b", "ls $x", "ls `x`", "ls 'a'", "ls *", "ls a{b", "ls ~",
        "ls >a", "ls #a", "a=b ls", "if a", "export a", "ls a\tb", "ls é", "!ls", "ls a&", "[ a ]",
        "ls =a", "{ls", "ls (a)", "ls a\\b", "x" * 401,
    ],
)  # fmt: skip
def test_anything_else_takes_the_parser(text):
    """A sign that could mean something, or a word that begins something else."""
    assert plain.tree(text) is None


@pytest.mark.parametrize(
    "text", ["git status", "ls", "npm run build --if-present", "./a/b.sh -x=1 a:b@c%d+e,f"]
)
def test_most_commands_take_none(text):
    """Plain words."""
    assert plain.tree(text) is not None
