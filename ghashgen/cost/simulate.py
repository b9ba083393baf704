"""Cycles of instructions in a simple model of a core: ports, front end, latencies, window.

Instructions issue in order, `issue` fused uops in each cycle, into a window of `window` fused uops
that retire in order. When a uop issues, it is bound to the port with the fewest waiting uops (as in
Intel's cores, as uiCA found). It runs in the first free cycle of the port after its operands are
ready; older instructions choose first.

The same model without a window also starts instructions in order, on any free port. This shows what
an order alone is worth; the load of a computing instruction is then assumed to have run ahead.

Not modelled: the sizes of schedulers, decoders, bank conflicts, cache misses. This is a model, not
a measurement.
"""

from bisect import bisect_left, insort
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

from ghashgen.arch.uarch import Cost, Uarch, Uops
from ghashgen.cost.bound import spread

LOAD_FORM = "vmovdqu x,m128"
"""A load that does nothing else; its ports are the load ports."""


_PRUNE = 64
"""Number of a port's slots beyond which past ones are dropped."""


@dataclass(frozen=True)
class Work:
    """One instruction, or a fused pair, in the model; registers may have any names."""

    form: str
    reads: tuple[Hashable, ...]
    writes: tuple[Hashable, ...]
    address: tuple[Hashable, ...]
    """What its memory operand waits for: address registers, and a stack slot that it reads."""
    cost: Cost | None
    """None without data in the table: one fused uop, one cycle, no port."""

    @cached_property
    def fused(self) -> int:
        """Fused uops."""
        return self.cost.fused if self.cost else 1

    @cached_property
    def latency(self) -> int:
        """Cycles from the register operands to the result."""
        if self.cost is None:
            return 1
        if self.cost.latency is not None:
            return self.cost.latency.cycles
        return self.cost.load_latency.cycles if self.cost.load_latency else 1

    @cached_property
    def load_ahead(self) -> int:
        """Cycles by which a load's address must precede the register operands."""
        if self.cost is None or self.cost.load_latency is None or self.cost.latency is None:
            return 0
        return max(self.cost.load_latency.cycles - self.cost.latency.cycles, 0)


@dataclass(frozen=True)
class Estimate:
    """Cycles of one turn of a loop, or of straight code, in the model."""

    windowed: float
    """With the core's window."""
    in_order: float
    """As if no instruction could start before the one written above it."""


class Calendar:
    """Which port is taken in which cycle."""

    def __init__(self, ports: Sequence[str]) -> None:
        # Sorted, because lookups from a cycle on are far more frequent than additions.
        self._taken: dict[str, list[int]] = {port: [] for port in ports}
        self._position = {port: i for i, port in enumerate(ports)}

    def slots(self, uops: Sequence[Uops], earliest: int) -> list[tuple[str, int]]:
        """Return the port and the cycle for every uop, each as early as possible."""
        return self._slots(uops, lambda port, chosen: self._free(port, earliest, chosen), earliest)

    def bound(self, uops: Sequence[Uops], issued: int, earliest: int) -> list[tuple[str, int]]:
        """Return the same, with ports bound in the cycle `issued` by what is waiting for them
        then.
        """
        for port, taken in self._taken.items():
            if len(taken) > _PRUNE and taken[0] < issued:
                self._taken[port] = taken[bisect_left(taken, issued) :]

        def waiting(port: str, chosen: Sequence[tuple[str, int]]) -> int:
            taken = self._taken[port]
            there = len(taken) - bisect_left(taken, issued)
            return there + sum(1 for other, _ in chosen if other == port)

        return self._slots(uops, waiting, earliest)

    def _slots(
        self,
        uops: Sequence[Uops],
        price: Callable[[str, Sequence[tuple[str, int]]], int],
        earliest: int,
    ) -> list[tuple[str, int]]:
        found: list[tuple[str, int]] = []
        if len(uops) > 1:
            uops = sorted(uops, key=lambda u: (len(u.ports), sorted(u.ports)))
        for item in uops:
            for _ in range(item.count):
                prices = [
                    (price(p, found), len(self._taken[p]), self._position[p], p) for p in item.ports
                ]
                port = min(prices)[-1]
                found.append((port, self._free(port, earliest, found)))
        return found

    def _free(self, port: str, earliest: int, chosen: Sequence[tuple[str, int]]) -> int:
        taken, cycle = self._taken[port], earliest
        at = bisect_left(taken, cycle)
        while True:
            if at < len(taken) and taken[at] == cycle:
                at += 1
            elif (port, cycle) not in chosen:
                return cycle
            cycle += 1

    def take(self, slots: Sequence[tuple[str, int]]) -> None:
        """Mark slots as taken."""
        for port, cycle in slots:
            insort(self._taken[port], cycle)


