"""The result block: what happened, as plain text for the person and for the chat model.

Decides order and words. One artefact: terminal and clipboard get the same bytes. Pure; the output
comes in as elide.py digested it.
"""

from __future__ import annotations

import os.path

from ch_contract.settings import WHY

from .clean import line, visible
from .receipt import outcome, seconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ch_contract.messages import (
        Result,
        Run,
        Standing,
        Verdict,
        VerdictPart,
        VerdictSettingsLeftOut,
    )

NO_REVIEW_YET = "It waits for a review. This version has no review yet, so nothing was run."


def block(document: Run, output: str = "", *, no_receipt: str | None = None) -> str:
    """The result block of `document`, fence and final newline included.

    `output` is the digest of its output; `no_receipt` says why the ledger does not have the run.
    """
    parts = _command(document)
    if output:
        parts.append(output.removesuffix("\n"))
    parts += _endings(document)
    parts += _remarks(document)
    if no_receipt is not None:
        parts.append(f"[no receipt · {line(no_receipt)}]")
    parts += _notices(document)
    parts += _footer(document)
    text = "".join(f"{part}\n" for part in parts)
    return fenced("result", text)


def fenced(language: str, text: str) -> str:
    """`text` as a fenced block; the fence is longer than any run of backticks within."""
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}{language}\n{text}{fence}\n"


def _longest_run(text: str) -> int:
    """Length of the longest run of backticks."""
    if "```" not in text:
        return 0
    import re

    return max(len(run) for run in re.findall("`+", text))


def _command(document: Run) -> list[str]:
    """The command as a shell would echo it, with what a review added."""
    command = document["payload"]["command"]
    if command is None:
        return []
    first, *more = command.removesuffix("\n").split("\n")
    result = document.get("result")
    return [
        f"$ {visible(first)}{_annotation(result) if result is not None else ''}",
        *(f"> {visible(text)}" if text else ">" for text in more),
    ]


def _annotation(result: Result) -> str:
    if result["approval"] is None:
        return ""
    return f" (reviewed · {'unsandboxed' if result['sandbox'] == 'none' else 'sandboxed'})"


def _endings(document: Run) -> list[str]:
    """The status line, and why when nothing ran."""
    payload = document["payload"]
    result = document.get("result")
    problem = document.get("problem")
    verdict = document.get("verdict")
    if result is not None:
        lines = [_status(document, result)]
    elif verdict is not None and verdict["decision"] == "deny":
        lines = _objections(verdict, "denied")
    elif problem is not None:
        lines = []
    elif verdict is not None and verdict["decision"] == "ask":
        lines = _undecided(document, verdict)
    elif payload["control"] is not None:
        session = payload["control"]["session"]
        named = f" · session {session}" if session is not None else ""
        lines = [f"[{payload['control']['action']} asked{named}]"]
    elif payload["kind"] == "ignored":
        lines = ["[not run · ignored]", "The text holds nothing to run."]
    elif payload["command"] is not None:
        lines = ["[not run]"]
    else:
        lines = []
    if problem is not None:
        word = "problem" if result is not None else "not run"
        where = f" (line {problem['line']})" if problem["line"] is not None else ""
        lines += [f"[{word} · {problem['kind']}]", f"{line(problem['message'])}{where}"]
        if problem["hint"] is not None:
            lines.append(line(problem["hint"]))
    return lines


def _status(document: Run, result: Result) -> str:
    """The status line, such as `[exit 0 · 3.2s]`."""
    words = outcome(result)
    if result["timed_out"]:
        limit = document["payload"]["metadata"]["timeout"]
        if result["exit_desc"].startswith("timed out"):
            words = line(result["exit_desc"])
        elif limit is not None:
            words = f"timed out after {limit} s"
    elif result["exit_code"] is None and result["signal"] is None and not result["cancelled"]:
        words = line(result["exit_desc"])
    return f"[{words} · {seconds(result['duration_ms'])}]"


def _objections(verdict: Verdict, word: str) -> list[str]:
    """Each part that is as strict as the whole, with its rule and the reason for the model."""
    lines = []
    for part in verdict["parts"]:
        if part["decision"] != verdict["decision"]:
            continue
        rule = f" · rule={line(part['rule'])}" if part["rule"] is not None else ""
        lines += [f"[{word}{rule}]", *_reason(part)]
    return lines or [f"[{word}]"]


