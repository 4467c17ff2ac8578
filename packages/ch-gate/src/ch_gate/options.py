"""Options of a command line, read by a table of which of them take a value.

Decides where options end and operands begin; leaves what they mean to the tables.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .words import Word


class Scanned:
    """Options as (name, value) pairs, the operands, and whether all of it could be read.

    A short option is named `-x`, a long one `--name` (`-name` where the table says so). The value
    is None for an option without one. `unknown` is the first word whose value is not known where
    an option could stand. `dashed` is how many operands stood before `--`, None without one.
    """

    __slots__ = ("dashed", "operands", "options", "unknown")

    def __init__(self) -> None:
        self.options: list[tuple[str, str | None]] = []
        self.operands: list[Word] = []
        self.unknown: Word | None = None
        self.dashed: int | None = None

    def has(self, *names: str) -> bool:
        """Whether one of the options stands there; a long one also when it is abbreviated."""
        for given, _value in self.options:
            for name in names:
                if given == name:
                    return True
                if len(given) > 4 and given.startswith("--") and name.startswith(given):
                    return True
        return False

    def given(self, *names: str) -> list[str | None]:
        """The values of these options, abbreviated or not; None for one that is not known."""
        return [
            value
            for given, value in self.options
            if given in names
            or (
                len(given) > 2
                and given.startswith("--")
                and any(name.startswith(given) for name in names)
            )
        ]

    def may_have(self, *names: str) -> bool:
        """Whether one of the options may stand there, however short it is abbreviated."""
        return bool(self.given(*names))

    def values(self, *names: str) -> list[str]:
        """The values given to these options, where they are known."""
        return [value for given, value in self.options if given in names and value is not None]


def scan(
    words: list[Word],
    valued: str = "",
    attached: str = "",
    long_valued: frozenset[str] = frozenset(),
    *,
    leading: bool = False,
) -> Scanned:
    """Read `words` (without the program's name).

    valued       short options whose value is the rest of the word or, where that is empty, the
                 next word
    attached     short options whose value is the rest of the word, even an empty one
    long_valued  long options without their dashes whose value may be the next word; with
                 `leading`, abbreviated ones too, since the value would be taken for a program
    leading      options end at the first operand, as for a program that starts another
    """
    found = Scanned()
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        text = word.value
        if text is None:
            text = word.prefix
            if not text.startswith("-"):
                if word.may_split and not text:
                    found.unknown = found.unknown or word
                found.operands.append(word)
                if leading:
                    break
                continue
            # `--file=$x`: the name is known; `-$x` is not
            if "=" not in text and len(text) < 2:
                found.unknown = found.unknown or word
        if text == "--":
            found.dashed = len(found.operands)
            found.operands += words[position:]
            return found
        if not text.startswith("-") or text == "-":
            found.operands.append(word)
            if leading:
                break
            continue
        if text.startswith("--"):
            name, equals, value = text.partition("=")
            if equals:
                found.options.append((name, value))
            elif position < len(words) and (
                name[2:] in long_valued
                or (leading and any(known.startswith(name[2:]) for known in long_valued))
            ):
                found.options.append((name, words[position].value))
                position += 1
            else:
                found.options.append((name, None))
            continue
        position += _cluster(text, words[position:], valued, attached, found)
    found.operands += words[position:]
    return found


def _cluster(text: str, following: list[Word], valued: str, attached: str, found: Scanned) -> int:
    """Read `-abc`; gives how many of the following words it took."""
    for index in range(1, len(text)):
        letter = text[index]
        rest = text[index + 1 :]
        if letter in attached:
            found.options.append((f"-{letter}", rest))
            return 0
        if letter in valued:
            if rest:
                found.options.append((f"-{letter}", rest))
                return 0
            if following:
                found.options.append((f"-{letter}", following[0].value))
                return 1
            found.options.append((f"-{letter}", None))
            return 0
        found.options.append((f"-{letter}", None))
    return 0
