"""What a git command changes.

Decides from the subcommand and its options whether git throws work away, writes files of the work
tree, rewrites what others have, or runs programs it is told of. What git only records or reads
(add, commit, tag, a new branch, switch, fetch) changes nothing here: the reflog keeps it.
"""

from __future__ import annotations

import re

from .effects import DELETE, EDIT, WRITE
from .options import Scanned, scan
from .words import made

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .commands import Command
    from .words import Word

GLOBAL_LONG = frozenset(
    {"git-dir", "work-tree", "namespace", "exec-path", "super-prefix", "config-env", "attr-source"}
)

# Subcommands that only read, or only add to what git keeps.
HARMLESS = frozenset(
    {"add", "commit", "status", "log", "diff", "show", "fetch", "pull", "ls-files", "ls-tree",
     "ls-remote", "rev-parse", "rev-list", "describe", "blame", "annotate", "grep", "shortlog",
     "whatchanged", "cat-file", "check-ignore", "check-attr", "check-ref-format", "merge-base",
     "name-rev", "for-each-ref", "show-ref", "show-branch", "symbolic-ref", "count-objects",
     "fsck", "help", "version", "var", "cherry", "range-diff", "diff-tree", "diff-files",
     "diff-index", "merge-tree", "verify-commit", "verify-tag", "verify-pack", "switch", "clone",
     "init", "merge", "rebase", "cherry-pick", "revert", "bundle", "archive", "format-patch",
     "request-pull", "hash-object", "mktree", "write-tree", "commit-tree", "stripspace",
     "interpret-trailers", "column", "bugreport", "diagnose", "notes", "maintenance", "gc",
     "repack", "bisect", "lfs", "sparse-checkout", "mktag", "get-tar-commit-id", "patch-id",
     "fmt-merge-msg", "submodule", "remote", "stash", "branch", "tag", "worktree", "config",
     "reflog", "push", "checkout", "reset", "restore", "clean", "rm", "mv", "apply", "am",
     "update-ref", "update-index", "read-tree", "checkout-index", "filter-branch", "filter-repo",
     "prune", "replace", "difftool", "mergetool", "credential", "send-email", "daemon", "svn",
     "p4", "fast-import", "fast-export", "rerere", "pack-refs", "cvsserver", "instaweb",
     "for-each-repo", "hook", "gui", "gitk", "citool", "shell", "backfill", "refs"}
)  # fmt: skip

# Configuration that is harmless for one command; any other key may name a program to run.
HARMLESS_KEYS = (
    r"(?i)(?:color|user|advice|column|log|format|i18n|status|versionsort|blame|grep|init|gui|pack"
    r"|author|committer|safe|index|rebase|merge\.(?:conflictstyle|ff|renames\S*)|pull|fetch|tag"
    r"|branch|push\.(?:default|autosetupremote|followtags)|commit\.(?:gpgsign|verbose|status)"
    r"|tag\.gpgsign|core\.(?:quotepath|abbrev|autocrlf|eol|longpaths|filemode|ignorecase"
    r"|precomposeunicode|symlinks|whitespace|safecrlf|bare|preloadindex|untrackedcache)"
    r"|diff\.(?:renames|algorithm|context|mnemonicprefix|noprefix|color\w*|wordregex|submodule"
    r"|ignoresubmodules|statgraphwidth|suppressblankempty|renamelimit|orderfile)"
    r"|http\.(?:postbuffer|version|lowspeed\w+|sslverify)|protocol\.version|gc\.auto|feature\.\w+"
    r"|transfer\.\w+|submodule\.recurse)\b.*"
)
HARMLESS_PAGERS = r"(?i)(?:core\.pager|pager\.\w+)=(?:|cat|less|less -\w+|more|false|true)"


