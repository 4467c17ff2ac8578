"""Commands that start other commands.

Decides, by a table that knows which options take a value, what a command starts: the command in
its own arguments (`sudo -u x CMD`), or a text it hands to a shell (`sh -c TEXT`). What would be
started but can't be known beforehand is an `Unread`. Leaves parsing the texts to `syntax`, and
judging to `policy`.
"""

from __future__ import annotations

import re

from .catalogue import entry
from .commands import Assignment, Command, Unread
from .options import scan
from .words import Word, made

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .catalogue import Wrapper

    Found = "Text | Wrapped | Unread"


class Text:
    """A text handed to a shell. `to` names who gets it; `dialect` is None for the same as around.

    `takes_input` says that the text came in as standard input, so its commands can't read that.
    """

    __slots__ = ("appended", "dialect", "span", "takes_input", "text", "to")

    def __init__(
        self,
        text: str,
        to: str,
        span: tuple[int, int],
        dialect: str | None = None,
        *,
        takes_input: bool = False,
        appended: bool = False,
    ) -> None:
        self.text = text
        self.to = to
        self.span = span
        self.dialect = dialect
        self.takes_input = takes_input
        self.appended = appended


class Wrapped:
    """A command that stands in the arguments of another.

    `same` says that the outer command is this one under another name (`python -m black`).
    """

    __slots__ = ("appended", "assignments", "same", "words")

    def __init__(
        self,
        words: list[Word],
        assignments: list[Assignment] | None = None,
        *,
        appended: bool = False,
        same: bool = False,
    ) -> None:
        self.words = words
        self.assignments = assignments or []
        self.appended = appended
        self.same = same


SHELLS = {
    "sh": "posix",
    "dash": "posix",
    "ash": "posix",
    "bash": "bash",
    "rbash": "bash",
    "zsh": "zsh",
    "ksh": "mksh",
    "mksh": "mksh",
    "ksh93": "mksh",
    "oksh": "mksh",
    "yash": "posix",
}
OTHER_SHELLS = frozenset({"fish", "nu", "pwsh", "powershell", "tcsh", "csh", "xonsh", "elvish"})


# Subcommands of a runner that are its own: any other word is what it starts.
_OWN_SUBCOMMANDS = frozenset(
    {"install", "i", "add", "a", "ci", "init", "create", "list", "ls", "why", "test", "t", "start",
     "stop", "info", "view", "config", "set", "get", "version", "versions", "pack", "audit",
     "outdated", "licenses", "import", "fetch", "store", "env", "root", "bin", "help", "node",
     "cache", "workspace", "workspaces", "up", "upgrade", "update", "remove", "rm", "link",
     "unlink", "publish", "deploy", "patch", "rebuild", "dedupe", "global", "login", "logout",
     "tag", "team", "owner", "check", "build", "pm"}
)  # fmt: skip
INTERPRETERS = {
    # program: options that hold program text, options that take another value, long ones
    "python": ("c", "WXmQ", frozenset({"check-hash-based-pycs"})),
    "node": ("e", "rC", frozenset({"require", "import", "loader", "conditions"})),
    "ruby": ("e", "rIEC", frozenset()),
    "perl": ("eE", "", frozenset()),
    "php": ("rBRE", "dczf", frozenset({"run"})),
    "lua": ("e", "l", frozenset()),
    "Rscript": ("e", "", frozenset()),
    "osascript": ("e", "l", frozenset()),
    "bun": ("e", "", frozenset()),
    "deno": ("", "", frozenset()),
    "tclsh": ("", "", frozenset()),
    "wish": ("", "", frozenset()),
    "gnuplot": ("e", "", frozenset()),
    "octave": ("", "p", frozenset({"path"})),
    "guile": ("c", "Ll", frozenset()),
    "racket": ("e", "lrtp", frozenset()),
    "julia": ("eE", "pLCJ", frozenset({"project"})),
    "R": ("e", "fg", frozenset()),
    "elixir": ("e", "rpS", frozenset()),
    "erl": ("", "", frozenset()),
    "ghci": ("e", "", frozenset()),
    "ghc": ("e", "", frozenset()),
    "scala": ("e", "", frozenset()),
    "groovy": ("e", "c", frozenset()),
    "clojure": ("e", "", frozenset()),
    "bb": ("e", "", frozenset()),
    "raku": ("e", "I", frozenset()),
    "jshell": ("", "", frozenset()),
    "sbcl": ("", "", frozenset({"load"})),
    "swipl": ("g", "", frozenset()),
}
CODE_LONG = {
    "node": ("--eval",),
    "php": ("--run",),
    "bun": ("--eval",),
    "octave": ("--eval",),
    "sbcl": ("--eval",),
}
_VERSIONED = r"(python|pypy|node|ruby|perl|php|lua|luajit)[0-9.]*[a-z]?$|nodejs$"
_STEMS = ("py", "no", "ru", "pe", "ph", "lu")

