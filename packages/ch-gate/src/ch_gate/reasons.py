"""What a verdict says: why, and what the model may do instead.

One sentence of why and one of what works; the operator's own line is the note. Decides nothing.
"""

from __future__ import annotations

from . import rules
from .findings import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .findings import Finding

# What such a block changes is shown line by line before anybody accepts it.
ROUTE = "To change the text of a file, send an edit, patch or file block."


# What each rule of the floor says: what it saw, and a way that works.
FLOOR = {
    rules.OUTSIDE_DESTRUCTION: (
        "{what} would destroy {detail}, which lies outside the project. Work on files inside the "
        "project, or tell the person what should go and why."
    ),
    rules.UNPROVABLE_DESTRUCTION: (
        "{what} destroys, and only the run would tell what: {detail}. Name the targets literally, "
        "one command for each."
    ),
    rules.SECRET_ACCESS: (
        "{what} would read a secret ({detail}). Ask the person for the one value you need, or "
        "look at a template such as .env.example."
    ),
    rules.HISTORY_REWRITE: (
        "{what} is {detail}, which overwrites what others have. Push with --force-with-lease, or "
        "push a new branch."
    ),
    rules.MACHINE_CONTROL: (
        "{what} would stop or restart the machine. Say in the text that a restart is needed."
    ),
    rules.UNPROVABLE_EXECUTION: (
        "{what} would run {detail}, unseen. Fetch it into a file, show the file, and run it in a "
        "later step."
    ),
    rules.SURFACE_WRITE: (
        "{what} reaches {detail}, which no payload may change or steer. Reading is allowed (cat, "
        "grep, git diff); a change is the person's."
    ),
    rules.WIRING_TAMPER: (
        "{what} would change {detail}. Reading is allowed; describe the change, and the person "
        "makes it."
    ),
}
_END = "No setting or review lifts this (rule={rule})."


def reason(best: Finding) -> str:
    """Why, and what the model may do instead."""
    what = shown(best.text)
    detail = best.detail
    rule = best.rule
    if rule in FLOOR:
        return f"Denied: {FLOOR[rule].format(what=what, detail=detail)} {_END.format(rule=rule)}"
    if rule == rules.ALLOWLIST:
        return "Every command in it is on the allow list."
    if rule == rules.HARD_BLOCK:
        return f"Hard block: {what} is {detail}. It never runs, whoever approves it."
    if rule == rules.DENYLIST:
        return f"Denied: {what} is on the deny list ({detail}). It never runs; take another way."
    if rule == rules.PROTECTED_PATH and best.decision == "deny":
        return f"Denied: {what} would change {detail}, which no payload may change. Leave it alone."
    if rule == rules.PROTECTED_PATH:
        return (
            f"Held: {what} changes files, and {detail}; some paths are protected here. "
            "Name the files literally."
        )
    if rule == rules.SUSPICIOUS_CHARACTERS and best.decision == "deny":
        return (
            f"Denied: the text holds {detail}, which can hide what would run. "
            "Send it again without that character."
        )
    if rule == rules.SUSPICIOUS_CHARACTERS:
        return (
            f"Held: the text holds {detail}, probably damage from copying. "
            "Send it again in a fenced block with plain characters."
        )
    if rule == rules.UNREADABLE_COMMAND:
        held = "Denied" if best.decision == "deny" else "Held"
        way = "a complete command in plain syntax"
        if "time allowed" in detail:
            way = "less at once"
        elif "the parser " in detail:
            way = "it once more, and ask the person to look when that does not help"
        return (
            f"{held}: the command could not be read ({shown(detail, 300)}), and what can't be "
            f"read is never allowed. Send {way}."
        )
    if rule == rules.NOT_ON_ALLOWLIST:
        return f"Held: {what} is not on the allow list. A person must accept it."
    if rule == rules.MUTATION and best.source == "settings":
        return (
            f"Held: {what} is on the allow list and looks as if it changes something. With "
            f"shell_sandbox strict it runs in a sandbox only, which this version has not. {ROUTE}"
        )
    if rule == rules.MUTATION:
        return f"Held: {what} looks as if it changes something; a person must accept it. {ROUTE}"
    if rule == rules.MUTATION_DENIED:
        return f"Denied: {what} looks as if it changes something, and here no command may. {ROUTE}"
    if rule == rules.UNREAD_PROGRAM:
        return (
            f"Held: {what}: {detail}, so nobody can tell what would run. "
            "Write the commands out, or put them into a file first."
        )
    if rule == rules.SECRET_READ:
        return f"Held: {what}: {detail}. Ask for the one value you need, or work without it."
    raise ValueError(f"no reason for the rule {rule}")
