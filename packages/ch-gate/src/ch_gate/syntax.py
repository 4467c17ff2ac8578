"""From a syntax tree to simple commands.

Lowers what `shfmt` says of a text into `commands`: every simple command in lists, pipes,
subshells, functions, loops, substitutions wherever they stand, here-documents, and in the texts
that a command hands to a shell. Decides nothing about them. What it does not know it refuses:
a kind of node without a rule here makes the text unreadable, never a shorter list.
"""

from __future__ import annotations

import re

from . import bindings, doubts, wrappers
from .commands import (
    BACKGROUND,
    BRANCH,
    CONDITION,
    COPROC,
    FUNCTION,
    LOOP,
    PROCESS,
    SAME,
    STARTED,
    SUBSHELL,
    SUBSTITUTION,
    TEXT,
    WRAPPED,
    WRITTEN,
    Assignment,
    Command,
    Reading,
    Redirect,
    Unread,
)
from .deadline import Unreadable
from .words import (
    ARITHMETIC,
    PARAMETER,
    PATTERN,
    QUOTED,
    Part,
    Word,
    ansi_c,
    double_quoted,
    expand_braces,
    here_document,
    made,
    unquoted,
)
from .words import PROCESS as PROCESS_PART
from .words import SUBSTITUTION as SUBSTITUTION_PART
from .words import TEXT as TEXT_PART

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Node = dict[str, Any]
    Parse = Callable[[str, str], Node]

PROGRAMS_LIMIT = 24
COMMANDS_LIMIT = 20_000
# A loop over so many words at most is read once for each, with its variable known.
ROUNDS_LIMIT = 16

# What may be the body of a function; zsh alone takes any command.
_BODIES = frozenset(
    {"Block", "Subshell", "IfClause", "WhileClause", "ForClause", "CaseClause", "ArithmCmd",
     "TestClause"}
)  # fmt: skip

# Words that make zsh read what follows by other rules (R131).
ZSH_PRECOMMANDS = frozenset({"noglob", "nocorrect", "-", "repeat"})


def read(
    text: str, dialect: str, parse: Parse, check: Callable[[], None] = lambda: None
) -> Reading:
    """Every simple command in `text`.

    `parse(text, dialect)` gives a tree or raises Unreadable; `check()` raises it when it is late.
    """
    reading = Reading(text, dialect)
    try:
        text.encode()
    except UnicodeEncodeError:
        reading.cause = "it holds half of a surrogate pair, which is no character"
        return reading
    try:
        _Lowering(reading, parse, check).top()
    except Unreadable as error:
        reading.cause = str(error)
    except UnicodeEncodeError:
        reading.cause = "a program in it holds half of a surrogate pair, which is no character"
    except RecursionError:
        reading.cause = "it is nested too deeply"
    return reading


class _Place:
    """What surrounds the statement being lowered."""

    __slots__ = ("around", "contexts", "fed_by", "scope")

    def __init__(
        self,
        contexts: tuple[str, ...] = (),
        scope: tuple[int, ...] = (0,),
        fed_by: tuple[Command, ...] = (),
        around: tuple[Redirect, ...] = (),
    ) -> None:
        self.contexts = contexts
        self.scope = scope
        self.fed_by = fed_by
        self.around = around

    def within(self, *contexts: str) -> _Place:
        return _Place((*self.contexts, *contexts), self.scope, self.fed_by, self.around)


class _Text:
    """One program's text: turns byte offsets of its tree into characters and source."""

    __slots__ = ("data", "dialect", "fixed", "text")

    def __init__(self, text: str, dialect: str, fixed: tuple[int, int] | None) -> None:
        self.text = text
        self.dialect = dialect
        # a nested program has no place of its own in the judged text but its word's
        self.fixed = fixed
        self.data = None if text.isascii() else text.encode()

    def span(self, node: Node) -> tuple[int, int]:
        start, end = node["Pos"]["Offset"], node["End"]["Offset"]
        if self.data is not None:
            start = len(self.data[:start].decode("utf-8", "replace"))
            end = len(self.data[:end].decode("utf-8", "replace"))
        return start, end

    def words(self, node: Node) -> tuple[int, int, str]:
        """Where `node` stands in the judged text, and its source."""
        start, end = self.span(node)
        source = self.text[start:end]
        return (*self.fixed, source) if self.fixed else (start, end, source)


