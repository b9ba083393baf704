"""The attack on the prover: it first catches a prover that accepts what is wrong."""

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
from click.testing import CliRunner
from helpers.cpus import AS_FOUND, NO_PCLMULQDQ, lacking
from helpers.verify_objects import ASM, assembled

from ghashgen.check.attack import trial
from ghashgen.check.attack.core import Finding, Options, Outcome, Part
from ghashgen.check.attack.drive import CUT_OFF, Budget, drive
from ghashgen.check.attack.edits import EDITS
from ghashgen.check.attack.elf import ObjectFile
from ghashgen.check.attack.keep import NOTE, keep
from ghashgen.check.attack.limit import CutOffError, OutOfTimeError, limit
from ghashgen.check.attack.mutation import KINDS, Mutant, mutant, planted
from ghashgen.check.attack.parts import mutants
from ghashgen.check.attack.registry import parts
from ghashgen.check.attack.scratches import SCRATCHES
from ghashgen.check.attack.verdict import OBJECT, Verdict, verdict
from ghashgen.check.proofs import statement
from ghashgen.check.statements import load_spec, statement_text
from ghashgen.cli.verbs import attack as verb
from ghashgen.cli.verbs import options
from ghashgen.cli.verbs.attack import COMMAND
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.selection import Choice, catalogue, choose_of
from ghashgen.kernels.target import runnable
from ghashgen.run.built import Built, build
from ghashgen.run.emulate import Emulator
from ghashgen.support import timer
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


@pytest.fixture
def emulator() -> None:
    """Skip where there is none: an accepted object is run in it too."""
    with Emulator() as one:
        try:
            one.features()
        except GhashgenError as error:
            pytest.skip(str(error))


def test_parts_are_found_and_say_what_they_do() -> None:
    assert "mutants" in parts()
    assert all(name == part.name and part.purpose for name, part in parts().items())


# What is planted.


@pytest.mark.parametrize(
    ("name", "abi"),
    [(SETS[0], "win64"), (SETS[1], "sysv"), (SETS[4], "sysv"), (SETS[6], "win64")],
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
@pytest.mark.usefixtures("emulator")
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
@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("abi", ["sysv", "win64"])
def test_a_right_kernel_is_right_when_run(folder: Path, abi: str) -> None:
    item = built(folder, "ghash_avx2_winograd_clmul1_x16_segments_wipe", abi)
    ran = trial.run(item.obj.read_bytes(), item, folder, "1")
    assert (ran.wrong, ran.not_run) == ("", "")
    assert ran.how == ("emulated" if lacking(item.features) else "native")
    assert ran.calls > (400 if ran.how == "emulated" else 5000)


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.usefixtures("emulator")
def test_a_secret_that_is_left_behind_is_seen(folder: Path) -> None:
    """A kernel without wipe, run as one that says it wipes."""
    item = built(folder)
    claimed = replace(item, kernel=replace(item.kernel, wipe=True, alias=item.kernel.name))
    ran = trial.run(item.obj.read_bytes(), claimed, folder, "1")
    assert "depends on a secret on return" in ran.wrong


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.usefixtures("emulator")
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


def attack(*words: str) -> tuple[int, str, BaseException | None]:
    done = CliRunner().invoke(COMMAND, [*words, "--jobs", "1"])
    return done.exit_code, done.output, done.exception


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.usefixtures("emulator")
def test_a_prover_that_accepts_everything_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mutants, "verdict", lambda data, spec: Verdict())
    words = ("--part", "mutants", "--count", "4", "--name", SMALL, "--keep", str(tmp_path))
    status, output, error = attack(*words)
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
@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("count", [24, 64])
def test_few_mutants_of_every_set_and_both_conventions(tmp_path: Path, count: int) -> None:
    """The quick form of `ghashgen attack --part mutants`: faults are rejected, or harmless."""
    names = [word for name in SETS for word in ("--name", name)]
    words = ("--part", "mutants", "--count", str(count), "--seed", "10", "--keep", str(tmp_path))
    done = CliRunner().invoke(COMMAND, [*words, *names, "--json"])
    assert done.exit_code == 0, done.output
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


