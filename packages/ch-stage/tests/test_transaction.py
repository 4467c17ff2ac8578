"""An apply is whole or not at all, wherever it is killed and whatever the disk refuses."""

from __future__ import annotations

import errno
import io
import json
import os
import signal
import stat

import pytest

import faults
from ch_contract import documents, files
from ch_contract.tool import Streams
from ch_stage import candidate, decision, main
from ch_stage.staging import Staged

OLD = {
    "a.txt": (b"one\n", 0o640),
    "bin/tool": (b"#!/bin/sh\n", 0o755),
    "gone.txt": (b"delete me\r\n", 0o644),
    "keep.txt": (b"same\n", 0o644),
}
CHANGES = {
    "a.txt": ("UPDATE", b"one\ntwo\n"),
    "bin/tool": ("UPDATE", b"#!/bin/sh\necho \xff\n"),
    "gone.txt": ("DELETE", None),
    "new.txt": ("NEW", b""),
    "deep/er/still.txt": ("NEW", b"fresh" * 1000),
}
NEW = {
    "a.txt": (b"one\ntwo\n", 0o640),
    "bin/tool": (b"#!/bin/sh\necho \xff\n", 0o755),
    "keep.txt": (b"same\n", 0o644),
    "new.txt": (b"", 0o644),
    "deep/er/still.txt": (b"fresh" * 1000, 0o644),
}
RUN = "r-0123456789abcdef"
NAME = f"{RUN}-files"


def build(project, tree):
    for path, (data, mode) in tree.items():
        file = project / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        file.chmod(mode)


def tree(project):
    """Every file below `project` with bytes and mode, and every folder."""
    found = {}
    for path in sorted(project.rglob("*")):
        name = str(path.relative_to(project))
        if path.is_dir():
            found[name] = "folder"
        else:
            found[name] = (path.read_bytes(), stat.S_IMODE(path.stat().st_mode))
    return found


def with_folders(plain):
    folders = {
        str(parent): "folder"
        for path in plain
        for parent in list(__import__("pathlib").PurePath(path).parents)[:-1]
    }
    return {**plain, **folders}


def staged(project):
    items = []
    for path, (operation, proposed) in CHANGES.items():
        base = OLD[path][0] if path in OLD else None
        items.append(
            Staged(
                path=path,
                abs_path=str(project / path),
                declared_op="auto",
                actual_op=operation,
                mismatch=False,
                base=base,
                base_mode=OLD[path][1] if path in OLD else None,
                candidate=proposed,
                lines_added=1,
                lines_removed=0,
                diff=b"--- a\n+++ b\n",
            )
        )
    return items


@pytest.fixture
def change(project, state, run_document):
    """A function that builds the project and a decided candidate for it anew."""
    os.umask(0o022)

    def make(draft=None):
        build(project, OLD)
        files.private_folder(str(state))
        document = run_document()
        document.update(run_id=RUN, cwd=str(project), project=str(project))
        document["payload"].update(kind="changes", command=None)
        document["verdict"] = {
            "decision": "ask",
            "dialect": "bash",
            "settings": {"digest": "0" * 64, "left_out": []},
            "parts": [],
        }
        document["payload"]["changes"] = [
            {"path": path, "kind": "file", "op": "auto", "content": "x"} for path in CHANGES
        ]
        manifest = candidate.stage_changes(
            str(state), document, staged(project), protected=[], shell_sandbox="optional"
        )
        if draft is not None:
            decision.record(str(state), manifest, draft, "file")
        return manifest

    return make


