"""What a reading changes: the tables of `effects`, applied.

Gives an `Effect` for every simple command that would change files, repositories, machines or
services, or start a program that nobody can read beforehand. Decides nothing about whether that is
welcome; `policy` does.
"""

from __future__ import annotations

import re

from . import effects
from .catalogue import CLASSES, Rule, entry, is_a
from .effects import ALL, CREATE, DELETE, EDIT, FIRST, LAST, LINK, MOVE, NONE, REST, WRITE
from .options import Scanned, scan
from .words import QUOTED, Part, Word, made
from .wrappers import interpreter, program_texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .catalogue import Tasks
    from .commands import Command, Reading

CHANGES = "changes"
UNREAD = "unread"
SECRET = "secret"  # noqa: S105  a name, not a password


class Effect:
    """What one command does.

    what     CHANGES, UNREAD (starts what nobody can read beforehand) or SECRET (reads a secret)
    grade    its class, as the catalogue names them
    kind     effects.WRITE, EDIT, DELETE, CREATE or LINK
    targets  the words it changes, with the text to take off their start; None: nobody can tell
    why      a few words for the person who decides; may be empty
    """

    __slots__ = ("command", "grade", "kind", "targets", "what", "why")

    def __init__(
        self,
        what: str,
        command: Command,
        kind: str = EDIT,
        targets: list[tuple[Word, str]] | None = None,
        why: str = "",
        *,
        grade: str = "",
    ) -> None:
        self.what = what
        self.grade = grade or (_GRADES[kind] if what == CHANGES else _GRADES[what])
        self.command = command
        self.kind = kind
        self.targets = targets
        self.why = why


# What an effect is when no row of the catalogue says more.
_GRADES = {
    WRITE: "write", EDIT: "write", DELETE: "destructive", CREATE: "write-preserving",
    LINK: "write-preserving", UNREAD: "opaque", SECRET: "read",
}  # fmt: skip


def graded(reading: Reading, changes: list[Effect]) -> list[tuple[Command, str]]:
    """Each command of `reading` with its class, the worst it has; `changes` are its effects."""
    worst: dict[int, str] = {}
    for effect in changes:
        known = worst.get(id(effect.command), "read")
        worst[id(effect.command)] = max(known, effect.grade, key=CLASSES.index)
    return [
        (command, max(worst.get(id(command), "read"), _own_grade(command), key=CLASSES.index))
        for command in reading.commands
    ]


def _own_grade(command: Command) -> str:
    if command.program == "git":
        from . import git

        return "network" if git.reaches_out(command) else "read"
    return entry(command.program).grade


def effects_of(reading: Reading) -> list[Effect]:
    """Everything the commands of `reading` change, in the order of the text."""
    flags = _flag_variables(reading)
    found: list[Effect] = []
    for command in reading.commands:
        found += [Effect(UNREAD, command, why=unread.why) for unread in command.unread]
        found += _redirects(command)
        if command.words and command.path is not None:
            found += _program(command, reading, flags)
    return found


def _flag_variables(reading: Reading) -> set[str]:
    """Variables that the text itself gives a value that reads as an option."""
    return {
        assignment.name
        for command in reading.commands
        for assignment in command.assignments
        for word in [assignment.value, *(assignment.elements or [])]
        if word is not None and re.search(r"(?:^|\s)-", word.value or word.prefix)
    }


_NO_FILES = r"/dev/(?:null|stdout|stderr|tty|fd/\d+)|/proc/self/fd/\d+"


def _redirects(command: Command) -> list[Effect]:
    found = []
    for redirect in command.redirects:
        if not redirect.writes:
            continue
        value = redirect.target.value
        if value is not None and (value == "/dev/null" or re.fullmatch(_NO_FILES, value)):
            continue
        if any(part.kind == "process" for part in redirect.target.parts):
            continue
        kind = EDIT if ">>" in redirect.op else WRITE
        found.append(Effect(CHANGES, command, kind, [(redirect.target, "")]))
    return found


