"""Floor: the harness itself, and the files that register hooks with agents.

The surface is the project's `.clip-harness`, the configuration folder and the state folders:
whoever could write there would approve himself. Of our own commands only those pass that look.
What passes on the surface are proven readers, never "whatever is no known writer". The files that
register hooks (the wiring) may be read and copied by anything; whoever would change them is denied.
"""

from __future__ import annotations

import posixpath
import re

from . import rules
from .catalogue import entry
from .findings import Finding, met, shown
from .mutations import CHANGES, code_is_active
from .paths import NO, Protected, folded, is_within, landings, may_match, target
from .words import TEXT, Part, Word
from .wrappers import interpreter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .commands import Command, Reading
    from .folders import Folders
    from .mutations import Effect
    from .paths import Facts, Target

OWN_FOLDER = ".clip-harness"
# What the two rules say of a file.
OWN_FILES = "the harness's own files"
WIRING_FILE = "a file that registers hooks with an agent"

# They show what they are given and can write nothing.
READERS = frozenset(
    {"cat", "head", "tail", "grep", "egrep", "fgrep", "rg", "jq", "ls", "stat", "test", "[", "wc",
     "diff", "cmp", "file", "echo", "printf", "cd", "pushd", "popd", "pwd", "basename", "dirname",
     "realpath", "readlink", "md5sum", "sha1sum", "sha256sum", "sha512sum", "b2sum", "shasum",
     "cksum", "du", "tree", "nl", "true", "false", ":", "[[", "export", "declare", "local"}
)  # fmt: skip
GIT_READERS = frozenset(
    {"show", "diff", "log", "status", "ls-files", "cat-file", "blame", "grep", "check-ignore",
     "check-attr", "add", "commit", "rev-parse", "ls-tree", "diff-tree", "diff-index", "shortlog"}
)  # fmt: skip
# With these a reader writes.
_WRITING = {"tree": ("-o",), "git": ("--output", "-o"), "file": ("-C",)}

# Our own commands that only look (R064). `*` stands for every subcommand.
LOOKING = {
    "clip-harness": (
        "version", "sessions", "receipt", "candidate list", "candidate show", "goal list",
        "goal show", "doctor",
    ),
    "ch-parse": ("",),
    "ch-gate": ("check", "explain", "rules", "test"),
    "ch-receipt": ("tail", "verify", "summary"),
    "ch-exec": (),
    "ch-stage": (),
    "ch-goal": (),
}  # fmt: skip
_MODULES = {name.replace("-", "_"): name for name in LOOKING}
_IMPORTED = r"\b(?:clip_harness|ch_(?:parse|gate|stage|exec|goal|receipt|contract))\b"
_SPOKEN = (
    r"\.clip-harness\b|(?<![\w./-])(?:clip-harness|ch-(?:exec|stage|goal))\s|(?:^|/)clip-harness/"
)

# Files that register hooks: in the project, in the home, and of the whole machine.
IN_PROJECT = (
    ".claude/settings.json", ".claude/settings.local.json", ".cursor/hooks.json",
    ".codex/hooks.json", ".codex/config.toml", ".github/hooks", ".github/copilot/settings.json",
    ".gemini/settings.json", ".opencode/plugin", ".opencode/plugins", ".opencode/opencode.json",
    "opencode.json", "opencode.jsonc", ".copilot/hooks", ".factory/settings.json",
    ".factory/hooks.json",
)  # fmt: skip
IN_HOME = (
    ".claude/settings.json", ".claude/settings.local.json", ".cursor/hooks.json",
    ".codex/hooks.json", ".codex/config.toml", ".copilot/hooks", ".copilot/settings.json",
    ".gemini/settings.json", ".config/opencode/plugin", ".config/opencode/plugins",
    ".config/opencode/opencode.json", ".config/opencode/opencode.jsonc", ".factory/settings.json",
    ".factory/hooks.json",
)  # fmt: skip
OF_MACHINE = (
    "/etc/claude-code/managed-settings.json", "/etc/claude-code/managed-settings.d",
    "/etc/cursor/hooks.json", "/etc/codex/hooks.json", "/etc/codex/config.toml",
    "/etc/codex/managed_config.toml", "/etc/gemini-cli/settings.json", "/etc/github-copilot/hooks",
    "/Library/Application Support/ClaudeCode/managed-settings.json",
    "/Library/Application Support/Cursor/hooks.json",
    "/Library/Application Support/GeminiCli/settings.json",
)  # fmt: skip
# One of these stands in every path of the surface and the wiring, or in a glob for it.
_TELLING = r"(?i)clip|harness|claude|cursor|codex|copilot|gemini|opencode|hooks|factory|[*?\[{]"


