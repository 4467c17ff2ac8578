"""The commands of ch-stage: the pipe step, and what is done with a candidate by its id.

What touches candidates is imported only when there is one: a command the gate allows passes
through a process that knows nothing of files.
"""

from __future__ import annotations

import contextlib
import os
import sys

from ch_contract import documents, files, places, problems, tool
from ch_contract.problems import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ch_contract.messages import CandidateManifest, Run

NAME = "ch-stage"
USAGE = """\
usage: ch-stage [--decision-file FILE] [--exit-code] < run document > run document
       ch-stage list
       ch-stage show ID
       ch-stage decide ID --decision-file FILE [--by WHO] [--edited FOLDER]
       ch-stage apply ID
       ch-stage undo [ID] [--hold]
       ch-stage recover
       ch-stage settled ID

Keep what needs a decision as a candidate, and apply the file changes that were accepted.

Reads a run document that ch-gate has judged. File changes and held commands become candidates,
written before anyone is asked; `candidates` and `decisions` are added. Accepted changes are
applied, all or none, and `applied` is added. A held command waits until the files of its payload
are in place. Called again, it goes on with the candidates it made before.

subcommands, which print JSON:
  list       every candidate, a line each: where it stands, its manifest, its decision
  show       one candidate, and the run document it goes on with
  decide     record a decision; each candidate has one, the same one again changes nothing
  apply      apply the accepted changes of a candidate
  undo       put back what the candidate, or the one applied last, changed
  recover    bring what was cut off to its end: a line for each apply and undo, with `problem`
             for one that could not be
  settled    forget that recovery or that undo: it has been told

options:
  --decision-file FILE  the decision: {"decision": …, "reason": …, "accepted_files": […]}; in the
                        pipe it is for the changes, or for the command of a payload without any;
                        {"changes": {…}, "command": {…}} decides on both; `decide` reads - as
                        standard input
  --by WHO              where the decision came from: terminal, editor or file (file)
  --edited FOLDER       edited files for accept-edited, named 1, 2, … by their place
  --hold                keep the undo known until `settled`
  --exit-code           exit with the document's answer: 0 nothing in the way, 1 denied, rejected
                        or not applied, 3 waits for a decision
  --help                show this text
  --version             show the version
"""

UNTOUCHED = frozenset({"goal", "control", "ignored", "malformed"})
STANDARD = {"--help": False, "--version": False}
# A decision is a few words; no file that somebody names by mistake is read whole.
DECISION_BYTES = 1 << 20


def stage(document: Run, drafts: dict[str, dict[str, Any]] | None = None) -> None:
    """Add `candidates` and `decisions` to a judged document, and `applied` once files changed.

    `drafts` holds a decision by the kind of candidate it is for: "changes", "command". Raises
    Problem when changes cannot be staged or applied, or a decision does not fit.
    """
    is_plain = document["verdict"]["decision"] == "allow" and not document["payload"]["changes"]
    if is_plain and not drafts:
        document["candidates"] = []
        document["decisions"] = []
        return
    from . import step

    step.stage(document, drafts if drafts is not None else {})


def _is_foreign(document: Run) -> bool:
    if document["payload"]["kind"] in UNTOUCHED:
        return True
    return document["verdict"]["decision"] == "deny"


def _pipe_step(argv: list[str], streams: tool.Streams) -> int:
    known = {"--exit-code": False, "--decision-file": True, **STANDARD}
    # called wrongly is told before a document is read: it is no problem of the run
    path = tool.text_flag(tool.parse_flags(argv, known)[0], "--decision-file")

    def work(document: Run, _flags: tool.Flags) -> None:
        stage(document, _drafts(path, document) if path is not None else {})

    return tool.pipe(
        NAME,
        argv,
        streams,
        work,
        usage=USAGE,
        reads="gated",
        writes="staged",
        flags={"--decision-file": True},
        foreign=_is_foreign,
    )


def _drafts(path: str, document: Run) -> dict[str, dict[str, Any]]:
    """The decisions in the file `path`, by the kind of candidate they are for."""
    from . import decision

    data = _decision_bytes(path)
    value = documents.parse_json(data, path)
    if isinstance(value, dict) and value and set(value) <= {"changes", "command"}:
        return {
            kind: decision.parse(documents.encode(draft), f"{path}: {kind}")
            for kind, draft in value.items()
        }
    kind = "changes" if document["payload"]["changes"] else "command"
    return {kind: decision.parse(data, path)}


def _decision_bytes(path: str) -> bytes:
    data = files.read(path, DECISION_BYTES, regular=False)
    if data is None:
        raise Problem("system", f"cannot read {path}: there is no such file")
    return data


