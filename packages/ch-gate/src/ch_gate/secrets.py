"""Floor: secrets that a command would read.

Decides which paths look like keys, credentials or `.env` files, and which commands would show or
copy what is in them. Naming such a file (`ls`, `test -f`, `git check-ignore`) or searching for its
name is no read. A cloud machine's metadata service counts as a secret for programs that reach out.
"""

from __future__ import annotations

import re

from . import effects, rules
from .catalogue import is_a
from .commands import SUBSTITUTION
from .findings import Finding, met, shown
from .mutations import CHANGES, is_secret
from .options import scan
from .paths import may_match, target
from .words import QUOTED, TEXT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .commands import Command, Reading
    from .folders import Folders
    from .mutations import Effect
    from .paths import Facts
    from .words import Word

# They read what they are given, and show, copy, pack or send it.
_COPYING = frozenset(
    {"cp", "scp", "rsync", "install", "tar", "gtar", "bsdtar", "zip", "7z", "gzip", "bzip2", "xz",
     "zstd", "dd", "openssl", "gpg", "age", "curl", "wget", "http", "https", "xh", "nc", "ncat",
     "socat", "pandoc", "split", "csplit", "tee", "sponge", "look", "pr", "ul", "vis", "batcat",
     "pbcopy", "xclip", "xsel", "wl-copy", "mail", "mutt", "sendmail", "sops", "aws", "gcloud",
     "gsutil", "rclone", "s3cmd", "gist", "ed", "ex", "vi", "vim", "nvim", "view", "nano", "emacs",
     "ln", "busybox", "glow", "most", "uuencode", "cpio", "pax", "ar", "jo", "dasel", "miller",
     "mlr", "ruby", "perl", "php", "node", "comm", "zcat", "bzcat", "xzcat", "lesspipe", "hd",
     "shasum", "ccze", "hexyl", "vidir", "code", "open", "xdg-open"}
)  # fmt: skip
# They name what they are given and look no further, or change it without showing it.
_NAMING = frozenset({"source", ".", "printenv", "time", "wait", "trap", "if", "while"})
_GIT_SHOWING = frozenset(
    {"show", "cat-file", "diff", "blame", "annotate", "log", "grep", "difftool", "archive",
     "format-patch", "whatchanged", "stash"}
)  # fmt: skip
# A glob that has one of these in it may well mean a secret; `*` alone never does.
_TELLING = r"^\.|env|id_|rsa|ed25519|pem|p12|pfx|key|cred|netrc|pgpass|secret|token"
_EXAMPLES = (
    ".env", ".env.local", ".env.production", "id_rsa", "id_ed25519", "id_ecdsa", "server.pem",
    "key.pem", "cert.p12", "cert.pfx", ".netrc", ".pgpass", ".npmrc", ".pypirc",
    ".git-credentials", "credentials", "credentials.json",
)  # fmt: skip
_SYSTEM = frozenset({"/etc/shadow", "/etc/gshadow", "/etc/master.passwd"})


def found_in(
    reading: Reading, changes: list[Effect], folders: Folders, facts: Facts
) -> list[Finding]:
    """The findings of secret-access."""
    out = []
    # what a command writes it does not show
    written: dict[int, set[str]] = {}
    for effect in changes:
        if effect.what == CHANGES:
            texts = [word.pattern or word.source for word, _strip in effect.targets or ()]
            written.setdefault(id(effect.command), set()).update(texts)
    for command in reading.commands:
        hit = _read(command, folders, facts, written.get(id(command), set()))
        if hit:
            out.append(
                met(
                    rules.SECRET_ACCESS, "deny", command,
                    detail=shown(hit, 80), note=f"it would read {shown(hit, 80)}", source="floor",
                )
            )  # fmt: skip
    return out


