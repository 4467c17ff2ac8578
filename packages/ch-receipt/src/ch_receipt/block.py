"""The result block: what happened, as plain text for the person and for the chat model.

Decides order and words. One artefact: terminal and clipboard get the same bytes. Pure; the output
comes in as elide.py digested it.
"""

from __future__ import annotations

import os.path

from ch_contract.problems import TURNING_DOWN
from ch_contract.settings import WHY

from .changes import files_section, of_changes
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

# Without a candidate there is nothing to review: the pipe had no ch-stage.
NOT_STAGED = "It needs a decision, and nothing kept it for one: put ch-stage into the pipe."


def block(
    document: Run,
    output: str = "",
    *,
    diffs: dict[str, str] | None = None,
    no_receipt: str | None = None,
) -> str:
    """The result block of `document`, fence and final newline included.

    `output` is the digest of its output, `diffs` the unified diff of each changed file;
    `no_receipt` says why the ledger does not have the run.
    """
    parts = _command(document)
    if output:
        parts.append(output.removesuffix("\n"))
    parts += _endings(document)
    parts += files_section(document, diffs or {})
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
    """The status line, and why when nothing ran or nothing was changed."""
    result = document.get("result")
    problem = document.get("problem")
    verdict = document.get("verdict")
    if result is not None:
        lines = [_status(document, result)]
    elif verdict is not None and verdict["decision"] == "deny":
        lines = _objections(document, verdict, "denied")
    elif problem is not None:
        lines = _before_the_problem(document)
    elif verdict is not None and verdict["decision"] == "ask":
        lines = _reviewed(document, verdict)
    else:
        lines = _nothing_to_run(document)
    if problem is not None:
        word = "problem" if result is not None else _not_done(document)
        where = f" (line {problem['line']})" if problem["line"] is not None else ""
        lines += [f"[{word} · {problem['kind']}]", f"{line(problem['message'])}{where}"]
        if problem["hint"] is not None:
            lines.append(line(problem["hint"]))
    return lines


def _nothing_to_run(document: Run) -> list[str]:
    payload = document["payload"]
    if payload["control"] is not None:
        session = payload["control"]["session"]
        named = f" · session {session}" if session is not None else ""
        return [f"[{payload['control']['action']} asked{named}]"]
    if payload["kind"] == "ignored":
        return ["[not run · ignored]", "The text holds nothing to run."]
    return ["[not run]"] if payload["command"] is not None else []


def _not_done(document: Run) -> str:
    """What did not happen: file changes by themselves are applied, a command is run."""
    return "not applied" if document["payload"]["kind"] == "changes" else "not run"


def _before_the_problem(document: Run) -> list[str]:
    """What was done of a payload whose rest met a problem."""
    applied = document.get("applied")
    is_kept = applied is not None and not applied["rolled_back"]
    return [_applied_line(document)] if is_kept else []


def _applied_line(document: Run) -> str:
    """Such as `[applied · 2 files]`, or with how many of them were accepted."""
    applied = document["applied"]
    outcomes = [entry["outcome"] for entry in applied["entries"]]
    kept = len(outcomes) - outcomes.count("REJECTED")
    noun = "file" if len(outcomes) == 1 else "files"
    some = f" of {len(outcomes)}" if kept < len(outcomes) else ""
    return f"[applied · {kept}{some} {noun}]"


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


def _objections(document: Run, verdict: Verdict, word: str) -> list[str]:
    """Each part that is as strict as the whole, with its rule and the reason for the model."""
    lines = []
    for part in verdict["parts"]:
        if part["decision"] != verdict["decision"] or _is_decided(document, part):
            continue
        rule = f" · rule={line(part['rule'])}" if part["rule"] is not None else ""
        lines += [f"[{word}{rule}]", *_reason(part)]
    return lines or [f"[{word}]"]


def _is_decided(document: Run, part: VerdictPart) -> bool:
    """Whether a held file change was decided on: its line tells what became of it."""
    return part["decision"] == "ask" and part["kind"] == "change" and "applied" in document


def _reason(part: VerdictPart) -> list[str]:
    subject = line(part["subject"]) if part["kind"] == "change" else None
    reason = line(part["reason"]) if part["reason"] is not None else None
    text = ": ".join(words for words in (subject, reason) if words is not None)
    return [text] if text else []


def _reviewed(document: Run, verdict: Verdict) -> list[str]:
    """A held payload of which nothing ran: what was decided of it, and what still waits."""
    lines = []
    if document.get("applied") is not None:
        lines.append(_applied_line(document))
    for decision in document.get("decisions", ()):
        if decision["decision"] in TURNING_DOWN:
            word = {"reject": "rejected", "cancelled": "cancelled"}[decision["decision"]]
            lines += [f"[{word}]", *([line(decision["reason"])] if decision["reason"] else ())]
            if of_changes(document) is not None and document["payload"]["command"] is not None:
                lines.append("So the command was not run.")
            return lines
    waiting = [c for c in document.get("candidates", ()) if c["status"] == "pending"]
    if not waiting and document.get("candidates"):
        return lines
    lines += _objections(document, verdict, "held")
    if not waiting:
        return [*lines, NOT_STAGED]
    name = waiting[0]["candidate_id"]
    return [*lines, f"It waits for a person: clip-harness candidate review {name}"]


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
