"""Our group loops and peers' main loops in the same port tables: model, not measurement.

Loops are compared within their topic: a family and, if it has keys, a key size. Of ours, for each
CPU, topic, instruction set and number of blocks, the catalogue's kernel with the lowest bound is
taken; among equals the one with fewer instructions, then the first by name. For a CPU with
VPCLMULQDQ only loops that use it are shown, for others all that they can run.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.arch.objects import read_object
from ghashgen.arch.registry import uarches
from ghashgen.arch.uarch import Uarch
from ghashgen.cost.audit import loop as group_loop
from ghashgen.cost.bound import Bound, histogram_bound
from ghashgen.cost.count import classes, memory_operands
from ghashgen.cost.histogram import Histogram, histogram
from ghashgen.ir.program import Flow
from ghashgen.kernels.core import Keyed, Point
from ghashgen.kernels.families import DEFAULT, loop_of
from ghashgen.kernels.target import Target
from ghashgen.lab.model.peers import Peer
from ghashgen.lab.report.topics import topics
from ghashgen.lab.standing import Standing
from ghashgen.records.core import Cell
from ghashgen.records.cpus import CORES, core_of
from ghashgen.records.goals import Book
from ghashgen.records.levels import level_of
from ghashgen.run.built import Built

LABEL = "model, not measurement"
"""Shown with every figure of this package."""

WIDE = "VPCLMULQDQ"
"""The feature without which a CPU counts as narrow."""

LOAD = "vmovdqu x,m128"
"""A form that only loads; its ports are the load ports."""

LONG = 4096
"""Message length in bytes from which the main loop takes nearly all of the time."""


MODES = ("throughput", "seal")
"""Modes whose measurements bounds are compared with: messages back to back, by family."""


def topic(family: str, key: int = 0) -> str:
    """Return the topic within which loops are compared: a family and a key size."""
    title = topics()[family].title
    return f"{title}, key of {key} bits" if key else title


@dataclass(frozen=True)
class Loop:
    """A main loop, ours or a peer's."""

    name: str
    """The name of the kernel, or of the peer in peers.toml."""
    topic: str
    """See `topic`."""
    source: str
    """The project and its version, or our instruction set."""
    ours: bool
    blocks: int
    features: tuple[str, ...]
    body: Histogram


@dataclass(frozen=True)
class Row:
    """A loop on a CPU; counts are for one pass, cycles per byte of the message."""

    loop: Loop
    uarch: str
    bound: Bound
    binds: str

    @property
    def cycles_per_byte(self) -> float:
        """The bound."""
        return self.bound.cycles / (BLOCK_BYTES * self.loop.blocks)

    def as_json(self) -> dict[str, Any]:
        """Return the row; counts per block of 16 bytes."""
        loop, bound, bytes_ = self.loop, self.bound, BLOCK_BYTES * self.loop.blocks
        per_block = {cls: n / loop.blocks for cls, n in classes(loop.body).items()}
        return {
            "is": LABEL,
            "kernel": loop.name,
            "topic": loop.topic,
            "source": loop.source,
            "ours": loop.ours,
            "blocks": loop.blocks,
            "instructions_per_block": loop.body.instructions / loop.blocks,
            "classes_per_block": per_block,
            "memory_operands_per_block": memory_operands(loop.body) / loop.blocks,
            "uops_per_block": {"/".join(p): n / loop.blocks for p, n in bound.demand.items()},
            "ports_cycles_per_byte": bound.ports / bytes_,
            "front_end_cycles_per_byte": bound.front_end / bytes_,
            "cycles_per_byte": self.cycles_per_byte,
            "bound_by": self.binds,
            "no_data": list(bound.no_data),
            "doubts": list(bound.doubts),
        }


@dataclass(frozen=True)
class Match:
    """A peer's loop and our lowest comparable one on that CPU; see `match`."""

    peer: Row
    ours: Row

    @property
    def quotient(self) -> float:
        """The peer's bound divided by ours: above 1, ours is lower."""
        return self.peer.cycles_per_byte / self.ours.cycles_per_byte

    def as_json(self) -> dict[str, Any]:
        """Return both names and the quotient."""
        return {
            "is": LABEL,
            "peer": self.peer.loop.name,
            "kernel": self.ours.loop.name,
            "peer_by_kernel": self.quotient,
        }


