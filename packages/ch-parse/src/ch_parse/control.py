"""Control triggers: `cancel` and `rerun`, with or without the session they address.

Recognised between one or three backticks, or alone in a fence. The bare word is no trigger:
`cancel` is a program that withdraws print jobs.
"""

from __future__ import annotations

import re

from ch_contract.problems import Problem

from . import fences, header

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ch_contract.messages import PayloadControl

ACTIONS = ("cancel", "rerun")
HINT = "write ```cancel``` or ```cancel id=<session>```, and nothing else"

_LINE = r"(?m)^ {0,3}```[ \t]*((?:cancel|rerun)\b[^`\n]*)```[ \t\r]*$"


def find(text: str, found: list[fences.Fence]) -> PayloadControl | None:
    """The trigger in `text`, None when there is none.

    Raises Problem("malformed") for two triggers, one with a bad address, or one beside a block
    that asks for something else.
    """
    triggers = []
    for start, gap in fences.gaps(text, found):
        triggers += [
            (match.group(1), text.count("\n", 0, start + match.start()) + 1)
            for match in _first_two(gap)
        ]
        if len(triggers) > 1:
            break
    for fence in found:
        if fence.language in ACTIONS:
            _refuse_content(text, fence)
            triggers.append((fence.info, fence.line))
    if not triggers:
        alone = _alone(text, found)
        if alone is None:
            return None
        triggers.append((alone, 1))
    triggers.sort(key=lambda trigger: trigger[1])
    others = any(fence.language in fences.PAYLOAD for fence in found)
    if len(triggers) > 1 or others:
        raise Problem(
            "malformed",
            "a control trigger stands alone in its message",
            HINT,
            triggers[0 if others else 1][1],
        )
    words, line = triggers[0]
    return _trigger(words, line)


def _first_two(gap: str) -> list[re.Match[str]]:
    matches: list[re.Match[str]] = []
    if not any(action in gap for action in ACTIONS):
        return matches
    for match in re.finditer(_LINE, gap):
        matches.append(match)
        if len(matches) == 2:
            break
    return matches


def _refuse_content(text: str, fence: fences.Fence) -> None:
    if not fence.closed:
        raise Problem("malformed", "the fence opened here never closes", HINT, fence.line)
    if text[fence.body_start : fence.body_end].strip():
        raise Problem(
            "malformed", "a control trigger carries no further text", HINT, fence.line + 1
        )


def _alone(text: str, found: list[fences.Fence]) -> str | None:
    """The words of a trigger that is the whole text: in single backticks or in a plain fence."""
    whole = text.strip()
    if len(found) == 1 and found[0].closed and not found[0].info:
        fence = found[0]
        if text[: fence.start].strip() or text[fence.end :].strip():
            return None
        inside = text[fence.body_start : fence.body_end].strip()
    elif not found and len(whole) > 2 and whole[0] == whole[-1] == "`" and "`" not in whole[1:-1]:
        inside = whole[1:-1].strip()
    else:
        return None
    words = inside.split()
    return inside if words and words[0] in ACTIONS and "\n" not in inside else None


def _trigger(text: str, line: int) -> PayloadControl:
    words = text.split()
    if len(words) == 1:
        return {"action": words[0], "session": None}
    address = words[1].removeprefix("id=")
    if len(words) > 2 or address == words[1] or not header.is_session(address):
        raise Problem(
            "malformed", f"{words[0]} has a bad address: {header.shown(text)}", HINT, line
        )
    return {"action": words[0], "session": address}
