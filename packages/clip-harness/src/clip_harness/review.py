"""What a review shows, and what each key of it means.

Pure: rows of text with the name of a style, and keys with what they ask for. The prompt puts them
on a terminal; whatever is decided is recorded by others. Nothing of a candidate reaches the
terminal as it is: what hides, steers or turns text around is shown escaped.
"""

from __future__ import annotations

import re

from ch_contract.problems import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    # a style's name and a line of text
    Row = tuple[str, str]

DIFF_LINES = 80
DIFF_CHARS = 6000
PLAIN, TITLE, ADDED, REMOVED, HUNK, NOTE, KEYS = (
    "plain",
    "title",
    "added",
    "removed",
    "hunk",
    "note",
    "keys",
)
# A line that goes on: no row of its own starts so, whatever a file or a command says.
CONTINUED = "↳ "
LEAST_WIDTH = 10
# Bytes that were no UTF-8, each as one character.
_NO_UTF8 = re.compile("[\udc80-\udcff]")
NO_SANDBOX = "this version has no sandbox yet, so it cannot run that way"


class Entry:
    """One changed file of a candidate; `diff` is the whole unified diff, raw."""

    __slots__ = (
        "actual_op",
        "candidate_path",
        "declared_op",
        "diff",
        "diff_path",
        "lines_added",
        "lines_removed",
        "live_path",
        "mismatch",
        "path",
    )

    def __init__(
        self,
        *,
        path: str,
        actual_op: str,
        declared_op: str,
        mismatch: bool,
        lines_added: int,
        lines_removed: int,
        diff: bytes,
        diff_path: str,
        live_path: str,
        candidate_path: str | None,
    ) -> None:
        self.path = path
        self.actual_op = actual_op
        self.declared_op = declared_op
        self.mismatch = mismatch
        self.lines_added = lines_added
        self.lines_removed = lines_removed
        self.diff = diff
        self.diff_path = diff_path
        self.live_path = live_path
        self.candidate_path = candidate_path


class Subject:
    """What is decided on: the files of a candidate, or its command."""

    __slots__ = (
        "candidate_id",
        "command",
        "cwd",
        "dir",
        "entries",
        "has_command_after",
        "has_sandbox",
        "is_strict",
        "kind",
        "notes",
        "offer",
        "offer_place",
        "protected",
        "reason",
        "session",
        "timeout",
        "writes",
    )

    def __init__(
        self,
        *,
        candidate_id: str,
        kind: str,
        dir: str,  # noqa: A002 - the field's name in every document
        entries: list[Entry],
        command: str | None,
        cwd: str,
        session: str | None,
        timeout: int | None,
        reason: str | None,
        writes: list[str] | None,
        protected: list[str],
        is_strict: bool,
        has_sandbox: bool,
        offer: str | None,
        offer_place: str | None,
        notes: list[str],
        has_command_after: bool,
    ) -> None:
        self.candidate_id = candidate_id
        self.kind = kind
        self.dir = dir
        self.entries = entries
        self.command = command
        self.cwd = cwd
        self.session = session
        self.timeout = timeout
        self.reason = reason
        self.writes = writes
        self.protected = protected
        self.is_strict = is_strict
        self.has_sandbox = has_sandbox
        self.offer = offer
        self.offer_place = offer_place
        self.notes = notes
        self.has_command_after = has_command_after


class Choice:
    """What the person chose; `decision` is None when they put it off.

    `edited` is a folder with the edited files, named 1, 2, … by the place of their entry.
    """

    __slots__ = ("accepted_files", "by", "decision", "edited", "reason")

    def __init__(
        self,
        decision: str | None,
        *,
        reason: str | None = None,
        accepted_files: list[str] | None = None,
        edited: str | None = None,
        by: str = "terminal",
    ) -> None:
        self.decision = decision
        self.reason = reason
        self.accepted_files = accepted_files
        self.edited = edited
        self.by = by


LATER = "l"


def folded(text: str, width: int) -> list[str]:
    """`text` as lines of at most `width` columns, all but the first marked; nothing is lost.

    Only for ASCII is it certain how wide a terminal draws it, so anything else counts as two
    columns: a line that the terminal broke by itself could start like a row of ours.
    """
    rows: list[str] = []
    start = 0
    while True:
        mark = CONTINUED if rows else ""
        left = max(width, LEAST_WIDTH) - sum(map(_columns, mark))
        end = start
        while end < len(text) and (left := left - _columns(text[end])) >= 0:
            end += 1
        if end == len(text):
            return [*rows, mark + text[start:]]
        blank = text.rfind(" ", start, end)
        if blank > (start + end) // 2:
            end = blank + 1
        rows.append(mark + text[start:end])
        start = end


def _columns(sign: str) -> int:
    return 1 if sign.isascii() else 2


def keys(subject: Subject, *, has_code: bool, edited: int = 0) -> list[tuple[str, str]]:
    """The keys that may be pressed, each with what it does; `edited` counts edited files."""
    if subject.kind == "command":
        found = [("a", "accept, sandboxed" + ("" if subject.has_sandbox else f" ({NO_SANDBOX})"))]
        if not subject.is_strict:
            found.append(("u", "accept, unsandboxed"))
        if subject.offer is not None:
            later = "" if subject.has_sandbox else ", from the next time on"
            found.append(("w", f"always allow {visible(subject.offer)}{later}"))
        # without a sandbox it would fail each time, and nobody would be asked any more
        if subject.session is not None and subject.has_sandbox:
            found.append(("g", f"allow for session {visible(subject.session)}"))
    else:
        count = len(subject.entries)
        what = "the file" if count == 1 else f"all {count} files"
        found = [("a", f"accept {what}" + (f", {edited} of them edited" if edited else ""))]
        if count > 1:
            found.append(("s", "choose files"))
        found += [("v", "view the whole diffs"), ("e", "edit")]
        if has_code:
            found.append(("c", "open in VS Code"))
    return [*found, ("r", "reject"), (LATER, "later"), ("?", "show it again")]