class _Lowering:
    def __init__(self, reading: Reading, parse: Parse, check: Callable[[], None]) -> None:
        self.reading = reading
        self.parse = parse
        self.check = check
        self.trees: dict[tuple[str, str], Node] = {}
        self.scopes = 0
        self.depth = 0
        # texts being read, to stop one that hands itself on
        self.stack: list[tuple[str, str]] = []
        self.here = _Text(reading.text, reading.dialect, None)
        # the shell that runs the text being read, as a scope
        self.base: tuple[int, ...] = ()
        self.assigned = bindings.assigned(reading.text)
        self.foldable = bindings.foldable(reading.text)
        # what is known of variables at this point: the word, and whether a loop gives it
        self.bound: dict[str, tuple[Word, bool]] = {}
        self.arrays: dict[str, list[Word]] = {}
        self.rounds = 0
        self.strings = doubts.Strings(reading.text)

    def top(self) -> None:
        if not self.reading.text.isascii() or "&" in self.reading.text:
            tree = self.tree(self.reading.text, self.reading.dialect)
            self.reading.quoted = [self.here.span(node) for node in _quoted(tree)]
        self.program(self.reading.text, self.reading.dialect, None, _Place())
        doubts.refuse_zsh(self.reading.commands)
        if self.strings.collide({text for text, _ in self.trees}):
            text = self.reading.text
            command = Command([], 0, len(text), text, dialect=self.reading.dialect)
            why = "it evaluates strings, and one of them holds a quoted substitution"
            self.add(command, _Place()).unread.append(Unread(why, 0, len(text), text))

    def tree(self, text: str, dialect: str) -> Node:
        key = (text, dialect)
        if key not in self.trees:
            if len(self.trees) > PROGRAMS_LIMIT:
                raise Unreadable(f"it holds more than {PROGRAMS_LIMIT} programs within programs")
            tree = self.parse(text, dialect)
            doubts.refuse(text, dialect, tree)
            self.strings.take(text, tree)
            self.trees[key] = tree
        return self.trees[key]

    def program(
        self,
        text: str,
        dialect: str,
        fixed: tuple[int, int] | None,
        place: _Place,
        *,
        same_shell: bool = True,
    ) -> None:
        """Lower a whole text; `fixed` is its place in the judged text when it is nested.

        Only in the same shell does it know the variables of the text around it.
        """
        key = (text, dialect)
        if key in self.stack or len(self.stack) > PROGRAMS_LIMIT:
            raise Unreadable("a program in it runs itself")
        before = self.here, self.base, self.bound, self.arrays
        self.stack.append(key)
        self.here = _Text(text, dialect, fixed)
        self.base = place.scope
        self.bound = dict(self.bound) if same_shell else {}
        self.arrays = dict(self.arrays) if same_shell else {}
        try:
            self.statements(self.tree(text, dialect).get("Stmts", ()), place)
        finally:
            self.here, self.base, self.bound, self.arrays = before
            self.stack.pop()

    # -- statements ----------------------------------------------------------------------------

    def fresh(self, place: _Place, *contexts: str) -> _Place:
        """A place in a subshell of its own."""
        self.scopes += 1
        scope = (*place.scope, self.scopes)
        return _Place((*place.contexts, *contexts), scope, place.fed_by, place.around)

    def statements(self, nodes: list[Node] | tuple[()], place: _Place) -> None:
        for node in nodes:
            self.statement(node, place)

    def statement(self, node: Node, place: _Place) -> None:
        if node.get("Background") or node.get("Coprocess") or node.get("Disown"):
            place = self.fresh(place, BACKGROUND)
        command = node.get("Cmd")
        if command is not None and command["Type"] in ("CallExpr", "DeclClause"):
            self.simple(node, command, place)
            return
        redirects = self.redirects(node, place)
        if redirects:
            compound = Command([], *self.here.words(_hull(node)), dialect=self.here.dialect)
            self.add(compound, place).redirects = redirects
            around = (*place.around, *redirects)
            place = _Place(place.contexts, place.scope, place.fed_by, around)
        if command is not None:
            self.command(command, place)

    def redirects(self, node: Node, place: _Place) -> list[Redirect]:
        return [found for item in node.get("Redirs", ()) for found in self.redirect(item, place)]

    def simple(self, node: Node, command: Node, place: _Place) -> None:
        """A simple command, its redirects, and what it starts."""
        simple = Command([], *self.here.words(_hull(node)), dialect=self.here.dialect)
        self.add(simple, place)
        if command["Type"] == "CallExpr":
            self.call(command, simple, place)
        else:
            self.declaration(command, simple, place)
        if (simple.assignments and self.foldable) or simple.program == "set":
            self.bind(simple, place)
        simple.redirects = self.redirects(node, place)
        if simple.words and simple.words[0].start < simple.start:
            # the parser puts the start of `coproc CMD` behind its first word
            simple.start = simple.words[0].start
            simple.source = " ".join(word.source for word in simple.words)
        self.unwrap(simple, place)

    def command(self, node: Node, place: _Place) -> None:
        kind = node["Type"]
        lower = getattr(self, f"_{kind}", None)
        if lower is None:
            raise Unreadable(f"it holds a construct this gate does not know ({kind})")
        lower(node, place)

    def add(self, command: Command, place: _Place) -> Command:
        if len(self.reading.commands) >= COMMANDS_LIMIT:
            raise Unreadable(f"it holds more than {COMMANDS_LIMIT:,} commands")
        if len(self.reading.commands) % 64 == 63:
            self.check()
        command.contexts = place.contexts
        command.scope = place.scope
        command.around = place.around
        command.fed_by = list(place.fed_by)
        for feeder in place.fed_by:
            feeder.feeds.append(command)
        self.reading.commands.append(command)
        return command

    def call(self, node: Node, simple: Command, place: _Place) -> None:
        simple.assignments = [self.assignment(item, place) for item in node.get("Assigns", ())]
        for item in node.get("Args", ()):
            simple.words += self.words(item, place)
        if self.here.dialect == "zsh" and simple.path in ZSH_PRECOMMANDS:
            raise Unreadable(f"zsh reads what follows {simple.path!r} by rules of its own")

    def declaration(self, node: Node, simple: Command, place: _Place) -> None:
        """`export`, `declare` and their kin: the variant is the program's name."""
        start, end, source = self.here.words(node["Variant"])
        simple.words = [Word([Part(QUOTED, node["Variant"]["Value"])], start, end, source)]
        for item in node.get("Args", ()):
            if "Name" in item:
                simple.assignments.append(self.assignment(item, place))
            elif "Value" in item:
                simple.words += self.words(item["Value"], place)

    def assignment(self, node: Node, place: _Place) -> Assignment:
        elements = None
        if "Index" in node:
            self.visit(node["Index"], place)
        if "Array" in node:
            elements = []
            for item in node["Array"].get("Elems", ()):
                if "Index" in item:
                    self.visit(item["Index"], place)
                if "Value" in item:
                    elements += self.words(item["Value"], place)
        value = self.word(node["Value"], place) if "Value" in node else None
        return Assignment(node["Name"]["Value"], value, elements, append=bool(node.get("Append")))

    def bind(self, simple: Command, place: _Place) -> None:
        """Keep what the shell itself now knows of its variables.

        Only what happens whatever else does: not in a branch, a loop, a subshell or a function.
        """
        if place.scope != self.base or place.contexts.count(TEXT) != len(place.contexts):
            return
        if simple.program == "set" and bindings.sets_once(self.reading.text):
            dashed = len(simple.words) > 1 and simple.words[1].value == "--"
            given = simple.words[2:] if dashed else []
            if all(word.literal for word in given):
                self.arrays["@"] = given
            return
        if simple.words and simple.program not in ("export", "readonly"):
            return
        for item in simple.assignments:
            if item.name not in self.foldable or item.append:
                continue
            if item.elements is not None:
                if all(word.literal for word in item.elements):
                    self.arrays[item.name] = item.elements
            elif item.value is not None:
                self.bound[item.name] = (item.value, False)
                if re.fullmatch(_MKTEMP, item.value.source):
                    self.reading.temporary.add(item.name)

    def redirect(self, node: Node, place: _Place) -> list[Redirect]:
        descriptor = node["N"]["Value"] if "N" in node else None
        op = node["Op"]
        if op in ("<<", "<<-"):
            delimiter = self.word(node["Word"], place)
            source = self.here.words(node["Word"])[2]
            quoted = any(sign in source for sign in "'\"\\")
            body = self.document(node.get("Hdoc"), delimiter, place, quoted=quoted)
            if op == "<<-":
                body = _untabbed(body)
            return [Redirect(op, descriptor, delimiter, body)]
        return [
            Redirect(op, descriptor, target, target if op == "<<<" else None)
            for target in self.words(node["Word"], place)
        ]

    def document(self, node: Node | None, delimiter: Word, place: _Place, *, quoted: bool) -> Word:
        if node is None:
            return made("", delimiter)
        parts = []
        for part in node.get("Parts", ()):
            if part["Type"] == "Lit":
                value = part["Value"]
                parts.append(Part(QUOTED, value if quoted else here_document(value)))
            else:
                parts += self.part(part, place, quoted=True)
        return Word(parts, *self.here.words(node))

    # -- compound commands: one method per kind of node ----------------------------------------

    def _BinaryCmd(self, node: Node, place: _Place) -> None:  # noqa: N802  named as the node
        # a long list leans to the left: walked, not recursed into
        chain = []
        while True:
            chain.append((node["Op"], node["Y"]))
            left = node["X"]
            inner = left.get("Cmd") or {}
            plain = not left.get("Redirs") and not left.get("Background")
            if inner.get("Type") != "BinaryCmd" or not plain:
                break
            # `a && b | c` holds the pipe on the right; one on the left belongs to the list
            if (inner["Op"] in ("|", "|&")) != (node["Op"] in ("|", "|&")):
                break
            node = inner
        chain.append(("", left))
        chain.reverse()
        if chain[1][0] in ("|", "|&"):
            self.pipe([item for _, item in chain], place)
            return
        for op, item in chain:
            self.statement(item, place.within(BRANCH) if op in ("&&", "||") else place)

    def pipe(self, stages: list[Node], place: _Place) -> None:
        feeders = place.fed_by
        for stage in stages:
            own = self.fresh(place)
            own.fed_by = feeders
            if feeders is not place.fed_by:
                # what a compound command around them reads goes to the first stage alone
                own.around = tuple(item for item in place.around if not item.feeds)
            first = len(self.reading.commands)
            self.statement(stage, own)
            feeders = tuple(
                command
                for command in self.reading.commands[first:]
                if command.outer is None
                and not {SUBSTITUTION, PROCESS}.intersection(
                    command.contexts[len(place.contexts) :]
                )
            )

    def _Block(self, node: Node, place: _Place) -> None:  # noqa: N802
        self.statements(node.get("Stmts", ()), place)

    def _Subshell(self, node: Node, place: _Place) -> None:  # noqa: N802
        self.statements(node.get("Stmts", ()), self.fresh(place, SUBSHELL))

    def _IfClause(self, node: Node | None, place: _Place) -> None:  # noqa: N802
        while node is not None:
            self.statements(node.get("Cond", ()), place.within(CONDITION))
            self.statements(node.get("Then", ()), place.within(BRANCH))
            node = node.get("Else")

    def _WhileClause(self, node: Node, place: _Place) -> None:  # noqa: N802
        self.statements(node.get("Cond", ()), place.within(LOOP, CONDITION))
        self.statements(node.get("Do", ()), place.within(LOOP))

    def _ForClause(self, node: Node, place: _Place) -> None:  # noqa: N802
        loop, body, inside = node["Loop"], node.get("Do", ()), place.within(LOOP)
        name = loop.get("Name", {}).get("Value", "")
        if "Items" not in loop:
            self.visit(loop, place)
            self.statements(body, inside)
            return
        # as words also because zsh runs code in their globs
        items = [word for item in loop["Items"] for word in self.words(item, place)]
        if name not in self.foldable or not 0 < len(items) <= ROUNDS_LIMIT - self.rounds:
            self.statements(body, inside)
            return
        self.rounds += len(items)
        for item in items:
            self.bound[name] = (item, True)
            self.statements(body, inside)
        del self.bound[name]

    def _CaseClause(self, node: Node, place: _Place) -> None:  # noqa: N802
        self.visit(node["Word"], place)
        for item in node.get("Items", ()):
            for pattern in item.get("Patterns", ()):
                self.visit(pattern, place)
            self.statements(item.get("Stmts", ()), place.within(BRANCH))

    def _FuncDecl(self, node: Node, place: _Place) -> None:  # noqa: N802
        names = [node["Name"]] if "Name" in node else node.get("Names", [])
        for name in names:
            self.reading.functions.add(name["Value"])
        kind = (node["Body"].get("Cmd") or {}).get("Type")
        if self.here.dialect != "zsh" and kind not in _BODIES:
            raise Unreadable("the body of a function is not a compound command")
        # what it reads depends on who calls it
        body = _Place((*place.contexts, FUNCTION), place.scope)
        self.statement(node["Body"], body)

    def _CoprocClause(self, node: Node, place: _Place) -> None:  # noqa: N802
        if "Name" in node:
            self.visit(node["Name"], place)
        self.statement(node["Stmt"], self.fresh(place, COPROC))

    def _TimeClause(self, node: Node, place: _Place) -> None:  # noqa: N802
        if "Stmt" in node:
            self.statement(node["Stmt"], place)

    def _TestClause(self, node: Node, place: _Place) -> None:  # noqa: N802
        self.arithmetic(node, place)

    def _ArithmCmd(self, node: Node, place: _Place) -> None:  # noqa: N802
        self.arithmetic(node, place)

    def _LetClause(self, node: Node, place: _Place) -> None:  # noqa: N802
        self.arithmetic(node, place)

    def _TestDecl(self, node: Node, place: _Place) -> None:  # noqa: N802
        self.statement(node["Body"], place.within(FUNCTION))

    # -- words ---------------------------------------------------------------------------------

    def words(self, node: Node, place: _Place) -> list[Word]:
        """The words that `node` becomes by brace expansion."""
        elements = self.arrays and self.arrays.get(_array(node).replace("*", "@"))
        if elements:
            return elements
        parts = self.parts(node, place)
        start, end, source = self.here.words(node)
        if self.here.dialect == "zsh":
            _refuse_zsh(parts, source)
        if self.here.dialect == "posix":
            # dash leaves braces alone, bash called as sh expands them: known to neither
            if len(expand_braces(parts)) > 1:
                parts = [Part(PARAMETER, source, name="")]
            return [Word(parts, start, end, source)]
        rows = expand_braces(parts)
        if any(part.name == "IFS" for part in parts) and "IFS" not in self.assigned:
            rows = [piece for row in rows for piece in _split(row)]
        return [Word(row, start, end, source) for row in rows]

    def word(self, node: Node, place: _Place) -> Word:
        """The word `node`, where braces do not expand."""
        parts = self.parts(node, place)
        start, end, source = self.here.words(node)
        if self.here.dialect == "zsh":
            _refuse_zsh(parts, source)
        return Word(parts, start, end, source)

    def parts(self, node: Node, place: _Place) -> list[Part]:
        parts: list[Part] = []
        nodes = node.get("Parts", ())
        if len(nodes) == 1 and nodes[0]["Type"] == "Lit":
            return unquoted(nodes[0]["Value"])
        for position, item in enumerate(nodes):
            after = nodes[position + 1]["Type"] if position + 1 < len(nodes) else ""
            if (
                item["Type"] == "Lit"
                and after in ("SglQuoted", "DblQuoted")
                and item["Value"].endswith("$")
                and not item["Value"].endswith("\\$")
            ):
                # sh has no $'…': dash keeps the sign, bash called as sh reads the escapes
                parts += unquoted(item["Value"][:-1])
                parts.append(Part(PARAMETER, "$", name=""))
                continue
            parts += self.part(item, place, quoted=False)
        return parts

    def part(self, node: Node, place: _Place, *, quoted: bool) -> list[Part]:
        kind = node["Type"]
        if kind == "Lit":
            value = node["Value"]
            return [Part(QUOTED, double_quoted(value))] if quoted else unquoted(value)
        if kind == "SglQuoted":
            value = node.get("Value", "")
            return [Part(QUOTED, ansi_c(value) if node.get("Dollar") else value)]
        if kind == "DblQuoted":
            inner = [
                part
                for item in node.get("Parts", ())
                for part in self.part(item, place, quoted=True)
            ]
            return inner or [Part(QUOTED, "")]
        source = self.here.words(node)[2]
        if kind == "ParamExp":
            self.parameter(node, place)
            name = node.get("Param", {}).get("Value", "")
            if name in self.bound and source in (f"${name}", f"${{{name}}}"):
                value, listed = self.bound[name]
                return bindings.parts_of(value, source, name, quoted=quoted, listed=listed)
            return [Part(PARAMETER, source, quoted=quoted, name=name)]
        if kind == "CmdSubst":
            self.substitution(node, source, place, quoted=quoted)
            return [Part(SUBSTITUTION_PART, source, quoted=quoted)]
        if kind == "ProcSubst":
            inside = self.fresh(place, PROCESS)
            inside.fed_by = inside.around = ()
            self.statements(node.get("Stmts", ()), inside)
            return [Part(PROCESS_PART, source, quoted=True)]
        if kind == "ArithmExp":
            self.arithmetic(node, place)
            return [Part(ARITHMETIC, source, quoted=quoted)]
        if kind == "ExtGlob":
            self.visit(node, place)
            return [Part(PATTERN, source)]
        raise Unreadable(f"it holds an expansion this gate does not know ({kind})")

    def parameter(self, node: Node, place: _Place) -> None:
        if self.here.dialect == "zsh" and ("Flags" in node or "NestedParam" in node):
            raise Unreadable("it holds parameter flags of zsh")
        if self.here.dialect == "zsh":
            doubts.refuse_zsh_parameter(node, self.here.words(node)[2])
        for key in ("Exp", "Repl", "Index", "Slice", "NestedParam", "Modifiers"):
            if key in node:
                self.visit(node[key], place)

    def substitution(self, node: Node, source: str, place: _Place, *, quoted: bool) -> None:
        inside = self.fresh(place, SUBSTITUTION)
        if node.get("Backquotes") and "\\" in source:
            # one layer of backslashes belongs to the backticks; the tree keeps it in its words
            text = source[1:-1].replace("\\\n", "")
            signs = '$`\\"' if quoted else "$`\\"
            span = self.here.fixed or self.here.span(node)
            self.program(_unescaped(text, signs), self.here.dialect, span, inside)
            return
        self.statements(node.get("Stmts", ()), inside)

    def arithmetic(self, node: Node, place: _Place) -> None:
        """What evaluates strings as arithmetic, where a quoted `x[$(…)]` is run after all."""
        self.visit(list(node.values()), place)
        for text in _strings(node):
            if wrappers.hides_substitution(text):
                start, end, source = self.here.words(node)
                command = Command([], start, end, source, dialect=self.here.dialect)
                self.add(command, place).unread.append(
                    Unread("it evaluates a quoted substitution", start, end, source)
                )

    def visit(self, node: object, place: _Place) -> None:
        """Lower the substitutions in a part of the tree whose words don't matter themselves."""
        if isinstance(node, list):
            for item in node:
                self.visit(item, place)
        elif isinstance(node, dict):
            if "Parts" in node:
                self.parts(node, place)
            elif node.get("Type") in ("CmdSubst", "ProcSubst", "ParamExp", "ArithmExp"):
                self.part(node, place, quoted=True)
            else:
                for item in node.values():
                    if isinstance(item, (dict, list)):
                        self.visit(item, place)

    # -- programs within commands --------------------------------------------------------------

    def unwrap(self, command: Command, place: _Place) -> None:
        """Add what `command` starts: wrapped commands, and the texts it hands to a shell."""
        self.depth += 1
        if self.depth > PROGRAMS_LIMIT:
            raise Unreadable(f"it holds more than {PROGRAMS_LIMIT} commands within commands")
        for found in wrappers.started_by(command):
            if isinstance(found, Unread):
                command.unread.append(found)
            elif isinstance(found, wrappers.Text):
                first = len(self.reading.commands)
                same = command.program == "eval"
                inside = place.within(TEXT) if same else self.fresh(place, TEXT)
                if found.takes_input:
                    inside.fed_by = inside.around = ()
                elif (redirect := command.input) is not None:
                    inside.around = (*inside.around, redirect)
                try:
                    self.program(
                        found.text,
                        found.dialect or command.dialect,
                        found.span,
                        inside,
                        same_shell=command.program in _SAME_SHELL,
                    )
                except Unreadable as error:
                    if not str(error).startswith("the text"):
                        raise Unreadable(f"the text given to {found.to}: {error}") from None
                    raise
                for inner in self.reading.commands[first:]:
                    if inner.outer is None:
                        self.attach(inner, command, WRITTEN)
                        inner.appended = inner.appended or found.appended
            else:
                words = found.words
                source = " ".join(word.source for word in words)
                inner = Command(
                    words, words[0].start, words[-1].end, source, dialect=command.dialect
                )
                inner.assignments = found.assignments
                self.add(inner, place)
                how = SAME if found.same else STARTED if found.appended else WRAPPED
                self.attach(inner, command, how)
                inner.appended = found.appended or command.appended
                self.unwrap(inner, place)
        self.depth -= 1

    def attach(self, inner: Command, outer: Command, how: str) -> None:
        inner.outer = outer
        inner.how = how
        outer.inner.append(inner)


