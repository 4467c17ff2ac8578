"""The commands of clip-harness: which one was asked for, and with what.

Flags are read and names are looked up here; the work is done by the flows and the six tools.
Every command is a function of its words that gives an exit code.
"""

from __future__ import annotations

import os
import sys

from ch_contract import documents, places, problems, tool
from ch_contract.problems import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from clip_harness.adapters.clipboard import Clipboard
    from clip_harness.flows.trigger import Captured, Flow
    from clip_harness.runners import Runner

# A payload has at most 32,000 characters; what is larger than this is not even read.
SOURCE_LIMIT = 4 * 1024 * 1024

USAGE = """\
usage: clip-harness [--runner NAME]
       clip-harness [--runner NAME] COMMAND [OPTION ...]

Run the payload on the clipboard and put its result block there.

commands:
  run        run a payload from the clipboard, standard input, a file or the command line
  sessions   list the sessions and what became of their last run
  cancel     stop a running command
  rerun      run a payload again; it is judged again
  candidate  list, show, review, decide, apply or cancel what waits for a decision
  undo       put back the files that were applied last
  receipt    show what happened: one run, the last lines, a summary, a check of the ledger
  trust      let a project's settings file count as your own
  version    show the version

Without a command the clipboard is read, run and replaced by the result: bind a hotkey to it.
`clip` is the same program. `clip-harness COMMAND --help` tells more.

options:
  --runner NAME  in-process (the default) or spawn: each tool as a process of its own
  --help         show this text
  --version      show the version

exit codes: 0 done, 1 failed or refused, 2 denied, 3 waits for a review, 64 called wrongly,
65 nothing to run, 74 file, system or clipboard error, 75 busy, 130 interrupted or cancelled
"""

RUN_USAGE = """\
usage: clip-harness run (--clipboard | --stdin | --file FILE | --command TEXT)
                        [--session ID] [--backend local] [--no-copy]

Run one payload and put its result block on the clipboard and on standard output.

options:
  --clipboard     read the payload from the clipboard
  --stdin         read it from standard input
  --file FILE     read it from a file
  --command TEXT  run TEXT itself as the command
  --session ID    bind the run to a session, unless the payload names one
  --backend NAME  where the command runs; this version has the backend local alone
  --no-copy       leave the clipboard alone
  --runner NAME   in-process (the default) or spawn
"""

SESSIONS_USAGE = """\
usage: clip-harness sessions [--json]

List the sessions and what became of their last run.

options:
  --json  one JSON object a line
"""

CANCEL_USAGE = """\
usage: clip-harness cancel [ID]

Stop a running command: the last one, or that of the session or run ID.
"""

RERUN_USAGE = """\
usage: clip-harness rerun [ID] [--no-copy]

Run a payload again, in the folder it was first run in: the last one, or that of the session or
run ID. It gets a new run id and is judged again; no earlier decision counts.

options:
  --no-copy      leave the clipboard alone
  --runner NAME  in-process (the default) or spawn
"""

CANDIDATE_USAGE = """\
usage: clip-harness candidate list [--all] [--json]
       clip-harness candidate show ID [--json]
       clip-harness candidate review ID [--decision WORD] [--reason TEXT] [--file PATH ...]
                                        [--edited FOLDER] [--no-copy]
       clip-harness candidate decide ID --decision WORD [--reason TEXT] [--file PATH ...]
                                        [--edited FOLDER]
       clip-harness candidate apply ID [--no-copy]
       clip-harness candidate cancel ID [--reason TEXT]

Look at file changes and held commands that wait for a decision, and decide.

list    what waits, the oldest first
show    one of them whole: its files with their diffs, or its command
review  ask at the terminal, or take --decision; then act on it: files are applied, an accepted
        command runs, and the result block is copied
decide  record the decision and act later, with: clip-harness candidate apply ID
apply   act on the decision that was recorded; everything is judged again first
cancel  withdraw it: nothing is applied or run

options:
  --decision WORD  for files accept, accept-edited or reject; for a command accept,
                   accept-unsandboxed or reject
  --reason TEXT    why; it is told to the chat
  --file PATH      accept this file alone; give it again for more
  --edited FOLDER  the edited files of accept-edited, under their own paths
  --all            list those that were decided too
  --json           one JSON object a line
  --no-copy        leave the clipboard alone
  --runner NAME    in-process (the default) or spawn
"""

