"""May it run? The order of the rules, on commands that were read.

Pure: settings, tree and facts in, parts of a verdict out. The order is fixed: the floor, hard
blocks, deny list, protected paths, allow list, mutation gate (R041), with damaged characters before
the lists and what could not be read never allowed by any. The strictest match decides, and every
match is named.
"""

from __future__ import annotations

import re

from . import effects, rules, secrets
from .catalogue import entry, is_a
from .findings import Finding, deciding, met, shown
from .floor import CHANGED, floor, floor_of_change, may_overwrite_history
from .folders import Folders
from .mutations import CHANGES, SECRET, UNREAD, Effect, effects_of
from .paths import MAYBE, NO, YES, Facts, Protected, Target, is_temporary, is_within, target
from .patterns import Pattern, Texts
from .words import made

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ch_contract.messages import VerdictPart

    from .commands import Assignment, Command, Reading
    from .words import Word

FOLDERS_LIMIT = 16


class Policy:
    """The settings that decide: patterns by key, protected paths, mutation gate, shell sandbox."""

    __slots__ = ("gate", "patterns", "protected", "sandbox")

    def __init__(
        self,
        patterns: dict[str, list[Pattern]],
        protected: list[str],
        gate: str,
        sandbox: str = "optional",
    ) -> None:
        self.patterns = patterns
        self.protected = protected
        self.gate = gate
        self.sandbox = sandbox


def judge(reading: Reading, where: Facts, policy: Policy) -> VerdictPart:
    """The verdict's part for one command."""
    return part_of(reading, findings(reading, where, policy))


def findings(reading: Reading, where: Facts, policy: Policy) -> list[Finding]:
    """Every rule the command meets, in the order in which they decide."""
    changes = effects_of(reading)
    return [*floor(reading, changes, where), *own(reading, changes, where, policy)]


def own(reading: Reading, changes: list[Effect], where: Facts, policy: Policy) -> list[Finding]:
    """The rules above the floor, which the settings have a say in."""
    found = suspicious(reading)
    found += hard_blocks(reading, policy)
    found += denied(reading, policy)
    if reading.cause is not None:
        return [*found, unreadable(reading, where)]
    folders = possible_folders(reading, where)
    found += protected(reading, changes, where, folders, policy)
    if led_away(changes, where, folders):
        where = where.without_temporary()
    allowed = on_allowlist(reading, policy)
    if allowed is not None and not any(finding.decision != "allow" for finding in found):
        bare = unconfined(changes, where, folders) if policy.sandbox == "strict" else []
        return bare or [allowed]
    if policy.patterns["allowlist"]:
        found += not_allowed(reading, policy)
    found += gated(changes, where, folders, policy)
    if changes:
        from .fetched import written_and_run

        found += [
            met(
                rules.UNREAD_PROGRAM, "ask", command, detail="it runs what the same text writes"
            )
            for command in written_and_run(reading, changes, Folders(reading, where), where)
        ]  # fmt: skip
    found += [
        met(
            rules.UNREAD_PROGRAM, "ask", command,
            detail="it looks for programs where anybody may write",
        )
        for command in reading.commands
        for item in command.assignments
        if _opens_path(item, reading.dialect, where)
    ]  # fmt: skip
    found += [
        met(rules.SECRET_READ, "ask", command, detail="which file it shows, only the run tells")
        for command in secrets.doubtful(reading)
    ]
    found += [
        met(
            rules.UNREAD_PROGRAM, "ask", command,
            detail="whether it pushes by force, only the run tells",
        )
        for command in reading.commands
        if may_overwrite_history(command, reading)
    ]  # fmt: skip
    return found


def _opens_path(item: Assignment, dialect: str, where: Facts) -> bool:
    """Whether an assignment lets programs be found where anybody may write."""
    if item.name == "path" and dialect == "zsh":
        # the array that PATH is tied to
        return True
    return item.name == "PATH" and item.value is not None and _is_open_path(item.value, where)


