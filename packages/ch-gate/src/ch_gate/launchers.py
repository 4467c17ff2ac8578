"""What particular programs start, where the table of `wrappers` is not enough.

One function for each: debuggers, editors of streams, build tools and finders that are handed a
command, or a text of a language that starts commands. Loaded when one of them is met.
"""

from __future__ import annotations

import re

from .catalogue import Wrapper, entry
from .options import Scanned, scan
from .wrappers import SHELLS, Text, Wrapped, interpreter, runner, shell_option, unread, wrapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .commands import Command, Unread


def _parallel(command: Command) -> list[Text | Wrapped | Unread]:
    scanned = scan(
        command.words[1:], "jSNnLIaCPsdEpTW",
        "", frozenset({"jobs", "arg-file", "colsep", "delay", "joblog", "timeout", "results",
                       "tmpdir", "workdir", "retries", "max-args", "load", "memfree", "sshlogin"}),
        leading=True,
    )  # fmt: skip
    if scanned.has("--version", "--help", "--citation"):
        return []
    template = []
    for word in scanned.operands:
        if word.value is not None and word.value.startswith(":::"):
            break
        template.append(word)
    if not template or (template[0].value or "").startswith("{"):
        return [unread(command, "parallel runs the lines it is given as commands")]
    if len(template) == 1:
        # one word is a text for a shell, with what comes at run time put into it
        word = template[0]
        if word.value is None:
            return [unread(command, "what parallel runs is known only at run time")]
        return [Text(word.value, "parallel", (word.start, word.end), "posix", appended=True)]
    return [Wrapped(template, appended=True)]


def _ssh(command: Command) -> list[Text | Wrapped | Unread]:
    scanned = scan(command.words[1:], "BbcDEeFIiJLlmOopQRSWw", leading=True)
    if scanned.has("-V", "-Q", "-G"):
        return []
    if any(
        re.match(r"(?i)(proxycommand|localcommand|permitlocalcommand|knownhostscommand)", value)
        for value in scanned.values("-o")
    ):
        return [unread(command, "an option of ssh runs a command")]
    return [unread(command, "it runs on another machine")]


def _remote(command: Command) -> list[Text | Wrapped | Unread]:
    return [unread(command, f"{command.program} hands text to another program to run")]


def _is_stream(word: str | None) -> bool:
    """Whether a file to read a program from is standard input, a pipe or not known."""
    return word is None or word == "-" or word.startswith(("/dev/", "/proc/"))


def awk_options(command: Command) -> Scanned:
    """The options of an awk command."""
    return scan(
        command.words[1:],
        "FvfielEW",
        "odp" if command.program == "gawk" else "",
        frozenset({"file", "assign", "source", "field-separator", "include", "exec", "load"}),
        leading=True,
    )


def awk_texts(command: Command) -> list[str] | None:
    """The program texts of an awk command; None when one is known only at run time."""
    from .scripts import script_text

    scanned = awk_options(command)
    texts = scanned.given("-e", "--source")
    if not texts and not scanned.has("-f", "--file", "-E", "--exec") and scanned.operands:
        texts = [script_text(scanned.operands[0])]
    known = [text for text in texts if text is not None]
    return known if len(known) == len(texts) else None


def _awk(command: Command) -> list[Text | Wrapped | Unread]:
    from .scripts import awk

    texts = awk_texts(command)
    options = awk_options(command)
    files = options.given("-f", "--file", "-E", "--exec")
    if texts is None or options.unknown or any(_is_stream(name) for name in files):
        return [unread(command, "the program given to awk is known only at run time")]
    found = [awk(text) for text in texts]
    if any(script.runs for script in found):
        return [unread(command, "the awk program starts other programs")]
    if any(script.unclear for script in found):
        return [unread(command, "the awk program can't be read")]
    if options.has("-l", "--load"):
        return [unread(command, "awk loads code")]
    return []


def sed_texts(command: Command) -> list[str] | None:
    """The script of a sed command; None when a part of it is known only at run time."""
    from .scripts import script_text

    scanned = scan(command.words[1:], "efl", "iI", frozenset({"expression", "file", "line-length"}))
    if any(_is_stream(name) for name in scanned.given("-f", "--file")):
        return None
    texts = scanned.given("-e", "--expression")
    if not texts and not scanned.has("-f", "--file") and scanned.operands:
        texts = [script_text(scanned.operands[0])]
    known = [text for text in texts if text is not None]
    return ["\n".join(known)] if len(known) == len(texts) else None


def _sed(command: Command) -> list[Text | Wrapped | Unread]:
    from .scripts import sed

    texts = sed_texts(command)
    if texts is None:
        return [unread(command, "the script given to sed is known only at run time")]
    found = [sed(text) for text in texts]
    if any(script.runs for script in found):
        return [unread(command, "the sed script runs commands")]
    if any(script.unclear for script in found):
        return [unread(command, "the sed script can't be read")]
    return []


