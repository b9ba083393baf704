"""The attack on the prover: it first catches a prover that accepts what is wrong."""

import json
import random
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
from click.testing import CliRunner
from helpers.cpus import AS_FOUND, NO_PCLMULQDQ, lacking
from helpers.emulating import needs_bochs
from helpers.verbs import called
from helpers.verify_objects import ASM, assembled

from ghashgen.check.attack import trial
from ghashgen.check.attack.core import Options
from ghashgen.check.attack.edits import EDITS
from ghashgen.check.attack.elf import ObjectFile
from ghashgen.check.attack.keep import NOTE
from ghashgen.check.attack.limit import limit
from ghashgen.check.attack.mutation import KINDS, Mutant, mutant, planted
from ghashgen.check.attack.parts import mutants
from ghashgen.check.attack.registry import parts
from ghashgen.check.attack.scratches import SCRATCHES
from ghashgen.check.attack.verdict import OBJECT, Verdict, verdict
from ghashgen.check.proofs import statement
from ghashgen.check.statements import load_spec, statement_text
from ghashgen.cli.verbs.attack import COMMAND
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.selection import Choice, catalogue, choose_of
from ghashgen.kernels.target import runnable
from ghashgen.run.built import Built, build
from ghashgen.run.emulate import Emulator
from ghashgen.support.errors import GhashgenError
from ghashgen.support.paths import kernels_folder

# The time may be up in a callback of the garbage collector, which drops the error; it comes again.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

SMALL = "ghash_sse_k_clmul1_x1"

SETS = (
    *("ghash_sse_k_clmul1_x2", "ghash_avx_winograd_clmul1_x4", "ghash_avx2_k_clmul1_x8"),
    *("ghash_avx512_k_clmul1_x8", "ghash_avx512vl_k_clmul1_x8", "polyval_avx_k_clmul1_x8"),
    *("ghash_avx2_winograd_clmul1_x16_segments_wipe", "ghash_avx512_winograd_clmul1_x8_natural"),
)
"""Every set; every kind of function; wipe; both bit orders."""


def built(folder: Path, name: str = SMALL, abi: str = "sysv", align: int = 0) -> Built:
    kernels = choose_of(Kernel, Choice(name=(name,)))
    target = runnable(abi, table_align=align)
    return build(kernels, target, kernels_folder(), folder / "obj")[0]


def test_parts_are_found_and_say_what_they_do() -> None:
    assert "mutants" in parts()
    assert all(name == part.name and part.purpose for name, part in parts().items())


# What is planted.


@pytest.mark.parametrize(
    ("name", "abi"), [(SETS[0], "win64"), (SETS[1], "sysv"), (SETS[4], "sysv"), (SETS[6], "win64")]
)
def test_code_that_is_taken_apart_and_put_together_is_proved(
    folder: Path, name: str, abi: str
) -> None:
    """Else the refusal of an edited object would say nothing of the edit."""
    item = built(folder, name, abi)
    obj = ObjectFile(item.obj.read_bytes())
    again = obj.with_code(obj.lines)
    assert again.data != obj.data
    assert [str(x.instruction) for x in again.lines if "[" not in str(x.instruction)]
    spec = statement(item.kernel, item.kernel.name, item.abi, item.table_align)
    assert verdict(again.data, spec) == Verdict()


def test_every_kind_of_fault_is_planted_somewhere(folder: Path) -> None:
    found = set()
    emitted = ("ghash_avx512_k_clmul1_x8", "ghash_avx_winograd_clmul1_x4")
    # No kernel of the catalogue uses masks.
    masked = assembled((ASM / "wide.asm").read_text())
    for data in (*(built(folder, name).obj.read_bytes() for name in emitted), masked):
        for kind in KINDS:
            made = planted(data, kind, random.Random(kind))
            if made is not None and made[1] != data:
                found.add(kind)
    assert found == set(KINDS)
    assert len(KINDS) == len(EDITS) + len(SCRATCHES)


def test_a_seed_makes_the_same_mutants_and_another_others(folder: Path) -> None:
    data = built(folder).obj.read_bytes()

    def some(seed: int) -> list[Mutant]:
        return [mutant(data, random.Random(f"{seed} {k}")) for k in range(20)]

    assert some(1) == some(1)
    assert some(1) != some(2)
    assert all(made.data != data and made.change and made.kinds for made in some(1))