def _is_open_path(value: Word, where: Facts) -> bool:
    """Whether a value of PATH begins with a temporary folder, or with the folder one stands in."""
    first = (value.value if value.value is not None else value.prefix).partition(":")[0]
    if not first.startswith("/"):
        return first in ("", ".") and value.value is not None
    return any(is_within(first, folder) for folder in where.temporary)


# -- the rules, one function each ------------------------------------------------------------------


_PLAIN = frozenset(chr(code) for code in (9, 10, *range(32, 127))) - {"&", "\\"}


def suspicious(reading: Reading) -> list[Finding]:
    """Characters that hide what runs, and damage of copying."""
    found: list[Finding] = []
    text = reading.text
    if _PLAIN.issuperset(text):
        # nearly every command: nothing to look for, in what an escape makes neither
        return found
    from . import characters

    odd = characters.oddities(text, reading.quoted if reading.cause is None else None)
    proposal = characters.mended(text, odd) if odd else None
    for oddity in odd:
        note = None
        if not oddity.hides and proposal is not None:
            note = f"probably meant: {proposal}"
        found.append(
            Finding(
                rules.SUSPICIOUS_CHARACTERS,
                "deny" if oddity.hides else "ask",
                text[oddity.start : oddity.end],
                oddity.start,
                oddity.end,
                detail=oddity.name,
                note=note,
            )
        )
    for command in reading.commands:
        letter = characters.look_alike(command.program or "", alone=True)
        place = "the name of a program"
        if letter is None and not is_a(command.program, "talks"):
            place = "a name with Latin letters"
            names = [word.value or "" for word in command.words[1:]]
            names += [redirect.target.value or "" for redirect in command.redirects]
            letters = (
                characters.look_alike(name, alone=False) for name in names if len(name.split()) == 1
            )
            letter = next((found for found in letters if found is not None), None)
        if letter is not None:
            found.append(
                met(
                    rules.SUSPICIOUS_CHARACTERS, "ask", command,
                    detail=f"{characters.name_of(letter)} in {place}",
                )
            )  # fmt: skip
    return found


_FORK_BOMB = r"(\S+)\s*\(\s*\)\s*\{\s*\1\s*\|\s*\1\s*&\s*\}\s*;\s*\1"


def hard_blocks(reading: Reading, policy: Policy) -> list[Finding]:
    """R042: the settings' regular expressions, and the built-in patterns on each command."""
    found = []
    for pattern in policy.patterns["hard_block_patterns"]:
        hit = pattern.regex.search(reading.text)
        if hit is not None:
            found.append(
                Finding(
                    rules.HARD_BLOCK, "deny", hit.group(0), hit.start(), hit.end(),
                    detail=f"what the pattern {pattern.entry} finds", source="settings",
                )
            )  # fmt: skip
            continue
        for command in reading.commands:
            if any(pattern.matches(form) for form in Texts(command).denied_forms()):
                found.append(
                    met(
                        rules.HARD_BLOCK, "deny", command,
                        detail=f"what the pattern {pattern.entry} finds", source="settings",
                    )
                )  # fmt: skip
                break
    found += [
        met(rules.HARD_BLOCK, "deny", command, detail="what would destroy a whole system")
        for command in reading.commands
        if _is_blocked(command)
    ]
    bomb = re.search(_FORK_BOMB, reading.text) if reading.functions else None
    if bomb is not None and bomb.group(1) in reading.functions:
        found.append(
            Finding(
                rules.HARD_BLOCK, "deny", bomb.group(0), bomb.start(), bomb.end(),
                detail="what starts itself without end",
            )
        )  # fmt: skip
    return found


def _is_blocked(command: Command) -> bool:
    """Whether one of the built-in patterns means this command."""
    for redirect in command.redirects:
        value = redirect.target.value
        if redirect.writes and value and re.fullmatch(effects.HARD_BLOCK_TARGET, value):
            return True
    name = command.program or ""
    patterns = effects.HARD_BLOCKS.get("mkfs" if name.startswith("mkfs.") else name)
    if patterns is None:
        return False
    words = [
        word.value if word.value is not None else word.pattern or word.source
        for word in command.words
    ]
    text = " ".join([name, *words[1:]])
    return any(re.fullmatch(pattern, text, re.DOTALL) for pattern in patterns)


