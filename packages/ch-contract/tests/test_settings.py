"""The settings in force: defaults, user, project; a project that is not trusted may only tighten."""

from __future__ import annotations

import json
import os

import pytest
from hypothesis import given
from hypothesis import settings as budget
from hypothesis import strategies as st

from ch_contract import settings
from ch_contract.problems import Problem

merge, of_user = settings.merge, settings.of_user
HOOK = {"command": "/bin/true"}
OTHER_HOOK = {"command": "/bin/false"}

# key: (user's value, project's value, effective when trusted, effective when not)
# DROPPED: the user's value stands and the key is named.
DROPPED = object()
TABLE = {
    "timeout, longer": ("timeout", 60, 90, 90, DROPPED),
    "timeout, shorter": ("timeout", 60, 30, 30, 30),
    "timeout, equal": ("timeout", 60, 60, 60, 60),
    "allowlist": ("allowlist", ["a"], ["b"], ["a", "b"], DROPPED),
    "denylist": ("denylist", ["a"], ["b"], ["a", "b"], ["a", "b"]),
    "protected_paths": ("protected_paths", ["a"], ["b"], ["a", "b"], ["a", "b"]),
    "hard_block_patterns": ("hard_block_patterns", ["a"], ["b"], ["a", "b"], ["a", "b"]),
    "mutation_gate, stricter": ("mutation_gate", "review", "deny", "deny", "deny"),
    "mutation_gate, looser": ("mutation_gate", "deny", "review", DROPPED, DROPPED),
    "mutation_gate, equal": ("mutation_gate", "deny", "deny", "deny", "deny"),
    "shell_sandbox, stricter": ("shell_sandbox", "optional", "strict", "strict", "strict"),
    "shell_sandbox, looser": ("shell_sandbox", "strict", "optional", DROPPED, DROPPED),
    "shell_sandbox, equal": ("shell_sandbox", "strict", "strict", "strict", "strict"),
    "result_budget_chars": ("result_budget_chars", 5000, "chatgpt", "chatgpt", DROPPED),
    "color": ("color", "auto", "never", "never", DROPPED),
    "hooks": (
        "hooks",
        {"PreRun": [HOOK]},
        {"PreRun": [OTHER_HOOK], "PostRun": [HOOK]},
        {"PreRun": [HOOK, OTHER_HOOK], "PostRun": [HOOK]},
        DROPPED,
    ),
    "tools": ("tools", [{"name": "a", "shape": "s"}], [{"name": "b", "shape": "s"}],
              [{"name": "a", "shape": "s"}, {"name": "b", "shape": "s"}], DROPPED),
    "mode": ("mode", "solo", "team", "team", DROPPED),
    "rails": ("rails", {"frame": "warn"}, {"frame": "off"}, {"frame": "off"}, DROPPED),
    "rules": ("rules", {"a": 1}, {"b": 2}, {"b": 2}, DROPPED),
    "state_dir": ("state_dir", "/a", "/b", DROPPED, DROPPED),
    "shell": ("shell", "bash", "zsh", DROPPED, DROPPED),
    "backend": ("backend", "local", "local", DROPPED, DROPPED),
    "backends": ("backends", {"a": {}}, {"b": {}}, DROPPED, DROPPED),
    "clipboard": ("clipboard", "file", "xclip", DROPPED, DROPPED),
    "network": ("network", "none", "host", DROPPED, DROPPED),
    "unix_sockets": ("unix_sockets", ["/a"], ["/b"], DROPPED, DROPPED),
    "tmp": ("tmp", "private", "host", DROPPED, DROPPED),
    "devices": ("devices", ["/a"], ["/b"], DROPPED, DROPPED),
    "bwrap_path": ("bwrap_path", "/a", "/b", DROPPED, DROPPED),
}  # fmt: skip


def test_the_table_names_every_key():
    assert {row[0] for row in TABLE.values()} == settings.KEYS


@pytest.mark.parametrize("trusted", [True, False], ids=["trusted", "untrusted"])
@pytest.mark.parametrize("row", TABLE.values(), ids=TABLE)
def test_merge(row, trusted):
    key, users, projects, if_trusted, if_not = row
    expected = if_trusted if trusted else if_not
    values, ignored = merge(of_user({key: users}), {key: projects}, trusted=trusted)
    wanted = users if expected is DROPPED else expected
    assert (values, ignored) == (
        {**settings.DEFAULTS, key: wanted},
        [key] if expected is DROPPED else [],
    )


@pytest.mark.parametrize("row", TABLE.values(), ids=TABLE)
def test_the_project_alone(row):
    """What an untrusted project could loosen is left out against the defaults too."""
    key, _users, projects, _trusted, if_not = row
    values, ignored = merge(of_user({}), {key: projects}, trusted=False)
    standing = settings.DEFAULTS.get(key)
    if if_not is DROPPED and values.get(key) != projects:
        assert values.get(key) == standing
        # an equal value is no loosening, and nothing to name, except for keys of the user alone
        assert ignored == [key] or projects == standing


