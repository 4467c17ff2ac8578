"""What programs change: plain data.

A table from a program, or a program and its subcommand, to a `Rule`. `mutations` reads it. It
names what changes files, repositories, machines and services; a program it does not name is one
that reads, builds or tests.
"""

from __future__ import annotations

# What a rule says of the change, in the words of R051.
WRITE = "Write"
EDIT = "Edit"
DELETE = "Delete"

# Which operands are changed.
ALL = "all"
LAST = "last"  # the destination; `-t DIR` names it too
MOVE = "move"  # the destination is written, everything before it is gone
REST = "rest"  # all but the first
FIRST = "first"
NONE = "none"  # it changes something that is no path, or a path nobody can tell


class Rule:
    """When a program changes something, and what.

    kind      WRITE, EDIT or DELETE
    targets   which operands are changed
    when      options one of which must stand there; empty: always
    unless    options with which it changes nothing
    values    options whose value is a changed path
    valued    short options that take a value (the rest of the word, or the next word)
    attached  short options that take the rest of the word only
    long      long options that take a value
    """

    __slots__ = ("attached", "kind", "long", "targets", "unless", "valued", "values", "when")

    def __init__(
        self,
        kind: str,
        targets: str = NONE,
        *,
        when: str = "",
        unless: str = "",
        values: str = "",
        valued: str = "",
        attached: str = "",
        long: str = "",
    ) -> None:
        self.kind = kind
        self.targets = targets
        self.when = when
        self.unless = unless
        self.values = values
        self.valued = valued
        self.attached = attached
        self.long = long


_HELP = "--help --version"

DESTRUCTIVE = frozenset({"rm", "rmdir", "unlink", "shred", "truncate", "dd", "wipefs", "mkfs"})

