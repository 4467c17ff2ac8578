"""Characters that cannot be seen: they take no room, look like a blank, or turn the text around.

Whoever judges by what is shown must be shown these as escapes. Python calls many of them printable.
The sets are pieces of a character class; they are the default-ignorable code points of Unicode
(DerivedCoreProperties.txt), the letters that are drawn as blanks, and the bidirectional controls.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

# Some stand for damage of copying, some hide code; none of them is seen.
INVISIBLE = (
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200c\u2060-\u2064\u206a-\u206f\u2800"
    "\u3164\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
)
# They join and dress the sign before them, as in most emoji; alone they are invisible.
JOINERS = "\u200d\ufe00-\ufe0f"
# Bidirectional controls, and the line ends that only some programs know.
TURNING = "\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
# Tags, and variation selectors that can carry a whole text.
TAGS = "\U000e0000-\U000e0fff"


def escaped(text: str) -> str:
    """`text` with every such character written as an escape."""
    if text.isascii():
        return text
    import re

    return re.sub(f"[{INVISIBLE}{JOINERS}{TURNING}{TAGS}]", _escape, text)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
