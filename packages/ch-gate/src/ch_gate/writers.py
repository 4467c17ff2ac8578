"""What particular programs change, where the tables of `effects` are not enough.

One function for each; loaded when one of them is met.
"""

from __future__ import annotations

import re

from .catalogue import entry
from .effects import CREATE, DELETE, EDIT, LINK, WRITE
from .mutations import (
    CHANGES,
    SECRET,
    STREAMS,
    UNREAD,
    Effect,
    code_is_active,
    is_secret,
    placed,
    task_changes,
)
from .options import scan
from .words import PARAMETER, Part, Word, made

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .catalogue import Rule
    from .commands import Command


def _rule(name: str) -> Rule:
    """The rule of a program that has a function here besides."""
    rule = entry(name).rule
    if rule is None:
        raise LookupError(f"the catalogue does not say what {name} changes")
    return rule


def _find(command: Command) -> list[Effect]:
    values = [word.value for word in command.words[1:]]
    out: list[Effect] = []
    if "-delete" in values:
        roots = []
        for word in command.words[1:]:
            if (word.value or word.prefix).startswith(("-", "(", "!")):
                break
            roots.append((word, ""))
        out.append(Effect(CHANGES, command, DELETE, roots or None))
    for position, value in enumerate(values):
        if value in ("-fprint", "-fprint0", "-fprintf", "-fls"):
            out.append(
                Effect(
                    CHANGES,
                    command,
                    WRITE,
                    [(word, "") for word in command.words[position + 2 : position + 3]],
                )
            )
    return out


_TAR_VALUED = "fCTXgbIFHKLNV"
_TAR_LONG = frozenset(
    {"file", "directory", "files-from", "exclude", "exclude-from", "use-compress-program",
     "to-command", "transform", "strip-components"}
)  # fmt: skip


def _tar(command: Command) -> list[Effect]:
    words = command.words[1:]
    first = words[0].value if words else ""
    bundled = "" if first is None or first.startswith("-") else first
    own: list[tuple[str, str | None]] = []
    if bundled:
        # `tar cfC FILE FOLDER`: the values follow in the order of their letters
        words = words[1:]
        for letter in bundled:
            value = None
            if letter in _TAR_VALUED and words:
                value, words = words[0].value, words[1:]
            own.append((f"-{letter}", value))
    scanned = scan(words, _TAR_VALUED, "", _TAR_LONG)
    scanned.options[:0] = own
    if scanned.has(
        "--to-command",
        "-I",
        "--use-compress-program",
        "--checkpoint-action",
        "-F",
        "--info-script",
        "--rsh-command",
    ):
        return [Effect(UNREAD, command, why="an option of tar runs another program")]
    if scanned.has("-t", "--list", "--help", "--version"):
        return []
    if scanned.has("-x", "--extract", "--get"):
        if scanned.has("-O", "--to-stdout"):
            return []
        places = [
            (made(place, command.words[0]), "")
            for place in scanned.given("-C", "--directory")
            if place is not None
        ]
        into = [Effect(CHANGES, command, WRITE, places)] if places else []
        return [Effect(CHANGES, command, WRITE), *into]
    archives = scanned.given("-f", "--file")
    if scanned.has("-c", "--create") and (not archives or archives[-1] == "-"):
        return []
    if scanned.has("--remove-files") or len(archives) != 1 or archives[0] is None:
        return [Effect(CHANGES, command, WRITE)]
    return [Effect(CHANGES, command, WRITE, [(made(archives[0], command.words[0]), "")])]


_SECOND = {"uniq": "fsw", "xxd": "cglosRn", "json.tool": ""}


def _second(command: Command) -> list[Effect]:
    """A second operand is the file it writes."""
    valued = _SECOND.get(command.program or "", "")
    scanned = scan(command.words[1:], valued, "", frozenset({"indent", "skip-fields"}))
    written = [word for word in scanned.operands[1:2] if word.value not in STREAMS]
    return [Effect(CHANGES, command, WRITE, [(word, "") for word in written])] if written else []


def _dd(command: Command) -> list[Effect]:
    words = command.words[1:]
    if any(word.value in ("--help", "--version") for word in words):
        return []
    found = [(word, "of=") for word in words if word.prefix.startswith("of=")]
    if found or command.appended or any("=" not in word.prefix for word in words):
        return [Effect(CHANGES, command, WRITE, found or None)]
    return []


