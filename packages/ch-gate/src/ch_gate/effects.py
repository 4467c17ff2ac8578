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


class Rule:
    """When a program changes something, and what.

    kind      WRITE, EDIT, DELETE or CREATE
    targets   which operands are changed
    when      options one of which must stand there; empty: always
    unless    options with which it changes nothing
    values    options whose value is a changed path; `-` is standard output
    acts      options that change something which is no file, wherever the files are
    valued    short options that take a value (the rest of the word, or the next word)
    attached  short options that take the rest of the word only
    long      long options that take a value
    """

    __slots__ = (
        "acts", "attached", "kind", "long", "targets", "unless", "valued", "values", "when",
    )  # fmt: skip

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
        acts: str = "",
    ) -> None:
        self.kind = kind
        self.acts = acts
        self.targets = targets
        self.when = when
        self.unless = unless
        self.values = values
        self.valued = valued
        self.attached = attached
        self.long = long


_HELP = "--help --version"

DESTRUCTIVE = frozenset({"rm", "rmdir", "unlink", "shred", "truncate", "dd", "wipefs", "mkfs"})


def _rows(names: str, rule: Rule) -> dict[str, Rule]:
    """The same rule for several programs, their names one blank apart."""
    return dict.fromkeys(names.split(" "), rule)


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
        unless="-d --directory " + _HELP,
        valued="tgmoS",
        values="-t --target-directory",
        long="target-directory group mode owner suffix",
    ),
    "ln": Rule(
        WRITE,
        LAST,
        when="-f -F --force",
        valued="tS",
        values="-t --target-directory",
        long="target-directory suffix",
    ),
    "link": Rule(WRITE, LAST, unless=_HELP),
    "touch": Rule(CREATE, ALL, unless=_HELP, valued="drt", long="date reference time"),
    "mkdir": Rule(CREATE, ALL, unless=_HELP, valued="mZ", long="mode context"),
    "tee": Rule(WRITE, ALL, unless=_HELP),
    "sponge": Rule(WRITE, ALL),
    "chmod": Rule(EDIT, REST, unless=_HELP, long="reference"),
    "chown": Rule(EDIT, REST, unless=_HELP, long="reference from"),
    "chgrp": Rule(EDIT, REST, unless=_HELP, long="reference"),
    "chattr": Rule(EDIT, REST),
    "setfacl": Rule(EDIT, ALL, valued="mxMX"),
    "xattr": Rule(EDIT, ALL, when="-w -d -c"),
    "mkfs": Rule(DELETE, ALL),
    "wipefs": Rule(DELETE, ALL, unless="-n --no-act " + _HELP),
    "fdisk": Rule(EDIT, ALL, unless="-l --list " + _HELP),
    "parted": Rule(EDIT, ALL, unless="-l --list " + _HELP),
    "mkswap": Rule(EDIT, ALL),
    "losetup": Rule(EDIT, NONE, when="-d -D -f --find --detach"),
    **_rows(
        "rename prename file-rename perl-rename",
        Rule(DELETE, REST, unless="-n --nono --no-act " + _HELP),
    ),
    **_rows("mmv mcp mln zmv", Rule(DELETE, NONE, unless="-n")),
    "rsync": Rule(
        WRITE,
        LAST,
        unless="-n --dry-run --list-only " + _HELP,
        valued="efTBM",
        long="rsh exclude include exclude-from include-from files-from filter "
        "log-file temp-dir rsync-path port compress-level bwlimit timeout chmod",
        acts="--remove-source-files --remove-sent-files",
    ),
    "scp": Rule(WRITE, LAST, valued="cDFiJloPSX"),
    "sftp": Rule(WRITE, NONE),
    "rclone": Rule(WRITE, NONE),
    "mknod": Rule(WRITE, FIRST),
    "mkfifo": Rule(CREATE, ALL, valued="m", long="mode"),
    "split": Rule(WRITE, LAST, unless=_HELP, valued="abClnt"),
    "csplit": Rule(WRITE, NONE, unless=_HELP),
    "script": Rule(WRITE, FIRST, unless=_HELP, valued="cBEIOTmo"),
    "logrotate": Rule(EDIT, NONE, unless="-d --debug " + _HELP),
    "mount": Rule(EDIT, LAST, when="-o -t -a --bind --move -r -w", valued="ot"),
    "umount": Rule(EDIT, ALL),
    # editors in place
    "sed": Rule(
        EDIT,
        REST,
        when="-i -I --in-place",
        valued="efl",
        attached="iI",
        long="expression file line-length",
        unless=_HELP,
    ),
    "gsed": Rule(
        EDIT, REST, when="-i --in-place", valued="efl", attached="i", long="expression file"
    ),
    "perl": Rule(EDIT, ALL, when="-i", valued="eE", attached="MmIxFDVi"),
    "ruby": Rule(EDIT, ALL, when="-i", valued="erIC", attached="FKTWxi"),
    **_rows(
        "less more",
        Rule(
            WRITE,
            NONE,
            when="-o -O --log-file --LOG-FILE",
            values="-o -O --log-file --LOG-FILE",
            valued="oObhjkpPtTxyz",
            long="log-file LOG-FILE",
        ),
    ),
    **_rows("tree pv", Rule(WRITE, NONE, when="-o --output", values="-o", valued="oLPIHT")),
    **_rows(
        "dot neato fdp sfdp twopi circo",
        Rule(
            WRITE,
            NONE,
            when="-o -O",
            values="-o",
            valued="oKGNEl",
            attached="T",
        ),
    ),
    **_rows("rimraf del del-cli trash-cli del-empty", Rule(DELETE, ALL, unless=_HELP)),
    **_rows("cpy cpy-cli ncp copyfiles move-file move-file-cli replace-in-file", Rule(WRITE, NONE)),
    "ed": Rule(EDIT, ALL),
    "ex": Rule(EDIT, ALL, valued="cS"),
    "vi": Rule(EDIT, ALL, valued="cS"),
    "vim": Rule(EDIT, ALL, valued="cS", unless=_HELP),
    "nvim": Rule(EDIT, ALL, valued="cS", unless=_HELP),
    **_rows(
        "emacs emacsclient view vimdiff rvim gvim nano pico joe micro mg jed kak hx helix ne",
        Rule(EDIT, ALL, unless=_HELP, valued="cS"),
    ),
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
    **_rows("gofmt goimports gofumpt codespell golines 2to3", Rule(EDIT, ALL, when="-w")),
    **_rows("dos2unix unix2dos mac2unix", Rule(EDIT, ALL, unless="-i --info " + _HELP)),
    **_rows(
        "black pyupgrade reorder-python-imports add-trailing-comma ssort nbstripout mdformat stylua"
        " rustfmt nixfmt alejandra nixpkgs-fmt scalafmt djlint swiftformat jscodeshift codemod"
        " phpcbf indent astyle buildifier elm-format beautysh rufo",
        Rule(
            EDIT,
            ALL,
            unless="-c --check --diff --lint --test --list --verify --dry --dry-run --dryrun -n "
            + _HELP,
        ),
    ),
    "isort": Rule(EDIT, ALL, unless="--check --check-only --diff -c " + _HELP),
    **_rows("prettier prettierd", Rule(EDIT, ALL, when="--write -w")),
    **_rows("biome rome", Rule(EDIT, ALL, when="--write --fix --apply --apply-unsafe")),
    **_rows(
        "eslint stylelint tslint standard ts-standard semistandard xo oxlint markdownlint"
        " markdownlint-cli2 swiftlint golangci-lint standardrb htmlhint textlint",
        Rule(EDIT, ALL, when="--fix"),
    ),
    **_rows("ktlint erblint", Rule(EDIT, ALL, when="-F --format -a --autocorrect")),
    "rubocop": Rule(EDIT, ALL, when="-a -A --autocorrect --autocorrect-all"),
    **_rows(
        "clang-format autopep8 yapf autoflake docformatter unify pycln google-java-format tsfmt"
        " comby cmake-format gersemi ormolu fourmolu ocamlformat shellharden",
        Rule(EDIT, ALL, when="-i -r --in-place --inplace --replace"),
    ),
    **_rows("ast-grep sg", Rule(EDIT, NONE, when="-U --update-all -i --interactive")),
    "xmlstarlet": Rule(EDIT, NONE, when="-L --inplace"),
    "tidy": Rule(EDIT, ALL, when="-m -o", values="-o", valued="o"),
    **_rows("awk gawk", Rule(EDIT, NONE, when="-i --include", valued="Fvfe")),
    # an option names the file that is written
    **_rows(
        "iconv xmllint shuf",
        Rule(
            WRITE,
            NONE,
            when="-o --output",
            values="-o --output",
            valued="ofti",
            long="output from-code to-code random-source",
        ),
    ),
    "pandoc": Rule(
        WRITE,
        NONE,
        when="-o --output",
        values="-o --output",
        valued="ofrtVHBAMTcDFL",
        long="output from to read write template",
    ),
    **_rows(
        "base64 base32 basenc age age-keygen uuencode",
        Rule(
            WRITE,
            NONE,
            when="-o --output",
            values="-o --output",
            valued="owbr",
            long="output wrap recipient",
        ),
    ),
    "uudecode": Rule(WRITE, NONE, unless="-p " + _HELP, values="-o", valued="o"),
    **_rows(
        "gpg gpg2",
        Rule(
            WRITE,
            NONE,
            when="-o --output -e --encrypt -s --sign -c --symmetric -b --detach-sign --clear-sign"
            " --clearsign --import --edit-key --recv-keys --send-keys --refresh-keys --sign-key"
            " --delete-keys --delete-secret-keys --delete-secret-and-public-keys --gen-key"
            " --full-generate-key --full-gen-key --quick-generate-key --quick-gen-key",
            values="-o --output",
            valued="oru",
            long="output recipient local-user",
        ),
    ),
    "ssh-keygen": Rule(
        WRITE, NONE, unless="-l -y -F -B -L -Q -e --help", valued="abCEfFImNnOrSstVwWz"
    ),
    # pictures, sound, object files
    **_rows(
        "convert magick mogrify composite montage ffmpeg strip objcopy",
        Rule(WRITE, NONE, unless="-version -list -h -V " + _HELP),
    ),
    # archives and downloads
    "unzip": Rule(WRITE, NONE, unless="-l -t -p -v -Z " + _HELP, valued="dxP", values="-d"),
    **_rows("xbps-install xbps-remove", Rule(EDIT, NONE, unless="-n --dry-run")),
    "emerge": Rule(EDIT, NONE, unless="-p --pretend -s --search --info " + _HELP),
    "nix-env": Rule(EDIT, NONE, when="-i -e -u --install --uninstall --upgrade --set --rollback"),
    "zip": Rule(WRITE, FIRST, acts="-m --move", unless="-T -sf " + _HELP),
    **_rows(
        "gzip gunzip bzip2 bunzip2 xz unxz lzma unlzma zstd unzstd lz4 unlz4 lzop lzip plzip pigz"
        " unpigz pbzip2 pixz compress uncompress brotli zopfli",
        Rule(
            WRITE,
            ALL,
            unless="-c -l -t --stdout --to-stdout --list --test " + _HELP,
            valued="oS",
            values="-o --output",
            long="output suffix",
        ),
    ),
    "pax": Rule(WRITE, NONE, when="-r -w"),
    "cpio": Rule(WRITE, NONE, when="-i -p --extract --pass-through"),
    "curl": Rule(
        WRITE,
        NONE,
        when="-o -O -J -D -c --output --remote-name --remote-name-all --remote-header-name "
        "--output-dir --dump-header --cookie-jar --trace --trace-ascii --stderr --etag-save "
        "--hsts --alt-svc --libcurl",
        acts="-T -d -F -X -K -Q --upload-file --data --data-ascii --data-binary --data-raw "
        "--data-urlencode --form --form-string --json --request --config --quote",
        values="-o --output --output-dir -D --dump-header -c --cookie-jar --trace --trace-ascii "
        "--stderr --etag-save --hsts --alt-svc --libcurl",
        valued="oAbCcdDeEFhHKmPQrtTuUwxXyYz",
        long="output output-dir upload-file data data-ascii data-binary data-raw data-urlencode "
        "form form-string json request dump-header cookie-jar config user header user-agent "
        "url max-time connect-timeout retry write-out proxy cacert cert key quote "
        "referer cookie range resolve trace trace-ascii stderr etag-save etag-compare hsts alt-svc "
        "libcurl",
    ),
    **_rows(
        "wget wget2",
        Rule(
            WRITE,
            NONE,
            unless="--spider " + _HELP,
            acts="--post-data --post-file --method --body-data --body-file -e --execute -i -r -m "
            "--input-file --recursive --mirror",
            values="-O -P -o --output-document --directory-prefix --output-file",
            valued="OPoaeitTwQUlARDIX",
            long="output-document directory-prefix output-file header user-agent tries "
            "timeout post-data post-file method body-data body-file execute input-file",
        ),
    ),
    **_rows("aria2c axel yt-dlp youtube-dl lftp httrack gdown", Rule(WRITE, NONE, unless=_HELP)),
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
    **_rows("passwd chsh chfn gpasswd", Rule(EDIT, NONE)),
    "date": Rule(EDIT, NONE, when="-s --set", valued="dfrs", long="date file reference set"),
    **_rows("hostname domainname", Rule(EDIT, ALL)),
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
    # what publishes or deploys as a whole
    **_rows(
        "semantic-release release-it np standard-version bumpversion bump2version bump-my-version",
        Rule(EDIT, NONE, unless="-d -n --dry-run --help --version"),
    ),
    "ansible": Rule(EDIT, NONE, unless="-C --check --list-hosts " + _HELP),
    "ansible-playbook": Rule(
        EDIT,
        NONE,
        unless="-C --check --syntax-check --list-hosts --list-tasks --list-tags " + _HELP,
    ),
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
        "fmt",
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
    "7z": ("a", "d", "e", "x", "u", "rn"),
    "apk": ("add", "del", "upgrade", "fix"),
    "zypper": ("install", "in", "remove", "rm", "update", "up", "dup", "dist-upgrade", "patch"),
    "port": ("install", "uninstall", "upgrade", "selfupdate"),
    "flatpak": ("install", "uninstall", "remove", "update"),
    "choco": ("install", "uninstall", "upgrade"),
    "winget": ("install", "uninstall", "upgrade"),
    "scoop": ("install", "uninstall", "update"),
    "nix": ("profile install", "profile add", "profile remove", "profile upgrade", "fmt"),
    "rar": ("a", "d", "e", "x", "u", "f", "m", "r", "c", "k", "rn"),
    "unrar": ("e", "x"),
    "ip": ("* add", "* del", "* delete", "* set", "* flush", "* change", "* replace", "netns exec"),
    "tc": ("* add", "* del", "* delete", "* change", "* replace"),
    "route": ("add", "del", "delete", "flush"),
    "nmcli": ("* up", "* down", "* add", "* modify", "* delete", "* connect", "* disconnect"),
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
        "version *",
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
    "pip": ("uninstall", "download", "cache purge", "cache remove", "config set"),
    "pip3": ("uninstall", "download", "cache purge", "cache remove", "config set"),
    "uv": (
        "publish",
        "remove",
        "add *",
        "pip uninstall",
        "cache clean",
        "tool install",
        "tool uninstall",
        "tool upgrade",
        "format",
        "self update",
        "version *",
    ),
    "poetry": ("publish", "remove", "add *", "update", "version *", "cache clear", "self *"),
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
        "release",
        "set-version",
        "upgrade",
    ),
    "go": ("clean", "mod tidy", "mod edit", "get *", "install *", "fmt", "generate", "env -w"),
    "pipx": (
        "install",
        "uninstall",
        "upgrade",
        "inject",
        "reinstall",
        "upgrade-all",
        "uninstall-all",
    ),
    "conda": (
        "install",
        "remove",
        "uninstall",
        "create",
        "update",
        "upgrade",
        "clean",
        "env remove",
        "env create",
        "env update",
        "config",
    ),
    "rustup": (
        "install",
        "update",
        "uninstall",
        "default",
        "self *",
        "* install",
        "* add",
        "* remove",
    ),
    "pyenv": ("install", "uninstall", "global", "local"),
    "hatch": (
        "fmt",
        "clean",
        "publish",
        "version *",
        "new *",
        "env remove",
        "env prune",
        "config set",
    ),
    "pdm": ("add", "remove", "update", "publish", "cache clear", "self *"),
    "composer": (
        "require",
        "remove",
        "update",
        "upgrade",
        "global *",
        "create-project *",
        "config",
        "self-update",
        "bump",
    ),
    "bun": (
        "add",
        "a",
        "remove",
        "rm",
        "update",
        "link",
        "unlink",
        "publish",
        "create *",
        "pm cache",
    ),
    "deno": ("fmt", "add", "remove", "install *", "uninstall", "publish", "upgrade"),
    "mix": (
        "ecto.drop",
        "ecto.reset",
        "ecto.migrate",
        "ecto.rollback",
        "deps.clean",
        "deps.update",
        "format",
        "hex.publish",
        "clean",
    ),
    "dotnet": (
        "clean",
        "format",
        "nuget push",
        "nuget delete",
        "ef database *",
        "ef migrations *",
        "add *",
        "remove *",
        "tool install",
        "tool uninstall",
    ),
    "bazel": ("clean",),
    "bazelisk": ("clean",),
    "swift": ("package clean", "package reset", "package update"),
    "flutter": ("clean", "pub add", "pub remove", "pub upgrade", "pub publish", "format"),
    "dart": ("format", "fix", "pub add", "pub remove", "pub upgrade", "pub publish"),
    "zig": ("fmt",),
    "dprint": ("fmt",),
    "buf": ("push", "mod update", "dep update"),
    "sqlfluff": ("fix", "format"),
    "rector": ("process", "p"),
    "php-cs-fixer": ("fix",),
    "taplo": ("fmt", "format"),
    "cljfmt": ("fix",),
    "jupyter": ("nbconvert",),
    "manage.py": (
        "flush",
        "migrate",
        "makemigrations",
        "squashmigrations",
        "loaddata",
        "reset_db",
        "createsuperuser",
        "changepassword",
        "collectstatic",
        "clearsessions",
        "dbshell",
        "shell",
        "startapp *",
        "startproject *",
    ),
    "setup.py": ("install", "develop", "upload", "register", "clean"),
    "artisan": ("migrate", "*:fresh", "migrate:*", "db:*", "*:clear", "tinker", "down", "up"),
    "flask": ("db upgrade", "db downgrade", "db stamp", "db migrate", "db init", "shell"),
    "prisma": ("migrate *", "db push", "db pull", "db execute", "db seed", "format"),
    "knex": ("migrate:*", "seed:*"),
    "sequelize": ("db:*",),
    "sequelize-cli": ("db:*",),
    "typeorm": ("migration:*", "schema:*"),
    "drizzle-kit": ("push", "migrate", "drop", "generate"),
    "serverless": ("deploy", "remove", "rollback"),
    "vercel": (
        "deploy",
        "remove",
        "rm",
        "rollback",
        "promote",
        "env *",
        "alias *",
        "domains *",
        "link",
    ),
    "netlify": ("deploy", "sites:*", "env:*", "link", "unlink"),
    "firebase": ("deploy", "*:delete", "*:set", "*:disable", "*:import"),
    "wrangler": ("deploy", "publish", "delete", "secret *", "rollback", "d1 *", "kv:*"),
    "cdk": ("deploy", "destroy", "bootstrap", "import"),
    "sam": ("deploy", "delete", "sync"),
    "eb": ("deploy", "terminate", "create", "setenv"),
    "packer": ("build",),
    "skaffold": ("run", "deploy", "delete", "dev"),
    "kustomize": ("edit *",),
    "goreleaser": ("release",),
    "changeset": ("publish", "version", "tag"),
    "lerna": ("publish", "version", "clean", "exec"),
    "hg": ("revert", "purge", "strip", "rollback", "histedit"),
    "svn": ("revert", "commit", "ci", "delete", "remove", "rm", "cleanup", "switch", "merge"),
    "jj": ("abandon", "restore", "undo", "op restore", "op undo", "git push"),
    "gem": ("push", "yank", "uninstall", "install", "cleanup"),
    "twine": ("upload",),
    "ruff": ("format", "clean"),
    "gh": (
        "repo delete",
        "repo archive",
        "repo rename",
        "repo edit",
        "release delete",
        "release create",
        "release upload",
        "release edit",
        "release download",
        "run download",
        "gist create",
        "pr review",
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
    "buf": ("-w", "--write"),
    "vercel": ("--prod",),
    "hg": ("-C", "--clean", "--config"),
    "crictl": ("rmi",),
    "pre-commit": ("--fix",),
}
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
    "pnpm": ("CF", "dir filter workspace-concurrency"),
    "yarn": ("", "cwd"),
    "gh": ("R", "repo"),
    "uv": ("", "directory project"),
    "poetry": ("C", "directory project"),
    "cargo": ("CZ", "config color manifest-path"),
    "go": ("C", ""),
    "make": ("CfIoW", "directory file makefile include-dir jobs old-file what-if eval"),
    "hatch": ("ep", "env project"),
    "pdm": ("p", "project"),
    "bun": ("", "cwd"),
    "composer": ("d", "working-dir"),
    "just": ("fd", "justfile working-directory set"),
    "task": ("tdo", "taskfile dir output"),
    "rake": ("fICE", "rakefile libdir"),
    "ninja": ("Cfjkld", ""),
    "mvn": ("fPplTsD", "file activate-profiles projects settings threads"),
    "gradle": ("bcgpIxDP", "build-file project-dir gradle-user-home init-script exclude-task"),
    "turbo": ("", "cwd filter"),
    "lerna": ("", "scope ignore"),
    "ip": ("nfb", "netns family batch"),
    "alembic": ("cnx", "config name"),
    "brew": ("", ""),
    "apt": ("otc", "option target-release"),
    "apt-get": ("otc", "option target-release"),
    "redis-cli": ("hpasnu", "user pass"),
}
# Programs that take named tasks: the words before the name, "" where it comes at once.
_DIRECT = ("",)
TASKS: dict[str, tuple[str, ...]] = {
    "npm": ("run", "run-script", "rum", "urn"),
    "pnpm": ("run", "run-script", ""),
    "yarn": ("run", ""),
    "bun": ("run", ""),
    "deno": ("task",),
    "composer": ("run", "run-script", ""),
    **dict.fromkeys(("pdm", "hatch", "rye", "pixi", "lerna"), ("run",)),
    "nx": ("run", ""),
    "turbo": ("run", ""),
    **dict.fromkeys(("make", "just", "task", "rake", "invoke", "ant", "mvn", "gradle", "ninja",
                     "sbt", "lein", "mage", "grunt", "gulp", "doit", "nox", "poe", "scons", "jake",
                     "fab"), _DIRECT),
}  # fmt: skip
# Those of which one call may name several tasks.
SEVERAL_TASKS = frozenset(
    {"make", "just", "rake", "invoke", "ant", "mvn", "gradle", "ninja", "sbt", "gulp", "grunt",
     "scons", "turbo", "doit"}
)  # fmt: skip
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
# Where installing puts files into the system instead of fetching what a lock file names.
INSTALLING = frozenset({"make", "ninja", "rake", "mage", "scons"})
# Options with which a task is only shown.
TASK_DRY = {
    "make": "-n --just-print --dry-run --recon -q --question",
    "just": "-n --dry-run -l --list --summary -s --show --dump --evaluate",
    "task": "-n --dry -l --list -a --list-all --summary --status",
    "rake": "-n --dry-run -T --tasks -P --prereqs -W --where -D --describe",
    "ninja": "-n",
    "scons": "-n --just-print --dry-run --recon --no-exec",
    "invoke": "-l --list -R --dry --help",
    "gradle": "-m --dry-run --help",
    "nox": "-l --list --list-sessions",
    "turbo": "--dry --dry-run --help",
    "sbt": "--help",
}

