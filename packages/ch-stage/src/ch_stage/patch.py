"""A patch: read and counted here, applied by `git apply` in a folder that holds the one file.

The counts come first: with wrong ones git may lose lines and still say that all is well. What a
patch may not do is refused by its reason: rename, change modes, make links, carry bytes, change
several files. Where a hunk could go to several places, nobody guesses which.
"""

from __future__ import annotations

import os
import posixpath
import re

from ch_contract import files
from ch_contract.problems import visible

from . import isolated
from .line_ends import check_kept, is_crlf
from .nearest import describe
from .targets import refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ch_contract.problems import Problem

NOWHERE = "/dev/null"
EDIT_INSTEAD = "send an edit fence instead: it needs no counts and no line numbers"
PLACES = 20
_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_MOVED = re.compile(rb"Hunk #\d+ succeeded at -?\d+ \(offset")
# What diff puts behind a name, also where a tab became a blank on the way.
_TIME = re.compile(r"[ \t]+\d{4}-\d\d-\d\d[ \t]+\d\d:\d\d(:\d\d(\.\d+)?)?([ \t]+[-+]\d{4})?$")
_VERSION = re.compile(r"\d+\.\d+[\w.() -]*$")
# What a header line asks for that is no change of text.
FORBIDDEN = (
    ("rename ", "renames a file"),
    ("similarity index", "renames or copies a file"),
    ("copy ", "copies a file"),
    ("old mode ", "changes a file's mode"),
    ("new mode ", "changes a file's mode"),
    ("GIT binary patch", "holds bytes instead of text"),
    ("Binary files ", "is about a file that is no text"),
    ("diff --cc ", "belongs to a merge"),
    ("diff --combined ", "belongs to a merge"),
    ("*** ", "is no unified diff"),
)
INSTEAD = "send the whole file with a file fence, or do it with a command"


class Hunk:
    """One hunk: where it says it goes, and its lines with their signs."""

    __slots__ = ("declared", "rows", "starts")

    def __init__(self, starts: tuple[int, int], declared: tuple[int, int], rows: list[str]) -> None:
        self.starts = starts
        self.declared = declared
        self.rows = rows

    def counts(self) -> tuple[int, int]:
        """How many old and new lines it holds."""
        old = sum(row[:1] in (" ", "-", "") for row in self.rows)
        new = sum(row[:1] in (" ", "+", "") for row in self.rows)
        return old, new

    def is_closed(self) -> bool:
        """Whether context stands behind the last change."""
        return next((row[:1] == " " for row in reversed(self.rows) if row[:1] != "\\"), False)

    def old_text(self) -> str:
        """The lines it says are there, as one text."""
        return self._text((" ", "-", ""))

    def _text(self, signs: tuple[str, ...]) -> str:
        text = ""
        for number, row in enumerate(self.rows):
            if row[:1] in signs:
                after = self.rows[number + 1] if number + 1 < len(self.rows) else ""
                text += row[1:] + ("" if after.startswith("\\") else "\n")
        return text


class Patch:
    """A patch of one file; `old` and `new` are the names its headers give, or None."""

    __slots__ = ("deletes", "git_row", "hunks", "makes", "new", "old")

    def __init__(self) -> None:
        self.old: str | None = None
        self.new: str | None = None
        self.git_row = ""
        self.makes = False
        self.deletes = False
        self.hunks: list[Hunk] = []

    def agrees(self) -> bool:
        """Whether the old and the new line numbers of all hunks say the same."""
        moved = 0
        for hunk in self.hunks:
            (old_start, new_start), (old, new) = hunk.starts, hunk.declared
            # a hunk without lines on one side names the line before it
            if old_start + (not old) + moved != new_start + (not new):
                return False
            moved += new - old
        return True


def patched(path: str, base: bytes | None, text: str) -> bytes | None:
    """The bytes of the file after the patch; None when it deletes the file.

    Raises Problem("refused"), Problem("system") when git cannot be had.
    """
    patch = read(path, _with_ends_of(base, text))
    _check_counts(path, patch)
    _check_ends(path, patch)
    if patch.makes and base is not None:
        raise refused(path, "exists, and the patch makes it anew", "make the patch against it")
    if not patch.makes and base is None:
        raise refused(path, "does not exist, so there is nothing to patch", "use a file fence")
    if not patch.hunks:
        return _of_empty(path, base, patch)
    if not any(row.startswith(("+", "-")) for hunk in patch.hunks for row in hunk.rows):
        raise refused(path, "would stay as it is: the patch changes nothing", EDIT_INSTEAD)
    return _applied(path, base, patch)


