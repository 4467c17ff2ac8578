"""An edit: one text of the file replaced by another, and not a byte besides.

Pure. The text must be there exactly, blanks included. Line ends are the file's own: an edit says
only where lines end, so it matches CRLF where the file has it and writes CRLF there. A file whose
line ends are all of one kind keeps them so, whatever the edit holds.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from .line_ends import check_kept, is_crlf, to_crlf, to_lf
from .nearest import describe
from .targets import refused

# So many places are named when a text is there more than once, and so many are counted.
PLACES = 20
COUNTED = 10_000


def edited(path: str, base: bytes | None, old: str, new: str, *, replace_all: bool) -> bytes:
    """The bytes of the file after the edit. Raises Problem("refused")."""
    if base is None:
        raise refused(path, "does not exist, and an edit never makes a file", "use a file fence")
    old, new = to_lf(old), to_lf(new)
    if not old:
        raise refused(
            path, "has an edit whose old_string is empty", "give the text that is to be replaced"
        )
    if old == new:
        raise refused(
            path,
            "would stay as it is: old_string and new_string are the same",
            "there is nothing to change; leave the edit out, or say what becomes of the text",
        )
    try:
        text = base.decode("utf-8")
    except UnicodeDecodeError as error:
        raise refused(
            path,
            f"is not UTF-8 at byte {error.start}, so it cannot be edited as text",
            "send the whole file with a file fence, or change it with a command",
        ) from None
    view = to_lf(text)
    if old not in view:
        raise refused(path, "does not hold old_string", describe(view, old))
    if not replace_all:
        _check_once(path, view, old)
    if len(view) == len(text):
        after = view.replace(old, new)
    elif is_crlf(base):
        after = to_crlf(view.replace(old, new))
    else:
        after = _edited_mixed(path, text, view, old, new)
    data = after.encode("utf-8")
    check_kept(path, base, data)
    return data


def _check_once(path: str, view: str, old: str) -> None:
    """Refuse a text that is there more than once; overlapping places count."""
    place = view.find(old)
    line = view.count("\n", 0, place) + 1
    number, lines = 0, []
    while place >= 0 and number <= COUNTED:
        number += 1
        following = view.find(old, place + 1)
        if number <= PLACES:
            lines.append(line)
            line += view.count("\n", place, following) if following >= 0 else 0
        place = following
    if number == 1:
        return
    more = f" and {number - PLACES:,} more" if number > PLACES else ""
    if number > COUNTED:
        times, more = f"more than {COUNTED:,} times", " and more"
    else:
        times = f"{number:,} times"
    raise refused(
        path,
        f"holds old_string {times}: on lines {', '.join(map(str, lines))}{more}",
        "give more of the text around the one you mean, or set replace_all: true",
    )


def _edited_mixed(path: str, text: str, view: str, old: str, new: str) -> str:
    """The edit of a file with both kinds of line ends: each place keeps the kind it has."""
    # where in `view` each CRLF ends: so many signs less than in `text` it has from there on
    crlf = list(accumulate(len(piece) + 1 for piece in text.split("\r\n")))
    pieces = []
    done = 0
    place = view.find(old)
    while place >= 0:
        start = place + bisect_right(crlf, place)
        end = place + len(old)
        end += bisect_right(crlf, end)
        span = text[start:end]
        lines = span.count("\n")
        if 0 < span.count("\r\n") < lines:
            raise refused(
                path,
                f"holds both kinds of line ends in the text from line"
                f" {text.count(chr(10), 0, start) + 1} on",
                "edit fewer lines at once, or send the whole file with a file fence",
            )
        has_crlf = "\r\n" in span if lines else _line_ends_with_crlf(text, start, end)
        pieces += [text[done:start], to_crlf(new) if has_crlf else new]
        done = end
        place = view.find(old, place + len(old))
    return "".join([*pieces, text[done:]])


def _line_ends_with_crlf(text: str, start: int, end: int) -> bool:
    """Whether the line of a place ends with CRLF, or the line before it, if it is the last."""
    newline = text.find("\n", end)
    if newline < 0:
        newline = text.rfind("\n", 0, start)
    return text[max(0, newline - 1) : newline + 1] == "\r\n"