UNDO_USAGE = """\
usage: clip-harness undo [ID]

Put back the files that were applied last, or those of the candidate ID, as they were before.

A file that was changed since is never written over: then nothing is put back, and it is named.
"""

RECEIPT_USAGE = """\
usage: clip-harness receipt [--run ID | --tail N | --summary] [--json]
       clip-harness receipt verify [--json]
       clip-harness receipt --copy [--run ID]

Show what happened. Without an option: the last ten lines of the ledger.

options:
  --run ID   every line of one run
  --tail N   the last N lines
  --summary  how many runs, and what became of them
  --copy     put the result block of the last run, or of the run ID, on the clipboard again
  --json     the lines as JSON
"""

TRUST_USAGE = """\
usage: clip-harness trust [--show | --revoke] [--cwd FOLDER]

Show what the project's settings files say, and let them count as your own.

Until then they can only tighten. Both .clip-harness/settings.json at the project's root and the one
in the folder itself are shown and trusted, each as it is now: changed, it has to be trusted again.
What was trusted before stays trusted, so a branch you come back to needs no second look.

options:
  --show         change nothing; tell whether they are trusted, and what waits for it
  --revoke       trust none of these folders' settings files any more, in whatever version
  --cwd FOLDER   the folder meant; this one when absent
  --runner NAME  in-process (the default) or spawn
"""

VERSION_USAGE = """\
usage: clip-harness version

Show the version.
"""


class Call:
    """One call of the program: its streams, and the runner it was asked to use."""

    __slots__ = ("runner_name", "streams")

    def __init__(self, streams: tool.Streams, runner_name: str | None) -> None:
        self.streams = streams
        self.runner_name = runner_name

    def runner(self) -> Runner:
        """The runner asked for. Raises Problem("usage") for an unknown name."""
        from clip_harness import runners

        return runners.choose(self.runner_name, self.streams.stderr)

    def flow(self, clipboard: Clipboard | None) -> Flow:
        """A flow over this call's runner. Raises Problem("settings") when state has no place."""
        from clip_harness.flows.trigger import Flow

        return Flow(self.runner(), clipboard, places.state_dir(), self.streams)

    def run(self, captured: Captured, clipboard: Clipboard | None) -> int:
        """Take a captured text through a flow; gives the exit code."""
        from clip_harness.flows.trigger import refuse

        try:
            flow = self.flow(clipboard)
        except Problem as problem:
            if problem.kind != "settings":
                raise
            return refuse(self.runner(), clipboard, captured, problem, self.streams)
        return flow.run(captured)


def _working_folder() -> tuple[str, Problem | None]:
    """The working folder; `/` and the reason when nothing can be run in it."""
    try:
        folder = os.getcwd()
        folder.encode("utf-8")
    except FileNotFoundError:
        return "/", Problem("system", "the working folder is gone", "change to another one")
    except UnicodeEncodeError:
        return "/", Problem(
            "system", "the name of the working folder is not UTF-8", "change to another one"
        )
    return folder, None


def _clipboard() -> Clipboard:
    """The clipboard in force. Raises Problem("system") when none can be had.

    Reads one key of the user's settings. A file that cannot be understood names none: the gate
    refuses the run for it, and the block that says so must find its way.
    """
    from ch_contract.settings_file import read_values
    from clip_harness.adapters.choice import choose

    try:
        name = (read_values(places.user_settings()) or {}).get("clipboard", "auto")
    except Problem:
        name = "auto"
    return choose(name if isinstance(name, str) else "auto", os.environ)


def _clipboard_if_any(call: Call, *, wanted: bool) -> Clipboard | None:
    """The clipboard for a result whose text came from elsewhere; it is a comfort there."""
    if not wanted:
        return None
    try:
        return _clipboard()
    except Problem as problem:
        call.streams.say(f"clip-harness: the result is not copied: {problem.message}")
        return None


def _flags(
    argv: list[str], known: dict[str, bool], call: Call, usage: str, most: int = 0
) -> tuple[tool.Flags, list[str]] | None:
    """Flags and words of a command; None when `--help` was asked for and answered."""
    common = {"--help": False, "--version": False, "--runner": True}
    flags, words = tool.parse_flags(argv, {**common, **known})
    if tool.information("clip-harness", flags, call.streams, usage):
        return None
    if len(words) > most:
        raise Problem("usage", f"unexpected word {words[most]!r}", "see --help")
    runner = tool.text_flag(flags, "--runner")
    if runner is not None:
        call.runner_name = runner
    return flags, words


