"""From a text to simple commands: nasty shapes, and agreement with a real bash."""

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ch_gate import deadline, shfmt, syntax
from ch_gate.commands import Reading

BASH = "/bin/bash"


def read(text, dialect="bash", seconds=10) -> Reading:
    clock = shfmt.Clock(seconds)
    return syntax.read(text, dialect, lambda part, tongue: shfmt.parse(part, tongue, clock))


def programs(text, dialect="bash"):
    """The programs a text starts, in order; the source where a name isn't known."""
    reading = read(text, dialect)
    assert reading.cause is None, reading.cause
    return [
        command.path or command.words[0].source for command in reading.commands if command.words
    ]


NASTY = {
    "two here-documents": ("a <<X <<Y\n1\nX\n2\nY\nb", ["a", "b"]),
    "here-document and semicolon": ("a <<X; b\n; c\nX", ["a", "b"]),
    "here-document and pipe": ("a <<X 2>&1 | b\n| c\nX", ["a", "b"]),
    "leading here-document": ("<<X a\nc\nX", ["a"]),
    "quoted ) in substitution": ("a $(b ')' c)", ["a", "b"]),
    "split quotes": ("r''m x", ["rm"]),
    "continuation in a word": ("r\\\nm x", ["rm"]),
    "ansi-c verb": ("$'\\x72\\155' x", ["rm"]),
    "comment": ("a # b; c\nd", ["a", "d"]),
    "case arm": ("case x in a|b) c ;; (d) e ;; esac", ["c", "e"]),
    "apostrophe in here-document in substitution": ("a $(cat <<'X'\nit's\nX\n)", ["a", "cat"]),
    "process substitutions": ("a <(b) >(c)", ["a", "b", "c"]),
    "regex in test": ("[[ x =~ (a|b;c) ]] && d", ["d"]),
    "arithmetic for": ("for ((i=0;i<$(n);i++)); do a; done", ["n", "a"]),
    "coproc": ("coproc a b", ["a"]),
    "named coproc": ("coproc N { a; }", ["a"]),
    "function": ("f() { a; }; f", ["a", "f"]),
    "function keyword": ("function f { a; }", ["a"]),
    "default value": ("a ${x:-$(b)}", ["a", "b"]),
    "array elements": ("x=(a $(b))", ["b"]),
    "subscript": ("x[$(a)]=1", ["a"]),
    "backticks in backticks": ("a `b \\`c\\``", ["a", "b", "c"]),
    "backslashes in backticks": ("a `r\\\\m`", ["a", "rm"]),
    "escaped space": ("a\\ b c", ["a b"]),
    "braces": ("{a,b} c", ["a"]),
    "redirect first": (">x a 2>&1 b", ["a"]),
    "redirect in the middle": ("a >x b <y c", ["a"]),
    "negation and time": ("! time -p a", ["a"]),
    "nested quotes": ("\"$(a \"$(b 'c d')\")\"", ["\"$(a \"$(b 'c d')\")\"", "b"]),
    "unquoted here-document body": ("a <<X\n$(b) `c` ${d:-$(e)}\nX", ["a", "b", "c", "e"]),
    "quoted here-document body": ("a <<'X'\n$(b)\nX", ["a"]),
    "until and elif": ("until a; do b; done; if c; then d; elif e; then f; fi",
                       ["a", "b", "c", "d", "e", "f"]),
    "select": ("select i in $(a); do b; done", ["a", "b"]),
    "declare": ("export A=$(b)", ["export", "b"]),
    "let": ("let x=$(a)", ["a"]),
    "background": ("a & b &", ["a", "b"]),
    "carriage through a list": ("a && b || c; d | e |& f", ["a", "b", "c", "d", "e", "f"]),
}  # fmt: skip


@pytest.mark.parametrize("name", NASTY)
def test_nasty_shapes(name):
    """Every simple command is found, and nothing that is only text."""
    text, expected = NASTY[name]
    found = programs(text)
    if name == "nested quotes":
        assert found == [text, "a", "b"]
    else:
        assert found == expected


def test_the_form_of_a_command():
    """Words, assignments, redirects, pipes, scopes and contexts of one line."""
    reading = read('A=1 b "c d" 2>>e <f | (cd g && h) &')
    rows = [
        (
            [word.value for word in command.words],
            [(item.name, item.value.value) for item in command.assignments],
            [(item.descriptor, item.op, item.target.value) for item in command.redirects],
            command.scope,
            command.contexts,
            [other.path for other in command.fed_by],
            [other.path for other in command.feeds],
            (command.start, command.end),
        )
        for command in reading.commands
    ]
    assert rows == [
        (["b", "c d"], [("A", "1")], [("2", ">>", "e"), (None, "<", "f")], (0, 1, 2),
         ("background",), [], ["cd", "h"], (0, 19)),
        (["cd", "g"], [], [], (0, 1, 3, 4), ("background", "subshell"), ["b"], [], (23, 27)),
        (["h"], [], [], (0, 1, 3, 4), ("background", "subshell", "branch"), ["b"], [], (31, 32)),
    ]  # fmt: skip


