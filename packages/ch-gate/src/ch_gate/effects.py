"""Kinds of change, and the word lists that tell one: plain data.

What each program changes is the catalogue's; here stand the kinds it speaks of, and what to look
for where a text says it: names of tasks, verbs of clients, statements, programs of interpreters,
names of secrets.
"""

from __future__ import annotations

# What a rule says of the change, in the words of R051.
WRITE = "Write"
EDIT = "Edit"
DELETE = "Delete"
# An empty file, a folder or a link: nothing is overwritten, so that only a protected path objects.
CREATE = "Create"
# What a link leads to: not changed, but it gets a second name.
LINK = "Link"

# Which operands are changed.
ALL = "all"
LAST = "last"  # the destination; `-t DIR` names it too
MOVE = "move"  # the destination is written, everything before it is gone
REST = "rest"  # all but the first
FIRST = "first"
NONE = "none"  # it changes something that is no path, or a path nobody can tell

DESTRUCTIVE = frozenset({"rm", "rmdir", "unlink", "shred", "truncate", "dd", "wipefs", "mkfs"})


# With one of these a row whose last word is one of CHECKED only says what it would change.
CHECKED = ("fmt", "format", "fix", "process", "p")
CHECKING = ("--check", "-check", "--diff", "-diff", "--lint", "--test")
SUBCOMMAND_HARMLESS = (
    "--help",
    "-h",
    "--version",
    "--dry-run",
    "--dry-run=client",
    "--dry-run=server",
    "-n=",
)
# A task is held for the first or the last word of its name, unless a word of it only looks.
TASK_CHANGES = frozenset(
    {"clean", "distclean", "mrproper", "clobber", "realclean", "maintainer-clean", "cleanall",
     "purge", "prune", "wipe", "nuke", "reset", "destroy", "drop", "delete", "remove", "teardown",
     "deploy", "undeploy", "release", "publish", "unpublish", "upload", "push", "rollback",
     "migrate", "seed", "bump", "format", "fmt", "fix", "autofix", "prettify", "uninstall",
     "down", "provision", "rewrite"}
)  # fmt: skip
TASK_LOOKS = frozenset(
    {"check", "checks", "test", "tests", "verify", "dry", "dryrun", "diff", "status", "list",
     "help", "plan", "preview", "validate"}
)  # fmt: skip
# Verbs of the cloud clients, whose nouns are too many to list.
CLOUD_VERBS = (
    "delete",
    "destroy",
    "remove",
    "terminate",
    "create",
    "update",
    "put",
    "modify",
    "stop",
    "reboot",
    "rm",
    "deploy",
    "purge",
    "set",
    "attach",
    "detach",
    "start",
    "run",
    "import",
    "reset",
    "restore",
    "revoke",
    "disable",
    "enable",
    "cancel",
    "release",
    "deregister",
    "invoke",
)

# Clients of databases, and the words of a statement that change something.
SQL_VERBS = (
    "drop",
    "delete",
    "truncate",
    "update",
    "insert",
    "alter",
    "create",
    "replace",
    "grant",
    "revoke",
    "merge",
    "vacuum",
    "reindex",
    "call",
    "copy",
    "load",
    "do",
    "execute",
    "attach",
    "rename",
    "comment",
    "set",
    "refresh",
    "import",
    "flush",
    "shutdown",
    "optimize",
)
REDIS_VERBS = frozenset(
    {
        "flushall",
        "flushdb",
        "del",
        "unlink",
        "set",
        "config",
        "shutdown",
        "eval",
        "hset",
        "hdel",
        "lpush",
        "rpush",
        "expire",
        "rename",
        "migrate",
        "restore",
        "script",
        "debug",
        "sadd",
        "srem",
        "zadd",
        "zrem",
        "incr",
        "decr",
        "append",
        "mset",
        "xadd",
        "xdel",
        "xtrim",
        "replicaof",
        "slaveof",
    }
)

