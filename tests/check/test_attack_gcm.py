"""The attack on the prover, of AES-GCM and AES-CTR: wrong objects are seen when run, right ones are
right."""

import io
import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from helpers.cpus import AS_FOUND, lacking
from helpers.emulating import needs_emulator
from helpers.verbs import called, refused

from ghashgen.check.attack import trial
from ghashgen.check.attack.mutation import planted
from ghashgen.check.attack.parts import kernels, mutants
from ghashgen.check.attack.verdict import Verdict
from ghashgen.check.validation.gcm.streams import FUNCTIONS
from ghashgen.kernels.ctr.kernel import CtrKernel
from ghashgen.kernels.families import axes_of
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.selection import Choice
from ghashgen.kernels.target import runnable
from ghashgen.run.built import Built, build

pytestmark = [*needs_emulator, pytest.mark.cpu(AS_FOUND)]

Either = GcmKernel | CtrKernel

TEXT = GcmKernel(128, "avx", "winograd", "clmul1", 2, messages=False)
WHOLE = GcmKernel(256, "sse", "karatsuba", "shift-xor", 2)
PIECES = GcmKernel(128, "avx", "winograd", "clmul1", 2, messages=False, streams=True)
WIDE = GcmKernel(192, "avx512", "winograd", "clmul1", 8, wipe=True)
COUNTERS = CtrKernel(128, "avx", 2)
PLAIN = CtrKernel(256, "sse", 3, "memory")
COUNTERS_WIDE = CtrKernel(192, "avx512", 8, wipe=True)

GCM = "--family gcm --key 128 --isa avx --multiply k --reduce clmul1 --blocks 2 --no-messages"
CTR = "--family ctr --key 128 --isa avx --blocks 2"

RET = b"\xc3"


def claimed(kernel: Either) -> Either:
    """Return a kernel that wipes, under the name of one that does not."""

    class Claimed(type(kernel)):  # type: ignore[misc]
        @property
        def name(self) -> str:
            return kernel.name

    return Claimed(**axes_of(replace(kernel, wipe=True)))


def name_of(value: object) -> str:
    return str(getattr(value, "name", value))


def offset_of(data: bytes, symbol: str) -> int:
    """Return where a function begins in an object."""
    elf = ELFFile(io.BytesIO(data))
    (found,) = elf.get_section_by_name(".symtab").get_symbol_by_name(symbol)
    code = elf.get_section(found["st_shndx"])
    return int(code["sh_offset"] + found["st_value"])


def built(folder: Path, kernel: Either, abi: str = "sysv") -> Built[Either]:
    return build([kernel], runnable(abi), folder / "none", folder / "obj")[0]


@pytest.mark.parametrize(
    ("kernel", "abi"),
    [
        (TEXT, "sysv"),
        (WHOLE, "win64"),
        (WIDE, "sysv"),
        (PIECES, "sysv"),
        (PIECES, "win64"),
        (COUNTERS, "sysv"),
        (PLAIN, "win64"),
        (COUNTERS_WIDE, "sysv"),
    ],
    ids=name_of,
)
@pytest.mark.usefixtures("kept_emulator")
def test_a_right_kernel_is_right_when_run(folder: Path, kernel: Either, abi: str) -> None:
    item = built(folder, kernel, abi)
    ran = trial.run(item.obj.read_bytes(), item, folder, "1")
    assert (ran.wrong, ran.not_run) == ("", "")
    assert ran.how == ("emulated" if lacking(item.features) else "native")
    assert ran.calls > (200 if ran.how == "emulated" else 1500)


@pytest.mark.parametrize("kernel", [WHOLE, PLAIN], ids=name_of)
def test_a_right_kernel_is_right_in_the_emulator(folder: Path, kernel: Either) -> None:
    item = built(folder, kernel)
    ran = trial.run(item.obj.read_bytes(), item, folder, "2", emulate=True)
    assert (ran.wrong, ran.not_run, ran.how) == ("", "", "emulated")
    assert ran.calls > 200


@pytest.mark.parametrize("kernel", [TEXT, WHOLE, COUNTERS], ids=name_of)
@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("bit of a constant", "from byte"),
        ("another register", "from byte"),
        ("clobbers a saved register", "changed"),
        ("dropped", "from byte"),
    ],
)
@pytest.mark.usefixtures("kept_emulator")
def test_wrong_objects_are_seen_when_run(
    folder: Path, kernel: Either, kind: str, said: str
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


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.usefixtures("kept_emulator")
def test_a_fault_in_what_takes_pieces_is_seen_when_run(folder: Path, function: str) -> None:
    """It returns at once; nothing else of the object is another."""
    item = built(folder, PIECES)
    data = item.obj.read_bytes()
    at = offset_of(data, f"{item.symbol}_{function}")
    ran = trial.run(data[:at] + RET + data[at + 1 :], item, folder, "1")
    assert function in ran.wrong


@pytest.mark.parametrize("kernel", [TEXT, WHOLE, PIECES, COUNTERS], ids=name_of)
@pytest.mark.usefixtures("kept_emulator")
def test_a_secret_that_is_left_behind_is_seen(folder: Path, kernel: Either) -> None:
    """A kernel without wipe, run as one that says it wipes."""
    item = built(folder, kernel)
    ran = trial.run(item.obj.read_bytes(), replace(item, kernel=claimed(kernel)), folder, "1")
    assert "depends on a secret on return" in ran.wrong


@pytest.mark.parametrize("chosen", [GCM, CTR], ids=["gcm", "ctr"])
def test_a_prover_that_accepts_everything_is_found_out(
    chosen: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mutants, "verdict", lambda data, spec: Verdict())
    words = f"{chosen} --part mutants --count 4 --jobs 1".split()
    assert "proved, and wrong when run" in refused("attack", *words, "--keep", str(tmp_path))
    kept = [place for place in tmp_path.iterdir() if place.is_dir()]
    assert kept
    family = chosen.split()[1]
    for place in kept:
        assert f'family = "{family}"' in (place / "statement.toml").read_text()


@pytest.mark.parametrize(
    ("chosen", "count"), [(GCM, 8), (GCM, 24), (CTR, 12)], ids=["gcm-8", "gcm-24", "ctr-12"]
)
def test_few_mutants(tmp_path: Path, chosen: str, count: int) -> None:
    """The quick form of `ghashgen attack --family …`: faults are rejected, or harmless."""
    words = f"{chosen} --part mutants --count {count} --seed 3 --json".split()
    done = called("attack", *words, "--keep", str(tmp_path))
    found = json.loads(done.stdout)["mutants"]
    assert (found["tried"], found["findings"]) == (count, [])
    assert sum(found["refused"].values()) >= count / 2
    if chosen == GCM:
        assert found["right"] > 0
        assert found["calls"] > 1000


def test_every_draw_of_kernels_may_be_of_this_family() -> None:
    drawn = [kernels.drawn(random.Random(seed), Choice()) for seed in range(60)]
    assert {kernel.family for kernel in drawn} == {"hash", "gcm", "ctr"}
    only = [kernels.drawn(random.Random(seed), Choice(family=("ctr",))) for seed in range(20)]
    assert {type(kernel) for kernel in only} == {CtrKernel}
    assert len(set(only)) > 10