def test_nothing_is_shared_with_the_defaults():
    before = json.dumps(settings.DEFAULTS)
    values, _ = merge(of_user({}), {"denylist": ["x"]}, trusted=True)
    values["denylist"].append("y")
    values, _ = merge(of_user({}), {"hooks": {"PreRun": [HOOK]}}, trusted=True)
    values["hooks"]["PreRun"].append(HOOK)
    assert json.dumps(settings.DEFAULTS) == before


def test_unknown_keys_are_left_out_and_can_be_named():
    assert merge(of_user({"theme": 1}), {"$schema": "x", "dark": 2}, trusted=False) == (
        settings.DEFAULTS,
        [],
    )
    assert settings.without_effect({"theme": 1, "$schema": "x", "a": 1, "timeout": 2}) == [
        "a",
        "theme",
    ]


@pytest.mark.parametrize(
    ("values", "keys"),
    [
        ({"denylsit": ["sudo *"]}, ["denylsit"]),
        ({"hooks": {"PostRun": [HOOK]}}, ["hooks"]),
        ({"hooks": {}, "mode": "solo", "network": "host", "rails": {}}, []),
        ({"mode": "paired", "network": "none", "rules": {"a": 1}}, ["mode", "network", "rules"]),
        ({"shell_sandbox": "strict", "color": "never", "timeout": 5}, []),
    ],
)
def test_keys_this_version_does_not_act_on_are_named(project, user_settings, values, keys):
    assert settings.without_effect(values) == keys
    path = user_settings(values)
    found = settings.load(str(project), str(project)).left_out
    assert found == ([(str(path), keys)] if keys else [])


@pytest.mark.parametrize("event", ["PayloadCaptured", "PreRun", "RunClosed"])
def test_a_hook_that_decides_is_not_passed_over(project, user_settings, event):
    path = user_settings({"hooks": {event: [HOOK]}})
    with pytest.raises(Problem) as caught:
        settings.load(str(project), str(project))
    assert (caught.value.kind, caught.value.message) == (
        "unsupported",
        f"{path}: hooks.{event}: this version runs no hooks, and nothing runs unchecked",
    )


RANDOM = st.fixed_dictionaries(
    {},
    optional={
        "timeout": st.integers(1, 86400),
        "allowlist": st.lists(st.sampled_from("abc"), max_size=3),
        "denylist": st.lists(st.sampled_from("abc"), max_size=3),
        "protected_paths": st.lists(st.sampled_from("abc"), max_size=3),
        "hard_block_patterns": st.lists(st.sampled_from("abc"), max_size=3),
        "mutation_gate": st.sampled_from(["review", "deny"]),
        "shell_sandbox": st.sampled_from(["optional", "strict"]),
        "hooks": st.just({"PreRun": [HOOK]}),
        "tools": st.just([{"name": "a", "shape": "s"}]),
        "network": st.sampled_from(["host", "none"]),
        "shell": st.sampled_from(["bash", "zsh"]),
        "mode": st.just("loose"),
        "rails": st.just({"frame": "off"}),
        "state_dir": st.just("/x"),
    },
)


@budget(deadline=None, max_examples=300)
@given(RANDOM, RANDOM)
def test_an_untrusted_project_only_tightens(user, project):
    alone, _ = merge(of_user(user), {}, trusted=False)
    values, ignored = merge(of_user(user), project, trusted=False)
    for key in settings.TIGHTENING_LISTS:
        assert values[key] == [*alone[key], *project.get(key, [])]
    for key, order in settings.STRICTER.items():
        assert order.index(values[key]) >= order.index(alone[key])
    assert values["timeout"] <= alone["timeout"]
    tightened = {*settings.TIGHTENING_LISTS, *settings.STRICTER, "timeout"}
    for key in settings.KEYS - tightened:
        assert values.get(key) == alone.get(key)
        assert (key in ignored) == (key in project)


@budget(deadline=None, max_examples=200)
@given(RANDOM, RANDOM)
def test_a_trusted_project_loosens_neither_gate_nor_sandbox_nor_what_is_the_users(user, project):
    alone, _ = merge(of_user(user), {}, trusted=True)
    values, _ = merge(of_user(user), project, trusted=True)
    for key, order in settings.STRICTER.items():
        assert order.index(values[key]) >= order.index(alone[key])
    for key in settings.USER_ONLY:
        assert values.get(key) == alone.get(key)


# ---- files


def test_without_files_the_defaults_are_in_force(project):
    found = settings.load(str(project), str(project))
    assert (found.values, found.left_out) == (settings.DEFAULTS, [])
    assert (found["timeout"], found.get("shell")) == (120, None)