@dataclass(frozen=True)
class Check:
    """A bound beside a stored measurement on the same CPU."""

    name: str
    size: int
    """Message size in bytes."""
    model: float
    """The bound, in cycles per byte."""
    measured: float
    """Core cycles per byte."""

    @property
    def quotient(self) -> float:
        """The measurement divided by the bound."""
        return self.measured / self.model

    def as_json(self) -> dict[str, Any]:
        """Return both figures and how far the measurement is above the bound."""
        return {
            "kernel": self.name,
            "bytes": self.size,
            "model_cycles_per_byte": self.model,
            "measured_cycles_per_byte": self.measured,
            "measured_by_model": self.quotient,
        }


@dataclass(frozen=True)
class Wanted:
    """A goal for long messages on a core, beside our lowest bound there."""

    row: Row
    core: str
    """The core of the goal."""
    goal: float
    """At most this many cycles per byte."""
    within: float
    """Allowed excess over the goal, as a fraction."""

    @property
    def quotient(self) -> float:
        """The goal with its allowed excess, divided by the bound: below 1, no order of this loop
        reaches it.
        """
        return self.goal * (1 + self.within) / self.row.cycles_per_byte

    def as_json(self) -> dict[str, Any]:
        """Return the goal and the bound, in cycles per byte."""
        return {
            "is": LABEL,
            "core": self.core,
            "kernel": self.row.loop.name,
            "topic": self.row.loop.topic,
            "bound_cycles_per_byte": self.row.cycles_per_byte,
            "bound_by": self.row.binds,
            "goal_cycles_per_byte": self.goal,
            "within": self.within,
            "goal_by_bound": self.quotient,
        }


def binds(bound: Bound, uarch: Uarch) -> str:
    """Return what sets the bound: the front end, the load ports, or ports by name."""
    if bound.front_end > bound.ports:
        return "front end"
    load = uarch.costs.get(LOAD)
    loads = {port for uops in (load.uops or () if load else ()) for port in uops.ports}
    names = " ".join(bound.busiest)
    return f"loads ({names})" if set(bound.busiest) <= loads else names


def ours(built: Iterable[Built[Point]], where: Target) -> tuple[Loop, ...]:
    """Return the group loops of assembled kernels, for families that have one.

    A compact kernel's loop branches on the number of rounds and is left out: no straight part of it
    says what a pass takes.
    """
    out = []
    for item in built:
        kernel, code = item.kernel, read_object(item.obj.read_bytes())
        function = f"{where.symbol(kernel.name)}_{loop_of(kernel)}"
        body, decoder = group_loop(code, function), code.decoder
        if any(decoder.flow(instruction) is not Flow.NEXT for instruction in body[:-1]):
            continue
        out.append(
            Loop(
                name=kernel.name,
                topic=topic(
                    kernel.family, 8 * kernel.key_bytes if isinstance(kernel, Keyed) else 0
                ),
                source=kernel.instruction_set.name,
                ours=True,
                blocks=kernel.blocks,
                features=decoder.needs(body),
                body=histogram(decoder, body),
            )
        )
    return tuple(out)


def theirs(peers: Iterable[Peer]) -> tuple[Loop, ...]:
    """Return stored loops of peers, which only hash."""
    return tuple(
        Loop(
            peer.name,
            topic(DEFAULT),
            f"{peer.project} {peer.version}",
            False,
            peer.loop.blocks,
            peer.loop.features,
            peer.loop.body,
        )
        for peer in peers
    )


def _row(loop: Loop, uarch: Uarch) -> Row:
    bound = histogram_bound(loop.body, uarch)
    return Row(loop, uarch.name, bound, binds(bound, uarch))


def _order(row: Row) -> tuple[float, float, str]:
    loop = row.loop
    return (row.cycles_per_byte, loop.body.instructions / loop.blocks, loop.name)


