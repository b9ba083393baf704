"""`vendor --try`: the whole road in a toy host's sources, and every way in which it must fail."""

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import jinja2
import pytest
from helpers import verbs
from helpers.cpus import AS_FOUND, need, need_x86
from helpers.installed import need_programs
from helpers.verbs import called

from ghashgen.check import trial
from ghashgen.output.hosts import plain, registry
from ghashgen.output.hosts.core import BUILD_FILES, Host
from ghashgen.output.hosts.trial import Edit, Trial
from ghashgen.support.errors import GhashgenError
from ghashgen.support.templates import environment

TOY = Path(__file__).parents[1] / "toys" / "host"
KERNEL = "ghash_sse_k_clmul1_x1"
NEEDS = ("pclmulqdq", "sse2", "ssse3")
EDIT = Edit("Makefile", "OBJS = toy.o", "include ghashgen/toy.mk")

TRIAL = Trial(
    package="toy",
    marks=("Makefile", "toy.c"),
    edits=(EDIT,),
    files={"measure.c": "measure.c.j2"},
    programs={"make": "make", "ar": "binutils"},
    make="make libtoy.a && cc -O2 -I. measure.c libtoy.a -o measure",
    version="echo and no more",
    replaces=True,
    tests=("make check",),
    passed="toy: .*",
    watched="make check",
    objects="libtoy.a",
    timed="./measure",
    rivals={"toy": "./measure"},
    counts_in="glue.c",
)
HOST = replace(
    plain.HOST,
    name="toy",
    build_files=MappingProxyType(
        {"{library}.mk": BUILD_FILES["{library}.mk"], "toy.mk": "build.mk.j2"}
    ),
    files={"glue.c": "glue.c.j2"},
    values=lambda kernels: {"kernel": kernels[0].name, "idle": False},
    trial=TRIAL,
)