def denied(reading: Reading, policy: Policy) -> list[Finding]:
    """R043: a simple command at any depth on the deny list."""
    found: list[Finding] = []
    if not policy.patterns["denylist"]:
        return found
    for command in reading.commands:
        if not command.words:
            continue
        texts = Texts(command)
        forms = texts.denied_forms()
        tails = [] if command.inner or is_a(command.program, "reads") else texts.tails()
        for pattern in policy.patterns["denylist"]:
            if any(pattern.matches(tail) for tail in tails):
                found.append(
                    met(
                        rules.UNREAD_PROGRAM, "ask", command,
                        detail=f"it may start what the deny list names ({pattern.entry})",
                        source="settings",
                    )
                )  # fmt: skip
            if any(pattern.matches(form) for form in forms):
                found.append(
                    met(
                        rules.DENYLIST, "deny", command,
                        detail=f"the entry {pattern.entry}", source="settings",
                    )
                )  # fmt: skip
                break
    return found


def possible_folders(reading: Reading, where: Facts) -> tuple[str, ...]:
    """Every folder a command of the text may stand in, as far as its `cd`s are known.

    It errs to many: each `cd` may have happened or not, in any order. An unknown `cd` adds
    nothing; `protected` then compares by the end of a path.
    """
    folders = [where.cwd]
    for command in reading.commands:
        place = _entered(command)
        if place is None:
            continue
        for path in target(place, where, tuple(folders)).paths:
            if path not in folders and len(folders) < FOLDERS_LIMIT:
                folders.append(path)
    return tuple(folders)


def _entered(command: Command) -> Any:
    """The word of the folder that the command changes to; None when it changes to none."""
    name = command.program
    if name in ("cd", "pushd", "chdir"):
        operands = [word for word in command.words[1:] if not (word.value or "x").startswith("-")]
        return operands[0] if operands else None
    words = command.words
    for position, word in enumerate(words[1:], 1):
        text = word.value or ""
        if text in ("--directory", "--chdir") or (name in _CHANGING and text == "-C"):
            return words[position + 1] if words[position + 1 :] else None
        if text.startswith(("--directory=", "--chdir=")):
            return made(text.partition("=")[2], word)
        if name in _CHANGING and text.startswith("-C") and len(text) > 2:
            return made(text[2:], word)
    return None


_CHANGING = frozenset({"git", "tar", "make", "env", "ninja", "gmake", "gtar"})


def protected(
    reading: Reading,
    changes: list[Effect],
    where: Facts,
    folders: tuple[str, ...],
    policy: Policy,
) -> list[Finding]:
    """R044: a change of a protected path. Where nobody can tell what is changed, it asks.

    A program that is no known reader asks as soon as it is handed a protected path.
    """
    entries = [Protected(entry, where) for entry in policy.protected]
    found: list[Finding] = []
    if not entries:
        return found
    judged = set()
    for effect in changes:
        if effect.what == SECRET:
            continue
        judged.add(id(effect.command))
        targets = _resolved(effect, where, folders)
        answer, hit = _met(effect, entries, targets)
        if answer == YES:
            found.append(
                met(
                    rules.PROTECTED_PATH, "deny", effect.command,
                    detail=f"the protected path {hit}", source="settings",
                )
            )  # fmt: skip
        elif answer == MAYBE or (
            effect.kind not in (effects.CREATE, effects.LINK)
            and not all(item.known for item in targets)
        ):
            found.append(
                met(
                    rules.PROTECTED_PATH, "ask", effect.command,
                    detail="nobody can tell which files before it runs", source="settings",
                )
            )  # fmt: skip
    denied = {id(finding.command) for finding in found}
    for command in reading.commands:
        if id(command) in denied or command.program is None or not command.words:
            continue
        if id(command) not in judged and _reads(command):
            continue
        hit = _named(command, entries, where, folders)
        if hit:
            found.append(
                met(
                    rules.PROTECTED_PATH, "ask", command,
                    detail=f"nobody can tell what it does with {hit}", source="settings",
                )
            )  # fmt: skip
    return found