def _program(command: Command, reading: Reading, flags: set[str]) -> list[Effect]:
    name = command.program or ""
    if name in reading.functions and command.path == name:
        return []
    if name == "git":
        from . import git

        found = git.finding(command)
        if found is None:
            return _splits(command, flags)
        if found.why:
            return [Effect(UNREAD, command, found.kind, why=found.why)]
        targets = None if found.targets is None else [(word, "") for word in found.targets]
        return [Effect(CHANGES, command, found.kind, targets)]
    out: list[Effect] = []
    code = interpreter(name)
    if code is not None:
        out += _code(command, code)
    known = entry(name)
    if known.rule is not None:
        out += _by_rule(command, known.rule, flags)
    if name.startswith("create-") and command.outer is not None:
        # npx create-something: a generator that fills a folder
        out.append(Effect(CHANGES, command, WRITE))
    if known.rows or known.options:
        out += _by_subcommand(command, name)
    if (
        command.appended
        and (known.rows or known.tasks is not None)
        and not _operands(command, name)
    ):
        out.append(Effect(UNREAD, command, why=f"what {name} is to do comes at run time"))
    if known.tasks is not None:
        out += _tasks(command, known.tasks)
    if "cloud" in known.traits:
        out += _by_verb(command, effects.CLOUD_VERBS)
    if "sql" in known.traits:
        out += _by_statement(command, name)
    if name == "redis-cli":
        out += _redis(command)
    if name in _WRITERS:
        from .writers import WRITERS

        out += WRITERS[name](command)
    if name in _FETCHING_CODE:
        out += _addressed(command, name)
    if not out:
        out += _proxy(command, name) or _splits(command, flags)
    return out or _secrets(command, name)


# They install or run what an address names, which no registry or lock file vouches for.
_FETCHING_CODE = frozenset(
    {"npx", "bunx", "pnpx", "npm", "pnpm", "yarn", "bun", "pip", "pip3", "pipx", "uvx", "uv",
     "deno", "go", "cargo", "gem", "poetry", "pdm", "easy_install"}
)  # fmt: skip
_NO_CODE = ("-i", "--index-url", "--extra-index-url", "--registry", "--proxy", "-f", "--find-links")


def _addressed(command: Command, name: str) -> list[Effect]:
    """Code that is fetched from an address, or a program of another module that go runs."""
    words = command.words[1:]
    for position, word in enumerate(words):
        text = word.value if word.value is not None else word.prefix
        if position and words[position - 1].value in _NO_CODE:
            continue
        address = re.match(r"(?:git\+|https?://|ssh://|git://|git@)", text)
        module = name == "go" and position and re.match(r"[\w-]+\.[\w.-]+/\S+@", text)
        if address or module:
            return [Effect(UNREAD, command, why="it runs code that an address names")]
    return []


# The programs that `writers` has a function for, so that it is loaded for those alone.
_WRITERS = frozenset(
    {"uniq", "xxd", "json.tool", "find", "gfind", "bfs", "tar", "gtar", "bsdtar", "awk", "gawk",
     "mawk", "nawk", "sed", "gsed", "http", "https", "xh", "xhs", "httpie", "timeit", "zipfile",
     "tarfile", "cProfile", "profile", "pdb", "trace", "strace", "ltrace", "valgrind", "time",
     "gtime", "pacman", "cp", "dd", "ln", "install", "openssl", "curl", "ar", "cmake", "sd"}
)  # fmt: skip


# They talk, and an option among their words matters all the same.
_TAKING_OPTIONS = frozenset({"git", "find", "sed", "awk", "make", "npm"})


def _splits(command: Command, flags: set[str]) -> list[Effect]:
    """A variable that the text set to an option, used where it can become one."""
    for word in command.words[1:]:
        if word.may_split and not word.prefix and flags.intersection(word.names):
            if is_a(command.program, "talks") and command.program not in _TAKING_OPTIONS:
                return []
            return [Effect(UNREAD, command, why="an option of it comes from a variable")]
    return []


def _by_rule(command: Command, rule: Rule, flags: set[str]) -> list[Effect]:
    scanned = scan(command.words[1:], rule.valued, rule.attached, rule.long)
    if rule.unless and scanned.has(*rule.unless):
        return []
    acts = bool(rule.acts) and _acts(scanned, rule)
    if rule.when and not acts and not scanned.may_have(*rule.when):
        return _splits(command, flags)
    named = scanned.given(*rule.values) if rule.values else []
    if acts:
        return [Effect(CHANGES, command, rule.kind, grade=rule.grade)]
    if rule.targets == NONE and named and all(value in STREAMS for value in named):
        files = rule.values
        others = [option for option in rule.when if option not in files]
        if not (others and scanned.may_have(*others)):
            return []
    if (
        is_a(command.program, "filters")
        and not named
        and not (scanned.operands or command.appended or scanned.unknown)
    ):
        return []
    if rule.targets == MOVE:
        written = placed(command, scanned, rule)
        gone = (
            scanned.operands if scanned.has("-t", "--target-directory") else scanned.operands[:-1]
        )
        return [
            Effect(
                CHANGES, command, DELETE, [(word, "") for word in gone] or None, grade=rule.grade
            ),
            Effect(CHANGES, command, WRITE, written),
        ]  # fmt: skip
    targets = _targets(command, scanned, rule)
    return [Effect(CHANGES, command, rule.kind, targets, grade=rule.grade)]


