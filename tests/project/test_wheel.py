"""The wheel: built, installed into an environment of its own, and used from a folder elsewhere.

No network: the packages that an environment has are links to those of the environment that runs
the tests. One holds what a base install needs and no more, so a verb that imports an extra without
asking for it fails here.
"""

import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
import setuptools
from helpers.cpus import AS_FOUND, NO_PCLMULQDQ
from helpers.installing import (
    OPTIONAL,
    ORDER,
    PROJECT,
    QUICKEST,
    ROOT,
    SLOW,
    SMALL,
    call,
    copy_of_the_project,
    files_below,
    name_of,
    run,
)

import ghashgen
from ghashgen.arch.features import FEATURES_OFF
from ghashgen.support import extras
from ghashgen.support.toolchain import Tool, assemble

NEEDS = {
    "validate": ("validate", QUICKEST["validate"]),
    "report": ("report", "--kernels kernels --out page"),
    "tune": ("lab", f"--name {SMALL} --lab"),
}
"""Verbs that refuse without an extra: which one, and words that need it."""

CLONE_ONLY = (
    "bench --record", "compare --check", "compare --write", "compare solaris --record",
    "model --check", "model --write", "summary --check", "summary --write",
)  # fmt: skip
"""Command lines that write or compare files of the repository."""


def closure(names: list[str]) -> Iterator[Distribution]:
    """Yield distributions and all that they require, extras of theirs aside."""
    seen: set[str] = set()
    while names:
        name = names.pop()
        if name.lower() in seen:
            continue
        seen.add(name.lower())
        try:
            found = distribution(name)
        except ModuleNotFoundError:
            continue  # a marker that does not hold here
        yield found
        names += [name_of(r) for r in found.requires or () if "extra ==" not in r]


@dataclass(frozen=True)
class Environment:
    """A venv with the wheel, links to packages beside it, and a folder to work in."""

    root: Path
    work: Path
    links: str = ""

    @property
    def python(self) -> Path:
        return self.root / "bin" / "python"

    @property
    def env(self) -> dict[str, str]:
        # pip has compiled what it installed.
        bytecode = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPYCACHEPREFIX": ""}
        cache = {"XDG_CACHE_HOME": str(self.work.with_name("cache"))}
        return {"PYTHONPATH": self.links, **cache, **bytecode}

    def ghashgen(self, *words: str) -> subprocess.CompletedProcess[str]:
        return run([self.root / "bin" / "ghashgen", *words], self.work, self.env)

    def quickest(self, verb: str) -> subprocess.CompletedProcess[str]:
        """What a verb does in its quickest form, run once for all tests on a CPU."""
        return _quickest(self, verb, os.environ[FEATURES_OFF])


@cache
def _quickest(where: Environment, verb: str, off: str) -> subprocess.CompletedProcess[str]:
    return call(verb, [where.python], where.work, where.env)


