"""Paths as text: where a word points, and whether a pattern may mean it.

Pure: nothing is looked up on a disk, so a link is the path it is written as. Decides what a
word's path is for each folder the command may stand in, whether a glob and a pattern can name the
same file, and what lies in a temporary folder. Names are compared without their case and in one
Unicode form, because some disks do not tell them apart.
"""

from __future__ import annotations

import posixpath
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .words import Word


class Facts:
    """What a judge may know of the place a command would run in.

    cwd, home, project  absolute folders; project is None where there is none
    temporary           the system's temporary folders
    surface             folders of the harness itself: configuration and state
    real                where a path leads with the links on the disk followed
    exists              whether something has that path
    """

    __slots__ = ("cwd", "exists", "home", "project", "real", "surface", "temporary")

    def __init__(
        self,
        cwd: str,
        project: str | None,
        home: str,
        temporary: tuple[str, ...] = ("/tmp", "/var/tmp"),  # noqa: S108  known by name, not used
        surface: tuple[str, ...] = (),
        *,
        real: Callable[[str], str] = posixpath.normpath,
        exists: Callable[[str], bool] = lambda _path: False,
    ) -> None:
        self.real = real
        self.exists = exists
        self.cwd = cwd
        self.project = project
        self.home = home
        self.temporary = temporary
        self.surface = surface

    def without_temporary(self) -> Facts:
        """The same where no folder counts as temporary."""
        return Facts(
            self.cwd, self.project, self.home, (), self.surface,
            real=self.real, exists=self.exists,
        )  # fmt: skip


def folded(path: str) -> str:
    """The form in which names are compared."""
    if not path.isascii():
        import unicodedata

        path = unicodedata.normalize("NFC", path)
    return path.casefold()


def expanded(text: str, home: str) -> str | None:
    """`text` with a leading `~` replaced; None for another user's home."""
    if not text.startswith("~"):
        return text
    name, slash, rest = text[1:].partition("/")
    if name in ("", posixpath.basename(home)):
        return home + slash + rest
    return None


def absolute(text: str, bases: tuple[str, ...]) -> list[str]:
    """`text` as a normal absolute path, for each folder it may start from."""
    return list(dict.fromkeys(posixpath.normpath(posixpath.join(base, text)) for base in bases))


class Target:
    """A path a command changes. `paths` are what it may be, as globs (a backslash quotes a sign).

    Empty `paths` mean that nobody can tell. `raw` are the same paths with their `..` left in:
    the system follows a link before it goes up.
    """

    __slots__ = ("paths", "raw", "word")

    def __init__(self, word: Word, paths: list[str], raw: tuple[str, ...] = ()) -> None:
        self.word = word
        self.paths = paths
        self.raw = raw

    @property
    def known(self) -> bool:
        """Whether anything is known of where it points."""
        return bool(self.paths)


def target(word: Word, where: Facts, bases: tuple[str, ...], strip: str = "") -> Target:
    """What `word` (without the text `strip` at its start, such as `of=`) points to."""
    pattern = word.pattern
    if pattern is None:
        start = _known_start(word, where)
        if start is None:
            return Target(word, [])
        pattern = start
    else:
        pattern = pattern[len(strip) :]
        if word.tilde or (pattern.startswith("~") and strip):
            place = expanded(pattern, where.home)
            if place is None:
                return Target(word, [])
            pattern = place
    if not pattern:
        return Target(word, [])
    raw = tuple(dict.fromkeys(posixpath.join(base, pattern) for base in bases))
    return Target(word, absolute(pattern, bases), raw)


def landings(found: Target, facts: Facts, *, follow: bool) -> list[str]:
    """Where the paths of `found` lead on the disk, as globs.

    With `follow` a link at the end is followed too; without, it is itself what is meant. What
    stands before the first sign of a glob is looked up, the rest is taken as it is written.
    """
    out = []
    for path in found.raw:
        steps = path.split("/")
        fixed = next((n for n, step in enumerate(steps) if not _ACTIVE.isdisjoint(step)), None)
        if fixed is None and follow:
            out.append(facts.real(path))
            continue
        if fixed is None:
            fixed = len(steps) - 1
            if steps[-1] in ("", ".", ".."):
                out.append(facts.real(path))
                continue
        before = "/".join(steps[:fixed]) or "/"
        out.append(posixpath.normpath(posixpath.join(facts.real(before), *steps[fixed:])))
    return list(dict.fromkeys(out))


# What the shell puts in the place of these is known.
_STANDING = frozenset({"$PWD", "${PWD}", "$(pwd)", "`pwd`"})
_TOP = frozenset({"$(git rev-parse --show-toplevel)", "`git rev-parse --show-toplevel`"})


def _known_start(word: Word, facts: Facts) -> str | None:
    """The path of `$HOME/…`, `$PWD/…` and their kin as a glob; None for any other expansion."""
    from .words import Word

    if not word.parts:
        return None
    first = word.parts[0].text
    rest = Word(word.parts[1:], word.start, word.end, word.source).pattern
    if rest is None or (rest and not rest.startswith("/")):
        return None
    if first in _STANDING:
        return f".{rest}"
    if first in _TOP and facts.project is not None and is_within(facts.cwd, facts.project):
        return facts.project + rest
    if first in ("$HOME", "${HOME}"):
        return facts.home + rest
    return None