PROGRAMS: dict[str, Rule] = {
    # files
    "rm": Rule(DELETE, ALL, unless=_HELP),
    "rmdir": Rule(DELETE, ALL, unless=_HELP),
    "unlink": Rule(DELETE, ALL, unless=_HELP),
    "shred": Rule(DELETE, ALL, unless=_HELP, valued="ns", long="iterations size random-source"),
    "srm": Rule(DELETE, ALL, unless=_HELP),
    "trash": Rule(DELETE, ALL, unless=_HELP),
    "truncate": Rule(EDIT, ALL, unless=_HELP, valued="sr", long="size reference"),
    "mv": Rule(
        DELETE,
        MOVE,
        unless=_HELP,
        valued="tS",
        values="-t --target-directory",
        long="target-directory suffix",
    ),
    "cp": Rule(
        WRITE,
        LAST,
        unless=_HELP,
        valued="tS",
        values="-t --target-directory",
        long="target-directory suffix",
    ),
    "install": Rule(
        WRITE,
        LAST,
        unless=_HELP,
        valued="tgmoS",
        values="-t --target-directory",
        long="target-directory group mode owner suffix",
    ),
    "ln": Rule(
        WRITE,
        LAST,
        unless=_HELP,
        valued="tS",
        values="-t --target-directory",
        long="target-directory suffix",
    ),
    "link": Rule(WRITE, LAST, unless=_HELP),
    "touch": Rule(WRITE, ALL, unless=_HELP, valued="drt", long="date reference time"),
    "tee": Rule(WRITE, ALL, unless=_HELP),
    "sponge": Rule(WRITE, ALL),
    "chmod": Rule(EDIT, REST, unless=_HELP, long="reference"),
    "chown": Rule(EDIT, REST, unless=_HELP, long="reference from"),
    "chgrp": Rule(EDIT, REST, unless=_HELP, long="reference"),
    "chattr": Rule(EDIT, REST),
    "setfacl": Rule(EDIT, ALL, valued="mxMX"),
    "xattr": Rule(EDIT, ALL, when="-w -d -c"),
    "dd": Rule(WRITE, NONE, unless=_HELP),
    "mkfs": Rule(DELETE, ALL),
    "wipefs": Rule(DELETE, ALL, unless="-n --no-act " + _HELP),
    "fdisk": Rule(EDIT, ALL, unless="-l --list " + _HELP),
    "parted": Rule(EDIT, ALL, unless="-l --list " + _HELP),
    "mkswap": Rule(EDIT, ALL),
    "losetup": Rule(EDIT, NONE, when="-d -D -f --find --detach"),
    "rename": Rule(DELETE, REST, unless="-n --nono --no-act " + _HELP),
    "rsync": Rule(
        WRITE,
        LAST,
        unless="-n --dry-run --list-only " + _HELP,
        valued="efTBM",
        long="rsh exclude include exclude-from include-from files-from filter "
        "log-file temp-dir rsync-path port compress-level bwlimit timeout chmod",
    ),
    "scp": Rule(WRITE, LAST, valued="cDFiJloPSX"),
    "sftp": Rule(WRITE, NONE),
    "rclone": Rule(WRITE, NONE),
    "mknod": Rule(WRITE, FIRST),
    "mkfifo": Rule(WRITE, ALL, valued="m"),
    "split": Rule(WRITE, LAST, unless=_HELP, valued="abClnt"),
    "csplit": Rule(WRITE, NONE, unless=_HELP),
    "mount": Rule(EDIT, LAST, when="-o -t -a --bind --move -r -w", valued="ot"),
    "umount": Rule(EDIT, ALL),
    # editors in place
    "sed": Rule(
        EDIT,
        REST,
        when="-i --in-place -s",
        valued="efl",
        attached="iE",
        long="expression file line-length",
        unless=_HELP,
    ),
    "gsed": Rule(
        EDIT, REST, when="-i --in-place", valued="efl", attached="iE", long="expression file"
    ),
    "perl": Rule(EDIT, ALL, when="-i", valued="eE", attached="MmIxFlCD0Vi"),
    "ruby": Rule(EDIT, ALL, when="-i", valued="erIC", attached="FKTWx0i"),
    "ed": Rule(EDIT, ALL),
    "ex": Rule(EDIT, ALL, valued="cS"),
    "vi": Rule(EDIT, ALL, valued="cS"),
    "vim": Rule(EDIT, ALL, valued="cS", unless=_HELP),
    "nvim": Rule(EDIT, ALL, valued="cS", unless=_HELP),
    "emacs": Rule(EDIT, ALL, unless=_HELP),
    "patch": Rule(
        EDIT,
        FIRST,
        unless="--dry-run " + _HELP,
        valued="pidoFDBYzrgV",
        values="-o -r --output",
        long="strip input directory output fuzz",
    ),
    "yq": Rule(EDIT, ALL, when="-i --inplace"),
    "sort": Rule(
        WRITE,
        NONE,
        when="-o --output",
        values="-o --output",
        valued="okStT",
        long="output key buffer-size field-separator temporary-directory parallel",
    ),
    "shfmt": Rule(
        EDIT, ALL, when="-w --write", valued="lni", long="language-dialect indent filename"
    ),
    "gofmt": Rule(EDIT, ALL, when="-w"),
    "dos2unix": Rule(EDIT, ALL),
    "unix2dos": Rule(EDIT, ALL),
    "black": Rule(EDIT, ALL, unless="--check --diff " + _HELP),
    "isort": Rule(EDIT, ALL, unless="--check --check-only --diff -c " + _HELP),
    "prettier": Rule(EDIT, ALL, when="--write -w"),
    "eslint": Rule(EDIT, ALL, when="--fix"),
    "rubocop": Rule(EDIT, ALL, when="-a -A --autocorrect --autocorrect-all"),
    "rustfmt": Rule(EDIT, ALL, unless="--check " + _HELP),
    "clang-format": Rule(EDIT, ALL, when="-i"),
    "awk": Rule(EDIT, NONE, when="-i --in-place", valued="Fvfe", attached=""),
    "gawk": Rule(EDIT, NONE, when="-i", valued="Fvfe"),
    # archives and downloads
    "unzip": Rule(WRITE, NONE, unless="-l -t -p -v -Z " + _HELP, valued="dxP", values="-d"),
    "zip": Rule(WRITE, FIRST, unless="-T -sf " + _HELP),
    "gzip": Rule(WRITE, ALL, unless="-c -l -t --stdout --list --test " + _HELP),
    "gunzip": Rule(WRITE, ALL, unless="-c -l -t --stdout --list --test " + _HELP),
    "bzip2": Rule(WRITE, ALL, unless="-c -t --stdout --test " + _HELP),
    "bunzip2": Rule(WRITE, ALL, unless="-c -t --stdout " + _HELP),
    "xz": Rule(WRITE, ALL, unless="-c -l -t --stdout --list --test " + _HELP),
    "unxz": Rule(WRITE, ALL, unless="-c -t --stdout " + _HELP),
    "zstd": Rule(WRITE, ALL, unless="-c -l -t --stdout --list --test " + _HELP),
    "7z": Rule(WRITE, NONE),
    "unrar": Rule(WRITE, NONE),
    "cpio": Rule(WRITE, NONE, when="-i -p --extract --pass-through"),
    "curl": Rule(
        WRITE,
        NONE,
        when="-o -O -J -T -d -F -X -D -c --output --remote-name --remote-name-all "
        "--output-dir --upload-file --data --data-binary --data-raw "
        "--data-urlencode --form --json --request --dump-header --cookie-jar "
        "--config -K",
        values="-o --output --output-dir -D --dump-header -c --cookie-jar",
        valued="oAbCcdDeEFhHKmPQrtTuUwxXyYz",
        long="output output-dir upload-file data data-binary data-raw data-urlencode "
        "form json request dump-header cookie-jar config user header user-agent "
        "url max-time connect-timeout retry write-out proxy cacert cert key "
        "referer cookie range resolve",
    ),
    "wget": Rule(
        WRITE,
        NONE,
        unless="--spider " + _HELP,
        values="-O -P -o --output-document --directory-prefix --output-file",
        valued="OPoaeitTwQUlARDIX",
        long="output-document directory-prefix output-file header user-agent tries "
        "timeout post-data post-file method body-data",
    ),
    "aria2c": Rule(WRITE, NONE),
    "nc": Rule(WRITE, NONE, unless="-z -h " + _HELP),
    "ncat": Rule(WRITE, NONE, unless="-z -h " + _HELP),
    "netcat": Rule(WRITE, NONE, unless="-z -h " + _HELP),
    "socat": Rule(WRITE, NONE, unless="-h -V"),
    "telnet": Rule(WRITE, NONE),
    "ftp": Rule(WRITE, NONE),
    # who runs it and where
    "sudo": Rule(EDIT, NONE, unless="-l --list -v -V --version -K -k --help", valued="ugphrtTCDRU"),
    "doas": Rule(EDIT, NONE, valued="uC"),
    "su": Rule(EDIT, NONE, valued="cgGs"),
    "pkexec": Rule(EDIT, NONE),
    "run0": Rule(EDIT, NONE),
    "chroot": Rule(EDIT, NONE),
    # the machine
    "shutdown": Rule(EDIT, NONE, unless="--help"),
    "reboot": Rule(EDIT, NONE, unless="--help"),
    "halt": Rule(EDIT, NONE, unless="--help"),
    "poweroff": Rule(EDIT, NONE, unless="--help"),
    "init": Rule(EDIT, NONE),
    "telinit": Rule(EDIT, NONE),
    "kill": Rule(EDIT, NONE, unless="-l -L -0 --list " + _HELP),
    "pkill": Rule(EDIT, NONE, unless=_HELP),
    "killall": Rule(EDIT, NONE, unless="-l " + _HELP),
    "useradd": Rule(EDIT, NONE),
    "userdel": Rule(DELETE, NONE),
    "usermod": Rule(EDIT, NONE),
    "groupadd": Rule(EDIT, NONE),
    "groupdel": Rule(DELETE, NONE),
    "passwd": Rule(EDIT, NONE),
    "chpasswd": Rule(EDIT, NONE),
    "visudo": Rule(EDIT, NONE),
    "sysctl": Rule(EDIT, NONE, when="-w -p --write --load"),
    "modprobe": Rule(EDIT, NONE),
    "insmod": Rule(EDIT, NONE),
    "rmmod": Rule(EDIT, NONE),
    "iptables": Rule(EDIT, NONE, unless="-L -S --list"),
    "nft": Rule(EDIT, NONE),
    "ufw": Rule(EDIT, NONE),
    "launchctl": Rule(EDIT, NONE),
    "defaults": Rule(EDIT, NONE),
    "hostnamectl": Rule(EDIT, NONE),
    "swapoff": Rule(EDIT, NONE),
    "lvremove": Rule(DELETE, NONE),
    "vgremove": Rule(DELETE, NONE),
    "pvremove": Rule(DELETE, NONE),
    "cryptsetup": Rule(EDIT, NONE),
    "zfs": Rule(EDIT, NONE),
    "zpool": Rule(EDIT, NONE),
    "sudoedit": Rule(EDIT, ALL),
    "update-alternatives": Rule(EDIT, NONE),
    # databases whose client is a single verb
    "dropdb": Rule(DELETE, NONE, unless=_HELP),
    "dropuser": Rule(DELETE, NONE, unless=_HELP),
    "createdb": Rule(WRITE, NONE, unless=_HELP),
    "pg_restore": Rule(WRITE, NONE, unless="-l --list " + _HELP),
    "mongorestore": Rule(WRITE, NONE),
    "mongo": Rule(EDIT, NONE, unless=_HELP),
    "mongosh": Rule(EDIT, NONE, unless=_HELP),
}

