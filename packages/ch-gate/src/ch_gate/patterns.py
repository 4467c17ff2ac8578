"""The patterns of the settings: globs for commands, regular expressions for hard blocks.

Decides what a glob of `allowlist` or `denylist` means and whether the settings' patterns are good:
each must be readable, and its own examples must hold. Leaves applying them to `policy`.

A glob is compared with one simple command, never with a whole line, so no `*` reaches into the
next command. It has two signs: `*` for any text, also none, and `?` for one character; every other
character is itself. A last ` *` also matches the command without anything after it: `ls *`
covers `ls`. Without a `*` a glob is that command word for word. The command is written with one
blank between its words, a word with blanks or quotes in it in single quotes; a glob may be written
against that form or against the text as it stands.
"""

from __future__ import annotations

import re

from ch_contract.problems import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .commands import Command

_PLAIN = frozenset(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./~^!{}*?[]#-"
)

# Variables that decide what the next word runs: an entry for the word alone does not cover them.
_STEERING = (
    r"PATH|IFS|ENV|BASH_\w+|SHELLOPTS|PROMPT_COMMAND|LD_\w+|DYLD_\w+|GIT_\w+|\w*PAGER|\w*EDITOR"
    r"|VISUAL|BROWSER|NODE_OPTIONS|PYTHON\w+|PERL\w+|RUBY\w+|JAVA_TOOL_OPTIONS|\w*_RSH|\w*_COMMAND"
    r"|\w*ASKPASS|TAR_OPTIONS|LESS\w+|HOME|CDPATH"
)


class Pattern:
    """One entry of the settings; `matches` answers for a text."""

    __slots__ = ("entry", "head", "regex")

    def __init__(self, entry: str, regex: re.Pattern[str], head: int) -> None:
        self.entry = entry
        self.regex = regex
        # how many characters stand before the first sign of a glob
        self.head = head

    def matches(self, text: str) -> bool:
        """Whether a glob is the whole of `text`, or a regular expression finds itself in it."""
        return self.regex.search(text) is not None


def glob(entry: str) -> Pattern:
    """The glob `entry`, compiled."""
    text = " ".join(entry.split(" ")).strip()
    optional = text.endswith(" *") and len(text) > 2
    body = text[:-2] if optional else text
    # a run of stars is one star: two of them beside each other only cost time
    pieces = [
        ".*" if piece[0] == "*" else "." if piece == "?" else re.escape(piece)
        for piece in re.findall(r"\*+|\?|[^*?]+", body)
    ]
    regex = "".join(pieces) + ("(?: .*)?" if optional else "")
    head = min((text.find(sign) for sign in "*?" if sign in text), default=len(text))
    return Pattern(entry, re.compile(rf"\A{regex}\Z", re.DOTALL), head)


def load(values: dict[str, Any]) -> dict[str, list[Pattern]]:
    """The patterns of the settings `values`, by key.

    Raises Problem("settings") that names the key and the pattern, when it is no pattern or one of
    its examples does not hold.
    """
    return {
        "hard_block_patterns": [
            _entry("hard_block_patterns", item) for item in values["hard_block_patterns"]
        ],
        "denylist": [_entry("denylist", item) for item in values["denylist"]],
        "allowlist": [_entry("allowlist", item) for item in values["allowlist"]],
    }


_HINT = "correct that entry in your settings; nothing runs until it is right"
# `(a+)+`, `(a*)*`, `(a|b+)*`: a repeated group that can match one text in many ways
_NESTED = r"\((?:[^()\\]|\\.)*[+*}](?:[^()\\]|\\.)*\)(?:[+*]|\{\d*,)"