def open_uops(work: Sequence[Work], uarch: Uarch) -> list[tuple[Uops, ...]]:
    """Return each instruction's uops on the ports that 512-bit work leaves available."""
    kinds = [item.form.partition(" ")[2].split(",") for item in work]
    wide = any(kind[:1] == "z" for found in kinds for kind in found)
    out = []
    for item, found in zip(work, kinds, strict=True):
        vector = any(kind[:1] in ("x", "y", "z") for kind in found)
        shut = uarch.closed_by_512 if wide and vector else frozenset()
        uops = (item.cost.uops if item.cost else None) or ()
        out.append(tuple(Uops(u.count, u.ports - shut or u.ports) for u in uops))
    return out


def least(work: Sequence[Work], uarch: Uarch) -> float:
    """Return the least cycles by ports and front end alone (`bound`), whatever the order."""
    demand: dict[frozenset[str], int] = defaultdict(int)
    for uops in open_uops(work, uarch):
        for item in uops:
            demand[item.ports] += item.count
    return max(spread(demand)[0], sum(item.fused for item in work) / uarch.issue)


Slots = Sequence[tuple[str, int]]
"""Ports and cycles of an instruction's uops."""


def simulate(
    work: Sequence[Work],
    uarch: Uarch,
    turns: int,
    window: int,
    watch: Callable[[Work, Slots], None] = lambda item, slots: None,
) -> list[int]:
    """Return the cycle in which each turn has retired; `window` 0 starts instructions in order.

    `watch` is called with what each instruction takes.
    """
    load = uarch.costs.get(LOAD_FORM)
    load_ports = {port for u in (load.uops if load else None) or () for port in u.ports}
    uops_of = open_uops(work, uarch)
    # By whether a uop belongs to the memory operand or to the computation.
    parts = [
        tuple(tuple(u for u in uops if (u.ports <= load_ports) is loads) for loads in (True, False))
        for uops in uops_of
    ]
    calendar = Calendar(uarch.ports)
    ready: dict[Hashable, int] = {}
    flying: deque[tuple[int, int]] = deque()
    held = cycle = slots = started = retired = 0
    ends = []
    for _ in range(turns):
        for item, (loads, computes) in zip(work, parts, strict=True):
            while window and held + item.fused > window and flying:
                fused, gone = flying.popleft()
                held -= fused
                if gone > cycle:
                    cycle, slots = gone, 0
            if slots + item.fused > uarch.issue and slots:
                cycle, slots = cycle + 1, 0
            slots += item.fused
            operands = max((ready.get(reg, 0) for reg in item.reads), default=0)
            address = max((ready.get(reg, 0) for reg in item.address), default=0)
            at = cycle
            if not window:
                # An instruction that starts in order waits for everything it needs, and its issue
                # slot waits too.
                at = max(cycle, started, operands, address)
                if at > cycle:
                    cycle, slots = at, item.fused
            begun = max(at, operands)
            if loads:
                taken = (
                    calendar.bound(loads, cycle, max(at, address))
                    if window
                    else calendar.slots(loads, at)
                )
                calendar.take(taken)
                watch(item, taken)
                loaded = max(when for _, when in taken)
                alone = not computes
                begun = max(begun, loaded if alone or not window else loaded + item.load_ahead)
            if computes:
                taken = (
                    calendar.bound(computes, cycle, begun)
                    if window
                    else calendar.slots(computes, begun)
                )
                calendar.take(taken)
                watch(item, taken)
                begun = max(when for _, when in taken)
            if not window:
                started = begun
                if begun > cycle:
                    cycle, slots = begun, item.fused
            done = begun + item.latency
            for reg in item.writes:
                ready[reg] = done
            retired = max(retired, done)
            held += item.fused
            flying.append((item.fused, retired))
        ends.append(retired)
        if not window:
            # A taken branch ends the group of instructions that start together.
            cycle, slots = cycle + 1, 0
    return ends


def turns_for(instructions: int) -> int:
    """Return the turns of a loop to run; the second half is counted, when the window is full."""
    return min(16, max(6, 1500 // instructions))


def estimate(work: Sequence[Work], uarch: Uarch, loops: bool) -> Estimate:
    """Return the cycles of a loop body in the steady state, or of straight code from its start."""
    found = []
    floor = least(work, uarch)
    for window in (uarch.window, 0):
        ends = simulate(work, uarch, turns_for(len(work)) if loops else 1, window)
        half = len(ends) // 2
        cycles = (ends[-1] - ends[half - 1]) / (len(ends) - half) if loops else ends[-1]
        # A count that starts and stops between turns may be a part of a cycle too small.
        found.append(max(cycles, floor))
    return Estimate(*found)