# They run a text in the shell that reads it.
_SAME_SHELL = frozenset({"eval", "trap"})
_MKTEMP = r"[\"']?\$\(mktemp(?:\s+(?:-[dqtu]+|--directory|--quiet|[\w.-]*X{3,}[\w.]*))*\)[\"']?"


def _split(parts: list[Part]) -> list[list[Part]]:
    """A row of parts cut where an unquoted `$IFS` stands, which is as good as a blank."""
    rows: list[list[Part]] = [[]]
    for part in parts:
        if part.kind == PARAMETER and part.name == "IFS" and not part.quoted:
            rows.append([])
        else:
            rows[-1].append(part)
    return [row for row in rows if row]


def _array(node: Node) -> str:
    """The name in a word that is `"${name[@]}"` or `"$@"` and nothing else; empty for any other."""
    parts = node.get("Parts", ())
    if len(parts) == 1 and parts[0].get("Type") == "ParamExp":
        # unquoted, its words are split once more; these are plain
        name = str(parts[0].get("Param", {}).get("Value", ""))
        return name if name in ("@", "*") and "Exp" not in parts[0] else ""
    if len(parts) != 1 or parts[0].get("Type") != "DblQuoted":
        return ""
    inner = parts[0].get("Parts", ())
    if len(inner) != 1 or inner[0].get("Type") != "ParamExp" or "Exp" in inner[0]:
        return ""
    name = str(inner[0].get("Param", {}).get("Value", ""))
    if name == "@":
        return name
    index = _strings(inner[0].get("Index", {}))
    return name if index == ["@"] else ""