def test_tasks_meet_both_conventions_and_every_kernel() -> None:
    asked = Options(3, Path(), Choice(name=SETS))
    tasks = [task for task, _ in zip(mutants.PART.tasks(asked), range(400), strict=False)]
    assert {(t.original.kernel.name, t.original.abi) for t in tasks} == {
        (name, abi) for name in SETS for abi in ("sysv", "win64")
    }
    assert {t.original.table_align for t in tasks} > {0}
    assert tasks == [t for t, _ in zip(mutants.PART.tasks(asked), range(400), strict=False)]


def test_every_third_kernel_has_columns_in_both_conventions() -> None:
    tasks = list(islice(mutants.PART.tasks(Options(3, Path())), 12 * len(catalogue())))
    columns = [t.original for t in tasks if getattr(t.original.kernel, "columns", 1) > 1]
    assert len(columns) == len(tasks) / 3
    found = {(o.kernel.columns, o.abi) for o in columns}
    assert found == {(n, abi) for n in (2, 4, 8) for abi in ("sysv", "win64")}
    assert {o.kernel.isa for o in columns} == {"sse", "avx", "avx2", "avx512vl", "avx512"}
    # The others still come one after the other, so that none is left out for ever.
    listed = [t.original.kernel for t in tasks if t.original not in columns]
    assert len(set(listed)) >= len(catalogue())


def test_a_convention_that_is_chosen_is_the_only_one() -> None:
    only = Options(3, Path(), abis=("win64",))
    for part in (mutants.PART, parts()["kernels"]):
        drawn = [getattr(t, "original", t) for t in islice(part.tasks(only), 40)]
        assert {each.abi for each in drawn} == {"win64"}


# What the prover says.


def test_what_the_prover_says_is_a_category_a_stop_or_late(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = built(folder)
    data = item.obj.read_bytes()
    spec = statement(item.kernel, item.kernel.name, item.abi, item.table_align)
    assert verdict(data, spec) == Verdict()
    assert verdict(data[:200], spec).refused == OBJECT
    wrong = planted(data, "operands exchanged", random.Random(5))
    assert wrong is not None
    assert verdict(wrong[1], spec).refused in ("function", "memory", "abi", "unsupported")

    def fails(*_: object) -> None:
        raise KeyError("x")

    def hangs(*_: object) -> None:
        while True:
            pass

    monkeypatch.setattr("ghashgen.check.attack.verdict.prove_object", fails)
    assert verdict(data, spec).stopped == "KeyError: 'x'"
    monkeypatch.setattr("ghashgen.check.attack.verdict.prove_object", hangs)
    assert verdict(data, spec, seconds=0.1).late
    with limit(10):
        pass


@pytest.mark.parametrize("name", SETS)
def test_a_kept_statement_is_the_one_that_was_asked(
    folder: Path, tmp_path: Path, name: str
) -> None:
    item = built(folder, name)
    spec = statement(item.kernel, item.kernel.name, item.abi, item.table_align)
    path = tmp_path / "statement.toml"
    path.write_text(statement_text(spec), encoding="utf-8")
    read = load_spec(path)
    ordered = sorted(spec.functions, key=lambda f: f.operation)
    assert read == replace(spec, functions=tuple(ordered))


# What running shows.


def accepted(item: Built, folder: Path, kind: str, seed: int) -> trial.Ran:
    """Run an object with one fault, as if it had been accepted."""
    made = planted(item.obj.read_bytes(), kind, random.Random(seed))
    assert made is not None
    return trial.run(made[1], item, folder, "1")


@pytest.mark.cpu(AS_FOUND, NO_PCLMULQDQ)
@needs_bochs
@pytest.mark.usefixtures("kept_emulator")
@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("bit of a constant", "got "),
        ("clobbers a saved register", "changed"),
        ("branches on data", "depends on data|got |SIGILL|changed"),
        ("filled with NOPs", ""),
    ],
)
def test_wrong_objects_are_seen_when_run(folder: Path, kind: str, said: str) -> None:
    item = built(folder)
    seen = [accepted(item, folder, kind, seed) for seed in range(4)]
    wrong = [ran.wrong for ran in seen if ran.wrong]
    assert wrong
    assert all(any(part in text for part in said.split("|")) for text in wrong), wrong
    assert not list(folder.glob("accepted-*"))


