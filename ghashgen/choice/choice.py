"""Chooses a kernel for each kind of CPU, set of features and class of message lengths.

Figures come from the records: the CPU's own first, then the nearest with the same features. If no
record decides, the convention does. `rule` says which differences count. A kernel's figures count
only while its code is as measured, unless the CPU's own record then decides nothing: what this CPU
did with older code says more than what another CPU does.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from ghashgen.choice.candidate import (
    BELOW_AVX,
    Candidate,
    levels,
    preferred,
    without_needless_wipes,
)
from ghashgen.choice.classes import SizeClass
from ghashgen.choice.cores import Host, hosts, nearest, record_features
from ghashgen.choice.figures import Figures, Scores, of_other_code
from ghashgen.choice.questions import Use
from ghashgen.choice.rule import take
from ghashgen.records.records import Record

Features = frozenset[str]


@dataclass(frozen=True)
class Pick:
    """The kernel for one class of lengths."""

    up_to: int | None
    """The class's largest length in bytes; None for the last class."""
    candidate: Candidate
    fill_at: int = 0
    """Bytes of messages of this class after which filling the table pays; 0 fills it at once."""
    scores: Scores | None = field(default=None, compare=False)
    """The deciding scores; None for the convention, or for a choice made elsewhere."""
    asked: tuple[Record, ...] = field(default=(), compare=False)
    """The records that were asked, up to the one that decided."""


@dataclass(frozen=True)
class Row:
    """The picks of some kinds of CPU with these features, unless an earlier row fits them."""

    hosts: tuple[Host, ...]
    needs: Features
    picks: tuple[Pick, ...]
    basis: str = ""
    """The source of the order, if it is neither a record nor the convention."""