class Finding:
    """What one git command does: `kind` as in effects, `targets` the words it changes.

    `targets` is None where nobody can tell which files; `why` is set when it may run something.
    """

    __slots__ = ("kind", "targets", "why")

    def __init__(self, kind: str, targets: list[Word] | None = None, why: str = "") -> None:
        self.kind = kind
        self.targets = targets
        self.why = why


# Subcommands that talk to another machine.
_REACHING = frozenset(
    {"push", "fetch", "pull", "clone", "ls-remote", "send-email", "svn", "p4", "send-pack",
     "fetch-pack", "http-push", "request-pull"}
)  # fmt: skip


def reaches_out(command: Command) -> bool:
    """Whether a git command talks to another machine."""
    operands = scan(command.words[1:], "Cc", "", GLOBAL_LONG, leading=True).operands
    return bool(operands) and operands[0].value in _REACHING


def finding(command: Command) -> Finding | None:
    """What `command` (whose program is git) changes; None when it changes nothing."""
    words = command.words[1:]
    scanned = scan(words, "Cc", "", GLOBAL_LONG, leading=True)
    if scanned.unknown is not None:
        return Finding(EDIT, None, "what git is to do is known only at run time")
    for setting in scanned.values("-c"):
        if not (re.fullmatch(HARMLESS_KEYS, setting) or re.fullmatch(HARMLESS_PAGERS, setting)):
            return Finding(
                EDIT, None, f"git -c {setting.partition('=')[0]} may run another program"
            )
    if scanned.has("--config-env", "--exec-path"):
        return Finding(EDIT, None, "an option of git may run another program")
    operands = scanned.operands
    if not operands and command.appended:
        return Finding(EDIT, None, "what git is to do comes at run time")
    if not operands or scanned.has("--help", "--version"):
        return None
    name = operands[0].value
    if name is None:
        return Finding(EDIT, None, "what git is to do is known only at run time")
    if name not in HARMLESS:
        return Finding(EDIT, None, f"git {name} is not known: it may be an alias for anything")
    rest = operands[1:]
    if _starts(rest) and name not in ("commit", "rebase"):
        return Finding(EDIT, None, f"git {name} starts a program it is told of")
    if any(word.value in ("--help", "-h") for word in rest[:1]):
        return None
    if any(word.may_split and not word.prefix for word in rest) and name in _VERBS:
        return Finding(EDIT, None) if name in _SPLIT_MATTERS else _VERBS[name](rest)
    verb = _VERBS.get(name)
    found = verb(rest) if verb is not None else None
    if found is None and name in HARMLESS and name not in ("archive", "commit", "grep"):
        return _output_file(rest)
    return found


def _starts(words: list[Word]) -> bool:
    """Whether an option or an address names a program to run."""
    for word in words:
        text = word.value if word.value is not None else word.prefix
        if text == "--":
            return False
        name = text.partition("=")[0]
        if len(name) > 5 and any(
            option.startswith(name) for option in ("--upload-pack", "--receive-pack")
        ):
            return True
        if name == "--exec" or text.startswith("ext::"):
            return True
    return False


def _output_file(words: list[Word]) -> Finding | None:
    """`--output=FILE`, which every command takes that can show a difference."""
    for position, word in enumerate(words):
        text = word.value if word.value is not None else word.prefix
        if text == "--":
            return None
        name, equals, value = text.partition("=")
        if len(name) > 3 and "--output".startswith(name):
            if equals:
                return Finding(WRITE, [made(value, word)] if word.literal else None)
            return Finding(WRITE, words[position + 1 : position + 2] or None)
    return None


def _values(words: list[Word]) -> list[str | None]:
    return [word.value for word in words]


def _dry(scanned: Scanned) -> bool:
    return scanned.has("-n", "--dry-run") and not scanned.has("--no-dry-run")