# The loader of programs, which carries the machine and a version in its name.
_LOADER = r"ld-(?:linux|musl)\S*\.so|ld(?:64)?\.so"

_SUBSCRIPT = r"\[[^\]]*(?:\$\(|`)"
# Builtins that evaluate a name they are given, subscript and all.
EVALUATING = frozenset(
    {
        "let",
        "declare",
        "typeset",
        "local",
        "readonly",
        "export",
        "test",
        "[",
        "printf",
        "read",
        "unset",
        "mapfile",
        "readarray",
        "getopts",
        "wait",
    }
)

# Variables whose value another program runs as a command.
COMMAND_VARIABLES = frozenset(
    {
        "PAGER",
        "EDITOR",
        "VISUAL",
        "BROWSER",
        "LESSOPEN",
        "LESSCLOSE",
        "MANPAGER",
        "GIT_PAGER",
        "GIT_EDITOR",
        "GIT_SEQUENCE_EDITOR",
        "GIT_SSH_COMMAND",
        "GIT_SSH",
        "GIT_EXTERNAL_DIFF",
        "GIT_ASKPASS",
        "SSH_ASKPASS",
        "SUDO_ASKPASS",
        "GIT_PROXY_COMMAND",
        "RSYNC_RSH",
        "CVS_RSH",
        "PROMPT_COMMAND",
        "FCEDIT",
        "SYSTEMD_EDITOR",
        "SYSTEMD_PAGER",
        "AWS_PAGER",
        "GH_PAGER",
        "GH_EDITOR",
        "KUBE_EDITOR",
    }
)
# Variables that put code into whatever is started next.
LOADING_VARIABLES = (
    r"LD_(?:PRELOAD|LIBRARY_PATH|AUDIT)|DYLD_\w+|BASH_ENV|BASH_FUNC_.+|SHELLOPTS|BASHOPTS|PS4"
    r"|PERL5(?:OPT|LIB|DB)|RUBYOPT|PYTHONSTARTUP|PYTHONHOME|GIT_CONFIG_\w+|GIT_EXEC_PATH"
    r"|GIT_TEMPLATE_DIR|IFS"
)
# Variables that do so with some of their values only.
LOADING_VALUES = {
    "TAR_OPTIONS": (
        r"action|to-command|compress-program|rsh|rmt|info-script|new-volume|(?:^|\s)-\w*[IF]"
    ),
    "NODE_OPTIONS": r"(?:^|\s)(?:-r|--require|--import|--loader|--experimental-loader|--eval)\b",
    "MAKEFLAGS": r"eval|\$|SHELL",
    "GNUMAKEFLAGS": r"eval|\$|SHELL",
    "PATH": r"(?:^|:)(?:\.|\$PWD|\$\{PWD\}|\$\(pwd\))?/?(?::|$)",
}


def hides_substitution(text: str) -> bool:
    """Whether a string that is evaluated as arithmetic would run a command."""
    return "[" in text and re.search(_SUBSCRIPT, text) is not None


def interpreter(name: str | None) -> str | None:
    """The name under which INTERPRETERS has the program; None when it is none."""
    if name is None:
        return None
    if name in INTERPRETERS:
        return name
    if not name.startswith(_STEMS):
        return None
    found = re.match(_VERSIONED, name)
    if found is None:
        return None
    stem = found.group(1) or "node"
    return {"pypy": "python", "luajit": "lua"}.get(stem, stem)