def _ln(command: Command) -> list[Effect]:
    """A new link; what it leads to is as good as reached, so a secret or protected file counts."""
    rule = _rule("ln")
    scanned = scan(command.words[1:], rule.valued, "", rule.long)
    if scanned.has("-f", "-F", "--force", "--help", "--version"):
        return []
    linked = scanned.operands if len(scanned.operands) < 2 else scanned.operands[:-1]
    for word in linked:
        text = word.pattern
        if text and is_secret(text.replace("\\", "")):
            return [Effect(SECRET, command, why="it gives what looks like a secret another name")]
    hard = "" if scanned.has("-s", "--symbolic") else "hard"
    return [
        Effect(CHANGES, command, CREATE, placed(command, scanned, rule), hard),
        Effect(CHANGES, command, LINK, [(word, "") for word in linked]),
    ]


def _cp(command: Command) -> list[Effect]:
    """A copy that is a link: what is written to it later reaches the original."""
    rule = _rule("cp")
    scanned = scan(command.words[1:], rule.valued, "", rule.long)
    linked = scanned.has("-l", "-s") or scanned.may_have("--link", "--symbolic-link")
    return [Effect(CHANGES, command, WRITE)] if linked else []


def _traced(command: Command) -> list[Effect]:
    """The file that a program writes about the one it starts."""
    wrapper = entry(command.program).starts
    if wrapper is None:
        raise LookupError(f"the catalogue does not say how {command.program} starts a command")
    scanned = scan(command.words[1:], wrapper.valued, "", wrapper.long, leading=True)
    files = scanned.given("-o", "--output", "--log-file", "--xml-file")
    return _written(command, [name for name in files if name not in STREAMS])


def _pacman(command: Command) -> list[Effect]:
    letters = {
        given[1:] for given, _ in scan(command.words[1:], "bcr").options if given[1:2] != "-"
    }
    if letters & {"R", "U"} or ("S" in letters and not letters & {"s", "i", "l", "p", "g"}):
        return [Effect(CHANGES, command, EDIT)]
    return []


def _install(command: Command) -> list[Effect]:
    rule = _rule("install")
    scanned = scan(command.words[1:], rule.valued, "", rule.long)
    if not scanned.has("-d", "--directory"):
        return []
    return [Effect(CHANGES, command, CREATE, [(word, "") for word in scanned.operands])]


def _awk(command: Command) -> list[Effect]:
    from .launchers import awk_options, awk_texts
    from .scripts import awk

    if (
        awk_options(command).has(
            "-o", "-d", "-p", "--pretty-print", "--dump-variables", "--profile"
        )
        and command.program == "gawk"
    ):
        return [Effect(CHANGES, command, WRITE)]
    return _written(
        command, [name for text in awk_texts(command) or () for name in awk(text).writes]
    )


def _sed(command: Command) -> list[Effect]:
    from .launchers import sed_texts
    from .scripts import sed

    return _written(
        command, [name for text in sed_texts(command) or () for name in sed(text).writes]
    )


def _written(command: Command, names: list[str | None]) -> list[Effect]:
    """The files that a program text writes; None among them is one that nobody can tell."""
    if not names:
        return []
    like = command.words[0]
    unknown = Word([Part(PARAMETER, "")], like.start, like.end, like.source)
    targets = [(unknown if name is None else made(name, like), "") for name in names]
    return [Effect(CHANGES, command, WRITE, targets)]


def _openssl(command: Command) -> list[Effect]:
    words = command.words[1:]
    for position, word in enumerate(words[:-1]):
        if word.value in ("-out", "-keyout", "-writerand", "-outdir", "-certsout"):
            if words[position + 1].value in STREAMS:
                continue
            return [Effect(CHANGES, command, WRITE, [(words[position + 1], "")])]
    return []


def _curl(command: Command) -> list[Effect]:
    rule = _rule("curl")
    scanned = scan(command.words[1:], rule.valued, "", rule.long)
    if any(
        value is None or "%output{" in value or value.startswith("@")
        for value in scanned.given("-w", "--write-out")
    ):
        return [Effect(CHANGES, command, WRITE)]
    return []


