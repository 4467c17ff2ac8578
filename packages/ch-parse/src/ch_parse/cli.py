"""The first step of the pipe: a copied text in, a run document out.

Reads standard input as bytes, mints the run id and the time, and fixes the working folder; what
the text asks for is decided by `ladder.parse`.
"""

from __future__ import annotations

import os
import sys

from ch_contract import clock, documents, places, problems, quiet_hashlib, tool
from ch_contract.problems import Problem

from . import ladder, payload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

    from ch_contract.messages import Payload, Run

USAGE = """\
usage: ch-parse [options] < text > run document

Say what a copied text asks for.

Reads a text and writes a run document whose `payload` holds the command, the file changes, the
goal action or the control trigger that the text asks for. A text that cannot be understood gives
a payload of kind malformed and a `problem` that names the line and what to do.

options:
  --trigger T     what started the run: explicit (default), watch or hook; under watch a text
                  without fence and header is ignored
  --session ID    bind a text that names no session to this one
  --cwd D         the folder to work in (default: the present one)
  --bare          the text is a command as it stands: look for no header and no fence
  --run-id R      use this run id instead of a new one
  --at TIME       when the text was captured (default: now)
  --exit-code     exit with the document's answer: 0 understood, 65 malformed or ignored,
                  1 refused
  --help          show this text
  --version       show the version
"""

FLAGS = {
    "--trigger": True,
    "--session": True,
    "--cwd": True,
    "--bare": False,
    "--run-id": True,
    "--at": True,
    "--exit-code": False,
    "--help": False,
    "--version": False,
}
TRIGGERS = ("explicit", "watch", "hook")

CHUNK = 1 << 20
# No character of UTF-8 takes more than four bytes, and three make the mark at the start.
MOST_BYTES = 4 * ladder.LIMIT + 3


class Captured:
    """The text as it arrived: its first bytes, and size and hash of all of them."""

    __slots__ = ("head", "sha256", "size")

    def __init__(self, stream: BinaryIO) -> None:
        digest = quiet_hashlib.sha256()
        self.head = b""
        self.size = 0
        while chunk := stream.read(CHUNK):
            digest.update(chunk)
            self.size += len(chunk)
            if len(self.head) <= MOST_BYTES:
                self.head += chunk
        self.sha256 = digest.hexdigest()

    def text(self) -> str:
        """The whole text. Raises Problem("malformed") when it is too long or not text."""
        if self.size > MOST_BYTES:
            raise Problem(
                "malformed",
                f"the text has {self.size:,} bytes; at most {ladder.LIMIT:,} characters are taken",
                "copy the block alone, or send it in parts",
            )
        try:
            return self.head.decode("utf-8")
        except UnicodeDecodeError as error:
            raise Problem(
                "malformed",
                f"the text is not UTF-8 at byte {error.start}",
                "copy it again as plain text",
                self.head.count(b"\n", 0, error.start) + 1,
            ) from None

    def is_bare(self) -> bool:
        """Whether nothing in what arrived says that it is meant for us."""
        return ladder.is_bare(self.head[:MOST_BYTES].decode("utf-8", "replace"))


def _understand(captured: Captured, trigger: str, session: str | None, *, bare: bool) -> Payload:
    """The payload of the text under this trigger. Raises Problem("malformed")."""
    try:
        text = captured.text()
        found = ladder.bare(text, session) if bare else ladder.parse(text, session)
    except Problem:
        # whatever a person copies passes by here: what is not meant for us is none of our business
        if trigger == "watch" and (bare or captured.is_bare()):
            return payload.ignored("nothing in this text is meant for the harness")
        raise
    if trigger == "watch" and found["form"] == "bare":
        return payload.ignored("a text without fence and header runs only when asked for by hand")
    return found


