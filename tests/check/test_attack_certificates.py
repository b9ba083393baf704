"""Small programs with drawn certificates: nothing wrong is accepted; a broken rule is noticed."""

from pathlib import Path

import pytest

from ghashgen.check.attack.core import Options, Outcome
from ghashgen.check.attack.parts import certificates
from ghashgen.check.attack.toy import run
from ghashgen.verify.core.linear import Facts
from ghashgen.verify.meaning.function import Function

SEED = 1


def outcome(*tasks: int) -> Outcome:
    """Return what some tasks found."""
    options = Options(SEED, Path())
    return sum((certificates.work(options, task) for task in tasks), Outcome())


@pytest.mark.parametrize(
    ("tasks", "right"), [(range(10, 20), 15), (range(10), 9), (range(20, 25), 1)]
)
def test_what_is_accepted_is_right(tasks: range, right: int) -> None:
    found = outcome(*tasks)
    assert found.findings == ()
    assert found.right > right
    assert found.refused["unsupported"] > 15 * len(tasks)


def test_bytes_that_may_be_left_out_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        Function, "settled", lambda self, arrival, region: set(arrival.state.memory.written[region])
    )
    found = outcome(15).findings
    assert found
    assert all("of state is" in one.wrong for one in found)


def test_facts_that_are_believed_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Facts, "shows", lambda self, number: True)
    assert outcome(1).findings


def test_a_checker_that_stops_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*args: object) -> None:
        raise KeyError("planted")

    monkeypatch.setattr("ghashgen.check.attack.toy.judge.check_case", stop)
    found = outcome(1).findings
    assert found
    assert all("KeyError" in one.wrong for one in found)


WRONG: dict[str, tuple[run.Op, ...]] = {
    "state": (("load", 0, "rdi", 64), ("ret",)),
    "area": (("load", 0, "rsi", 17), ("ret",)),
    "stack": (("store", "rsp", -8, 0), ("ret",)),
    "number": (("load", 0, "rdx", 0), ("ret",)),
    "not restored": (("mov", 64, "rbx", 0), ("ret",)),
    "not defined": (("label", "l"), ("j", "b", "l"), ("ret",)),
    "no end": (("label", "l"), ("cmp", 64, "rdx", 0), ("j", "ae", "l"), ("ret",)),
}


@pytest.mark.parametrize("said", sorted(WRONG))
def test_the_interpreter_sees_what_is_wrong(said: str) -> None:
    with pytest.raises(run.WrongError, match=said):
        run.run(WRONG[said], 32)


def test_the_interpreter_follows_numbers_and_data() -> None:
    program: tuple[run.Op, ...] = (
        ("load", 0, "rdi", 0), ("load", 1, "rsi", 0), ("pxor", 0, 1), ("store", "rdi", 16, 0),
        ("push", "rdx"), ("pop", "rcx"), ("sub", 32, "rcx", 33), ("mov", 64, "rax", 1),
        ("j", "b", "l"), ("mov", 64, "rax", 2), ("label", "l"), ("ret",),
    )  # fmt: skip
    left = run.run(program, 32)
    assert (left.r["rcx"], left.r["rax"]) == (0xFFFFFFFF, 1)
    spilled = run.run((("keep", "rsp", -8, "rdi"), ("fetch", "rcx", "rsp", -8), ("ret",)), 32)
    assert spilled.r["rcx"] == ("state", 0)
    parts = (("load", 0, "rdi", 0), ("load", 1, "rdi", 16), ("pxor", 0, 1), ("store", "rdi", 0, 0))
    mixed = run.run((*parts, ("fetch", "rcx", "rdi", 4), ("ret",)), 32)
    assert "part of" in str(mixed.r["rcx"])
    assert left.byte("state", 21) == (frozenset({("state", 5), ("area", 5)}), 0)