def test_a_nested_program_knows_who_starts_it():
    """Wrapped, started and written commands, each with its outer one and the place of its text."""
    reading = read("sudo -u x find . -exec sh -c 'rm \"$1\"' _ {} \\;")
    rows = [
        (command.path, command.how, command.outer and command.outer.path, command.appended,
         command.start, command.end)
        for command in reading.commands
    ]  # fmt: skip
    assert rows == [
        ("sudo", "", None, False, 0, 46),
        ("find", "wrapped", "sudo", False, 10, 46),
        ("sh", "started", "find", True, 23, 43),
        ("rm", "written", "sh", True, 29, 38),
    ]


def test_a_text_is_parsed_once_however_often_it_stands():
    """Twenty equal programs cost one parse; more than 24 distinct ones are refused."""
    asked = []

    def parse(text, dialect):
        asked.append(text)
        return shfmt.parse(text, dialect, shfmt.Clock(10))

    line = "; ".join(["sh -c 'ls'"] * 20)
    assert syntax.read(line, "bash", parse).cause is None
    assert asked == [line, "ls"]
    many = "; ".join(f"sh -c 'ls {number}'" for number in range(30))
    assert "more than 24 programs" in syntax.read(many, "bash", parse).cause


@pytest.mark.parametrize(
    "text",
    [
        "(" * 60 + ")" * 60,
        "$((" + "(" * 5000 + "1" + ")" * 5000 + "))",
        "echo " + "$(" * 200,
        "{a,b}" * 20,
        "a {1..100000}",
        "x" * 2_000_000,
        "a;" * 40_000,
        " && ".join(["a"] * 3000),
        "eval " * 60 + "a",
        "if true; then " * 300 + "a; " + "fi; " * 300,
    ],
    ids=lambda text: text[:12],
)
def test_what_would_starve_the_gate_is_unreadable_in_time(text):
    """Deep, huge and exploding texts give a cause, within the deadline."""
    import time

    start = time.monotonic()
    reading = read(text, seconds=deadline.DEADLINE_SECONDS)
    assert reading.cause is not None
    # the deadline, and what a busy machine adds to it
    assert time.monotonic() - start < 2


# -- agreement with bash -----------------------------------------------------------------------

PIECE = st.sampled_from(
    ["a", "bc", "-x", "1", "é", "'d e'", '"f g"', "\\ ", "\\h", "$'i\\tj'", "$'\\x41\\u00e9'", '""',
     "''", "k\\\nl", '"m\\\nn"', '"\\$o\\p\\\\"', "{q,r}", "{1..3}", "{s", "t}", ",", "=", "%", "+",
     "'{u,v}'", '"\'"', "'\"'", "\\'", "{w,{x,y}}", "{z}", "{a..c}", "{01..3}", "@", "/", ":", "."]
)  # fmt: skip
WORD = st.lists(PIECE, min_size=1, max_size=5).map("".join)


@given(st.lists(WORD, min_size=1, max_size=5))
@settings(max_examples=150, deadline=None)
def test_words_are_what_a_program_under_bash_receives(words):
    """Quoting and braces give exactly the words that a stub program gets from a real bash."""
    text = "stub " + " ".join(words)
    reading = read(text)
    assert reading.cause is None
    (command,) = reading.commands
    script = f"stub() {{ printf '%s\\0' \"$@\"; }}; {text}"
    done = subprocess.run(
        [BASH, "--norc", "-c", script], capture_output=True, check=True, env={"LC_ALL": "C.UTF-8"}
    )
    received = done.stdout.decode().split("\0")[:-1] if done.stdout else []
    if received == [""] and len(command.words) == 1:
        received = []
    assert [word.value for word in command.words[1:]] == received


FRAGMENT = st.sampled_from(
    ["a", "b c", ";", "&&", "||", "|", "\n", "(", ")", "{ ", "; }", "if ", "then ", "fi", "$(", "`",
     "'", '"', "while ", "do ", "done", "<x", ">y", "$x", "${y}", "f() ", "case z in ", "q) ", ";; ",
     "esac", "#", " ", "&", "!", " [[ ", " ]] ", "((", "))", "=", "x=1 "]
)  # fmt: skip


@given(st.lists(FRAGMENT, min_size=1, max_size=7).map("".join))
@settings(max_examples=150, deadline=None)
def test_what_bash_refuses_is_never_read(text):
    """Where `bash -n` says no, the reading has a cause (the other way round it may be stricter)."""
    done = subprocess.run([BASH, "-n", "-c", text], capture_output=True, check=False)
    if done.returncode != 0 or b"syntax error" in done.stderr:
        assert read(text).cause is not None, done.stderr


@given(st.text(max_size=60) | st.lists(FRAGMENT | PIECE, max_size=12).map("".join))
@settings(max_examples=200, deadline=None)
def test_no_text_raises(text):
    """Whatever stands there, the answer is a reading."""
    for dialect in ("bash", "zsh", "posix"):
        assert read(text, dialect).text == text


def shell_quoted(text, depth):
    import shlex

    for _ in range(depth):
        text = f"sh -c {shlex.quote(text)}"
    return text


@given(st.integers(0, 6), st.sampled_from(["rm 'a b'", 'rm "it\'s"', "echo $(rm x)"]))
@settings(max_examples=30, deadline=None)
def test_a_verb_is_found_under_any_depth_of_quoting(depth, text):
    """Shell texts in shell texts are read to the bottom."""
    assert "rm" in programs(shell_quoted(text, depth))