def _of_empty(path: str, base: bytes | None, patch: Patch) -> bytes | None:
    """A patch without hunks makes or deletes an empty file."""
    if patch.makes:
        return b""
    if patch.deletes and base == b"":
        return None
    raise refused(path, "would not change: the patch has no hunk", EDIT_INSTEAD)


def _with_ends_of(base: bytes | None, text: str) -> str:
    """`text` with the line ends of the file, where the file has one kind of them alone."""
    if base is None:
        return text
    lines = text.removesuffix("\n").split("\n")
    has_crlf = is_crlf(base)
    if all(row.endswith("\r") for row in lines[:-1]) and (has_crlf or b"\r" not in base):
        # no header of a diff ends so: the CR came on the way
        text = text.replace("\r\n", "\n").removesuffix("\r")
        lines = [row.removesuffix("\r") for row in lines]
    if has_crlf and "\r" not in text:
        pairs = zip(lines, [*lines[1:], ""], strict=True)
        return "".join(
            f"{row}\r\n"
            if row[:1] in ("", " ", "+", "-") and not after.startswith("\\")
            else f"{row}\n"
            for row, after in pairs
        )
    return text


def read(path: str, text: str) -> Patch:
    """The patch in `text`, which is for the file `path`. Raises Problem("refused")."""
    rows = text.removesuffix("\n").split("\n")
    patch = Patch()
    position = 0
    while position < len(rows):
        row = rows[position].removesuffix("\r")
        if _HUNK.match(row):
            position = _read_hunk(path, patch, rows, position)
            continue
        if row.startswith("@@"):
            raise refused(path, f"has a hunk without line numbers: {row[:60]}", EDIT_INSTEAD)
        if _is_signature(patch, rows[position:]):
            break
        _read_header(path, patch, row)
        position += 1
    if patch.git_row and patch.old is None and patch.new is None:
        _check_git_name(path, patch.git_row)
    if not patch.hunks and not patch.makes and not patch.deletes:
        raise refused(path, "would not change: the patch has no hunk", EDIT_INSTEAD)
    return patch


def _is_signature(patch: Patch, rows: list[str]) -> bool:
    """Whether `rows` are what git puts behind a patch that goes by mail: `-- ` and its version."""
    if not patch.hunks or rows[0].rstrip() != "--":
        return False
    said = [row for row in rows[1:] if row.strip()]
    return len(said) <= 1 and all(_VERSION.match(row.rstrip("\r")) for row in said)


def _several(path: str) -> Problem:
    return refused(path, "got a patch of several files", "send one patch fence for each file")


def _read_header(path: str, patch: Patch, row: str) -> None:
    """A line outside the hunks: what it asks for is refused, unless it is no more than text."""
    if row.startswith(("--- ", "+++ ")):
        _read_name(path, patch, row)
        return
    if row.startswith("diff --git "):
        if patch.git_row or patch.hunks:
            raise _several(path)
        patch.git_row = row
    for word, does in FORBIDDEN:
        if row.startswith(word):
            raise refused(path, f"got a patch that {does}", INSTEAD)
    for word in ("new file mode ", "deleted file mode "):
        if row.startswith(word):
            mode = row.removeprefix(word)
            if mode.startswith(("12", "16")):
                raise refused(path, "got a patch that makes or removes a link", INSTEAD)
            if word == "new file mode " and mode != "100644":
                raise refused(path, "got a patch that sets a file's mode", INSTEAD)
            patch.makes = patch.makes or word == "new file mode "
            patch.deletes = patch.deletes or word == "deleted file mode "
    if patch.hunks and row.strip():
        raise refused(path, f"has a line in its patch that is none: {row[:60]}", EDIT_INSTEAD)


def _read_name(path: str, patch: Patch, row: str) -> None:
    """A line `---` or `+++`; the two need not touch, since copying may double blank lines."""
    is_old = row.startswith("-")
    if patch.hunks or (patch.old if is_old else patch.new) is not None:
        raise _several(path)
    name = _checked_name(path, row)
    if is_old:
        patch.old = name
        patch.makes = patch.makes or name == NOWHERE
    else:
        patch.new = name
        patch.deletes = patch.deletes or name == NOWHERE


