"""The eight distributions: one version, exact pins, whole wheels, and no sibling from an index."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import ch_contract
from bump import bump

pytestmark = pytest.mark.heavy

ROOT = Path(__file__).parents[1]
PROJECTS = sorted(ROOT.glob("packages/*/pyproject.toml"))
NAMES = [path.parent.name for path in PROJECTS]
TOOLS = ["ch-parse", "ch-gate", "ch-stage", "ch-exec", "ch-goal", "ch-receipt"]
SCHEMAS = ROOT / "schemas"
ALL = ["ch-contract", *TOOLS, "clip-harness"]


def project(name):
    return tomllib.loads((ROOT / "packages" / name / "pyproject.toml").read_text())["project"]


def pins(name):
    """What a distribution requires of its siblings."""
    found = [re.match(r"([a-z-]+)", entry)[1] for entry in project(name)["dependencies"]]
    return {
        sibling: entry
        for sibling, entry in zip(found, project(name)["dependencies"], strict=True)
        if sibling in NAMES
    }


def test_there_are_eight():
    assert sorted(ALL) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_one_version(name):
    assert project(name)["name"] == name
    assert project(name)["version"] == ch_contract.__version__


@pytest.mark.parametrize("name", NAMES)
def test_every_distribution_carries_the_licence(name):
    """A copy: a link to a single file breaks the source archive."""
    path = ROOT / "packages" / name / "LICENSE"
    assert not path.is_symlink()
    assert path.read_bytes() == (ROOT / "LICENSE").read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_siblings_are_pinned_exactly_and_a_tool_needs_the_contract_alone(name):
    wanted = {"ch-contract": [], "clip-harness": ["ch-contract", *TOOLS]}.get(name, ["ch-contract"])
    assert pins(name) == {sibling: f"{sibling}=={ch_contract.__version__}" for sibling in wanted}
    for extra in project(name).get("optional-dependencies", {}).values():
        assert not any(entry.startswith(tuple(NAMES)) for entry in extra)


@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_has_its_command(name):
    module = name.replace("-", "_")
    assert project(name)["scripts"] == {name: f"{module}.cli:main_process"}


def test_the_flow_has_two_commands_and_the_library_none():
    assert set(project("clip-harness")["scripts"]) == {"clip-harness", "clip"}
    assert "scripts" not in project("ch-contract")


# bump


@pytest.fixture
def copied(tmp_path):
    for path in [*PROJECTS, ROOT / "packages/ch-contract/src/ch_contract/__init__.py"]:
        target = tmp_path / path.relative_to(ROOT)
        target.parent.mkdir(parents=True)
        shutil.copy(path, target)
    return tmp_path


def test_bump_sets_every_version_and_every_pin(copied):
    changed = bump(copied, "1.2.3rc1")
    assert len(changed) == 9
    for path in changed:
        before = (ROOT / path.relative_to(copied)).read_text().splitlines()
        after = path.read_text().splitlines()
        assert len(before) == len(after)
        for old, new in zip(before, after, strict=True):
            assert new == (old.replace(ch_contract.__version__, "1.2.3rc1") if old != new else old)
    for path in copied.glob("packages/*/pyproject.toml"):
        data = tomllib.loads(path.read_text())["project"]
        assert data["version"] == "1.2.3rc1"
        siblings = [entry for entry in data["dependencies"] if entry.startswith(tuple(NAMES))]
        assert all(entry.endswith("==1.2.3rc1") for entry in siblings)
    assert bump(copied, "1.2.3rc1") == []
    bump(copied, ch_contract.__version__)
    for path in changed:
        assert path.read_text() == (ROOT / path.relative_to(copied)).read_text()


@pytest.mark.parametrize("version", ["", "1.2", "v1.2.3", "1.2.3-dev", '1.2.3"', "1.2.3\n"])
def test_bump_refuses_what_is_no_version(copied, version):
    with pytest.raises(ValueError, match="not a version"):
        bump(copied, version)
    assert (copied / "packages/ch-contract/pyproject.toml").read_text() == PROJECTS[0].read_text()


# built


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """All wheels and source archives, as the build backend makes them."""
    dist = tmp_path_factory.mktemp("dist")
    for name in ALL:
        for kind in ("wheel", "sdist"):
            subprocess.run(
                [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(dist)],
                cwd=ROOT / "packages" / name,
                check=True,
                capture_output=True,
                timeout=120,
            )
    return dist


def wheel(dist, name):
    (path,) = dist.glob(f"{name.replace('-', '_')}-*.whl")
    return path


def sdist(dist, name):
    (path,) = dist.glob(f"{name.replace('-', '_')}-*.tar.gz")
    return path


def schema_files():
    return sorted(str(path.relative_to(SCHEMAS)) for path in SCHEMAS.rglob("*.schema.json"))


@pytest.mark.heavy
@pytest.mark.parametrize("name", ALL)
def test_a_wheel_holds_the_package_and_nothing_else(built, name):
    module = name.replace("-", "_")
    source = ROOT / "packages" / name / "src" / module
    with zipfile.ZipFile(wheel(built, name)) as archive:
        names = archive.namelist()
        info = f"{module}-{ch_contract.__version__}.dist-info/"
        inside = {entry for entry in names if not entry.startswith(info)}
        expected = {
            f"{module}/{path.relative_to(source)}"
            for path in source.rglob("*")
            if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc"
        }
        expected = {entry for entry in expected if f"{module}/schemas/" not in entry}
        found = {entry for entry in inside if f"{module}/schemas/" not in entry}
        assert found == expected
        assert f"{module}/py.typed" in found
        licences = [entry for entry in names if entry.startswith(f"{info}licenses/")]
        assert [archive.read(entry) for entry in licences] == [(ROOT / "LICENSE").read_bytes()]
        metadata = archive.read(f"{info}METADATA").decode()
        assert f"\nVersion: {ch_contract.__version__}\n" in metadata
        assert "\nLicense-Expression: MIT\n" in metadata


@pytest.mark.heavy
def test_the_schemas_are_real_files_equal_to_the_sources(built):
    with zipfile.ZipFile(wheel(built, "ch-contract")) as archive:
        inside = {
            info.filename.removeprefix("ch_contract/schemas/"): info
            for info in archive.infolist()
            if info.filename.startswith("ch_contract/schemas/")
        }
        assert sorted(entry for entry in inside if entry.endswith(".schema.json")) == schema_files()
        for entry, info in inside.items():
            assert (info.external_attr >> 16) & 0o170000 in (0, 0o100000), entry
            assert archive.read(info) == (SCHEMAS / entry).read_bytes(), entry
        assert not any(entry.startswith("examples/") for entry in inside)


@pytest.mark.heavy
@pytest.mark.parametrize("name", ALL)
def test_a_source_archive_builds_the_same_wheel(built, name, tmp_path):
    with tarfile.open(sdist(built, name)) as archive:
        archive.extractall(tmp_path, filter="data")
    (folder,) = tmp_path.iterdir()
    assert not [path for path in folder.rglob("*") if path.is_symlink()]
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=folder,
        check=True,
        capture_output=True,
        timeout=120,
    )
    assert contents(wheel(tmp_path, name)) == contents(wheel(built, name))


def contents(path):
    with zipfile.ZipFile(path) as archive:
        return {entry: archive.read(entry) for entry in archive.namelist()}


# installed, with a hostile index in reach


def hostile_wheel(folder, name, version):
    """A wheel of `name` whose import and whose command betray that it was installed."""
    module = name.replace("-", "_")
    path = folder / f"{module}-{version}-py3-none-any.whl"
    info = f"{module}-{version}.dist-info"
    files = {
        f"{module}/__init__.py": 'raise SystemExit("HOSTILE")\n',
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{entry},,\n" for entry in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(path, "w") as archive:
        for entry, text in {**files, f"{info}/RECORD": record}.items():
            archive.writestr(entry, text)
    return path


@pytest.fixture(scope="session")
def index(tmp_path_factory):
    """A package index in files: hostile siblings of an equal and of a higher version."""
    root = tmp_path_factory.mktemp("index")
    for name in ALL:
        folder = root / "simple" / name
        folder.mkdir(parents=True)
        links = []
        for version in (ch_contract.__version__, "99.0.0"):
            path = hostile_wheel(folder, name, version)
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            links.append(f'<a href="{path.name}#sha256={digest}">{path.name}</a>')
        (folder / "index.html").write_text(
            f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>"
        )
    # dependencies that are not ours come from wherever this machine gets them
    return root / "simple"


def fresh(folder):
    """An empty virtual environment; the packages we depend on are those of this interpreter."""
    venv.create(folder, with_pip=False, symlinks=True)
    site = next(folder.glob("lib/python*/site-packages"))
    for entry in ("jsonschema", "shfmt-py", "rich"):
        _lend(entry, site, set())
    return folder


def _lend(name, site, done):
    """Link an installed distribution, and what it requires, into another environment."""
    from importlib import metadata

    if name in done:
        return
    done.add(name)
    dist = metadata.distribution(name)
    for file in dist.files:
        top = file.parts[0]
        if top == ".." or top.endswith(".pth"):
            if file.parts[-2] == "bin":
                target = site.parents[2] / "bin" / file.name
                if not target.exists():
                    target.symlink_to(dist.locate_file(file).resolve())
            continue
        if top != "__pycache__" and not (site / top).exists():
            (site / top).symlink_to(dist.locate_file(top))
    for entry in map(Requirement, dist.requires or ()):
        if entry.marker is None or entry.marker.evaluate({"extra": ""}):
            _lend(entry.name, site, done)


def install(environment, index, *words, cwd):
    """`pip install` with the hostile index as the only one, and reachable."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PIP_")}
    return subprocess.run(
        [
            sys.executable, "-m", "pip", "--python", str(environment / "bin" / "python"),
            "--isolated", "install", "--index-url", index.as_uri(), *words,
        ],
        cwd=cwd,
        env={**kept, "PIP_CONFIG_FILE": os.devnull},
        capture_output=True,
        timeout=300,
        check=False,
    )  # fmt: skip