@pytest.mark.cpu(AS_FOUND, NO_PCLMULQDQ)
@needs_bochs
@pytest.mark.usefixtures("kept_emulator")
@pytest.mark.parametrize("abi", ["sysv", "win64"])
def test_a_right_kernel_is_right_when_run(folder: Path, abi: str) -> None:
    item = built(folder, "ghash_avx2_winograd_clmul1_x16_segments_wipe", abi)
    ran = trial.run(item.obj.read_bytes(), item, folder, "1")
    assert (ran.wrong, ran.not_run) == ("", "")
    assert ran.how == ("emulated" if lacking(item.features) else "native")
    assert ran.calls > (400 if ran.how == "emulated" else 5000)


@pytest.mark.cpu(AS_FOUND)
@needs_bochs
@pytest.mark.usefixtures("kept_emulator")
def test_a_secret_that_is_left_behind_is_seen(folder: Path) -> None:
    """A kernel without wipe, run as one that says it wipes."""
    item = built(folder)
    claimed = replace(item, kernel=replace(item.kernel, wipe=True, alias=item.kernel.name))
    ran = trial.run(item.obj.read_bytes(), claimed, folder, "1")
    assert "depends on a secret on return" in ran.wrong


@pytest.mark.cpu(AS_FOUND)
@needs_bochs
def test_no_emulator_is_a_refusal_and_no_finding(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(self: Emulator) -> None:
        raise GhashgenError("the emulator does not start")

    monkeypatch.setattr(Emulator, "features", absent)
    item = built(folder)
    with pytest.raises(GhashgenError, match="does not start"):
        trial.run(item.obj.read_bytes(), item, folder, "1")


# The verb.


@pytest.mark.cpu(AS_FOUND)
@needs_bochs
def test_a_prover_that_accepts_everything_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mutants, "verdict", lambda data, spec: Verdict())
    words = ("--part", "mutants", "--count", "4", "--name", SMALL, "--keep", str(tmp_path))
    done = CliRunner().invoke(COMMAND, [*words, "--jobs", "1"])
    status, output, error = done.exit_code, done.output, done.exception
    assert status != 0
    assert isinstance(error, GhashgenError)
    assert "proved, and wrong when run" in str(error)
    kept = [place for place in tmp_path.iterdir() if place.is_dir()]
    assert kept
    assert output.count("FOUND by mutants: ") == len(kept)
    for place in kept:
        note = (place / NOTE).read_text()
        assert "seed 1" in note
        assert "prove-object object.o --spec statement.toml" in note
        data = (place / "object.o").read_bytes()
        assert data != (place / "original.o").read_bytes()
        # The real prover refuses it, so what is kept is what was run.
        assert verdict(data, load_spec(place / "statement.toml")).refused


def test_a_prover_that_stops_is_found_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    item = built(folder)
    monkeypatch.setattr(mutants, "verdict", lambda data, spec: Verdict(stopped="KeyError: 3"))
    made = Mutant(("x",), "x", item.obj.read_bytes())
    outcome = mutants.attempt(Options(1, folder), 0, item, made)
    (finding,) = outcome.findings
    assert finding.wrong == "the prover stopped: KeyError: 3"


@pytest.mark.cpu(AS_FOUND)
@needs_bochs
@pytest.mark.parametrize("count", [24, 64])
def test_few_mutants_of_every_set_and_both_conventions(tmp_path: Path, count: int) -> None:
    """The quick form of `ghashgen attack --part mutants`: faults are rejected, or harmless."""
    names = [word for name in SETS for word in ("--name", name)]
    words = ("--part", "mutants", "--count", str(count), "--seed", "10", "--keep", str(tmp_path))
    done = called("attack", *words, *names, "--json")
    found = json.loads(done.stdout)["mutants"]
    assert found["tried"] == count
    assert found["findings"] == []
    refused = found["refused"]
    assert sum(refused.values()) + found["right"] + sum(found["not_run"].values()) == count
    assert sum(refused.values()) > 0.6 * count
    assert {"function", "memory"} | ({"unsupported"} if count == 64 else set()) <= set(refused)
    assert found["right"] > 0
    assert found["calls"] > 1000
    assert not list(tmp_path.iterdir())