def _httpie(command: Command) -> list[Effect]:
    """HTTPie and its kin: the method and what is sent stand among the operands."""
    scanned = scan(
        command.words[1:], "aosApv", "", frozenset({"auth", "output", "session", "print", "style"})
    )
    if scanned.has("-d", "--download", "-o", "--output", "--raw", "--session", "--multipart"):
        return [Effect(CHANGES, command, WRITE)]
    for word in scanned.operands:
        text = word.value if word.value is not None else word.prefix
        if text in ("POST", "PUT", "PATCH", "DELETE") or re.match(r"[\w-]+(?::?=(?!=)|@)", text):
            return [Effect(CHANGES, command, EDIT)]
    return []


def _ar(command: Command) -> list[Effect]:
    first = command.words[1].value if len(command.words) > 1 else ""
    letters = (first or "").lstrip("-")
    if letters[:1] in ("t", "p", "") or letters.startswith(("-", "V")):
        return []
    return [Effect(CHANGES, command, WRITE)]


def _cmake(command: Command) -> list[Effect]:
    values = [word.value for word in command.words[1:]]
    if "--install" in values:
        return [Effect(CHANGES, command, WRITE)]
    for position, value in enumerate(values[:-1]):
        following = values[position + 1] or ""
        if value in ("--target", "-t") and (task_changes(following) or following == "install"):
            return [Effect(CHANGES, command, EDIT)]
        if value == "-E" and following not in _CMAKE_READS and not command.inner:
            return [Effect(CHANGES, command, EDIT)]
    return []


_CMAKE_READS = frozenset(
    {"capabilities", "cat", "compare_files", "echo", "echo_append", "environment", "false", "true",
     "md5sum", "sha1sum", "sha256sum", "sha512sum", "sleep", "server", "help", "make_directory"}
)  # fmt: skip


def _sd(command: Command) -> list[Effect]:
    scanned = scan(command.words[1:], "nf", "", frozenset({"max-replacements", "flags"}))
    files = scanned.operands[2:]
    if scanned.has("-p", "--preview", "--help", "--version") or not (files or command.appended):
        return []
    return [Effect(CHANGES, command, EDIT, [(word, "") for word in files] or None)]


def _module(command: Command) -> list[Effect]:
    """Modules of Python's own library that pack, unpack or time something."""
    name = command.program
    scanned = scan(command.words[1:], "nrsup" if name == "timeit" else "", "", frozenset({"setup"}))
    if name in ("cProfile", "profile", "pdb", "trace"):
        scanned = scan(command.words[1:], "osc", "", frozenset({"outfile"}), leading=True)
        script = scanned.operands[0].value if scanned.operands else ""
        if script is None or script.startswith(("/dev/", "/proc/")) or scanned.has("-c"):
            return [Effect(UNREAD, command, why=f"what {name} runs is known only at run time")]
        return _written(command, scanned.given("-o", "--outfile"))
    if name == "timeit":
        texts = [word.value for word in scanned.operands] + scanned.given("-s", "--setup")
        if any(text is None or code_is_active("python", text) for text in texts):
            return [Effect(UNREAD, command, why="the python program may change something")]
        return []
    if scanned.has("-e", "-c", "--extract", "--create"):
        return [Effect(CHANGES, command, WRITE)]
    return []


WRITERS: dict[str, Callable[[Command], list[Effect]]] = {
    **dict.fromkeys(("uniq", "xxd", "json.tool"), _second),
    **dict.fromkeys(("find", "gfind", "bfs"), _find),
    **dict.fromkeys(("tar", "gtar", "bsdtar"), _tar),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _awk),
    **dict.fromkeys(("sed", "gsed"), _sed),
    **dict.fromkeys(("http", "https", "xh", "xhs", "httpie"), _httpie),
    **dict.fromkeys(
        ("timeit", "zipfile", "tarfile", "cProfile", "profile", "pdb", "trace"), _module
    ),
    **dict.fromkeys(("strace", "ltrace", "valgrind", "time", "gtime"), _traced),
    "pacman": _pacman,
    "cp": _cp,
    "dd": _dd,
    "ln": _ln,
    "install": _install,
    "openssl": _openssl,
    "curl": _curl,
    "ar": _ar,
    "cmake": _cmake,
    "sd": _sd,
}