def _reads(command: Command) -> bool:
    """Whether the program is a known reader; git is one but for what makes a work tree."""
    if command.program == "git":
        return not any(
            word.value in ("clone", "init", "worktree", "submodule") for word in command.words[1:]
        )
    return is_a(command.program, "reads")


def _named(
    command: Command, entries: list[Protected], where: Facts, folders: tuple[str, ...]
) -> str:
    """The entry that an argument or the value of an option names; empty when none does."""
    for word in command.words[1:]:
        text = word.value
        if text is None:
            continue
        pieces = [text, *([text.partition("=")[2]] if "=" in text else [])]
        if text.startswith("-") and not text.startswith("--") and len(text) > 2:
            pieces.append(text[2:])
        for piece in pieces:
            if not piece or (piece.startswith("-") and piece == text):
                continue
            like = made(piece, word)
            like.tilde = piece.startswith("~")
            place = target(like, where, folders)
            for protected_by in entries:
                if protected_by.meets(place, parents=False) == YES:
                    return protected_by.entry
    return ""


def _met(effect: Effect, entries: list[Protected], targets: list[Target]) -> tuple[str, str]:
    """The surest answer of all entries, and the entry that gives it."""
    parents = effect.kind == effects.DELETE or any(
        word.value in ("-R", "-r", "--recursive", "--delete") for word in effect.command.words
    )
    best = (NO, "")
    for protected_by in entries:
        for item in targets:
            best = max(best, (protected_by.meets(item, parents=parents), protected_by.entry))
    return best


def _resolved(effect: Effect, where: Facts, folders: tuple[str, ...]) -> list[Target]:
    return [target(word, where, folders, strip) for word, strip in effect.targets or ()]


def led_away(changes: list[Effect], where: Facts, folders: tuple[str, ...]) -> bool:
    """Whether the text itself makes a link from a temporary folder to somewhere else."""
    return any(
        effect.kind == effects.LINK
        and not all(is_temporary(item, where) for item in _resolved(effect, where, folders))
        for effect in changes
    ) or any(effect.command.program == "mount" for effect in changes)


def on_allowlist(reading: Reading, policy: Policy) -> Finding | None:
    """R046: the approval when every simple command is on the allow list; None otherwise."""
    patterns = policy.patterns["allowlist"]
    if not patterns or not reading.commands:
        return None
    if not all(is_covered(command, patterns) for command in reading.commands):
        return None
    if not any(command.words for command in reading.commands):
        return None
    return Finding(rules.ALLOWLIST, "allow", reading.text, 0, len(reading.text), source="settings")


def is_covered(command: Command, patterns: list[Pattern]) -> bool:
    """Whether the allow list approves this simple command.

    A command that another starts is covered by its own entry, or by one for the outer command
    that spells the inner one's name out. A wrapper that changes nothing of what it starts
    (`timeout`, `env`) is covered by what it starts.
    """
    texts = Texts(command)
    if not command.words:
        # assignments and redirects alone: nothing is started
        return not texts.files and not texts.steered and not command.unread
    if any(texts.covered_by(pattern) for pattern in patterns):
        return True
    if is_a(command.program, "idles") and not texts.files and not texts.steered:
        return True
    outer = command.outer
    if outer is not None and command.how == "same":
        # another name for what the outer entry speaks of
        return is_covered(outer, patterns)
    if outer is not None and command.how != "written" and not texts.files:
        own = Texts(outer)
        name = command.words[0]
        before = [word for word in outer.words if word.end <= name.start]
        offset = sum(len(word.source) + 1 for word in before)
        if any(own.reaches(pattern, offset) for pattern in patterns):
            return True
    wrapper = entry(command.program).starts
    transparent = wrapper.transparent if wrapper is not None else command.program in _TRANSPARENT
    return bool(
        transparent
        and command.inner
        and not command.unread
        and not texts.files
        and not texts.steered
        and all(is_covered(inner, patterns) for inner in command.inner)
    )