_PLAIN = Wrapper({})
_NIX_SHELL = Wrapper(
    {
        "valued": "pIA",
        "long": ["run", "command", "packages", "attr", "arg", "argstr"],
        "script": ["--run", "--command"],
    }
)
_CMAKE = {
    "env": Wrapper({"long": ["unset", "modify"], "assignments": True}),
    "time": _PLAIN,
    "chdir": Wrapper({"operands": 1}),
}


def _nix(command: Command) -> list[Text | Wrapped | Unread]:
    for position, word in enumerate(command.words[1:], 1):
        if word.value in ("-c", "--command") and command.words[position + 1 :]:
            return [Wrapped(command.words[position + 1 :])]
    return []


def _nix_shell(command: Command) -> list[Text | Wrapped | Unread]:
    return shell_option(
        command,
        command.words[1:],
        _NIX_SHELL,
    )


def _double_dash(command: Command) -> list[Text | Wrapped | Unread]:
    """`time -- CMD`: the word after `time` is no program."""
    return [Wrapped(command.words[1:])] if command.words[1:] else []


def _setarch(command: Command) -> list[Text | Wrapped | Unread]:
    words = command.words[1:]
    if words and not (words[0].value or "-").startswith("-"):
        words = words[1:]
    return wrapped(command, _PLAIN, words)


def _gdb(command: Command) -> list[Text | Wrapped | Unread]:
    values = [word.value for word in command.words[1:]]
    for position, value in enumerate(values):
        if value in ("--args", "-args"):
            return [Wrapped(command.words[position + 2 :])] if values[position + 1 :] else []
        name = (value or "").lstrip("-").partition("=")[0]
        if value is None or (
            value.startswith("-") and name in ("ex", "x", "eval-command", "command", "iex", "ix")
        ):
            return [unread(command, "a debugger runs commands it is given")]
    return []


def _fd(command: Command) -> list[Text | Wrapped | Unread]:
    words = command.words[1:]
    for position, word in enumerate(words):
        if word.value in ("-x", "-X", "--exec", "--exec-batch"):
            inner = []
            for item in words[position + 1 :]:
                if item.value == ";":
                    break
                inner.append(item)
            return [Wrapped(inner, appended=True)] if inner else []
    return []


def _rg(command: Command) -> list[Text | Wrapped | Unread]:
    scanned = scan(command.words[1:], "efgtTABCmjMrE", "", frozenset({"pre", "hostname-bin"}))
    if any(scanned.given("--pre")[:1]) or scanned.given("--hostname-bin"):
        return [unread(command, "an option of rg runs a program on each file")]
    return []


def _hyperfine(command: Command) -> list[Text | Wrapped | Unread]:
    scanned = scan(
        command.words[1:], "wmMrpPDLsuSnc", "",
        frozenset({"warmup", "min-runs", "max-runs", "runs", "prepare", "parameter-scan",
                   "parameter-list", "style", "time-unit", "shell", "setup", "cleanup",
                   "command-name", "export-json", "export-csv", "export-markdown", "output",
                   "input", "conclude"}),
    )  # fmt: skip
    texts = [word.value for word in scanned.operands]
    texts += scanned.given("-p", "--prepare", "-s", "--setup", "-c", "--cleanup", "--conclude")
    if None in texts:
        return [unread(command, "what hyperfine runs is known only at run time")]
    span = (command.start, command.end)
    return [Text(text, "hyperfine", span, "posix", appended=True) for text in texts if text]


def _go(command: Command) -> list[Text | Wrapped | Unread]:
    for word in command.words[1:]:
        name = (word.value if word.value is not None else word.prefix).lstrip("-")
        if name.partition("=")[0] in ("exec", "toolexec", "vettool") and word.prefix[:1] == "-":
            return [unread(command, "an option of go runs another program")]
    return []


def _make(command: Command) -> list[Text | Wrapped | Unread]:
    scanned = scan(
        command.words[1:], "CfIoWE", "jlO",
        frozenset({"directory", "file", "makefile", "include-dir", "eval", "old-file", "what-if"}),
    )  # fmt: skip
    if scanned.given("-E", "--eval"):
        return [unread(command, "make runs a text it is given")]
    if any(_is_stream(name) for name in scanned.given("-f", "--file", "--makefile")):
        return [unread(command, "the makefile is known only at run time")]
    for word in scanned.operands:
        if re.match(
            r"(?:MAKEFLAGS|GNUMAKEFLAGS|SHELL|\.SHELLFLAGS|MAKEFILES)\s*[:+?!]*=", word.prefix
        ):
            return [unread(command, f"{word.prefix.partition('=')[0]} changes what make runs")]
    return []


def _npm(command: Command) -> list[Text | Wrapped | Unread]:
    for word in command.words[1:]:
        text = word.value if word.value is not None else word.prefix
        if text.startswith(("--script-shell", "--shell=", "--node-options", "--init-module")):
            return [unread(command, "an option changes the program that runs scripts")]
        if text == "--":
            break
    return runner(command, command.program or "")


