"""The command ch-receipt: flags and streams of its subcommands.

The pipe step, `block` and `capture` are what every run needs; whatever only reads the ledger is
imported when it is asked for.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import sys

from ch_contract import clock, documents, files, places, problems, settings, tool
from ch_contract.problems import Problem

from . import ledger, receipt
from .block import block

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ch_contract.messages import Result, Run
    from ch_contract.tool import Flags, Streams

USAGE = """\
usage: ch-receipt [append] [--exit-code] < run document > run document
       ch-receipt block [--budget N|NAME] [--no-append] [--exit-code] < run document > text
       ch-receipt capture --run-id ID --trigger KIND --cwd FOLDER [--session NAME] [--at TIME]
                          [--owner-pid PID] < text
       ch-receipt config --cwd FOLDER --note TEXT
       ch-receipt resume --run-id ID --cwd FOLDER --note TEXT [--session NAME] [--owner-pid PID]
       ch-receipt happened EVENT --run-id ID --cwd FOLDER --note TEXT
       ch-receipt tail [N] [--json]
       ch-receipt show --run ID [--json]
       ch-receipt summary [--json]
       ch-receipt transcript [--run ID] [--out FILE]
       ch-receipt verify [--json]
       ch-receipt recover

Keep the ledger of what happened and write the result block.

Without a subcommand: append the run's end receipt to the ledger, add `receipt` to the document
and pass it on, also when it holds a problem. A document that has its receipt passes unchanged.

subcommands:
  append       the same by name
  block        append unless that was done, keep the block as runs/ID/result.txt, print it
  capture      record a text, its hash and its time before anything is done with it
  config       record that settings, or what is trusted of them, change in FOLDER
  resume       record that a run that waited for a person goes on
  happened     record what became of file changes later: ApplyRecovered or Undone
  tail         the last N lines of the ledger (10), oldest first
  show         every line of one run
  summary      how many runs, events, decisions and rules, and over which time
  transcript   the runs as Markdown: payload and result block of each
  verify       check the whole ledger; name the first line that was edited, removed or moved
  recover      give every run whose process died without an end an indeterminate one

options:
  --at TIME        when the text was captured; now when absent
  --budget N|NAME  characters of output to show, or m365-copilot or copilot; the setting
                   result_budget_chars when absent
  --cwd FOLDER     the folder the run begins in, or whose settings change, absolute
  --exit-code      exit with the document's answer: 0 succeeded, 1 no, 3 waits for a review,
                   or the code of its problem
  --json           lines of JSON for programs
  --no-append      print the block without a receipt
  --note TEXT      what changes or happens, in a sentence of at most 600 characters
  --out FILE       write there instead of standard output
  --owner-pid PID  the process that answers for the run; this one's parent when absent
  --run ID         the run meant
  --run-id ID      the id of the run that begins
  --session NAME   the session the run is bound to
  --trigger KIND   explicit, watch or hook
  --help           show this text
  --version        show the version
