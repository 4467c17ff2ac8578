"""The tables: what this version must never allow, what it must allow, the rules by name."""

import json
from pathlib import Path

import pytest

from ch_gate import patterns, policy, shfmt, syntax
from ch_gate.paths import Facts

CASES = Path(__file__).parent / "cases"
WHERE = Facts(
    "/work/repo", "/work/repo", "/home/user", surface=("/home/user/.config/clip-harness",)
)


def read(text, dialect="bash"):
    clock = shfmt.Clock(10)
    return syntax.read(text, dialect, lambda part, tongue: shfmt.parse(part, tongue, clock))


def judge(text, *, dialect="bash", gate="review", sandbox="optional", protected=(), **lists):
    values = {"hard_block_patterns": [], "denylist": [], "allowlist": [], **lists}
    rules = policy.Policy(patterns.load(values), list(protected), gate, sandbox)
    return policy.judge(read(text, dialect), WHERE, rules)


def table(name):
    return (CASES / f"{name}.txt").read_text(encoding="utf-8").removesuffix("\n").split("\n%%\n")


@pytest.mark.parametrize("command", table("never_allow"))
def test_what_must_never_be_allowed(command):
    """A mutation, a hidden program or a broken text is held or denied, however it is spelled."""
    assert judge(command)["decision"] in ("ask", "deny")


MISREAD = json.loads((CASES / "misread.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("dialect", "command"), [(name, row) for name, rows in MISREAD.items() for row in rows]
)
def test_what_a_shell_reads_otherwise_than_the_parser(dialect, command):
    """Comments, quotes, backticks and strings evaluated once more hide nothing in any dialect."""
    assert judge(command, dialect=dialect)["decision"] in ("ask", "deny")


@pytest.mark.parametrize("command", table("allow"))
def test_what_must_be_allowed(command):
    """Reads, searches, builds, tests and quoted text raise no alarm."""
    part = judge(command)
    assert (part["decision"], part["rule"], part["matches"]) == ("allow", None, [])


SETTINGS = json.loads((CASES / "settings.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("row", SETTINGS, ids=[row["name"] for row in SETTINGS])
def test_the_order_of_the_rules(row):
    """Each setting decides as its page says, in the fixed order."""
    part = judge(row["command"], **row["settings"])
    found = (part["decision"], part["rule"], part["source"], part["reviewable"])
    assert found == (row["decision"], row["rule"], row["source"], row["decision"] != "deny")


def test_a_reason_says_what_to_do_and_where():
    """The part names the command, the rule, the place, and for a change another way."""
    assert judge("ls; rm  -r build >/dev/null") == {
        "kind": "command",
        "subject": "ls; rm  -r build >/dev/null",
        "decision": "ask",
        "reviewable": True,
        "rule": "mutation",
        "reason": (
            "Held: rm -r build >/dev/null looks as if it changes something; a person must accept "
            "it. To change the text of a file, send an edit, patch or file block."
        ),
        "note": None,
        "source": "policy",
        "matches": [
            {"rule": "mutation", "text": "rm  -r build >/dev/null", "span": [4, 27]},
        ],
    }


def test_a_strict_sandbox_says_why_the_allow_list_is_not_enough():
    """The list approves it, but it may run in a sandbox only (R121)."""
    part = judge("ls; rm x", allowlist=["ls *", "rm *"], sandbox="strict")
    assert part["matches"] == [{"rule": "mutation", "text": "rm x", "span": [4, 8]}]
    assert part["reason"] == (
        "Held: rm x is on the allow list and looks as if it changes something. With shell_sandbox "
        "strict it runs in a sandbox only, which this version has not. To change the text of "
        "a file, send an edit, patch or file block."
    )


def test_spans_count_characters():
    """Letters of several bytes do not move the span of what follows."""
    part = judge("echo 'größe'; rm ü")
    assert part["matches"] == [{"rule": "mutation", "text": "rm ü", "span": [14, 18]}]


def test_every_match_is_named_and_the_strictest_decides():
    """A denial at the end beats an ask at the start, and both are listed."""
    part = judge("rm a; sudo ls", denylist=["sudo *"])
    assert part["decision"] == "deny"
    assert [match["rule"] for match in part["matches"]] == ["denylist", "mutation", "mutation"]


@pytest.mark.parametrize(
    ("command", "dialect", "decision"),
    [
        ("noglob rm *", "zsh", "deny"),
        ("=rm x", "zsh", "deny"),
        ("ls =vim", "zsh", "ask"),
        ('echo *(e:"date":)', "zsh", "ask"),
        ("echo ${(e)x}", "zsh", "ask"),
        ("repeat 3 date", "zsh", "ask"),
        ("- ls", "zsh", "ask"),
        ("nocorrect ls", "zsh", "ask"),
        ("ls -la && git status", "zsh", "allow"),
        ("ls -la && git status", "posix", "allow"),
        ("arr=(rm x)", "posix", "deny"),
        ("ls &> /dev/null", "posix", "ask"),
        ("{rm,-rf,x}", "posix", "ask"),
        ("$'rm' x", "posix", "ask"),
        ("ls | grep x", "mksh", "allow"),
    ],
)
def test_a_text_is_judged_in_the_dialect_that_runs_it(command, dialect, decision):
    """What one shell reads otherwise is never allowed on another's reading."""
    part = judge(command, dialect=dialect)
    assert part["decision"] == decision, part


@pytest.mark.parametrize(
    ("command", "decision"),
    [
        ("echo $(", "ask"),
        ("rm -rf $(", "deny"),
        ("r\\m -rf $(", "deny"),
        ("echo 'find . -delete", "deny"),
        ("cat .clip-harness/settings.json $(", "deny"),
        ("cat /home/user/.config/clip-harness/settings.json (", "deny"),
        ("vi .claude/settings.json (", "deny"),
        ("bash -c 'if'", "ask"),
        ("bash -c 'rm x; if'", "deny"),
    ],
)
def test_what_cannot_be_read(command, decision):
    """It is held, or denied where its text looks dangerous; the cause is in the reason."""
    part = judge(command, allowlist=["*"])
    assert (part["decision"], part["rule"], part["reviewable"]) == (
        decision, "unreadable-command", decision == "ask",
    )  # fmt: skip
    assert "could not be read (" in part["reason"]


def test_a_file_change_is_always_reviewed():
    """A change asks; a protected or deceiving path is denied."""
    rules = policy.Policy(
        patterns.load({"hard_block_patterns": [], "denylist": [], "allowlist": ["*"]}),
        [".env", "~/.ssh", "deploy/*.pem"],
        "review",
    )
    found = {
        path: (part["decision"], part["rule"], part["reviewable"], part["source"])
        for path in ("src/a.py", ".env", "sub/.env", ".ENV", "a/../.env", "~/.ssh/config",
                     "/home/user/.ssh/x", "deploy/k.pem", "src/a\u202e.py", "deploy/k.txt")
        for part in [policy.judge_change(path, WHERE, rules)]
    }  # fmt: skip
    assert policy.judge_change("sub/.env", WHERE, rules)["reason"] == (
        "Denied: protected_paths names .env, and no payload may change that."
    )
    review = ("ask", "file-review", True, "policy")
    denied = ("deny", "protected-path", False, "settings")
    assert found == {
        "src/a.py": review,
        ".env": denied,
        "sub/.env": denied,
        ".ENV": denied,
        "a/../.env": denied,
        "~/.ssh/config": denied,
        "/home/user/.ssh/x": denied,
        "deploy/k.pem": denied,
        "src/a\u202e.py": ("deny", "suspicious-characters", False, "policy"),
        "deploy/k.txt": review,
    }