def _push(words: list[Word]) -> Finding | None:
    scanned = scan(words, "o", "", frozenset({"push-option", "repo", "receive-pack", "exec"}))
    if scanned.has("--receive-pack", "--exec"):
        return Finding(EDIT, None, "an option of git push runs another program")
    if _dry(scanned):
        return None
    # --force-with-lease is its own option; abbreviations of --force reach only --force
    forced = any(
        given in ("-f", "-d", "--force", "--mirror", "--delete", "--prune")
        or (
            given
            in (
                "--for",
                "--forc",
                "--mir",
                "--mirr",
                "--mirro",
                "--del",
                "--dele",
                "--delet",
                "--pru",
                "--prun",
            )
        )
        for given, _ in scanned.options
    )
    refs = [word.value if word.value is not None else word.prefix for word in scanned.operands]
    if forced or any(ref.startswith(("+", ":")) for ref in refs):
        return Finding(DELETE, None)
    return None


def _reset(words: list[Word]) -> Finding | None:
    scanned = scan(words)
    return Finding(DELETE, None) if scanned.has("--hard", "--merge", "--keep") else None


def _checkout(words: list[Word]) -> Finding | None:
    scanned = scan(words, "bB", "", frozenset({"orphan", "conflict", "pathspec-from-file"}))
    if scanned.has("-f", "--force", "--ours", "--theirs", "--pathspec-from-file", "-p", "--patch"):
        return Finding(DELETE, scanned.operands or None)
    if scanned.dashed is not None:
        paths = scanned.operands[scanned.dashed :]
        return Finding(DELETE, paths) if paths else None
    if scanned.has("-b", "-B", "--orphan", "--detach", "-t", "--track", "-d"):
        return None
    operands = scanned.operands
    if len(operands) > 1:
        return Finding(DELETE, operands[1:])
    if operands:
        value = operands[0].value or operands[0].prefix
        if (
            value in (".", "..", "*")
            or value.endswith("/")
            or re.search(r"\.[A-Za-z]\w{0,4}$", value)
        ):
            return Finding(DELETE, operands)
        if value.startswith((":", "./", "../", "~/", "/")) or operands[0].glob:
            return Finding(DELETE, operands)
    return None


def _switch(words: list[Word]) -> Finding | None:
    scanned = scan(words, "cC", "", frozenset({"create", "force-create", "orphan", "conflict"}))
    return Finding(DELETE, None) if scanned.has("-f", "--force", "--discard-changes") else None


def _restore(words: list[Word]) -> Finding | None:
    scanned = scan(words, "s", "", frozenset({"source", "conflict", "pathspec-from-file"}))
    staged = scanned.has("-S", "--staged") and not scanned.has("-W", "--worktree")
    return None if staged else Finding(DELETE, scanned.operands or None)


def _clean(words: list[Word]) -> Finding | None:
    scanned = scan(words, "e", "", frozenset({"exclude"}))
    return None if _dry(scanned) else Finding(DELETE, None)


def _rm(words: list[Word]) -> Finding | None:
    scanned = scan(words, "", "", frozenset({"pathspec-from-file"}))
    if _dry(scanned) or scanned.has("--cached"):
        return None
    return Finding(DELETE, scanned.operands or None)


def _mv(words: list[Word]) -> Finding | None:
    scanned = scan(words)
    return None if _dry(scanned) else Finding(DELETE, scanned.operands or None)


def _apply(words: list[Word]) -> Finding | None:
    scanned = scan(words, "pC", "", frozenset({"directory", "exclude", "include", "whitespace"}))
    if scanned.has("--check", "--stat", "--numstat", "--summary") and not scanned.has("--apply"):
        return None
    return Finding(EDIT, None)


def _am(words: list[Word]) -> Finding | None:
    return None if scan(words).has("--show-current-patch") else Finding(EDIT, None)


def _stash(words: list[Word]) -> Finding | None:
    verb = words[0].value if words else "push"
    if verb in ("list", "show", "push", "create", "store") or (verb or "").startswith("-"):
        # what is put aside is kept
        return None
    return Finding(DELETE if verb in ("drop", "clear", "pop") else EDIT, None)