def _hull(node: Node) -> Node:
    """The place of a statement without the sign that ends it, here-documents left out."""
    pieces = [node["Cmd"]] if "Cmd" in node else []
    redirects = node.get("Redirs", ())
    starts = [piece["Pos"] for piece in (*pieces, *redirects)]
    ends = [piece["End"] for piece in pieces] + [item["Word"]["End"] for item in redirects]
    return {
        "Pos": min(starts, key=lambda place: int(place["Offset"])),
        "End": max(ends, key=lambda place: int(place["Offset"])),
    }


def _untabbed(body: Word) -> Word:
    """The body of `<<-`: tabs at the start of its lines are taken off."""
    parts = []
    fresh = True
    for part in body.parts:
        if part.kind != QUOTED:
            parts.append(part)
            fresh = False
            continue
        lines = part.text.split("\n")
        lines = [
            line.lstrip("\t") if fresh or position else line for position, line in enumerate(lines)
        ]
        fresh = not lines[-1] and len(lines) > 1
        parts.append(Part(QUOTED, "\n".join(lines)))
    return Word(parts, body.start, body.end, body.source)


def _unescaped(text: str, signs: str) -> str:
    out = []
    position = 0
    while position < len(text):
        if text[position] == "\\" and text[position + 1 : position + 2] in tuple(signs):
            position += 1
        out.append(text[position])
        position += 1
    return "".join(out)