# What an interpreter's program must mention to change something, run something or reach out.
CODE_SIGNS: dict[str, str] = {
    "python": (
        r"\b(?:open|exec|eval|compile|__import__|getattr|setattr|delattr|globals|locals|vars"
        r"|breakpoint|subprocess|shutil|pathlib|Path|os\s*\.\s*(?!path\b|getcwd\b|environ\b|sep\b"
        r"|listdir\b|cpu_count\b|uname\b|getpid\b|linesep\b|name\b|stat\b|getenv\b|scandir\b|walk\b)"
        r"\w+|system|popen|spawn\w*|socket|urllib|requests|httpx|http|ftplib|smtplib|telnetlib"
        r"|ctypes|cffi|importlib|builtins|runpy|code|codeop|pty|signal|multiprocessing"
        r"|concurrent|threading|asyncio|tempfile|fileinput|pickle|marshal|shelve|dbm|sqlite3|zipfile"
        r"|tarfile|glob|io|webbrowser|venv|ensurepip|pip|site|atexit|gc|inspect|modules|fabric"
        r"|timeit|cProfile|profile|pdb|bdb|trace|\w*FileHandler|logging\s*\.\s*(?:handlers|config)"
        r"|filename\s*=|paramiko|boto3|rmtree|unlink|remove|rmdir|write\w*|mkdir|makedirs|chmod|rename|kill"
        r"|import\s+\*|__(?!name__|version__|file__|doc__)\w+__)\b|from\s+os\b|import\s+os\s+as"
        r"|from\s+\w+\s+import\s+\*|\bas\s+(?:os|sys)\b"
    ),
    "node": (
        r"\b(?:require|import|process\s*\.\s*(?!version|argv|env|platform|arch|cwd|uptime"
        r"|memoryUsage|hrtime|stdout|exit)\w+|eval|Function|fs|child_process|exec\w*|spawn\w*"
        r"|unlink\w*|rm\w*Sync|write\w*|fetch|XMLHttpRequest|WebSocket|constructor|globalThis"
        r"|global|module|Bun|Deno|Worker|binding)\b|process\s*\["
    ),
    "ruby": (
        r"`|%x|\b(?:system|exec|spawn|fork|eval|instance_eval|class_eval|module_eval|send"
        r"|__send__|public_send|open|File|Dir|IO|FileUtils|Pathname|Kernel|Process|Open3"
        r"|require\w*|load|Object|const_get|method|Net|Socket|TCPSocket|ObjectSpace|syscall"
        r"|trap|at_exit|binding)\b"
    ),
    "perl": (
        r"`|\b(?:system|exec|fork|eval|open|opendir|unlink|rmdir|mkdir|rename|link|symlink"
        r"|chmod|chown|utime|truncate|sysopen|syswrite|qx|require|use\s+(?!strict|warnings|utf8"
        r"|feature|JSON|List|Data|POSIX|Time|Scalar|v?5)|kill|socket|syscall|do|dump|File|IO"
        r"|sysread|pipe|dbmopen|readpipe)\b|\|\s*[\"']|s(\W).*?\1.*?\1\w*e"
    ),
    "php": (
        r"`|\b(?:system|exec|shell_exec|passthru|popen|proc_open|pcntl_\w+|eval|assert"
        r"|file_put_contents|fopen|fwrite|unlink|rmdir|mkdir|rename|copy|chmod|chown|touch"
        r"|include\w*|require\w*|create_function|call_user_func\w*|array_map|curl_\w+|fsockopen"
        r"|symlink|link|tempnam|move_uploaded_file|mail)\b|\$\w+\s*\("
    ),
}
# Any other language: nothing but a plain print passes.
CODE_PLAIN = (
    r"\s*(?:print|puts|console\.log|echo|cat|return)\b[\s(]*[\w\s.+*/\"',:%<>=-]*\)?\s*;?\s*"
)

# Reads that a person should see first, as far as their names tell.
PRIVATE_NAMES = (
    r"(?:\.env(?:\.(?!example$|sample$|template$|dist$)[\w.-]+)?|id_(?:rsa|dsa|ecdsa|ed25519)(?:_\w+)?"
    r"|.*\.(?:pem|p12|pfx|keystore|jks|ppk)|\.netrc|_netrc|\.pgpass|\.npmrc|\.pypirc|\.git-credentials"
    r"|\.vault-token|\.my\.cnf|ssh_host_\w+_key|master\.key"
    r"|credentials(?:\.json)?|service[-_]account.*\.json|\.htpasswd|.*_rsa|kubeconfig|shadow|gshadow)"
)
PRIVATE_FOLDERS = (
    "~/.ssh",
    "~/.aws",
    "~/.kube",
    "~/.gnupg",
    "~/.docker",
    "~/.config/gh",
    "~/.config/gcloud",
    "~/.azure",
    "~/.password-store",
    "~/.claude/.credentials.json",
    "~/.codex/auth.json",
    "~/.cargo/credentials",
    "~/.cargo/credentials.toml",
    "~/.m2/settings.xml",
    "~/.local/share/keyrings",
    "/etc/ssl/private",
    "/proc/self/environ",
)
# Keys made up for tests are no secrets.
FIXTURES = r"(?:^|/)(?:tests?|fixtures?|testdata|examples?|__tests__|spec)/"
METADATA_HOSTS = ("169.254.169.254", "169.254.170.2", "100.100.100.200", "metadata.google.internal")
# Commands nobody sends on purpose; a hit is denied whatever the settings say. Each is matched
# against one simple command: its program's name, its words and the files it writes, a blank
# between them. So text that only speaks of them is none.
_FOLDERS = (
    r"(?:bin|boot|dev|etc|lib|lib32|lib64|libx32|opt|proc|root|sbin|srv|sys|usr|var|home|Users"
    r"|System|Library|Applications)"
)
HARD_BLOCKS = {
    "rm": (
        r"rm (?:\S+ )*?(?:-\w*[rR]\w*|--recursive) (?:\S+ )*?"
        r"(?:/|//|/\*|/\.|/" + _FOLDERS + r"/?\*?)(?: .*)?",
        (
            r"rm (?:\S+ )*?(?:-\w*[rR]\w*|--recursive) (?:\S+ )*?"
            r"\"?(?:~|\$HOME|\$\{HOME\})\"?/?\*?(?: .*)?"
        ),
        r"rm (?:\S+ )*?--no-preserve-root(?: .*)?",
    ),
    "chmod": (r"chmod (?:\S+ )*?(?:-\w*R\w*|--recursive) (?:\S+ )*?/(?: .*)?",),
    "chown": (r"chown (?:\S+ )*?(?:-\w*R\w*|--recursive) (?:\S+ )*?/(?: .*)?",),
    "mkfs": (r"mkfs\S* (?:\S+ )*?/dev/(?!null\b|shm/).*",),
    "wipefs": (r"wipefs (?:\S+ )*?/dev/(?!null\b|shm/).*",),
    "shred": (r"shred (?:\S+ )*?/dev/(?!null\b|shm/).*",),
    "dd": (r"dd (?:\S+ )*?of=/dev/(?!null\b|stdout\b|stderr\b|tty\b|fd/|shm/).*",),
}
# A disk as the file that output goes to.
HARD_BLOCK_TARGET = r"/dev/(?:sd|hd|nvme|vd|xvd|disk|mapper|mmcblk|dm-).*"
