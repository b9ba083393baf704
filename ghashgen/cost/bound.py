"""The least cycles of a loop body on a microarchitecture, by ports and by front end.

Ports. A uop of class c may run on any port of the set P(c). If uops could be divided, the least
time would be that of the linear program that spreads them over the ports. By max-flow min-cut its
value is

    max over sets S of ports of  (sum of the uops of all classes c with P(c) within S) / |S|

Only unions of the sets P(c) need be tried, because any other S can lose the ports that no counted
class uses. A loop repeats forever, so dividing a uop means spreading it over iterations, and the
value is exact for the ports alone. Dependences are ignored; latency can only add to it.

Front end. Fused uops divided by the issue width; a pair that fuses counts once. Indexed addresses
that break up a fused uop are ignored, which again errs on the low side.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ghashgen.arch.decoder import Native
from ghashgen.arch.uarch import Cost, Uarch
from ghashgen.cost.histogram import Histogram, histogram

Demand = Mapping[frozenset[str], int]
"""Uops by the set of ports that may take them."""


@dataclass(frozen=True)
class Bound:
    """Lower bounds on one run of a loop body, in cycles."""

    uarch: str
    ports: float
    busiest: tuple[str, ...]
    """The ports that together determine `ports`."""
    front_end: float
    demand: Mapping[tuple[str, ...], int]
    """Uops of one run by the ports that may take them."""
    no_data: tuple[str, ...]
    """Forms without port data, left out of `ports` (and of `front_end` if unknown)."""
    doubts: tuple[str, ...]
    """Doubts in the table about the forms used: 'form: doubt'."""

    @property
    def cycles(self) -> float:
        """The larger of both bounds."""
        return max(self.ports, self.front_end)


def spread(demand: Demand) -> tuple[float, tuple[str, ...]]:
    """Return (the least time to run these uops, the smallest set of ports that needs it)."""
    unions: set[frozenset[str]] = set()
    for ports in demand:
        unions |= {ports} | {ports | other for other in unions}
    best = (0.0, 0, ())  # type: tuple[float, int, tuple[str, ...]]
    for union in unions:
        work = sum(count for ports, count in demand.items() if ports <= union)
        names = tuple(sorted(union))
        # Fewer ports first, then by name, so that the set's order does not matter.
        best = min(best, (-work / len(union), len(union), names))
    return -best[0], best[2]


def _costs(body: Histogram, uarch: Uarch) -> Iterator[tuple[str, int, Cost | None]]:
    """Yield (form, count, cost); a fused pair once for both."""
    left = dict(body.forms)
    for (first, second), count in body.pairs.items():
        pair = uarch.fuses(first, second)
        if pair is not None:
            left[first] -= count
            left[second] -= count
            yield f"{first} + {second}", count, pair
    for form, count in left.items():
        if count:
            yield form, count, uarch.costs.get(form)


def _kinds(form: str) -> list[str]:
    return form.partition(" ")[2].split(",")


def _is_vector(form: str) -> bool:
    return any(kind[:1] in ("x", "y", "z") for kind in _kinds(form))


def port_bound(instructions: Sequence[Native], uarch: Uarch) -> Bound:
    """Return the lower bound of a loop body (its branch included) on a microarchitecture."""
    return histogram_bound(histogram(uarch.decoder, instructions), uarch)


def histogram_bound(body: Histogram, uarch: Uarch) -> Bound:
    """Return the lower bound of a loop body, given its histogram."""
    demand: dict[frozenset[str], int] = {}
    fused = 0
    no_data: list[str] = []
    doubts: list[str] = []
    wide = any(kind[:1] == "z" for form in body.forms for kind in _kinds(form))
    for form, count, cost in _costs(body, uarch):
        if cost is None or cost.uops is None:
            no_data.append(form)
        if cost is None:
            continue
        fused += count * cost.fused
        if cost.doubt:
            doubts.append(f"{form}: {cost.doubt}")
        for uops in cost.uops or ():
            shut = uarch.closed_by_512 if wide and _is_vector(form) else frozenset()
            ports = uops.ports - shut or uops.ports
            demand[ports] = demand.get(ports, 0) + count * uops.count
    cycles, busiest = spread(demand)
    return Bound(
        uarch=uarch.name,
        ports=cycles,
        busiest=busiest,
        front_end=fused / uarch.issue,
        demand={tuple(sorted(ports)): demand[ports] for ports in sorted(demand, key=sorted)},
        no_data=tuple(dict.fromkeys(no_data)),
        doubts=tuple(dict.fromkeys(doubts)),
    )
