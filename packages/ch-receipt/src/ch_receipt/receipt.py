"""What a ledger line says about a run: hashes and metadata, never the bytes themselves.

Pure. Payload and output lie in `runs/<id>/` and may be pruned; their hashes stay here.
"""

from __future__ import annotations

from ch_contract.quiet_hashlib import hexdigest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ch_contract.messages import Run, RunRecord, Verdict

    Line = dict[str, Any]

FIELDS = (
    "run_id", "session", "trigger", "cwd", "project", "payload", "command_sha256", "verdict",
    "review", "result", "problem", "pinned", "damage", "note",
)  # fmt: skip
# An end lasts until a run that waited for a person is taken up again.
END_EVENTS = frozenset(
    {"PreRun", "ReviewPending", "PostRun", "PostRunFailure", "RunClosed", "RunIndeterminate"}
)
WAITING = "ReviewPending"
RESUMED = "RunResumed"
COUNTED = {
    "NEW": "new",
    "UPDATED": "updated",
    "DELETED": "deleted",
    "NO-CHANGE": "unchanged",
    "REJECTED": "rejected",
    "FAILED": "failed",
}

# In the worst case each character takes six bytes, and a line stays below ledger.LINE_LIMIT.
PATH_CHARS = 800
NAME_CHARS = 100
SENTENCE_CHARS = 300


def entry(event: str, at: str, **fields: object) -> Line:
    """A line without its place in the chain; fields that are not given are null."""
    line: Line = {"at": at, "event": event, **dict.fromkeys(FIELDS)}
    line.update(fields)
    return line


def bounded(text: str, limit: int) -> str:
    """`text`, or its first `limit` characters and the hash of the whole.

    What cannot be written as UTF-8 (half a surrogate pair, from a file name that is no text) is
    shown by a backslash escape.
    """
    data = text.encode("utf-8", "backslashreplace")
    if len(text) <= limit:
        return data.decode("utf-8")
    cut = text[:limit].encode("utf-8", "backslashreplace").decode("utf-8")[:limit]
    return f"{cut}… (sha256 {hexdigest(data)})"


def _maybe(text: str | None, limit: int) -> str | None:
    return None if text is None else bounded(text, limit)


def event_of(document: Run) -> str:
    """The event that a run document's end is."""
    result = document.get("result")
    problem = document.get("problem")
    applied = document.get("applied")
    if problem is None and any(c["status"] == "pending" for c in document.get("candidates", ())):
        return WAITING
    if result is not None:
        succeeded = result["exit_code"] == 0 and not result["timed_out"] and not result["cancelled"]
        return "PostRun" if succeeded and problem is None else "PostRunFailure"
    if applied is not None:
        failed = applied["rolled_back"] or any(e["outcome"] == "FAILED" for e in applied["entries"])
        return "PostRunFailure" if failed or problem is not None else "PostRun"
    if problem is not None:
        # a command that was allowed and could not be started is a failed run
        return "PostRunFailure" if problem["tool"] == "ch-exec" else "PreRun"
    if document["payload"]["kind"] in ("control", "goal"):
        return "RunClosed"
    return "PreRun"


def end_of(document: Run, at: str) -> Line:
    """The end receipt of a run document."""
    payload = document["payload"]
    command = payload["command"]
    verdict = document.get("verdict")
    result = document.get("result")
    problem = document.get("problem")
    return entry(
        event_of(document),
        at,
        run_id=document["run_id"],
        session=payload["metadata"]["session"],
        trigger=document["trigger"],
        cwd=bounded(document["cwd"], PATH_CHARS),
        project=_maybe(document["project"], PATH_CHARS),
        payload={
            "sha256": document["captured"]["sha256"],
            "bytes": document["captured"]["bytes"],
            "kind": payload["kind"],
            "form": payload["form"],
            "repairs": list(dict.fromkeys(payload["repairs"])),
        },
        command_sha256=hexdigest(command.encode("utf-8")) if command is not None else None,
        verdict=_verdict(verdict) if verdict is not None else None,
        review=_review(document),
        result={
            "exit_code": result["exit_code"],
            "signal": result["signal"],
            "duration_ms": result["duration_ms"],
            "timed_out": result["timed_out"],
            "cancelled": result["cancelled"],
            "output_sha256": result["output_sha256"],
            "output_bytes": result["output_bytes"],
            "output_chars": result["output_chars"],
            "shell": _maybe(result["shell"], NAME_CHARS),
            "backend": bounded(result["backend"], NAME_CHARS),
            "sandbox": result["sandbox"],
            "approval": result["approval"],
            "processes_ended": result["processes_ended"],
        }
        if result is not None
        else None,
        problem={
            "tool": bounded(problem["tool"], NAME_CHARS),
            "kind": problem["kind"],
            "message": bounded(problem["message"], SENTENCE_CHARS),
        }
        if problem is not None
        else None,
    )


def _verdict(verdict: Verdict) -> Line:
    """The decision and the rule that made it: that of the first part as strict as the whole."""
    deciding = next((p for p in verdict["parts"] if p["decision"] == verdict["decision"]), None)
    rule = deciding["rule"] if deciding is not None else None
    return {
        "decision": verdict["decision"],
        "rule": _maybe(rule, NAME_CHARS),
        "source": deciding["source"] if deciding is not None else None,
        "settings_digest": verdict["settings"]["digest"],
    }


