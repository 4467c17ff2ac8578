"""Characters in a command that are not what they look like.

Decides which characters make a command's text untrustworthy. Some hide what runs from whoever
reads it: those are denied. Others are the usual damage of copying through a chat or a word
processor: those are held, and the text as it was probably meant is offered, never put in place
silently (R256).
"""

from __future__ import annotations

import re

from ch_contract.unseen import INVISIBLE, JOINERS, TAGS, TURNING

# What makes a terminal or a reader show another text than the one that runs.
HIDING = f"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f{TURNING}]|\r(?!\n)|[{TAGS}]|[\ud800-\udfff]"
# Damage of copying, each with what was probably meant.
QUOTES = {"\u2018": "'", "\u2019": "'", "\u201a": "'", "\u201b": "'", "\u201c": '"',
          "\u201d": '"', "\u201e": '"', "\u201f": '"', "\u2032": "'", "\u2033": '"',
          "\u00b4": "'", "\uff07": "'", "\uff02": '"'}  # fmt: skip
DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"
BLANKS = "\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
DAMAGE = (
    f"(?P<quote>[{''.join(QUOTES)}])|(?P<dash>(?<![^\\s=\"'(])[{DASHES}]+(?=\\S))"
    f"|(?P<blank>[{BLANKS}])|(?P<invisible>[{INVISIBLE}]|(?:(?<=[\x00-\x7f])|^)[{JOINERS}])"
    r"|(?P<entity>&(?:amp|lt|gt|quot|apos|nbsp|#39|#34|#x27|#x22);)"
    r"|(?P<continuation>\\[ \t]+(?=\n))"
)
ENTITIES = {"&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&apos;": "'", "&nbsp;": " ",
            "&#39;": "'", "&#34;": '"', "&#x27;": "'", "&#x22;": '"'}  # fmt: skip

NAMES = {
    0x00: "NUL", 0x08: "backspace", 0x0D: "a lone carriage return", 0x1B: "escape",
    0x7F: "delete", 0xA0: "no-break space", 0xAD: "soft hyphen", 0x200B: "zero-width space",
    0x200C: "zero-width non-joiner", 0x200D: "zero-width joiner", 0x2013: "en dash",
    0x2014: "em dash", 0x2018: "curly quote", 0x2019: "curly quote", 0x201C: "curly quote",
    0x201D: "curly quote", 0x202E: "right-to-left override", 0x2212: "minus sign",
    0xFEFF: "byte order mark", 0x202F: "narrow no-break space",
}  # fmt: skip


class Oddity:
    """One suspicious place: its span in characters, its name for a person, what was meant.

    `hides` says that it is denied; `meant` is None where nothing can be proposed.
    """

    __slots__ = ("end", "hides", "meant", "name", "start")

    def __init__(self, start: int, end: int, name: str, meant: str | None, *, hides: bool) -> None:
        self.start = start
        self.end = end
        self.name = name
        self.meant = meant
        self.hides = hides


def name_of(character: str) -> str:
    """`U+00A0 (no-break space)`."""
    code = ord(character)
    name = NAMES.get(code)
    if name is None and code >= 0x20 and not 0x7F <= code < 0xA0:
        import unicodedata

        name = unicodedata.name(character, "").lower()
    return f"U+{code:04X}" + (f" ({name})" if name else "")


def oddities(text: str, data: list[tuple[int, int]] | None = None) -> list[Oddity]:
    """The suspicious places of `text`, in order.

    `data` are the spans that are known to be data: in them typographic quotes, dashes and
    entities are what somebody wrote, and only what hides or cannot be seen counts.
    """
    if _is_plain(text):
        return []
    found = [
        Oddity(match.start(), match.end(), name_of(match.group(0)[0]), None, hides=True)
        for match in re.finditer(HIDING, text)
    ]
    for match in re.finditer(DAMAGE, text):
        kind = match.lastgroup or ""
        piece = match.group(0)
        inside = any(start <= match.start() < end for start, end in data or ())
        if inside and kind in ("quote", "dash", "entity", "continuation"):
            continue
        if kind == "entity":
            name, meant = f"the HTML entity {piece}", ENTITIES[piece]
        elif kind == "continuation":
            name, meant = "blanks after a backslash at the end of a line", "\\"
        elif kind == "quote":
            name, meant = name_of(piece), QUOTES[piece]
        elif kind == "dash":
            name = name_of(piece[0])
            # one long dash is what two hyphens became before a word
            long = len(piece) > 1 or re.match(r"\w{2}", text[match.end() :]) is not None
            meant = "--" if long and piece[0] != "\u2010" and not _short(text, match.end()) else "-"
        else:
            name, meant = name_of(piece), " " if kind == "blank" else ""
        found.append(Oddity(match.start(), match.end(), name, meant, hides=False))
    found.sort(key=lambda oddity: oddity.start)
    return found


def _is_plain(text: str) -> bool:
    """Whether a plain look shows that there is nothing to find, as in nearly every command."""
    if not text.isascii() or not text.replace("\n", "").replace("\t", "").isprintable():
        return False
    entity = "&" in text and ";" in text
    return not entity and "\\ " not in text and "\\\t" not in text


def _short(text: str, position: int) -> bool:
    """Whether what follows a dash reads as bundled short options rather than a word."""
    word = re.match(r"[\w-]*", text[position:])
    return word is not None and len(word.group(0)) <= 3


def mended(text: str, found: list[Oddity]) -> str | None:
    """`text` as it was probably meant; None where one of the places has no proposal."""
    out = []
    position = 0
    for oddity in found:
        if oddity.meant is None:
            return None
        out.append(text[position : oddity.start])
        out.append(oddity.meant)
        position = oddity.end
    out.append(text[position:])
    return "".join(out)


# Letters that are drawn like a Latin one: Cyrillic, Greek, and forms of the same letter.
_LIKE_LATIN = (
    "[\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u04bb\u0501\u051b\u051d\u043a\u043c"
    "\u0442\u0432\u043d\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u0406\u0408"
    "\u0405\u03bf\u03b1\u03bd\u03c1\u03b9\u03ba\u03c5\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d"
    "\u039f\u03a1\u03a4\u03a5\u03a7\u0251\u0261\u0131\u0578\u057d\u0585\u13a0-\u13ff\u2100-\u214f\u2160-\u217f"
    "\uff21-\uff3a\uff41-\uff5a\U0001d400-\U0001d7ff]"
)


def look_alike(word: str, *, alone: bool) -> str | None:
    """The first letter in `word` that only looks like a Latin one.

    A name wholly in another script is one, unless `alone` says that such a letter is suspicious
    even there, as in the name of a program.
    """
    if word.isascii():
        return None
    for piece in re.findall(r"[^\W\d_]+", word):
        hit = re.search(_LIKE_LATIN, piece)
        if hit is not None and (alone or re.search("[A-Za-z]", piece)):
            return hit.group(0)
    return None
