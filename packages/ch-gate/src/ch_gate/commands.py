"""The form of a command that the gate judges: simple commands, however deep they stand.

Only types, no decisions. `syntax` makes them of a syntax tree, `wrappers` adds the commands that
other commands start, and whoever judges reads them. A reading is complete: every program the text
starts, as far as the text tells, is one `Command` in `Reading.commands`, in the order of the text.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .words import Word

# What may stand in `Command.contexts`, outermost first.
BACKGROUND = "background"
BRANCH = "branch"  # then, else, a case arm, what follows && or ||
CONDITION = "condition"  # what if, while and until test
COPROC = "coproc"
FUNCTION = "function"  # a function's body: runs when it is called, if ever
LOOP = "loop"
PROCESS = "process"  # <( ) and >( )
SUBSHELL = "subshell"
SUBSTITUTION = "substitution"  # $( ) and backticks
TEXT = "text"  # a text handed to a shell: sh -c, eval, a here-document

# How a command came out of its `outer` one.
WRAPPED = "wrapped"  # sudo CMD: the same process, arguments as they stand
STARTED = "started"  # find -exec CMD, xargs CMD: arguments come at run time
SAME = "same"  # python -m CMD: the outer command is this one under another name
WRITTEN = "written"  # sh -c 'CMD': read as a text of its own


class Assignment:
    """`name=value`, `name+=value` or `name=(elements)`; `value` is None without a value."""

    __slots__ = ("append", "elements", "name", "value")

    def __init__(
        self, name: str, value: Word | None, elements: list[Word] | None, *, append: bool
    ) -> None:
        self.name = name
        self.value = value
        self.elements = elements
        self.append = append


class Redirect:
    """A redirect. `op` is as written (`>`, `>>`, `<<<`, …), `descriptor` what stands before it.

    `target` is the word after it; for a here-document `body` holds the document, and `target` its
    delimiter.
    """

    __slots__ = ("body", "descriptor", "op", "target")

    def __init__(self, op: str, descriptor: str | None, target: Word, body: Word | None) -> None:
        self.op = op
        self.descriptor = descriptor
        self.target = target
        self.body = body

    @property
    def writes(self) -> bool:
        """Whether it opens a file for writing (a number or `-` after `>&` names no file)."""
        if self.op == ">&":
            value = self.target.value
            return value is None or not (value.rstrip("-").isdigit() or value == "-")
        return self.op in (">", ">>", ">|", "&>", "&>>", "<>", ">!", ">>|", "&>|", "&>>|")

    @property
    def feeds(self) -> bool:
        """Whether standard input comes from it."""
        return self.op in ("<", "<<", "<<-", "<<<", "<>", "<&") and self.descriptor in (None, "0")


class Unread:
    """A program text that the text alone does not tell: `why`, and where it would come from."""

    __slots__ = ("end", "start", "text", "why")

    def __init__(self, why: str, start: int, end: int, text: str) -> None:
        self.why = why
        self.start = start
        self.end = end
        self.text = text


# Other names of programs whose own names say what they do: GNU's on systems that have their own
# beside them, and what makes file systems or copies disks.
OTHER_NAMES = {
    **{
        f"g{name}": name
        for name in (
            "rm", "rmdir", "dd", "shred", "truncate", "mv", "cp", "ln", "install", "chmod", "chown",
            "tee", "cat", "head", "tail", "unlink", "touch", "mkdir",
        )
    },
    "mke2fs": "mkfs.ext4", "mkntfs": "mkfs.ntfs", "mkdosfs": "mkfs.vfat", "mkexfatfs": "mkfs.exfat",
    "newfs": "mkfs.ufs", "dcfldd": "dd", "dc3dd": "dd",
}  # fmt: skip


class Command:
    """A simple command, or the redirects and assignments that stand without one.

    words        what the program receives, its name first; braces are expanded
    assignments  what stands before the name, or in `export`, `declare` and their kin
    redirects    its own; `around` holds those of the compound commands around it, outermost first
    contexts     what it stands in, outermost first (the constants above)
    scope        the subshells it runs in: what a command with scope (0, 3) does to the shell's
                 state reaches later commands whose scope starts with (0, 3)
    fed_by       the commands whose output it reads through a pipe; `feeds`, the other direction
    outer, how   the command that starts it, and how; None at the top
    inner        the commands it starts
    appended     whether it gets further arguments at run time
    unread       program texts it would run that nobody can read beforehand
    start, end   where it stands in the judged text, in characters; in a nested program, where
                 that program's text stands
    source       its own text
    """

    __slots__ = (
        "appended",
        "around",
        "assignments",
        "contexts",
        "dialect",
        "end",
        "fed_by",
        "feeds",
        "how",
        "inner",
        "outer",
        "redirects",
        "scope",
        "source",
        "start",
        "unread",
        "words",
    )

    def __init__(
        self,
        words: list[Word],
        start: int,
        end: int,
        source: str,
        *,
        dialect: str,
        contexts: tuple[str, ...] = (),
        scope: tuple[int, ...] = (0,),
    ) -> None:
        self.words = words
        self.start = start
        self.end = end
        self.source = source
        self.dialect = dialect
        self.contexts = contexts
        self.scope = scope
        self.assignments: list[Assignment] = []
        self.redirects: list[Redirect] = []
        self.around: tuple[Redirect, ...] = ()
        self.fed_by: list[Command] = []
        self.feeds: list[Command] = []
        self.outer: Command | None = None
        self.how = ""
        self.inner: list[Command] = []
        self.appended = False
        self.unread: list[Unread] = []

    def __repr__(self) -> str:
        return f"Command({self.source!r})"

    @property
    def path(self) -> str | None:
        """The program as written, quoting taken off; None when not literal, or none there."""
        return self.words[0].value if self.words else None

    @property
    def program(self) -> str | None:
        """The program's name without its folder; None as for `path`.

        A path is judged by its last name: `/bin/rm` is rm. That errs to the strict side for
        the dangerous names; nothing is held harmless because of its name alone.
        """
        path = self.path
        if path is None:
            return None
        name = path.rpartition("/")[2]
        return OTHER_NAMES.get(name, name)

    @property
    def arguments(self) -> list[Word]:
        """The words after the name that are its own, without those of a command it starts."""
        for inner in self.inner:
            if inner.how != WRITTEN and inner.words:
                first = inner.words[0].start
                return [word for word in self.words[1:] if word.end <= first]
        return self.words[1:]

    @property
    def input(self) -> Redirect | None:
        """The redirect that standard input comes from, its own or one around it."""
        command: Command | None = self
        while command is not None:
            for redirect in reversed((*command.around, *command.redirects)):
                if redirect.feeds:
                    return redirect
            command = command.outer if command.how in (WRAPPED, SAME) else None
        return None


class Reading:
    """A text, read: every simple command in it at any depth.

    `cause` says why it could not be read; then `commands` is incomplete and nothing may be
    concluded from it but a stricter verdict. `functions` are the names the text defines,
    `temporary` those of variables that hold a fresh temporary file or folder (mktemp) and nothing
    else. `quoted` are the spans of quoted words, of here-documents and of comments; they are
    looked for only where the text has more than ASCII or an ampersand.
    """

    __slots__ = ("cause", "commands", "dialect", "functions", "quoted", "temporary", "text")

    def __init__(self, text: str, dialect: str) -> None:
        self.text = text
        self.dialect = dialect
        self.commands: list[Command] = []
        self.functions: set[str] = set()
        self.temporary: set[str] = set()
        self.quoted: list[tuple[int, int]] = []
        self.cause: str | None = None
