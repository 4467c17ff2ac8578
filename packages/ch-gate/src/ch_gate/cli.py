"""The commands of ch-gate.

Without a subcommand it is the pipe step. Everything that judges is imported only when there is
something to judge.
"""

from __future__ import annotations

import os
import sys

from ch_contract import problems, tool
from ch_contract.problems import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ch_contract.messages import Run

    from .verdict import Judge

USAGE = """\
usage: ch-gate [--exit-code] < run document > run document
       ch-gate check (--command C | --file F) [--cwd D] [--json] [--exit-code]
       ch-gate explain (--command C | --file F) [--cwd D]
       ch-gate offer (--command C | --file F) [--cwd D]
       ch-gate rules [--json]
       ch-gate test FILE [--cwd D]

Judge whether a payload may run.

Without a subcommand: reads a run document that ch-parse has made and adds `verdict`.
`check` judges one command and prints the decision and the reason.
`explain` shows each simple command found, its class, what it changes, the rule it met and
what makes it pass.
`offer` prints the allow-list entry that would allow the command and its like; nothing where
none is offered.
`rules` prints every rule a verdict can name.
`test` checks your own examples: a JSON list, or one object a line, of
{"command": …, "expect": "allow" | "ask" | "deny"}.

options:
  --command C  the command
  --file F     a file that holds the command; - is standard input
  --cwd D      the folder it would run in; this one when absent
  --json       print JSON
  --exit-code  exit with the answer: 0 allowed, 1 denied, 3 waits for a review
  --help       show this text
  --version    show the version
"""

UNTOUCHED = frozenset({"goal", "control", "ignored", "malformed"})
ANSWERS = {"allow": problems.OK, "ask": problems.PENDING, "deny": problems.NO}


def main(argv: list[str], streams: tool.Streams) -> int:
    """Run the tool with these arguments and streams; gives the exit code."""
    commands = {
        "check": _check,
        "explain": _explain,
        "offer": _offer,
        "rules": _rules,
        "test": _test,
    }
    if argv and argv[0] in commands:
        name, rest = argv[0], argv[1:]
        return tool.guarded("ch-gate", argv, streams, lambda: commands[name](rest, streams))
    return tool.pipe(
        "ch-gate",
        argv,
        streams,
        lambda document, _flags: _gate(document),
        usage=USAGE,
        reads="parsed",
        writes="gated",
        foreign=lambda document: document["payload"]["kind"] in UNTOUCHED,
    )


def _gate(document: Run) -> None:
    from .verdict import gate

    gate(document)


def _judge(flags: tool.Flags) -> Judge:
    from ch_contract import places

    from .verdict import Judge

    try:
        given = os.path.expanduser(tool.text_flag(flags, "--cwd") or os.getcwd())
        cwd = os.path.abspath(given)
    except FileNotFoundError:
        raise Problem(
            "system", "the working folder is gone", "name a folder with --cwd, or change to one"
        ) from None
    if not os.path.isdir(cwd):
        raise Problem("usage", f"--cwd: there is no folder {cwd}")
    return Judge(cwd, places.project_root(cwd))


def _command(flags: tool.Flags, words: list[str], streams: tool.Streams) -> str:
    """The command that the flags name."""
    given, path = tool.text_flag(flags, "--command"), tool.text_flag(flags, "--file")
    if words:
        raise Problem("usage", f"unexpected word {words[0]!r}", "put the command after --command")
    if (given is None) == (path is None):
        raise Problem("usage", "give either --command or --file")
    if given is not None:
        return given
    return _text(str(path), streams)


def _text(path: str, streams: tool.Streams) -> str:
    from ch_contract import files
    from ch_contract.documents import LIMIT_BYTES

    data = (
        streams.stdin.read(LIMIT_BYTES)
        if path == "-"
        else files.read(path, LIMIT_BYTES, regular=False)
    )
    if data is None:
        raise Problem("system", f"cannot read {path}: there is no such file")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Problem("document", f"{path} is not UTF-8 at byte {error.start}") from None


_JUDGING = {"--command": True, "--file": True, "--cwd": True, "--help": False, "--version": False}


