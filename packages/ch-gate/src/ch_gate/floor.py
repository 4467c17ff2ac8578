"""The floor: what no setting, list, hook or review can clear.

It is decided before any setting is read and takes none. Each rule has its own module; pushing by
force and stopping the machine, which need no paths, stand here.
"""

from __future__ import annotations

import re

from . import destruction, rules, secrets, surface
from .findings import Finding, met
from .folders import Folders
from .options import scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .commands import Command, Reading
    from .mutations import Effect
    from .paths import Facts
    from .words import Word


def floor(reading: Reading, changes: list[Effect], facts: Facts) -> list[Finding]:
    """Every rule of the floor that the commands of `reading` meet, `changes` being its effects.

    Nothing may be concluded from an empty list when the reading has a `cause`.
    """
    folders = Folders(reading, facts)
    found = destruction.found_in(reading, changes, folders, facts)
    found += secrets.found_in(reading, changes, folders, facts)
    if any(command.unread or command.contexts for command in reading.commands):
        from . import fetched

        found += fetched.found_in(reading)
    found += surface.found_in(reading, changes, folders, facts)
    for command in reading.commands:
        how = overwrites_history(command)
        if how:
            found.append(
                met(rules.HISTORY_REWRITE, "deny", command, detail=how, note=how, source="floor")
            )
        if controls_machine(command):
            found.append(
                met(
                    rules.MACHINE_CONTROL, "deny", command,
                    note="it would stop or restart this machine", source="floor",
                )
            )  # fmt: skip
    return found


CHANGED = {rules.SURFACE_WRITE: surface.OWN_FILES, rules.WIRING_TAMPER: surface.WIRING_FILE}


def floor_of_change(path: Word, facts: Facts) -> str | None:
    """The rule of the floor that a file change of `path` meets; None for none."""
    places = surface.Surface(facts)
    bases = (facts.cwd,)
    if places.meets_own(path, bases):
        return rules.SURFACE_WRITE
    if places.meets_wiring(path, bases):
        return rules.WIRING_TAMPER
    return None


# -- pushing by force ------------------------------------------------------------------------------

# Any beginning of these that git takes for them; of --force-with-lease the whole start differs.
_FORCING = r"--(?:f|fo|for|forc|force|m|mi|mir|mirr|mirro|mirror)$"
_FORCED_TEXT = (
    r"(?s)\bpush\b.*?(?:\s--(?:force|mirror)(?![\w-])|\s-[a-zA-Z]*f[a-zA-Z]*(?=\s|$)|\s['\"]?\+\S)"
)
_FORCED_CONFIG = r"(?i)remote\..*\.(?:push=\+.*|mirror(?:=(?:true|yes|on|1))?$)"


def overwrites_history(command: Command) -> str:
    """How a git command overwrites what others have pushed; empty when it does not."""
    if command.program != "git":
        return ""
    from .git import GLOBAL_LONG

    scanned = scan(command.words[1:], "Cc", "", GLOBAL_LONG, leading=True)
    settings = scanned.values("-c")
    if any(re.search(_FORCED_TEXT, text) for text in settings if text.lower().startswith("alias.")):
        return "an alias that pushes by force"
    operands = scanned.operands
    name = operands[0].value if operands else None
    if name == "config" and any(
        re.search(_FORCED_TEXT, word.value or "") or re.match(r"\+\S+:", word.value or "")
        for word in operands[1:]
    ):
        return "a setting that pushes by force from now on"
    if name not in ("push", "send-pack", "http-push"):
        return ""
    rest = scan(operands[1:], "o", "", frozenset({"push-option", "repo", "receive-pack", "exec"}))
    if rest.has("-n", "--dry-run") and not rest.has("--no-dry-run"):
        return ""
    if any(re.match(_FORCED_CONFIG, text) for text in settings):
        return "a setting that pushes by force"
    if any(given == "-f" or re.match(_FORCING, given) for given, _ in rest.options):
        return "a push by force"
    texts = [word.value if word.value is not None else word.prefix for word in rest.operands]
    if any(text.startswith("+") for text in texts):
        return "a push by force (+ before the name)"
    return ""


# What makes a push a forced one, anywhere in a text.
_FORCED_WORD = (
    r"(?:^|[\s\"'={},(])(?:--f(?:o(?:r(?:ce?)?)?)?|--mi\w*|-[a-zA-Z]*f[a-zA-Z]*|\+[\w./-]+)"
    r"(?![\w-])|:[-=+](?:-*f(?:orce)?|-*mirror)\b"
)


def may_overwrite_history(command: Command, reading: Reading) -> bool:
    """Whether a push gets words at run time, in a text that holds one that forces."""
    if command.program != "git" or "push" not in [word.value for word in command.words]:
        return False
    is_open = command.appended or any(word.pattern is None for word in command.words)
    return is_open and re.search(_FORCED_WORD, reading.text) is not None


# -- the machine -----------------------------------------------------------------------------------

_STOPPING = frozenset(
    {"shutdown", "reboot", "halt", "poweroff", "shutdown.exe", "pm-suspend", "pm-hibernate",
     "systemctl-poweroff", "rtcwake", "soft-reboot"}
)  # fmt: skip
_MANAGERS = frozenset({"systemctl", "loginctl"})
_MANAGED = frozenset(
    {"poweroff", "reboot", "halt", "kexec", "soft-reboot", "suspend", "hibernate", "hybrid-sleep",
     "suspend-then-hibernate", "rescue", "emergency", "exit", "default"}
)  # fmt: skip
_TARGETS = r"(?:poweroff|reboot|halt|kexec|rescue|emergency|shutdown|runlevel[016])(?:\.target)?"
_LOOKING = frozenset({"--help", "--version", "-h", "--show", "--wtmp-only"})
_SYSRQ = frozenset({"/proc/sysrq-trigger", "/proc/sys/kernel/sysrq"})
_SPOKEN = r"(?i)\b(?:shut\s*down|restart|PowerOff|Reboot|org\.freedesktop\.login1)\b"


def controls_machine(command: Command) -> bool:
    """Whether the command stops or restarts the machine it runs on."""
    if any(redirect.writes and redirect.target.value in _SYSRQ for redirect in command.redirects):
        return True
    name = command.program
    values = [word.value or "" for word in command.words[1:]]
    if name == "tee" and _SYSRQ.intersection(values):
        return True
    if name in _STOPPING:
        # `-h` of shutdown halts; of the others it helps
        looking = _LOOKING - {"-h"} if name == "shutdown" else _LOOKING
        return not any(value in looking for value in values)
    if name in ("init", "telinit"):
        return any(value in ("0", "6", "1", "s", "S") for value in values)
    if name in _MANAGERS:
        operands = [value for value in values if value and not value.startswith("-")]
        verb = operands[0] if operands else ""
        if verb in ("isolate", "start"):
            return any(re.fullmatch(_TARGETS, value) for value in operands[1:])
        return verb in _MANAGED and not any(value in _LOOKING for value in values)
    if name == "kexec":
        return any(value in ("-e", "--exec", "-f", "--force") for value in values)
    if name in ("osascript", "dbus-send", "gdbus", "busctl", "qdbus"):
        return any(re.search(_SPOKEN, value) for value in values)
    if name in ("wsl", "wsl.exe"):
        return any(value in ("--shutdown", "--terminate", "-t") for value in values)
    return False
