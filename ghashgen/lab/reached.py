"""Goals beside a record's measurements: reached, or by how much they are missed."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from ghashgen.lab.standing import Pair, figure, markdown_table, pair, wrapped
from ghashgen.records.core import Cell, size_name
from ghashgen.records.goals import Book, Goal, Goals
from ghashgen.records.records import Record

REACHED = "reached"


@dataclass(frozen=True)
class Verdict:
    """A goal and its measurements."""

    goal: Goal
    found: Pair
    chained: Cell | None
    """The fastest kernel if each message waits for the previous tag."""
    same_core: bool
    """Whether the goal's cycles are of this core, with all that it has."""

    @property
    def shares(self) -> tuple[float, ...]:
        """For each requirement on this core, the reached fraction: 1 or more means reached."""
        goal, wanted = self.goal, []
        if goal.ratio is not None:
            wanted.append(self.found.ratio / goal.ratio)
        if self.same_core and goal.cycles is not None:
            wanted.append(goal.cycles * (1 + goal.within) / self.found.kernel.cycles)
        if self.same_core and goal.chained is not None and self.chained is not None:
            wanted.append(goal.chained / self.chained.cycles)
        return tuple(wanted)

    @property
    def share(self) -> float:
        """The least of `shares`; NaN without requirements on this core."""
        return min(self.shares, default=math.nan)

    @property
    def said(self) -> str:
        """Return "reached", "missed by 5.0%", or "" without requirements on this core."""
        if math.isnan(self.share):
            return ""
        return REACHED if self.share >= 1 else f"missed by {1 - self.share:.1%}"


def verdicts(record: Record, goals: Goals) -> Iterator[Verdict]:
    """Yield every goal for a record's CPU whose kernel and peer were measured."""
    results = record.results
    for goal in goals.each:
        if (found := pair(results, goal.size, "seal", goal.key)) is not None:
            chained = results.fastest_kernel(goal.size, "seal-latency", goal.key)
            same = record.title == goals.core
            yield Verdict(goal, found, chained, same)


def columns(goals: Goals) -> tuple[str, ...]:
    """Return the columns of `cells`."""
    return (
        *(">key", ">bytes", "kernel", ">cycles", ">chained", "best peer"),
        *(">peer's time by the kernel's", ">goal", "which is"),
        *(f">cycles meant for {goals.core}", ">chained there"),
    )


def cells(verdict: Verdict) -> tuple[str, ...]:
    """Return one row."""
    goal, found = verdict.goal, verdict.found
    meant = "" if goal.per_byte is None or goal.cycles is None else _meant(goal, found.kernel)
    return (
        *(str(goal.key), size_name(goal.size), f"`{found.kernel.name}`", figure(found.kernel)),
        "" if verdict.chained is None else figure(verdict.chained),
        *(found.peer.name, f"{found.ratio:.2f}"),
        "" if goal.ratio is None else f"{goal.ratio:.2f}",
        *(verdict.said, meant, "" if goal.chained is None else f"{goal.chained:.0f}"),
    )


def _meant(goal: Goal, measured: Cell) -> str:
    """Return a goal's cycles in the unit of the measurement."""
    per_call = not figure(measured).endswith("/B")
    within = f" + {goal.within:.0%}" if goal.within else ""
    return (f"{goal.cycles:.0f}" if per_call else f"{goal.per_byte:.3f}/B") + within


def goal_parts(record: Record, book: Book) -> Iterator[str]:
    """Yield the results page's text about a record's goals; nothing if it has none."""
    goals = book.of(record.results.machine.features)
    found = tuple(verdicts(record, goals)) if goals is not None else ()
    if goals is None or not found:
        return
    asked = [verdict for verdict in found if verdict.shares]
    reached = sum(verdict.said == REACHED for verdict in asked)
    names = ", ".join(goals.features).upper()
    kind = f"with {names}" if names else "without VAES"
    text = (
        f"Goals for CPUs {kind}, set before the measurement: messages sealed back to back, 12 "
        f"bytes of AAD each, keys of 128 and 256 bits. {reached} of {len(asked)} goals are reached "
        "here."
    )
    if not found[0].same_core:
        text += f" The goals in cycles are meant for {goals.core} with all its features."
    yield f"### Goals of AES-GCM on {record.title}"
    yield wrapped(f"{text} What ports allow is in [model.md](model.md).")
    yield markdown_table(columns(goals), map(cells, found))
    missed = [verdict.goal for verdict in asked if verdict.said != REACHED]
    for remark in book.remarks:
        about = [goal for goal in missed if remark.about(record.title, goal)]
        if about:
            sizes = ", ".join(map(size_name, sorted({goal.size for goal in about})))
            yield wrapped(f"At {sizes}: {remark.said}")
