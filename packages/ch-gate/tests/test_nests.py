"""Any command in any nest: what is dangerous is never allowed, what is harmless never denied.

A nest is built from the inside out: the words are spelled in some way, then wrapped again and
again. The dangerous commands are those of the floor; the harmless ones mention them.
"""

import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ch_gate import patterns, policy, shfmt, syntax
from ch_gate.paths import Facts

# a verdict for every nest
pytestmark = pytest.mark.heavy

HOME = "/home/dev"
PROJECT = f"{HOME}/work/shop"
WHERE = Facts(PROJECT, PROJECT, HOME, surface=(f"{HOME}/.config/clip-harness",))
POLICY = policy.Policy(
    patterns.load({"hard_block_patterns": [], "denylist": [], "allowlist": []}), [], "review"
)

DANGEROUS = [
    "rm -rf /srv/ledger", "rmdir ../other", "unlink ~/notes.txt", "shred -u /etc/fstab",
    "truncate -s 0 /var/log/app.log", "dd if=/dev/zero of=/dev/sdq", "rm -rf $TARGET",
    "find /var/spool -delete", "git push -f origin main", "git push origin +main",
    "shutdown -h now", "systemctl reboot", "cat .env", "cp ~/.ssh/id_rsa key",
    "curl http://169.254.169.254/latest", "tee .clip-harness/settings.json",
    "clip-harness candidate decide c-1 --accept", "ch-exec run --command ls",
    "rm .claude/settings.json", "git push --mirror backup",
]  # fmt: skip
HARMLESS = [
    "ls -la src", "git status --short", "grep -rn 'rm -rf /srv' docs", "pytest -q tests",
    "echo 'shutdown -h now'", "git log --grep='push --force'", "cat README.md",
    "printf '%s' 'cat .env'", "ls ~/.ssh", "test -f .env", "git diff HEAD~1",
    "npm run build", "wc -l src/app.py", "cat .clip-harness/settings.json",
    "clip-harness candidate list", "man 8 shutdown", "jq .hooks .claude/settings.json",
]  # fmt: skip


def spelled(command, how):
    """The command with its first word spelled in another way."""
    first, _, rest = command.partition(" ")
    name = {
        "plain": first,
        "single": f"'{first}'",
        "double": f'"{first}"',
        "backslash": f"\\{first}",
        "pieces": f"{first[0]}''{first[1:]}",
        "escape": f"$'\\x{ord(first[0]):02x}{first[1:]}'",
        "continued": f"{first[0]}\\\n{first[1:]}",
    }[how]
    return f"{name} {rest}" if rest else name


SPELLINGS = ("plain", "single", "double", "backslash", "pieces", "escape", "continued")
# In sh a `$` before quotes is read in two ways, so nobody can tell.
COMMON = tuple(name for name in SPELLINGS if name != "escape")

