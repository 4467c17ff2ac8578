"""The header of a shell block: `key: value` lines, and what each value may be.

Decides which lines are header and refuses a value it cannot read; it never lets a header line
fall through to the shell. What a key does is left to the tool that honours it.
"""

from __future__ import annotations

import re

from ch_contract.problems import Problem

from . import payload, repairs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ch_contract.messages import PayloadMetadata

KEYS = (
    "session",
    "action",
    "cwd",
    "timeout",
    "attend",
    "writes",
    "goal",
    "expect-revision",
    "action-id",
)
CHANGE_KEYS = ("path", "op", "replace_all", "old_string", "new_string")
GOAL_ACTIONS = (
    "goal-set",
    "goal-status",
    "task-add",
    "task-update",
    "goal-list",
    "goal-show",
    "plan-set",
    "plan-show",
)
UNADDRESSED = frozenset({"goal-list", "goal-show"})
NEED_BODY = frozenset({"goal-set", "task-add", "task-update", "plan-set"})
REMOVED = frozenset({"task-doing", "task-done", "task-open"})
_NOUNS = ("goal", "task", "plan")

LONGEST_TIMEOUT = 86_400
LONGEST_PATH = 4_096
LONGEST_KEY = 24

_SESSION = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\Z"
_CONTROL = r"[\x00-\x08\x0a-\x1f\x7f]"
_NO_DASHES = str.maketrans(dict.fromkeys(" \t_-\u2010\u2011\u2012\u2013\u2014\u2015\u2212"))

# What may have been put before a key: indentation, quoting, a list sign, hidden characters.
_BEFORE_KEY = " \t\u00a0\u2007\u202f\u200b\u200c\u200d\u2060\ufeff>*+\u2022-"
_AFTER_KEY = " \t\u00a0*"


def _squash(word: str) -> str:
    return word.translate(_NO_DASHES).lower()


_ALIKE = {_squash(key): key for key in (*KEYS, *CHANGE_KEYS)} | {"write": "writes"}
_ACTIONS_ALIKE = {_squash(action): action for action in (*GOAL_ACTIONS, *REMOVED)}


def shown(value: str) -> str:
    """`value` in quotes, cut to a length that a sentence bears."""
    return repr(value if len(value) <= 60 else value[:57] + "…")


def key_of(line: str, keys: tuple[str, ...] = KEYS) -> str | None:
    """The key that `line` gives a value, None when it is no header line."""
    key, colon, _ = line.partition(":")
    return key if colon and key in keys else None


def is_session(value: str) -> bool:
    """Whether `value` may name a session: it becomes a file name."""
    return re.match(_SESSION, value) is not None


def refuse_alike(line: str, number: int) -> None:
    """Refuse a line that would run as shell but looks like a header line damaged by copying.

    Raises Problem("malformed"). A guard such as expect-revision must not get lost in silence.
    """
    start = line.lstrip(_BEFORE_KEY)[:LONGEST_KEY].replace("\uff1a", ":")
    word, colon, _ = start.partition(":")
    word = word.rstrip(_AFTER_KEY)
    key = _ALIKE.get(_squash(word)) if colon and " " not in word else None
    if key is None:
        return
    found = shown(line.strip())
    if key in CHANGE_KEYS:
        raise Problem(
            "malformed",
            f"the line {found} belongs to a file change and would run as a command",
            "send a file change in a file, patch or edit block of its own",
            number,
        )
    raise Problem(
        "malformed",
        f"the line {found} looks like the header {key}: but cannot be read as it",
        f"write {key}: at the start of the line, in lower case, directly below the header line "
        "before it",
        number,
    )


class Header:
    """The header of one shell text, and the text that follows it."""

    __slots__ = ("given", "line", "metadata", "rest")

    def __init__(self, metadata: PayloadMetadata, *, given: bool, rest: str, line: int) -> None:
        self.metadata = metadata
        self.given = given
        self.rest = rest
        self.line = line