def _reason(part: VerdictPart) -> list[str]:
    subject = line(part["subject"]) if part["kind"] == "change" else None
    reason = line(part["reason"]) if part["reason"] is not None else None
    text = ": ".join(words for words in (subject, reason) if words is not None)
    return [text] if text else []


def _undecided(document: Run, verdict: Verdict) -> list[str]:
    """A held payload that did not run: no decision yet, or one against it."""
    for decision in document.get("decisions", ()):
        if decision["decision"] in ("reject", "cancelled"):
            word = {"reject": "rejected", "cancelled": "cancelled"}[decision["decision"]]
            reason = decision["reason"]
            return [f"[{word}]", *([line(reason)] if reason else ())]
    return [*_objections(verdict, "held"), NO_REVIEW_YET]


def _remarks(document: Run) -> list[str]:
    """What the reader of the result should know about the text and the settings."""
    payload = document["payload"]
    verdict = document.get("verdict")
    lines = [line(note) for note in payload["notes"]]
    if payload["repairs"]:
        lines.append(f"repaired: {', '.join(dict.fromkeys(payload['repairs']))}")
    lines += _what_stays(document.get("result"))
    for part in verdict["parts"] if verdict is not None else ():
        if part["decision"] == "allow" and part["note"] is not None:
            lines += [line(text) for text in part["note"].split("\n")]
    for file in verdict["settings"]["left_out"] if verdict is not None else ():
        lines += _without_effect(file)
    return lines


def _without_effect(file: VerdictSettingsLeftOut) -> list[str]:
    """The keys of one settings file that have no effect, each with why, and what to do."""
    path = line(file["path"])
    keys = ", ".join(f"{line(found['key'])} ({WHY[found['why']]})" for found in file["ignored"])
    lines = [f"settings without effect in {path}: {keys}"]
    if any(found["why"] == "untrusted" for found in file["ignored"]):
        folder = os.path.dirname(os.path.dirname(path))
        lines.append(
            f"to trust that file, look at it, then run by hand in {folder}: clip-harness trust"
        )
    return lines


def _what_stays(result: Result | None) -> list[str]:
    """What of a command outlives its status line."""
    lines = []
    if result is not None and result["processes_left"]:
        count = result["processes_left"]
        lines.append(f"{count} {'process' if count == 1 else 'processes'} of it could not be ended")
    if result is not None and result["output_reopened"]:
        lines.append("the command opened its own output anew; what it printed before may be lost")
    return lines


def _is_bound(document: Run) -> bool:
    metadata = document["payload"]["metadata"]
    return metadata["session"] is not None or metadata["goal"] is not None


def _notices(document: Run) -> list[str]:
    """Capabilities, context, pending state, update: always in this order (R189)."""
    notices = document.get("notices")
    if notices is None:
        return []
    lines = []
    if notices["manifest"] is not None and _is_bound(document):
        lines.append("— capabilities:")
        lines += [f"  {visible(text)}" for text in notices["manifest"].rstrip("\n").split("\n")]
    for text in (notices["context"], notices["pending"]):
        if text is not None:
            lines += [visible(row) for row in text.rstrip("\n").split("\n")]
    if notices["update"] is not None:
        lines.append(f"[update] {line(notices['update'].removeprefix('[update]'))}")
    return lines


def _footer(document: Run) -> list[str]:
    """Goal and open tasks: the last lines of every bound block that has a standing."""
    standing = document.get("standing")
    return footer(standing) if standing is not None and _is_bound(document) else []


def footer(standing: Standing) -> list[str]:
    """The two lines a bound block ends with, also when no goal is set (R191, R192)."""
    goal = standing["goal"]
    if goal is None:
        return [
            "[goal] none set — set one with a payload that has action: goal-set",
            "[open tasks] none",
        ]
    uid = goal["goal_uid"].replace("-", "")[:8]
    tasks = [
        f"[{task['status']}] {line(task['title'])}"
        for task in standing["tasks"]
        if task["status"] != "done"
    ]
    return [
        f"[goal] {line(goal['text'])} [{goal['status']}] ({uid})",
        f"[open tasks] {' · '.join(tasks) or 'none'}",
    ]
