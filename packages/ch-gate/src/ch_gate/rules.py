"""The rules a verdict can name: the one list that code, help and tests share.

Decides nothing. A part of a verdict carries the id; `ch-gate rules` prints this table.
"""

from __future__ import annotations

HARD_BLOCK = "hard-block"
DENYLIST = "denylist"
PROTECTED_PATH = "protected-path"
SUSPICIOUS_CHARACTERS = "suspicious-characters"
UNREADABLE_COMMAND = "unreadable-command"
NOT_ON_ALLOWLIST = "not-on-allowlist"
MUTATION = "mutation"
MUTATION_DENIED = "mutation-denied"
UNREAD_PROGRAM = "unread-program"
SECRET_READ = "secret-read"  # noqa: S105  a rule's name
FILE_REVIEW = "file-review"
ALLOWLIST = "allowlist"

# id: (decision, what it is about)
CATALOGUE = {
    HARD_BLOCK: (
        "deny",
        "the command matches a hard-block pattern, one of yours or a built-in one",
    ),
    DENYLIST: ("deny", "one simple command matches an entry of denylist"),
    PROTECTED_PATH: (
        "deny",
        "the command or the change would touch one of protected_paths; ask where nobody can tell",
    ),
    SUSPICIOUS_CHARACTERS: (
        "ask",
        "the text holds characters damaged by copying; deny where they hide what would run",
    ),
    UNREADABLE_COMMAND: (
        "ask",
        "the command could not be parsed; deny where it mentions a destructive verb or the harness",
    ),
    NOT_ON_ALLOWLIST: ("ask", "allowlist is not empty and one simple command matches no entry"),
    MUTATION: (
        "ask",
        "the command looks as if it changes files, a repository, a machine or a service",
    ),
    MUTATION_DENIED: ("deny", "the same, while mutation_gate is deny"),
    UNREAD_PROGRAM: ("ask", "the command would run a program text that nobody can read beforehand"),
    SECRET_READ: ("ask", "the command would read what looks like a secret"),
    FILE_REVIEW: ("ask", "a file change is always reviewed"),
    ALLOWLIST: ("allow", "every simple command matches an entry of allowlist"),
}