def read(
    text: str, line: int, record: repairs.Record, *, fenced: bool, session: str | None = None
) -> Header:
    """The header at the start of `text`, whose first line has the number `line`.

    `session` binds a text whose header names none. Raises Problem("malformed") for a value that
    cannot be read, a key given twice, an unknown action, or a line that looks like a lost header.
    """
    metadata = payload.no_metadata()
    found: set[str] = set()
    start = repairs.first_line(text)
    number = line + text.count("\n", 0, start)
    rest = 0
    while start < len(text):
        raw, after = repairs.take_line(text, start)
        key = key_of(raw)
        if key is None:
            break
        if key in found:
            raise Problem("malformed", f"{key}: is given twice", f"keep one {key}: line", number)
        found.add(key)
        value = repairs.header_line(raw, record).partition(":")[2].strip(repairs.BLANKS)
        _set(metadata, key, value, number, record, fenced=fenced)
        start = rest = after
        number += 1
    body = text[rest:]
    number = line + text.count("\n", 0, rest)
    if metadata["session"] is None:
        metadata["session"] = session
    _refuse_unaddressed(metadata, line)
    if metadata["action"] == "run":
        first = repairs.first_line(body)
        lost, _ = repairs.take_line(body, first)
        refuse_alike(lost, number + body.count("\n", 0, first))
    return Header(metadata, given=bool(found), rest=body, line=number)


def _refuse_unaddressed(metadata: PayloadMetadata, line: int) -> None:
    action = metadata["action"]
    if action == "run" or action in UNADDRESSED:
        return
    if metadata["session"] is None and metadata["goal"] is None:
        raise Problem(
            "malformed",
            f"action: {action} needs a session: or a goal: header",
            "add a session: line that names this conversation",
            line,
        )


def _set(
    metadata: PayloadMetadata,
    key: str,
    value: str,
    line: int,
    record: repairs.Record,
    *,
    fenced: bool,
) -> None:
    """Put one header value into `metadata`, or refuse it."""
    if re.search(_CONTROL, value):
        raise Problem(
            "malformed", f"{key}: holds a control character", "type that line again", line
        )
    if key == "attend":
        _set_attend(metadata, value, line, record, fenced=fenced)
    elif not value:
        raise Problem(
            "malformed", f"{key}: has no value", f"give {key}: a value or leave the line out", line
        )
    elif key == "session":
        metadata["session"] = session_id(value, line)
    elif key == "action":
        metadata["action"], metadata["label"] = _action(value, line)
    elif key == "cwd":
        metadata["cwd"] = _folder(value, line)
    elif key == "timeout":
        metadata["timeout"] = _seconds(value, line)
    elif key == "writes":
        metadata["writes"] = _paths(value, line)
    elif key == "goal":
        metadata["goal"] = value
    elif key == "expect-revision":
        metadata["expect_revision"] = _revision(value, line)
    else:
        metadata["action_id"] = value


def session_id(value: str, line: int) -> str:
    """`value` if it may name a session. Raises Problem("malformed")."""
    if not is_session(value):
        raise Problem(
            "malformed",
            f"session: must be a plain name, got {shown(value)}",
            "use letters, digits, dot, hyphen and underscore, a letter or digit first, "
            "at most 100 characters",
            line,
        )
    return value


def _action(value: str, line: int) -> tuple[str, str | None]:
    """The action and the label that `action:` names."""
    words = value.split()
    if value == "run" or value in GOAL_ACTIONS:
        return value, None
    if value in REMOVED:
        raise Problem(
            "malformed",
            f"action: {value} no longer exists; task-update took its place",
            "send action: task-update with one line per task, such as `done: exact task title`",
            line,
        )
    meant = _meant(words)
    if meant is not None or (len(words) == 1 and value.translate(_NO_DASHES) != value):
        known = f"run, {', '.join(GOAL_ACTIONS)}"
        raise Problem(
            "malformed",
            f"action: knows no {shown(value)}",
            f"did you mean {meant}?" if meant in GOAL_ACTIONS else f"the actions are: {known}",
            line,
        )
    return "run", value