# Programs whose first operands say what they do: rows of operands that change something, and
# options without which, or with which, they do not. `*` stands for any operand.
SUBCOMMANDS: dict[str, tuple[str, ...]] = {
    "docker": (
        "rm",
        "rmi",
        "kill",
        "stop",
        "restart",
        "system prune",
        "volume rm",
        "volume prune",
        "image rm",
        "image prune",
        "container rm",
        "container prune",
        "container stop",
        "container kill",
        "network rm",
        "network prune",
        "builder prune",
        "buildx prune",
        "compose down",
        "compose rm",
        "compose kill",
        "compose stop",
        "compose restart",
        "compose up",
        "compose create",
        "push",
        "cp",
        "load",
        "import",
        "swarm *",
        "stack rm",
        "service rm",
        "secret rm",
        "config rm",
        "context rm",
        "commit",
        "rename",
        "update",
        "compose push",
        "login",
        "plugin *",
        "trust *",
        "start",
        "pause",
        "unpause",
    ),
    "docker-compose": (
        "down",
        "rm",
        "kill",
        "stop",
        "restart",
        "up",
        "create",
        "push",
        "run",
        "exec",
    ),
    "kubectl": (
        "delete",
        "apply",
        "create",
        "replace",
        "patch",
        "edit",
        "scale",
        "drain",
        "cordon",
        "uncordon",
        "taint",
        "label",
        "annotate",
        "set",
        "rollout restart",
        "rollout undo",
        "rollout pause",
        "rollout resume",
        "exec",
        "cp",
        "run",
        "expose",
        "autoscale",
        "debug",
        "config set-context",
        "config use-context",
        "config delete-context",
        "config set",
        "config unset",
        "attach",
        "port-forward",
        "proxy",
    ),
    "helm": ("install", "upgrade", "uninstall", "delete", "rollback", "push"),
    "terraform": (
        "apply",
        "destroy",
        "import",
        "taint",
        "untaint",
        "state rm",
        "state mv",
        "state push",
        "state replace-provider",
        "force-unlock",
        "workspace delete",
        "workspace new",
    ),
    "pulumi": ("up", "destroy", "refresh", "import", "cancel", "stack rm", "state *"),
    "vagrant": ("destroy", "up", "halt", "reload", "provision", "box remove"),
    "virsh": ("destroy", "undefine", "shutdown", "reboot", "vol-delete", "pool-destroy"),
    "systemctl": (
        "start",
        "stop",
        "restart",
        "reload",
        "try-restart",
        "enable",
        "disable",
        "mask",
        "unmask",
        "kill",
        "poweroff",
        "reboot",
        "halt",
        "suspend",
        "hibernate",
        "hybrid-sleep",
        "kexec",
        "rescue",
        "emergency",
        "default",
        "isolate",
        "set-default",
        "edit",
        "revert",
        "daemon-reload",
        "daemon-reexec",
        "set-property",
        "soft-reboot",
        "exit",
        "switch-root",
    ),
    "loginctl": ("poweroff", "reboot", "terminate-user", "kill-user", "terminate-session"),
    "service": ("* start", "* stop", "* restart", "* reload"),
    "apt": (
        "install",
        "remove",
        "purge",
        "autoremove",
        "upgrade",
        "full-upgrade",
        "dist-upgrade",
        "reinstall",
    ),
    "apt-get": ("install", "remove", "purge", "autoremove", "upgrade", "dist-upgrade", "build-dep"),
    "dpkg": ("-i", "-r", "-P"),
    "dnf": ("install", "remove", "erase", "upgrade", "update", "autoremove", "reinstall"),
    "yum": ("install", "remove", "erase", "upgrade", "update", "autoremove"),
    "brew": (
        "install",
        "uninstall",
        "remove",
        "upgrade",
        "cleanup",
        "services *",
        "link",
        "unlink",
    ),
    "snap": ("install", "remove", "refresh"),
    "npm": (
        "publish",
        "unpublish",
        "deprecate",
        "uninstall",
        "remove",
        "rm",
        "link",
        "unlink",
        "version",
        "update",
        "dist-tag add",
        "dist-tag rm",
        "owner *",
        "access *",
        "token *",
        "cache clean",
        "config set",
        "config delete",
        "login",
        "logout",
        "prune",
        "install *",
        "i *",
        "add *",
        "audit fix",
        "pkg set",
        "pkg delete",
        "init *",
        "set",
    ),
    "pnpm": (
        "publish",
        "remove",
        "rm",
        "uninstall",
        "add *",
        "update",
        "prune",
        "link",
        "store prune",
    ),
    "yarn": ("publish", "remove", "add *", "upgrade", "link", "unlink", "cache clean", "dlx *"),
    "pip": ("uninstall", "cache purge", "cache remove", "config set"),
    "pip3": ("uninstall", "cache purge", "cache remove", "config set"),
    "uv": (
        "publish",
        "remove",
        "add *",
        "pip uninstall",
        "cache clean",
        "tool uninstall",
        "self update",
        "version",
    ),
    "poetry": ("publish", "remove", "add *", "update", "version", "cache clear", "self *"),
    "cargo": (
        "publish",
        "yank",
        "install *",
        "uninstall",
        "clean",
        "add *",
        "remove",
        "rm",
        "fix",
        "fmt",
        "owner",
        "update",
    ),
    "go": ("clean", "mod tidy", "mod edit", "get *", "install *", "fmt", "generate", "env -w"),
    "gem": ("push", "yank", "uninstall", "install", "cleanup"),
    "twine": ("upload",),
    "ruff": ("format", "clean"),
    "make": (
        "clean",
        "distclean",
        "install",
        "uninstall",
        "mrproper",
        "clobber",
        "deploy",
        "publish",
        "release",
    ),
    "gh": (
        "repo delete",
        "repo archive",
        "repo rename",
        "repo edit",
        "release delete",
        "release create",
        "release upload",
        "release edit",
        "pr merge",
        "pr close",
        "pr ready",
        "issue delete",
        "issue close",
        "issue transfer",
        "secret set",
        "secret delete",
        "secret remove",
        "variable set",
        "variable delete",
        "workflow run",
        "workflow disable",
        "run cancel",
        "run delete",
        "gist delete",
        "ssh-key delete",
        "ssh-key add",
        "auth logout",
        "auth token",
        "auth refresh",
        "cache delete",
        "label delete",
        "ruleset *",
        "alias set",
        "extension install",
        "pr checkout",
        "codespace delete",
        "config set",
    ),
    "aws": (
        "s3 rm",
        "s3 mv",
        "s3 cp",
        "s3 sync",
        "s3 rb",
        "s3 mb",
    ),
    "gsutil": ("rm", "mv", "cp", "rsync", "rb"),
    "redis-cli": (),
    "heroku": ("*:destroy", "apps:destroy", "pg:reset", "ps:restart", "config:set", "run *"),
    "fly": ("deploy", "destroy", "apps destroy", "secrets set", "machine *", "volumes destroy"),
    "flyctl": ("deploy", "destroy", "apps destroy", "secrets set", "machine *", "volumes destroy"),
    "alembic": ("upgrade", "downgrade", "stamp"),
    "rails": (
        "db:drop",
        "db:reset",
        "db:migrate",
        "db:rollback",
        "db:schema:load",
        "destroy *",
        "generate *",
        "runner *",
    ),
    "rake": ("db:drop", "db:reset", "db:migrate", "db:rollback", "db:schema:load"),
    "ansible": (),
    "clip-harness": (
        "trust",
        "init",
        "decide",
        "accept",
        "undo",
        "set",
        "allow",
        "resume",
        "cancel",
        "rerun",
        "update",
        "run",
    ),
    "clip": (
        "trust",
        "init",
        "decide",
        "accept",
        "undo",
        "set",
        "allow",
        "resume",
        "cancel",
        "rerun",
        "update",
        "run",
    ),
    "ch-stage": ("decide", "apply", "undo"),
    "ch-exec": ("run", "stop"),
}
# Installing what a lock file or a requirements file names changes nothing anybody reviewed.
SUBCOMMAND_OPTIONS: dict[str, tuple[str, ...]] = {
    # program: options that make it change something wherever they stand
    "ruff": ("--fix", "--fix-only"),
    "npm": ("-g", "--global"),
    "gh": ("-X", "--method", "-f", "-F", "--field", "--raw-field", "--input"),
    "dpkg": ("-i", "-r", "-P", "--install", "--remove", "--purge"),
    "terraform": ("-auto-approve",),
    "ansible-playbook": ("",),
    "crictl": ("rmi",),
    "pre-commit": ("--fix",),
}
SUBCOMMAND_HARMLESS = (
    "--help",
    "-h",
    "--version",
    "--dry-run",
    "--dry-run=client",
    "--dry-run=server",
    "-n=",
)
# Short and long options of those programs that take a value, so that it is no operand.
SUBCOMMAND_VALUED: dict[str, tuple[str, str]] = {
    "docker": (
        "cHlfp",
        (
            "config context host log-level file project-name project-directory"
            " env-file profile tlscacert ansi"
        ),
    ),
    "docker-compose": ("fpH", "file project-name project-directory env-file profile"),
    "kubectl": ("nslf", "namespace context cluster user kubeconfig server request-timeout token"),
    "helm": ("n", "namespace kube-context kubeconfig"),
    "systemctl": ("HMtpno", "host machine type property lines output root state"),
    "aws": ("", "profile region output endpoint-url query"),
    "npm": ("Cw", "prefix workspace registry"),
    "pnpm": ("CF", "dir filter"),
    "yarn": ("", "cwd"),
    "gh": ("R", "repo"),
    "uv": ("", "directory project"),
    "poetry": ("C", "directory project"),
    "cargo": ("CZ", "config color manifest-path"),
    "go": ("C", ""),
    "make": ("Cfjlo", "directory file jobs"),
    "alembic": ("cnx", "config name"),
    "brew": ("", ""),
    "apt": ("otc", "option target-release"),
    "apt-get": ("otc", "option target-release"),
    "redis-cli": ("hpasnu", "user pass"),
}
for _copy, _of in (
    ("podman", "docker"),
    ("nerdctl", "docker"),
    ("tofu", "terraform"),
    ("oc", "kubectl"),
    ("k", "kubectl"),
    ("gmake", "make"),
    ("nala", "apt"),
):
    SUBCOMMANDS[_copy] = SUBCOMMANDS[_of]
    if _of in SUBCOMMAND_VALUED:
        SUBCOMMAND_VALUED[_copy] = SUBCOMMAND_VALUED[_of]

