"""The attack's driver: counts, time, interrupts, and what stops or dies on the way."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from helpers.verbs import called

from ghashgen.check.attack.core import Finding, Options, Outcome, Part
from ghashgen.check.attack.drive import CUT_OFF, Budget, drive
from ghashgen.check.attack.keep import NOTE, keep
from ghashgen.check.attack.limit import CutOffError, OutOfTimeError, limit
from ghashgen.check.attack.registry import parts
from ghashgen.check.attack.verdict import verdict
from ghashgen.check.proofs import statement
from ghashgen.cli.verbs import attack as verb
from ghashgen.cli.verbs import options
from ghashgen.cli.verbs.attack import COMMAND
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.support import timer
from ghashgen.support.errors import GhashgenError

# The time may be up in a callback of the garbage collector, which drops the error; it comes again.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def attack(*words: str) -> tuple[int, str, BaseException | None]:
    done = CliRunner().invoke(COMMAND, [*words, "--jobs", "1"])
    return done.exit_code, done.output, done.exception


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
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernel = Kernel("sse", "k", "clmul1", 1)
    spec = statement(kernel, kernel.name, "sysv")
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


def test_a_part_that_there_is_not_is_refused() -> None:
    _, _, error = attack("--part", "mutant")
    assert isinstance(error, GhashgenError)
    assert "unknown part 'mutant'" in str(error)


def test_the_parts_are_listed() -> None:
    _, listed, _ = attack("--parts")
    helped = " ".join(attack("--help")[1].split())
    for name, part in parts().items():
        assert f"{name}\t{part.purpose}\n" in listed
        assert f"{name} {part.purpose}" in helped


def test_a_pipe_is_told_how_far_a_part_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "EVERY", 0)
    done = called("attack", "--part", "facts", "--count", "8", "--jobs", "1", "--json")
    first, *rest = done.stderr.splitlines()
    assert first == f"facts: {parts()['facts'].purpose}"
    assert [line.partition(" done in ")[0] for line in rest] == ["facts: 1 of 2", "facts: 2 of 2"]
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