_TRANSPARENT = frozenset({"sh", "bash", "dash", "zsh", "ksh", "eval"})


def not_allowed(reading: Reading, policy: Policy) -> list[Finding]:
    """R045: the commands that no entry of a non-empty allow list covers."""
    return [
        met(rules.NOT_ON_ALLOWLIST, "ask", command, source="settings")
        for command in reading.commands
        if command.how != "same" and not is_covered(command, policy.patterns["allowlist"])
    ]


def gated(
    changes: list[Effect], where: Facts, folders: tuple[str, ...], policy: Policy
) -> list[Finding]:
    """R047: what looks like a mutation, and what nobody can read beforehand."""
    found = []
    for effect in changes:
        if effect.what == UNREAD:
            found.append(met(rules.UNREAD_PROGRAM, "ask", effect.command, detail=effect.why))
        elif effect.what == SECRET:
            found.append(met(rules.SECRET_READ, "ask", effect.command, detail=effect.why))
        elif effect.what == CHANGES:
            if not is_gated(effect, _resolved(effect, where, folders), where):
                continue
            rule = rules.MUTATION if policy.gate == "review" else rules.MUTATION_DENIED
            found.append(
                met(
                    rule, "ask" if policy.gate == "review" else "deny", effect.command,
                    detail=effect.kind, source="policy" if policy.gate == "review" else "settings",
                )
            )  # fmt: skip
    return found


def unconfined(changes: list[Effect], where: Facts, folders: tuple[str, ...]) -> list[Finding]:
    """R121: under a strict sandbox an allowed mutation may run in one only, and there is none yet.

    A program that nobody can read beforehand counts as one that changes something.
    """
    return [
        met(
            rules.MUTATION,
            "ask",
            effect.command,
            detail=effect.kind if effect.what == CHANGES else effect.why,
            source="settings",
        )
        for effect in changes
        if effect.what == UNREAD
        or (effect.what == CHANGES and is_gated(effect, _resolved(effect, where, folders), where))
    ]


def is_gated(effect: Effect, targets: list[Target], where: Facts) -> bool:
    """Whether a change is one for the mutation gate: nothing empty, nothing temporary."""
    if effect.kind == effects.LINK:
        return False
    if effect.grade == "write-preserving":
        return _is_delicate(effect, targets, where)
    return not (targets and all(is_temporary(item, where) or _is_null(item) for item in targets))


def _is_delicate(effect: Effect, targets: list[Target], where: Facts) -> bool:
    """Whether something new reaches the harness or, with what it holds, further than the project.

    A new link is as good as a file with content: it stays in the project and out of .git.
    """
    link = effect.command.program == "ln"
    if link and not (targets and all(item.known for item in targets)):
        return True
    root = where.project or where.cwd
    for item in targets:
        for path in item.paths:
            if re.search(_WIRING, path) or any(
                is_within(path, folder) or is_within(folder, path) for folder in where.surface
            ):
                return True
            outside = "/.git/" in path or not is_within(path, root)
            if link and outside and (effect.why == "hard" or not is_temporary(item, where)):
                return True
    return False


def _is_null(found: Target) -> bool:
    return found.paths in (["/dev/null"], ["/dev/stdout"])


# A scan of text can only make a verdict stricter; words count, wherever they stand.
_DESTRUCTIVE = (
    r"(?<![\w.-])(?:rm|rmdir|unlink|shred|truncate|dd|mkfs(?:\.\w+)?|wipefs)(?![\w.-])"
    r"|-delete\b|(?<![\w.-])git\b.*?\s(?:--force|-f|--hard)\b"
)
_WIRING = (
    r"\.clip-harness\b|clip-harness/|\.claude/settings|\.cursor/hooks|\.codex/(?:hooks|config)"
    r"|\.github/hooks|\.gemini/settings|\.factory/(?:settings|hooks)|\.opencode\b|opencode\.json"
)


