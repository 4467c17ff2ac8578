"""What the gate saw in one command, for a person.

Decides how findings are told; makes none of its own.
"""

from __future__ import annotations

from . import findings, policy, rules, shfmt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .commands import Command
    from .findings import Finding
    from .verdict import Judge

_LIST = "a non-empty allow list holds every command it does not name"
_FLOOR = "nothing does: no setting and no review lifts a rule of the floor"
_PASS = {
    **dict.fromkeys(rules.FLOOR, _FLOOR),
    rules.HARD_BLOCK: (
        "nothing does, unless the pattern is one of hard_block_patterns in your settings"
    ),
    rules.DENYLIST: "take the entry out of denylist in your settings",
    rules.PROTECTED_PATH: "take the path out of protected_paths, or write its targets out",
    rules.SUSPICIOUS_CHARACTERS: "send the text again with plain characters",
    rules.UNREADABLE_COMMAND: "complete the command; what can't be read is never allowed",
    rules.NOT_ON_ALLOWLIST: "add an entry for it to allowlist in your settings",
    rules.MUTATION: f"accept it in a review, or add an entry for it to allowlist ({_LIST})",
    rules.MUTATION_DENIED: (
        f"set mutation_gate to review, or add an entry for it to allowlist ({_LIST})"
    ),
    rules.UNREAD_PROGRAM: "write out what it runs, or accept it in a review",
    rules.SECRET_READ: "accept it in a review",
    rules.FILE_REVIEW: "accept it in a review",
}


def explain(judge: Judge, text: str) -> str:
    """The explanation of the verdict on `text`, several lines."""
    reading = judge.read(text, shfmt.Clock())
    found = policy.findings(reading, judge.where, judge.policy)
    part = policy.part_of(reading, found)
    lines = [f"read as {reading.dialect}"]
    if reading.cause is not None:
        lines.append(f"not readable: {findings.shown(reading.cause, 300)}")
    for number, command in enumerate(reading.commands, 1):
        lines.append(f"{number}. {findings.shown(command.source)}{_origin(command)}")
        met = [finding for finding in found if finding.command is command]
        lines += [f"   {finding.decision}: {finding.rule}{_detail(finding)}" for finding in met]
        if not met:
            lines.append("   no rule objects")
    lines += [
        f"whole text: {finding.decision}: {finding.rule}{_detail(finding)}"
        for finding in found
        if finding.command is None
    ]
    best = findings.deciding(found)
    if best is None:
        lines.append("verdict: allow")
        return "\n".join(lines) + "\n"
    lines.append(f"verdict: {part['decision']} ({best.rule})")
    if part["reason"]:
        lines.append(f"  {part['reason']}")
    if part["note"]:
        lines += [f"  {line}" for line in part["note"].splitlines()]
    if part["decision"] != "allow":
        lines.append(f"to make it pass: {_advice(best)}")
    return "\n".join(lines) + "\n"


def _advice(best: Finding) -> str:
    if best.rule == rules.MUTATION and best.source == "settings":
        # it is on the allow list already
        return "accept it in a review, or set shell_sandbox to optional in your settings"
    return _PASS[best.rule]


def _detail(finding: Finding) -> str:
    return f" ({finding.detail})" if finding.detail else ""


def _origin(command: Command) -> str:
    if command.outer is None:
        return ""
    words = command.outer.words
    return f"  [started by {findings.shown(words[0].source, 40) if words else 'an assignment'}]"


def catalogue() -> list[dict[str, str | bool]]:
    """The rules with their decision and meaning, as `ch-gate rules --json` prints them."""
    return [
        {"rule": rule, "decision": decision, "floor": rule in rules.FLOOR, "about": about}
        for rule, (decision, about) in rules.CATALOGUE.items()
    ]