def _list(argv: list[str], streams: tool.Streams) -> int:
    if _words(argv, streams, {}, 0) is None:
        return problems.OK
    from . import candidate

    state = places.state_dir()
    code = problems.OK
    for name in candidate.names(state):
        try:
            line = _standing(state, candidate.load(state, name))
        except Problem as problem:
            if problem.kind == "refused":
                # it went while the list was made
                continue
            streams.say(f"{NAME}: {problems.sentence(problem.section(NAME))}")
            code = problem.code
            continue
        documents.put(streams.stdout, documents.encode(line))
    return code


def _show(argv: list[str], streams: tool.Streams) -> int:
    manifest = _manifest(argv, streams, {})
    if manifest is not None:
        state = places.state_dir()
        line = _standing(state, manifest[0])
        line["document"] = _document(state, manifest[0])
        line["others"] = _others(state, manifest[0])
        line["diffs"] = _diffs(state, manifest[0])
        documents.put(streams.stdout, documents.encode(line))
    return problems.OK


def _diffs(state: str, manifest: CandidateManifest) -> dict[str, str]:
    """The diffs of the files whose diff was not kept, as with 0.3.0, by path."""
    from . import candidate
    from .diff import diffs

    def kept(name: str | None) -> bytes | None:
        return None if name is None else candidate.contents(state, manifest, name)

    changes = [
        (entry["path"], kept(entry["snapshot_file"]), kept(entry["candidate_file"]))
        for entry in manifest["entries"]
        if entry["diff_file"] is None
    ]
    return {
        path: diff.decode("utf-8", "backslashreplace")
        for (path, _, _), (diff, _, _) in zip(changes, diffs(changes), strict=True)
    }


def _others(state: str, manifest: CandidateManifest) -> list[dict[str, Any]]:
    """The other candidates that wait and would change a file of this one: id and paths (R068)."""
    from . import candidate, decision

    own = {entry["abs_path"] for entry in manifest["entries"]}
    found = []
    for name in candidate.names(state) if own else ():
        if name == manifest["candidate_id"]:
            continue
        with contextlib.suppress(Problem):
            # a damaged one is told by `list`
            other = candidate.load(state, name)
            paths = [e["abs_path"] for e in other["entries"] if e["abs_path"] in own]
            if paths and decision.find(state, other) is None:
                found.append({"candidate_id": name, "paths": paths})
    return found


def _document(state: str, manifest: CandidateManifest) -> Run:
    """The run document that a candidate goes on with. Raises Problem("system") when it is gone."""
    from . import candidate, legacy

    document = candidate.document_of(state, manifest)
    if document is not None:
        return document
    if legacy.is_of_030(manifest):
        return legacy.document(manifest, places.project_root(manifest["cwd"]))
    raise Problem(
        "system",
        f"the document of {manifest['candidate_id']} is gone, so the candidate is no longer whole",
        "nothing was changed; copy the payload again",
    )


def _standing(state: str, manifest: CandidateManifest) -> dict[str, Any]:
    """Where a candidate stands, as `list` and `show` print it."""
    from . import candidate, decision

    name = manifest["candidate_id"]
    decided = decision.find(state, manifest)
    return {
        "candidate_id": name,
        "status": candidate.status(manifest, decided),
        "dir": places.candidate_dir(state, name),
        "manifest": manifest,
        "decision": decided,
        "applied": candidate.outcome(state, name),
        "undone": candidate.outcome(state, name, "undo"),
    }


def _decide(argv: list[str], streams: tool.Streams) -> int:
    known = {"--decision-file": True, "--by": True, "--edited": True}
    found = _manifest(argv, streams, known)
    if found is None:
        return problems.OK
    from ch_contract import settings

    from . import decision

    manifest, flags = found
    path = tool.text_flag(flags, "--decision-file")
    if path is None:
        raise Problem("usage", "--decision-file is missing", "see ch-stage --help")
    by = tool.text_flag(flags, "--by") or "file"
    if by not in ("terminal", "editor", "file"):
        raise Problem("usage", f"--by is terminal, editor or file, got {by!r}")
    data = streams.stdin.read(DECISION_BYTES) if path == "-" else _decision_bytes(path)
    draft = decision.parse(data, "standard input" if path == "-" else path)
    folder = tool.text_flag(flags, "--edited")
    edited = _edited(folder, manifest) if folder is not None else {}
    state = places.state_dir()
    values = settings.load(manifest["cwd"], manifest["project"])
    is_strict = values["shell_sandbox"] == "strict"
    record = decision.record(state, manifest, draft, by, edited, strict_now=is_strict)
    documents.put(streams.stdout, documents.encode(record))
    return problems.OK


def _edited(folder: str, manifest: CandidateManifest) -> dict[str, bytes]:
    """The files of `folder` whose bytes differ from those that were proposed."""
    from ch_contract.quiet_hashlib import hexdigest

    found = {}
    for number, entry in enumerate(manifest["entries"], 1):
        data = files.read(os.path.join(folder, str(number)), follow=False)
        if data is not None and hexdigest(data) != entry["candidate_sha256"]:
            if entry["actual_op"] == "DELETE":
                raise Problem(
                    "refused", f"{entry['path']} is deleted, so there is nothing to edit in it"
                )
            found[entry["path"]] = data
    return found