def installed(environment, names=ALL):
    """Each distribution's version, and whether its code is the hostile one."""
    site = next(environment.glob("lib/python*/site-packages"))
    found = {}
    for name in names:
        module = name.replace("-", "_")
        (info,) = site.glob(f"{module}-*.dist-info")
        text = (site / module / "__init__.py").read_text()
        found[name] = (info.name.split("-")[1].removesuffix(".dist"), "HOSTILE" in text)
    return found


OURS = dict.fromkeys(ALL, (ch_contract.__version__, False))


@pytest.fixture(scope="session")
def environment(built, index, tmp_path_factory):
    """What the README's command for wheels installs: all eight files in one call."""
    folder = fresh(tmp_path_factory.mktemp("venv"))
    files = [str(wheel(built, name)) for name in ALL]
    done = install(folder, index, *files, cwd=built)
    assert done.returncode == 0, done.stderr.decode()
    return folder


@pytest.mark.heavy
def test_the_hostile_index_bites_where_the_command_is_careless(built, index, tmp_path):
    """Else the tests below show nothing: one wheel alone takes its siblings from the index."""
    folder = fresh(tmp_path / "venv")
    done = install(folder, index, str(wheel(built, "clip-harness")), cwd=built)
    assert done.returncode == 0, done.stderr.decode()
    assert installed(folder, ["clip-harness", "ch-contract", "ch-gate"]) == {
        "clip-harness": (ch_contract.__version__, False),
        "ch-contract": (ch_contract.__version__, True),
        "ch-gate": (ch_contract.__version__, True),
    }
    other = fresh(tmp_path / "other")
    done = install(other, index, "clip-harness", cwd=built)
    assert done.returncode == 0, done.stderr.decode()
    assert installed(other, ["clip-harness"]) == {"clip-harness": ("99.0.0", True)}