@pytest.fixture(autouse=True)
def surroundings(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A cache, templates of the toy, and a folder for scratch folders, which is returned."""
    monkeypatch.setenv("GHASHGEN_CACHE", str(tmp_path_factory.getbasetemp() / "vendor-cache"))
    loader = environment().loader
    assert loader is not None
    both = jinja2.ChoiceLoader([loader, jinja2.FileSystemLoader(TOY)])
    monkeypatch.setattr(environment(), "loader", both)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    return scratch


def tried(host: Host, monkeypatch: pytest.MonkeyPatch, *words: object) -> Any:
    need_programs("make", "ar")
    need_x86()
    known: Mapping[str, Host] = {**registry.hosts(), host.name: host}
    monkeypatch.setattr("ghashgen.cli.hosts.hosts", lambda: known)
    monkeypatch.setattr(trial, "LENGTHS", (16, 64))
    return called("vendor", "--try", host.name, "--name", KERNEL, *words)


def refused(host: Host, monkeypatch: pytest.MonkeyPatch, source: Path) -> str:
    with pytest.raises(GhashgenError) as refusal:
        tried(host, monkeypatch, "--source", source)
    return str(refusal.value)


@pytest.mark.cpu(AS_FOUND)
def test_the_whole_road(surroundings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need(NEEDS)
    before = sorted(path.read_bytes() for path in (TOY / "sources").iterdir())
    found = tried(HOST, monkeypatch, "--source", TOY / "sources", "--json")
    said = json.loads(found.stdout)
    assert said["tests"] == ["toy: right"]
    assert said["source"] == "sources, and no more"
    # What each of the two called, from counters in the functions.
    calls = {f"{KERNEL}_init", f"{KERNEL}_update"}
    assert {command: {*each} for command, each in said["called"].items()} == {
        "make check": calls,
        "./measure": calls,
    }
    assert set(said["called"]["make check"].values()) == {1}
    assert said["proofs"] == {KERNEL: "on record for these bytes"}
    assert [(time["rekeyed"], time["length"]) for time in said["times"]] == [
        (new, length) for new in (False, True) for length in (16, 64)
    ]
    # A bit at a time takes longer than this for four blocks, whatever else the machine does.
    assert said["times"][1]["ratio"]["toy"] > 2
    assert [*surroundings.iterdir()] == []
    assert sorted(path.read_bytes() for path in (TOY / "sources").iterdir()) == before


IDLE = replace(HOST, values=lambda kernels: {"kernel": kernels[0].name, "idle": True})


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize(
    ("host", "said"),
    [
        (replace(HOST, trial=replace(TRIAL, edits=())), "0 objects in libtoy.a define"),
        (IDLE, "make check calls none of our functions on this CPU"),
        (replace(HOST, trial=replace(TRIAL, watched="true")), "true calls none of our functions"),
        (replace(HOST, trial=replace(TRIAL, timed="../own/measure")), "measure calls none of our"),
        (replace(HOST, trial=replace(TRIAL, tests=("make none",))), "make none failed: make: ***"),
    ],
)
def test_what_must_hold_and_does_not(
    surroundings: Path, monkeypatch: pytest.MonkeyPatch, host: Host, said: str
) -> None:
    need(NEEDS)
    assert said in refused(host, monkeypatch, TOY / "sources")


def test_a_failure_keeps_the_log(surroundings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = replace(HOST, trial=replace(TRIAL, configure="echo hello && false"))
    said = refused(host, monkeypatch, TOY / "sources")
    (scratch,) = surroundings.iterdir()
    assert said == f"echo hello && false failed: hello; see {scratch / 'log'}"
    assert "hello" in (scratch / "log").read_text()


@pytest.mark.parametrize(
    ("host", "said"),
    [
        (replace(HOST, trial=None), "host toy has no trial; choose one of "),
        (
            replace(HOST, trial=replace(TRIAL, programs={"no-such-tool": "some-package"})),
            "no-such-tool not found; install it: apt-get install some-package",
        ),
        (
            replace(HOST, trial=replace(TRIAL, marks=("gcm.c",))),
            "has no gcm.c, so it is not the sources of toy; name the folder",
        ),
        (
            replace(HOST, trial=replace(TRIAL, edits=(replace(EDIT, below="absent"),))),
            "Makefile has no line that ends in 'absent'",
        ),
    ],
)
def test_a_refusal_leaves_nothing(
    surroundings: Path, monkeypatch: pytest.MonkeyPatch, host: Host, said: str
) -> None:
    assert said in refused(host, monkeypatch, TOY / "sources")
    assert [*surroundings.iterdir()] == []


def test_sources_that_are_not_there_are_refused(
    surroundings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = refused(HOST, monkeypatch, TOY / "absent")
    assert f"{TOY / 'absent'}: no such folder; name the host's sources with --source" in said
    assert [*surroundings.iterdir()] == []


@pytest.mark.parametrize("word", ["--add", "--dry-run", "--force"])
def test_a_trial_takes_no_option_of_a_folder(monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    with pytest.raises(GhashgenError, match=f"--try takes no {word}; leave it out"):
        tried(HOST, monkeypatch, word)


def test_a_source_needs_a_trial(tmp_path: Path) -> None:
    words = ["vendor", "--into", str(tmp_path / "new"), "--name", KERNEL, "--source", "."]
    assert verbs.refused(*words) == "--source needs --try; add it, or leave out --source"


def test_without_apt_the_sources_are_asked_for(
    surroundings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    which = shutil.which
    monkeypatch.setattr(
        "ghashgen.run.debian.shutil.which", lambda name: None if name == "apt-get" else which(name)
    )
    with pytest.raises(GhashgenError, match="apt-get not found; give the sources: --source PATH"):
        tried(HOST, monkeypatch)
    assert [*surroundings.iterdir()] == []


def test_a_record_names_a_commit_and_no_path(tmp_path: Path) -> None:
    need_programs("git")
    folder = tmp_path / "toy-1.0"
    shutil.copytree(TOY / "sources", folder)
    assert trial._version(folder) == "toy-1.0"
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    for words in (("init", "-q"), ("add", "."), (*who, "commit", "-qm", "first")):
        subprocess.run(["git", *words], cwd=folder, check=True)
    named = trial._version(folder)
    assert re.fullmatch("checkout [0-9a-f]{7,40}", named)
    (folder / "toy.c").write_text("")
    assert trial._version(folder) == f"{named}-dirty"


def test_sources_in_no_package_are_asked_for(
    surroundings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(GhashgenError, match="of toy are in no package; name their folder with"):
        tried(replace(HOST, trial=replace(TRIAL, package="")), monkeypatch)
    assert [*surroundings.iterdir()] == []


def test_every_trial_names_templates_and_edits_of_its_host() -> None:
    trials = {host.name: host.trial for host in registry.hosts().values() if host.trial}
    assert {*trials} >= {"nettle"}
    for each in trials.values():
        assert each.package or each.marks or each.configure != "true"
        for template in each.files.values():
            environment().get_template(template)
        assert all(Path(each.folder).name in edit.line for edit in each.edits)