STREAMS = frozenset({"-", "/dev/stdout", "/dev/stderr", "/dev/null", "/dev/fd/1"})
_READING_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def _acts(scanned: Scanned, rule: Rule) -> bool:
    """Whether an option changes something that is no file, such as what a server holds."""
    methods = scanned.given("-X", "--request", "--method")
    if any((method or "").upper() not in _READING_METHODS for method in methods):
        return True
    rest = [name for name in rule.acts if name not in ("-X", "--request", "--method")]
    return scanned.may_have(*rest)


def placed(command: Command, scanned: Scanned, rule: Rule) -> list[tuple[Word, str]] | None:
    """Where copies end up: the destination, and each source's name in it."""
    named = [
        made(value, command.words[0]) for option in rule.values for value in scanned.values(option)
    ]
    operands = scanned.operands
    if command.appended or not (named or len(operands) > 1):
        return None
    sources = operands if named else operands[:-1]
    found = []
    for place in named or operands[-1:]:
        found.append((place, ""))
        found += [
            (joined, "") for source in sources if (joined := _within(place, source)) is not None
        ]
    return found


def _within(folder: Word, source: Word) -> Word | None:
    """The word for `source`'s name in `folder`; None where the texts don't tell."""
    name = (source.value or "").rstrip("/").rpartition("/")[2]
    if not name or name in (".", "..") or folder.pattern is None:
        return None
    parts = [*folder.parts, Part(QUOTED, f"/{name}")]
    return Word(parts, folder.start, folder.end, folder.source)


def _targets(command: Command, scanned: Scanned, rule: Rule) -> list[tuple[Word, str]] | None:
    operands = scanned.operands
    named = [
        (made(value, command.words[0]), "")
        for option in rule.values
        for value in scanned.values(option)
    ]
    if rule.targets == ALL:
        found = [(word, "") for word in operands]
    elif rule.targets == LAST:
        return placed(command, scanned, rule)
    elif rule.targets == REST:
        scripted = scanned.has("-e", "-f", "--expression", "--file", "--reference")
        found = [(word, "") for word in (operands if scripted else operands[1:])]
    elif rule.targets == FIRST:
        found = [(word, "") for word in operands[:1]]
    else:
        return named or None
    found += named
    if command.appended or not found:
        return None
    return found


def _operands(command: Command, name: str) -> list[str | None]:
    known = entry(name)
    scanned = scan(command.words[1:], known.valued, "", known.long)
    return [word.value for word in scanned.operands]


def _by_subcommand(command: Command, name: str) -> list[Effect]:
    values = [word.value or "" for word in command.words[1:]]
    if any(value in effects.SUBCOMMAND_HARMLESS for value in values):
        return []
    operands = _operands(command, name)
    first = command.words[1] if len(command.words) > 1 else None
    if first is not None and first.value is None and first.may_split and entry(name).rows:
        return [Effect(UNREAD, command, why=f"what {name} is to do is known only at run time")]
    for row, grade in entry(name).rows:
        words = row.split(" ")
        steps = [word for word in words if not word.startswith("-")]
        if any(word not in values for word in words if word.startswith("-")):
            continue
        if len(operands) >= len(steps) and all(
            _step(step, operand) or (place == 0 and _is_npm(name, operand, step))
            for place, (step, operand) in enumerate(zip(steps, operands, strict=False))
        ):
            if words[-1] in effects.CHECKED and not _CHECKING.isdisjoint(values):
                return []
            return [Effect(CHANGES, command, EDIT, grade=grade)]
    for option, grade in entry(name).options:
        if option == "" or any(value.partition("=")[0] == option for value in values):
            if name == "gh" and operands[:1] != ["api"]:
                continue
            return [Effect(CHANGES, command, EDIT, grade=grade)]
    return []


_CHECKING = frozenset(effects.CHECKING)


def _step(step: str, operand: str | None) -> bool:
    if step == "*":
        return True
    if step.startswith("*"):
        return (operand or "").endswith(step[1:])
    if step.endswith("*"):
        return (operand or "").startswith(step[:-1])
    return operand == step


