"""Where the parser may read a text otherwise than the shell that runs it.

Decides which shapes are refused because the shells end a comment, a quote or a backtick at another
place, and which texts hold a quoted substitution together with something that evaluates strings
once more. Leaves the rest of the tree to `syntax`. A refusal here is never a claim that the text
does harm, only that its tree can't be relied on.
"""

from __future__ import annotations

import re

from .deadline import Unreadable
from .words import ansi_c

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .commands import Command

    Node = dict[str, Any]

# Operators of `${x…}` after which bash reads single quotes as quotes even in double quotes.
_PATTERN_OPS = frozenset({"#", "##", "%", "%%"})
# Between literal quote signs these would be active again, or end the expansion.
_ACTIVE = frozenset('$`}"\\')
# In an extended glob, whose inside the parser does not look into.
_ACTIVE_GLOB = r"`|\$[({\[]|[<>=]\(|['\"\\]"
_PLAIN_QUOTES = r"'[\w .,:*?/+-]*'|\"[\w .,:*?/+-]*\""
# A backtick that no backslash stands before ends the substitution, in quotes or not.
_BACKTICKS = r"(?:[^`\\]|\\.)*"
_COMMENT = r"(?:^|(?<=[\s;&|()<>`]))#[^\n]*\\\n"


def children(node: Node) -> list[tuple[str, Any]]:
    """The nodes and lists in a node, but for its places: two thirds of a tree are places."""
    return [
        (key, value)
        for key, value in node.items()
        if value.__class__ is list or (value.__class__ is dict and "Offset" not in value)
    ]


def refuse(text: str, dialect: str, tree: Node) -> None:
    """Raise Unreadable where `tree` may not be what the shell of `dialect` makes of `text`."""
    if text.endswith("\\") and (len(text) - len(text.rstrip("\\"))) % 2:
        raise Unreadable("a backslash ends it, and the shells differ on what that means")
    if "#" in text and "\\\n" in text:
        _comments(text, tree)
    if "`" in text or "'" in text or ("(" in text and re.search(r"[@?*+!]\(", text)):
        _quotes(text.encode("utf-8", "surrogatepass"), dialect, tree)


def _comments(text: str, tree: Node) -> None:
    """A comment ends with its line; the parser joins it to the next one after a backslash."""
    cause = "a backslash stands at the end of a comment"
    quoted = []
    waiting: list[Any] = [tree]
    while waiting:
        item = waiting.pop()
        if isinstance(item, list):
            waiting += item
        elif isinstance(item, dict):
            if "Hash" in item and "\n" in item.get("Text", ""):
                raise Unreadable(cause)
            if item.get("Type") in ("SglQuoted", "DblQuoted"):
                quoted.append(item)
            if "Hdoc" in item:
                quoted.append(item["Hdoc"])
            waiting += [value for _key, value in children(item)]
    spans = [(item["Pos"]["Offset"], item["End"]["Offset"]) for item in quoted if "Pos" in item]
    for found in re.finditer(_COMMENT, text):
        place = len(text[: found.start()].encode("utf-8", "surrogatepass"))
        if not any(start <= place < end for start, end in spans):
            raise Unreadable(cause)