def _branch(words: list[Word]) -> Finding | None:
    scanned = scan(words, "u", "", frozenset({"set-upstream-to", "sort", "contains", "format"}))
    if scanned.has("-D", "-d", "--delete", "-M", "-C", "-f", "--force", "-m", "--move"):
        return Finding(DELETE, None)
    return None


def _tag(words: list[Word]) -> Finding | None:
    scanned = scan(words, "mFu", "n", frozenset({"message", "file", "sort", "format", "contains"}))
    return Finding(DELETE, None) if scanned.has("-d", "--delete", "-f", "--force") else None


def _worktree(words: list[Word]) -> Finding | None:
    verb = words[0].value if words else ""
    if verb in ("remove", "prune", "move", "repair"):
        return None if _dry(scan(words)) else Finding(DELETE, words[1:] or None)
    return None


def _config(words: list[Word]) -> Finding | None:
    scanned = scan(words, "f", "", frozenset({"file", "blob", "type", "default", "comment"}))
    reading = (
        "--get",
        "--get-all",
        "--get-regexp",
        "--get-urlmatch",
        "-l",
        "--list",
        "--get-color",
        "--get-colorbool",
    )
    if scanned.has(*reading):
        return None
    values = _values(scanned.operands)
    if values[:1] and values[0] in ("get", "list"):
        return None
    if len(values) > 1 or scanned.has(
        "--unset",
        "--unset-all",
        "--add",
        "--replace-all",
        "-e",
        "--edit",
        "--remove-section",
        "--rename-section",
    ):
        return Finding(EDIT, None, "git keeps settings that may run other programs")
    return None


def _remote(words: list[Word]) -> Finding | None:
    verb = words[0].value if words else ""
    if verb in ("remove", "rm", "set-url", "rename", "prune", "add"):
        return None if _dry(scan(words)) else Finding(EDIT, None)
    return None


def _reflog(words: list[Word]) -> Finding | None:
    verb = words[0].value if words else ""
    return Finding(DELETE, None) if verb in ("expire", "delete", "drop") else None


def _submodule(words: list[Word]) -> Finding | None:
    scanned = scan(words)
    verb = scanned.operands[0].value if scanned.operands else ""
    if verb == "foreach":
        return Finding(EDIT, None, "git submodule foreach runs a command")
    return Finding(EDIT, None) if verb in ("deinit", "update", "set-url", "sync") else None


def _runs(_words: list[Word]) -> Finding | None:
    return Finding(EDIT, None, "git may run another program here")


def _changes(_words: list[Word]) -> Finding | None:
    return Finding(DELETE, None)


def _rebase(words: list[Word]) -> Finding | None:
    scanned = scan(words, "xsXC", "", frozenset({"exec", "onto", "strategy", "strategy-option"}))
    if scanned.has("-x", "--exec"):
        return Finding(EDIT, None, "git rebase --exec runs a command")
    return Finding(EDIT, None) if scanned.has("--abort", "--skip", "--quit") else None


def _abortable(words: list[Word]) -> Finding | None:
    return Finding(EDIT, None) if scan(words, "mFsX").has("--abort", "--skip", "--quit") else None


def _bisect(words: list[Word]) -> Finding | None:
    verb = words[0].value if words else ""
    return Finding(EDIT, None, "git bisect run runs a command") if verb == "run" else None


def _format_patch(words: list[Word]) -> Finding | None:
    return _output(words) or (None if scan(words).has("--stdout") else Finding(WRITE, None))


def _bundle(words: list[Word]) -> Finding | None:
    operands = scan(words).operands
    if not operands or operands[0].value != "create" or _values(operands[1:2]) == ["-"]:
        return None
    return Finding(WRITE, operands[1:2] or None)


