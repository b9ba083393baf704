"""The attack on the prover, of AES-GCM: wrong objects are seen when run, right ones are right."""

from __future__ import annotations

import io
import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from elftools.elf.elffile import ELFFile
from helpers.cpus import AS_FOUND, lacking
from helpers.emulating import needs_emulator

from ghashgen.check.attack import trial
from ghashgen.check.attack.mutation import planted
from ghashgen.check.attack.parts import mutants
from ghashgen.check.attack.verdict import Verdict
from ghashgen.check.validation.gcm.streams import FUNCTIONS
from ghashgen.cli.verbs.attack import COMMAND
from ghashgen.kernels.families import axes_of
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.target import runnable
from ghashgen.run.built import Built, build
from ghashgen.support.errors import GhashgenError

pytestmark = needs_emulator

TEXT = GcmKernel(128, "avx", "winograd", "clmul1", 2, messages=False)
WHOLE = GcmKernel(256, "sse", "karatsuba", "shift-xor", 2)
PIECES = GcmKernel(128, "avx", "winograd", "clmul1", 2, messages=False, streams=True)
WIDE = GcmKernel(192, "avx512", "winograd", "clmul1", 8, wipe=True)


RET = b"\xc3"


class Claimed(GcmKernel):
    """A kernel that wipes, under the name of one that does not."""

    @property
    def name(self) -> str:
        return replace(GcmKernel(**axes_of(self)), wipe=False).name


CHOSEN = ("--family", "gcm", "--key", "128", "--isa", "avx", "--multiply", "k")
CHOSEN = (*CHOSEN, "--reduce", "clmul1", "--blocks", "2", "--no-messages")


def offset_of(data: bytes, symbol: str) -> int:
    """Return where a function begins in an object."""
    elf = ELFFile(io.BytesIO(data))
    (found,) = elf.get_section_by_name(".symtab").get_symbol_by_name(symbol)
    code = elf.get_section(found["st_shndx"])
    return int(code["sh_offset"] + found["st_value"])


def built(folder: Path, kernel: GcmKernel, abi: str = "sysv") -> Built[GcmKernel]:
    return build([kernel], runnable(abi), folder / "none", folder / "obj")[0]


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize(
    ("kernel", "abi"),
    [(TEXT, "sysv"), (WHOLE, "win64"), (WIDE, "sysv"), (PIECES, "sysv"), (PIECES, "win64")],
    ids=lambda x: getattr(x, "name", x),
)
def test_a_right_kernel_is_right_when_run(folder: Path, kernel: GcmKernel, abi: str) -> None:
    item = built(folder, kernel, abi)
    ran = trial.run(item.obj.read_bytes(), item, folder, "1")
    assert (ran.wrong, ran.not_run) == ("", "")
    assert ran.how == ("emulated" if lacking(item.features) else "native")
    assert ran.calls > (300 if ran.how == "emulated" else 2000)


@pytest.mark.cpu(AS_FOUND)
def test_a_right_kernel_is_right_in_the_emulator(folder: Path) -> None:
    item = built(folder, WHOLE)
    ran = trial.run(item.obj.read_bytes(), item, folder, "2", emulate=True)
    assert (ran.wrong, ran.not_run, ran.how) == ("", "", "emulated")
    assert ran.calls > 300


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize("kernel", [TEXT, WHOLE], ids=lambda kernel: kernel.name)
@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("bit of a constant", "from byte"),
        ("another register", "from byte"),
        ("clobbers a saved register", "changed"),
        ("dropped", "from byte"),
    ],
)
def test_wrong_objects_are_seen_when_run(
    folder: Path, kernel: GcmKernel, kind: str, said: str
) -> None:
    item = built(folder, kernel)
    wrong = []
    for seed in range(4):
        made = planted(item.obj.read_bytes(), kind, random.Random(seed))
        assert made is not None
        wrong.append(trial.run(made[1], item, folder, "1").wrong)
    told = [text for text in wrong if text]
    assert len(told) >= 2, wrong
    assert any(said in text for text in told), told


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_fault_in_what_takes_pieces_is_seen_when_run(folder: Path, function: str) -> None:
    """It returns at once; nothing else of the object is another."""
    item = built(folder, PIECES)
    data = item.obj.read_bytes()
    at = offset_of(data, f"{item.symbol}_{function}")
    ran = trial.run(data[:at] + RET + data[at + 1 :], item, folder, "1")
    assert function in ran.wrong


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize("kernel", [TEXT, WHOLE, PIECES], ids=lambda kernel: kernel.name)
def test_a_secret_that_is_left_behind_is_seen(folder: Path, kernel: GcmKernel) -> None:
    """A kernel without wipe, run as one that says it wipes."""
    item = built(folder, kernel)
    claimed = replace(item, kernel=Claimed(**axes_of(replace(kernel, wipe=True))))
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
        assert 'family = "gcm"' in (place / "statement.toml").read_text()


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize("count", [8, 24])
def test_few_mutants(tmp_path: Path, count: int) -> None:
    """The quick form of `ghashgen attack --family gcm`: faults are rejected, or harmless."""
    words = ("--count", str(count), "--seed", "3", "--keep", str(tmp_path), "--json")
    done = CliRunner().invoke(COMMAND, [*CHOSEN, "--part", "mutants", *words])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)["mutants"]
    assert (found["tried"], found["findings"]) == (count, [])
    assert sum(found["refused"].values()) >= count / 2
    assert found["right"] > 0
    assert found["calls"] > 1000