def started_by(command: Command) -> list[Text | Wrapped | Unread]:
    """What `command` starts, as far as its words tell."""
    found = _variables(command)
    if not command.words:
        return found
    if command.path is None:
        word = command.words[0]
        return [
            *found,
            Unread("the program is known only at run time", word.start, word.end, word.source),
        ]
    name = command.program or ""
    found += _replaced(command)
    if name in EVALUATING and any(
        hides_substitution(word.value or "") for word in command.words[1:]
    ):
        found.append(unread(command, f"{name} evaluates a quoted substitution"))
    special = _SPECIAL.get(name)
    if special is None and name in _LAUNCHERS:
        from .launchers import LAUNCHERS

        special = LAUNCHERS[name]
    if special is not None:
        return found + special(command)
    if name in SHELLS:
        return found + _shell(command)
    if name in OTHER_SHELLS:
        return found + _other_shell(command)
    code = interpreter(name)
    if code is not None:
        found += _interpreter(command, code)
        return found + (runner(command, name) if entry(name).runs else [])
    wrapper = entry("ld.so" if re.match(_LOADER, name) else name).starts
    if wrapper is not None:
        return found + wrapped(command, wrapper, command.words[1:])
    if entry(name).runs:
        return found + runner(command, name)
    return found


def runner(command: Command, name: str) -> list[Text | Wrapped | Unread]:
    """What a program such as `uv run` or `npx` starts."""
    short, long = entry(name).before
    rows = entry(name).runs
    if list(rows) == [""]:
        return _named(command, rows[""], command.words[1:])
    scanned = scan(command.words[1:], short, "", long, leading=True)
    operands = scanned.operands
    if not operands or (name == "bun" and scanned.has("-e", "-p", "--eval", "--print")):
        return []
    first = operands[0].value or ""
    if name == "yarn" and first == "workspace" and operands[2:]:
        # the same command, in another folder
        return [Wrapped([command.words[0], *operands[2:]])]
    if first in rows:
        return _named(command, rows[first], operands[1:])
    two = " ".join(word.value or "" for word in operands[:2])
    if two in rows:
        return _named(command, rows[two], operands[2:])
    if "" in rows and first not in _OWN_SUBCOMMANDS:
        return _named(command, rows[""], operands)
    return []


def _named(command: Command, wrapper: Wrapper, words: list[Word]) -> list[Text | Wrapped | Unread]:
    """The command behind a runner: a package's name may carry a version, and `--` may follow it."""
    found = wrapped(command, wrapper, words)
    for item in found:
        if not isinstance(item, Wrapped):
            continue
        head, *rest = item.words
        plain = re.split(r"(?<=.)[@=<>!~\[]", head.value or "")[0]
        if plain and plain != head.value:
            head = made(plain, head)
        if rest and rest[0].value == "--":
            rest = rest[1:]
        item.words = [head, *rest]
    return found


def _replaced(command: Command) -> list[Text | Wrapped | Unread]:
    """A program's name, or a shell's text, into which another program puts what it reads."""
    if not command.appended:
        return []
    sign = "{}"
    outer = command.outer
    while outer is not None:
        if outer.program in ("xargs", "gxargs"):
            scanned = scan(outer.words[1:], "aEILnPRsSdJ", "eil", leading=True)
            sign = next(iter(scanned.values("-I", "-J", "-i", "--replace")), "") or "{}"
            break
        outer = outer.outer
    texts = [command.path or ""]
    if command.program in SHELLS or command.program == "eval":
        texts += [word.value or "" for word in command.words[1:]]
    if any(sign in text and not text.startswith(sign + "/") for text in texts[:1]) or any(
        sign in text and text != sign for text in texts[1:]
    ):
        return [unread(command, f"what takes the place of {sign} becomes part of a program")]
    if command.program in SHELLS and sign in texts[1:] and "-c" in texts[1:]:
        after = texts[1:].index("-c") + 2
        if texts[after : after + 1] == [sign]:
            return [unread(command, f"what takes the place of {sign} becomes the program")]
    return []