def key_rows(found: list[tuple[str, str]], width: int) -> list[Row]:
    """The keys, as lines of at most `width` columns where they fit; none is torn apart."""
    rows: list[str] = []
    for key, does in found:
        item = f"[{key}] {does}"
        if rows and len(rows[-1]) + 2 + len(item) < width:
            rows[-1] += f"  {item}"
        else:
            rows.append(item)
    return [(KEYS, row) for row in rows]


def surface(subject: Subject) -> list[Row]:
    """What is shown before anything is asked."""
    return _of_command(subject) if subject.kind == "command" else _of_changes(subject)


def _of_changes(subject: Subject) -> list[Row]:
    count = len(subject.entries)
    files = f"{count} {'file' if count == 1 else 'files'}"
    rows: list[Row] = [(TITLE, visible(f"{files} to change in {subject.cwd}"))]
    rows += [(PLAIN, manifest_line(entry)) for entry in subject.entries]
    rows += [(NOTE, f"note: {visible(note)}") for note in subject.notes]
    if subject.has_command_after:
        rows.append((NOTE, "note: a command of the same message comes after these files"))
    for entry in subject.entries:
        rows.append((TITLE, f"── {path_of(entry)} ({entry.actual_op})"))
        rows += diff_rows(entry)
    return rows


def manifest_line(entry: Entry) -> str:
    """Such as `UPDATE    src/a.py  +3 -1`."""
    declared = f"  declared {entry.declared_op}" if entry.mismatch else ""
    counts = f"+{entry.lines_added} -{entry.lines_removed}"
    return f"  {entry.actual_op:<9} {path_of(entry)}  {counts}{declared}"


def path_of(entry: Entry) -> str:
    """The path of an entry; in quotes where its blanks could be taken for ours."""
    path = visible(entry.path)
    return f'"{path}"' if "  " in path or path != path.strip(" ") else path


def diff_rows(entry: Entry, *, is_whole: bool = False) -> list[Row]:
    """The diff of a file, from its first hunk on; cut where it is long, with where the rest is."""
    lines = entry.diff.decode("utf-8", "surrogateescape").removesuffix("\n").split("\n")
    # a candidate of 0.3.0 may have other lines there, or no diff
    has_head = entry.diff.startswith(b"--- ") and b"\n+++ " in entry.diff
    body = [line for line in lines[2 if has_head else 0 :] if line]
    if not body and (has_head or entry.actual_op == "NO-CHANGE"):
        return [(NOTE, "the same as it is" if entry.actual_op == "NO-CHANGE" else "an empty file")]
    if not body or (has_head and body[0].startswith("Binary file")):
        said = shown(body[0]) if body else "no diff of it was kept"
        where = visible(entry.candidate_path or entry.live_path)
        return [(NOTE, f"{said}; look into {where} before you accept it")]
    changed = [line for line in body if line[:1] in (" ", "+", "-")]
    has_crlf = bool(changed) and all(line.endswith("\r") for line in changed)
    rows = [(NOTE, "its lines end with CRLF")] if has_crlf else []
    room = DIFF_CHARS
    for number, line in enumerate(body):
        row = _diff_row(line.removesuffix("\r") if has_crlf else line)
        room -= len(row[1]) + 1
        if not is_whole and (number >= DIFF_LINES or room < 0):
            hidden = len(body) - number
            word = "line" if hidden == 1 else "lines"
            said = f"… {hidden} more {word} — full diff in {entry.diff_path}"
            return [*rows, (NOTE, visible(said))]
        rows.append(row)
    return rows


def _diff_row(line: str) -> Row:
    style = {"+": ADDED, "-": REMOVED, "@": HUNK}.get(line[:1], PLAIN)
    return style, shown(line)


def shown(line: str) -> str:
    """A line of a file for a terminal: no byte that is no text, blanks at its end seen."""
    kept = line.rstrip(" \t") if line[:1] in ("+", "-") else line
    tail = line[len(kept) :].replace(" ", "·").replace("\t", "→")
    # what was no UTF-8 is one escape a byte
    text = _NO_UTF8.sub(lambda found: f"\\x{ord(found[0]) - 0xDC00:02x}", kept)
    return "\t".join(visible(part) for part in text.split("\t")).expandtabs(8) + tail


def _of_command(subject: Subject) -> list[Row]:
    first, *more = (subject.command or "").removesuffix("\n").split("\n")
    scope = [f"{subject.cwd} and the temporary folder", *(subject.writes or ())]
    rows: list[Row] = [
        (TITLE, visible(f"a command to run in {subject.cwd}")),
        (PLAIN, f"$ {shown(first)}"),
        *((PLAIN, f"> {shown(line)}") for line in more),
        (NOTE, f"why it waits: {visible(subject.reason or 'it needs a decision')}"),
        (NOTE, f"session: {visible(subject.session or 'none')}"),
        (NOTE, f"timeout: {'as set' if subject.timeout is None else f'{subject.timeout} s'}"),
        (NOTE, visible(f"sandboxed it may write: {', '.join(scope)}")),
        (NOTE, visible(f"and never: {', '.join(subject.protected) or 'nothing is named'}")),
    ]
    return rows + [(NOTE, f"note: {visible(note)}") for note in subject.notes]