def _quotes(data: bytes, dialect: str, tree: Node) -> None:
    """Quotes, backticks and globs whose end the shells look for in another way."""
    # a node, whether double quotes are around it, whether an expansion in them is
    waiting: list[tuple[Any, bool, bool]] = [(tree, False, False)]
    while waiting:
        item, doubled, literal = waiting.pop()
        if isinstance(item, list):
            waiting += [(one, doubled, literal) for one in item]
            continue
        if not isinstance(item, dict):
            continue
        kind = item.get("Type")
        if kind == "SglQuoted" and literal and _ACTIVE.intersection(item.get("Value", "")):
            raise Unreadable("single quotes in a double-quoted expansion are plain signs")
        if kind == "ExtGlob":
            pattern = re.sub(_PLAIN_QUOTES, "", item["Pattern"]["Value"])
            if re.search(_ACTIVE_GLOB, pattern):
                raise Unreadable("a pattern in it holds an expansion or a quote")
        if kind == "CmdSubst":
            if item.get("Backquotes"):
                inside = data[item["Pos"]["Offset"] + 1 : item["End"]["Offset"] - 1]
                shown = inside.decode("utf-8", "surrogatepass")
                if not re.fullmatch(_BACKTICKS, shown, re.DOTALL):
                    raise Unreadable("a backtick stands within backticks")
                if "\\" in shown:
                    # read again as a text of its own, a layer of backslashes taken off
                    continue
            doubled = literal = False
        elif kind == "DblQuoted":
            doubled = True
        elif kind == "ParamExp" and doubled:
            op = item.get("Exp", {}).get("Op")
            literal = dialect != "bash" or op not in _PATTERN_OPS
        for key, value in children(item):
            waiting.append((value, doubled or key == "Hdoc", literal))


# -- strings that are evaluated once more -------------------------------------------------------

# They take the name of a variable, whose subscript is evaluated, or assign by a string.
_NAMING = frozenset({"read", "mapfile", "readarray", "getopts", "unset", "wait"})
_DECLARING = frozenset({"let", "declare", "typeset", "local", "export", "readonly", "integer"})
_NUMERIC = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_TABLES = r"BASH_(?:ALIASES|CMDS)"
# The shell expands their values: before a traced line, when it starts.
_EXPANDED = frozenset({"PS4", "BASH_ENV", "ENV", "PROMPT_COMMAND"})
# In awk these name fields.
_FIELDS = r"\$\((?:NF|[a-z]|\d+)(?:[-+]\w+)?\)"
_AWK = frozenset({"awk", "gawk", "mawk", "nawk"})


class Strings:
    """What a whole text holds of quoted substitutions, and whether something evaluates strings."""

    __slots__ = ("evaluates", "idle", "quoted")

    def __init__(self, text: str) -> None:
        self.quoted: list[str] = []
        self.evaluates = False
        # without these signs no word of it, or of a text in it, holds a substitution or a table
        bare = text.replace("'", "").replace('"', "")
        self.idle = not any(sign in bare for sign in ("$", "`", "\\", "BASH", "{"))

    def take(self, text: str, tree: Node) -> None:
        """Add what the tree of one program holds. Raises Unreadable for a table of aliases."""
        if self.idle:
            return
        waiting: list[tuple[Any, str]] = [(tree, "")]
        hidden = "$" in text or "`" in text or "\\" in text
        while waiting:
            item, program = waiting.pop()
            if isinstance(item, list):
                waiting += [(one, program) for one in item]
                continue
            if not isinstance(item, dict):
                continue
            kind = item.get("Type")
            if kind == "CallExpr" and item.get("Args"):
                program = _literal(item["Args"][0]) or ""
                self.evaluates = self.evaluates or _evaluates(item["Args"])
            elif kind == "DeclClause" and _mentions_table(item):
                raise Unreadable("it writes a table that changes what a name runs")
            elif "Stmts" in item:
                program = ""
            if not self.evaluates and _is_evaluation(item, kind):
                self.evaluates = True
            if isinstance(item.get("Name"), dict) and ("Value" in item or "Index" in item):
                name = item["Name"].get("Value", "")
                if re.fullmatch(_TABLES, str(name)):
                    raise Unreadable(f"it writes {name}, which changes what a name runs")
                self.evaluates = self.evaluates or name in _EXPANDED
            if hidden and "Parts" in item and kind != "DblQuoted":
                held = _held(item)
                if program in _AWK:
                    held = re.sub(_FIELDS, "", held)
                if "$(" in held or "`" in held:
                    self.quoted.append(held)
            waiting += [(value, program) for _key, value in children(item)]

    def collide(self, read: set[str]) -> bool:
        """Whether a quoted substitution may be evaluated; `read` are the texts judged as programs.

        A string that stands once and was read as a program is no secret.
        """
        return self.evaluates and any(
            held not in read or self.quoted.count(held) > 1 for held in self.quoted
        )


