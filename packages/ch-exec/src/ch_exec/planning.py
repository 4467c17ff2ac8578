"""Whether a judged document has a command to run, and how it would be run.

Pure. It trusts no earlier stage: the verdict must speak of this very command, and an acceptance
must carry its hash. How a process is started is left to the backend.
"""

from __future__ import annotations

from ch_contract.problems import TURNING_DOWN, Problem
from ch_contract.quiet_hashlib import hexdigest
from ch_contract.shells import resolve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ch_contract.messages import Decision, Result, Run
    from ch_contract.settings import Settings

FOREIGN = frozenset({"control", "ignored", "malformed"})
ACCEPTING = frozenset({"accept", "accept-unsandboxed", "always-allow", "allow-for-session"})
GUARDED = (
    ("goal", "goal"),
    ("expect_revision", "expect-revision"),
    ("action_id", "action-id"),
)


class Plan:
    """One command, ready to be run.

    `command` is the shell text, `timeout` is in seconds, `approval` is the decision it runs
    under and `approval_id` the candidate that was decided on (None when the gate allowed it by
    itself).
    """

    __slots__ = (
        "approval",
        "approval_id",
        "command",
        "cwd",
        "dialect",
        "run_id",
        "session",
        "shell",
        "timeout",
        "writes",
    )

    def __init__(
        self,
        *,
        run_id: str,
        command: str,
        cwd: str,
        shell: str,
        dialect: str,
        timeout: int,
        session: str | None = None,
        approval: str | None = None,
        approval_id: str | None = None,
        writes: list[str] | None = None,
    ) -> None:
        self.run_id = run_id
        self.command = command
        self.cwd = cwd
        self.shell = shell
        self.dialect = dialect
        self.timeout = timeout
        self.session = session
        self.approval = approval
        self.approval_id = approval_id
        self.writes = writes


class Unfollowed(Problem):
    """The command was started, and could not be followed to its end.

    `result` tells how it ended: of itself, or because it was ended.
    """

    __slots__ = ("result",)

    def __init__(self, result: Result, cause: Exception, hint: str) -> None:
        is_system = isinstance(cause, OSError)
        reason = cause.strerror if isinstance(cause, OSError) else None
        super().__init__(
            "system" if is_system else "bug",
            "the command was started, and could not be followed to its end:"
            f" {reason or type(cause).__name__}",
            hint,
        )
        self.result = result


def is_foreign(document: Run) -> bool:
    """Whether there is nothing in `document` for ch-exec to do."""
    payload = document["payload"]
    if payload["kind"] == "goal":
        # guarded, or done already; without either nobody would notice that nothing was done
        return "standing" in document or "result" in document
    return (
        payload["kind"] in FOREIGN
        or payload["command"] is None
        or document["verdict"]["decision"] == "deny"
    )


def permitted(document: Run) -> bool:
    """Whether the command may run now; False when it still waits, or was turned down.

    Raises Problem("refused") when the document does not add up, or asks for what ch-exec does not
    do, Problem("system") for an acceptance that only holds inside a sandbox.
    """
    if document["payload"]["kind"] == "goal":
        raise Problem(
            "refused",
            f"the action {document['payload']['metadata']['action']} needs ch-goal, and none"
            " stands in the pipe",
            "nothing was done; put `ch-goal guard` before ch-gate and `ch-goal` after ch-exec",
        )
    command = document["payload"]["command"]
    spoken = [
        part
        for part in document["verdict"]["parts"]
        if part["kind"] == "command" and part["subject"] == command
    ]
    parts = [part["decision"] for part in spoken]
    if not parts:
        raise Problem(
            "refused",
            "the verdict does not speak of this command",
            "nothing was run; let ch-gate judge the document again",
        )
    _check_guard(document)
    is_held = parts != ["allow"] * len(parts)
    is_turned_down = any(entry["decision"] not in ACCEPTING for entry in _decisions(document))
    if document["verdict"]["decision"] == "allow" and (is_held or is_turned_down):
        raise Problem(
            "refused",
            "the verdict allows the payload, but its command is held back or was turned down",
            "nothing was run; let ch-gate judge the document again",
        )
    is_final = any(part["decision"] != "allow" and not part["reviewable"] for part in spoken)
    if is_final and not is_turned_down and _decisions(document):
        raise Problem(
            "refused",
            "the command was accepted, but the verdict leaves nothing to accept",
            "nothing was run; let ch-gate judge the document again",
        )
    if "deny" in parts or is_turned_down or _changes_are_open(document):
        return False
    if is_held and not _accepted(document):
        return False
    _check_changes(document)
    return True


