"""Scores of a class of message lengths from a record, one for each measured kernel."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product

from ghashgen.choice.candidate import Candidate
from ghashgen.choice.classes import SizeClass
from ghashgen.choice.questions import Use
from ghashgen.choice.rule import bounded, pays_at, score
from ghashgen.kernels.target import OWN
from ghashgen.records.core import messages_of
from ghashgen.records.records import Record


def of_other_code(record: Record, pool: Iterable[Candidate]) -> frozenset[str]:
    """Return the kernels of a record that stand for some of a pool but had other code.

    Without digests in the record or the manifest, a kernel counts as unchanged.
    """
    subjects = record.results.subjects
    return frozenset(
        candidate.measured_as
        for candidate in pool
        if candidate.measured_code
        and candidate.measured_as in subjects
        and subjects[candidate.measured_as].digest not in ("", candidate.measured_code)
    )


def changed_since(records: Iterable[Record], pool: Sequence[Candidate]) -> str:
    """Return in a line which records have figures of other code; "" if none.

    The kernels are of the records' family. Figures never count for kernels of another back end, and
    that is not reported.
    """
    pool = [candidate for candidate in pool if candidate.entry.backend == OWN]
    found = {record.title: of_other_code(record, pool) for record in records}
    stale = [f"{len(names)} on {title}" for title, names in found.items() if names]
    if not stale:
        return ""
    return (
        f"kernels whose code has changed since they were measured: {', '.join(stale)}; "
        "ghashgen bench --record measures again"
    )


@dataclass(frozen=True)
class Scores:
    """Scores of a class by kernel, in core cycles; lower is better."""

    record: Record
    modes: tuple[str, ...]
    sizes: tuple[int, ...]
    """The modes and sizes whose geometric mean is a score."""
    by_candidate: Mapping[Candidate, float]
    left_out: int = 0
    """Measured kernels that break the use's bound at one of the sizes."""
    older: bool = False
    """Whether figures of kernels whose code has changed since count."""


class Figures:
    """The cycles of a record by subject, mode and size."""

    def __init__(self, record: Record, names: Collection[str] | None = None) -> None:
        """Index the record's cells, of all subjects or of some."""
        self.record = record
        self._cycles = {
            (cell.name, cell.mode, cell.size): cell.cycles
            for cell in record.results.cells
            if names is None or cell.name in names
        }
        self._known: dict[tuple[object, ...], float | None] = {}
        self.measured = frozenset(name for name, _, _ in self._cycles)

    def cycles(self, name: str, mode: str, size: int, messages: int | None = None) -> float | None:
        """Return the core cycles of a cell, with its messages' share of key set-up if a key has
        only so many; None if unknown.
        """
        cycles = self._cycles.get((name, mode, size))
        if messages is None or cycles is None:
            return cycles
        init = self._cycles.get((name, "init", 0))
        return None if init is None else init * messages_of(mode) / messages + cycles

    def scores(self, pool: Sequence[Candidate], item: SizeClass, use: Use) -> Scores | None:
        """Return the scores of a class, or None if the record cannot decide it.

        A kernel's score is the geometric mean over the sizes of the class. If no kernel of the
        record has all of them, the largest size with a figure decides. The cost of a table is
        compared only if at least half of the kernels have figures, because a record of only the
        fastest kernels leaves out those with small tables.
        """
        choices = [item.sizes, *((size,) for size in reversed(item.sizes) if len(item.sizes) > 1)]
        for sizes in choices:
            found = [s for modes in use.modes if (s := self._filled(modes, pool, sizes, use))]
            if found:
                most = max(found, key=lambda s: len(s.by_candidate))
                enough = use.messages is None or 2 * len(most.by_candidate) >= len(pool)
                return most if enough else None
        return None

    def _filled(
        self, modes: tuple[str, ...], pool: Sequence[Candidate], sizes: tuple[int, ...], use: Use
    ) -> Scores | None:
        cells = tuple(product(modes, sizes))
        known = ((c, self._score(c.measured_as, cells, use.messages)) for c in pool)
        found = {candidate: value for candidate, value in known if value is not None}

        def cycles(candidate: Candidate, mode: str, size: int) -> float | None:
            return self.cycles(candidate.measured_as, mode, size, use.messages)

        kept = bounded(found, cells, cycles, use.loses)
        return Scores(self.record, modes, sizes, kept, len(found) - len(kept)) if kept else None

    def _score(
        self, name: str, cells: tuple[tuple[str, int], ...], messages: int | None
    ) -> float | None:
        """Return a kernel's score, which every level that it can serve asks for."""
        key = name, cells, messages
        if key not in self._known:
            self._known[key] = score(cells, partial(self.cycles, name, messages=messages))
        return self._known[key]

    def fill_at(self, slow: Candidate, fast: Candidate, scores: Scores) -> int:
        """Return the bytes of messages after which filling the faster kernel's table pays; 0 if
        that is not known.
        """
        mode = scores.modes[0]
        names = slow.measured_as, fast.measured_as
        own = [partial(self.cycles, name, mode) for name in names]
        return pays_at(self.cycles(names[1], "init", 0), scores.sizes, own)
