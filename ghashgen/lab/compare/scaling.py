"""A model for more threads than were measured: one message in threads, fitted to a record.

A message of n bytes takes s(n) cycles in one thread, as measured. In t threads, each on its own
core, it is modelled as

    T(n, t) = s(n)/t + h·(t - 1)

h is the cost of one more thread: handing over its piece, waking or starting it, and adding its
result. It is fitted to the rows of two threads, at the sizes where the second one helped, by least
squares relative to the measurement. A call uses only as many of its threads as pay.

This assumes one thread after another; it understates the cost of a broadcast that wakes many at
once.

Memory may not deliver more bytes than the fastest code took with two threads at the greatest size.
How many more it could deliver was not measured, so for a message that does not fit into caches
there are two figures: with this bound, and without a bound.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf

from ghashgen.lab.compare.crossover import HELPED
from ghashgen.lab.compare.record import Record, Row
from ghashgen.records.core import size_name
from ghashgen.support.tables import Table

MEASURED = 2
"""Threads of the rows to which the model is fitted."""

THREADS = (4, 8, 16, 32, 64)
"""Numbers of threads to predict."""

SIZES = (1 << 16, 1 << 20, 1 << 26)
"""Message sizes in bytes to predict."""

FROM_MEMORY = 8 << 20
"""Size in bytes from which a message counts as coming from memory: more than a core's own
caches.
"""

SAYS = (
    "This table is a model, not a measurement: T(n, t) = s(n)/t + h·(t - 1) for n bytes in t "
    "threads, each on a core of its own, where s(n) is the time of one thread. h is fitted to the "
    "rows of two threads where the second one helped; error is the worst difference there between "
    "model and measurement. A call uses as many of its threads as pay. × is the time of one thread "
    "divided by the modelled time. Where a message comes from memory there are two figures: for "
    "memory as fast as two threads were seen to use it, and for memory without a limit."
)


@dataclass(frozen=True)
class Fit:
    """The model of one way to use threads."""

    alone: Row
    shared: Row
    cost: float
    """h, in core cycles."""
    error: float
    """The worst relative error of T(n, 2) at the fitted sizes."""

    def speed_up(self, size: int, threads: int, bytes_a_cycle: float = inf) -> float | None:
        """Return s(n)/T(n, t) for the best number of threads from 1 to t.

        Memory delivers at most `bytes_a_cycle`. None if one thread was not measured at that size.
        """
        found = self.alone.figure(size)
        if found is None:
            return None
        least = size / bytes_a_cycle if size >= FROM_MEMORY else 0.0
        times = (found.cycles / t + self.cost * (t - 1) for t in range(2, threads + 1))
        return found.cycles / min(found.cycles, *(max(time, least) for time in times))


def fitted(alone: Row, shared: Row) -> Fit | None:
    """Return the model of a row with two threads; None if they helped at no size."""
    pairs = [
        (one.cycles / MEASURED, two.cycles)
        for two in shared.figures
        if (one := alone.figure(two.size)) is not None and one.cycles >= HELPED * two.cycles
    ]
    if not pairs:
        return None
    weights = [1 / time**2 for _, time in pairs]
    excess = sum(w * (time - half) for w, (half, time) in zip(weights, pairs, strict=True))
    cost = max(0.0, excess / sum(weights))
    error = max(abs(half + cost - time) / time for half, time in pairs)
    return Fit(alone, shared, cost, error)


def fits(record: Record) -> Iterator[Fit]:
    """Yield the models of a record: for each row with two threads, with its group's one-thread row.

    Only for the same code: in columns a thread fetches what all of them take, so further threads
    cannot help.
    """
    for row in record.rows:
        alone = next(other for other in record.rows if other.group == row.group)
        same = alone.subject.split()[0] == row.subject.split()[0]
        if same and alone.subject.endswith(" 1") and row.subject.endswith(f" {MEASURED}"):
            found = fitted(alone, row)
            if found is not None:
                yield found


def bytes_a_cycle(models: Sequence[Fit]) -> float:
    """Return the most that two threads took from memory; 0.0 if they never did."""
    found = [f for fit in models for f in fit.shared.figures if f.size >= FROM_MEMORY]
    last = max((f.size for f in found), default=0)
    return max((f.size / f.cycles for f in found if f.size == last), default=0.0)


def scaling(record: Record) -> Table:
    """Return the model's predictions for more threads: a row for each way and size."""
    models = tuple(fits(record))
    bound = bytes_a_cycle(models)
    return Table(
        "modelled, not measured: × one thread",
        (
            *("group", "way", ">h, µs", ">error", ">bytes"),
            *(f">{threads} threads" for threads in THREADS),
        ),
        tuple(line for fit in models for line in _lines(fit, bound, record.clock_ghz)),
    )


def _lines(fit: Fit, bound: float, clock_ghz: float) -> Iterator[tuple[str, ...]]:
    way, _, _ = fit.shared.label.rpartition(",")
    cost, error = f"{fit.cost / clock_ghz / 1000:.2f}", f"{100 * fit.error:.0f}%"
    for size in SIZES:
        cells = tuple(_cell(fit, size, threads, bound) for threads in THREADS)
        if all(cells):
            yield (fit.shared.group, way, cost, error, size_name(size), *cells)


def _cell(fit: Fit, size: int, threads: int, bound: float) -> str:
    most = fit.speed_up(size, threads)
    least = fit.speed_up(size, threads, bound) if bound else most
    if least is None or most is None:
        return ""
    low, high = f"×{least:.1f}", f"×{most:.1f}"
    return low if low == high else f"{low} to {high}"
