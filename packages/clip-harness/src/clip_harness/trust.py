"""The command `trust`: a project's settings put before the person, and their yes recorded.

What a file may say is decided by ch_contract.settings, what is trusted is kept by
ch_contract.trust, and ch-receipt has the ledger. The line of a change comes first: nothing is ever
trusted that no line tells of. What was shown is what is trusted, whatever happens to the file.
"""

from __future__ import annotations

import functools
import json
import os

from ch_contract import places, problems, settings, settings_file, trust
from ch_contract.problems import Problem, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ch_contract.settings import ProjectFile
    from ch_contract.tool import Streams
    from clip_harness.runners import Runner


def show(cwd: str, streams: Streams) -> None:
    """Print whether each settings file that counts in `cwd` is trusted, and what waits for that.

    Raises Problem("refused") when there is none, Problem("settings") for one that cannot be read.
    """
    for file, told in _described(cwd):
        word = "trusted" if file.is_trusted else "not trusted"
        streams.out(f"{visible(file.path)}: {word}\n{told}")


def grant(cwd: str, runner: Runner, streams: Streams) -> None:
    """Show the settings files that count in `cwd`, and trust each as it is.

    Raises Problem as `show` does, before anything is recorded, and as `ch_contract.trust.add` does.
    """
    state = places.state_dir()
    for file, told in list(_described(cwd)):
        # on the screen first: who has not seen it has not trusted it
        streams.out(f"{visible(file.path)}\n{told}")
        note = f"trusted its settings file, sha256 {file.sha256}"
        record = functools.partial(_record, runner, file.folder, note)
        is_new = trust.add(state, file.folder, file.sha256, record)
        streams.out(
            "  trusted from now on, as it is; changed, it has to be trusted again\n"
            if is_new
            else "  trusted already\n"
        )


def revoke(cwd: str, runner: Runner, streams: Streams) -> None:
    """Trust no settings file of the folders that count in `cwd` any more, in whatever version.

    No file need be there. Raises Problem as `ch_contract.trust.revoke` does.
    """
    state = places.state_dir()
    project = places.project_root(cwd)
    folders = dict.fromkeys(os.path.realpath(f) for f in (project, cwd) if f is not None)
    for folder in folders:
        note = "trusts no settings file of it any more"
        count = trust.revoke(state, folder, functools.partial(_record, runner, folder, note))
        versions = f"{count} version{'' if count == 1 else 's'}"
        told = f"no longer trusted ({versions})" if count else "nothing was trusted"
        streams.out(f"{visible(folder)}: {told}\n")


def _record(runner: Runner, folder: str, note: str) -> None:
    """Put a change into the ledger. Raises Problem when it cannot be, in ch-receipt's words."""
    done = runner.run("ch-receipt", ["config", "--cwd", folder, "--note", note], b"")
    if done.code != problems.OK:
        raise done.failure("ch-receipt")


def _described(cwd: str) -> list[tuple[ProjectFile, str]]:
    """The settings files that count in `cwd`, each with lines that tell what its keys do."""
    found = settings.of_project(cwd, places.project_root(cwd))
    if not found:
        raise Problem(
            "refused",
            f"no settings file of a project counts in {cwd}",
            "one would be .clip-harness/settings.json there or at the project's root",
        )
    values = settings.of_user(settings_file.read_file(places.user_settings()) or {})
    described = []
    for file in found:
        values, reasons = settings.lay_over(values, file)
        described.append((file, "".join(f"  {visible(line)}\n" for line in _keys(file, reasons))))
    return described


def _keys(file: ProjectFile, reasons: settings.Reasons) -> list[str]:
    """What each key of `file` does; those that wait for trust first."""
    waiting, counting, idle = [], [], []
    for key, value in file.values.items():
        why = reasons.get(key)
        # in whole, whatever it is worth today: whoever trusts a file must have seen all of it
        said = f"{key} = {json.dumps(value, ensure_ascii=False)}"
        if key.startswith("$"):
            continue
        if why is None:
            counting.append(f"counts: {said}")
        elif why == "untrusted":
            waiting.append(f"waits for trust: {said}")
        else:
            idle.append(f"without effect: {said} ({settings.WHY[why]})")
    hook = settings.gate_hook(file.values)
    if hook is not None:
        when = "nothing runs here" if file.is_trusted else "once trusted, nothing runs here"
        idle.append(f"{hook}: this version runs no hooks; {when} until it is taken out")
    return [*waiting, *counting, *idle]