@pytest.mark.heavy
def test_the_wheels_are_installed_from_their_files(environment):
    assert installed(environment) == OURS


@pytest.mark.heavy
def test_the_folders_of_a_checkout_are_installed_from_their_folders(index, tmp_path):
    """The README's other command. The build backend is lent: the index has none."""
    folder = fresh(tmp_path / "venv")
    site = next(folder.glob("lib/python*/site-packages"))
    _lend("hatchling", site, set())
    folders = [f"./packages/{name}" for name in NAMES]
    done = install(folder, index, "--no-build-isolation", *folders, cwd=ROOT)
    assert done.returncode == 0, done.stderr.decode()
    assert installed(folder) == OURS


INSTALLING = re.compile(
    r"(?:^|[\s;&|(])(?:pip|pip3|pipx|uv|python3? -m pip|\S*/pip)\s.*\binstall\b(.*)"
)


def test_no_page_installs_ours_by_name():
    """Every install line gives files or folders, and all eight in one call."""
    seen = []
    for page in [
        ROOT / "README.md",
        *sorted(ROOT.glob("packages/*/README.md")),
        *ROOT.glob("*.md"),
    ]:
        for number, line in enumerate(page.read_text().splitlines(), 1):
            found = INSTALLING.search(line)
            if found is None:
                continue
            words = [w for w in found[1].replace("`", " ").split() if not w.startswith("-")]
            names = [w for w in words if re.split(r"[\[=<>~!]", w)[0] in NAMES]
            assert names == [], f"{page.name}:{number}: {line}"
            seen += words
    assert "./packages/*" in seen
    assert "dist/*.whl" in seen


@pytest.mark.heavy
@pytest.mark.parametrize("command", [*TOOLS, "clip-harness", "clip"])
def test_an_installed_command_answers_version(environment, command, tmp_path):
    done = subprocess.run(
        [str(environment / "bin" / command), "--version"],
        cwd=tmp_path,
        capture_output=True,
        timeout=60,
        check=False,
    )
    name = "clip-harness" if command == "clip" else command
    assert (done.stdout.decode(), done.stderr.decode(), done.returncode) == (
        f"{name} {ch_contract.__version__}\n",
        "",
        0,
    )


@pytest.mark.heavy
def test_the_installed_pipe_works(environment, project):
    line = "printf 'echo hello' | ch-parse | ch-gate | ch-stage | ch-exec | ch-receipt block"
    done = subprocess.run(
        ["/bin/sh", "-c", line],
        cwd=project,
        env={**os.environ, "PATH": f"{environment / 'bin'}:/usr/bin:/bin"},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr.decode()) == (0, "")
    assert "hello" in done.stdout.decode().splitlines()
