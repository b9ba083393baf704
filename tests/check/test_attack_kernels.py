"""Kernels drawn at random: what the axes allow is emitted, proved and right, or is found."""

import json
from itertools import islice
from pathlib import Path

import pytest
from helpers.cpus import AS_FOUND
from helpers.emulating import needs_bochs
from helpers.verbs import called

from ghashgen.check.attack import trial
from ghashgen.check.attack.core import Options
from ghashgen.check.attack.parts import kernels
from ghashgen.check.attack.verdict import Verdict
from ghashgen.kernels.ctr.kernel import CtrKernel
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.selection import Choice, catalogue
from ghashgen.support.errors import GhashgenError

ANY = Choice()
SMALL = kernels.Task(0, Kernel("avx", "k", "clmul1", 1), "win64", 0)


def some(seed: int, count: int, choice: Choice = ANY) -> list[kernels.Task]:
    return list(islice(kernels.tasks(Options(seed, Path(), choice)), count))


def test_draws_are_of_every_kind_and_the_same_again() -> None:
    drawn = some(1, 300)
    assert drawn == some(1, 300)
    assert [task.kernel for task in drawn] != [task.kernel for task in some(2, 300)]
    assert {type(task.kernel) for task in drawn} == {Kernel, GcmKernel, CtrKernel}
    assert {task.abi for task in drawn} == {"sysv", "win64"}
    assert {task.kernel.instruction_set.name for task in drawn} == {
        *("sse", "avx", "avx2", "avx512vl", "avx512")
    }
    for axis in ("multiply", "reduce", "order", "wipe", "stitch", "short", "fold", "pipeline"):
        values = {getattr(task.kernel, axis) for task in drawn if hasattr(task.kernel, axis)}
        assert len(values) > 1, axis
    assert len({task.kernel for task in drawn} - set(catalogue())) > 250
    columns = [task for task in drawn if getattr(task.kernel, "columns", 1) > 1]
    assert len(columns) > 100
    found = {(task.kernel.columns, task.abi) for task in columns}  # type: ignore[attr-defined]
    assert found == {(n, abi) for n in (2, 4, 8) for abi in ("sysv", "win64")}
    # The command says the whole kernel.
    assert f"--blocks {drawn[0].kernel.blocks} " in drawn[0].repeat


def test_columns_are_drawn_where_a_choice_leaves_them() -> None:
    assert kernels.with_columns(Choice(columns=(1,))) is None
    assert kernels.with_columns(Choice(family=("gcm",))) is None
    assert kernels.with_columns(Choice(segments=(False,))) is None
    assert kernels.with_columns(Choice(columns=(1, 4))) == Choice(columns=(4,))


def test_a_choice_narrows_what_is_drawn() -> None:
    drawn = some(1, 20, Choice(key=(192,), isa=("avx2",), messages=(False,)))
    points = [task.kernel for task in drawn if isinstance(task.kernel, GcmKernel)]
    assert {(k.key, k.isa, k.messages) for k in points} == {(192, "avx2", False)}
    assert len(points) == 20
    with pytest.raises(GhashgenError, match="no kernel is left to draw of isa sse, order natural"):
        some(1, 1, Choice(isa=("sse",), order=("natural",)))
    with pytest.raises(GhashgenError, match="no kernel is left to draw of key 128, op polyval"):
        some(1, 1, Choice(key=(128,), op=("polyval",)))


@pytest.mark.parametrize(
    ("said", "wrong", "told"),
    [
        (Verdict("function"), "", "right when run, and not proved: function"),
        (Verdict(stopped="KeyError: 3"), "", "the prover stopped: KeyError: 3"),
        (Verdict(), "update of 3 bytes", "wrong when run (native): update of 3 bytes"),
        (Verdict("function"), "update of 3 bytes", "wrong when run"),
    ],
)
def test_what_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: Verdict, wrong: str, told: str
) -> None:
    monkeypatch.setattr(kernels, "verdict", lambda *given, **more: said)
    monkeypatch.setattr(trial, "run", lambda *given: trial.Ran("native", 7, wrong))
    (finding,) = kernels.work(Options(1, tmp_path), SMALL).findings
    assert told in finding.wrong
    assert "--isa avx --multiply k --reduce clmul1 --blocks 1" in finding.repeat
    assert finding.repeat.endswith("--abi win64")
    assert finding.files.keys() == {"object.o", "statement.toml"}


def test_a_kernel_that_is_not_emitted_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*given: object) -> None:
        raise GhashgenError("no register is left")

    monkeypatch.setattr(kernels, "build", refuse)
    (finding,) = kernels.work(Options(1, tmp_path), SMALL).findings
    assert "the axes allow it, and it is not emitted: no register is left" in finding.wrong


def test_what_has_no_statement_or_no_verdict_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels, "verdict", lambda *given, **more: Verdict(late=True))
    monkeypatch.setattr(trial, "run", lambda *given: trial.Ran("native", 7))
    assert kernels.work(Options(1, tmp_path), SMALL).not_run == {"no verdict in 900 s": 1}

    def refuse(*given: object) -> None:
        raise GhashgenError("no statement of it")

    monkeypatch.setattr(kernels, "statement", refuse)
    outcome = kernels.work(Options(1, tmp_path), SMALL)
    assert outcome.not_run == {"the prover has no statement of it": 1}
    assert "no statement of it" in outcome.notes[0]


@needs_bochs
@pytest.mark.cpu(AS_FOUND)
def test_one_of_them(tmp_path: Path) -> None:
    """The quick form of `ghashgen attack --part kernels`: one is proved, and right."""
    words = ["--part", "kernels", "--family", "hash", "--blocks", "1", "--no-segments"]
    words += ["--count", "1", "--seed", "1", "--keep", str(tmp_path), "--jobs", "1", "--json"]
    done = called("attack", *words)
    found = json.loads(done.stdout)["kernels"]
    assert (found["tried"], found["right"], found["findings"]) == (1, 1, [])
    assert found["calls"] > 500