def is_known(word: Word) -> bool:
    """Whether the text alone tells the path, apart from the home and the folder it stands in."""
    if word.pattern is not None:
        return True
    nowhere = Facts("/", "/", "/")
    return _known_start(word, nowhere) is not None


def is_within(path: str, folder: str) -> bool:
    """Whether the absolute `path` is `folder` or lies in it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def is_temporary(found: Target, where: Facts) -> bool:
    """Whether every path it may be lies in a temporary folder and outside the project."""
    own = [where.cwd] if where.project is None else [where.cwd, where.project]
    return found.known and all(
        any(is_within(path, folder) and path != folder for folder in where.temporary)
        and not any(is_within(path, place) or is_within(place, path) for place in own)
        and not re.search(r"[*?\[{].*/|\\", path)
        for written in found.paths
        for path in (written, where.real(written))
    )


class Protected:
    """One entry of `protected_paths`.

    An entry without a slash names a file or folder of that name anywhere in the project and, as
    any relative entry, what lies there in the working folder and at the project's root. An entry
    with a slash is one place: absolute, in the home (`~/…`), or relative to the project's root.
    """

    __slots__ = ("anywhere", "entry", "places")

    def __init__(self, entry: str, where: Facts) -> None:
        self.entry = entry
        text = entry.rstrip("/") or "/"
        place = expanded(text, where.home) or text
        roots = tuple(dict.fromkeys((where.project or where.cwd, where.cwd)))
        self.anywhere = folded(text) if "/" not in text and not text.startswith("~") else None
        self.places = [folded(path) for path in absolute(place, roots)]

    def meets(self, found: Target, *, parents: bool) -> str:
        """Whether changing `found` changes this or something in it: YES, MAYBE or NO.

        With `parents`, changing a folder around it counts too. It is MAYBE where a glob of the
        entry meets a glob of the command, since neither names a file.
        """
        answer = NO
        for path in found.paths:
            own = folded(path)
            for place in self.places:
                answer = max(answer, _overlap(place, own, parents=parents))
            if self.anywhere is not None:
                for step in own.split("/"):
                    if step and _same(self.anywhere, step):
                        answer = max(answer, _certainty(self.anywhere, step))
        return answer


# In rising order, as texts too.
NO, MAYBE, YES = "0 no", "1 maybe", "2 yes"


def _certainty(entry: str, step: str) -> str:
    return MAYBE if _is_glob(entry) and _is_glob(step) else YES


def _is_glob(text: str) -> bool:
    return "*" in text or "?" in text or "[" in text


def _same(entry: str, step: str) -> bool:
    """Whether a step of an entry and a step of the command's path can be one name."""
    if entry.startswith(".") and step[:1] in ("*", "?", "["):
        # a shell's glob leaves names with a leading dot alone
        return False
    return may_match(entry, step)


def _overlap(entry: str, path: str, *, parents: bool) -> str:
    """Whether the absolute glob `path` is what `entry` names, lies in it, or is around it."""
    left = [step for step in entry.split("/") if step]
    right = [step for step in path.split("/") if step]
    if len(right) < len(left) and not parents and "**" not in left:
        return NO
    answer = YES
    for one, other in zip(left, right, strict=False):
        if one == "**":
            return answer
        if not _same(one, other):
            return NO
        answer = min(answer, _certainty(one, other))
    return answer


def may_match(left: str, right: str) -> bool:
    """Whether two globs can match one and the same name. Time: the product of their lengths."""
    if left == right:
        return True
    if _ACTIVE.isdisjoint(left):
        if _ACTIVE.isdisjoint(right):
            return False
        # a plain name fails most globs at their first sign
        if right[0] not in _ACTIVE and not left.startswith(right[0]):
            return False
    a, b = _signs(left), _signs(right)
    # row[j]: the signs so far of `a` and the first j signs of `b` can match the same text
    row = [True]
    for sign in b:
        row.append(row[-1] and sign == "*")
    for sign in a:
        previous = row
        row = [previous[0] and sign == "*"]
        for j, other in enumerate(b):
            if sign == "*" or other == "*":
                # a star takes nothing, or one more sign of the other side
                row.append(previous[j + 1] or row[j])
            else:
                row.append(previous[j] and ("?" in (sign, other) or sign == other))
    return row[-1]


_ACTIVE = frozenset("*?[\\")


def _signs(glob: str) -> list[str]:
    r"""The signs of a glob: `*`, `?` (also for a bracket), or a character; `\x` is x itself."""
    signs: list[str] = []
    position = 0
    while position < len(glob):
        character = glob[position]
        if character == "\\" and position + 1 < len(glob):
            position += 1
            signs.append("\\" + glob[position] if glob[position] in "*?" else glob[position])
        elif character == "[":
            end = glob.find("]", position + 2)
            if end > 0:
                position = end
                signs.append("?")
            else:
                signs.append("[")
        else:
            signs.append(character)
        position += 1
    return signs
