"""The least cycles that a loop body takes on a microarchitecture, by ports and by front end.

Ports. A uop of class c may run on any port of the set P(c). If uops could be divided, the least
time is that of the linear program that spreads them over the ports, and by max-flow min-cut its
value is

    max over sets S of ports of  (sum of the uops of all classes c with P(c) within S) / |S|,

where only unions of the sets P(c) need be tried: any other S can lose the ports that no counted
class uses. A loop repeats without end, so dividing a uop is spreading it over iterations, and the
value is exact for the ports alone. Dependences are not seen: latency can only add to it.

Front end. Fused uops over the issue width; a pair that fuses counts once. Indexed addresses that
break a fused uop apart are not seen, which again errs below.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from iced_x86 import Instruction

from ghashgen.uarch import Cost, Uarch
from ghashgen.uarch.forms import form_of

Demand = Mapping[frozenset[str], int]
"""Uops by the set of ports that may take them."""


@dataclass(frozen=True)
class Bound:
    """Lower bounds on one run of a loop body, in cycles."""

    uarch: str
    ports: float
    busiest: tuple[str, ...]
    """The ports that set `ports`, together."""
    front_end: float
    no_data: tuple[str, ...]
    """Forms without port data, left out of `ports` (and of `front_end` where unknown)."""
    doubts: tuple[str, ...]
    """What the table doubts of the forms used: 'form: doubt'."""
    demand: Demand = field(default_factory=dict)
    """The uops that `ports` counts."""

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
        # Fewer ports first, then by name: one answer whatever the order of the set.
        best = min(best, (-work / len(union), len(union), names))
    return -best[0], best[2]


def levelled(demand: Demand) -> dict[str, float]:
    """Return each port's time when the uops are spread as evenly as their ports allow.

    The tightest set of ports takes the uops that fit nowhere else, evenly; the others are spread
    over what is left, and so on: of all ways to spread them, the one whose times, sorted from the
    longest, are the least. Ports that no uop may use are absent.
    """
    out: dict[str, float] = {}
    left = dict(demand)
    while left:
        cycles, tight = spread(left)
        out |= dict.fromkeys(tight, cycles)
        rest: dict[frozenset[str], int] = {}
        for ports, count in left.items():
            if others := ports - set(tight):
                rest[others] = rest.get(others, 0) + count
        left = rest
    return out


def _costs(instructions: Sequence[Instruction], uarch: Uarch) -> Iterator[tuple[str, Cost | None]]:
    """Yield (form, cost) of each instruction, of a fused pair once."""
    forms = [form_of(instruction) for instruction in instructions]
    names = [form.partition(" ")[0] for form in forms]
    at = 0
    while at < len(forms):
        following = names[at + 1] if at + 1 < len(forms) else ""
        pair = uarch.fuses(instructions[at], names[at], following)
        if pair is not None:
            yield f"{forms[at]} + {forms[at + 1]}", pair
            at += 2
        else:
            yield forms[at], uarch.costs.get(forms[at])
            at += 1


def _is_vector(form: str) -> bool:
    kinds = form.partition(" ")[2].split(",")
    return any(kind[:1] in ("x", "y", "z") for kind in kinds)


def port_bound(instructions: Sequence[Instruction], uarch: Uarch) -> Bound:
    """Return the lower bound of a loop body (its branch included) on a microarchitecture."""
    demand: dict[frozenset[str], int] = {}
    fused = 0
    no_data: list[str] = []
    doubts: list[str] = []
    found = list(_costs(instructions, uarch))
    wide = any(kind[:1] == "z" for form, _ in found for kind in form.partition(" ")[2].split(","))
    for form, cost in found:
        if cost is None or cost.uops is None:
            no_data.append(form)
        if cost is None:
            continue
        fused += cost.fused
        if cost.doubt:
            doubts.append(f"{form}: {cost.doubt}")
        for uops in cost.uops or ():
            shut = uarch.closed_by_512 if wide and _is_vector(form) else frozenset()
            ports = uops.ports - shut or uops.ports
            demand[ports] = demand.get(ports, 0) + uops.count
    cycles, busiest = spread(demand)
    return Bound(
        uarch=uarch.name,
        ports=cycles,
        busiest=busiest,
        front_end=fused / uarch.issue,
        no_data=tuple(dict.fromkeys(no_data)),
        doubts=tuple(dict.fromkeys(doubts)),
        demand=demand,
    )
