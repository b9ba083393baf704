"""Progress of long verbs, where standard error is not a terminal."""

from dataclasses import dataclass
from typing import Any, cast

import pytest

from ghashgen.check.validation import validate
from ghashgen.cli.verbs import options


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


def lines(
    items: int, seconds: float, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> list[str]:
    """What a verb says that works for so many seconds on each item."""
    clock = Clock()
    monkeypatch.setattr(options, "time", clock)
    with options.progress("work", items) as advance:
        for item in range(items):
            clock.now += seconds
            advance(item)
    return capsys.readouterr().err.splitlines()


def test_a_line_says_how_long_the_rest_takes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lines(4, 10, monkeypatch, capsys) == [
        "work: 1 of 4 done in 10 s, 30 s left",
        "work: 2 of 4 done in 20 s, 20 s left",
        "work: 3 of 4 done in 30 s, 10 s left",
        "work: 4 of 4 done in 40 s",
    ]


def test_short_work_says_nothing_and_an_hour_says_little(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lines(100, 0.09, monkeypatch, capsys) == []
    assert 10 < len(lines(36_000, 0.1, monkeypatch, capsys)) < 30


@dataclass(frozen=True)
class Item:
    """What `validate` orders a run by."""

    exported: tuple[str, ...]
    key_bytes: int = 0


def test_kernels_that_take_long_are_spread_over_a_run() -> None:
    slow = [Item(("seal",) * 6, size) for size in (16, 32, 16, 32)]
    items = cast("Any", [*(Item(("update",)),) * 12, *slow])
    order = validate._spread(items)
    assert sorted(order) == [*range(16)]
    found = [order.index(12 + number) for number in range(4)]
    assert sorted(found) == [1, 5, 9, 13] or sorted(found) == [2, 6, 10, 14]
    # Those with the same key size follow each other.
    assert max(found[1], found[3]) < min(found[0], found[2])
