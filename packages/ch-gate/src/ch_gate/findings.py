"""What a rule has found in a command, and which finding decides.

The strictest decision wins, and of several the first; every finding stays named.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ch_contract.messages import VerdictPartMatch

    from .commands import Command

ORDER = ("allow", "ask", "deny")


class Finding:
    """One rule that was met, and where; `command` is None for the text as a whole.

    detail  what the rule saw, for its sentence
    note    what the operator reads beside the sentence
    source  whose rule it is: floor, policy or settings
    """

    __slots__ = ("command", "decision", "detail", "end", "note", "rule", "source", "start", "text")

    def __init__(
        self,
        rule: str,
        decision: str,
        text: str,
        start: int,
        end: int,
        *,
        detail: str = "",
        note: str | None = None,
        source: str = "policy",
        command: Command | None = None,
    ) -> None:
        self.rule = rule
        self.decision = decision
        self.text = text
        self.start = start
        self.end = end
        self.detail = detail
        self.note = note
        self.source = source
        self.command = command

    def match(self) -> VerdictPartMatch:
        """The match as the verdict holds it."""
        return {"rule": self.rule, "text": self.text, "span": [self.start, self.end]}


def met(
    rule: str,
    decision: str,
    command: Command,
    *,
    detail: str = "",
    note: str | None = None,
    source: str = "policy",
) -> Finding:
    """The finding that `command` meets `rule`."""
    return Finding(
        rule, decision, command.source, command.start, command.end,
        detail=detail, note=note, source=source, command=command,
    )  # fmt: skip


def deciding(found: list[Finding]) -> Finding | None:
    """The finding that decides: the strictest, and of those the first."""
    best = None
    for finding in found:
        if best is None or ORDER.index(finding.decision) > ORDER.index(best.decision):
            best = finding
    return best


def shown(text: str, limit: int = 120) -> str:
    """A command for a sentence: one line, cut, nothing a terminal would act on."""
    flat = " ".join(text.split())
    flat = "".join(
        character if character.isprintable() else f"<U+{ord(character):04X}>" for character in flat
    )
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"