def _working_folder(given: str | None) -> str:
    """`--cwd` or the present folder, absolute. Raises Problem("usage") or Problem("system")."""
    if given is not None and not given:
        raise Problem("usage", "--cwd needs the name of a folder")
    try:
        folder = os.path.join(os.getcwd(), given or "")
    except OSError as error:
        if given is None or not os.path.isabs(given):
            raise problems.refusal(error, "find", "the present folder") from None
        folder = given
    return _readable(_normal(folder))


def _readable(path: str) -> str:
    """`path` if it can stand in a document. Raises Problem("system")."""
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        raise Problem(
            "system",
            f"the name of a folder is not UTF-8: {path!r}",
            "work in a folder with a plain name",
        ) from None
    return path


def _normal(path: str) -> str:
    """`path` without `.`, `..` and doubled slashes, as text alone."""
    normal = os.path.normpath(path)
    return normal[1:] if normal.startswith("//") else normal


def _effective_folder(base: str, header: str | None) -> str:
    """The folder the payload works in: its `cwd:`, seen from `base`."""
    if header is None:
        return base
    return _readable(_normal(os.path.join(base, os.path.expanduser(header))))


def _checked(flags: tool.Flags, name: str, ref: str) -> str | None:
    """The value of a flag that must satisfy a part of a schema. Raises Problem("usage")."""
    value = tool.text_flag(flags, name)
    if value is not None:
        documents.check(value, ref, name, kind="usage")
    return value


def _document(flags: tool.Flags, streams: tool.Streams) -> Run:
    """The run document for the text on standard input.

    Raises Problem("usage") for a bad flag, Problem("system") without a folder to work in.
    """
    run_id = _checked(flags, "--run-id", "run.schema.json#/properties/run_id")
    at = _checked(flags, "--at", "run.schema.json#/properties/captured/properties/at")
    session = _checked(
        flags, "--session", "payload.schema.json#/properties/control/properties/session"
    )
    trigger = tool.text_flag(flags, "--trigger") or "explicit"
    if trigger not in TRIGGERS:
        raise Problem("usage", f"--trigger knows no {trigger!r}", f"one of: {', '.join(TRIGGERS)}")
    base = _working_folder(tool.text_flag(flags, "--cwd"))
    captured = Captured(streams.stdin)
    document: Run = {
        "format": "clip-harness/run@1",
        "run_id": run_id or clock.run_id(),
        "cwd": base,
        "project": None,
        "trigger": trigger,
        "captured": {
            "at": at or clock.now(),
            "sha256": captured.sha256,
            "bytes": captured.size,
        },
        "payload": payload.malformed(),
    }

    def work() -> None:
        found = _understand(captured, trigger, session, bare=bool(flags.get("--bare")))
        document["payload"] = found
        document["cwd"] = _effective_folder(base, found["metadata"]["cwd"])
        _refuse_other_session(found, session)

    tool.attempt("ch-parse", document, streams, work)
    project = places.project_root(document["cwd"])
    document["project"] = None if project is None else _readable(project)
    return document


def _refuse_other_session(found: Payload, session: str | None) -> None:
    control = found["control"]
    named = control["session"] if control else found["metadata"]["session"]
    if session is not None and named not in (None, session):
        raise Problem(
            "refused",
            f"the text names the session {named}, and this run is bound to {session}",
            "start it without --session, or copy the block of that session",
        )


def main(argv: list[str], streams: tool.Streams) -> int:
    """Run the tool with these arguments and streams; gives the exit code."""

    def body() -> int:
        flags, words = tool.parse_flags(argv, FLAGS)
        if tool.information("ch-parse", flags, streams, USAGE):
            return problems.OK
        if words:
            raise Problem("usage", f"unexpected word {words[0]!r}", "see --help")
        document = _document(flags, streams)
        documents.write_run(streams.stdout, document, "parsed")
        return problems.answer(document) if flags.get("--exit-code") else problems.OK

    return tool.guarded("ch-parse", argv, streams, body)


def main_process() -> None:
    """The installed command."""
    sys.exit(main(sys.argv[1:], tool.own_streams()))