"""

NAME = "ch-receipt"
STANDARD = {"--help": False, "--version": False}


def append(document: Run, state: str) -> None:
    """Add the run's end receipt to the ledger and `receipt` to the document.

    Raises Problem when it cannot be written; the document is as it was then.
    """
    document["receipt"] = ledger.append(state, receipt.end_of(document, clock.now()), once=True)
    with contextlib.suppress(Problem):
        # `recover` removes it when it finds the end receipt
        files.remove(places.open_run(state, document["run_id"]))


def _append_step(argv: list[str], streams: Streams) -> int:
    """The pipe step."""
    flags = _flags(argv, streams, {"--exit-code": False})
    if flags is None:
        return problems.OK
    document = documents.read_run(streams.stdin, "parsed")
    if "receipt" not in document:
        try:
            append(document, places.state_dir())
        except Problem as problem:
            streams.say(f"{NAME}: {problems.sentence(problem.section(NAME))}")
            # the first cause is what the pipe reports
            document.setdefault("problem", problem.section(NAME))
    stage = "receipted" if "receipt" in document else "parsed"
    documents.write_run(streams.stdout, document, stage)
    return problems.answer(document) if flags.get("--exit-code") else problems.OK


def _block_step(argv: list[str], streams: Streams) -> int:
    """Print the block of a run; without a receipt too, if it cannot be written: it says so."""
    known = {"--budget": True, "--no-append": False, "--exit-code": False}
    flags = _flags(argv, streams, known)
    if flags is None:
        return problems.OK
    given = tool.text_flag(flags, "--budget")
    budget = _budget(given) if given is not None else None
    document = documents.read_run(streams.stdin, "parsed")
    answer = problems.answer(document)
    failure: Problem | None = None
    if "receipt" not in document and not flags.get("--no-append"):
        try:
            append(document, places.state_dir())
        except Problem as problem:
            failure = problem
    result = document.get("result")
    output = ""
    if result is not None and result["output_bytes"] > 0:
        output = _output(document, result, budget or _budget_in_force(document))
    reason = None
    if failure is not None and "receipt" not in document:
        reason = " — ".join(words for words in (failure.message, failure.hint) if words)
    text = block(document, output, diffs=_diffs(document), no_receipt=reason).encode("utf-8")
    if "receipt" in document:
        try:
            folder = files.private_folder(places.run_dir(places.state_dir(), document["run_id"]))
            files.write_atomic(os.path.join(folder, "result.txt"), text)
        except Problem as problem:
            failure = failure or problem
    if failure is not None:
        streams.say(f"{NAME}: {problems.sentence(failure.section(NAME))}")
        answer = failure.code
    documents.put(streams.stdout, text)
    return answer if flags.get("--exit-code") else problems.OK


def _output(document: Run, result: Result, budget: int) -> str:
    """The output as the block shows it, read from where this run's is kept and nowhere else."""
    from . import elide

    try:
        state = places.state_dir()
    except Problem:
        # as with the budget: what the gate refused for these settings gets its block
        state = places.default_state_dir()
    kept = os.path.join(places.run_dir(state, document["run_id"]), "output.txt")
    return elide.digest(result, budget, kept)


def _diffs(document: Run) -> dict[str, str]:
    """The full diff of each changed file, read from the candidate's folder and nowhere else."""
    from . import clean

    found = {}
    for staged in document.get("candidates", ()):
        for entry in staged["entries"]:
            if entry["diff_path"] is None:
                continue
            folder = places.candidate_dir(places.state_dir(), staged["candidate_id"])
            above, name = os.path.split(entry["diff_path"])
            inside = os.path.basename(above)
            kept = os.path.join(folder, "edited" if inside == "edited" else "diffs", name)
            with contextlib.suppress(Problem):
                # a diff that is gone costs nobody the block: the file is named all the same
                found[entry["path"]] = clean.decode(files.read(kept) or b"")
    return found


def _budget(value: str) -> int:
    """The characters that `--budget` names."""
    from . import elide

    if value in elide.PRESETS:
        return elide.PRESETS[value]
    if not (value.isascii() and value.isdigit()) or not 1000 <= int(value[:9]) <= 10_000_000:
        names = " or ".join(elide.PRESETS)
        raise Problem("usage", f"--budget: got {value!r}", f"give 1000 to 10000000, {names}")
    return int(value)


def _budget_in_force(document: Run) -> int:
    """The characters of output that the settings allow."""
    from . import elide

    try:
        value = settings.load(document["cwd"], document["project"])["result_budget_chars"]
    except Problem:
        # the gate has refused the run for these settings; its block must come all the same
        value = settings.DEFAULTS["result_budget_chars"]
    return elide.PRESETS[value] if isinstance(value, str) else int(value)