def _check(argv: list[str], streams: tool.Streams) -> int:
    known = {**_JUDGING, "--json": False, "--exit-code": False}
    flags, words = tool.parse_flags(argv, known)
    if tool.information("ch-gate", flags, streams, USAGE):
        return problems.OK
    part = _judge(flags).command(_command(flags, words, streams))
    if flags.get("--json"):
        from ch_contract import documents

        streams.out(documents.encode(part).decode())
    else:
        why = f": {part['reason']}" if part["reason"] is not None else ""
        streams.out(f"{part['decision']}{why}\n")
    return ANSWERS[part["decision"]] if flags.get("--exit-code") else problems.OK


def _explain(argv: list[str], streams: tool.Streams) -> int:
    flags, words = tool.parse_flags(argv, _JUDGING)
    if tool.information("ch-gate", flags, streams, USAGE):
        return problems.OK
    from .explain import explain

    text = _command(flags, words, streams)
    streams.out(explain(_judge(flags), text))
    return problems.OK


def _offer(argv: list[str], streams: tool.Streams) -> int:
    flags, words = tool.parse_flags(argv, _JUDGING)
    if tool.information("ch-gate", flags, streams, USAGE):
        return problems.OK
    from .deadline import Clock
    from .offers import entry_for

    text = _command(flags, words, streams)
    offered = entry_for(_judge(flags).read(text, Clock()))
    if offered is not None:
        streams.out(f"{offered}\n")
    return problems.OK


def _rules(argv: list[str], streams: tool.Streams) -> int:
    flags, words = tool.parse_flags(argv, {"--json": False, "--help": False, "--version": False})
    if tool.information("ch-gate", flags, streams, USAGE):
        return problems.OK
    if words:
        raise Problem("usage", f"unexpected word {words[0]!r}", "see --help")
    from .explain import catalogue

    table = catalogue()
    if flags.get("--json"):
        from ch_contract import documents

        streams.out(documents.encode(table).decode())
        return problems.OK
    width = max(len(str(row["rule"])) for row in table)
    for row in table:
        decides = "floor" if row["floor"] else row["decision"]
        streams.out(f"{row['rule']:{width}}  {decides:5}  {row['about']}\n")
    return problems.OK


def _test(argv: list[str], streams: tool.Streams) -> int:
    flags, words = tool.parse_flags(argv, {"--cwd": True, "--help": False, "--version": False})
    if tool.information("ch-gate", flags, streams, USAGE):
        return problems.OK
    if len(words) != 1:
        raise Problem("usage", "give the one file of examples", "see --help for its form")
    examples = _examples(_text(words[0], streams), words[0])
    judge = _judge(flags)
    failed = 0
    for number, example in enumerate(examples, 1):
        part = judge.command(example["command"])
        if part["decision"] == example["expect"]:
            continue
        failed += 1
        from .findings import shown

        streams.out(
            f"{number}: expected {example['expect']}, got {part['decision']}"
            f" ({part['rule'] or 'no rule'}): {shown(example['command'])}\n"
        )
    streams.out(f"{len(examples) - failed} of {len(examples)} examples hold\n")
    return problems.NO if failed else problems.OK


def _examples(text: str, path: str) -> list[dict[str, Any]]:
    """The examples in a JSON list, or in one object a line.

    Raises Problem("document") that names the place.
    """
    from ch_contract import documents

    if text.lstrip().startswith("["):
        values = documents.parse_json(text.encode(), path)
        places = [f"{path}, example {number}" for number in range(1, len(values) + 1)]
    else:
        lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
        places = [f"{path}, line {number}" for number, _line in lines]
        values = [
            documents.parse_json(line.encode(), place)
            for place, (_number, line) in zip(places, lines, strict=True)
        ]
    if not values:
        raise Problem("document", f"{path} holds no example")
    for place, value in zip(places, values, strict=True):
        if not isinstance(value, dict) or set(value) - {"note"} != {"command", "expect"}:
            raise Problem("document", f"{place}: an example has the keys command and expect")
        if not isinstance(value["command"], str) or value["expect"] not in ANSWERS:
            raise Problem(
                "document", f"{place}: command is a text, and expect is allow, ask or deny"
            )
    return values  # type: ignore[no-any-return]  # checked above


def main_process() -> None:
    """The installed command."""
    sys.exit(main(sys.argv[1:], tool.own_streams()))