def _held(word: Node) -> str:
    """The literal text of a word, quoting taken off; a space stands for an expansion."""
    pieces = []
    waiting = list(word["Parts"])
    while waiting:
        part = waiting.pop(0)
        kind = part.get("Type")
        if kind == "Lit":
            pieces.append(re.sub(r"\\(.)", r"\1", part["Value"]))
        elif kind == "SglQuoted":
            value = part.get("Value", "")
            pieces.append(ansi_c(value) if part.get("Dollar") else value)
        elif kind == "DblQuoted":
            waiting = [*part.get("Parts", ()), *waiting]
        else:
            pieces.append(" ")
    return "".join(pieces)


def _literal(word: Node) -> str | None:
    parts = word.get("Parts", [])
    if not all(part.get("Type") in ("Lit", "SglQuoted") for part in parts):
        return None
    return _held(word)


def _is_evaluation(item: Node, kind: Any) -> bool:
    """Whether a node of the tree makes the shell evaluate a string."""
    if kind in ("ArithmExp", "ArithmCmd", "LetClause", "CStyleLoop"):
        return True
    if kind == "DeclClause":
        return any(
            "Name" not in arg or re.match(r"[-+]\w*[aAinT]", _held(arg.get("Value") or _NOTHING))
            for arg in item.get("Args", ())
        )
    if kind == "ParamExp":
        indexed = "Index" in item and not _is_number(item["Index"])
        slices = "Slice" in item
        prompt = item.get("Exp", {}).get("Op") == "@"
        return bool(item.get("Excl")) or indexed or slices or prompt
    if kind == "BinaryTest":
        return item.get("Op") in _NUMERIC
    if kind == "UnaryTest":
        return item.get("Op") in ("-v", "-R")
    return "Index" in item and not _is_number(item["Index"])


_NOTHING: Node = {"Parts": []}


def _mentions_table(clause: Node) -> bool:
    values = [arg.get("Value") or _NOTHING for arg in clause.get("Args", ())]
    return any(re.search(rf"\b{_TABLES}\b", _held(value)) for value in values)


def _is_number(index: Node) -> bool:
    return re.fullmatch(r"\d+|[@*]", _held(index) if "Parts" in index else "x") is not None


def _evaluates(args: list[Node]) -> bool:
    """Whether a simple command evaluates a string it is given. Raises Unreadable, see `take`."""
    words = [_literal(arg) for arg in args]
    while len(words) > 1 and words[0] in ("builtin", "command"):
        words, args = words[1:], args[1:]
    name, rest = words[0], words[1:]
    if name is None:
        return False
    if name in _DECLARING or name in _NAMING or name == "printf":
        held = " ".join(_held(arg) for arg in args)
        if re.search(rf"\b{_TABLES}\b", held):
            raise Unreadable("it writes a table that changes what a name runs")
    plain = all(word is not None and re.fullmatch(r"[\w.-]*", word) for word in rest)
    if name == "alias" and None in words:
        raise Unreadable("it defines an alias that is known only at run time")
    if name in _DECLARING:
        return True
    if name in _NAMING or name in ("compgen", "complete"):
        return not plain
    if name in ("printf", "test", "["):
        return any(
            word is not None
            and (word.startswith("-v") or word == "-R")
            and not re.fullmatch(r"\w+", (rest[place + 1 : place + 2] or [None])[0] or "")
            for place, word in enumerate(rest)
        )
    if name == "env":
        return any((word or "").partition("=")[0] in _EXPANDED for word in rest)
    return False


# -- zsh -----------------------------------------------------------------------------------------