def _capture_step(argv: list[str], streams: Streams) -> int:
    from .capture import capture

    required = ("--run-id", "--trigger", "--cwd")
    optional = ("--session", "--at", "--owner-pid")
    flags = _flags(argv, streams, dict.fromkeys((*required, *optional), True))
    if flags is None:
        return problems.OK
    values = {name: tool.text_flag(flags, name) for name in (*required, *optional)}
    run_id, trigger, cwd = (_required(values[name], name) for name in required)
    owner = _owner(flags)
    raw = streams.stdin.read(documents.LIMIT_BYTES + 1)
    if len(raw) > documents.LIMIT_BYTES:
        raise Problem("document", f"the text is larger than {documents.LIMIT_BYTES:,} bytes")
    done = capture(
        places.state_dir(),
        raw,
        run_id=run_id,
        trigger=trigger,
        cwd=cwd,
        session=values["--session"],
        at=values["--at"],
        owner=owner,
    )
    documents.put(streams.stdout, documents.encode(done))
    return problems.OK


def _config_step(argv: list[str], streams: Streams) -> int:
    """Append the line of a change of settings; print where it stands."""
    flags = _flags(argv, streams, {"--cwd": True, "--note": True})
    if flags is None:
        return problems.OK
    folder, note = (_required(tool.text_flag(flags, name), name) for name in ("--cwd", "--note"))
    if not os.path.isabs(folder):
        raise Problem("usage", f"--cwd: must be an absolute path, got {folder!r}")
    line = receipt.config_change(clock.now(), folder=folder, note=note)
    ledger.check(line, "config", kind="usage")
    documents.put(streams.stdout, documents.encode(ledger.append(places.state_dir(), line)))
    return problems.OK


def _resume_step(argv: list[str], streams: Streams) -> int:
    """Open a run again and record it; print where that stands."""
    from .capture import resume

    known = ("--run-id", "--cwd", "--note", "--session", "--owner-pid")
    flags = _flags(argv, streams, dict.fromkeys(known, True))
    if flags is None:
        return problems.OK
    run_id, cwd, note = (_required(tool.text_flag(flags, name), name) for name in known[:3])
    owner = _owner(flags)
    session = tool.text_flag(flags, "--session")
    state = places.state_dir()
    done = resume(state, run_id=run_id, session=session, cwd=cwd, note=note, owner=owner)
    documents.put(streams.stdout, documents.encode(done))
    return problems.OK


def _happened_step(argv: list[str], streams: Streams) -> int:
    """Append the line of something that happened to a run later; print where it stands."""
    known = ("--run-id", "--cwd", "--note")
    given = _flags_and_words(argv, streams, dict.fromkeys(known, True), 1)
    if given is None:
        return problems.OK
    flags, words = given
    if words not in (["ApplyRecovered"], ["Undone"]):
        raise Problem("usage", "which event?", "it is ApplyRecovered or Undone")
    run_id, cwd, note = (_required(tool.text_flag(flags, name), name) for name in known)
    line = receipt.happened(clock.now(), words[0], run_id, cwd=cwd, note=note)
    ledger.check(line, "happened", kind="usage")
    documents.put(streams.stdout, documents.encode(ledger.append(places.state_dir(), line)))
    return problems.OK


def _owner(flags: Flags) -> int:
    """The process that answers for the run."""
    owner = tool.text_flag(flags, "--owner-pid")
    if owner is None:
        return os.getppid()
    if not (owner.isascii() and owner.isdigit() and len(owner) < 10):
        raise Problem("usage", f"--owner-pid: must be a process id, got {owner!r}")
    return int(owner)


def _required(value: str | None, name: str) -> str:
    if value is None:
        raise Problem("usage", f"{name} is missing", "see --help")
    return value


def _tail(argv: list[str], streams: Streams) -> int:
    from . import listing

    given = _flags_and_words(argv, streams, {"--json": False}, 1)
    if given is None:
        return problems.OK
    flags, words = given
    count = words[0] if words else "10"
    if not (count.isascii() and count.isdigit() and 0 < len(count) < 10):
        raise Problem("usage", f"tail: must be a number of lines, got {count!r}")
    lines = listing.tail(places.state_dir(), int(count))
    listing.write(streams, lines, as_json=bool(flags.get("--json")))
    return problems.OK