def pip(*words: str | Path) -> None:
    """Run pip without an index, building with the setuptools that is installed here."""
    quiet = ("--quiet", "--disable-pip-version-check")
    done = subprocess.run(
        [sys.executable, "-m", "pip", *words, *quiet],
        env=os.environ | {"PYTHONPYCACHEPREFIX": ""},  # compiled beside what it installs
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


OFFLINE = ("--no-index", "--no-deps", "--no-build-isolation")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project to build in."""
    return copy_of_the_project(tmp_path_factory.mktemp("wheel") / "source")


@pytest.fixture(scope="module")
def wheel(source: Path) -> Path:
    """The wheel, as `pip wheel .` builds it."""
    out = source.parent / "dist"
    pip("wheel", *OFFLINE, "--wheel-dir", out, source)
    (found,) = out.iterdir()
    return found


def link(site: Path, packages: list[str]) -> None:
    """Link to these packages and what they need."""
    for found in closure(list(packages)):
        for top in {path.parts[0] for path in found.files or () if path.parts[0] != ".."}:
            place = Path(str(found.locate_file(top)))
            if top != "__pycache__" and place.exists() and not (site / top).exists():
                (site / top).symlink_to(place)


@pytest.fixture(scope="module")
def base(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """What `pip install ghashgen` gives."""
    folder = tmp_path_factory.mktemp("base")
    made = Environment(folder / "env", folder / "work")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", made.root], check=True)
    made.work.mkdir()
    pip("--python", made.python, "install", *OFFLINE, wheel)
    (site,) = (made.root / "lib").glob("python*/site-packages")
    link(site, [name_of(text) for text in PROJECT["dependencies"]])
    return made


@pytest.fixture(scope="module")
def full(base: Environment, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """What `pip install 'ghashgen[all]'` gives: the packages of the extras are beside the base."""
    folder = tmp_path_factory.mktemp("full")
    made = Environment(base.root, folder / "work", str(folder / "links"))
    for each in (made.work, folder / "links"):
        each.mkdir()
    link(folder / "links", [name_of(text) for extra in extras.EXTRAS for text in OPTIONAL[extra]])
    return made


def test_the_wheel_carries_what_verbs_read_and_no_more(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
    carried = {name.removeprefix("ghashgen/carried/") for name in held if "/carried/" in name}
    wanted = {
        f"{folder}/{name}"
        for folder in ("docs", "harness", "templates")
        for name in files_below(ROOT / folder)
    }
    assert carried == wanted | {
        "LICENSE",
        "SOUNDNESS.md",
        "generated/MANIFEST.json",
        "generated/PROOFS.json",
    }
    package = {f"ghashgen/{name}" for name in files_below(ROOT / "ghashgen") if name[-3:] != ".py"}
    assert {name for name in package if "__pycache__" not in name} <= held
    assert not [name for name in held if not name.startswith(("ghashgen/", "ghashgen-"))]
    # Records of five machines are a third of it.
    assert wheel.stat().st_size < 3_500_000


def test_recommend_names_what_a_user_of_the_wheel_has(base: Environment) -> None:
    done = base.ghashgen("recommend", "--cpu", "Zen 5", "--bytes", "1500")
    assert done.returncode == 0
    # The output is a pipe, which gets the table alone.
    assert "generated/" not in done.stdout + done.stderr
    (record,) = re.findall(r"\((/\S+\.json)\)", done.stderr)
    assert Path(record).is_file()
    assert re.search(r": (\w+) \(ghashgen vendor --into FOLDER --name \1\)", done.stderr)


def test_a_source_archive_builds_the_same_wheel(wheel: Path, source: Path, tmp_path: Path) -> None:
    build = f"from setuptools import build_meta; build_meta.build_sdist({str(tmp_path)!r})"
    subprocess.run([sys.executable, "-c", build], cwd=source, check=True, capture_output=True)
    (archive,) = tmp_path.iterdir()
    pip("wheel", *OFFLINE, "--wheel-dir", tmp_path / "dist", archive)
    (again,) = (tmp_path / "dist").iterdir()
    with zipfile.ZipFile(wheel) as one, zipfile.ZipFile(again) as two:
        assert {i.filename: i.CRC for i in one.infolist()} == {
            i.filename: i.CRC for i in two.infolist()
        }


def test_what_an_earlier_build_left_is_not_in_the_wheel(source: Path, tmp_path: Path) -> None:
    left = source / "build" / "lib" / "ghashgen" / "of_an_earlier_version.py"
    left.parent.mkdir(parents=True, exist_ok=True)
    left.write_text("", encoding="utf-8")
    pip("wheel", *OFFLINE, "--wheel-dir", tmp_path, source)
    (found,) = tmp_path.iterdir()
    with zipfile.ZipFile(found) as archive:
        assert "ghashgen/of_an_earlier_version.py" not in archive.namelist()


def test_an_editable_install_is_the_clone(base: Environment, source: Path, tmp_path: Path) -> None:
    root = tmp_path / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", root], check=True)
    made = Environment(root, tmp_path)
    (own,) = (root / "lib").glob("python*/site-packages")
    (theirs,) = (base.root / "lib").glob("python*/site-packages")
    # An editable install is built by the environment that it is for.
    ours = Path(setuptools.__file__).parent.parent
    for path in (*ours.glob("setuptools*"), ours / "_distutils_hack"):
        (own / path.name).symlink_to(path)
    pip("--python", made.python, "install", *OFFLINE, "--editable", source)
    for path in theirs.iterdir():
        if path.is_symlink():
            (own / path.name).symlink_to(path)
    assert f"  {source / 'generated'}: " in made.ghashgen("--help").stdout
    assert not (source / "ghashgen" / "carried").exists()
    # Its kernels are those checked in.
    assert made.ghashgen("audit", "--name", SMALL).returncode == 0
    assert (source / "build" / "obj").is_dir()


def test_a_build_script_needs_the_base_alone(base: Environment, tmp_path: Path) -> None:
    document = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    scripts = re.findall(r"^```python\n(.*?)^```$", document, re.MULTILINE | re.DOTALL)
    assert len(scripts) > 1
    for script in scripts:
        done = run([base.python, "-c", script], tmp_path, base.env)
        assert done.returncode == 0, done.stderr


def test_no_extra_is_loaded_to_print_help(full: Environment) -> None:
    """Where the extras are there, and nothing else that the tests' own environment has."""
    source = (
        "import sys; from click.testing import CliRunner; from ghashgen.support import extras\n"
        "from ghashgen.cli.main import Verbs, cli\n"
        "import click\n"
        "for verb in Verbs().list_commands(click.Context(cli)):\n"
        "    result = CliRunner().invoke(cli, [verb, '--help'])\n"
        "    assert result.exit_code == 0, (verb, result.exception)\n"
        "heavy = {m for held in extras.EXTRAS.values() for m in held} | {'numpy', 'pandas'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = run([full.python, "-c", source], full.work, full.env)
    assert done.stdout.strip() == "[]", done.stderr


def test_a_base_install_says_where_it_writes(base: Environment) -> None:
    lines = [line.strip().partition(":")[0] for line in base.ghashgen("--help").stdout.splitlines()]
    assert str(base.work / "generated") in lines
    assert str(base.work.with_name("cache") / "ghashgen") in lines


@pytest.mark.cpu(AS_FOUND, NO_PCLMULQDQ)
@pytest.mark.parametrize("which", ["quick verbs", "every verb"])
def test_a_base_install_runs_every_verb_or_names_its_extra(
    base: Environment, nasm: Tool, which: str
) -> None:
    assert base.ghashgen("--version").stdout.strip() == f"ghashgen, version {ghashgen.__version__}"
    said = {}
    for verb in ORDER if which == "every verb" else (v for v in ORDER if v not in SLOW):
        done = base.quickest(verb)
        if verb == "generate":
            source = base.work / "kernels" / "sse" / f"{SMALL}.asm"
            assemble(nasm, source, base.work / "kernel.o", "elf64")
        assert "Traceback" not in done.stderr, (verb, done.stderr)
        said[verb] = (done.returncode, done.stderr)
    refused = {verb: text for verb, (status, text) in said.items() if status}
    assert refused.keys() == {"validate", "report"}
    # The default of generate is the working folder; nothing was written into the package.
    assert base.ghashgen("generate", "--name", SMALL).returncode == 0
    assert {p.name for p in base.work.iterdir()} == {
        *("kernels", "kernel.o", "generated", "vendored")
    }
    kept = {p.name for p in (base.work.with_name("cache") / "ghashgen").iterdir()}
    assert {"obj", "proofs", "bench", "bench.sqlite"} <= kept


@pytest.mark.parametrize("verb", NEEDS)
def test_a_verb_without_its_extra_names_the_command(base: Environment, verb: str) -> None:
    extra, words = NEEDS[verb]
    done = base.ghashgen(verb, *words.split())
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert f"{base.python.parent}" in done.stderr
    assert done.stderr.strip().endswith(f"-m pip install 'ghashgen[{extra}]'")


@pytest.mark.cpu(AS_FOUND)
def test_measuring_goes_on_without_pyca(base: Environment) -> None:
    done = base.quickest("bench")
    assert done.returncode == 0, done.stderr
    said = done.stdout + done.stderr
    assert "not measured: pyca_gmac: cryptography" in said
    assert "'ghashgen[bench]'" in said


@pytest.mark.cpu(AS_FOUND)
def test_the_doctor_names_the_command_of_every_extra(base: Environment) -> None:
    lines = base.quickest("doctor").stdout.splitlines()
    for extra in extras.EXTRAS:
        (line,) = (line for line in lines if line.startswith(f"extra: {extra}\t"))
        assert line.split("\t")[1] == "absent"
        assert line.endswith(f"-m pip install 'ghashgen[{extra}]'")


@pytest.mark.parametrize("line", CLONE_ONLY)
def test_files_of_the_repository_are_left_to_a_clone(full: Environment, line: str) -> None:
    before = files_below(full.root / "lib")
    done = full.ghashgen(*line.split())
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert "run it in a clone" in done.stderr
    assert files_below(full.root / "lib") == before


@pytest.mark.cpu(AS_FOUND)
def test_a_full_install_runs_every_verb(full: Environment, nasm: Tool) -> None:
    (site,) = (full.root / "lib").glob("python*/site-packages/ghashgen")
    before = files_below(site)
    for verb in ORDER:
        done = full.quickest(verb)
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), (verb, done.stderr)
        if verb == "generate":
            source = full.work / "kernels" / "sse" / f"{SMALL}.asm"
            assemble(nasm, source, full.work / "kernel.o", "elf64")
    assert files_below(site) == before
    assert (full.work / "page" / "report.html").is_file()
    # PROOFS.json is the wheel's here, and what it says is compared with the bytes.
    data = json.loads(full.ghashgen("report", "--kernels", "kernels", "--json").stdout)
    assert [v["proof"] in ("proved", "stale") for v in data["variants"]] == [True]


def test_a_report_without_kernels_says_what_to_run(full: Environment) -> None:
    done = full.ghashgen("report")
    assert done.returncode == 2
    assert "has no MANIFEST.json; run ghashgen generate" in done.stderr


def test_a_cache_that_cannot_be_made_is_refused(base: Environment) -> None:
    blocked = base.work.parent / "file"
    blocked.write_text("no folder", encoding="utf-8")
    env = {**base.env, "GHASHGEN_CACHE": str(blocked / "cache")}
    done = run([base.root / "bin" / "ghashgen", "prove", "--name", SMALL], base.work, env)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert f"{blocked}/cache" in done.stderr
    assert done.stderr.strip().endswith("set GHASHGEN_CACHE to a folder that can be written")