def approval(document: Run) -> Decision | None:
    """The decision the command runs under; None when nobody was asked."""
    if document["verdict"]["decision"] == "allow":
        return None
    decisions = _decisions(document)
    return decisions[-1] if decisions else None


def _decisions(document: Run) -> list[Decision]:
    """What was decided about the command, by its hash."""
    command = document["payload"]["command"]
    digest = hexdigest((command or "").encode())
    return [entry for entry in document.get("decisions", ()) if entry["subject_sha256"] == digest]


def _accepted(document: Run) -> bool:
    """Whether a command that nobody turned down was accepted."""
    decisions = _decisions(document)
    if not decisions:
        return False
    if decisions[-1]["decision"] != "accept-unsandboxed":
        raise Problem(
            "system",
            "the command was accepted for a sandbox, and this version has none",
            "nothing was run; copy it again and accept it unsandboxed if it may run without one",
        )
    return True


def _changes_are_open(document: Run) -> bool:
    """Whether the file changes that come first still wait for a decision, or were turned down."""
    changes = [entry for entry in document.get("candidates", ()) if entry["kind"] == "changes"]
    names = {entry["candidate_id"] for entry in changes}
    turned_down = any(
        entry["candidate_id"] in names and entry["decision"] in TURNING_DOWN
        for entry in document.get("decisions", ())
    )
    return turned_down or any(entry["status"] == "pending" for entry in changes)


def _check_guard(document: Run) -> None:
    if "standing" in document:
        return
    for key, header in GUARDED:
        if document["payload"]["metadata"].get(key) is not None:
            raise Problem(
                "refused",
                f"no guard has looked at the header {header}: of this payload",
                "nothing was run; put `ch-goal guard` before ch-gate",
            )


def _check_changes(document: Run) -> None:
    """A command that comes with file changes runs after at least one of them, or not at all."""
    if not document["payload"]["changes"]:
        return
    applied = document.get("applied")
    outcomes = [entry["outcome"] for entry in applied["entries"]] if applied is not None else []
    hint = "let ch-stage apply them first"
    if applied is None or not outcomes or applied["rolled_back"]:
        message = "the file changes of this payload were not applied, so its command was not run"
    elif "FAILED" in outcomes:
        message = "a file change of this payload failed, so its command was not run"
    elif outcomes == ["REJECTED"] * len(outcomes):
        message = "all file changes of this payload were rejected, so its command was not run"
        hint = "send the command alone if it may run without them"
    else:
        return
    raise Problem("refused", message, hint)


def plan(document: Run, settings: Settings, login: str) -> Plan:
    """How the permitted command of `document` is run; `login` is the user's login shell.

    Raises Problem("refused") when the shell that would run it speaks another language than the
    one it was judged in, or when no shell can be given this text.
    """
    payload = document["payload"]
    command = payload["command"] or ""
    if "\0" in command:
        raise Problem("refused", "the command holds a NUL character", "copy it again")
    shell = resolve(settings.get("shell"), login)
    judged = document["verdict"]["dialect"]
    if shell.dialect != judged:
        raise Problem(
            "refused",
            f"the command was judged as {judged}, but {shell.path} reads {shell.dialect}",
            "nothing was run; use one shell setting for ch-gate and ch-exec",
        )
    metadata = payload["metadata"]
    decision = approval(document)
    unsandboxed = decision is not None and decision["decision"] == "accept-unsandboxed"
    if unsandboxed and settings["shell_sandbox"] == "strict":
        raise Problem(
            "refused",
            "shell_sandbox is strict, so nothing may run unsandboxed",
            "nothing was run; accept it sandboxed, or reject it",
        )
    return Plan(
        run_id=document["run_id"],
        command=command,
        cwd=document["cwd"],
        shell=shell.path,
        dialect=shell.dialect,
        timeout=metadata["timeout"] or settings["timeout"],
        session=metadata["session"],
        approval=decision["decision"] if decision is not None else None,
        approval_id=decision["candidate_id"] if decision is not None else None,
        writes=metadata["writes"],
    )