def unread(command: Command, why: str) -> Unread:
    """What `command` would run and nobody can read, and `why`."""
    return Unread(why, command.start, command.end, command.source)


def _variables(command: Command) -> list[Text | Wrapped | Unread]:
    """Assignments that make another program run something."""
    found: list[Text | Wrapped | Unread] = []
    for assignment in command.assignments:
        name = assignment.name
        if re.fullmatch(LOADING_VARIABLES, name) and not (
            name == "IFS" or assignment.value is None
        ):
            found.append(unread(command, f"{name} changes what later programs run"))
        if name in LOADING_VALUES and assignment.value is not None:
            given = assignment.value.value
            text = assignment.value.source.strip("'\"") if given is None else given
            if re.search(LOADING_VALUES[name], text):
                found.append(unread(command, f"{name} changes what later programs run"))
        if name in COMMAND_VARIABLES and assignment.value is not None:
            word = assignment.value
            if word.value is None:
                found.append(unread(command, f"{name} is run as a command and not known"))
            elif word.value.strip():
                found.append(Text(word.value, name, (word.start, word.end), "posix", appended=True))
    return found


def wrapped(command: Command, wrapper: Wrapper, words: list[Word]) -> list[Text | Wrapped | Unread]:
    """What `words`, read by the table's row `wrapper`, start."""
    name = command.program or ""
    scanned = scan(
        words,
        wrapper.valued,
        wrapper.attached,
        wrapper.long,
        leading=True,
    )
    if wrapper.lookup and scanned.has(*wrapper.lookup):
        return []
    found: list[Text | Wrapped | Unread] = []
    if wrapper.script:
        found += shell_option(command, words, wrapper)
        if found:
            return found
    operands = scanned.operands
    assignments = []
    while wrapper.assignments and operands:
        head, equals, tail = (operands[0].prefix).partition("=")
        if name in ("env", "genv"):
            # `env - CMD`, and any text before the sign
            if operands[0].value == "-":
                operands = operands[1:]
                continue
            if not equals:
                break
        elif not equals or not re.fullmatch(r"[A-Za-z_]\w*", head):
            break
        word = operands[0]
        value = made(tail, word) if word.literal else word
        assignments.append(Assignment(head, value, None, append=False))
        operands = operands[1:]
    operands = operands[wrapper.operands :]
    if scanned.unknown is not None and (not operands or scanned.unknown is not operands[0]):
        return [unread(command, f"an option of {name} is known only at run time")]
    if not operands:
        if command.appended:
            return [unread(command, f"what {name} starts comes at run time")]
        return list(_variables_of(command, assignments))
    if wrapper.joined and not scanned.has("-x", "--exec"):
        return [_joined(command, operands, name)]
    return [Wrapped(operands, assignments, appended=wrapper.appended)]


def _variables_of(command: Command, assignments: list[Assignment]) -> list[Text | Wrapped | Unread]:
    probe = Command([], command.start, command.end, command.source, dialect=command.dialect)
    probe.assignments = assignments
    return _variables(probe)


def _joined(command: Command, words: list[Word], name: str) -> Text | Unread:
    """The words joined by blanks, for a shell."""
    values = [word.value for word in words]
    if None in values:
        return unread(command, f"the text given to {name} is known only at run time")
    text = " ".join(value for value in values if value is not None)
    return Text(
        text, name, (words[0].start, words[-1].end), command.dialect if name == "eval" else "posix"
    )


def shell_option(
    command: Command, words: list[Word], wrapper: Wrapper
) -> list[Text | Wrapped | Unread]:
    """A text given by an option such as `su -c TEXT`, wherever among the words it stands."""
    name = command.program or ""
    scanned = scan(words, wrapper.valued, wrapper.attached, wrapper.long)
    for value in scanned.given(*wrapper.script):
        if value is None:
            return [unread(command, f"the text given to {name} is known only at run time")]
        return [Text(value, name, (command.start, command.end), "posix")]
    if name in ("su", "script"):
        # without a text they start a shell that reads standard input, or nothing
        return _from_input(command, name, "posix")
    return []


