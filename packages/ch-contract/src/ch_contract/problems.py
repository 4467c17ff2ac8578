"""Problems and exit codes.

Decides how a failure is named and which exit code it means. Leaves to the tools what fails.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .messages import ProblemSection, Run

# Decisions that let nothing happen.
TURNING_DOWN = frozenset({"reject", "cancelled"})

OK = 0
NO = 1
BLOCKED = 2
PENDING = 3
USAGE = 64
DATA = 65
BUG = 70
SYSTEM = 74
BUSY = 75
INTERRUPTED = 130

CODES = {
    "usage": USAGE,
    "document": DATA,
    "malformed": DATA,
    "ignored": DATA,
    "settings": DATA,
    "refused": NO,
    "unsupported": NO,
    "system": SYSTEM,
    "busy": BUSY,
    "bug": BUG,
    "interrupted": INTERRUPTED,
}


class Problem(Exception):
    """A failure that a person or a model can act on.

    `kind` is one of `CODES`; `message` is one sentence that names the thing; `hint` says what to
    do next; `line` is the line of the text it concerns, counted from 1.
    """

    __slots__ = ("hint", "is_told", "kind", "line", "message")

    def __init__(
        self, kind: str, message: str, hint: str | None = None, line: int | None = None
    ) -> None:
        super().__init__(message)
        if kind not in CODES:
            raise ValueError(f"unknown kind of problem: {kind}")
        self.kind = kind
        self.message = message
        self.hint = hint
        self.line = line
        # whoever met it has said so already
        self.is_told = False

    @property
    def code(self) -> int:
        """The exit code of this kind."""
        return CODES[self.kind]

    def section(self, tool: str) -> ProblemSection:
        """The `problem` section of a document, as `tool` adds it."""
        return {
            "tool": tool,
            "kind": self.kind,
            "message": _unicode(self.message),
            "hint": None if self.hint is None else _unicode(self.hint),
            "line": self.line,
        }


def _unicode(text: str) -> str:
    """`text` with the bytes of a file name that are not UTF-8 written as escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def sentence(problem: ProblemSection) -> str:
    """One line for a terminal: what, where, what to do.

    A name in it may come from a stranger; what would work on the terminal is shown escaped.
    """
    where = f" (line {problem['line']})" if problem["line"] else ""
    hint = f" — {problem['hint']}" if problem["hint"] else ""
    return visible(" ".join(f"{problem['message']}{where}{hint}".split()))


def visible(text: str) -> str:
    """`text` for a terminal: what works on it, hides or turns text around is shown escaped."""
    if not text.isprintable():
        text = "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)
    if text.isascii():
        return text
    from .unseen import escaped

    return escaped(text)


def refusal(error: OSError, act: str, path: str) -> Problem:
    """The problem that an operating-system error means; `act` is a verb: "write", "read"."""
    import errno

    hints = {
        errno.ENOSPC: "free some space on that disk, then try again",
        errno.EDQUOT: "the quota is used up; free some space, then try again",
        errno.EROFS: "that disk is read-only; set state_dir in your settings to another folder",
        errno.EACCES: "check who owns it and its mode",
        errno.EPERM: "check who owns it and its mode",
        errno.ENOENT: "check that the folder exists",
        errno.ELOOP: "a symbolic link stands there; put the file itself in its place",
    }
    reason = error.strerror or type(error).__name__
    return Problem("system", f"cannot {act} {path}: {reason}", hints.get(error.errno or 0))


def answer(document: Run) -> int:
    """The exit code that `--exit-code` gives: what the document says, as a number.

    0 allowed or succeeded, 1 no, 3 waiting for a person; a problem has the code of its kind.
    """
    problem = document.get("problem")
    if problem is not None:
        return CODES[problem["kind"]]
    if document["payload"]["kind"] == "ignored":
        return DATA
    verdict = document.get("verdict")
    if verdict is not None and verdict["decision"] == "deny":
        return NO
    decisions = document.get("decisions") or []
    if any(entry["decision"] in TURNING_DOWN for entry in decisions):
        return NO
    applied = document.get("applied")
    if applied is not None:
        outcomes = [entry["outcome"] for entry in applied["entries"]]
        if applied["rolled_back"] or "FAILED" in outcomes:
            return NO
    result = document.get("result")
    if result is not None:
        return OK if result["exit_code"] == 0 else NO
    if any(entry["status"] == "pending" for entry in document.get("candidates") or []):
        return PENDING
    if verdict is not None and verdict["decision"] == "ask" and not decisions:
        return PENDING
    return OK
