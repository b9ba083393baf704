"""Scores of a class of message lengths from a record, one for each measured kernel."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ghashgen.choice.candidate import Candidate
from ghashgen.choice.classes import SizeClass, geometric_mean
from ghashgen.choice.questions import Use
from ghashgen.kernels.target import OWN
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


def left_out(records: Iterable[Record], pool: Sequence[Candidate]) -> list[str]:
    """Return a line for each record with ignored figures: how many, and the remedy.

    The kernels are of the records' family. Figures never count for kernels of another back end, and
    that is not reported.
    """
    pool = [candidate for candidate in pool if candidate.entry.backend == OWN]
    folder = pool[0].question.folder if pool else ""
    out = []
    for record in records:
        if names := sorted(of_other_code(record, pool)):
            kernels = names[0] if len(names) == 1 else f"{len(names)} kernels, first {names[0]},"
            out.append(
                f"{folder}/{record.slug}.json has measured other code of {kernels} and does not "
                "decide there: measure again, ghashgen bench --record"
            )
    return out


@dataclass(frozen=True)
class Scores:
    """Scores of a class by kernel, in core cycles; lower is better."""

    record: Record
    modes: tuple[str, ...]
    sizes: tuple[int, ...]
    """The modes and sizes whose geometric mean is a score."""
    by_candidate: Mapping[Candidate, float]


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
        self.measured = frozenset(name for name, _, _ in self._cycles)

    def cycles(self, name: str, mode: str, size: int, once: bool = False) -> float | None:
        """Return the core cycles of a message, with its table's for `once`; None if unknown."""
        cycles = self._cycles.get((name, mode, size))
        if not once or cycles is None:
            return cycles
        init = self._cycles.get((name, "init", 0))
        return None if init is None else init + cycles

    def scores(self, pool: Sequence[Candidate], item: SizeClass, use: Use) -> Scores | None:
        """Return the scores of a class, or None if the record cannot decide it.

        A kernel's score is the geometric mean over the sizes of the class. If no kernel of the
        record
        has all of them, the largest size with a figure decides. The cost of a table is compared
        only if
        at least half of the kernels have figures, because a record of only the fastest kernels
        leaves
        out those with small tables.
        """
        choices = [item.sizes, *((size,) for size in reversed(item.sizes) if len(item.sizes) > 1)]
        for sizes in choices:
            found = [s for modes in use.modes if (s := self._filled(modes, pool, sizes, use.once))]
            if found:
                most = max(found, key=lambda s: len(s.by_candidate))
                enough = not use.once or 2 * len(most.by_candidate) >= len(pool)
                return most if enough else None
        return None

    def _filled(
        self,
        modes: tuple[str, ...],
        pool: Sequence[Candidate],
        sizes: tuple[int, ...],
        once: bool,
    ) -> Scores | None:
        found = {}
        for candidate in pool:
            name = candidate.measured_as
            cycles = [self.cycles(name, mode, size, once) for mode in modes for size in sizes]
            values = [value for value in cycles if value is not None]
            if len(values) == len(cycles):
                found[candidate] = geometric_mean(values)
        return Scores(self.record, modes, sizes, found) if found else None

    def fill_at(self, slow: Candidate, fast: Candidate, scores: Scores) -> int | None:
        """Return the bytes of messages after which filling the faster kernel's table pays, if
        known.

        Filling costs the cycles of init. Each byte of a message then saves the difference to the
        kernel
        whose table is already filled.
        """
        cost = self.cycles(fast.measured_as, "init", 0)
        savings = []
        for size in scores.sizes:
            pair = [self.cycles(c.measured_as, scores.modes[0], size) for c in (slow, fast)]
            if cost is None or pair[0] is None or pair[1] is None:
                return None
            savings.append((pair[0] - pair[1]) / size)
        best = max(savings)
        return blocks_up(cost / best) if cost is not None and best > 0 else None


def blocks_up(size: float) -> int:
    """Return a length in bytes rounded up to whole blocks."""
    return -(-int(size) // 16) * 16