def _shell(command: Command) -> list[Text | Wrapped | Unread]:
    name = command.program or "sh"
    dialect = SHELLS[name]
    scanned = scan(
        _without_set_options(command.words[1:]),
        "", "", frozenset({"rcfile", "init-file"}), leading=True,
    )  # fmt: skip
    if scanned.has("--version", "--help"):
        return []
    if scanned.unknown is not None:
        return [unread(command, f"what {name} runs is known only at run time")]
    for setting in scanned.given("--rcfile", "--init-file"):
        if setting != "/dev/null":
            return [unread(command, f"{name} reads commands from {setting}")]
    operands = scanned.operands
    if scanned.has("-c"):
        if not operands:
            return (
                [unread(command, f"what {name} runs comes at run time")] if command.appended else []
            )
        text = operands[0]
        if text.value is None:
            return [
                Unread(
                    f"the text given to {name} -c is known only at run time",
                    text.start,
                    text.end,
                    text.source,
                )
            ]
        return [
            Text(
                text.value, f"{name} -c", (text.start, text.end), dialect, appended=command.appended
            )
        ]
    if operands and operands[0].value == "-":
        operands = operands[1:]
    if operands and not scanned.has("-s"):
        return _script(command, operands[0], name, dialect)
    if command.appended:
        return [unread(command, f"what {name} runs comes at run time")]
    return _from_input(command, name, dialect)


def _without_set_options(words: list[Word]) -> list[Word]:
    """A shell's words without `+x`, and without the names that each `o` and `O` takes."""
    kept: list[Word] = []
    position = 0
    while position < len(words):
        text = words[position].value
        if text is None or text[:1] not in ("-", "+") or text in ("-", "--"):
            return kept + words[position:]
        if not text.startswith("--"):
            names = sum(letter in "oO" for letter in text[1:])
            if text[0] == "-":
                rest = text.replace("o", "").replace("O", "")
                kept += [made(rest, words[position])] if len(rest) > 1 else []
            position += 1 + names
            continue
        kept.append(words[position])
        if text in ("--rcfile", "--init-file"):
            position += 1
            kept += words[position : position + 1]
        position += 1
    return kept


def _script(command: Command, word: Word, name: str, dialect: str) -> list[Text | Wrapped | Unread]:
    """A script named by a word: a file of the user's own is as good as running it."""
    if word.value is None:
        return [
            Unread(
                f"the script that {name} runs is known only at run time",
                word.start,
                word.end,
                word.source,
            )
        ]
    if re.fullmatch(r"/dev/stdin|/dev/fd/0|/proc/self/fd/0", word.value):
        return _from_input(command, name, dialect)
    if re.match(r"/dev/fd/|/proc/[^/]+/fd/", word.value):
        return [unread(command, f"{name} reads from another descriptor")]
    return []


def _from_input(command: Command, name: str, dialect: str | None) -> list[Text | Wrapped | Unread]:
    """The text a shell reads from standard input."""
    span = (command.start, command.end)
    redirect = command.input
    if redirect is not None:
        if redirect.body is not None:
            if redirect.body.value is None:
                return [unread(command, f"the text fed to {name} is known only at run time")]
            return [Text(redirect.body.value, name, span, dialect, takes_input=True)]
        if redirect.target.value == "/dev/null" or (
            redirect.op == "<&" and redirect.target.value == "-"
        ):
            return []
        if redirect.op == "<&":
            return [unread(command, f"{name} reads from another descriptor")]
        if redirect.target.value is None or redirect.target.value.startswith("/dev/"):
            return [unread(command, f"the text fed to {name} is known only at run time")]
        return []
    if command.fed_by:
        text = printed(command.fed_by)
        if text is None:
            return [unread(command, f"nobody can read beforehand what is piped into {name}")]
        return [Text(text, name, span, dialect, takes_input=True)]
    if {"function", "coproc", "process"}.intersection(command.contexts):
        return [unread(command, f"what {name} reads is known only at run time")]
    return []