def _entry(key: str, item: Any) -> Pattern:
    text = item if isinstance(item, str) else item["pattern"]
    if key == "hard_block_patterns":
        try:
            pattern = Pattern(text, re.compile(text), 0)
        except (re.error, RecursionError, OverflowError) as error:
            raise Problem(
                "settings", f"{key}: {text!r} is no regular expression: {error}", _HINT
            ) from None
        if re.search(_NESTED, text):
            raise Problem(
                "settings",
                f"{key}: {text!r} repeats a group that repeats itself, which can take for ever",
                "write it without a repetition inside a repeated group",
            )
    else:
        pattern = glob(text)
    if not isinstance(item, str):
        for example in item.get("must_match", ()):
            if not pattern.matches(example):
                raise Problem(
                    "settings", f"{key}: {text!r} does not match its example {example!r}", _HINT
                )
        for example in item.get("must_not_match", ()):
            if pattern.matches(example):
                raise Problem(
                    "settings", f"{key}: {text!r} matches {example!r}, which it must not", _HINT
                )
    return pattern


def written(text: str) -> str:
    """A word as it is written in a command's text."""
    if text and _PLAIN.issuperset(text):
        return text
    return "'" + text.replace("'", "'\\''") + "'"


TAILS_LIMIT = 64


def _without_globals(command: Command) -> str:
    """The words from the subcommand on, of a program that takes options before it; else empty."""
    from .catalogue import entry
    from .options import scan

    name = command.program or ""
    if name == "git":
        from .git import GLOBAL_LONG

        scanned = scan(command.words[1:], "Cc", "", GLOBAL_LONG, leading=True)
    elif (known := entry(name)).valued or known.long:
        scanned = scan(command.words[1:], known.valued, "", known.long, leading=True)
    else:
        return ""
    return " ".join(
        word.value if word.value is not None else word.source for word in scanned.operands
    )


class Texts:
    """The forms of one simple command that globs are compared with.

    words    its words, as `exact` forms; `files` adds the files it writes and `steered` the
             variables before it, where an entry must speak of them to cover them
    """

    __slots__ = ("bare", "files", "forms", "plain", "steered", "words")

    def __init__(self, command: Command) -> None:
        self.bare = _without_globals(command)
        words = [
            written(word.value) if word.value is not None else word.source for word in command.words
        ]
        sources = [word.source for word in command.words]
        self.words = [
            word.value if word.value is not None else word.source for word in command.words
        ]
        self.plain = " ".join(self.words)
        more = " ..." if command.appended else ""
        forms = [" ".join(words) + more, " ".join(sources) + more]
        writes = [
            f"{redirect.descriptor or ''}{redirect.op} {redirect.target.source}"
            for redirect in command.redirects
            if redirect.writes and redirect.target.value != "/dev/null"
        ]
        before = [
            f"{assignment.name}{'+' if assignment.append else ''}="
            f"{assignment.value.source if assignment.value is not None else ''}"
            for assignment in command.assignments
        ]
        self.forms = list(dict.fromkeys(forms))
        self.files = " ".join(writes)
        self.steered = (
            " ".join(before)
            if any(re.fullmatch(_STEERING, assignment.name) for assignment in command.assignments)
            else ""
        )

    def denied_forms(self) -> list[str]:
        """Every form: one hit is enough for a denial."""
        forms = [*self.forms, self.plain]
        head, slash, tail = self.plain.partition(" ")
        name = head.rpartition("/")[2]
        forms.append(f"{name}{slash}{tail}")
        if self.bare:
            forms.append(f"{name} {self.bare}")
        if self.files:
            forms += [f"{form} {self.files}" for form in forms]
        return list(dict.fromkeys(forms))

    def tails(self) -> list[str]:
        """The command from each of its arguments on, as if that were a program."""
        words = self.words
        return [" ".join(words[start:]) for start in range(1, min(len(words), TAILS_LIMIT))]

    def covered_by(self, pattern: Pattern) -> bool:
        """Whether the allow-list entry `pattern` speaks of all the command does."""
        if self.files and ">" not in pattern.entry:
            return False
        if self.steered and "=" not in pattern.entry:
            return False
        for form in self.forms:
            text = f"{self.steered} {form}" if self.steered else form
            text = f"{text} {self.files}" if self.files else text
            if pattern.matches(text):
                return True
        return False

    def reaches(self, pattern: Pattern, offset: int) -> bool:
        """Whether what `pattern` spells out goes beyond the character `offset` of the command."""
        return self.covered_by(pattern) and pattern.head > offset
