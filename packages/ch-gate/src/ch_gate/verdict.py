"""The verdict of one run document: settings and text fetched, then judged.

Decides which settings, which dialect and how much time a verdict gets; the rules are `policy`'s.
Whatever goes wrong on the way is a Problem, so that nothing runs.
"""

from __future__ import annotations

import os
import signal

from ch_contract import places, settings, shells
from ch_contract.problems import Problem

from . import findings, patterns, plain, policy, syntax
from .commands import Reading
from .deadline import LATE, Clock
from .floor import floor
from .mutations import effects_of
from .paths import Facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any, TypeVar

    from ch_contract.messages import Run, Verdict, VerdictPart
    from ch_contract.settings import Settings

    from .findings import Finding
    from .mutations import Effect

    Made = TypeVar("Made")


# The system's temporary folders, by their names; $TMPDIR is another.
TEMPORARY = ("/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp")  # noqa: S108
# However late the parser was, the rules get this long, so that a verdict has 250 ms at worst.
LEAST_SECONDS = 0.05
AGAIN_SECONDS = 0.02


class Judge:
    """Judges the commands and changes of one folder: by the floor, then by the settings in force.

    The floor is decided before the settings are read; of them it needs the user's `shell` and
    `state_dir` alone.
    """

    __slots__ = (
        "_policy",
        "_settings",
        "cwd",
        "dialect",
        "instead_of",
        "project",
        "shell",
        "where",
    )

    def __init__(self, cwd: str, project: str | None) -> None:
        self.cwd = cwd
        self.project = project
        self._settings: Settings | None = None
        self._policy: policy.Policy | None = None
        shell = shells.resolve(shells.of_user(), shells.login_shell())
        self.dialect = shell.dialect
        self.shell = os.path.basename(shell.path)
        self.instead_of = shell.instead_of
        self.where = facts(cwd, project)

    @property
    def settings(self) -> Settings:
        """The settings in force. Raises Problem("settings") for settings that can't be used."""
        if self._settings is None:
            self._settings = settings.load(self.cwd, self.project)
        return self._settings

    @property
    def policy(self) -> policy.Policy:
        """What of them decides. Raises Problem("settings") for a pattern that is none."""
        if self._policy is None:
            values = self.settings
            self._policy = policy.Policy(
                patterns.load(values.values),
                values["protected_paths"],
                values["mutation_gate"],
                values["shell_sandbox"],
            )
        return self._policy

    def read(self, text: str, clock: Clock) -> Reading:
        """`text` as simple commands."""

        def work() -> Reading:
            return syntax.read(
                text,
                self.dialect,
                lambda part, language: parsed(part, language, clock),
                clock.check,
            )

        try:
            return bounded(work, clock.left())
        except TimeoutError:
            late = Reading(text, self.dialect)
            late.cause = LATE
            return late

    def command(self, text: str) -> VerdictPart:
        """The verdict's part for a command. Raises Problem("settings") for a pattern run wild."""
        clock = Clock()
        part = self.judged(self.read(text, clock), clock)
        if self.instead_of is not None:
            said = f"{self.shell} runs this: payloads never run in {self.instead_of}"
            part["note"] = said if part["note"] is None else f"{part['note']}\n{said}"
        return part

    def judged(self, reading: Reading, clock: Clock) -> VerdictPart:
        """The verdict's part for a text that was read, in what is left of its time."""
        above = False
        try:
            changes, found = bounded(lambda: self.floor(reading), _left(clock))
            if found:
                return policy.part_of(reading, found)
            above = True
            rules = self.policy
            found = bounded(lambda: policy.own(reading, changes, self.where, rules), _left(clock))
            return policy.part_of(reading, found)
        except TimeoutError:
            if above and self.policy.patterns["hard_block_patterns"]:
                raise Problem(
                    "settings",
                    f"hard_block_patterns: the command took more than {clock.seconds:g} s to judge",
                    "a pattern in your settings takes too long on this command; simplify it",
                ) from None
        reading.cause = LATE
        return policy.part_of(reading, [policy.unreadable(reading, self.where)])

    def floor(self, reading: Reading) -> tuple[list[Effect], list[Finding]]:
        """What the commands change, and the rules of the floor they meet."""
        changes = effects_of(reading)
        return changes, floor(reading, changes, self.where)

    def change(self, path: str) -> VerdictPart:
        """The verdict's part for a file change."""
        return policy.judge_change(path, self.where, self.policy)


def parsed(text: str, dialect: str, clock: Clock) -> dict[str, Any]:
    """The syntax tree of `text`. Raises Unreadable as the parser does."""
    tree = plain.tree(text)
    if tree is None:
        from . import shfmt

        tree = shfmt.parse(text, dialect, clock)
    return tree


def _left(clock: Clock) -> float:
    return max(clock.left(), LEAST_SECONDS)


def facts(cwd: str, project: str | None) -> Facts:
    """Where a command would run, from this process's environment."""
    temporary = list(TEMPORARY)
    own = os.environ.get("TMPDIR", "")
    if os.path.isabs(own) and os.path.normpath(own) not in ("/", places.home()):
        temporary.append(os.path.normpath(own))
    return Facts(
        cwd,
        project,
        places.home(),
        tuple(temporary),
        (places.config_dir(), places.state_dir(), places.default_state_dir()),
        real=os.path.realpath,
        exists=os.path.lexists,
    )


def bounded(work: Callable[[], Made], seconds: float) -> Made:
    """What `work` gives, within `seconds` of this process's own time.

    A regular expression can take for ever on the right text; Python looks for signals while it
    matches, so a timer stops it. Outside the main thread there are no signals: there the refusal
    of nested repetition in `patterns` is the only guard. Raises TimeoutError.
    """
    if signal.getitimer(signal.ITIMER_VIRTUAL)[0]:
        # somebody else's alarm is running: it must not be lost
        return work()

    def stop(_number: int, frame: FrameType | None) -> None:
        # an import is not cut short: what is raised in its own clean-up would be lost
        if frame is None or "importlib" not in frame.f_code.co_filename:
            raise TimeoutError

    try:
        before = signal.signal(signal.SIGVTALRM, stop)
    except ValueError:
        # not the main thread
        return work()
    # again and again: what is raised within a callback of the garbage collector is lost, too
    signal.setitimer(signal.ITIMER_VIRTUAL, max(seconds, LEAST_SECONDS), AGAIN_SECONDS)
    try:
        return work()
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def gate(document: Run) -> None:
    """Add `verdict` to a parsed document.

    Raises Problem("settings") for settings that can't be used, Problem("system") when there is no
    shell to judge for.
    """
    judge = Judge(document["cwd"], document["project"])
    payload = document["payload"]
    parts = [judge.change(change["path"]) for change in payload["changes"]]
    if payload["command"] is not None:
        parts.append(judge.command(payload["command"]))
    verdict: Verdict = {
        "decision": max((part["decision"] for part in parts), key=findings.ORDER.index),
        "dialect": judge.dialect,
        "settings": {
            "digest": judge.settings.digest,
            "left_out": [
                {"path": path, "ignored": ignored} for path, ignored in judge.settings.left_out
            ],
        },
        "parts": parts,
    }
    document["verdict"] = verdict
