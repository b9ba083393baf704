"""Tuning as a user sees it: the model, a real sweep, the command. No timing decides a test."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from helpers.cpus import features, lacking, too_little
from helpers.tuning import COARSE, FINE, MODES, SMALL, SSE, Fake, host, lasting, real_candidates
from helpers.verbs import called, refused

from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.arch.x86_64.features import FEATURES
from ghashgen.choice.chosen import MEASURED, MODEL, load
from ghashgen.choice.classes import SizeClass
from ghashgen.cli.verbs.tune import COMMAND
from ghashgen.kernels.target import target
from ghashgen.lab.bench import QUICK, QUICK_SIZES
from ghashgen.lab.store import open_store
from ghashgen.lab.tune.choose import decide
from ghashgen.lab.tune.goals import cells_of, goals
from ghashgen.lab.tune.goals import quick as first_look
from ghashgen.lab.tune.measure import COARSE as COARSE_STAGE
from ghashgen.lab.tune.measure import FINE as FINE_STAGE
from ghashgen.lab.tune.measure import FIRST_LOOK, Batch, describe, measure
from ghashgen.lab.tune.rank import rank
from ghashgen.lab.tune.sweep import Here, Plan, sweep
from ghashgen.output.artefact import make
from ghashgen.records.core import Results
from ghashgen.run.harness import MissingFeatures
from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import assemble_text


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tune.sqlite"


# --- model


def test_the_model_ranks_by_what_a_call_executes() -> None:
    pytest.importorskip("bochscpu", reason="the emulator is not installed")
    items = real_candidates(1, 8)
    found, unranked = rank(items, "cascadelake", lasting(*SMALL))
    assert unranked == {}
    assert {(d.basis, d.on, d.stage, d.peer) for d in found} == {(MODEL, "skylake-avx512", "", "")}
    assert found[-1].winner.kernel.blocks == 8
    assert found[-1].cycles > found[0].cycles > 0
    assert any("no data" in note for d in found for note in d.notes)
    # Four carry-less products per block and more share one port: a bound that no kernel can beat.
    assert found[-1].cycles >= 64 * 3


def test_a_model_without_the_isa_ranks_nothing() -> None:
    pytest.importorskip("bochscpu", reason="the emulator is not installed")
    (item,) = real_candidates(1)
    wide = replace(item.kernel, isa="avx512", blocks=4)
    made = make(wide, target(), find_nasm())
    obj = assemble_text(find_nasm(), wide.name, made.text, "elf64")
    align = wide.instruction_set.operand_align
    unit = replace(item.unit, kernel=wide, table_align=align, obj=obj)
    found, unranked = rank([replace(item, unit=unit)], "skylake-avx512", lasting(*SMALL))
    assert found == []
    assert "skylake-avx512 lacks what isa avx512 needs" in unranked[wide.name]
    with pytest.raises(GhashgenError, match="no table for 'z80'"):
        rank([], "z80", lasting(*SMALL))


# --- real


def refuse(batch: Batch) -> None:
    """Refuse as the harness does when `measure` refuses a kernel because of the CPU."""
    with pytest.raises(GhashgenError, match=f"{batch.units[0].name} cannot run on"):
        measure(batch)
    raise MissingFeatures("refused", lacking(batch.units[0].needs))


@pytest.mark.cpu
def test_a_tiny_sweep_measures(path: Path, as_cpu: str) -> None:
    here = describe()
    assert set(here.features) == features()
    items = real_candidates(1, 2)
    units = tuple(item.unit for item in items)
    assert {here.runs(unit) for unit in units} == {not lacking(units[0].needs)}
    if too_little(as_cpu, units[0].needs, lambda: refuse(Batch(COARSE, units, (48,), MODES))):
        return
    uses = lasting(SizeClass(None, (48,)))
    plan = Plan(uses=uses, coarse=COARSE, fine=FINE)
    with open_store(path) as store:
        swept = sweep(items, Here(here, measure), store, plan)
        assert (swept.measured, swept.failures) == (4, [])
        (decision,) = decide(items, [here], store, (FINE, COARSE), uses)
        assert decision.cycles > 0
        assert store.load().machine.clock_ghz > 0
        again = sweep(items, Here(here, measure), store, plan)
        assert (again.measured, again.kept) == (0, 4)


@pytest.mark.parametrize(
    ("features", "measured"),
    [
        pytest.param(SSE, {"sse"}, id="no AVX"),
        pytest.param(FEATURES, {"sse", "avx512"}, id="every feature"),
        pytest.param(("sse2", "ssse3"), set(), id="no PCLMULQDQ"),
    ],
)
def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, features: tuple[str, ...], measured: set[str]
) -> None:
    pytest.importorskip("bochscpu", reason="the emulator is not installed")
    here = host("a CPU", features)
    plan = Plan(uses=lasting(*SMALL), coarse=COARSE, fine=FINE, finalists=1)
    monkeypatch.setattr("ghashgen.cli.verbs.tune.Plan", lambda **_: plan)
    fake = Fake(here, lambda name, size: 100.0 + size)
    monkeypatch.setattr("ghashgen.cli.verbs.tune.describe", lambda: here)
    monkeypatch.setattr("ghashgen.cli.verbs.tune.measure", lambda batch, core: fake(batch))
    path, store = tmp_path / "chosen.json", tmp_path / "s.sqlite"
    choice = ["--isa", "sse", "--isa", "avx512", "--multiply", "k", "--reduce", "clmul1"]
    choice += ["--blocks", "8", "--op", "ghash"]
    choice += ["--fold", "group", "--order", "reflected", "--powers", "memory"]
    arguments = [*choice, "--store", str(store), "--write", str(path)]
    result = called("tune", *arguments, "--json")
    answer = json.loads(result.stdout)
    basis = {row["isa"]: row["basis"] for row in answer["choices"]}
    assert basis == {isa: MEASURED if isa in measured else MODEL for isa in ("sse", "avx512")}
    on = {row["on"] for row in answer["choices"] if row["basis"] == MODEL}
    assert on == ({"icelake-server"} if MODEL in basis.values() else set())
    assert [item.isa for item in load(path).sets] == ["avx512", "sse"]
    text = called("tune", *arguments).stdout
    assert ("MODEL, not measured" in text) == (MODEL in basis.values())
    before = path.read_bytes()
    assert b"\x00" not in before
    CliRunner().invoke(COMMAND, arguments, catch_exceptions=False)
    assert path.read_bytes() == before


def test_a_sweep_that_is_not_done_writes_no_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ghashgen.cli.verbs.tune.describe", lambda: host("no AVX", SSE))
    path = tmp_path / "chosen.json"
    arguments = ["--isa", "sse", "--multiply", "k", "--reduce", "clmul1", "--blocks", "8"]
    arguments += ["--store", str(tmp_path / "s.sqlite"), "--write", str(path), "--budget", "0"]
    result = CliRunner().invoke(COMMAND, arguments)
    assert "is not written: the sweep is not finished" in str(result.exception)
    assert "the budget ran out" in result.output
    assert not path.exists()


def test_quick_takes_a_first_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sizes and the effort of `bench --quick`, one run; its figures are no others'."""
    here = host("no AVX", SSE)
    batches: list[Batch] = []
    fake = Fake(here, lambda name, size: 100.0 + size)

    def note(batch: Batch, core: int) -> Results:
        batches.append(batch)
        return fake(batch)

    monkeypatch.setattr("ghashgen.cli.verbs.tune.describe", lambda: here)
    monkeypatch.setattr("ghashgen.cli.verbs.tune.measure", note)
    arguments = ["--isa", "sse", "--multiply", "k", "--reduce", "clmul1", "--blocks", "8"]
    arguments += ["--store", str(tmp_path / "s.sqlite")]
    quick = called("tune", *arguments, "--quick")
    assert "quick stage" in quick.output
    assert {batch.sizes for batch in batches} == {QUICK_SIZES}
    assert [batch.stage for batch in batches] == [COARSE_STAGE, FIRST_LOOK]
    assert (FIRST_LOOK.effort, FIRST_LOOK.runs) == (QUICK, 1)
    batches.clear()
    CliRunner().invoke(COMMAND, arguments, catch_exceptions=False)
    assert [batch.stage for batch in batches] == [COARSE_STAGE, FINE_STAGE]
    assert all(set(batch.sizes) > set(QUICK_SIZES) for batch in batches)


def test_quick_leaves_every_use_something_to_measure() -> None:
    for goal in goals().values():
        for use, few in zip(goal.uses, first_look(goal.uses), strict=True):
            assert [item.up_to for item in few.classes] == [item.up_to for item in use.classes]
            assert all(item.sizes for item in few.classes)
            assert {*cells_of([few])} <= {*cells_of([use])}


@pytest.mark.parametrize(
    ("option", "why"),
    [
        (["--uarch", "z80"], "no table for 'z80'"),
        (["--write", "/proc/c.json"], "/proc accepts no new file"),
    ],
)
def test_what_cannot_end_well_is_refused_before_the_sweep(
    tmp_path: Path, option: list[str], why: str
) -> None:
    store = tmp_path / "s.sqlite"
    assert why in refused("tune", "--isa", "sse", "--store", str(store), *option)
    assert not store.exists()


def test_the_command_refuses_polyval(tmp_path: Path) -> None:
    arguments = ["--op", "polyval", "--store", str(tmp_path / "s.sqlite")]
    assert "only kernels of op ghash" in refused("tune", *arguments)
