"""The tool's own speed: what is measured, kept and said of targets; no time decides anything."""

import json
import os
from pathlib import Path

import pytest
from helpers.verbs import called

from ghashgen.kernels.core import Point
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import target
from ghashgen.lab.bench import tool
from ghashgen.lab.bench.tool import Figure
from ghashgen.run.built import build
from ghashgen.support.errors import GhashgenError

SMALL = Kernel("avx", "k", "clmul1", 1)
SCHEDULED = Kernel("avx", "k", "clmul1", 2, schedule="zen4")


def figure(what: str, seconds: float, sources: str = "abc") -> Figure:
    return Figure(what, seconds, "", 2, sources)


def test_a_verdict_says_by_how_much() -> None:
    assert figure(tool.MEDIAN, 0.0251).verdict == "met, 50% of it"
    assert figure(tool.MEDIAN, 0.062).verdict == "missed by 12 ms"
    assert figure(tool.PROOFS, 400.0).verdict == "missed by 40.0 s"
    assert figure(tool.SCHEDULED, 9.0).verdict == "no target"


def test_one_kernel_names_the_slowest_of_each_kind() -> None:
    done: list[Point] = []
    found = {what: (seconds, note) for what, seconds, note in
             tool.one_kernel([SMALL, SCHEDULED], done.append)}  # fmt: skip
    assert done == [SMALL, SCHEDULED]
    assert found[tool.WORST][1] == SMALL.name
    assert found[tool.SCHEDULED][1] == SCHEDULED.name
    seconds = [found[tool.WORST][0], found[tool.SCHEDULED][0]]
    assert found[tool.MEDIAN][0] == pytest.approx(sum(seconds) / 2)


def test_a_partial_run_keeps_the_other_figures(tmp_path: Path) -> None:
    path = tmp_path / "new" / "cpu.json"
    first = {tool.PROOFS: figure(tool.PROOFS, 100.0), tool.CATALOGUE: figure(tool.CATALOGUE, 9.0)}
    tool.store(first, "a CPU", path)
    tool.store({tool.CATALOGUE: figure(tool.CATALOGUE, 8.0, "def")}, "a CPU", path)
    kept = tool.load(path)
    assert (kept[tool.PROOFS].seconds, kept[tool.PROOFS].sources) == (100.0, "abc")
    assert (kept[tool.CATALOGUE].seconds, kept[tool.CATALOGUE].sources) == (8.0, "def")
    assert [row["what"] for row in json.loads(path.read_text())["figures"]] == [
        tool.CATALOGUE,
        tool.PROOFS,
    ]
    assert [entry.name for entry in path.parent.iterdir()] == ["cpu.json"]


@pytest.mark.parametrize(
    "text", ["{", '{"schema": 0}', '{"schema": 1, "figures": [{"what": "the catalogue"}]}']
)
def test_a_malformed_record_is_refused_and_stays(tmp_path: Path, text: str) -> None:
    path = tmp_path / "cpu.json"
    path.write_text(text)
    with pytest.raises(GhashgenError, match="no record of the tool's speed"):
        tool.store({tool.CATALOGUE: figure(tool.CATALOGUE, 8.0)}, "a CPU", path)
    assert path.read_text() == text


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="no affinity on this system")
def test_two_cores_are_given_back() -> None:
    before = os.sched_getaffinity(0)
    with tool.two_cores() as cores:
        assert os.sched_getaffinity(0) <= before
        assert len(os.sched_getaffinity(0)) == cores == min(2, len(before))
    assert os.sched_getaffinity(0) == before


def test_proofs_are_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built = build([SMALL], target(), tmp_path / "generated", tmp_path / "obj")
    proved: list[str] = []
    real = tool.proofs.prove_object
    monkeypatch.setattr(
        "ghashgen.check.proofs.prove_object",
        lambda obj, spec, search: (proved.append(spec.name), real(obj, spec, search))[1],
    )
    for _ in range(2):
        what, _, note = tool.every_proof(built)
        assert what == tool.PROOFS
        assert SMALL.name in note
    assert proved == [SMALL.name] * 2


def test_a_verb_that_fails_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool.sys, "executable", "/bin/false")
    with pytest.raises(GhashgenError, match=r"ghashgen generate --out .* fails: no message"):
        tool.main_job(emulate=False)


def test_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    here = "ghashgen.cli.verbs.bench_tool"
    monkeypatch.setattr(f"{here}.catalogue", lambda: (SMALL, SCHEDULED))
    monkeypatch.setattr(f"{here}.project_root", lambda: tmp_path)
    monkeypatch.setattr(tool, "main_job", lambda emulate: (tool.EMULATED, 400.0, "all emulated"))
    answer = called("bench-tool", "--emulated", "--record", "--json")
    rows = {row["what"]: row for row in json.loads(answer.stdout)}
    assert list(rows) == [
        tool.MEDIAN, tool.WORST, tool.SCHEDULED, tool.CATALOGUE, tool.EMULATED
    ]  # fmt: skip
    assert rows[tool.EMULATED]["verdict"] == "missed by 100.0 s"
    (record,) = (tmp_path / tool.FOLDER).iterdir()
    assert tool.load(record)[tool.EMULATED].seconds == 400.0
    plain = called("bench-tool")
    assert SMALL.name in plain.stdout
