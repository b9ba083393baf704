"""The attack on the prover, of AES-CTR: wrong objects are seen when run, right ones are right."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from helpers.cpus import AS_FOUND, lacking
from helpers.emulating import needs_emulator

from ghashgen.check.attack import trial
from ghashgen.check.attack.mutation import planted
from ghashgen.check.attack.parts import kernels, mutants
from ghashgen.check.attack.verdict import Verdict
from ghashgen.cli.verbs.attack import COMMAND
from ghashgen.kernels.ctr.kernel import CtrKernel
from ghashgen.kernels.families import axes_of
from ghashgen.kernels.selection import Choice
from ghashgen.kernels.target import runnable
from ghashgen.run.built import Built, build
from ghashgen.support.errors import GhashgenError

pytestmark = needs_emulator

SMALL = CtrKernel(128, "avx", 2)
PLAIN = CtrKernel(256, "sse", 3, "memory")
WIDE = CtrKernel(192, "avx512", 8, wipe=True)
CHOSEN = ("--family", "ctr", "--key", "128", "--isa", "avx", "--blocks", "2")


class Claimed(CtrKernel):
    """A kernel that wipes, under the name of one that does not."""

    @property
    def name(self) -> str:
        return replace(CtrKernel(**axes_of(self)), wipe=False).name


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("attack")


def built(folder: Path, kernel: CtrKernel, abi: str = "sysv") -> Built[CtrKernel]:
    return build([kernel], runnable(abi), folder / "none", folder / "obj")[0]


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize(
    ("kernel", "abi"),
    [(SMALL, "sysv"), (PLAIN, "win64"), (WIDE, "sysv")],
    ids=lambda x: getattr(x, "name", x),
)
def test_a_right_kernel_is_right_when_run(folder: Path, kernel: CtrKernel, abi: str) -> None:
    item = built(folder, kernel, abi)
    ran = trial.run(item.obj.read_bytes(), item, folder, "1")
    assert (ran.wrong, ran.not_run) == ("", "")
    assert ran.how == ("emulated" if lacking(item.features) else "native")
    assert ran.calls > (200 if ran.how == "emulated" else 1500)


@pytest.mark.cpu(AS_FOUND)
def test_a_right_kernel_is_right_in_the_emulator(folder: Path) -> None:
    item = built(folder, PLAIN)
    ran = trial.run(item.obj.read_bytes(), item, folder, "2", emulate=True)
    assert (ran.wrong, ran.not_run, ran.how) == ("", "", "emulated")
    assert ran.calls > 200


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("bit of a constant", "from byte"),
        ("another register", "from byte"),
        ("clobbers a saved register", "changed"),
        ("dropped", "from byte"),
    ],
)
def test_wrong_objects_are_seen_when_run(folder: Path, kind: str, said: str) -> None:
    item = built(folder, SMALL)
    wrong = []
    for seed in range(4):
        made = planted(item.obj.read_bytes(), kind, random.Random(seed))
        assert made is not None
        wrong.append(trial.run(made[1], item, folder, "1").wrong)
    told = [text for text in wrong if text]
    assert len(told) >= 2, wrong
    assert any(said in text for text in told), told


@pytest.mark.cpu(AS_FOUND)
def test_a_secret_that_is_left_behind_is_seen(folder: Path) -> None:
    """A kernel without wipe, run as one that says it wipes."""
    item = built(folder, SMALL)
    claimed = replace(item, kernel=Claimed(**axes_of(replace(SMALL, wipe=True))))
    ran = trial.run(item.obj.read_bytes(), claimed, folder, "1")
    assert "depends on a secret on return" in ran.wrong


@pytest.mark.cpu(AS_FOUND)
def test_a_prover_that_accepts_everything_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mutants, "verdict", lambda data, spec: Verdict())
    words = (*CHOSEN, "--part", "mutants", "--count", "4", "--keep", str(tmp_path), "--jobs", "1")
    done = CliRunner().invoke(COMMAND, words)
    assert isinstance(done.exception, GhashgenError)
    assert "proved, and wrong when run" in str(done.exception)
    kept = [place for place in tmp_path.iterdir() if place.is_dir()]
    assert kept
    for place in kept:
        assert 'family = "ctr"' in (place / "statement.toml").read_text()


@pytest.mark.cpu(AS_FOUND)
def test_few_mutants_and_drawn_kernels(tmp_path: Path) -> None:
    """The quick form of `ghashgen attack --family ctr`: faults are rejected, or harmless."""
    words = (*CHOSEN, "--part", "mutants", "--count", "12", "--seed", "3", "--keep", str(tmp_path))
    done = CliRunner().invoke(COMMAND, [*words, "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)["mutants"]
    assert (found["tried"], found["findings"]) == (12, [])
    assert sum(found["refused"].values()) > 6


def test_every_draw_of_kernels_may_be_of_this_family() -> None:
    drawn = [kernels.drawn(random.Random(seed), Choice()) for seed in range(60)]
    assert {kernel.family for kernel in drawn} == {"hash", "gcm", "ctr"}
    only = [kernels.drawn(random.Random(seed), Choice(family=("ctr",))) for seed in range(20)]
    assert {type(kernel) for kernel in only} == {CtrKernel}
    assert len(set(only)) > 10