def _tasks(command: Command, tasks: Tasks) -> list[Effect]:
    """A task that a project defines, as far as its name tells what it does."""
    name = command.program or ""
    known = entry(name)
    scanned = scan(command.words[1:], known.valued, "j", known.long)
    if scanned.has(*tasks.shown):
        return []
    operands = [word.value for word in scanned.operands]
    if scanned.dashed is not None and not tasks.several:
        operands = operands[: max(scanned.dashed, 2)]
    found: list[str | None] = []
    for before in tasks.after:
        if not before:
            found += operands if tasks.several else operands[:1]
        elif operands[:1] == [before]:
            found += operands[1:] if tasks.several else operands[1:2]
    if name == "nox":
        found += scanned.given("-s", "--session", "--sessions")
    if name == "ninja" and scanned.has("-t"):
        found += operands
    for task in found:
        if task is not None and (task_changes(task) or (task == "install" and tasks.installs)):
            return [Effect(CHANGES, command, EDIT)]
    return []


def task_changes(name: str) -> bool:
    """Whether a task's name says that it changes something: `clean`, `db:reset`, `lint-fix`."""
    steps = [step for step in re.split(r"[^a-z]+", name.lower()) if step]
    if not steps or "=" in name or effects.TASK_LOOKS.intersection(steps):
        return False
    return steps[0] in effects.TASK_CHANGES or steps[-1] in effects.TASK_CHANGES


def _is_npm(name: str, operand: str | None, step: str) -> bool:
    """Whether npm, which takes any beginning of a subcommand for it, reads `operand` as `step`."""
    return name == "npm" and len(operand or "") > 1 and step.startswith(operand or "-")


def _by_verb(command: Command, verbs: tuple[str, ...]) -> list[Effect]:
    name = command.program or ""
    values = [value or "" for value in _operands(command, name)]
    if any(
        (word.value or "") in ("--dry-run", "--dryrun", "help", "--help") for word in command.words
    ):
        return []
    for value in values[:4]:
        head = re.split(r"[-:]", value)[0]
        if (head in verbs and value not in ("run", "set")) or (
            value in ("run", "set") and name == "gcloud"
        ):
            return [Effect(CHANGES, command, EDIT)]
    return []


def _by_statement(command: Command, name: str) -> list[Effect]:
    """A database client: the statements it is given, where the text has them."""
    words = [word.value for word in command.words[1:]]
    if any(value in ("--help", "--version", "-V", "-l", "--list") for value in words):
        return []
    texts: list[str | None] = []
    for position, value in enumerate(words):
        if value is None or value in ("-f", "--file") or value.startswith("--file="):
            texts.append(None)
        elif position and re.search(r"\s", value):
            texts.append(value)
        elif value.startswith(("-c", "-e", "--command=", "--execute=")) and len(value) > 2:
            texts.append(re.sub(r"^(?:--\w+=|-\w)", "", value))
        elif (
            position and words[position - 1] in ("-c", "-e", "--command", "--execute", "-q", "-Q")
        ) or (name == "sqlite3" and position):
            texts.append(value)
    redirect = command.input
    if redirect is not None:
        texts.append(redirect.body.value if redirect.body is not None else None)
    elif command.fed_by:
        from .wrappers import printed

        texts.append(printed(command.fed_by))
    if None in texts:
        return [Effect(UNREAD, command, why=f"the statements given to {name} can't be read")]
    for text in texts:
        code = re.sub(r"'(?:[^']|'')*'|--[^\n]*", "''", text or "")
        if re.search(
            rf"(?i)\b(?:{'|'.join(effects.SQL_VERBS)})\b|\bpragma\s+[\w.]+\s*=", code
        ) or re.search(
            r"(?m)\\(?:!|o|w|i|ir|copy|g|gexec|\|)"
            r"|^\s*\.(?!tables|schema|mode|headers|indexes|help|quit|width|databases)\w+"
            r"|(?i:into\s+outfile|pg_terminate|lo_export|\bsystem\b|writefile|load_extension)",
            code,
        ):
            return [Effect(CHANGES, command, EDIT)]
    if name == "mysqladmin":
        return [Effect(CHANGES, command, EDIT)]
    return []


def _redis(command: Command) -> list[Effect]:
    operands = _operands(command, "redis-cli")
    if operands and (operands[0] or "").lower() in effects.REDIS_VERBS:
        return [Effect(CHANGES, command, EDIT)]
    if command.fed_by or command.input is not None or None in operands[:1]:
        return [Effect(UNREAD, command, why="what redis-cli is to do can't be read")]
    return []