def _quoted(node: object) -> list[Node]:
    """The quoted words, here-documents and comments of a tree, each with its place."""
    found: list[Node] = []
    waiting = [node]
    while waiting:
        item = waiting.pop()
        if isinstance(item, list):
            waiting += item
        elif isinstance(item, dict):
            if item.get("Type") in ("SglQuoted", "DblQuoted") or "Hash" in item:
                found.append(item)
            if "Hdoc" in item:
                found.append(item["Hdoc"])
            waiting += [value for value in item.values() if isinstance(value, (dict, list))]
    return [item for item in found if "Pos" in item and "End" in item]


def _strings(node: object) -> list[str]:
    """Every literal string in a part of the tree."""
    found: list[str] = []
    waiting = [node]
    while waiting:
        item = waiting.pop()
        if isinstance(item, list):
            waiting += item
        elif isinstance(item, dict):
            if item.get("Type") in ("SglQuoted", "Lit") and isinstance(item.get("Value"), str):
                found.append(item["Value"])
            waiting += [value for value in item.values() if isinstance(value, (dict, list))]
    return found


def _refuse_zsh(parts: list[Part], source: str) -> None:
    """Refuse what zsh reads in a word and no other shell does."""
    first = parts[0] if parts else None
    if first is not None and first.kind == TEXT_PART:
        if first.text.startswith("="):
            raise Unreadable(f"zsh puts the path of a program in the place of {source!r}")
        if first.text.startswith("~["):
            raise Unreadable(f"zsh looks {source!r} up by a function")
    for part in parts:
        if part.kind == TEXT_PART and "(" in part.text:
            raise Unreadable(f"zsh may run code in the glob {source!r}")
