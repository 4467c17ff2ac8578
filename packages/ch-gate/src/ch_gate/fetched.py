"""Floor: a fetched text that is handed to something that runs it.

Decides whether a shell or an interpreter gets its program from a command that fetches: through a
pipe, a substitution, a here-string or a variable. A fetch into a file and a file that is run are
two steps, and pass.
"""

from __future__ import annotations

from . import rules
from .commands import PROCESS, SUBSTITUTION
from .findings import Finding, met, shown
from .paths import target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .commands import Command, Reading
    from .folders import Folders
    from .mutations import Effect
    from .paths import Facts
    from .words import Word

_FETCHERS = frozenset(
    {"curl", "wget", "wget2", "http", "https", "xh", "xhs", "httpie", "aria2c", "fetch", "lynx",
     "links", "elinks", "w3m", "nc", "ncat", "netcat", "socat", "ftp", "lwp-request", "GET", "ssh",
     "scp", "sftp", "gh", "aws", "gsutil", "gcloud", "az", "rclone", "hurl", "curlie", "lftp",
     "telnet", "dig", "axel", "gdown"}
)  # fmt: skip
# They make another text of the one they are given, which nobody sees before it runs.
_DECODERS = {
    "base64": ("-d", "-D", "--decode", "--dec"), "base32": ("-d", "--decode"),
    "basenc": ("-d", "--decode"), "xxd": ("-r",), "openssl": ("-d",), "gpg": ("-d", "--decrypt"),
    "gpg2": ("-d", "--decrypt"), "gzip": ("-d",), "bzip2": ("-d",), "xz": ("-d",),
    "zstd": ("-d",), "age": ("-d", "--decrypt"), "uudecode": ("",), "zcat": ("",),
    "gzcat": ("",), "bzcat": ("",), "xzcat": ("",), "zstdcat": ("",), "gunzip": ("",),
    "bunzip2": ("",), "unxz": ("",), "unzip": ("-p",), "rev": ("",), "tac": ("",), "tr": ("",),
    "iconv": ("",), "funzip": ("",),
}  # fmt: skip
# A fetch that asks only this is none.
_ASKING = frozenset({"--version", "-V", "--help", "-h"})


def found_in(reading: Reading) -> list[Finding]:
    """The findings of unprovable-execution."""
    fetchers = [command for command in reading.commands if _fetches(command)]
    if not fetchers:
        return []
    out = []
    for command in reading.commands:
        if not _runs(command):
            continue
        source = _source(command, fetchers, reading)
        if source is not None:
            verb = "makes" if source.program in _DECODERS else "fetches"
            said = f"what {shown(source.source, 60)} {verb}"
            out.append(
                met(
                    rules.UNPROVABLE_EXECUTION, "deny", command,
                    detail=said, note=f"it would run {said}", source="floor",
                )
            )  # fmt: skip
    return out


def _fetches(command: Command) -> bool:
    """Whether what the command prints comes from elsewhere, or is decoded."""
    decoding = _DECODERS.get(command.program or "")
    if decoding is not None:
        given = {word.value or "" for word in command.words[1:]}
        return any(
            not option
            or option in given
            or (
                len(option) == 2
                and any(v[:1] == "-" and v[1:2] != "-" and option[1] in v[1:] for v in given)
            )
            for option in decoding
        )
    if command.program not in _FETCHERS:
        return False
    values = [word.value for word in command.words[1:]]
    return not (values and all(value in _ASKING for value in values))


def _runs(command: Command) -> bool:
    """Whether the command runs a program text that nobody can read beforehand."""
    if command.unread and not _fetches(command):
        return True
    # `tee >(sh)`: what the shell reads is what tee is given
    return PROCESS in command.contexts and _is_bare_shell(command)


def _is_bare_shell(command: Command) -> bool:
    from .wrappers import SHELLS

    return command.program in SHELLS and all(
        (word.value or "").startswith("-") for word in command.words[1:]
    )


def _source(command: Command, fetchers: list[Command], reading: Reading) -> Command | None:
    """The fetcher whose output `command` may run; None when there is none."""
    chain = [command]
    while chain[-1].outer is not None:
        chain.append(chain[-1].outer)
    reached = _upstream(chain)
    names = {name for step in chain for word in step.words for name in word.names}
    # what names a variable in a here-string or document
    for step in chain:
        for redirect in (*step.redirects, *step.around):
            if redirect.body is not None:
                names.update(redirect.body.names)
    for fetcher in fetchers:
        if any(fetcher is step for step in reached):
            return fetcher
        for step in chain:
            inside = step.start <= fetcher.start and fetcher.end <= step.end
            nested = {SUBSTITUTION, PROCESS}.intersection(fetcher.contexts)
            if inside and nested and fetcher is not step:
                return fetcher
            if PROCESS in step.contexts and _is_bare_shell(step) and _feeds(fetcher, step, reading):
                return fetcher
        for holder in reading.commands:
            for item in holder.assignments:
                words = [item.value, *(item.elements or [])]
                if item.name in names and any(
                    word is not None and word.start <= fetcher.start and fetcher.end <= word.end
                    for word in words
                ):
                    return fetcher
    return None


def _upstream(commands: list[Command]) -> list[Command]:
    """Everything whose output may reach one of `commands` through pipes."""
    reached: list[Command] = []
    waiting = [feeder for command in commands for feeder in command.fed_by]
    while waiting:
        command = waiting.pop()
        if any(command is known for known in reached):
            continue
        reached.append(command)
        waiting += command.fed_by
        waiting += command.inner
        if command.outer is not None:
            waiting.append(command.outer)
    return reached


def _feeds(fetcher: Command, shell: Command, reading: Reading) -> bool:
    """Whether `shell` stands in a `>( )` of a command that `fetcher` writes to, or of itself."""
    for holder in reading.commands:
        if holder is shell or not (holder.start <= shell.start and shell.end <= holder.end):
            continue
        if holder is fetcher or any(fetcher is step for step in _upstream([holder])):
            return True
    return False


def written_and_run(
    reading: Reading, changes: list[Effect], folders: Folders, facts: Facts
) -> list[Command]:
    """The commands that run a file which the same text fetches, writes or copies."""
    written: set[str] = set()
    for effect in changes:
        bases = folders.at(effect.command) or (facts.cwd,)
        if effect.kind in ("Write", "Edit"):
            for word, strip in effect.targets or ():
                written.update(target(word, facts, bases, strip).paths)
    if not written:
        return []
    return [
        command
        for command in reading.commands
        for word in _run(command)
        if written.intersection(target(word, facts, folders.at(command) or (facts.cwd,)).paths)
    ]


def _run(command: Command) -> list[Word]:
    """The words of `command` that may name a program it runs."""
    from .wrappers import SHELLS, interpreter

    name = command.program or ""
    if "/" in (command.path or ""):
        return command.words[:1]
    if name in SHELLS or name in ("source", ".") or interpreter(name) is not None:
        redirect = command.input
        fed = [redirect.target] if redirect is not None and redirect.body is None else []
        return [*(word for word in command.words[1:] if (word.value or "-")[0] != "-"), *fed]
    return []
