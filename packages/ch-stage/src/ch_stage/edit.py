"""An edit: one text of the file replaced by another, and not a byte besides.

Pure. The text must be there exactly, blanks included. Line ends are the file's own: an edit says
only where lines end, so in a file with CRLF it matches CRLF and writes CRLF.
"""

from __future__ import annotations

from .nearest import describe
from .targets import refused

# So many places are named when a text is there more than once.
PLACES = 20


def edited(path: str, base: bytes | None, old: str, new: str, *, replace_all: bool) -> bytes:
    """The bytes of the file after the edit. Raises Problem("refused")."""
    if base is None:
        raise refused(path, "does not exist, and an edit never makes a file", "use a file fence")
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
    wanted, places = _found(text, old)
    if not places:
        raise refused(path, "does not hold old_string", describe(text, old))
    if len(places) > 1 and not replace_all:
        lines = [text.count("\n", 0, place) + 1 for place in places[:PLACES]]
        more = f" and {len(places) - PLACES} more" if len(places) > PLACES else ""
        raise refused(
            path,
            f"holds old_string {len(places)} times: on lines {', '.join(map(str, lines))}{more}",
            "give more of the text around the one you mean, or set replace_all: true",
        )
    replacement = _with_ends_of(text, wanted, new)
    if replace_all:
        return text.replace(wanted, replacement).encode("utf-8")
    place = places[0]
    return (text[:place] + replacement + text[place + len(wanted) :]).encode("utf-8")


def _found(text: str, old: str) -> tuple[str, list[int]]:
    """`old` as it stands in `text`, and where; overlapping places count."""
    for wanted in dict.fromkeys((old, _crlf(old))):
        places = []
        place = text.find(wanted)
        while place >= 0:
            places.append(place)
            place = text.find(wanted, place + 1)
        if places:
            return wanted, places
    return old, []


def _with_ends_of(text: str, wanted: str, new: str) -> str:
    """`new` with the line ends that the place it goes to has."""
    has_crlf = "\r\n" in wanted if "\n" in wanted else is_crlf(text)
    return _crlf(new) if has_crlf else new


def _crlf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def is_crlf(text: str) -> bool:
    """Whether every line of `text` ends with CRLF."""
    return "\r\n" in text and text.count("\n") == text.count("\r\n")
