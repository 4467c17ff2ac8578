"""Texts that need no parser: one command of plain words.

Most commands are nothing but a few words of letters, digits and harmless signs. Every shell reads
such a text in the same way, so its tree is made here, in the form `shfmt` would give it, and no
process is started. Whatever has any other sign in it is the parser's.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LIMIT = 400
# No quoting, expansion, glob, brace, redirect, comment, history or job sign, and no assignment.
_PLAIN = r"[A-Za-z_./][A-Za-z0-9_./+-]*(?: [A-Za-z0-9_./,:@%+-][A-Za-z0-9_./,:@%+=-]*)*"
# They begin something else than a simple command, or read their words in a way of their own.
_WORDS = frozenset(
    {"if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac",
     "in", "select", "function", "time", "coproc", "let", "declare", "typeset", "local", "export",
     "readonly", "nameref", "integer", "float", "repeat", "foreach", "end", "nocorrect", "noglob",
     "private", "always", "test", "eval", "exec", "alias"}
)  # fmt: skip


def tree(text: str) -> dict[str, Any] | None:
    """The syntax tree of `text`; None when it takes a parser."""
    if len(text) > LIMIT or re.fullmatch(_PLAIN, text) is None:
        return None
    words = text.split(" ")
    if words[0] in _WORDS:
        return None
    args = []
    place = 0
    for word in words:
        args.append(_node("", place, place + len(word), Parts=[_literal(word, place)]))
        place += len(word) + 1
    call = _node("CallExpr", 0, len(text), Args=args)
    statement = _node("", 0, len(text), Cmd=call)
    return _node("File", 0, len(text), Stmts=[statement])


def _literal(word: str, place: int) -> dict[str, Any]:
    return _node("Lit", place, place + len(word), Value=word)


def _node(kind: str, start: int, end: int, **rest: object) -> dict[str, Any]:
    named = {"Type": kind} if kind else {}
    return {**named, "Pos": _place(start), "End": _place(end), **rest}


def _place(offset: int) -> dict[str, int]:
    return {"Offset": offset, "Line": 1, "Col": offset + 1}