class Surface:
    """The places of the harness, and those of the wiring."""

    __slots__ = ("_holders", "_own", "_roots", "_wiring", "facts", "inside")

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self._roots = tuple(dict.fromkeys((facts.cwd, facts.project or facts.cwd)))
        self._own: list[Protected] | None = None
        self._wiring: list[Protected] | None = None
        self._holders: set[str] = set()
        # the working folder itself may lie in one of the places, or one of them in it under
        # another name: then no name in it is plain
        self.inside = bool(re.search(_TELLING, facts.cwd)) or any(
            is_within(facts.cwd, folder) or is_within(folder, facts.cwd) for folder in facts.surface
        )

    @property
    def own(self) -> list[Protected]:
        """The folders of the harness."""
        if self._own is None:
            folders = [posixpath.join(root, OWN_FOLDER) for root in self._roots]
            self._own = [Protected(path, self.facts) for path in (*folders, *self.facts.surface)]
        return self._own

    @property
    def wiring(self) -> list[Protected]:
        """The files that register hooks."""
        if self._wiring is None:
            paths = [posixpath.join(root, path) for root in self._roots for path in IN_PROJECT]
            paths += [posixpath.join(self.facts.home, path) for path in IN_HOME]
            paths += OF_MACHINE
            self._wiring = [Protected(path, self.facts) for path in paths]
            self._holders = {folded(posixpath.dirname(path)) for path in paths}
            self._holders -= {folded(root) for root in (*self._roots, self.facts.home, "/etc")}
        return self._wiring

    @property
    def holders(self) -> set[str]:
        """The folders whose removal removes a file that registers hooks."""
        return self._holders if self.wiring else set()

    def meets_own(
        self, word: Word, bases: tuple[str, ...], strip: str = "", *, parents: bool = False
    ) -> bool:
        """Whether `word` names a place of the harness, or (`parents`) a folder around one.

        Removing the project as a whole is for a review.
        """
        if not parents and self._is_plain(word, bases):
            return False
        found = self._target(word, bases, strip)
        if parents:
            root = self.facts.project or self.facts.cwd
            found.paths = [path for path in found.paths if not is_within(root, path)]
        return any(entry.meets(found, parents=parents) != NO for entry in self.own)

    def meets_wiring(
        self, word: Word, bases: tuple[str, ...], strip: str = "", *, removed: bool = False
    ) -> bool:
        """Whether `word` names a file of the wiring, or (`removed`) the folder that holds one."""
        if not removed and self._is_plain(word, bases):
            return False
        found = self._target(word, bases, strip)
        if removed and any(
            folded(path) in self.holders
            or (word.glob and any(may_match(folded(path), holder) for holder in self.holders))
            for path in found.paths
        ):
            return True
        return any(entry.meets(found, parents=False) != NO for entry in self.wiring)

    def _is_plain(self, word: Word, bases: tuple[str, ...]) -> bool:
        """Whether the word stands in the working folder and has nothing of these names in it."""
        if self.inside or bases != (self.facts.cwd,):
            return False
        text = word.value
        if text is None or word.tilde or re.search(_TELLING, text):
            return False
        path = posixpath.join(self.facts.cwd, text)
        if "/" not in text and not self.facts.exists(path):
            return True
        # a link may lead anywhere
        real = self.facts.real(path)
        return is_within(real, self.facts.cwd) and not re.search(_TELLING, real)

    def _target(self, word: Word, bases: tuple[str, ...], strip: str) -> Target:
        found = target(word, self.facts, bases, strip)
        real = landings(found, self.facts, follow=True)
        found.paths += [path for path in real if path not in found.paths]
        if word.glob:
            # `*.json` means no file of these by its name: only the folder it looks in counts
            found.paths = [
                posixpath.dirname(path) if re.match(r"[*?\[]", posixpath.basename(path)) else path
                for path in found.paths
            ]
        return found


def found_in(
    reading: Reading, changes: list[Effect], folders: Folders, facts: Facts
) -> list[Finding]:
    """The findings of policy-surface-write and wiring-tamper."""
    out = []
    for command in reading.commands:
        own = _own_command(command)
        if own:
            out.append(_deny(command, rules.SURFACE_WRITE, own))
    surface = Surface(facts)
    by_command: dict[int, list[Effect]] = {}
    for effect in changes:
        by_command.setdefault(id(effect.command), []).append(effect)
    for command in reading.commands:
        bases = folders.at(command) or (facts.cwd,)
        effects = by_command.get(id(command), [])
        if _touches(command, effects, surface, bases):
            out.append(_deny(command, rules.SURFACE_WRITE, OWN_FILES))
        elif _rewires(command, effects, surface, bases):
            out.append(_deny(command, rules.WIRING_TAMPER, WIRING_FILE))
    return out


# -- our own commands ------------------------------------------------------------------------------