def _output(words: list[Word]) -> Finding | None:
    scanned = scan(words, "oOG", "", frozenset({"output", "output-directory"}))
    if scanned.has("--ext-diff", "--textconv", "--open-files-in-pager"):
        return Finding(EDIT, None, "an option of git runs another program")
    places = scanned.given("--output", "-o", "--output-directory")
    if places and words:
        known = [made(place, words[0]) for place in places if place is not None]
        return Finding(WRITE, known if len(known) == len(places) else None)
    return None


def _readers(words: list[Word]) -> Finding | None:
    scanned = scan(words, "GSL")
    if scanned.may_have("--ext-diff"):
        return Finding(WRITE, None, "an option of git runs another program")
    return None


def _grep(words: list[Word]) -> Finding | None:
    scanned = scan(words, "efABCm", "O", frozenset({"max-depth", "max-count", "threads"}))
    if scanned.has("-O") or scanned.may_have("--open-files-in-pager", "--ext-grep"):
        return Finding(EDIT, None, "an option of git grep runs another program")
    return None


def _symbolic_ref(words: list[Word]) -> Finding | None:
    scanned = scan(words, "m")
    if scanned.has("-d", "--delete") or len(scanned.operands) > 1:
        return Finding(EDIT, None)
    return None


def _clone(words: list[Word]) -> Finding | None:
    scanned = scan(
        words,
        "bucoj",
        "",
        frozenset(
            {
                "upload-pack",
                "template",
                "config",
                "branch",
                "origin",
                "depth",
                "reference",
                "separate-git-dir",
                "jobs",
            }
        ),
    )
    if scanned.has("-u", "--upload-pack", "--template", "-c", "--config"):
        return Finding(WRITE, None, "an option of git clone may run another program")
    if any((word.value or "").startswith("ext::") for word in scanned.operands):
        return Finding(WRITE, None, "an ext:: address runs a command")
    return None


def _fetch(words: list[Word]) -> Finding | None:
    scanned = scan(words, "oj", "", frozenset({"upload-pack", "depth"}))
    if scanned.has("--upload-pack") or any(
        (word.value or "").startswith("ext::") for word in scanned.operands
    ):
        return Finding(WRITE, None, "it may run another program")
    forced = any(
        word.prefix.startswith("+") and not re.search(r":refs/remotes/", word.prefix)
        for word in scanned.operands[1:]
    )
    return Finding(DELETE, None) if forced or scanned.has("-f", "--force") else None


_VERBS = {
    "push": _push, "reset": _reset, "checkout": _checkout, "switch": _switch,
    "restore": _restore, "clean": _clean, "rm": _rm, "mv": _mv, "apply": _apply, "am": _am,
    "stash": _stash, "branch": _branch, "tag": _tag, "worktree": _worktree, "config": _config,
    "remote": _remote, "reflog": _reflog, "submodule": _submodule, "difftool": _runs,
    "mergetool": _runs, "credential": _runs, "send-email": _runs, "daemon": _runs, "svn": _runs,
    "p4": _runs, "for-each-repo": _runs, "hook": _runs, "instaweb": _runs, "shell": _runs,
    "update-ref": _changes, "read-tree": _changes, "checkout-index": _changes,
    "filter-branch": _runs, "filter-repo": _runs, "prune": _changes, "replace": _changes,
    "fast-import": _changes, "gc": _changes, "rebase": _rebase, "merge": _abortable,
    "cherry-pick": _abortable, "revert": _abortable, "bisect": _bisect, "archive": _output,
    "format-patch": _format_patch, "bundle": _bundle, "diff": _readers, "log": _readers,
    "show": _readers, "grep": _grep, "symbolic-ref": _symbolic_ref, "clone": _clone,
    "fetch": _fetch, "pull": _fetch,
    "update-index": _changes, "gui": _runs, "citool": _runs, "lfs": _abortable, "refs": _changes,
}  # fmt: skip
# Where a word that may become an option decides everything.
_SPLIT_MATTERS = frozenset({"push", "reset", "checkout", "branch", "tag", "clean", "restore", "rm"})
