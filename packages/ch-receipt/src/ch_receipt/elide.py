"""How much of an output a block shows, and the line that stands for the rest.

The budget counts characters as they are shown. Past it stand a head and a tail, the tail at least
as long, since errors come last. Only those two windows are read as text, so a huge output costs
what a small one does; the middle is at most skimmed for line ends, within a bound.
"""

from __future__ import annotations

import os

from ch_contract import files
from ch_contract.problems import Problem

from . import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ch_contract.messages import Result

    # (offset, count) -> at most `count` bytes
    Read = Callable[[int, int], bytes]

# Characters of output for a chat whose messages are limited; README.md gives date and source.
PRESETS = {"m365-copilot": 100_000, "copilot": 8_000}

SKIM_BYTES = 32 * 1024 * 1024
LEAST_PAIRS = 4
MOST_LISTED = 64
_CHUNK = 1024 * 1024


def digest(result: Result, budget: int, kept: str) -> str:
    """The output of `result` as its block shows it: at most `budget` characters and one line.

    `kept` is where this run's output is kept. A document that names another file has no say in
    what is read: a block goes to a chat.
    """
    path = result["output_path"]
    if path is None or result["output_bytes"] == 0:
        return ""
    if path != kept:
        return f"[output not shown: {clean.line(path)} is not the output of this run]"
    try:
        with files.open_regular(path) as file:

            def read(offset: int, count: int) -> bytes:
                file.seek(offset)
                return file.read(count)

            size = min(result["output_bytes"], os.fstat(file.fileno()).st_size)
            return compose(read, size, result["output_chars"], path, budget)
    except Problem as problem:
        return f"[output not readable: {clean.line(problem.message)}]"
    except OSError as error:
        return f"[output not readable: {error.strerror} · {clean.line(path)}]"


def compose(read: Read, size: int, chars: int, path: str, budget: int) -> str:
    """The digest of an output of `size` bytes and `chars` characters, read through `read`."""
    # a byte that is no text is a character, so more bytes than these are more characters
    if chars <= budget and size <= 4 * budget:
        text = _shown(clean.decode(read(0, size)), 0, encoding_of(read(0, min(size, 4096))))
        if len(text) <= budget:
            return text
    return _elided(read, size, chars, path, budget)


def _elided(read: Read, size: int, chars: int, path: str, budget: int) -> str:
    encoding = encoding_of(read(0, min(size, 4096)))
    head_share = min(budget // 2, chars // 2)
    tail_share = min(budget - budget // 2, chars - head_share)
    reach = 4 * (tail_share + 4)  # whatever the cut in front does to its first bytes is not shown
    start = max(0, size - reach)
    tail_window = clean.decode(read(start, size - start))
    head_window = clean.decode(read(0, min(size, 4 * head_share + 4)))

    def head_of(count: int) -> tuple[str, str]:
        raw = head_window[:count]
        return raw, _shown(raw, 0, encoding, cut_behind=True)

    def tail_of(count: int) -> tuple[str, str]:
        raw = tail_window[len(tail_window) - count :]
        before = tail_window[: len(tail_window) - count]
        return raw, _shown(raw, size - len(clean.encode(raw)), encoding, before)

    tail, tail_text = _fit(tail_of, min(tail_share, len(tail_window)), budget - budget // 2)
    head, head_text = _fit(head_of, min(head_share, len(tail)), budget // 2)
    head_bytes, tail_bytes = len(clean.encode(head)), len(clean.encode(tail))
    first, last = _line_range(read, head_bytes, size - tail_bytes, clean.encode(head))
    words = quoted(path)
    marker = (
        f"[output elided: {len(head) + len(tail)} of {chars} chars shown"
        f" · full output ({chars} chars) saved at {clean.line(path)}"
        f" · page it with: sed -n '{first},{last}p' {words} · grep {words}"
        f" · tail -c {size - head_bytes} {words}]"
    )
    lead = head_text if not head_text or head_text.endswith("\n") else head_text + "\n"
    return f"{lead}{marker}\n{tail_text}"


def _fit(window_of: Callable[[int], tuple[str, str]], count: int, share: int) -> tuple[str, str]:
    """The longest window tried, of at most `count` characters, that shows in `share`."""
    while True:
        raw, text = window_of(count)
        if len(text) <= share:
            return raw, text
        # what is no text grows when it is shown
        count = min(count - 1, count * share // len(text))


def _shown(
    raw: str, offset: int, encoding: str | None, before: str = "", *, cut_behind: bool = False
) -> str:
    """The text of a window that begins at byte `offset`, cleaned."""
    if encoding is not None:
        data = clean.encode(raw)
        data = data[offset % 2 :]
        text = data[: len(data) // 2 * 2].decode(encoding, "backslashreplace")
        return clean.output(text.removeprefix("\ufeff"))
    if "\x1b" in raw[-256:] or "\x1b" in before[-256:]:
        from . import replay

        raw = replay.without_rest(before, raw)
        if cut_behind:
            raw = replay.without_begun(raw)
    return clean.output(raw)


def _line_range(read: Read, start: int, end: int, head: bytes) -> tuple[int, int]:
    """Numbers of the first and the last elided line; the elided bytes are `start` to `end`.

    Past a bound the last line is the last one counted.
    """
    first = last = head.count(b"\n") + 1
    stop = min(end - 1, start + SKIM_BYTES)
    while start < stop:
        data = read(start, min(_CHUNK, stop - start))
        if not data:
            break
        last += data.count(b"\n")
        start += len(data)
    return first, last


def encoding_of(sample: bytes) -> str | None:
    """The UTF-16 an output surely is, by its mark or its NUL bytes; None for anything else.

    A list of single letters that NUL bytes end looks alike. So text without a mark has to have a
    line end, or more pairs than there are letters and digits.
    """
    if sample.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16-le" if sample[0] == 0xFF else "utf-16-be"
    pairs = len(sample) // 2
    is_text = pairs > MOST_LISTED or (pairs >= LEAST_PAIRS and b"\n" in sample)
    if not is_text:
        return None
    low, high = sample[: 2 * pairs : 2].count(0), sample[1 : 2 * pairs : 2].count(0)
    if low == 0 and high * 10 >= pairs * 9:
        return "utf-16-le"
    if high == 0 and low * 10 >= pairs * 9:
        return "utf-16-be"
    return None


def quoted(path: str) -> str:
    """`path` as one word of a POSIX shell."""
    plain = path.replace("/", "").replace("-", "").replace("_", "").replace(".", "")
    if plain.isascii() and plain.isalnum() and not path.startswith("-"):
        return path
    return "'" + clean.line(path).replace("'", "'\\''") + "'"