# Without an operand these read standard input, or only look.
FILTERS = frozenset(
    {"tee", "gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "lzma", "unlzma", "zstd", "unzstd",
     "lz4", "unlz4", "lzop", "lzip", "plzip", "pigz", "unpigz", "pbzip2", "pixz", "compress",
     "uncompress", "brotli", "hostname", "domainname"}
)  # fmt: skip

# The same program by another name.
for _copy, _of in (
    ("podman", "docker"),
    ("nerdctl", "docker"),
    ("tofu", "terraform"),
    ("oc", "kubectl"),
    ("k", "kubectl"),
    ("gmake", "make"),
    ("nala", "apt"),
    ("7za", "7z"),
    ("7zr", "7z"),
    ("7zz", "7z"),
    ("mamba", "conda"),
    ("micromamba", "conda"),
    ("django-admin", "manage.py"),
    ("sls", "serverless"),
    ("flyctl", "fly"),
    ("clip", "clip-harness"),
    ("inv", "invoke"),
    ("go-task", "task"),
    ("mvnw", "mvn"),
    ("gradlew", "gradle"),
):
    for _table in (SUBCOMMANDS, SUBCOMMAND_OPTIONS, SUBCOMMAND_VALUED, TASKS, TASK_DRY):
        if _of in _table:
            _table[_copy] = _table[_of]  # type: ignore[assignment]  # one type each

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