class Chooser:
    """Chooses among some kernels by some records."""

    def __init__(self, pool: Iterable[Candidate], records: Sequence[Record]) -> None:
        """Take the kernels to choose from, all of one family, calling convention and given."""
        self._pool = tuple(pool)
        self._records = tuple(records)
        self.hosts = hosts(self._records)
        self._figures: dict[tuple[str, bool], Figures] = {}
        features = {record.slug: record_features(record) for record in self._records}
        told = frozenset[str]().union(*features.values())
        # A feature that no record knows counts as present; otherwise none of its users could serve.
        self._lacks = {slug: told - have for slug, have in features.items() if have}
        self._told = told
        self._made: dict[tuple[object, ...], tuple[Pick, ...]] = {}
        self._found: dict[tuple[Host, Use], Mapping[Features, Row]] = {}

    @cached_property
    def _levels(self) -> dict[str, Features]:
        return {
            slug: Features().union(*(c.needs for c in self._pool if not c.needs & lacks))
            for slug, lacks in self._lacks.items()
        }

    def _figures_of(self, record: Record, older: bool) -> Figures:
        """Return the figures of a record, also of kernels whose code has changed if `older`."""
        if (record.slug, older) not in self._figures:
            names = {candidate.measured_as for candidate in self._pool}
            left = frozenset[str]() if older else of_other_code(record, self._pool)
            self._figures[record.slug, older] = Figures(record, names - left)
        return self._figures[record.slug, older]

    def rows(self, use: Use) -> tuple[Row, ...]:
        """Return the rows for a use of the table; the first row that fits a CPU applies.

        A host's rows are in the order of `levels`. Hosts with the same row on the same level share
        it.
        """
        found: dict[tuple[int, Features, tuple[Pick, ...]], Row] = {}
        pool = self._for(use)
        places = {one: place for place, one in enumerate(levels(pool))}
        for host in self.hosts:
            for one, row in self._levels_of(host, use).items():
                shared = found.get(key := (places[one], row.needs, row.picks))
                before = shared.hosts if shared else ()
                found[key] = replace(row, hosts=(*before, host))
        return tuple(row for _, row in sorted(found.items(), key=lambda item: item[0][0]))

    def picks(self, host: Host, features: Features, use: Use) -> tuple[Pick, ...]:
        """Return a CPU's picks, those of the first row that fits it; empty if none does."""
        made = self._levels_of(host, use).values()
        return next((row.picks for row in made if row.needs <= features), ())

    def _for(self, use: Use) -> list[Candidate]:
        able = [c for c in self._pool if c.exports(use.exports)]
        return preferred(able, use.prefers)

    def _levels_of(self, host: Host, use: Use) -> Mapping[Features, Row]:
        """Return a host's rows by the level that they were made on, in the order of `levels`."""
        if (host, use) not in self._found:
            self._found[host, use] = self._made_for(host, use)
        return self._found[host, use]

    def _made_for(self, host: Host, use: Use) -> Mapping[Features, Row]:
        pool = self._for(use)
        lacks = self._told - host.features if host.features else Features()
        made = {one: self._level(host, one, pool, use) for one in levels(pool) if not one & lacks}
        rows: dict[Features, Row] = {}
        for one, picks in made.items():
            if any(row.needs <= one for row in rows.values()):
                continue
            # What serves more features and needs no more than these is within the rule on lesser
            # levels too, unless other records decide there: of a machine with these features alone.
            needs = _needs(picks)
            lesser = (less for level, less in made.items() if needs <= level < one)
            alike = all(_basis(less) == _basis(picks) for less in lesser)
            rows[one] = Row((host,), needs if alike else one, picks)
        return rows

    def _level(
        self, host: Host, one: Features, pool: Sequence[Candidate], use: Use
    ) -> tuple[Pick, ...]:
        # No CPU has AVX without SSE, so what was measured on those with both decides.
        below = BELOW_AVX.intersection(*self._levels.values()) if "avx" in one else Features()
        near = nearest(host, one | below, self._records, self._levels)
        own = tuple(record for record in near if record.core == host.title)
        key = (tuple(record.slug for record in near), len(own), one, use)
        if key not in self._made:
            able = without_needless_wipes([c for c in pool if c.needs <= one])
            self._made[key] = self._classes(able, near, own, use)
        return self._made[key]

    def _classes(
        self, able: Sequence[Candidate], near: Sequence[Record], own: Sequence[Record], use: Use
    ) -> tuple[Pick, ...]:
        classes = use.classes
        order = [(r, False) for r in own] + [(r, True) for r in own]
        order += [(r, False) for r in near if r not in own]
        scores = [self._scores(able, order, item, use) for item in classes]
        tables = [
            found.by_candidate if found else {convention(able, item, use): 0.0}
            for item, found in zip(classes, scores, strict=True)
        ]
        chosen = take(tables, lambda candidate: candidate.simplicity)
        picks = tuple(
            Pick(item.up_to, candidate, 0, found, _asked(near, found))
            for item, candidate, found in zip(classes, chosen, scores, strict=True)
        )
        if not use.fills:
            return picks
        return tuple(replace(p, fill_at=self._fill_at(picks[0].candidate, p)) for p in picks)

    def _scores(
        self,
        able: Sequence[Candidate],
        order: Sequence[tuple[Record, bool]],
        item: SizeClass,
        use: Use,
    ) -> Scores | None:
        for record, older in order:
            figures = self._figures_of(record, older)
            known = [c for c in able if c.measured_as in figures.measured]
            # If nothing was measured of an instruction set wider than all measured ones, the
            # convention takes it, rather than the best measured kernel.
            widest = min(c.place for c in able)
            if known and min(c.place for c in known) > widest:
                continue
            if found := figures.scores(able, item, use):
                return replace(found, older=older)
        return None

    def _fill_at(self, base: Candidate, pick: Pick) -> int:
        if pick.candidate == base:
            return 0
        paid = 0
        if pick.scores:
            figures = self._figures_of(pick.scores.record, pick.scores.older)
            paid = figures.fill_at(base, pick.candidate, pick.scores)
        # Not measured: assume messages of twice the table's size.
        return paid or 2 * pick.candidate.table.bytes


def pick_at(picks: Sequence[Pick], size: int) -> Pick:
    """Return the pick of the class that a length is in."""
    return next(pick for pick in picks if pick.up_to is None or size <= pick.up_to)


def _asked(near: Sequence[Record], found: Scores | None) -> tuple[Record, ...]:
    return tuple(near[: near.index(found.record) + 1] if found else near)


def _needs(picks: Iterable[Pick]) -> Features:
    return Features().union(*(pick.candidate.needs for pick in picks))


def _basis(picks: Iterable[Pick]) -> list[str]:
    """Return the record that decided each class."""
    return [pick.scores.record.slug if pick.scores else "" for pick in picks]


def convention(able: Sequence[Candidate], item: SizeClass, use: Use) -> Candidate:
    """Return the conventional kernel for a class that no measurement decides.

    For a table that grows with the group and serves one message: the widest instruction set, and
    the most blocks that are at most a quarter of the message.
    """
    if use.messages != 1 or not able[0].question.grows:
        return min(able, key=lambda c: c.rank)
    widest = min(c.place for c in able)
    own = [c for c in able if c.place == widest]
    limit = item.sizes[-1] // 64
    small = [c for c in own if c.blocks <= limit]
    if not small:
        return min(own, key=lambda c: (c.blocks, c.rank))
    return min(small, key=lambda c: (-c.blocks, c.rank))