def write_project(folder, values):
    path = folder / ".clip-harness" / "settings.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(values))
    return str(path)


def test_an_untrusted_project_file_is_named_with_what_was_left_out(project, user_settings):
    own = user_settings({"denylist": ["sudo *"], "theme": "dark"})
    path = write_project(project, {"denylist": ["npm *"], "shell": "zsh", "allowlist": ["*"]})
    found = settings.load(str(project), str(project))
    assert found.values == {**settings.DEFAULTS, "denylist": ["sudo *", "npm *"]}
    assert found.left_out == [(str(own), ["theme"]), (path, ["allowlist", "shell"])]


def test_a_project_file_that_only_tightens_is_not_complained_about(project):
    write_project(project, {"denylist": ["npm *"]})
    assert settings.load(str(project), str(project)).left_out == []


def test_the_digest_is_of_the_effective_values(project, user_settings):
    user_settings({"timeout": 60, "color": "never"})
    one = settings.load(str(project), None).digest
    user_settings({"color": "never", "timeout": 60, "unknown": 1})
    assert settings.load(str(project), None).digest == one
    user_settings({"color": "never", "timeout": 61})
    assert settings.load(str(project), None).digest != one


BROKEN = {
    "empty": ("", "{file} is empty"),
    "comment": ("// x\n{}", "{file} is not JSON: Expecting value: line 1 column 1 (char 0)"),
    "list": ("[]", "{file}: the document: [] is not of type 'object'"),
    "twice": (
        '{"timeout": 1, "timeout": 2}',
        "{file}: the key 'timeout' stands twice in one object",
    ),
    "type": ('{"timeout": "60"}', "{file}: timeout: '60' is not of type 'integer'"),
    "fraction": ('{"timeout": 60.0}', "{file}: timeout: 60.0 is not of type 'integer'"),
    "bound": ('{"timeout": 0}', "{file}: timeout: 0 is less than the minimum of 1"),
    "word": (
        '{"mutation_gate": "allow"}',
        "{file}: mutation_gate: 'allow' is not one of ['review', 'deny']",
    ),
    "entry": ('{"protected_paths": [1]}', "{file}: protected_paths.0: 1 is not of type 'string'"),
    "hook": (
        '{"hooks": {"PreRun": [{"timeout": 1}]}}',
        "{file}: hooks.PreRun.0: 'command' is a required property",
    ),
    "mark": ("\ufeff{}", "{file} begins with a byte order mark"),
    "large": (" " * 1_048_577, "{file} is larger than 1,048,576 bytes"),
}


@pytest.mark.parametrize(("text", "message"), BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("whose", ["user", "project"])
def test_a_broken_file_is_named_with_its_key(project, user_settings, whose, text, message):
    if whose == "user":
        file = user_settings(text)
    else:
        file = project / ".clip-harness" / "settings.json"
        file.parent.mkdir()
        file.write_text(text)
    with pytest.raises(Problem) as caught:
        settings.load(str(project), str(project))
    assert (caught.value.kind, caught.value.hint) == (
        "settings",
        "correct the file; nothing runs until it can be read",
    )
    assert caught.value.message == message.format(file=file)


def test_a_pipe_in_the_place_of_a_project_file_does_not_hang(project):
    folder = project / ".clip-harness"
    folder.mkdir()
    os.mkfifo(folder / "settings.json")
    with pytest.raises(Problem, match="it is no regular file"):
        settings.load(str(project), str(project))


@pytest.mark.parametrize("target", ["/dev/zero", "/dev/full", "/"])
def test_a_link_to_something_endless_does_not_hang(project, target):
    folder = project / ".clip-harness"
    folder.mkdir()
    (folder / "settings.json").symlink_to(target)
    with pytest.raises(Problem) as caught:
        settings.load(str(project), str(project))
    assert caught.value.kind == "system"


def test_a_folder_below_cannot_drop_what_the_root_forbids(project):
    below = project / "a"
    for folder, name in ((project, "root *"), (below, "below *")):
        (folder / ".clip-harness").mkdir(parents=True)
        text = json.dumps({"denylist": [name], "allowlist": [name]})
        (folder / ".clip-harness" / "settings.json").write_text(text)
    found = settings.load(str(below), str(project))
    assert found["denylist"] == ["root *", "below *"]
    assert found["allowlist"] == []
    assert [keys for _, keys in found.left_out] == [["allowlist"], ["allowlist"]]


@pytest.mark.parametrize("whose", ["user", "project"])
def test_a_link_to_nothing_is_not_taken_for_absence(project, user_settings, whose):
    path = user_settings("{}") if whose == "user" else project / ".clip-harness" / "settings.json"
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to("nowhere.json")
    with pytest.raises(Problem) as caught:
        settings.load(str(project), str(project))
    assert caught.value.kind == "settings"
    assert caught.value.message == f"{path}: it is a link to a file that is not there"