def _read(command: Command, folders: Folders, facts: Facts, written: set[str]) -> str:
    """The secret that the command would read; empty for none."""
    if command.program in ("gpg", "gpg2"):
        for word in command.words[1:]:
            if (word.value or "").startswith("--export-secret-"):
                return word.source
    for redirect in command.redirects:
        if redirect.op in ("<", "<>") and _is_secret(redirect.target, command, folders, facts):
            return redirect.target.source
    name = command.program
    if name is None or not command.words:
        return ""
    if is_a(name, "fetches"):
        for word in command.words[1:]:
            host = metadata_host(word.value if word.value is not None else word.prefix)
            if host:
                return host
    words = _operands(command, name)
    for word in words:
        if (word.pattern or word.source) not in written and _is_secret(
            word, command, folders, facts
        ):
            return word.source
    return ""


def _operands(command: Command, name: str) -> list[Word]:
    """The words of the command that name files it reads."""
    words = command.words[1:]
    if name in ("docker", "podman", "docker-compose") and any(
        word.value in ("config", "convert") for word in words
    ):
        # it prints what the files say
        return [word for word in words if not (word.value or "").startswith("-")]
    if name == "git":
        return _git(command)
    if name in ("find", "gfind", "bfs"):
        return _found(command)
    if name in _NAMING or is_a(name, "names") or command.inner:
        # what a wrapper hands on is judged where it arrives
        return []
    if not (is_a(name, "reads") or name in _COPYING or is_a(name, "searches")):
        return []
    if is_a(name, "searches"):
        scanned = scan(words, "efmABC")
        scripted = scanned.has("-e", "-f", "--regexp", "--file", "--expression")
        named = scanned.given("-f", "--file")
        # a name to look for among files is as good as the file
        named += scanned.given("--include", "-g", "--glob", "--iglob")
        found = scanned.operands if scripted else scanned.operands[1:]
        return [*found, *_made(named, command)]
    if name in ("ln", "cp", "install", "rsync", "scp") and len(words) > 1:
        # what lies at the end is written
        words = words[:-1]
    out = []
    for word in words:
        out.append(word)
        text = word.value
        if text is None or len(text) < 4:
            continue
        pieces = re.split(r"[=@<]", text)[1:]
        if text.startswith("-") and not text.startswith("--"):
            pieces.append(text[2:])
        out += _made(pieces, command)
    return out


def _made(texts: list[str] | list[str | None], command: Command) -> list[Word]:
    from .words import TEXT, Part, Word

    like = command.words[0]
    return [Word([Part(TEXT, text)], like.start, like.end, text) for text in texts if text]


def _git(command: Command) -> list[Word]:
    from .git import GLOBAL_LONG

    operands = scan(command.words[1:], "Cc", "", GLOBAL_LONG, leading=True).operands
    if not operands or operands[0].value not in _GIT_SHOWING:
        return []
    rest = operands[1:]
    if operands[0].value == "grep":
        rest = scan(rest, "efmABC").operands[1:]
    if operands[0].value == "log" and not any(
        (word.value or "").startswith(("-p", "--patch", "-u", "-S", "-G")) for word in rest
    ):
        return []
    if any(word.value in ("--stat", "--name-only", "--name-status") for word in rest):
        return []
    out = []
    for word in rest:
        if word.value is not None and ":" in word.value and not word.value.startswith("-"):
            out += _made([word.value.rpartition(":")[2]], command)
        else:
            out.append(word)
    return out


def _found(command: Command) -> list[Word]:
    """What a find command that starts a reader is told to look for."""
    readers = [
        inner
        for inner in command.inner
        if (is_a(inner.program, "reads") and not is_a(inner.program, "names"))
        or inner.program in _COPYING
    ]
    handed = SUBSTITUTION in command.contexts or any(
        feeder.program in ("xargs", "gxargs") for feeder in command.feeds
    )
    if not readers and not handed:
        return []
    words = command.words
    names = [
        words[position + 1].value
        for position, word in enumerate(words[:-1])
        if word.value in ("-name", "-iname", "-path", "-wholename")
    ]
    return _made(names, command)


