"""The choice: for each kind of CPU, set of features and class of message lengths, a kernel.

Figures come from the records, the CPU's own first, then the nearest with the same features; where
none says anything, the convention decides. `rule` says what counts as a difference.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from ghashgen.choice.candidate import Candidate, levels, without_needless_wipes
from ghashgen.choice.classes import SizeClass
from ghashgen.choice.cores import Host, hosts, nearest, record_features
from ghashgen.choice.figures import Figures, Scores, of_other_code
from ghashgen.choice.questions import Use
from ghashgen.choice.rule import cover, level
from ghashgen.records.records import Record

Features = frozenset[str]


@dataclass(frozen=True)
class Pick:
    """The kernel of one class of lengths."""

    up_to: int | None
    """The class's largest length in bytes; None for the last class."""
    candidate: Candidate
    fill_at: int = 0
    """Bytes of messages of this class that pay for filling the table; 0 fills it at once."""
    scores: Scores | None = field(default=None, compare=False)
    """What decided; None for the convention, or where somebody else has decided."""


@dataclass(frozen=True)
class Row:
    """What some kinds of CPU with these features take, unless a row before it fits them."""

    hosts: tuple[Host, ...]
    needs: Features
    picks: tuple[Pick, ...]
    basis: str = ""
    """Where the order comes from, if it is neither a record nor the convention."""


class Chooser:
    """Makes the choices among some kernels by some records."""

    def __init__(self, pool: Iterable[Candidate], records: Sequence[Record]) -> None:
        """Take the kernels to choose from: of one family, calling convention and what is given."""
        self._pool = tuple(pool)
        self._records = tuple(records)
        self.hosts = hosts(self._records)
        names = {candidate.measured_as for candidate in self._pool}
        self._figures = {
            record.slug: Figures(record, names - of_other_code(record, self._pool))
            for record in self._records
        }
        features = {record.slug: record_features(record) for record in self._records}
        told = frozenset[str]().union(*features.values())
        # A feature that no record knows of is taken to be there, or none could serve.
        self._lacks = {slug: told - have for slug, have in features.items() if have}
        self._told = told
        self._made: dict[tuple[object, ...], tuple[Pick, ...]] = {}

    @cached_property
    def _levels(self) -> dict[str, Features]:
        return {
            slug: Features().union(*(c.needs for c in self._pool if not c.needs & lacks))
            for slug, lacks in self._lacks.items()
        }

    def rows(self, use: Use) -> tuple[Row, ...]:
        """Return the rows for a use of the table, of which the first that fits a CPU is the one.

        Rows of a host stand in the order of `levels`; where several hosts have the same row on the
        same level, they share it.
        """
        found: dict[tuple[int, tuple[Pick, ...]], Row] = {}
        pool = self._for(use)
        places = {one: place for place, one in enumerate(levels(pool))}
        for host in self.hosts:
            for one, picks in self._levels_of(host, use).items():
                needs = _needs(picks)
                row = found.get(key := (places[one], picks), Row((), needs, picks))
                found[key] = replace(row, hosts=(*row.hosts, host))
        return tuple(row for _, row in sorted(found.items(), key=lambda item: item[0][0]))

    def picks(self, host: Host, features: Features, use: Use) -> tuple[Pick, ...]:
        """Return what a CPU takes: the picks of the first row that fits it; empty if none does."""
        made = self._levels_of(host, use).values()
        return next((picks for picks in made if _needs(picks) <= features), ())

    def _for(self, use: Use) -> list[Candidate]:
        return [c for c in self._pool if c.exports(use.exports)]

    def _levels_of(self, host: Host, use: Use) -> dict[Features, tuple[Pick, ...]]:
        """Return a host's picks by the level that they were made on, in the order of `levels`."""
        pool = self._for(use)
        lacks = self._told - host.features if host.features else Features()
        made: dict[Features, tuple[Pick, ...]] = {}
        for one in levels(pool):
            # What serves more features and needs no more than these is within the rule here too.
            if not one & lacks and not any(_needs(picks) <= one for picks in made.values()):
                made[one] = self._level(host, one, pool, use)
        return made

    def _level(
        self, host: Host, one: Features, pool: Sequence[Candidate], use: Use
    ) -> tuple[Pick, ...]:
        near = nearest(host, one, self._records, self._levels)
        key = (tuple(record.slug for record in near), one, use)
        if key not in self._made:
            able = without_needless_wipes([c for c in pool if c.needs <= one])
            self._made[key] = self._classes(able, near, use)
        return self._made[key]

    def _classes(
        self,
        able: Sequence[Candidate],
        near: Sequence[Record],
        use: Use,
    ) -> tuple[Pick, ...]:
        classes = use.classes
        scores = [self._scores(able, near, item, use) for item in classes]
        equal = [
            level(found.by_candidate) if found else [convention(able, item, use)]
            for item, found in zip(classes, scores, strict=True)
        ]
        chosen = cover(equal, lambda candidate: candidate.simplicity)
        picks = tuple(map(Pick, (i.up_to for i in classes), chosen, (0,) * len(chosen), scores))
        if not use.fills:
            return picks
        return tuple(replace(p, fill_at=self._fill_at(picks[0].candidate, p)) for p in picks)

    def _scores(
        self, able: Sequence[Candidate], near: Sequence[Record], item: SizeClass, use: Use
    ) -> Scores | None:
        for record in near:
            figures = self._figures[record.slug]
            known = [c for c in able if c.measured_as in figures.measured]
            # An instruction set of which nothing was measured, wider than all that were: the
            # convention has it, and not the best of those that were.
            widest = min(c.place for c in able)
            if known and min(c.place for c in known) > widest:
                continue
            if found := figures.scores(able, item, use):
                return found
        return None

    def _fill_at(self, base: Candidate, pick: Pick) -> int:
        if pick.candidate == base:
            return 0
        paid = None
        if pick.scores:
            figures = self._figures[pick.scores.record.slug]
            paid = figures.fill_at(base, pick.candidate, pick.scores)
        # Not measured: messages of twice the table's bytes.
        return 2 * pick.candidate.table.bytes if paid is None else paid


def _needs(picks: Iterable[Pick]) -> Features:
    return Features().union(*(pick.candidate.needs for pick in picks))


def convention(able: Sequence[Candidate], item: SizeClass, use: Use) -> Candidate:
    """Return the kernel of the convention, for a class that nothing measured decides.

    For a table that serves one message: of the widest instruction set, the most blocks that are at
    most a quarter of the message.
    """
    if not use.once:
        return min(able, key=lambda c: c.rank)
    widest = min(c.place for c in able)
    own = [c for c in able if c.place == widest]
    limit = item.sizes[-1] // 64
    small = [c for c in own if c.blocks <= limit]
    if not small:
        return min(own, key=lambda c: (c.blocks, c.rank))
    return min(small, key=lambda c: (-c.blocks, c.rank))