def _code(command: Command, kind: str) -> list[Effect]:
    texts, _known = program_texts(command, kind)
    for text in texts or ():
        if code_is_active(kind, text):
            return [
                Effect(UNREAD, command, why=f"the {kind} program may change or start something")
            ]
    return []


_STRINGS = {
    "python": (
        r"(?<![fFtT\w])[rRbBuU]{0,2}(?:'''(?:[^\\]|\\.)*?'''"
        r"|\"\"\"(?:[^\\]|\\.)*?\"\"\"|'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")|\#[^\n]*"
    ),
    "node": r"'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"|//[^\n]*",
    "ruby": r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\#]|\\.)*\"",
    "perl": r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\@$]|\\.)*\"",
    "php": r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\$]|\\.)*\"",
}


# `open` of a plainly named file, for reading.
_READING_OPEN = (
    r"(?<![\w.])open\(\s*(['\"])([^'\"\\\n{}]*)\1\s*(?:,\s*(?:mode\s*=\s*)?['\"]r?[bt]?['\"]\s*)?"
    r"(?:,\s*(?:encoding|errors|newline)\s*=\s*['\"][\w-]*['\"]\s*)*\)"
)


def _opened(found: re.Match[str]) -> str:
    return found.group(0) if is_secret(found.group(2)) else "''"


def code_is_active(kind: str, text: str) -> bool:
    """Whether a program text mentions anything that changes, starts or reaches something.

    Literal strings and comments are data. A language without a table here is active unless it
    plainly prints.
    """
    signs = effects.CODE_SIGNS.get(kind)
    if signs is None:
        return re.fullmatch(effects.CODE_PLAIN, text) is None
    if kind == "python":
        text = re.sub(_READING_OPEN, _opened, text)
    # an empty string in place of each: what is left is code
    bare = re.sub(_STRINGS[kind], "''", text, flags=re.DOTALL)
    return re.search(signs, bare) is not None


def _proxy(command: Command, name: str) -> list[Effect]:
    """An unknown program that is handed a destructive verb with something after it."""
    known = entry(name)
    if "talks" in known.traits or command.inner or "/" in (command.path or ""):
        return []
    if known.rule is not None or known.rows or interpreter(name) is not None:
        return []
    values = [word.value for word in command.words]
    for position in range(1, len(values) - 1):
        if values[position] in effects.DESTRUCTIVE:
            return [
                Effect(
                    UNREAD, command, why=f"{name} may run the {values[position]} in its arguments"
                )
            ]
    return []


def _secrets(command: Command, name: str) -> list[Effect]:
    """A read of what looks like a secret, as far as the words tell."""
    if is_a(name, "fetches"):
        for word in command.words[1:]:
            if any(host in (word.value or word.prefix) for host in effects.METADATA_HOSTS):
                return [Effect(SECRET, command, why="it asks a cloud machine for its credentials")]
        return []
    if is_a(name, "names") or command.inner:
        # what a wrapper hands on is judged where it arrives
        return []
    words = command.words[1:]
    if is_a(name, "searches"):
        words = scan(words, "efmABC").operands[1:]
    targets = [redirect.target for redirect in command.redirects if redirect.op == "<"]
    for word in [*words, *targets]:
        text = word.pattern
        if text and is_secret(text.replace("\\", "")):
            return [
                Effect(
                    SECRET, command, targets=[(word, "")], why="it reads what looks like a secret"
                )
            ]
    return []


_ACTIVE = frozenset("*?[")
_PRIVATE_STEPS = frozenset("/".join(effects.PRIVATE_FOLDERS).split("/")) - {"", "~"}


def is_secret(path: str) -> bool:
    """Whether the path, as written, looks like that of a secret."""
    from .paths import may_match

    if path.endswith((".pub", "/known_hosts", "/authorized_keys")):
        return False
    if re.search(effects.FIXTURES, path) and ".." not in path.split("/"):
        return False
    if re.fullmatch(effects.PRIVATE_NAMES, path.rpartition("/")[2]):
        return True
    steps = path.split("/")
    if _ACTIVE.isdisjoint(path) and _PRIVATE_STEPS.isdisjoint(steps):
        return False
    for folder in effects.PRIVATE_FOLDERS:
        own = folder.split("/")
        if own[0] == "~" and steps[0] not in ("~", "$HOME", "${HOME}"):
            own = own[1:]
            starts = range(len(steps))
        else:
            starts = range(1)
        for start in starts:
            part = steps[start : start + len(own)]
            if len(part) == len(own) and all(
                may_match(a, b) for a, b in zip(own, part, strict=True)
            ):
                if all(step in ("*", "**") for step in part):
                    continue
                return True
    return False
