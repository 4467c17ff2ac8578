"""The rules a verdict can name: the one list that code, help and tests share.

Decides nothing. A part of a verdict carries the id; `ch-gate rules` prints this table.
"""

from __future__ import annotations

# The floor: decided before any setting is read, and no setting, list or review clears it.
OUTSIDE_DESTRUCTION = "outside-project-destruction"
UNPROVABLE_DESTRUCTION = "unprovable-destruction"
SECRET_ACCESS = "secret-access"  # noqa: S105  a rule's name
HISTORY_REWRITE = "history-rewrite"
MACHINE_CONTROL = "machine-control"
UNPROVABLE_EXECUTION = "unprovable-execution"
SURFACE_WRITE = "policy-surface-write"
WIRING_TAMPER = "wiring-tamper"

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

FLOOR = (
    OUTSIDE_DESTRUCTION, UNPROVABLE_DESTRUCTION, SECRET_ACCESS, HISTORY_REWRITE, MACHINE_CONTROL,
    UNPROVABLE_EXECUTION, SURFACE_WRITE, WIRING_TAMPER,
)  # fmt: skip

# id: (decision, what it is about)
CATALOGUE = {
    OUTSIDE_DESTRUCTION: (
        "deny",
        "a destructive command on a target outside the project and the temporary folders",
    ),
    UNPROVABLE_DESTRUCTION: (
        "deny",
        "a destructive command whose target is known only when it runs",
    ),
    SECRET_ACCESS: (
        "deny",
        "a read of keys, credentials or .env files, or a request to a cloud machine's metadata",
    ),
    HISTORY_REWRITE: ("deny", "a git push that overwrites what others have"),
    MACHINE_CONTROL: ("deny", "stopping or restarting the machine"),
    UNPROVABLE_EXECUTION: ("deny", "a fetched text that is run without having been seen"),
    SURFACE_WRITE: (
        "deny",
        "a change of the harness's own settings or state, or a command of it that acts",
    ),
    WIRING_TAMPER: ("deny", "a change of a file that registers hooks with an agent"),
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