# Verbs of the cloud clients, whose nouns are too many to list.
CLOUD = frozenset(
    {"aws", "gcloud", "az", "doctl", "ibmcloud", "oci", "linode-cli", "hcloud", "gsutil", "bq"}
)
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
SQL_CLIENTS = frozenset(
    {
        "psql",
        "mysql",
        "mariadb",
        "sqlite3",
        "sqlcmd",
        "clickhouse-client",
        "duckdb",
        "cqlsh",
        "snowsql",
        "bq",
        "usql",
        "mysqladmin",
    }
)
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

# Programs that only read the words after them, so that a verb among those is no command.
TALKERS = frozenset(
    {
        "echo",
        "printf",
        "man",
        "which",
        "type",
        "whereis",
        "whatis",
        "apropos",
        "grep",
        "egrep",
        "fgrep",
        "rg",
        "ag",
        "ack",
        "git",
        "test",
        "[",
        "expr",
        "basename",
        "dirname",
        "seq",
        "help",
        "tldr",
        "info",
        "ls",
        "cat",
        "logger",
        "say",
        "notify-send",
        "pytest",
        "jq",
        "sed",
        "awk",
        "gh",
        "cut",
        "tr",
        "find",
        "pgrep",
        "command",
        "hash",
        "compgen",
        "file",
        "stat",
        "diff",
        "cd",
        "pushd",
        "dpkg",
        "apt-cache",
        "dirs",
        "set",
        "read",
        "local",
        "export",
        "declare",
        "return",
        "exit",
        "for",
        "true",
        "false",
        ":",
        "ch-gate",
        "ch-parse",
        "npm",
        "yarn",
        "pnpm",
        "make",
        "cargo",
        "docker",
        "podman",
        "kubectl",
        "aws",
        "gcloud",
        "terraform",
        "helm",
        "pip",
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
        r"|paramiko|boto3|rmtree|unlink|remove|rmdir|write\w*|mkdir|makedirs|chmod|rename|kill"
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
    "/etc/ssl/private",
    "/proc/self/environ",
)
METADATA_HOSTS = ("169.254.169.254", "169.254.170.2", "100.100.100.200", "metadata.google.internal")
# Programs whose operands name files without reading what is in them, or name no files.
NAMERS = TALKERS - {
    "cat",
    "grep",
    "egrep",
    "fgrep",
    "rg",
    "ag",
    "ack",
    "sed",
    "awk",
    "jq",
    "cut",
    "diff",
} | frozenset(
    {
        "mkdir",
        "ssh-keygen",
        "ssh-add",
        "chmod",
        "chown",
        "touch",
        "rm",
        "mv",
        "ssh-keyscan",
        "python",
        "python3",
        "du",
        "tree",
    }
)
SEARCHERS = frozenset({"grep", "egrep", "fgrep", "rg", "ag", "ack", "sed", "awk", "jq"})
NETWORK = frozenset(
    {
        "curl",
        "wget",
        "http",
        "https",
        "xh",
        "httpie",
        "nc",
        "ncat",
        "telnet",
        "aria2c",
        "ssh",
        "lynx",
        "w3m",
    }
)

# What the shell itself does without touching anything outside it: no allow-list entry needed.
NO_PROGRAMS = frozenset(
    {
        ":",
        "true",
        "false",
        "exit",
        "return",
        "break",
        "continue",
        "shift",
        "set",
        "wait",
        "export",
        "declare",
        "typeset",
        "local",
        "readonly",
        "unset",
    }
)

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