def _review(document: Run) -> list[Line] | None:
    """Each candidate and what was decided on it; None when there was none."""
    applied = document.get("applied")
    decisions = {entry["candidate_id"]: entry for entry in document.get("decisions", ())}
    rows: list[Line] = []
    for found in document.get("candidates", ()):
        decision = decisions.get(found["candidate_id"])
        files = None
        if applied is not None and found["kind"] == "changes":
            files = dict.fromkeys(COUNTED.values(), 0)
            for entry in applied["entries"]:
                files[COUNTED[entry["outcome"]]] += 1
        rows.append(
            {
                "candidate_id": found["candidate_id"],
                "kind": found["kind"],
                "decision": decision["decision"] if decision is not None else None,
                "by": decision["by"] if decision is not None else None,
                "subject_sha256": decision["subject_sha256"] if decision is not None else None,
                "files": files,
            }
        )
    return rows or None


def captured(
    at: str, run_id: str, *, session: str | None, trigger: str, cwd: str, sha256: str, size: int
) -> Line:
    """The line of a captured text of `size` bytes."""
    payload = {"sha256": sha256, "bytes": size, "kind": None, "form": None, "repairs": []}
    return entry(
        "PayloadCaptured",
        at,
        run_id=run_id,
        session=session,
        trigger=trigger,
        cwd=bounded(cwd, PATH_CHARS),
        payload=payload,
    )


def config_change(at: str, *, folder: str, note: str) -> Line:
    """The line that settings, or what is trusted of them, change in `folder`; `note` says how."""
    return entry("ConfigChange", at, cwd=bounded(folder, PATH_CHARS), note=note)


def happened(
    at: str, event: str, run_id: str, *, cwd: str, note: str, session: str | None = None
) -> Line:
    """The line of something that happened to a run after its end, or that goes on with it."""
    where = bounded(cwd, PATH_CHARS)
    return entry(event, at, run_id=run_id, session=session, cwd=where, note=note)


def _decided(line: Line) -> str | None:
    """What a person decided, or what waits for them; None when nobody was asked."""
    review = line["review"]
    if not review:
        return None
    last = review[-1]
    if last["decision"] is None:
        return f"waits for a review · {last['candidate_id']}"
    if last["decision"] == "reject":
        return "rejected"
    files = next((row["files"] for row in review if row["files"] is not None), None)
    if files is None:
        return str(last["decision"])
    told = [f"{count} {name}" for name, count in files.items() if count]
    return " · ".join([last["decision"], *told])


def status(line: Line) -> str:
    """What a line tells, in a few words."""
    result, verdict, problem = line["result"], line["verdict"], line["problem"]
    if result is not None:
        return f"{outcome(result)} · {seconds(result['duration_ms'])}"
    if problem is not None:
        return f"{problem['kind']}: {problem['message']}"
    if line["damage"] is not None:
        return str(line["damage"]["kind"])
    decided = _decided(line)
    if decided is not None:
        return decided
    if line["event"] == "PayloadCaptured":
        return f"{line['payload']['bytes']} bytes"
    if verdict is not None and verdict["decision"] != "allow":
        word = {"deny": "denied", "ask": "held"}[verdict["decision"]]
        return f"{word} · rule={verdict['rule']}" if verdict["rule"] is not None else word
    if line["event"] == "ConfigChange":
        return f"{line['cwd']}: {line['note']}"
    if line["note"] is not None:
        return str(line["note"])
    kind = (line["payload"] or {}).get("kind")
    return kind if kind in ("ignored", "control", "goal") else ""


def outcome(result: Any) -> str:
    """How a command ended, in words: `exit 3`, `SIGSEGV`, `timed out`, `cancelled`."""
    if result["timed_out"]:
        return "timed out"
    if result["cancelled"]:
        return "cancelled"
    if result["signal"] is not None:
        return str(result["signal"])
    return f"exit {result['exit_code']}" if result["exit_code"] is not None else "no exit code"


def seconds(milliseconds: int) -> str:
    """A duration as blocks and lists show it."""
    # in whole numbers: a document may hold one that no float can
    tenths = (milliseconds + 50) // 100
    return f"{tenths // 10}.{tenths % 10}s"


def indeterminate(
    at: str,
    run_id: str,
    captured: Line | None,
    record: RunRecord | None,
    *,
    is_started: bool | None,
    applied: str | None = None,
) -> Line:
    """The end receipt of a run whose process died; what is known of it, and that it is not more.

    `captured` is the line it began with, `record` how its command was started; `is_started` is
    None when nobody can tell whether it was; `applied` says what became of its file changes.
    """
    known = captured if captured is not None else {}
    cwd = bounded(record["cwd"], PATH_CHARS) if record is not None else known.get("cwd")
    told = {
        # the record is written a moment before
        True: "its command had been started, or was about to be",
        False: "no command was started",
        None: "nobody can tell whether its command was started",
    }
    return entry(
        "RunIndeterminate",
        at,
        run_id=run_id,
        session=record["session"] if record is not None else known.get("session"),
        trigger=known.get("trigger"),
        cwd=cwd,
        payload=known.get("payload"),
        command_sha256=record["command_sha256"] if record is not None else None,
        note="; ".join(
            words
            for words in ("the process that answered for it died", applied, told[is_started])
            if words is not None
        ),
    )