def _is_secret(word: Word, command: Command, folders: Folders, facts: Facts) -> bool:
    if re.match(r"/proc/[^/]+/(?:environ|mem)$", word.source):
        return True
    text = word.pattern
    if text is None:
        return _tells(word)
    if not text:
        return False
    plain = text.replace("\\", "")
    if plain.startswith("-"):
        return False
    if _looks_secret(plain, glob=word.glob):
        return True
    bases = folders.at(command)
    if bases is None or bases == (facts.cwd,):
        return plain in _SYSTEM
    # `cd ~/.aws; cat config`
    home = facts.home.rstrip("/") + "/"
    for path in target(word, facts, bases).paths:
        if path in _SYSTEM:
            return True
        if path.startswith(home) and is_secret("~/" + path[len(home) :]):
            return True
    return False


# Stands for what only the run tells; no name has it.
_OPEN = "\x01"
_STARTS = {"$HOME": "~", "${HOME}": "~", "$PWD": ".", "${PWD}": ".", "$(pwd)": ".", "`pwd`": "."}


def _tells(word: Word) -> bool:
    """Whether what is known of a word says that it is a secret: `$HOME/.ssh/x`, `$d/.env`."""
    pieces = [
        part.text if part.kind in (TEXT, QUOTED) else _STARTS.get(part.text, _OPEN)
        for part in word.parts
    ]
    return is_secret("".join(pieces))


def doubtful(reading: Reading) -> list[Command]:
    """The commands that read what only the run names, in a text that names a secret elsewhere.

    `echo .env | xargs cat`, `f() { cat "$1"; }; f ~/.ssh/id_rsa`: which of the names it gets is not
    worked out, so a person has a look.
    """
    loose = [command for command in reading.commands if _is_loose(command)]
    # the text is taken apart only where such a command stands in it
    return loose if loose and any(map(is_secret, _tokens(reading.text))) else []


def _tokens(text: str) -> set[str]:
    """The pieces of a text that may be paths, however they are quoted."""
    return {token.lstrip("-") for token in re.split(r"[\s\"'`;|&()<>=,{}:$]+", text) if token}


def _is_loose(command: Command) -> bool:
    """Whether the command shows files whose names it gets at run time."""
    name = command.program
    if name is None or not (is_a(name, "reads") or name in _COPYING) or is_a(name, "names"):
        return False
    redirected = any(
        redirect.op in ("<", "<>") and redirect.target.pattern is None
        for redirect in command.redirects
    )
    starter = command.outer.program if command.outer is not None else None
    handed = command.appended or starter in ("find", "gfind", "bfs", "fd", "fdfind", "parallel")
    return handed or redirected or any(word.pattern is None for word in _operands(command, name))


def _looks_secret(path: str, *, glob: bool) -> bool:
    if is_secret(path):
        return True
    name = path.rpartition("/")[2]
    if not glob or not re.search(_TELLING, name.replace("[", "").replace("]", "")):
        return False
    if name.startswith(("*", "?")) and not name.endswith(("pem", "p12", "pfx", "key")):
        return False
    return any(may_match(name, example) for example in _EXAMPLES)


# The address of a metadata service, however the number is written.
_NUMERIC = (
    r"(?i)(?:^|[/@\s])(?:2852039166|0xa9fea9fe|0251\.0?376\.0?251\.0?376|0xa9\.0xfe\.0xa9\.0xfe"
    r"|\[?::ffff:(?:169\.254\.169\.254|a9fe:a9fe)\]?|\[?fd00:ec2::254\]?)(?:[/:\]\s]|$)"
)


def metadata_host(text: str) -> str:
    """The metadata service that `text` addresses; empty for none."""
    for host in effects.METADATA_HOSTS:
        if host in text.lower():
            return host
    hit = re.search(_NUMERIC, text)
    return hit.group(0).strip("/@: ") if hit else ""
