"""Goals beside a record's measurements: reached, or by how much they are missed."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ghashgen.lab.pages import markdown_table, wrapped
from ghashgen.lab.standing import Pair, Standing, figure
from ghashgen.records.core import IMIX_BURSTS, Cell, size_name
from ghashgen.records.goals import Book, Goal, Goals
from ghashgen.records.levels import LEVELS

REACHED = "reached"


@dataclass(frozen=True)
class Verdict:
    """A goal and its measurements."""

    goal: Goal
    found: Pair
    chained: Cell | None
    """The same kernel if each message waits for the previous tag."""
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


def verdicts(one: Standing, goals: Goals) -> Iterator[Verdict]:
    """Yield every goal for a record's CPU whose kernel and peer were measured."""
    if goals.level is not None:
        if one.up_to is None:
            return
        one = one.up_to(goals.level)
    for goal in goals.each:
        if (found := one.pair(goal.size, goal.mode, goal.key)) is not None:
            chained = one.kernel(goal.size, "seal-latency", goal.key)
            yield Verdict(goal, found, chained, one.record.title == goals.core)


Asked = tuple[Standing, tuple[Verdict, ...]]
"""A standing and its verdicts."""


def columns(goals: Goals, asked: Sequence[Asked]) -> tuple[str, ...]:
    """Return the columns of `rows`."""
    chained = any(goal.chained is not None for goal in goals.each)
    return (
        *(("mode",) if _modes(goals) else ()),
        *(">key", ">bytes", ">goal"),
        *((f">cycles on {goals.core}",) if _cycles(goals) else ()),
        *((f">chained on {goals.core}",) if chained else ()),
        *(head for one, _ in asked for head in (f">{one.record.title}", "ratio")),
    )


def _modes(goals: Goals) -> bool:
    """Return whether the goals are about several modes."""
    return len({goal.mode for goal in goals.each}) > 1


def _cycles(goals: Goals) -> bool:
    """Return whether some goals are in cycles."""
    return any(goal.cycles is not None for goal in goals.each)


def _bytes(goal: Goal) -> str:
    return "IMIX" if goal.mode in IMIX_BURSTS else size_name(goal.size)


def rows(goals: Goals, asked: Sequence[Asked]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each goal, with the figures of each record."""
    chained = any(goal.chained is not None for goal in goals.each)
    found = [{verdict.goal: verdict for verdict in verdicts} for _, verdicts in asked]
    for goal in goals.each:
        there = [of[goal] for of in found if goal in of]
        if there:
            meant = "" if goal.cycles is None else _meant(goal, there[0].found.kernel)
            waits = "" if goal.chained is None else f"{goal.chained:.0f}"
            yield (
                *((goal.mode,) if _modes(goals) else ()),
                *(str(goal.key), _bytes(goal)),
                "" if goal.ratio is None else f"{goal.ratio:.2f}",
                *((meant,) if _cycles(goals) else ()),
                *((waits,) if chained else ()),
                *(cell for of in found for cell in _cells(of.get(goal))),
            )


def _cells(verdict: Verdict | None) -> tuple[str, str]:
    """Return one record's cycles, and its ratio with what is said of it."""
    if verdict is None:
        return "", ""
    cycles, ratio = figure(verdict.found.kernel), f"{verdict.found.ratio:.2f}"
    if verdict.goal.chained is not None and verdict.chained is not None:
        cycles += f", chained {figure(verdict.chained)}"
    return cycles, f"{ratio}, {verdict.said}" if verdict.said else ratio


def _meant(goal: Goal, measured: Cell) -> str:
    """Return a goal's cycles in the unit of the measurement."""
    per_call = not figure(measured).endswith("/B")
    within = f" + {goal.within:.0%}" if goal.within else ""
    return (f"{goal.cycles:.0f}" if per_call else f"{goal.per_byte:.3f}/B") + within


def goal_parts(standings: Iterable[Standing], book: Book) -> Iterator[str]:
    """Yield the results page's text about goals, a table for each kind of CPU that has records."""
    of = [(book.every(one.record.results.machine.features), one) for one in standings]
    for goals in book.kinds:
        measured = [(one, tuple(verdicts(one, goals))) for kinds, one in of if goals in kinds]
        asked = [(one, found) for one, found in measured if found]
        if asked:
            yield from _kind_parts(goals, asked, book)


def _kind_parts(goals: Goals, asked: Sequence[Asked], book: Book) -> Iterator[str]:
    names = ", ".join(goals.features).upper()
    kind = f"CPUs {f'with {names}' if names else 'without VAES'}"
    if goals.level is not None:
        kind = f"code for {LEVELS[goals.level]}"
    yield f"### {f'{goals.title}: ' if goals.title else ''}{kind}"
    counts = []
    for one, found in asked:
        wanted = [verdict for verdict in found if verdict.shares]
        reached = sum(verdict.said == REACHED for verdict in wanted)
        counts.append(f"{reached} of {len(wanted)} on {one.record.title}")
    text = f"Goals reached: {', '.join(counts)}."
    if _cycles(goals) and not all(found[0].same_core for _, found in asked):
        text += f" The goals in cycles are meant for {goals.core} with all its features."
    if goals.level is not None:
        text += (
            " Kernels and peers need no newer instructions, but a library that chooses its code at "
            "run time may use them."
        )
    yield wrapped(text)
    yield markdown_table(columns(goals, asked), rows(goals, asked))
    for one, found in asked:
        title = one.record.title
        missed = [v.goal for v in found if v.shares and v.said != REACHED]
        for remark in [each for each in book.remarks if each.level == goals.level]:
            about = [goal for goal in missed if remark.about(title, goal)]
            if about:
                about.sort(key=lambda goal: goal.size)
                sizes = ", ".join(dict.fromkeys(map(_bytes, about)))
                yield wrapped(f"{title}, at {sizes}: {remark.said}")