def _own_command(command: Command) -> str:
    """The command of ours that acts, when this is one; empty for any other."""
    name = command.program or ""
    name = "clip-harness" if name == "clip" else name
    if name in _MODULES:
        name = _MODULES[name]
    head, dot, _rest = name.partition(".")
    if dot and head in _MODULES:
        # python -m ch_exec.cli
        return head
    if name not in LOOKING or (command.outer is not None and command.outer.program == "man"):
        return ""
    values = [word.value for word in command.words[1:]]
    if "--help" in values or values == ["--version"]:
        return ""
    if None in values:
        # what the subcommand is must be plain, what it is given need not
        values = values[: values.index(None)]
    operands = [value for value in values if value and not value.startswith("-")]
    for row in LOOKING[name]:
        steps = row.split()
        if operands[: len(steps)] == steps and (steps or name == "ch-parse"):
            return f"{name} receipt --html" if "--html" in values else ""
    return " ".join([name, *operands[:2]])


# -- the surface -----------------------------------------------------------------------------------


def _touches(
    command: Command, effects: list[Effect], surface: Surface, bases: tuple[str, ...]
) -> bool:
    """Whether the command names the surface and is no proven reader of it."""
    for redirect in command.redirects:
        if redirect.writes and surface.meets_own(redirect.target, bases):
            return True
    for effect in effects:
        for word, strip in effect.targets or ():
            if effect.kind == "Delete" and surface.meets_own(word, bases, strip, parents=True):
                return True
            if effect.kind != "Link" and surface.meets_own(word, bases, strip):
                return True
    if not command.words or command.program is None:
        return False
    if _reads_only(command):
        return False
    if _mentions(command):
        return True
    return any(surface.meets_own(word, bases) for word in _named(command))


def _reads_only(command: Command) -> bool:
    name = command.program or ""
    values = [word.value or "" for word in command.words[1:]]
    if any(
        value == option or value.startswith(f"{option}=")
        for option in _WRITING.get(name, ())
        for value in values
    ):
        return False
    if name == "git":
        from .git import GLOBAL_LONG
        from .options import scan

        operands = scan(command.words[1:], "Cc", "", GLOBAL_LONG, leading=True).operands
        return bool(operands) and operands[0].value in GIT_READERS
    return name in READERS


def _mentions(command: Command) -> bool:
    """Whether a program text that an interpreter runs speaks of the harness and acts."""
    kind = interpreter(command.program or "")
    if kind is None:
        return False
    texts = [word.value or word.source for word in command.words[1:] if _is_text(word)]
    redirect = command.input
    if redirect is not None and redirect.body is not None:
        texts.append(redirect.body.value or redirect.body.source)
    return any(
        re.search(_IMPORTED, text) or (re.search(_SPOKEN, text) and code_is_active(kind, text))
        for text in texts
    )


def _is_text(word: Word) -> bool:
    """Whether the word looks like a program text rather than the name of a file."""
    text = word.value if word.value is not None else word.source
    return any(sign in text for sign in (" ", "(", ";", "\n", "'", '"'))


def _named(command: Command) -> list[Word]:
    """The words that may be paths, and what stands behind `=` and an option letter in them."""
    out = []
    for word in command.arguments:
        out.append(word)
        text = word.value
        if text is None:
            continue
        pieces = [text.partition("=")[2]] if "=" in text else []
        if text.startswith(":/"):
            # a path of git from the top of the work tree
            pieces.append(text[2:])
        if text.startswith("-") and not text.startswith("--") and len(text) > 2:
            pieces.append(text[2:])
        out += [Word([Part(TEXT, piece)], word.start, word.end, piece) for piece in pieces if piece]
    return out


# -- the wiring ------------------------------------------------------------------------------------


def _rewires(
    command: Command, effects: list[Effect], surface: Surface, bases: tuple[str, ...]
) -> bool:
    """Whether the command would change a file that registers hooks."""
    for redirect in command.redirects:
        if redirect.writes and surface.meets_wiring(redirect.target, bases):
            return True
    known = bool(effects)
    for effect in effects:
        if effect.what != CHANGES or effect.targets is None:
            known = False
            continue
        for word, strip in effect.targets:
            if effect.kind == "Link":
                continue
            if surface.meets_wiring(word, bases, strip, removed=effect.kind == "Delete"):
                return True
    if known or not command.words or command.program is None:
        return False
    if _reads_only(command) or (not effects and _changes_nothing(command)):
        return False
    # a clone or a work tree may fill a whole folder
    fills = command.program == "git"
    return any(surface.meets_wiring(word, bases, removed=fills) for word in _named(command))


def _changes_nothing(command: Command) -> bool:
    """Whether a program is known, so that it would have an effect if it changed something here."""
    from .mutations import _WRITERS as WRITING

    name = command.program or ""
    if name == "git" or interpreter(name) is not None:
        return False
    known = entry(name)
    return "reads" in known.traits or known.rule is not None or name in WRITING


def _deny(command: Command, rule: str, what: str) -> Finding:
    return met(rule, "deny", command, detail=shown(what, 80), note=None, source="floor")