def test_a_part_that_there_is_not_is_refused() -> None:
    _, _, error = attack("--part", "mutant")
    assert isinstance(error, GhashgenError)
    assert "unknown part 'mutant'" in str(error)


# The driver.


def _numbers(options: Options) -> Iterator[int]:
    number = 0
    while True:
        yield number
        number += 1


def _odd_is_refused(options: Options, number: int) -> Outcome:
    if number == 13:
        return Outcome(findings=(Finding("thirteen", "unlucky", "again", {"n": "13"}),), calls=2)
    return Outcome(refused={"odd": 1}) if number % 2 else Outcome(right=1, calls=1)


TOY = Part("toy", "odd numbers", _numbers, _odd_is_refused, together=3)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_count_is_kept_whatever_the_workers(tmp_path: Path, jobs: int) -> None:
    seen: list[Finding] = []
    asked = Options(1, tmp_path)
    *_, last = drive(TOY, asked, Budget(count=20), jobs, seen.append)
    assert last.tried == 20
    assert (last.refused, last.right, last.calls) == ({"odd": 9}, 10, 12)
    assert [finding.title for finding in seen] == ["thirteen"]
    *_, one = drive(TOY, asked, Budget(count=1, first=13), jobs)
    assert [finding.title for finding in one.findings] == ["thirteen"]


@pytest.mark.parametrize("jobs", [1, 2])
def test_time_ends_an_endless_part(tmp_path: Path, jobs: int) -> None:
    """If it ran on past the time, this test would not end. A second is for workers to start in."""
    *_, last = drive(TOY, Options(1, tmp_path), Budget(seconds=1), jobs)
    assert last.tried > 0


def _endless(options: Options, number: int) -> Outcome:
    while number:
        time.sleep(0.01)
    return Outcome(right=1)


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_time_is_a_bound_for_tasks_without_end(tmp_path: Path, jobs: int) -> None:
    """If a task ran on past the time, this test would not end."""
    part = replace(TOY, work=_endless)
    *_, last = drive(part, Options(1, tmp_path), Budget(seconds=0.5), jobs)
    assert last.right == 1
    assert last.not_run == {CUT_OFF: jobs}


def forever() -> None:
    while True:
        pass