def printed(commands: list[Command]) -> str | None:
    """What these commands print, where their words alone tell; else None."""
    if len(commands) != 1:
        return None
    command = commands[0]
    values = [word.value for word in command.words]
    if None in values or not values or command.inner or command.unread:
        return None
    arguments = [value for value in values[1:] if value is not None]
    if any(word.tilde for word in command.words):
        return None
    if command.path == "cat" and all(value == "-" for value in arguments):
        redirect = command.input
        return None if redirect is None or redirect.body is None else redirect.body.value
    if command.path == "echo":
        while arguments and arguments[0] in ("-n", "-E", "-nE", "-En"):
            arguments = arguments[1:]
        text = " ".join(arguments)
        return None if "\\" in text or text.startswith("-") else text + "\n"
    if command.path == "printf" and arguments:
        form, rest = arguments[0], arguments[1:]
        if form in ("%s", "%s\\n"):
            return ("\n" if form != "%s" else "").join(rest) + "\n"
        if not rest and "%" not in form:
            plain = form.replace("\\n", "\n")
            return None if "\\" in plain or plain.startswith("-") else plain
    return None


def _other_shell(command: Command) -> list[Text | Wrapped | Unread]:
    if command.words[1:] and (command.words[1].value or "") in ("--version", "--help", "-v"):
        return []
    return [unread(command, f"the gate can't read the language of {command.program}")]


def _eval(command: Command) -> list[Text | Wrapped | Unread]:
    words = command.words[1:]
    if words and words[0].value == "--":
        words = words[1:]
    return [_joined(command, words, "eval")] if words else []


def _trap(command: Command) -> list[Text | Wrapped | Unread]:
    words = command.words[1:]
    if words and words[0].value == "--":
        words = words[1:]
    if not words or words[0].value in ("-", "-p", "-l", "", "-P"):
        return []
    if words[0].value is None:
        return [unread(command, "the text given to trap is known only at run time")]
    word = words[0]
    return [Text(word.value or "", "trap", (word.start, word.end), command.dialect)]


def _source(command: Command) -> list[Text | Wrapped | Unread]:
    words = [word for word in command.words[1:] if word.value != "--"]
    if not words:
        return []
    name = command.program or "source"
    found = _script(command, words[0], name, command.dialect)
    if not found and (words[0].value or "").startswith(("/dev/", "/proc/")):
        return [unread(command, f"what {name} reads is known only at run time")]
    return found


def _alias(command: Command) -> list[Text | Wrapped | Unread]:
    found: list[Text | Wrapped | Unread] = []
    for word in command.words[1:]:
        _name, equals, value = (word.value or word.prefix).partition("=")
        if not equals:
            continue
        if word.value is None:
            found.append(unread(command, "an alias whose text is known only at run time"))
        else:
            found.append(
                Text(value, "alias", (word.start, word.end), command.dialect, appended=True)
            )
    return found


def _hash(command: Command) -> list[Text | Wrapped | Unread]:
    scanned = scan(command.words[1:], "p")
    if scanned.has("-p"):
        return [unread(command, "hash -p gives a program another name")]
    return []


def _enable(command: Command) -> list[Text | Wrapped | Unread]:
    if scan(command.words[1:], "f").has("-f"):
        return [unread(command, "enable -f loads code into the shell")]
    return []


def _complete(command: Command) -> list[Text | Wrapped | Unread]:
    return _bind(command) if scan(command.words[1:], "oAGWFCXPS").has("-C", "-F") else []


def _mapfile(command: Command) -> list[Text | Wrapped | Unread]:
    return _bind(command) if scan(command.words[1:], "dnOsuCc").has("-C") else []


def _bind(command: Command) -> list[Text | Wrapped | Unread]:
    return [unread(command, f"{command.program} registers commands to run later")]


