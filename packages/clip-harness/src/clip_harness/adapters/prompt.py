"""The review on a real terminal: rows printed, one key read at a time.

Reads and writes the controlling terminal, so that a piped standard input or output is no matter.
Keys that were typed before the question are thrown away; the end of the terminal, Ctrl-C and Ctrl-D
put the decision off. The terminal's modes are given back however it ends.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import termios

from ch_contract.problems import visible
from clip_harness import review
from clip_harness.adapters import editor
from clip_harness.review import Choice, Subject

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import FrameType
    from typing import BinaryIO, Self

TERMINAL = "/dev/tty"
STYLES = {
    review.PLAIN: "",
    review.TITLE: "bold",
    review.ADDED: "green",
    review.REMOVED: "red",
    review.HUNK: "cyan",
    review.NOTE: "dim",
    review.KEYS: "bold",
}
CANCEL = ("\x03", "\x04", "\x1b", "")
SUSPEND = "\x1a"
SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|.)?", re.DOTALL)
# How often a signal is looked for while nobody types.
LOOK_SECONDS = 0.2
# What follows within this time came at once: it was pasted, or it is one special key. A person's
# next key comes later; what follows an escape may come in pieces.
AT_ONCE_SECONDS = 0.01
ESCAPE_SECONDS = 0.1
AT_ONCE_BYTES = 65536
WIDTH = 80
DECISIONS = {"a": "accept", "u": "accept-unsandboxed", "g": "allow-for-session"}


def can_ask(stderr: BinaryIO) -> bool:
    """Whether a person sits at a terminal: standard error is one, and it can be opened.

    Not in the background: the terminal is somebody else's there, and asking would stop the run.
    """
    try:
        if not stderr.isatty():
            return False
        fd = os.open(TERMINAL, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except (OSError, ValueError):
        return False
    try:
        return _is_foreground(fd)
    finally:
        os.close(fd)


def _is_foreground(fd: int) -> bool:
    try:
        return os.tcgetpgrp(fd) == os.getpgrp()
    except OSError:
        return False


def ask(
    subject: Subject,
    *,
    color: str,
    environment: Mapping[str, str],
    stopped: Callable[[], bool] = lambda: False,
) -> Choice:
    """Show `subject` and let the person decide; `color` is the setting: auto, always or never.

    `stopped` says whether a signal asks for an end. Raises OSError when the terminal cannot be had.
    """
    with Terminal(color, environment, stopped) as terminal, editor.Copies(subject) as copies:
        return _Conversation(subject, terminal, copies, environment).run()


class Terminal:
    """The controlling terminal, key by key; its modes are restored at the end."""

    __slots__ = ("_before", "_color", "_environment", "_fd", "_stopped")

    def __init__(
        self, color: str, environment: Mapping[str, str], stopped: Callable[[], bool]
    ) -> None:
        self._color = color
        self._environment = environment
        self._stopped = stopped

    def __enter__(self) -> Self:
        self._fd = os.open(TERMINAL, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            with _as_os_error():
                self._before = termios.tcgetattr(self._fd)
            self._take()
        except OSError:
            os.close(self._fd)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._give_back()
        os.close(self._fd)

    def _take(self, when: int = termios.TCSADRAIN) -> None:
        """Keys at once and without an echo; Ctrl-C is a key as well. Raises OSError."""
        with _as_os_error():
            modes = termios.tcgetattr(self._fd)
            modes[0] &= ~termios.ICRNL
            modes[3] &= ~(termios.ICANON | termios.ECHO | termios.ISIG | termios.IEXTEN)
            modes[6][termios.VMIN], modes[6][termios.VTIME] = 1, 0
            termios.tcsetattr(self._fd, when, modes)

    def _give_back(self) -> None:
        # the terminal may have gone away
        with contextlib.suppress(termios.error, OSError):
            termios.tcsetattr(self._fd, termios.TCSADRAIN, self._before)

    @contextlib.contextmanager
    def lent(self) -> Iterator[int]:
        """The terminal as it was, for a program that takes it over; gives its descriptor.

        Ctrl-C is that program's meanwhile: it ends a pager's search, not the review.
        """
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGQUIT)}
        for number in before:
            # a handler and not SIG_IGN, which the program would inherit
            signal.signal(number, _pass_by)
        self._give_back()
        try:
            yield self._fd
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            # what was typed meanwhile was for that program, or for nobody
            self._take(termios.TCSAFLUSH)

    def suspend(self) -> None:
        """Stop as Ctrl-Z stops any program; goes on when the shell says so."""
        self._give_back()
        os.kill(0, signal.SIGTSTP)
        self._take(termios.TCSAFLUSH)

    def _is_taken_away(self) -> bool:
        """Whether a shell that had stopped us has put its own modes in place."""
        with _as_os_error():
            modes = termios.tcgetattr(self._fd)
        return bool(modes[3] & termios.ICANON) and _is_foreground(self._fd)

    def width(self) -> int:
        """How many columns it has now."""
        try:
            return os.get_terminal_size(self._fd).columns or WIDTH
        except OSError:
            return WIDTH

    def put(self, rows: list[review.Row]) -> None:
        """Print rows, each in its style, folded to the width. Raises OSError when it is gone."""
        import io

        from rich.console import Console
        from rich.text import Text

        is_plain = bool(self._environment.get("NO_COLOR")) or self._color == "never"
        held = io.StringIO()
        console = Console(
            file=held,
            width=self.width(),
            force_terminal=not is_plain,
            no_color=is_plain,
            color_system=None if is_plain or self._is_dumb() else "standard",
            highlight=False,
            markup=False,
            emoji=False,
            _environ={},
        )
        for style, text in rows:
            look = "" if is_plain else STYLES[style]
            for line in review.folded(visible(text), self.width()):
                console.print(Text(line, style=look), soft_wrap=True)
        self.write(held.getvalue())

    def _is_dumb(self) -> bool:
        return self._environment.get("TERM", "dumb") in ("dumb", "unknown")

    def write(self, text: str) -> None:
        """Write text as it is."""
        data = text.encode("utf-8", "backslashreplace")
        while data:
            data = data[os.write(self._fd, data) :]

    def forget(self) -> None:
        """Throw away what was typed before the question: type-ahead decides nothing."""
        with _as_os_error():
            termios.tcflush(self._fd, termios.TCIFLUSH)

    def key(self, on_resize: Callable[[], None] = lambda: None) -> str:
        """The next key as a character; "" when the terminal ended or a signal asks for an end.

        A text of several characters is no key: it was pasted, or is a special key's sequence, in
        which any letter may stand.
        """
        width = self.width()
        while True:
            if self._stopped():
                return ""
            try:
                ready, _, _ = select.select([self._fd], [], [], LOOK_SECONDS)
                if ready:
                    text = self._at_once()
                    if text != SUSPEND:
                        return text
                    self.suspend()
                    on_resize()
                elif self._is_taken_away():
                    self._take(termios.TCSAFLUSH)
                    on_resize()
                elif self.width() != width:
                    width = self.width()
                    on_resize()
            except OSError:
                return ""

    def _at_once(self) -> str:
        """What came at once; a Ctrl-C or Ctrl-D among it is what counts of it."""
        data = part = os.read(self._fd, 1024)
        while part and len(data) < AT_ONCE_BYTES:
            wait = ESCAPE_SECONDS if data.startswith(b"\x1b") else AT_ONCE_SECONDS
            if not select.select([self._fd], [], [], wait)[0]:
                break
            part = os.read(self._fd, 1024)
            data += part
        for key in (b"\x03", b"\x04"):
            if key in data:
                return key.decode()
        return data.decode("utf-8", "replace")

    def line(self, question: str) -> str | None:
        """A line of text; None when it was taken back with Esc, Ctrl-C or Ctrl-D."""
        self.write(question)
        typed: list[str] = []
        while True:
            keys = self.key()
            if keys in CANCEL:
                self.write("\r\n")
                return None
            # arrows and the like do nothing in a line
            keys = SEQUENCE.sub("", keys)
            # only at the end of what came at once is it the person's own Enter
            for key in keys.rstrip("\r\n"):
                self._edit(typed, " " if key in ("\r", "\n", "\t") else key)
            if keys.endswith(("\r", "\n")):
                self.write("\r\n")
                return "".join(typed).strip()

    def _edit(self, typed: list[str], key: str) -> None:
        """Put a key's effect into the line and on the terminal."""
        if key in ("\x7f", "\b", "\x15"):
            gone = typed[0 if key == "\x15" else -1 :]
            del typed[len(typed) - len(gone) :]
            from rich.cells import cell_len

            self.write("\b \b" * cell_len("".join(gone)))
        elif key.isprintable():
            typed.append(key)
            self.write(key)