def test_a_time_within_a_time_ends_with_the_first_of_them() -> None:
    met = []

    def inside(seconds: float) -> None:
        try:
            with limit(seconds):
                forever()
        except CutOffError:
            raise
        except OutOfTimeError:
            met.append(seconds)
        forever()

    for seconds in (0.05, 1000):
        with pytest.raises(CutOffError), limit(0.2, CutOffError):
            inside(seconds)
    assert met == [0.05]
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def test_a_limit_ends_in_time_while_progress_is_shown() -> None:
    calls: list[int] = []
    with timer.regularly(0.1, lambda: calls.append(1)):
        with pytest.raises(OutOfTimeError), limit(0.3):
            forever()
        time.sleep(0.15)
        assert calls
        assert signal.getitimer(signal.ITIMER_REAL)[1] == pytest.approx(0.1)
    with pytest.raises(OutOfTimeError), limit(0.2), timer.regularly(0.01, lambda: None):
        forever()
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def test_a_proof_that_the_end_of_the_time_cuts_off_is_not_late(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = built(folder)
    spec = statement(item.kernel, item.kernel.name, item.abi, item.table_align)
    name = "ghashgen.check.attack.verdict.prove_object"
    monkeypatch.setattr(name, lambda *given: forever())
    with pytest.raises(CutOffError), limit(0.2, CutOffError):
        verdict(b"", spec, suspected=False)


INTERRUPTED = """
import os, signal, sys, time
from dataclasses import replace
from pathlib import Path
from ghashgen.check.attack.core import Options, Outcome, Part
from ghashgen.check.attack.drive import Budget, drive
from ghashgen.support.termination import heed

def tasks(options):
    yield from range(10**9)

def work(options, number):
    if number == 0:
        return Outcome(right=1)
    try:
        (options.folder / str(number)).touch()
        while True:
            time.sleep(0.01)
    finally:
        (options.folder / str(number)).unlink(missing_ok=True)

folder = Path(sys.argv[1])
heed()
total = Outcome()
try:
    for total in drive(Part("toy", "", tasks, work), Options(1, folder), Budget(), 2):
        while not list(folder.iterdir()):
            time.sleep(0.01)
        os.kill(os.getpid(), getattr(signal, sys.argv[2]))
except KeyboardInterrupt:
    print(total.right, len(list(folder.iterdir())))
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_an_interrupt_ends_tasks_without_end_and_leaves_nothing(tmp_path: Path, name: str) -> None:
    """If workers worked on, this test would not end."""
    words = [sys.executable, "-c", INTERRUPTED, str(tmp_path), name]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("1 0\n", "")


def test_parts_share_the_time_and_what_one_leaves_goes_to_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shares: list[float] = []

    def note(part: Part, options: Options, budget: Budget, *more: object) -> Iterator[Outcome]:
        assert budget.seconds is not None
        shares.append(budget.seconds)
        yield Outcome(right=1)

    monkeypatch.setattr(verb, "drive", note)
    assert attack("--seconds", "1000", "--keep", str(tmp_path))[0] == 0
    assert len(shares) == len(parts())
    share = 1000 / len(parts())
    assert 0.95 * share < shares[0] <= share + 1e-3
    # Nobody used any: the last has all of it.
    assert 900 < shares[-1] <= 1000


def test_the_parts_are_listed() -> None:
    _, listed, _ = attack("--parts")
    helped = " ".join(attack("--help")[1].split())
    for name, part in parts().items():
        assert f"{name}\t{part.purpose}\n" in listed
        assert f"{name} {part.purpose}" in helped


def test_a_pipe_is_told_how_far_a_part_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "EVERY", 0)
    done = CliRunner().invoke(COMMAND, ["--part", "facts", "--count", "8", "--jobs", "1", "--json"])
    assert done.exit_code == 0, done.output
    first, *rest = done.stderr.splitlines()
    assert first == f"facts: {parts()['facts'].purpose}"
    assert [line.partition(" done in ")[0] for line in rest] == [
        "facts: 1 of 2",
        "facts: 2 of 2",
    ]
    assert json.loads(done.stdout)["facts"]["tried"] >= 64


def _stumbles(options: Options, number: int) -> Outcome:
    if number == 5:
        raise KeyError("five")
    return Outcome(right=1)


def test_a_task_that_stops_ends_no_night_and_is_told(tmp_path: Path) -> None:
    part = replace(TOY, work=_stumbles)
    *_, last = drive(part, Options(7, tmp_path), Budget(count=9, first=3), 2)
    assert last.right == 8
    (finding,) = last.findings
    assert finding.wrong == "the attack itself stopped: KeyError: 'five'"
    assert "--seed 7 --first 5 --count 1" in finding.repeat
    assert "KeyError" in str(finding.files["traceback.txt"])


def _dies(options: Options, number: int) -> Outcome:
    import os

    os._exit(9)


def test_a_worker_that_ends_is_told_with_the_task(tmp_path: Path) -> None:
    part = replace(TOY, work=_dies)
    with pytest.raises(GhashgenError, match=r"--part toy --seed 7 --first 0 --jobs 1"):
        list(drive(part, Options(7, tmp_path), Budget(count=9), 2))


def test_what_is_kept_is_named_by_what_it_is(tmp_path: Path) -> None:
    finding = Finding("a / b", "wrong", "again", {"x.bin": b"\0\1", "y.txt": "z"})
    place = keep(tmp_path, "toy", 4, finding)
    assert place == keep(tmp_path, "toy", 4, finding)
    assert place.name.startswith("toy-a-b-")
    assert (place / "x.bin").read_bytes() == b"\0\1"
    assert (place / NOTE).read_text() == "a / b\nwrong\npart toy, seed 4\nagain\n"