def _checked_name(path: str, row: str) -> str:
    """The file that a header line names. Raises Problem("refused") when it is another one."""
    name = _TIME.sub("", row[4:].partition("\t")[0].rstrip("\r ")).rstrip(" ")
    if name.startswith('"') and name.endswith('"') and len(name) > 1:
        name = _unquoted(name[1:-1])
    if name != NOWHERE and posixpath.basename(name) != posixpath.basename(path):
        raise _misnamed(path, name)
    return name


def _check_git_name(path: str, row: str) -> None:
    """Check the file that a line `diff --git` names: of its two names, the last."""
    names = row.removeprefix("diff --git ").rstrip("\r")
    quoted = re.search(r'"((?:[^"\\]|\\.)*)"$', names)
    name = _unquoted(quoted[1]) if quoted else names
    base = posixpath.basename(path)
    if name != base and not name.endswith((f"/{base}", f" {base}")):
        raise _misnamed(path, name)


def _misnamed(path: str, name: str) -> Problem:
    return refused(
        path,
        f"got a patch whose header names {visible(name) or 'nothing'}",
        "path: and the patch must mean the same file",
    )


def _unquoted(name: str) -> str:
    """A name as git quotes it: escapes for bytes, in octal, and for a few signs."""
    signs = {"n": b"\n", "t": b"\t", '"': b'"', "\\": b"\\", "r": b"\r", "a": b"\a", "b": b"\b",
             "f": b"\f", "v": b"\v"}  # fmt: skip

    def one(found: re.Match[bytes]) -> bytes:
        word = found[1].decode()
        return signs.get(word) or bytes([int(word, 8) & 255])

    data = re.sub(rb'\\([0-7]{3}|[ntrabfv"\\])', one, name.encode("utf-8", "surrogateescape"))
    return data.decode("utf-8", "replace")


def _read_hunk(path: str, patch: Patch, rows: list[str], position: int) -> int:
    """Add the hunk that begins at `position`; gives where the next line is."""
    found = _HUNK.match(rows[position])
    if found is None:
        raise refused(path, "has a hunk without line numbers", EDIT_INSTEAD)
    declared = (int(found[2] or 1), int(found[4] or 1))
    hunk = Hunk((int(found[1]), int(found[3])), declared, [])
    patch.hunks.append(hunk)
    body = hunk.rows
    position += 1
    old = new = empty = 0
    while position < len(rows):
        row = rows[position]
        is_full = (old, new) == declared
        if is_full and not row.startswith("\\"):
            if _is_signature(patch, rows[position:]):
                break
            if row.startswith("--- ") and "".join(rows[position + 1 : position + 2])[:4] == "+++ ":
                raise _several(path)
            if not row.strip() or not row.startswith((" ", "+", "-")):
                break
        if row.rstrip("\r") and row[:1] not in (" ", "+", "-", "\\"):
            break
        # an empty line stands for an empty line of context: its blank was lost
        empty = 0 if row.rstrip("\r") else empty + 1
        if empty:
            row = " " + row
        body.append(row)
        old += row[:1] in (" ", "-")
        new += row[:1] in (" ", "+")
        position += 1
    if empty and hunk.counts() != declared:
        # empty lines behind a hunk belong to the message, not to the patch
        del body[-empty:]
    return position


def _check_counts(path: str, patch: Patch) -> None:
    """Refuse a patch whose hunks do not hold what they declare, and name each that does not."""
    wrong = []
    for number, hunk in enumerate(patch.hunks, 1):
        counts = hunk.counts()
        if counts != hunk.declared:
            wrong.append(
                f"hunk {number} declares {hunk.declared[0]} old and {hunk.declared[1]} new lines"
                f" and holds {counts[0]} and {counts[1]}"
            )
    if wrong:
        raise refused(
            path,
            f"has a patch with wrong counts: {'; '.join(wrong)}",
            "lines may have been lost on the way; fix the counts after @@, or send an edit fence",
        )


def _check_ends(path: str, patch: Patch) -> None:
    """Refuse a line that says the file ends where more lines of the same side follow.

    git would join it with the next one.
    """
    ended: set[str] = set()
    for number, hunk in enumerate(patch.hunks, 1):
        sign = ""
        for row in hunk.rows:
            if row.startswith("\\"):
                ended |= {"-", "+"} if sign == " " else {sign}
                continue
            sign = row[:1] or " "
            if sign in ended or (sign == " " and ended):
                raise refused(
                    path,
                    f"ends, as hunk {number} says, and then goes on",
                    "“\\ No newline at end of file” stands below the very last line alone",
                )