def _apt(command: Command) -> list[Text | Wrapped | Unread]:
    scanned = scan(command.words[1:], "otc", "", frozenset({"option", "config-file"}))
    for value in scanned.given("-o", "--option"):
        if value is None or re.search(r"(?i)invoke|dpkg::|dir::bin|::run|proxy-auto", value):
            return [unread(command, "an option of apt runs a command")]
    return []


def _zip(command: Command) -> list[Text | Wrapped | Unread]:
    for word in command.words[1:]:
        if (word.value or "").startswith(("-TT", "--unzip-command")):
            return [unread(command, "an option of zip runs a command")]
    return []


def _compgen(command: Command) -> list[Text | Wrapped | Unread]:
    scanned = scan(command.words[1:], "oAGWFCXPS")
    lists = scanned.given("-W")
    if scanned.has("-C", "-F") or any(
        value is None or re.search(r"[$`]", value) for value in lists
    ):
        return [unread(command, f"{command.program} evaluates what it is given")]
    return []


def _man(command: Command) -> list[Text | Wrapped | Unread]:
    scanned = scan(command.words[1:], "PCLmMSserEp", "H", frozenset({"pager", "html"}))
    if scanned.has("-P", "--pager", "-H", "--html"):
        return [unread(command, "an option of man runs a program")]
    return []


def _less(command: Command) -> list[Text | Wrapped | Unread]:
    for word in command.words[1:]:
        text = word.value if word.value is not None else word.prefix
        if text.startswith("+") and not re.fullmatch(r"\++(?:/.*|[GgF]|\d+)?", text):
            return [unread(command, f"{command.program} runs a command of its own")]
    return []


def _fzf(command: Command) -> list[Text | Wrapped | Unread]:
    for word in command.words[1:]:
        if (word.value or word.prefix).startswith(("--preview", "--bind")):
            return [unread(command, "fzf runs a command it is given")]
    return []


def _crontab(command: Command) -> list[Text | Wrapped | Unread]:
    if [word.value for word in command.words[1:]] == ["-l"]:
        return []
    return _remote(command)


def _cmake(command: Command) -> list[Text | Wrapped | Unread]:
    words = command.words[1:]
    for position, word in enumerate(words[:-1]):
        verb = words[position + 1].value
        if word.value == "-E" and verb in _CMAKE:
            return wrapped(command, _CMAKE[verb], words[position + 2 :])
    return []


def _docker(command: Command) -> list[Text | Wrapped | Unread]:
    scanned = scan(
        command.words[1:],
        "cHl",
        "",
        frozenset({"config", "context", "host", "log-level"}),
        leading=True,
    )
    operands = scanned.operands
    values = [word.value for word in operands]
    if values[:1] in (["container"], ["compose"]):
        # options of compose stand between
        verbs = [place for place, value in enumerate(values) if value in ("run", "exec")]
        operands = operands[verbs[0] :] if verbs else []
    if not operands or operands[0].value not in ("run", "exec"):
        return []
    if operands[0].value == "exec":
        rest = scan(operands[1:], "euw", "", _EXEC_LONG, leading=True).operands
        if rest[1:] and _only_reads(rest[1].value):
            return [Wrapped(rest[1:])]
    return [unread(command, "it runs a command in a container")]


_EXEC_LONG = frozenset({"env", "env-file", "user", "workdir", "index", "detach-keys"})


def _only_reads(name: str | None) -> bool:
    """Whether a program only shows what it is given, and starts nothing."""
    known = entry(name)
    plain = known.starts is None and not known.runs and name not in SHELLS
    return "reads" in known.traits and plain and interpreter(name) is None


LAUNCHERS: dict[str, Callable[[Command], list[Text | Wrapped | Unread]]] = {
    "parallel": _parallel,
    "ssh": _ssh,
    "mosh": _ssh,
    "at": _remote,
    "batch": _remote,
    "crontab": _crontab,
    "--": _double_dash,
    "setarch": _setarch,
    "gdb": _gdb,
    "lldb": _gdb,
    "fd": _fd,
    "fdfind": _fd,
    "rg": _rg,
    "hyperfine": _hyperfine,
    "go": _go,
    "make": _make,
    "gmake": _make,
    "npm": _npm,
    "pnpm": _npm,
    "yarn": _npm,
    "apt": _apt,
    "apt-get": _apt,
    "zip": _zip,
    "compgen": _compgen,
    "man": _man,
    "less": _less,
    "more": _less,
    "fzf": _fzf,
    "cmake": _cmake,
    "tmux": _remote,
    "screen": _remote,
    "expect": _remote,
    "awk": _awk,
    "gawk": _awk,
    "mawk": _awk,
    "nawk": _awk,
    "sed": _sed,
    "gsed": _sed,
    "docker": _docker,
    "podman": _docker,
    "nix": _nix,
    "nix-shell": _nix_shell,
}