@contextlib.contextmanager
def _as_os_error() -> Iterator[None]:
    """What the terminal refuses, as any other refusal of the system."""
    try:
        yield
    except termios.error as error:
        raise OSError(*error.args) from error


def _pass_by(_number: int, _frame: FrameType | None) -> None:
    """A signal that is meant for another program."""


class _Conversation:
    """One review: what is shown, and the keys until one of them decides."""

    __slots__ = ("_copies", "_edited", "_environment", "_subject", "_terminal")

    def __init__(
        self,
        subject: Subject,
        terminal: Terminal,
        copies: editor.Copies,
        environment: Mapping[str, str],
    ) -> None:
        self._subject = subject
        self._terminal = terminal
        self._copies = copies
        self._environment = environment
        # what was edited when the keys were last shown
        self._edited: dict[int, bytes] = {}

    def run(self) -> Choice:
        """Ask until there is an answer."""
        try:
            self._show()
            self._terminal.forget()
            while True:
                self._offer()
                choice = self._answer(self._terminal.key(self._offer))
                if choice is not None:
                    return choice
        except OSError as error:
            # the terminal has gone away and nobody reads this, or a copy cannot be read
            with contextlib.suppress(OSError):
                self._say(f"{error.strerror or error}: nothing was decided")
            return Choice(None)

    def _show(self) -> None:
        self._terminal.put(review.surface(self._subject))

    def _keys(self) -> list[tuple[str, str]]:
        has_code = editor.code(self._environment) is not None
        return review.keys(self._subject, has_code=has_code, edited=len(self._edited))

    def _offer(self) -> None:
        self._edited = self._copies.edited()
        self._terminal.put(review.key_rows(self._keys(), self._terminal.width()))

    def _say(self, text: str) -> None:
        self._terminal.put([(review.NOTE, text)])

    def _answer(self, key: str) -> Choice | None:
        """What a key comes to; None when the question stands."""
        known = {name for name, _ in self._keys()}
        if key == review.LATER or (key in CANCEL and key != "\x1b"):
            return Choice(None)
        if key not in known:
            self._hint(key)
            return None
        if key == "?":
            self._show()
            return None
        if key == "r":
            reason = self._terminal.line("why (Enter for no reason, Esc to go back): ")
            return None if reason is None else Choice("reject", reason=reason or None)
        if self._subject.kind == "command":
            return self._command(key)
        return self._changes(key)

    def _hint(self, key: str) -> None:
        if len(key) > 1 and not key.startswith("\x1b"):
            self._terminal.forget()
            self._say("several keys came at once, so none was taken; press one of these")
        elif key not in ("\r", "\n"):
            self._say("that key does nothing here")

    def _command(self, key: str) -> Choice | None:
        if key == "w":
            self._terminal.forget()
            self._say(f"allows {self._subject.offer} from now on, in {self._subject.offer_place}")
            self._terminal.write("press y to do so, any other key to go back ")
            is_sure = self._terminal.key() == "y"
            self._terminal.write("\r\n")
            return Choice("always-allow") if is_sure else None
        if key == "a" and not self._subject.has_sandbox:
            self._say(f"{review.NO_SANDBOX}; nothing was decided")
            return None
        return Choice(DECISIONS[key])

    def _changes(self, key: str) -> Choice | None:
        if key == "a":
            return self._accept(None)
        if key == "s":
            return self._choose()
        if key == "v":
            self._view()
        elif key == "e":
            with self._terminal.lent() as fd:
                said = editor.edit(self._copies, self._environment, fd)
            self._say(said)
        elif key == "c":
            self._say("VS Code opens; close its window to come back here, or press Ctrl-C")
            with self._terminal.lent() as fd:
                refused = editor.open_code(self._subject, self._copies, self._environment, fd)
            if refused is None:
                return self._accept(None, by="editor")
            self._say(refused)
        return None

    def _accept(self, paths: list[str] | None, by: str = "terminal") -> Choice | None:
        edited = self._copies.edited()
        if by == "terminal" and edited != self._edited:
            self._say("a file was saved since you were asked; press a again to accept that")
            return None
        folder = self._copies.keep(edited, paths)
        decision = "accept" if folder is None else "accept-edited"
        return Choice(decision, accepted_files=paths, edited=folder, by=by)

    def _choose(self) -> Choice | None:
        """Ask file by file."""
        accepted = []
        for entry in self._subject.entries:
            self._terminal.put(
                [
                    (review.PLAIN, review.manifest_line(entry)),
                    (review.KEYS, "[y] accept  [n] leave  [q] back"),
                ]
            )
            key = ""
            while key not in ("y", "n"):
                key = self._terminal.key()
                if key in (*CANCEL, "q"):
                    self._say("nothing was decided")
                    return None
                if key not in ("y", "n", "\r", "\n"):
                    self._say("press y, n, or q to go back")
            if key == "y":
                accepted.append(entry.path)
        if not accepted:
            self._say("no file was accepted; press r to reject them")
            return None
        return self._accept(accepted)

    def _view(self) -> None:
        """The whole diffs in the pager; printed where there is none."""
        rows: list[review.Row] = []
        for entry in self._subject.entries:
            rows.append((review.TITLE, review.manifest_line(entry).strip()))
            rows += review.diff_rows(entry, is_whole=True)
        text = "".join(f"{row}\n" for _, row in rows)
        with self._terminal.lent() as fd:
            is_shown = editor.page(text, self._environment, fd)
        if not is_shown:
            self._terminal.put(rows)
