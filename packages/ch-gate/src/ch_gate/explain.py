"""What the gate saw in one command, for a person.

Decides how findings are told; makes none of its own.
"""

from __future__ import annotations

from . import policy, rules
from .deadline import Clock
from .destruction import is_inside
from .findings import deciding, shown
from .folders import Folders
from .mutations import CHANGES, graded
from .offers import entry_for
from .paths import landings, target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .commands import Command, Reading
    from .findings import Finding
    from .mutations import Effect
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


# The same where one entry of the allow list would do.
_LISTED = {
    rules.NOT_ON_ALLOWLIST: "accept it in a review, or put {entry} on allowlist in your settings",
    rules.MUTATION: f"accept it in a review, or put {{entry}} on allowlist ({_LIST})",
    rules.MUTATION_DENIED: (
        f"set mutation_gate to review, or put {{entry}} on allowlist ({_LIST})"
    ),
}


def explain(judge: Judge, text: str) -> str:
    """The explanation of the verdict on `text`, several lines."""
    reading = judge.read(text, Clock())
    changes, found = judge.floor(reading)
    found += policy.own(reading, changes, judge.where, judge.policy)
    part = policy.part_of(reading, found)
    lines = [f"read as {reading.dialect}"]
    if reading.cause is not None:
        lines.append(f"not readable: {shown(reading.cause, 300)}")
    places = Folders(reading, judge.where)
    for number, (command, grade) in enumerate(graded(reading, changes), 1):
        lines.append(f"{number}. {shown(command.source)}{_origin(command)}")
        lines.append(f"   class: {grade}")
        lines += [f"   {line}" for line in _changed(command, changes, places, judge)]
        met = [finding for finding in found if finding.command is command]
        lines += [f"   {finding.decision}: {finding.rule}{_detail(finding)}" for finding in met]
        if not met:
            lines.append("   no rule objects")
    lines += [
        f"whole text: {finding.decision}: {finding.rule}{_detail(finding)}"
        for finding in found
        if finding.command is None
    ]
    best = deciding(found)
    if best is None:
        lines.append("verdict: allow")
        return "\n".join(lines) + "\n"
    lines.append(f"verdict: {part['decision']} ({best.rule})")
    if part["reason"]:
        lines.append(f"  {part['reason']}")
    if part["note"]:
        lines += [f"  {line}" for line in part["note"].splitlines()]
    if part["decision"] != "allow":
        lines.append(f"to make it pass: {_advice(best, reading)}")
    return "\n".join(lines) + "\n"


def _changed(command: Command, changes: list[Effect], places: Folders, judge: Judge) -> list[str]:
    """What the command changes, each target as it resolves."""
    where = judge.where
    said = []
    for effect in changes:
        if effect.command is not command or effect.what != CHANGES:
            continue
        bases = places.at(command)
        if not effect.targets:
            said.append(f"{effect.kind.lower()}: nothing with a path, or one nobody can tell")
        for word, strip in effect.targets or ():
            found = target(word, where, bases or (where.cwd,), strip)
            paths = landings(found, where, follow=False)
            if not paths or (bases is None and not paths[0].startswith("/")):
                said.append(
                    f"{effect.kind.lower()}: {shown(word.source, 60)}, known only at run time"
                )
            for path in paths:
                inside = "inside" if is_inside(path, where) else "outside the project"
                said.append(f"{effect.kind.lower()}: {shown(path, 200)}, {inside}")
    return said


def _advice(best: Finding, reading: Reading) -> str:
    if best.rule == rules.MUTATION and best.source == "settings":
        # it is on the allow list already
        return "accept it in a review, or set shell_sandbox to optional in your settings"
    entry = entry_for(reading)
    if entry is not None and best.rule in _LISTED:
        return _LISTED[best.rule].format(entry=f'"{entry}"')
    return _PASS[best.rule]


def _detail(finding: Finding) -> str:
    return f" ({finding.detail})" if finding.detail else ""


def _origin(command: Command) -> str:
    if command.outer is None:
        return ""
    words = command.outer.words
    return f"  [started by {shown(words[0].source, 40) if words else 'an assignment'}]"


def catalogue() -> list[dict[str, str | bool]]:
    """The rules with their decision and meaning, as `ch-gate rules --json` prints them."""
    return [
        {"rule": rule, "decision": decision, "floor": rule in rules.FLOOR, "about": about}
        for rule, (decision, about) in rules.CATALOGUE.items()
    ]