def trigger(call: Call, session: str | None = None, *, copies: bool = True) -> int:
    """Run what is on the clipboard."""
    from clip_harness.flows import claims
    from clip_harness.flows.trigger import Captured

    clipboard = _clipboard()
    if not clipboard.can_read:
        raise Problem(
            "system",
            f"the clipboard {clipboard.name} can be written but not read",
            "feed the payload to: clip-harness run --stdin",
        )
    change = clipboard.change()
    raw, refused = _copied(clipboard)
    with claims.claim(clipboard.name, change, raw):
        # while this process was on its way to the claim, another one may have run this very change
        if change is not None:
            is_same = clipboard.change() == change
        else:
            is_same = _copied(clipboard)[0] == raw
        if not is_same:
            raise Problem(
                "busy", "the clipboard changed just now", "look at it, then press the key again"
            )
        cwd, nowhere = _working_folder()
        captured = Captured(raw, cwd, session, is_copied=True, problem=refused or nowhere)
        return call.run(captured, clipboard if copies else None)


def _copied(clipboard: Clipboard) -> tuple[bytes, Problem | None]:
    """What lies on the clipboard; b"" and the reason when that is no text."""
    try:
        return clipboard.read(), None
    except Problem as problem:
        if problem.kind == "system":
            raise
        return b"", problem


def run(argv: list[str], call: Call) -> int:
    """Run a payload from one of four sources."""
    known = {
        "--clipboard": False,
        "--stdin": False,
        "--file": True,
        "--command": True,
        "--session": True,
        "--backend": True,
        "--no-copy": False,
    }
    from clip_harness import sessions as registry

    parsed = _flags(argv, known, call, RUN_USAGE)
    if parsed is None:
        return problems.OK
    flags, _ = parsed
    given = [name for name in ("--clipboard", "--stdin", "--file", "--command") if name in flags]
    if len(given) != 1:
        raise Problem(
            "usage",
            "exactly one of --clipboard, --stdin, --file and --command is needed",
            "see clip-harness run --help",
        )
    session = tool.text_flag(flags, "--session")
    if session is not None and not registry.is_session(session):
        raise Problem(
            "usage",
            f"--session: {session!r} is no plain name",
            "use letters, digits, dot, hyphen and underscore, at most 100",
        )
    backend = tool.text_flag(flags, "--backend")
    if backend not in (None, "local"):
        raise Problem("system", f"there is no backend {backend!r} in this version", "use local")
    copies = "--no-copy" not in flags
    if given == ["--clipboard"]:
        return trigger(call, session, copies=copies)
    captured = _captured(call, flags, session)
    return call.run(captured, _clipboard_if_any(call, wanted=copies))


def _captured(call: Call, flags: tool.Flags, session: str | None) -> Captured:
    """The text of the source that `flags` name."""
    from ch_contract import files
    from clip_harness.flows.trigger import Captured

    command = tool.text_flag(flags, "--command")
    path = tool.text_flag(flags, "--file")
    if command is not None:
        raw = command.encode("utf-8", "surrogateescape")
    elif path is not None:
        found = files.read(path, SOURCE_LIMIT + 1, regular=False)
        if found is None:
            raise Problem("system", f"there is no file {path}", "check the path")
        raw = found
    else:
        raw = call.streams.stdin.read(SOURCE_LIMIT + 1)
    refused = None
    if len(raw) > SOURCE_LIMIT:
        refused = Problem(
            "malformed",
            f"the text is larger than {SOURCE_LIMIT:,} bytes",
            "a payload has at most 32,000 characters; send less at a time",
        )
        raw = b""
    cwd, nowhere = _working_folder()
    return Captured(raw, cwd, session, bare=command is not None, problem=refused or nowhere)


def sessions(argv: list[str], call: Call) -> int:
    """List the sessions."""
    from clip_harness import sessions as registry

    parsed = _flags(argv, {"--json": False}, call, SESSIONS_USAGE)
    if parsed is None:
        return problems.OK
    state = places.state_dir()
    running = {entry["run_id"] for entry in registry.open_runs(state)}
    for name in registry.names(state):
        try:
            record = registry.read(state, name)
        except Problem as problem:
            call.streams.say(f"clip-harness: {problem.message}")
            continue
        if record is None:
            continue
        if record["state"] == "running" and record["run_id"] not in running:
            record["state"] = "indeterminate"
        if "--json" in parsed[0]:
            call.streams.out(documents.encode(record).decode())
        else:
            command = record["command"].split("\n", 1)[0]
            call.streams.out(f"{name}  {record['run_id']}  {record['state']}  $ {command}\n")
    return problems.OK