def _show(argv: list[str], streams: Streams) -> int:
    from . import listing

    flags = _flags(argv, streams, {"--run": True, "--json": False})
    if flags is None:
        return problems.OK
    run_id = _required(tool.text_flag(flags, "--run"), "--run")
    lines = listing.of_run(places.state_dir(), run_id)
    first = next(lines, None)
    if first is None:
        raise Problem("refused", f"the ledger has no run {run_id}", "ch-receipt tail lists some")
    listing.write(streams, itertools.chain([first], lines), as_json=bool(flags.get("--json")))
    return problems.OK


def _summary(argv: list[str], streams: Streams) -> int:
    from . import summary

    flags = _flags(argv, streams, {"--json": False})
    if flags is None:
        return problems.OK
    found = summary.summarise(places.state_dir())
    if flags.get("--json"):
        documents.put(streams.stdout, documents.encode(found))
    else:
        streams.out(summary.text(found))
    return problems.OK


def _transcript(argv: list[str], streams: Streams) -> int:
    from . import transcript

    flags = _flags(argv, streams, {"--run": True, "--out": True})
    if flags is None:
        return problems.OK
    parts = transcript.transcript(places.state_dir(), tool.text_flag(flags, "--run"))
    out = tool.text_flag(flags, "--out")
    if out is not None:
        if os.path.lexists(out) and not os.path.isfile(out):
            raise Problem(
                "system",
                f"cannot write {out}: it is no regular file",
                "name a file, or leave --out away and redirect the output",
            )
        files.write_atomic(os.path.abspath(out), (part.encode("utf-8") for part in parts))
        return problems.OK
    for part in parts:
        streams.out(part)
    return problems.OK


def _verify(argv: list[str], streams: Streams) -> int:
    from . import verify

    flags = _flags(argv, streams, {"--json": False})
    if flags is None:
        return problems.OK
    report = verify.verify(places.state_dir())
    if flags.get("--json"):
        documents.put(streams.stdout, documents.encode(report))
    else:
        streams.out(verify.text(report))
    return problems.OK if report["whole"] else problems.NO


def _recover(argv: list[str], streams: Streams) -> int:
    from . import recover

    if _flags(argv, streams, {}) is None:
        return problems.OK
    for sentence in recover.recover(places.state_dir()):
        streams.out(f"{sentence}\n")
    return problems.OK


def _flags(argv: list[str], streams: Streams, known: dict[str, bool]) -> Flags | None:
    """The flags of a subcommand that takes no words; None when help or version was asked for."""
    given = _flags_and_words(argv, streams, known, 0)
    return given[0] if given is not None else None


def _flags_and_words(
    argv: list[str], streams: Streams, known: dict[str, bool], most: int
) -> tuple[Flags, list[str]] | None:
    return tool.subcommand(NAME, argv, streams, known, most=most, usage=USAGE)


SUBCOMMANDS: dict[str, Callable[[list[str], Streams], int]] = {
    "append": _append_step,
    "block": _block_step,
    "capture": _capture_step,
    "config": _config_step,
    "resume": _resume_step,
    "happened": _happened_step,
    "tail": _tail,
    "show": _show,
    "summary": _summary,
    "transcript": _transcript,
    "verify": _verify,
    "recover": _recover,
}


def main(argv: list[str], streams: Streams) -> int:
    """Run the tool with these arguments and streams; gives the exit code."""

    def body() -> int:
        if argv and not argv[0].startswith("-"):
            step = SUBCOMMANDS.get(argv[0])
            if step is None:
                raise Problem("usage", f"unknown subcommand {argv[0]!r}", "see --help")
            return step(argv[1:], streams)
        return _append_step(argv, streams)

    return tool.guarded(NAME, argv, streams, body)


def main_process() -> None:
    """The installed command."""
    sys.exit(main(sys.argv[1:], tool.own_streams()))