def _meant(words: list[str]) -> str | None:
    """The action that words which are none seem to mean; None when they read as a label.

    A label lets the text below run, so a misspelt action must not pass as one: written apart,
    turned round, cut to its noun, or with free words behind it.
    """
    plain = [_squash(word) for word in words[:3]]
    if len(plain) == 1 and plain[0].rstrip("s") in _NOUNS:
        return plain[0]
    behind = words[0][4:5]  # every noun has four letters
    if words[0][:4].lower() in _NOUNS and behind and not _squash(behind):
        return _closest(plain[0]) or plain[0]
    if len(plain) == 2:
        turned = _ACTIONS_ALIKE.get(plain[1].rstrip("s") + plain[0])
        if turned is not None:
            return turned
    return _closest(plain[0]) or _closest("".join(plain[:2]))


def _closest(word: str) -> str | None:
    """The action that `word` is but for its hyphens, or for one slip of the keyboard."""
    exact = _ACTIONS_ALIKE.get(word)
    if exact is not None or len(word) > LONGEST_KEY:
        return exact
    return next((name for plain, name in _ACTIONS_ALIKE.items() if _is_near(word, plain)), None)


def _is_near(word: str, other: str) -> bool:
    """Whether one letter more, less or changed, or two swapped, make `other` of `word`."""
    start = 0
    while start < min(len(word), len(other)) and word[start] == other[start]:
        start += 1
    word, other = word[start:], other[start:]
    while word and other and word[-1] == other[-1]:
        word, other = word[:-1], other[:-1]
    return max(len(word), len(other)) <= 1 or (len(word) == 2 and word == other[::-1])


def _folder(value: str, line: int) -> str:
    if len(value) > LONGEST_PATH:
        raise Problem(
            "malformed",
            f"cwd: is longer than {LONGEST_PATH:,} characters",
            "name an existing folder",
            line,
        )
    return value


def _is_number(value: str) -> bool:
    return value.isascii() and value.isdigit() and len(value) <= 15


def _seconds(value: str, line: int) -> int:
    if not _is_number(value):
        raise Problem(
            "malformed",
            f"timeout: must be a whole number of seconds, got {shown(value)}",
            "write it like `timeout: 300`",
            line,
        )
    seconds = int(value)
    if not 1 <= seconds <= LONGEST_TIMEOUT:
        raise Problem(
            "malformed",
            f"timeout: must be from 1 to {LONGEST_TIMEOUT} seconds, got {shown(value)}",
            "write it like `timeout: 300`",
            line,
        )
    return seconds


def _set_attend(
    metadata: PayloadMetadata, value: str, line: int, record: repairs.Record, *, fenced: bool
) -> None:
    metadata["attend"] = value == "true"
    if value in ("true", "false"):
        return
    if not fenced:
        raise Problem(
            "malformed",
            f"attend: must be true or false, got {shown(value)}",
            "write `attend: true` or leave the line out",
            line,
        )
    record.notes.append(
        f"attend: {shown(value)} is neither true nor false; the run does not wait for anybody"
    )


def _paths(value: str, line: int) -> list[str]:
    paths = [path.strip(repairs.BLANKS) for path in value.split(",")]
    if not all(paths):
        raise Problem(
            "malformed",
            f"writes: holds an empty path: {shown(value)}",
            "list paths with one comma between two of them",
            line,
        )
    return paths


def _revision(value: str, line: int) -> int:
    if not _is_number(value):
        raise Problem(
            "malformed",
            f"expect-revision: must be a whole number, got {shown(value)}",
            "use the revision that goal-show gives",
            line,
        )
    return int(value)