def cancel(argv: list[str], call: Call) -> int:
    """Stop a running command."""
    from clip_harness import sessions as registry

    parsed = _flags(argv, {}, call, CANCEL_USAGE, most=1)
    if parsed is None:
        return problems.OK
    _, words = parsed
    stopped = registry.cancel(places.state_dir(), call.runner(), words[0] if words else None)
    call.streams.out(f"{stopped} was stopped\n")
    return problems.OK


def rerun(argv: list[str], call: Call) -> int:
    """Run a payload again."""
    parsed = _flags(argv, {"--no-copy": False}, call, RERUN_USAGE, most=1)
    if parsed is None:
        return problems.OK
    flags, words = parsed
    flow = call.flow(_clipboard_if_any(call, wanted="--no-copy" not in flags))
    captured, _ = flow.last_payload(words[0] if words else None)
    return flow.run(captured)


def candidate(argv: list[str], call: Call) -> int:
    """Look at what waits for a decision, and decide."""
    from clip_harness import candidates

    paths, rest = _repeated(argv, "--file")
    known = {
        "--decision": True, "--reason": True, "--edited": True, "--all": False, "--json": False,
        "--no-copy": False,
    }  # fmt: skip
    parsed = _flags(rest, known, call, CANDIDATE_USAGE, most=2)
    if parsed is None:
        return problems.OK
    flags, words = parsed
    action, name = [*words, None, None][:2]
    if action not in candidates.ACTIONS:
        raise Problem(
            "usage",
            "candidate: which action?" if action is None else f"unknown action {action!r}",
            f"it is one of: {', '.join(candidates.ACTIONS)}",
        )
    given = [*flags, *(["--file"] if paths else [])]
    wrong = [flag for flag in given if flag in {*known, "--file"} - set(candidates.FLAGS[action])]
    if wrong:
        raise Problem("usage", f"candidate {action} takes no {wrong[0]}", "see --help")
    asked = candidates.Asked(
        name=name,
        edited=tool.text_flag(flags, "--edited"),
        decision=tool.text_flag(flags, "--decision"),
        reason=tool.text_flag(flags, "--reason"),
        paths=paths,
        is_all="--all" in flags,
        as_json="--json" in flags,
    )
    if action == "list" and name is not None:
        raise Problem("usage", f"unexpected word {name!r}", "see --help")
    clipboard = None
    if action in ("review", "apply"):
        clipboard = _clipboard_if_any(call, wanted="--no-copy" not in flags)
    flow = call.flow(clipboard)
    # what was cut off is told before anybody looks at it
    flow.settle()
    return candidates.ACTIONS[action](asked, call.runner(), flow, call.streams)


def _repeated(argv: list[str], name: str) -> tuple[list[str], list[str]]:
    """Every value of the flag `name`, which may be given more than once, and the other words."""
    values, rest = [], []
    words = iter(argv)
    for word in words:
        flag, equals, value = word.partition("=")
        if flag != name:
            rest.append(word)
            continue
        given = value if equals else next(words, None)
        if given is None:
            raise Problem("usage", f"{name} needs a value", "see --help for the options")
        values.append(given)
    return values, rest


def undo(argv: list[str], call: Call) -> int:
    """Put back the files that were applied last."""
    parsed = _flags(argv, {}, call, UNDO_USAGE, most=1)
    if parsed is None:
        return problems.OK
    _, words = parsed
    record = call.flow(None).undo(words[0] if words else None)
    for entry in record["entries"]:
        word = {"NEW": "is back", "UPDATED": "is as before", "DELETED": "is gone again"}
        call.streams.out(f"{problems.visible(entry['path'])} {word[entry['outcome']]}\n")
    return problems.OK