def unreadable(reading: Reading, where: Facts) -> Finding:
    """R268: what can't be read is never allowed, and denied where its text looks dangerous."""
    text = reading.text
    # a quote or a backslash in the middle of a word hides it from a plain look
    bare = re.sub(r"[\\'\"]", "", text)
    hit = re.search(_DESTRUCTIVE, text) or re.search(_WIRING, text)
    inner = hit is None and (re.search(_DESTRUCTIVE, bare) or re.search(_WIRING, bare))
    mentioned = any(folder in text or folder in bare for folder in where.surface)
    start, end = (hit.start(), hit.end()) if hit else (0, len(text))
    if hit or inner or mentioned:
        what = hit.group(0) if hit else text
        return Finding(
            rules.UNREADABLE_COMMAND, "deny", what, start, end,
            detail=f"{reading.cause}; it mentions what destroys files or reaches the harness",
        )  # fmt: skip
    return Finding(rules.UNREADABLE_COMMAND, "ask", text, 0, len(text), detail=reading.cause or "")


# -- from findings to the part ---------------------------------------------------------------------


def part_of(reading: Reading, found: list[Finding]) -> VerdictPart:
    """The verdict's part that these findings make."""
    best = deciding(found)
    part: VerdictPart = {
        "kind": "command",
        "subject": reading.text,
        "decision": "allow",
        "reviewable": True,
        "rule": None,
        "reason": None,
        "note": None,
        "source": "policy",
        "matches": [],
    }
    if best is None:
        return part
    from .reasons import reason

    part["decision"] = best.decision
    part["reviewable"] = best.decision != "deny" or is_reviewable(best.rule)
    part["rule"] = best.rule
    part["source"] = best.source
    part["reason"] = reason(best)
    part["note"] = best.note
    for finding in found:
        # a loop that is read once for each of its words meets a rule at one place more than once
        if (match := finding.match()) not in part["matches"]:
            part["matches"].append(match)
    return part


def is_reviewable(_rule: str) -> bool:
    """Whether a person may still accept a denial under this rule: none of this version's."""
    return False


def judge_change(path: str, where: Facts, policy: Policy) -> VerdictPart:
    """The verdict's part for one file change."""
    from . import characters
    from .words import QUOTED, Part, Word

    word = Word([Part(QUOTED, path)], 0, len(path), path)
    # a leading ~ in a change's path means the home folder, quoted or not
    word.tilde = path.startswith("~")
    place = target(word, where, (where.cwd,))
    odd = [oddity for oddity in characters.oddities(path, [(0, len(path))]) if oddity.hides]
    hit = next(
        (
            entry
            for entry in policy.protected
            if Protected(entry, where).meets(place, parents=False) == YES
        ),
        None,
    )
    rule, decision, source = rules.FILE_REVIEW, "ask", "policy"
    why = "Held: a file change is always reviewed before it is written."
    denied_by = floor_of_change(word, where)
    if denied_by is not None:
        rule, decision, source = denied_by, "deny", "floor"
        from .reasons import reason

        why = reason(Finding(rule, decision, path, 0, len(path), detail=CHANGED[rule]))
    elif odd:
        rule, decision = rules.SUSPICIOUS_CHARACTERS, "deny"
        why = f"Denied: the path holds {odd[0].name}, which can hide what would be written."
    elif hit is not None:
        rule, decision, source = rules.PROTECTED_PATH, "deny", "settings"
        why = f"Denied: protected_paths names {shown(hit)}, and no payload may change that."
    letter = characters.look_alike(path, alone=False)
    note = None
    if letter is not None:
        note = f"the path holds {characters.name_of(letter)}, which looks like a Latin letter"
    return {
        "kind": "change",
        "subject": path,
        "decision": decision,
        "reviewable": decision != "deny",
        "rule": rule,
        "reason": why,
        "note": note,
        "source": source,
        "matches": [{"rule": rule, "text": path, "span": [0, len(path)]}],
    }