# They load, define, rename or run what no other command of the text shows.
_ZSH_WORDS = frozenset(
    {"emulate", "zmodload", "autoload", "zcompile", "sysopen", "syswrite", "sysread", "zsystem",
     "zselect", "ztcp", "zsocket", "zpty", "zle", "bindkey", "compadd", "compctl", "sched",
     "zstyle", "vared", "fc", "r", "zargs", "zmv", "zcp", "zln", "enable", "disable", "zftp",
     "zprof", "zregexparse", "compdef", "compcall", "ztie", "zgetattr", "zsetattr", "zdelattr",
     "private", "add-zsh-hook", "nocorrect", "noglob", "repeat", "-", "promptinit", "compinit",
     "foreach"}
)  # fmt: skip
_ZSH_TABLES = (
    r"(?:dis_)?(?:functions|builtins|reswords|patchars|[gs]?aliases)|commands|options|nameddirs"
    r"|userdirs|usergroups|modules|widgets|keymaps|mapfile|history|fpath|FPATH|NULLCMD|READNULLCMD"
    r"|MODULE_PATH|module_path|cdpath|parameters"
    r"|(?:chpwd|periodic|precmd|preexec|zshaddhistory|zshexit|zsh_directory_name)(?:_functions)?"
)
# They may write a variable whose name is one of their words.
_ZSH_ASSIGNING = frozenset(
    {"typeset", "declare", "local", "export", "readonly", "integer", "float", "read", "print",
     "printf", "set", "getopts", "zstat", "zparseopts"}
)  # fmt: skip
_ZSH_OPTIONS = frozenset(
    {"errexit", "nounset", "pipefail", "xtrace", "nullglob", "nonomatch", "extendedglob"}
)


def refuse_zsh(commands: list[Command]) -> None:
    """Raise Unreadable for a command that makes zsh read or run something else than it shows."""
    for command in commands:
        if command.dialect != "zsh":
            continue
        for item in command.assignments:
            if re.fullmatch(_ZSH_TABLES, item.name):
                raise Unreadable(f"{item.name} changes what zsh runs")
        name = command.program
        if name is None:
            continue
        rest = [word.value for word in command.words[1:]]
        options = [word for word in rest if word is None or word.startswith(("-", "+"))]
        odd = False
        if name in _ZSH_WORDS or name.startswith("zf_"):
            odd = True
        elif name in ("hash", "rehash"):
            odd = any(word is None or "=" in word for word in rest)
        elif name == "print":
            # from the first word that is no option on, everything is printed
            for word in rest:
                if word is not None and (not word.startswith("-") or word in ("-", "--")):
                    break
                odd = odd or word is None or bool(set(word) & set("Pvz"))
        elif name in ("alias", "functions", "unfunction"):
            odd = any(word is None or re.search("[gscMTuUx]", word) for word in options)
        elif name in ("setopt", "unsetopt"):
            odd = not all(
                (word or "").lower().replace("_", "").removeprefix("-o") in _ZSH_OPTIONS
                for word in rest
            )
        if name in _ZSH_ASSIGNING:
            odd = odd or any(
                re.match(rf"(?:{_ZSH_TABLES})(?:$|[\[=+])", word.value or word.prefix)
                for word in command.words[1:]
            )
        if odd:
            raise Unreadable(f"zsh reads or runs by {name!r} what the text does not show")


def refuse_zsh_parameter(node: Node, source: str) -> None:
    """Raise Unreadable for an expansion that globs, or that writes one of zsh's own tables."""
    if re.match(r"\$\{?[=^]*~", source):
        raise Unreadable(f"zsh may run code in the glob that {source!r} becomes")
    name = node.get("Param", {}).get("Value", "")
    op = str(node.get("Exp", {}).get("Op", ""))
    if "=" in op and re.fullmatch(_ZSH_TABLES, name):
        raise Unreadable(f"{name} changes what zsh runs")