def receipt(argv: list[str], call: Call) -> int:
    """Show what happened."""
    known = {
        "--run": True, "--tail": True, "--summary": False, "--copy": False, "--json": False
    }  # fmt: skip
    parsed = _flags(argv, known, call, RECEIPT_USAGE, most=1)
    if parsed is None:
        return problems.OK
    flags, words = parsed
    if words not in ([], ["verify"]):
        raise Problem("usage", f"unexpected word {words[0]!r}", "see clip-harness receipt --help")
    asked = [name for name in ("--run", "--tail", "--summary") if name in flags]
    if len(asked) + len(words) > 1:
        raise Problem("usage", f"{' and '.join([*words, *asked])} do not go together")
    run_id = tool.text_flag(flags, "--run")
    if "--copy" in flags:
        if words or asked not in ([], ["--run"]) or "--json" in flags:
            raise Problem("usage", "--copy goes with --run alone")
        return _copy_block(call, run_id)
    if words:
        asked_for = ["verify"]
    elif run_id is not None:
        asked_for = ["show", "--run", run_id]
    elif "--summary" in flags:
        asked_for = ["summary"]
    else:
        asked_for = ["tail", tool.text_flag(flags, "--tail") or "10"]
    json = ["--json"] if "--json" in flags else []
    done = call.runner().run("ch-receipt", [*asked_for, *json], b"")
    documents.put(call.streams.stdout, done.output)
    return done.code


def _copy_block(call: Call, run_id: str | None) -> int:
    """Put the result block of a run on the clipboard again."""
    from ch_contract import files
    from clip_harness.flows import delivery
    from clip_harness.flows.trigger import is_run_id

    state = places.state_dir()
    if run_id is None:
        run_id = call.flow(None).last_run()
    block = None
    if run_id is not None and is_run_id(run_id):
        block = files.read(delivery.kept_block(state, run_id))
    if run_id is None or block is None:
        what = "there is no run yet" if run_id is None else f"no result block is kept for {run_id}"
        raise Problem("refused", what, "list the last runs with: clip-harness receipt")
    clipboard = _clipboard()
    delivery.remember(block, call.streams, state)
    clipboard.write(block, delivery.kept_block(state, run_id))
    call.streams.out(f"the result block of {run_id} is on the clipboard\n")
    return problems.OK


def trust(argv: list[str], call: Call) -> int:
    """Trust the settings files of a project."""
    from clip_harness import trust as command

    parsed = _flags(argv, {"--show": False, "--revoke": False, "--cwd": True}, call, TRUST_USAGE)
    if parsed is None:
        return problems.OK
    flags, _ = parsed
    if "--show" in flags and "--revoke" in flags:
        raise Problem("usage", "--show and --revoke do not go together")
    cwd = _folder(tool.text_flag(flags, "--cwd"))
    if "--show" in flags:
        command.show(cwd, call.streams)
    elif "--revoke" in flags:
        command.revoke(cwd, call.runner(), call.streams)
    else:
        command.grant(cwd, call.runner(), call.streams)
    return problems.OK


def _folder(named: str | None) -> str:
    """The folder that was named, absolute, or the working folder.

    Raises Problem("system") when it is none.
    """
    if named is None:
        folder, nowhere = _working_folder()
        if nowhere is not None:
            raise nowhere
        return folder
    if not os.path.isdir(named):
        raise Problem("system", f"there is no folder {named}", "check the path")
    return os.path.abspath(named)


def version(argv: list[str], call: Call) -> int:
    """Show the version."""
    from ch_contract import __version__

    if _flags(argv, {}, call, VERSION_USAGE) is not None:
        call.streams.out(f"clip-harness {__version__}\n")
    return problems.OK


COMMANDS: dict[str, Callable[[list[str], Call], int]] = {
    "run": run,
    "sessions": sessions,
    "cancel": cancel,
    "rerun": rerun,
    "candidate": candidate,
    "undo": undo,
    "receipt": receipt,
    "trust": trust,
    "version": version,
}


def main(argv: list[str], streams: tool.Streams) -> int:
    """Run the program with these arguments and streams; gives the exit code."""

    def body() -> int:
        # options before the command belong to the program, those behind it to the command
        first = next((i for i, word in enumerate(argv) if word in COMMANDS), len(argv))
        call = Call(streams, None)
        parsed = _flags(argv[:first], {}, call, USAGE)
        if parsed is None:
            return problems.OK
        if first == len(argv):
            return trigger(call)
        return COMMANDS[argv[first]](argv[first + 1 :], call)

    return tool.guarded("clip-harness", masked(argv), streams, body)


def masked(argv: list[str]) -> list[str]:
    """`argv` for a bug report: the names of commands and options, not what was given to them."""
    return [word if word in COMMANDS or word.startswith("--") else "…" for word in argv]


def main_process() -> None:
    """The installed command."""
    sys.exit(main(sys.argv[1:], tool.own_streams()))