def _best(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield every peer's row, and our best row for each topic, set and group size."""
    found: dict[tuple[str, str, int], Row] = {}
    for row in rows:
        key = row.loop.topic, row.loop.source, row.loop.blocks
        if not row.loop.ours:
            yield row
        elif key not in found or _order(row) < _order(found[key]):
            found[key] = row
    yield from found.values()


def _shown(loop: Loop, uarch: Uarch) -> bool:
    narrow = WIDE in uarch.features and WIDE not in loop.features
    return not narrow and not uarch.without(loop.features)


def compare(loops: Sequence[Loop]) -> dict[str, tuple[Row, ...]]:
    """Return the rows of every microarchitecture, the lowest bound first."""
    return {
        name: tuple(sorted(_best(_all(loops, uarch)), key=_order))
        for name, uarch in uarches().items()
    }


def match(loops: Sequence[Loop]) -> dict[str, tuple[Match, ...]]:
    """Return, by microarchitecture, every peer's loop with our lowest comparable one, if any.

    A longer pass pays for its reduction less often, and a wider register does more at once. So a
    comparable loop has no more blocks and no higher level (`ghashgen.records.levels`).
    """
    return {
        name: tuple(_matches(sorted(_all(loops, uarch), key=_order)))
        for name, uarch in uarches().items()
    }


def _all(loops: Iterable[Loop], uarch: Uarch) -> Iterator[Row]:
    return (_row(loop, uarch) for loop in loops if _shown(loop, uarch))


def _like(ours: Loop, peer: Loop) -> bool:
    later = level_of(ours.features) > level_of(peer.features)
    same = ours.topic == peer.topic
    return ours.ours and same and ours.blocks <= peer.blocks and not later


def _matches(rows: Sequence[Row]) -> Iterator[Match]:
    for peer in (row for row in rows if not row.loop.ours):
        best = next((row for row in rows if _like(row.loop, peer.loop)), None)
        if best is not None:
            yield Match(peer, best)


def checks(
    loops: Sequence[Loop], peers: Sequence[Peer], standings: Sequence[Standing]
) -> dict[str, tuple[Check, ...]]:
    """Return bounds beside measurements, by the title of each CPU with a table.

    It contains the kernels to take at a size, and every peer with a stored loop.
    """
    known = {loop.name: loop for loop in loops}
    by_bench = dict(zip((peer.bench for peer in peers), theirs(peers), strict=True))
    out: dict[str, list[Check]] = {}
    for one in standings:
        record = one.record
        core = core_of(record.results.machine.cpu)
        if core is None or not core.uarch:
            continue
        uarch = uarches()[core.uarch]
        found = [
            Check(loop.name, cell.size, _row(loop, uarch).cycles_per_byte, cell.per_byte)
            for cell in _long(one)
            if (loop := known.get(cell.name) or by_bench.get(cell.name)) is not None
        ]
        out.setdefault(record.title, []).extend(found)
    return {
        title: tuple(sorted(found, key=lambda check: (check.name, check.size)))
        for title, found in out.items()
    }


def wanted(
    rows: Mapping[str, Sequence[Row]], goals: Mapping[str, Book]
) -> dict[str, tuple[Wanted, ...]]:
    """Return the goals for the longest messages beside our lowest bounds.

    `rows` are those of `compare`, `goals` by family. Only goals in cycles for that core count here.
    """
    tables = {core.title: core.uarch for core in CORES if core.uarch}
    out: dict[str, tuple[Wanted, ...]] = {}
    for family, book in goals.items():
        for kind in (kind for kind in book.kinds if not kind.title):
            longest = {goal.key: goal for goal in kind.each if goal.per_byte is not None}
            name = tables.get(kind.core, "")
            found = [
                Wanted(row, kind.core, goal.per_byte, goal.within)
                for key, goal in longest.items()
                if goal.per_byte is not None
                if (row := _lowest(rows.get(name, ()), topic(family, key))) is not None
            ]
            if found:
                out[name] = (*out.get(name, ()), *found)
    return out


def _lowest(rows: Iterable[Row], about: str) -> Row | None:
    return next((row for row in rows if row.loop.ours and row.loop.topic == about), None)


def _long(one: Standing) -> Iterator[Cell]:
    """Yield the measurements of long messages: the kernel to take at each size, and every peer."""
    results = one.record.results
    for mode, size in results.rows():
        for key in results.keys if mode in MODES and size >= LONG else ():
            yield from filter(None, (one.kernel(size, mode, key),))
            yield from results.of_kind(("peer",), size, mode, key)
