"""The settings in force: defaults, user, project; a project that is not trusted may only tighten."""

from __future__ import annotations

import json
import os

import pytest
from hypothesis import given
from hypothesis import settings as budget
from hypothesis import strategies as st

from ch_contract import settings, trust
from ch_contract.problems import Problem
from ch_contract.quiet_hashlib import hexdigest

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
    why = "looser" if key in settings.STRICTER else "untrusted"
    why = "user-only" if key in settings.USER_ONLY else why
    assert (values, ignored) == (
        {**settings.DEFAULTS, key: wanted},
        {key: why} if expected is DROPPED else {},
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
        assert list(ignored) == [key] or projects == standing


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
        {},
    )
    assert settings.without_effect({"theme": 1, "$schema": "x", "a": 1, "timeout": 2}) == {
        "theme": "unknown",
        "a": "unknown",
    }


@pytest.mark.parametrize(
    ("values", "keys"),
    [
        ({"denylsit": ["sudo *"]}, {"denylsit": "unknown"}),
        ({"hooks": {"PostRun": [HOOK]}}, {"hooks": "not-in-this-version"}),
        ({"hooks": {}, "mode": "solo", "network": "host", "rails": {}}, {}),
        (
            {"mode": "paired", "network": "none", "rules": {"a": 1}, "a": 1},
            {**dict.fromkeys(["mode", "network", "rules"], "not-in-this-version"), "a": "unknown"},
        ),
        ({"shell_sandbox": "strict", "color": "never", "timeout": 5}, {}),
    ],
)
def test_keys_this_version_does_not_act_on_are_named(project, user_settings, values, keys):
    assert settings.without_effect(values) == keys
    path = user_settings(values)
    found = settings.load(str(project), str(project)).left_out
    assert found == ([(str(path), told(keys))] if keys else [])


def told(reasons):
    """What a verdict says of keys without effect."""
    return [{"key": key, "why": why} for key, why in sorted(reasons.items())]


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
    assert found.left_out == [
        (str(own), told({"theme": "unknown"})),
        (path, told({"allowlist": "untrusted", "shell": "user-only"})),
    ]


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
    assert [keys for _, keys in found.left_out] == [told({"allowlist": "untrusted"})] * 2


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


# ---- trust


def trusted(state, path):
    """Trust the settings file `path` as it is."""
    with open(path, "rb") as file:
        trust.add(str(state), trust.folder_of(path), hexdigest(file.read()), lambda: None)
    return path


HOSTILE = {
    "allowlist": ["*"],
    "denylist": ["npm *"],
    "timeout": 86400,
    "mutation_gate": "review",
    "shell_sandbox": "optional",
    "state_dir": "/elsewhere",
    "shell": "zsh",
    "rails": {"frame": "off"},
    "theme": "dark",
}


def test_a_trusted_file_counts_as_far_as_a_project_may(project, state, user_settings):
    """Its lists and values count; what it may never loosen, and what is the user's, does not."""
    user_settings({"mutation_gate": "deny", "shell_sandbox": "strict", "allowlist": ["ls *"]})
    path = write_project(project, HOSTILE)
    always = {
        "mutation_gate": "looser",
        "shell_sandbox": "looser",
        "state_dir": "user-only",
        "shell": "user-only",
        "rails": "not-in-this-version",
        "theme": "unknown",
    }
    before = settings.load(str(project), str(project))
    assert before["allowlist"] == ["ls *"]
    assert (before["timeout"], before["denylist"]) == (120, ["npm *"])
    assert before.left_out == [
        (path, told({**always, "allowlist": "untrusted", "timeout": "untrusted"}))
    ]
    trusted(state, path)
    after = settings.load(str(project), str(project))
    assert after["allowlist"] == ["ls *", "*"]
    assert (after["timeout"], after["denylist"]) == (86400, ["npm *"])
    assert (after["mutation_gate"], after["shell_sandbox"]) == ("deny", "strict")
    assert (after.get("state_dir"), after.get("shell")) == (None, None)
    assert after.left_out == [(path, told(always))]


@pytest.mark.parametrize("event", settings.GATE_EVENTS)
def test_a_trusted_hook_that_decides_is_not_passed_over(project, state, event):
    path = write_project(project, {"hooks": {event: [HOOK]}})
    found = settings.load(str(project), str(project))
    assert found.left_out == [(path, told({"hooks": "not-in-this-version"}))]
    trusted(state, path)
    with pytest.raises(Problem) as caught:
        settings.load(str(project), str(project))
    assert (caught.value.kind, caught.value.message) == (
        "unsupported",
        f"{path}: hooks.{event}: this version runs no hooks, and nothing runs unchecked",
    )


def allows(cwd, project):
    return settings.load(str(cwd), str(project))["allowlist"]


def test_each_of_two_files_is_trusted_by_itself(project, state):
    below = project / "below"
    root, own = (
        write_project(folder, {"allowlist": [name]})
        for folder, name in ((project, "root *"), (below, "below *"))
    )
    assert allows(below, project) == []
    trusted(state, own)
    assert allows(below, project) == ["below *"]
    assert allows(project, project) == []
    trusted(state, root)
    assert allows(below, project) == ["root *", "below *"]