def _apply(argv: list[str], streams: tool.Streams) -> int:
    found = _manifest(argv, streams, {})
    if found is None:
        return problems.OK
    from . import apply, decision
    from .identity import CHANGES

    manifest, _ = found
    state = places.state_dir()
    decided = decision.find(state, manifest)
    name = manifest["candidate_id"]
    if manifest["kind"] != CHANGES:
        raise Problem(
            "refused",
            f"the candidate {name} is a command, and ch-stage runs none",
            f"run it with: clip-harness candidate apply {name}",
        )
    if decided is None:
        raise Problem(
            "refused",
            f"the candidate {name} has no decision yet",
            f"decide with: clip-harness candidate review {name}",
        )
    applied = apply.apply(state, manifest, decided)
    documents.put(streams.stdout, documents.encode(applied))
    return problems.OK


def _undo(argv: list[str], streams: tool.Streams) -> int:
    given = _words(argv, streams, {"--hold": False}, 1)
    if given is None:
        return problems.OK
    from . import apply, candidate

    flags, words = given
    state = places.state_dir()
    manifest = _by_name(words[0]) if words else apply.last_applied(state)
    record = apply.undo(state, manifest, hold=bool(flags.get("--hold")))
    documents.put(streams.stdout, documents.encode(record))
    candidate.sweep(state)
    return problems.OK


def _recover(argv: list[str], streams: tool.Streams) -> int:
    if _words(argv, streams, {}, 0) is None:
        return problems.OK
    from . import apply

    code = problems.OK
    state = places.state_dir()
    for name, found in apply.recover(state):
        if isinstance(found, Problem):
            streams.say(f"{NAME}: {problems.sentence(found.section(NAME))}")
            code = found.code
            line = {"candidate_id": name, "cwd": _cwd(state, name), "problem": found.message}
            documents.put(streams.stdout, documents.encode(line))
        else:
            documents.put(streams.stdout, documents.encode(found))
    return code


def _cwd(state: str, name: str) -> str | None:
    """The folder that a candidate is of; None where nobody can tell."""
    from . import candidate
    from .identity import is_id

    try:
        manifest = candidate.find(state, name) if is_id(name) else None
    except Problem:
        return None
    return None if manifest is None else manifest["cwd"]


def _settled(argv: list[str], streams: tool.Streams) -> int:
    given = _words(argv, streams, {}, 1)
    if given is None:
        return problems.OK
    from . import apply
    from .identity import check_id

    if not given[1]:
        raise Problem("usage", "which candidate?", "name it: ch-stage settled ID")
    apply.settled(places.state_dir(), check_id(given[1][0]))
    return problems.OK


def _manifest(
    argv: list[str], streams: tool.Streams, known: dict[str, bool]
) -> tuple[CandidateManifest, tool.Flags] | None:
    """The candidate that a subcommand names, and its flags; None when help was asked for."""
    given = _words(argv, streams, known, 1)
    if given is None:
        return None
    flags, words = given
    if not words:
        raise Problem("usage", "which candidate?", "name it by its id; ch-stage list shows them")
    return _by_name(words[0]), flags


def _by_name(name: str) -> CandidateManifest:
    """The candidate of this id; a run id alone means its files, or else its command."""
    from . import candidate
    from .identity import CHANGES, COMMAND, candidate_id, check_id

    state = places.state_dir()
    check_id(name)
    if candidate.find(state, name) is None:
        for kind in (CHANGES, COMMAND):
            full = candidate_id(name, kind)
            if "-" not in name.removeprefix("r-") and candidate.find(state, full) is not None:
                return candidate.load(state, full)
    return candidate.load(state, name)


def _words(
    argv: list[str], streams: tool.Streams, known: dict[str, bool], most: int
) -> tuple[tool.Flags, list[str]] | None:
    return tool.subcommand(NAME, argv, streams, known, most=most, usage=USAGE)


SUBCOMMANDS: dict[str, Callable[[list[str], tool.Streams], int]] = {
    "list": _list,
    "show": _show,
    "decide": _decide,
    "apply": _apply,
    "undo": _undo,
    "recover": _recover,
    "settled": _settled,
}


def main(argv: list[str], streams: tool.Streams) -> int:
    """Run the tool with these arguments and streams; gives the exit code."""

    def body() -> int:
        if argv and not argv[0].startswith("-"):
            step = SUBCOMMANDS.get(argv[0])
            if step is None:
                raise Problem("usage", f"unknown subcommand {argv[0]!r}", "see --help")
            return step(argv[1:], streams)
        return _pipe_step(argv, streams)

    return tool.guarded(NAME, argv, streams, body)


def main_process() -> None:
    """The installed command."""
    sys.exit(main(sys.argv[1:], tool.own_streams()))