def _env(command: Command) -> list[Text | Wrapped | Unread]:
    wrapper = entry("env").starts
    if wrapper is None:
        raise LookupError("the catalogue does not say how env starts a command")
    words = command.words[1:]
    scanned = scan(words, wrapper.valued, "", wrapper.long, leading=True)
    if not scanned.has("-S", "--split-string"):
        return wrapped(command, wrapper, words)
    texts = scanned.values("-S", "--split-string")
    rest = [word.value for word in scanned.operands]
    if not texts or None in rest:
        return [unread(command, "the command given to env -S is known only at run time")]
    text = texts[0]
    if "$" in text or "\\" in text:
        return [unread(command, "env -S puts variables into the command")]
    from .words import QUOTED, Part

    split = [
        Word(
            [Part(QUOTED, piece.replace("'", "").replace('"', ""))],
            command.start,
            command.end,
            piece,
        )
        for piece in re.findall(r"""(?:[^\s'"]|'[^']*'|"[^"]*")+""", text)
    ]
    line = Command(
        [command.words[0], *split, *scanned.operands], command.start, command.end,
        command.source, dialect=command.dialect,
    )  # fmt: skip
    return wrapped(line, wrapper, line.words[1:])


def _find(command: Command) -> list[Text | Wrapped | Unread]:
    found: list[Text | Wrapped | Unread] = []
    words = command.words[1:]
    position = 0
    while position < len(words):
        if words[position].value in ("-exec", "-execdir", "-ok", "-okdir"):
            inner: list[Word] = []
            position += 1
            while position < len(words):
                value = words[position].value
                if value == ";" or (value == "+" and inner and inner[-1].value == "{}"):
                    break
                inner.append(words[position])
                position += 1
            if inner:
                found.append(Wrapped(inner, appended=True))
        position += 1
    return found


def _interpreter(command: Command, kind: str) -> list[Text | Wrapped | Unread]:
    """Whether an interpreter's program can be read; its meaning is `policy`'s.

    A module or a script that goes by the name of a program is that program.
    """
    if kind == "python":
        module = _python_module(command)
        if module is not None:
            if not module:
                return [unread(command, "the module that runs is known only at run time")]
            if module[0].value in ("code", "asyncio", "pdb") and (command.fed_by or command.input):
                return [unread(command, f"{module[0].value} runs what it reads")]
            return [Wrapped(module, appended=command.appended, same=True)]
    if kind in ("node", "bun", "deno"):
        scanned = scan(command.words[1:], "rC", "", INTERPRETERS["node"][2], leading=True)
        loaded = scanned.given("-r", "--require", "--import", "--loader")
        if any(value is None or value.startswith("data:") for value in loaded):
            return [unread(command, f"{command.program} loads a program text from an option")]
    texts, known = program_texts(command, kind)
    if known:
        script = _script_words(command, kind) if texts is None else []
        return [Wrapped(script, appended=command.appended, same=True)] if script else []
    if texts is None:
        return []
    return [unread(command, f"the program given to {command.program} is known only at run time")]


def _without_unicode(word: Word) -> Word:
    text = word.value
    if text is None or "C" not in text or not text.startswith("-"):
        return word
    rest = re.sub(r"^-([acfnpsStTuUwWXlh0-9]*)C[IOESioDALa0-9]*", r"-\1", text)
    return word if rest == text else made(rest, word)


def _python_module(command: Command) -> list[Word] | None:
    """The words of `python -m MODULE …` from the module on; None without -m.

    The list is empty when nobody can tell the module.
    """
    words = command.words[1:]
    for position, word in enumerate(words):
        text = word.value
        if text is None or not text.startswith("-") or text in ("-", "--"):
            return None
        if text.startswith("--"):
            if text == "--check-hash-based-pycs":
                return None
            continue
        for index, letter in enumerate(text[1:], 1):
            if letter == "m":
                rest = text[index + 1 :]
                if rest:
                    return [made(rest, word), *words[position + 1 :]]
                named = words[position + 1 :]
                return named if named and named[0].value is not None else []
            if letter == "c":
                return None
            if letter in "WXQ":
                if index + 1 == len(text):
                    # the value is the next word: read on behind it
                    rest_words = [command.words[0], *words[position + 2 :]]
                    behind = Command(
                        rest_words, command.start, command.end, command.source,
                        dialect=command.dialect,
                    )  # fmt: skip
                    return _python_module(behind)
                break
    return None