# Programs that only read or name what they are given, so that a protected path or a denied name
# among their arguments says nothing. Those of them that can be told to write are in PROGRAMS.
READERS = TALKERS - {
    "npm", "yarn", "pnpm", "make", "cargo", "docker", "podman", "kubectl", "aws", "gcloud",
    "terraform", "helm", "pip",
} | frozenset(
    {
        "head",
        "tail",
        "less",
        "more",
        "wc",
        "nl",
        "tac",
        "rev",
        "od",
        "xxd",
        "hexdump",
        "strings",
        "cmp",
        "comm",
        "diff3",
        "sdiff",
        "colordiff",
        "delta",
        "bat",
        "md5sum",
        "sha1sum",
        "sha256sum",
        "sha512sum",
        "b2sum",
        "cksum",
        "shasum",
        "md5",
        "sum",
        "du",
        "tree",
        "exa",
        "eza",
        "lsd",
        "realpath",
        "readlink",
        "namei",
        "column",
        "fold",
        "fmt",
        "expand",
        "unexpand",
        "paste",
        "join",
        "sort",
        "uniq",
        "yq",
        "gawk",
        "mawk",
        "nawk",
        "gsed",
        "gfind",
        "bfs",
        "fd",
        "source",
        ".",
        "bash",
        "sh",
        "zsh",
        "dash",
        "ksh",
        "python",
        "python3",
        "node",
        "ruby",
        "perl",
        "php",
        "time",
        "timeout",
        "env",
        "nice",
        "nohup",
        "stdbuf",
        "xargs",
        "sudo",
        "wait",
        "trap",
        "unset",
        "readonly",
        "typeset",
        "shift",
        "let",
        "eval",
        "exec",
        "builtin",
        "alias",
        "unalias",
        "ulimit",
        "umask",
        "jobs",
        "fg",
        "bg",
        "popd",
        "pwd",
        "mapfile",
        "readarray",
        "getopts",
        "history",
        "base64",
        "base32",
        "basenc",
        "iconv",
        "zcat",
        "bzcat",
        "xzcat",
        "zgrep",
        "zless",
        "getfacl",
        "lsattr",
        "lsof",
        "fuser",
        "ssh-add",
        "docker-compose",
        "dotenv",
        "mypy",
        "flake8",
        "pylint",
        "shellcheck",
        "cloc",
        "tokei",
        "scc",
        "if",
        "while",
        "--",
    }
)  # fmt: skip

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