# Shapes in which a harmless command stays allowed.
OPEN = {
    "list": lambda text: f"true; {text}",
    "and": lambda text: f"true && {text}",
    "or": lambda text: f"false || {text}",
    "before": lambda text: f"{text}\necho done",
    "pipe": lambda text: f"{text} | head -n 3",
    "subshell": lambda text: f"( {text}\n)",
    "group": lambda text: f"{{ {text}\n}}",
    "if": lambda text: f"if true; then {text}\nelse {text}\nfi",
    "loop": lambda text: f"for i in 1 2; do {text}\ndone",
    "while": lambda text: f"while false; do {text}\ndone",
    "case": lambda text: f"case a in b) :;; *) {text}\n;; esac",
    "not": lambda text: f"! {{ {text}\n}}",
    "argument": lambda text: f'echo "$( {text}\n)"',
    "shell": lambda text: f"sh -c {shlex.quote(text)}",
    "bash": lambda text: f"bash -c {shlex.quote(text)}",
    "redirect": lambda text: f"{{ {text}\n}} 2>/dev/null",
}
# Shapes that may be held for what they are.
OTHER = {
    "eval": lambda text: f"eval {shlex.quote(text)}",
    "function": lambda text: f"f() {{ {text}\n}}\nf",
    "here": lambda text: f"bash <<'END_OF_IT'\n{text}\nEND_OF_IT",
    "string": lambda text: f"bash <<< {shlex.quote(text)}",
    "piped": lambda text: f"printf '%s' {shlex.quote(text)} | sh",
    "background": lambda text: f"{{ {text}\n}} &",
    "process": lambda text: f"cat <( {text}\n)",
    "default": lambda text: f'echo "${{x:-$( {text}\n)}}"',
    "arithmetic": lambda text: f"echo $(( $( {text}\n) + 1 ))",
    "assigned": lambda text: f"x=$( {text}\n)",
    "trap": lambda text: f"trap {shlex.quote(text)} EXIT",
    "document": lambda text: f"cat <<END_OF_THAT\n$( {text}\n)\nEND_OF_THAT",
    "sudo": lambda text: f"sudo -u deploy -- sh -c {shlex.quote(text)}",
    "timeout": lambda text: f"timeout -k 5 1m bash -lc {shlex.quote(text)}",
    "env": lambda text: f"env -u PATHS A=b sh -c {shlex.quote(text)}",
    "xargs": lambda text: f"echo a | xargs -n 1 sh -c {shlex.quote(text)}",
    "find": lambda text: f"find . -maxdepth 0 -exec sh -c {shlex.quote(text)} \\;",
    "nice": lambda text: f"nice -n 5 nohup setsid sh -c {shlex.quote(text)}",
}
PREFIXES = ("", "", "", "sudo ", "command ", "A=1 B=2 ", "env C=d ", "nice -n 3 ", "timeout 9 ",
            "nohup ", "stdbuf -oL ", "time ", ">/dev/null ", "exec ")  # fmt: skip


def judge(text):
    clock = shfmt.Clock(10)
    reading = syntax.read(text, "bash", lambda part, tongue: shfmt.parse(part, tongue, clock))
    return policy.judge(reading, WHERE, POLICY)


def wrapped(command, shapes):
    for shape in shapes:
        command = shape(command)
    return command


def nests(*tables, most=4):
    shapes = [shape for table in tables for shape in table.values()]
    return st.lists(st.sampled_from(shapes), max_size=most)


@settings(deadline=None, max_examples=250)
@given(
    st.sampled_from(DANGEROUS), st.sampled_from(SPELLINGS), st.sampled_from(PREFIXES),
    nests(OPEN, OTHER),
)  # fmt: skip
def test_no_nest_lets_a_dangerous_command_run(command, how, prefix, shapes):
    """However it is spelled and wrapped, it is never allowed."""
    assert judge(wrapped(prefix + spelled(command, how), shapes))["decision"] != "allow"


@settings(deadline=None, max_examples=150)
@given(st.sampled_from(DANGEROUS), st.sampled_from(COMMON), nests(OPEN))
def test_open_shapes_hide_nothing_from_the_floor(command, how, shapes):
    """In lists, pipes, subshells, conditions and literal shells the floor itself denies it."""
    part = judge(wrapped(spelled(command, how), shapes))
    assert (part["decision"], part["source"]) == ("deny", "floor")


@settings(deadline=None, max_examples=250)
@given(
    st.sampled_from(HARMLESS), st.sampled_from(SPELLINGS), st.sampled_from(PREFIXES),
    nests(OPEN, OTHER),
)  # fmt: skip
def test_the_floor_never_denies_a_harmless_command(command, how, prefix, shapes):
    """Whatever it is wrapped in, text that only mentions danger is no danger."""
    assert judge(wrapped(prefix + spelled(command, how), shapes))["source"] != "floor"


@settings(deadline=None, max_examples=200)
@given(st.sampled_from(HARMLESS), nests(OPEN))
def test_open_shapes_of_allowed_commands_are_allowed(command, shapes):
    """A list, pipe, subshell, loop, condition, argument or literal shell adds no objection."""
    assert judge(wrapped(command, shapes))["decision"] == "allow"


@pytest.mark.parametrize("shape", [*OPEN, *OTHER])
@pytest.mark.parametrize("command", DANGEROUS)
def test_each_shape_around_each_dangerous_command(command, shape):
    """The table behind the property: one layer, all pairs."""
    assert judge(({**OPEN, **OTHER})[shape](command))["decision"] != "allow"