def _script_words(command: Command, kind: str) -> list[Word]:
    """The words from the script on that an interpreter runs, when its name is plain."""
    if entry(kind).runs:
        return []
    code, valued, long_valued = INTERPRETERS[kind]
    operands = scan(command.words[1:], code + valued, "", long_valued, leading=True).operands
    if not operands or operands[0].value is None or operands[0].value.startswith("-"):
        return []
    return operands


def program_texts(command: Command, kind: str) -> tuple[list[str] | None, bool]:
    """The program texts an interpreter gets by option or standard input.

    The list is None when it runs a file or a module, and the flag says whether all of it is
    known beforehand.
    """
    code, valued, long_valued = INTERPRETERS[kind]
    words = command.words[1:]
    if kind == "python" and _python_module(command):
        return None, True
    attached = {"perl": "MmIxFDVi", "ruby": "FKTWxi"}.get(kind, "")
    if kind == "perl":
        # `-CSD` before other letters: its own letters are no options
        words = [_without_unicode(word) for word in words]
    long_names = long_valued | {name[2:] for name in CODE_LONG.get(kind, ())}
    scanned = scan(words, code + valued, attached, long_names, leading=True)
    if kind == "php" and words and words[0].value == "-a":
        return [], True
    names = [f"-{letter}" for letter in code] + list(CODE_LONG.get(kind, ()))
    texts = [value for given, value in scanned.options if given in names]
    if kind in ("node", "bun") and scanned.has("-p", "--print") and not texts:
        texts = [word.value for word in scanned.operands[:1]] or [None]
    if kind == "perl":
        texts += [f"use {value};" for value in scanned.given("-M", "-m") if texts]
    if texts:
        return [text for text in texts if text is not None], None not in texts
    if scanned.unknown is not None:
        return [], False
    if kind == "deno":
        if scanned.operands and scanned.operands[0].value == "eval":
            values = [word.value for word in scanned.operands[1:]]
            return [value for value in values if value is not None], None not in values
        return None, True
    if kind == "python" and scanned.has("-m"):
        return None, True
    if scanned.has("--version", "-V", "--help", "-h", "-v", "--check", "-l"):
        return None, True
    operands = scanned.operands
    if operands and operands[0].value == "-":
        operands = []
    if operands:
        value = operands[0].value
        if any(part.kind == "process" for part in operands[0].parts):
            return [], False
        if value is None:
            return [], operands[0].literal or not operands[0].may_split
        if value in ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"):
            operands = []
        else:
            return None, True
    redirect = command.input
    if redirect is not None:
        if redirect.body is not None:
            value = redirect.body.value
            return ([], False) if value is None else ([value], True)
        target = redirect.target.value
        if redirect.op == "<&" and target != "-":
            return [], False
        return (None, True) if target and not target.startswith("/dev/fd") else ([], False)
    if command.fed_by:
        text = printed(command.fed_by)
        return ([], False) if text is None else ([text], True)
    return None, True


_SPECIAL: dict[str, Callable[[Command], list[Text | Wrapped | Unread]]] = {
    "eval": _eval,
    "trap": _trap,
    "source": _source,
    ".": _source,
    "alias": _alias,
    "hash": _hash,
    "enable": _enable,
    "complete": _complete,
    "mapfile": _mapfile,
    "readarray": _mapfile,
    "bind": _bind,
    "env": _env,
    "genv": _env,
    "find": _find,
    "gfind": _find,
    "bfs": _find,
}
# The programs that `launchers` has a function for, so that it is loaded for those alone.
_LAUNCHERS = frozenset(
    {"parallel", "ssh", "mosh", "at", "batch", "crontab", "--", "setarch", "gdb", "lldb", "fd",
     "fdfind", "rg", "hyperfine", "go", "make", "gmake", "npm", "pnpm", "yarn", "apt", "apt-get",
     "zip", "compgen", "man", "less", "more", "fzf", "cmake", "tmux", "screen", "expect", "awk",
     "gawk", "mawk", "nawk", "sed", "gsed", "docker", "podman", "nix", "nix-shell"}
)  # fmt: skip