def test_one_changed_byte_takes_the_trust_away(project, state):
    path = trusted(state, write_project(project, {"allowlist": ["*"]}))
    assert allows(project, project) == ["*"]
    with open(path, "a") as file:
        file.write(" ")
    assert allows(project, project) == []


def test_the_same_bytes_in_another_folder_are_not_trusted(project, state):
    """A clone beside it, or a copy below it, is another folder."""
    trusted(state, write_project(project, {"allowlist": ["*"]}))
    for other in (project.parent / "clone", project / "below"):
        write_project(other, {"allowlist": ["*"]})
        assert allows(other, other) == []


def test_a_link_as_settings_file_is_the_bytes_it_gives(project, state):
    """Trusted through the link; another target, or other bytes behind it, is another file."""
    target = project / "shared.json"
    target.write_text('{"allowlist": ["a"]}')
    path = project / ".clip-harness" / "settings.json"
    path.parent.mkdir()
    path.symlink_to(target)
    trusted(state, str(path))
    assert allows(project, project) == ["a"]
    target.write_text('{"allowlist": ["b"]}')
    assert allows(project, project) == []
    # a plain file with the trusted bytes is the same settings of the same folder
    path.unlink()
    path.write_text('{"allowlist": ["a"]}')
    assert allows(project, project) == ["a"]


def test_a_linked_folder_of_settings_belongs_to_the_folder_that_links_it(project, state):
    shared = project.parent / "shared"
    shared.mkdir()
    (shared / "settings.json").write_text('{"allowlist": ["a"]}')
    other = project.parent / "other"
    other.mkdir()
    for folder in (project, other):
        (folder / ".clip-harness").symlink_to(shared)
    trusted(state, str(project / ".clip-harness" / "settings.json"))
    assert (allows(project, project), allows(other, other)) == (["a"], [])


def test_a_folder_reached_through_a_link_is_the_real_one(project, state):
    """Trusted by one name it is trusted by the other, and its file counts once."""
    link = project.parent / "link"
    link.symlink_to(project)
    path = write_project(project, {"allowlist": ["a"], "denylist": ["b"]})
    trusted(state, str(link / ".clip-harness" / "settings.json"))
    found = settings.load(str(link), str(project))
    assert (found["allowlist"], found["denylist"]) == (["a"], ["b"])
    other = project.parent / "other"
    write_project(other, {"allowlist": ["c"]})
    link.unlink()
    link.symlink_to(other)
    assert allows(link, other) == []
    assert (allows(project, project), path) == (["a"], str(project / ".clip-harness/settings.json"))


def test_what_is_hashed_is_what_is_parsed(project, state, monkeypatch):
    """A file that changes as soon as it was read never counts with the bytes that came later."""
    path = trusted(state, write_project(project, {"allowlist": ["good *"]}))
    read = settings.read_bytes
    reads = []

    def racing(name):
        data = read(name)
        if name == path:
            reads.append(name)
            with open(path, "w") as file:
                file.write('{"allowlist": ["*"]}')
        return data

    monkeypatch.setattr(settings, "read_bytes", racing)
    assert allows(project, project) == ["good *"]
    assert reads == [path]
    assert allows(project, project) == []


def test_without_a_project_file_no_state_is_read(project, state, monkeypatch):
    state.mkdir(parents=True)
    (state / "trust.json").write_text("{")
    assert settings.load(str(project), str(project)).left_out == []


DAMAGED = {
    "empty": ("", "{file} is empty"),
    "text": ("{", "{file} is not JSON: Expecting property name enclosed in double quotes: line 1"),
    "later": (
        '{"format": "clip-harness/trust@2", "folders": []}',
        "{file}: format: 'clip-harness/trust@2' is not one of ['clip-harness/trust@1']",
    ),
    "list": ("[]", "{file}: the document: [] is not of type 'object'"),
}


@pytest.mark.parametrize(("text", "message"), DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_store_trusts_nothing_and_says_so(project, state, text, message):
    trusted(state, write_project(project, {"allowlist": ["*"]}))
    file = state / "trust.json"
    file.write_text(text)
    with pytest.raises(Problem) as caught:
        settings.load(str(project), str(project))
    assert (caught.value.kind, caught.value.hint) == ("settings", trust.HINT)
    assert caught.value.message.startswith(message.format(file=file))


@pytest.mark.parametrize("what", ["folder", "pipe", "link"])
def test_a_store_that_is_no_file_of_ours_trusts_nothing_and_says_so(project, state, what):
    path = trusted(state, write_project(project, {"allowlist": ["*"]}))
    file = state / "trust.json"
    kept = state / "kept.json"
    file.rename(kept)
    {"folder": file.mkdir, "pipe": lambda: os.mkfifo(file), "link": lambda: file.symlink_to(kept)}[
        what
    ]()
    with pytest.raises(Problem) as caught:
        settings.load(str(project), str(project))
    assert caught.value.kind == "system"
    assert str(file) in caught.value.message
    assert os.path.exists(path)


def test_the_users_state_folder_holds_the_trust_whatever_a_project_names(
    project, tmp_path, user_settings, state
):
    """A project cannot bring its own store along."""
    elsewhere = tmp_path / "elsewhere"
    path = write_project(project, {"allowlist": ["*"], "state_dir": str(elsewhere)})
    trusted(elsewhere, path)
    assert allows(project, project) == []
    user_settings({"state_dir": str(elsewhere)})
    assert allows(project, project) == ["*"]