def _applied(path: str, base: bytes | None, patch: Patch) -> bytes | None:
    with isolated.folder() as folder:
        target = os.path.join(folder, "file")
        if base is not None:
            files.write_plain(target, base)
        words = ["apply", "--whitespace=nowarn", "--verbose", "-p1", "-"]
        done = isolated.run(folder, words, _written(patch))
        if done.returncode != 0:
            raise _misfit(path, base, patch)
        if b"Skipped" in done.stderr:
            raise refused(path, "was skipped by git apply", EDIT_INSTEAD)
        if _MOVED.search(done.stderr) or not patch.agrees():
            _check_places(path, base or b"", patch)
        after = files.read(target)
    if after == base:
        raise refused(path, "would stay as it is: the patch changes nothing", EDIT_INSTEAD)
    if patch.deletes and after is not None:
        raise refused(path, "would not be empty after the patch that deletes it", EDIT_INSTEAD)
    if base is not None and after is not None:
        check_kept(path, base, after)
    return after


def _written(patch: Patch) -> bytes:
    """The patch as git gets it: under our own name for the file."""
    text = f"--- {NOWHERE if patch.makes else 'a/file'}\n"
    text += f"+++ {NOWHERE if patch.deletes else 'b/file'}\n"
    for hunk in patch.hunks:
        (old_start, new_start), (old, new) = hunk.starts, hunk.declared
        text += f"@@ -{old_start},{old} +{new_start},{new} @@\n"
        text += "".join(f"{row}\n" for row in hunk.rows)
    return text.encode("utf-8")


def _check_places(path: str, base: bytes, patch: Patch) -> None:
    """Refuse a hunk that fits in several places, where the line numbers tell nothing.

    They do not when one hunk was not where its number says: the others may fit at theirs by chance.
    """
    for number, hunk in enumerate(patch.hunks, 1):
        places = _places(base, hunk, PLACES + 1)
        if len(places) > 1:
            lines = ", ".join(str(base.count(b"\n", 0, place) + 1) for place in places[:PLACES])
            more = " and more" if len(places) > PLACES else ""
            raise refused(
                path,
                f"has several places where hunk {number} fits: lines {lines}{more}",
                "give more lines of context, or send an edit fence",
            )


def _places(base: bytes, hunk: Hunk, limit: int) -> list[int]:
    """Where in `base` the old lines of a hunk stand, whole lines each; at most `limit` places."""
    wanted = b"\n" + hunk.old_text().encode("utf-8")
    held = b"\n" + base
    places: list[int] = []
    place = held.find(wanted)
    while place >= 0 and len(places) < limit:
        if wanted.endswith(b"\n") or place + len(wanted) == len(held):
            places.append(place)
        place = held.find(wanted, place + 1)
    return places


def _misfit(path: str, base: bytes | None, patch: Patch) -> Problem:
    """Which hunk does not fit, and what the file has there instead."""
    data = base or b""
    for number, hunk in enumerate(patch.hunks, 1):
        places = _places(data, hunk, 1)
        if places:
            continue
        old = hunk.old_text()
        if _places(data + b"\n", hunk, 1):
            return refused(
                path,
                f"has no newline at its end, which hunk {number} takes for granted",
                "write “\\ No newline at end of file” below that line, or send an edit fence",
            )
        why = describe(data.decode("utf-8", "replace"), old.removesuffix("\n"))
        why = why.replace("old_string", f"hunk {number}")
        why = why.replace("send the edit again", "make the patch against it")
        return refused(path, f"does not hold the old lines of hunk {number}", why)
    if patch.deletes:
        return refused(
            path,
            "holds more than the lines that the patch deletes",
            "make the patch against it, or delete it with a file fence and op: delete",
        )
    for number, hunk in enumerate(patch.hunks, 1):
        place = _places(data, hunk, 1)[0]
        if hunk.starts[0] <= 1 and place:
            line = data.count(b"\n", 0, place) + 1
            return refused(
                path,
                f"does not begin with the old lines of hunk {number}: they are on line {line}",
                "fix the numbers after @@, or send an edit fence",
            )
        if not hunk.is_closed():
            return refused(
                path,
                f"has no place for hunk {number}: without context behind its last change it can"
                " only go to the end of the file",
                "give a line of context behind it, or send an edit fence",
            )
    return refused(
        path,
        "does not fit its patch: each hunk fits alone, but not all of them together",
        EDIT_INSTEAD,
    )