def clean(project, state):
    """Empty both folders."""
    for folder in (project, state):
        for path in sorted(folder.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()


def call(*argv, stdin=b""):
    """What ch-stage prints, complains and gives, in this process."""
    streams = Streams(io.BytesIO(stdin), io.BytesIO(), io.BytesIO())
    code = main(list(argv), streams)
    return code, streams.stdout.getvalue().decode(), streams.stderr.getvalue().decode()


def recovered():
    """The outcomes that `recover` tells; then it has nothing more to tell."""
    code, out, said = call("recover")
    assert (code, said) == (0, "")
    found = [json.loads(line) for line in out.splitlines()]
    for record in found:
        assert call("settled", record["candidate_id"])[0] == 0
    assert call("recover") == (0, "", "")
    return found


ACCEPT = {"decision": "accept"}
BEFORE = with_folders(OLD)
AFTER = with_folders(NEW)


def test_apply_then_undo_gives_the_old_tree(change, project, state):
    change(ACCEPT)
    code, out, said = call("apply", NAME)
    assert (code, said) == (0, "")
    assert {entry["path"]: entry["outcome"] for entry in json.loads(out)["entries"]} == {
        "a.txt": "UPDATED",
        "bin/tool": "UPDATED",
        "gone.txt": "DELETED",
        "new.txt": "NEW",
        "deep/er/still.txt": "NEW",
    }
    assert tree(project) == AFTER
    assert call("undo")[0] == 0
    assert tree(project) == BEFORE
    assert not list((state / "applying").glob("*"))
    at = candidate.outcome(str(state), NAME, "undo")["at"]
    said = f"ch-stage: the candidate {NAME} was undone already, at {at}\n"
    assert call("undo", NAME) == (1, "", said)


@pytest.mark.heavy
@pytest.mark.parametrize("act", ["apply", "undo"])
@pytest.mark.parametrize("moment", ["before", "after"])
def test_killed_at_any_change_the_tree_is_old_or_new_and_the_record_says_which(
    change, project, state, act, moment
):
    """SIGKILL before and after every single call that changes the disk."""
    ends = set()
    number = 0
    while True:
        number += 1
        clean(project, state)
        change(ACCEPT)
        if act == "undo":
            assert call("apply", NAME)[0] == 0
        ended, code, _ = faults.forked(lambda: call(act, NAME)[0], number, moment)
        if not ended:
            assert code == 0
            break
        assert ended == signal.SIGKILL
        told = recovered()
        kept = candidate.outcome(str(state), NAME, act)
        is_done = kept is not None and kept["state"] == "done"
        old, new = (BEFORE, AFTER) if act == "apply" else (AFTER, BEFORE)
        assert tree(project) == (new if is_done else old), (number, told)
        for record in told:
            assert record == kept, number
        ends.add((bool(told), kept["state"] if kept else None))
        # what was put back can be done again; what is done cannot
        assert call(act, NAME)[0] == (1 if is_done else 0)
        assert tree(project) == new
    assert number > 35
    assert ends >= {(False, None), (True, "rolled-back"), (True, "done")}


@pytest.mark.heavy
@pytest.mark.parametrize("moment", ["before", "after"])
def test_killed_while_recovering_it_recovers_the_next_time(change, project, state, moment):
    total = None
    for first in range(10, 60, 7):
        number = 0
        while True:
            number += 1
            clean(project, state)
            change(ACCEPT)
            ended, _, count = faults.forked(lambda: call("apply", NAME)[0], first, "after")
            if not ended:
                total = count
                break
            ended, code, _ = faults.forked(lambda: call("recover")[0], number, moment)
            told = recovered()
            assert len(told) <= 1
            kept = candidate.outcome(str(state), NAME)
            is_done = kept is not None and kept["state"] == "done"
            assert tree(project) == (AFTER if is_done else BEFORE), (first, number)
            if not ended:
                assert code == 0
                break
        if total is not None:
            break


@pytest.mark.heavy
@pytest.mark.parametrize(
    "fault",
    [(errno.ENOSPC, faults.GROWING), (errno.EROFS, faults.NAMING), (errno.EACCES, faults.NAMING)],
    ids=["disk-full", "read-only", "no-right"],
)
@pytest.mark.parametrize("act", ["apply", "undo"])
def test_a_disk_that_refuses_at_any_change_leaves_old_or_new(change, project, state, act, fault):
    """From the chosen call on every further one of its kind fails; then the disk is well again."""
    number = 0
    while True:
        number += 1
        clean(project, state)
        change(ACCEPT)
        if act == "undo":
            assert call("apply", NAME)[0] == 0
        ended, code, count = faults.forked(lambda: call(act, NAME)[0], number, fault)
        assert ended == 0
        recovered()
        kept = candidate.outcome(str(state), NAME, act)
        is_done = kept is not None and kept["state"] == "done"
        old, new = (BEFORE, AFTER) if act == "apply" else (AFTER, BEFORE)
        assert tree(project) == (new if is_done else old), number
        assert code == (0 if is_done else 74), number
        if count < number:
            assert is_done
            break


def test_an_apply_that_fails_puts_everything_back_at_once(change, project, state):
    """Without a second start, wherever the disk is full."""
    change(ACCEPT)
    full = (errno.ENOSPC, frozenset({"write"}))
    for number in range(1, 30):
        ended, code, _ = faults.forked(lambda: call("apply", NAME)[0], number, full)
        if code == 0:
            break
        assert (ended, code, tree(project)) == (0, 74, BEFORE), number
    assert number > 15


@pytest.mark.parametrize("path", ["a.txt", "gone.txt", "bin/tool"])
def test_a_file_changed_since_is_never_written_over(change, project, state, path):
    change(ACCEPT)
    (project / path).write_bytes(b"mine\n")
    before = tree(project)
    said = (
        f"ch-stage: {path}: changed since it was staged — nothing was changed; read the file"
        " as it is now, and send the change again\n"
    )
    assert call("apply", NAME) == (1, "", said)
    assert tree(project) == before


def test_a_file_that_appeared_since_is_never_written_over(change, project, state):
    change(ACCEPT)
    (project / "new.txt").write_bytes(b"mine\n")
    before = tree(project)
    assert call("apply", NAME)[0] == 1
    assert tree(project) == before


def test_a_folder_that_became_a_link_is_not_followed(change, project, state, tmp_path):
    change(ACCEPT)
    (project / "bin").rename(tmp_path / "elsewhere")
    (project / "bin").symlink_to(tmp_path / "elsewhere")
    code, out, said = call("apply", NAME)
    assert (code, out) == (1, "")
    assert "bin/tool: a folder above it has become a link" in said
    assert (tmp_path / "elsewhere" / "tool").read_bytes() == OLD["bin/tool"][0]


def test_undo_refuses_a_file_changed_since_and_names_it(change, project, state):
    change(ACCEPT)
    assert call("apply", NAME)[0] == 0
    (project / "new.txt").write_bytes(b"mine\n")
    before = tree(project)
    code, out, said = call("undo", NAME)
    assert (code, out) == (1, "")
    assert said.startswith("ch-stage: new.txt: changed since it was applied")
    assert tree(project) == before


def test_only_the_accepted_files_are_applied(change, project, state):
    change({"decision": "accept", "accepted_files": ["a.txt", "new.txt"]})
    code, out, _ = call("apply", NAME)
    assert code == 0
    assert {e["path"]: e["outcome"] for e in json.loads(out)["entries"]} == {
        "a.txt": "UPDATED",
        "bin/tool": "REJECTED",
        "gone.txt": "REJECTED",
        "new.txt": "NEW",
        "deep/er/still.txt": "REJECTED",
    }
    assert tree(project) == with_folders({**OLD, "a.txt": NEW["a.txt"], "new.txt": NEW["new.txt"]})
    assert call("undo")[0] == 0
    assert tree(project) == BEFORE


def test_a_changed_mode_is_the_users_and_stays(change, project, state):
    change(ACCEPT)
    (project / "a.txt").chmod(0o600)
    assert call("apply", NAME)[0] == 0
    assert stat.S_IMODE((project / "a.txt").stat().st_mode) == 0o600


def test_extended_attributes_stay(change, project, state):
    change(ACCEPT)
    try:
        os.setxattr(project / "a.txt", "user.note", b"kept")
    except OSError:
        pytest.skip("this file system has no extended attributes")
    assert call("apply", NAME)[0] == 0
    assert os.getxattr(project / "a.txt", "user.note") == b"kept"
    assert call("undo")[0] == 0
    assert os.getxattr(project / "a.txt", "user.note") == b"kept"


@pytest.mark.heavy
def test_without_hard_links_it_is_whole_too(change, project, state, monkeypatch):
    """As on FAT, where a file has one name."""

    def no_links(*_args, **_kwargs):
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    number = 0
    while True:
        number += 1
        clean(project, state)
        change(ACCEPT)

        def body():
            real = os.link

            def link(path, name, **more):
                if str(name).startswith(str(project)):
                    no_links()
                return real(path, name, **more)

            os.link = link
            return call("apply", NAME)[0]

        ended, code, _ = faults.forked(body, number, "after")
        recovered()
        kept = candidate.outcome(str(state), NAME)
        is_done = kept is not None and kept["state"] == "done"
        assert tree(project) == (AFTER if is_done else BEFORE), number
        if not ended:
            assert code == 0
            break


@pytest.mark.heavy
def test_what_somebody_changed_after_the_crash_is_left_and_named(change, project, state):
    """Killed between two renames; then somebody edits a file that was placed already."""
    found = False
    for number in range(1, 80):
        clean(project, state)
        change(ACCEPT)
        ended, _, _ = faults.forked(lambda: call("apply", NAME)[0], number, "after")
        is_placed = (project / "a.txt").read_bytes() == NEW["a.txt"][0]
        outcome = candidate.outcome(str(state), NAME)
        if ended and is_placed and outcome is None:
            found = True
            (project / "a.txt").write_bytes(b"mine\n")
            (record,) = recovered()
            assert record["state"] == "rolled-back"
            assert record["note"] == "a.txt was changed by somebody else meanwhile and was left"
            assert tree(project) == {**BEFORE, "a.txt": (b"mine\n", 0o640)}
    assert found


def test_while_another_process_applies_recovery_waits_for_the_next_start(change, project, state):
    change(ACCEPT)
    faults.forked(lambda: call("apply", NAME)[0], 30, "after")
    assert list((state / "applying").glob("*.json"))
    with files.lock(str(state / "applying.lock")):
        assert call("recover") == (0, "", "")
    assert len(recovered()) == 1


def test_kept_bytes_that_were_changed_are_not_applied(change, project, state):
    change(ACCEPT)
    kept = state / "candidates" / NAME / "candidates" / "1"
    kept.write_bytes(b"other\n")
    code, out, said = call("apply", NAME)
    assert (code, out) == (74, "")
    assert "the bytes kept for a.txt are no longer those that were shown" in said
    assert tree(project) == BEFORE


@pytest.mark.parametrize("draft", [None, {"decision": "reject"}, {"decision": "cancelled"}])
def test_without_an_acceptance_nothing_is_applied(change, project, state, draft):
    change(draft)
    code, out, said = call("apply", NAME)
    assert (code, out) == (1, "")
    assert said
    assert tree(project) == BEFORE


def test_an_unreadable_intent_is_named_and_stops_nothing_else(change, project, state):
    change(ACCEPT)
    faults.forked(lambda: call("apply", NAME)[0], 30, "after")
    assert tree(project) != BEFORE
    broken = state / "applying" / "r-00000000-files.apply.json"
    broken.write_bytes(b"{")
    code, out, said = call("recover")
    told = [json.loads(line) for line in out.splitlines()]
    assert [code, *(record.get("state") for record in told)] == [65, None, "rolled-back"]
    assert (told[0]["candidate_id"], told[0]["cwd"]) == ("r-00000000-files", None)
    assert str(broken) in told[0]["problem"]
    assert str(broken) in said
    assert tree(project) == BEFORE


@pytest.mark.heavy
def test_a_second_name_that_somebody_removed_is_made_good_from_the_snapshot(change, project, state):
    """Killed at each change; then the strange names beside the files are cleaned away."""
    seen = set()
    for number in range(1, 80):
        clean(project, state)
        change(ACCEPT)
        ended, _, _ = faults.forked(lambda: call("apply", NAME)[0], number, "after")
        for path in project.rglob(".ch-*"):
            path.unlink()
        told = recovered()
        kept = candidate.outcome(str(state), NAME)
        is_done = kept is not None and kept["state"] == "done"
        placed = {name: data for name, data in tree(project).items() if data != "folder"}
        assert placed == (NEW if is_done else OLD), (number, told)
        seen.add(bool(told))
        if not ended:
            break
    assert seen == {True, False}


def test_a_write_into_the_file_while_it_is_replaced_is_not_lost(change, project, state):
    """Through the old file, which an open editor still holds: the second name tells."""
    change(ACCEPT)
    real = os.rename

    def rename(source, target):
        if str(target).endswith("a.txt"):
            with open(target, "ab") as file:
                file.write(b"mine\n")
        real(source, target)

    def body():
        os.rename = rename
        return call("apply", NAME)[0]

    assert faults.forked(body, 10_000, "after")[:2] == (0, 1)
    assert tree(project) == {**BEFORE, "a.txt": (b"one\nmine\n", 0o640)}


def test_a_recovery_that_was_told_leaves_a_new_intent_alone(change, project, state):
    change(ACCEPT)
    faults.forked(lambda: call("apply", NAME)[0], 30, "after")
    assert call("recover")[0] == 0
    (intent,) = (state / "applying").glob("*.json")
    other = json.loads(intent.read_text())
    intent.write_text(json.dumps({**other, "pid": 1}))
    assert call("settled", NAME)[0] == 0
    assert intent.exists()


@pytest.mark.heavy
def test_two_at_once_one_applies_and_the_other_is_told_who(change, project, state):
    """Two processes decide and apply the same candidate at the same moment, 200 times."""
    winners = set()
    for _ in range(200):
        clean(project, state)
        change()
        start, go = os.pipe()
        children = []
        for word in ("one", "two"):
            reader, writer = os.pipe()
            pid = os.fork()
            if pid == 0:
                os.close(go)
                os.read(start, 1)
                draft = documents.encode({"decision": "accept", "reason": word})
                first = call("decide", NAME, "--decision-file", "-", stdin=draft)
                second = call("apply", NAME)
                os.write(writer, json.dumps([first, second]).encode())
                os._exit(0)
            os.close(writer)
            children.append((pid, reader))
        os.close(start)
        os.close(go)
        told = []
        for pid, reader in children:
            data = b""
            while part := os.read(reader, 65536):
                data += part
            os.close(reader)
            assert os.waitpid(pid, 0)[1] == 0
            told.append(json.loads(data))
        decided = sorted(first[0] for first, _second in told)
        applied = sorted(second[0] for _first, second in told)
        assert (decided, applied) == ([0, 1], [0, 1])
        loser = next(first for first, _ in told if first[0])
        kept = json.loads((state / "candidates" / NAME / "decision.json").read_bytes())
        assert f"was decided already: accept, at {kept['at']} by file" in loser[2]
        assert f"(process {kept['pid']})" in loser[2]
        late = next(second for _, second in told if second[0])
        assert f"the candidate {NAME} was applied already" in late[2]
        assert tree(project) == AFTER
        winners.add(kept["reason"])
    assert winners


def test_a_file_where_a_folder_is_needed_is_told_and_leaves_nothing_behind(change, project, state):
    change(ACCEPT)
    (project / "deep").write_text("a file\n")
    before = tree(project)
    code, out, said = call("apply", NAME)
    assert (code, out) == (1, "")
    assert "deep/er/still.txt: a folder above it has become a file" in said
    assert tree(project) == before
    assert not list((state / "applying").glob("*.json"))


def test_a_read_only_project_is_named_and_the_state_folder_is_not(change, project, state):
    change(ACCEPT)
    real = os.open

    def refuse(path, flags, *more, **named):
        if flags & os.O_CREAT and str(path).startswith(str(project)):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)
        return real(path, flags, *more, **named)

    def body():
        os.open = refuse
        code, _, said = call("apply", NAME)
        (state / "said").write_text(said)
        return code

    assert faults.forked(body, 10_000, "after")[:2] == (0, 74)
    said = (state / "said").read_text()
    assert "make that disk writable, then try again" in said
    assert "state_dir" not in said
    assert tree(project) == BEFORE
    assert not list((state / "applying").glob("*.json"))
