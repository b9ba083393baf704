"""Our group loops and peers' main loops through the same port tables: model, not measurement.

Loops are compared with those of their own topic: a family, and where it has keys one size of these.
Of ours, the rule takes for each CPU, topic, instruction set and number of blocks the kernel of the
catalogue with the lowest bound; of several, the one with fewer instructions, then the first by
name. A CPU that has VPCLMULQDQ is shown only loops that use it, another what it can run.
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
from ghashgen.kernels.core import Keyed, Point
from ghashgen.kernels.families import DEFAULT, family_of
from ghashgen.kernels.target import Target
from ghashgen.lab.model.peers import Peer
from ghashgen.lab.report.topics import TOPICS
from ghashgen.records.core import Cell, Results
from ghashgen.records.cpus import CORES, core_of
from ghashgen.records.goals import Book
from ghashgen.records.levels import level_of
from ghashgen.records.records import Record
from ghashgen.run.built import Built

LABEL = "model, not measurement"
"""What stands at every figure of this package."""

WIDE = "VPCLMULQDQ"
"""The feature whose absence makes a CPU narrow."""

LOAD = "vmovdqu x,m128"
"""A form that only loads: its ports are the load ports."""

LONG = 4096
"""Bytes of a message from which the main loop is nearly all of the time."""


MODES = ("throughput", "seal")
"""How messages were measured that bounds are set beside: back to back, each family its own way."""


def topic(family: str, key: int = 0) -> str:
    """Return what loops are compared with each other: those of a family, and of a size of key."""
    title = TOPICS[family].title
    return f"{title}, key of {key} bits" if key else title


@dataclass(frozen=True)
class Loop:
    """A main loop, ours or a peer's."""

    name: str
    """Of the kernel, or of the peer in peers.toml."""
    topic: str
    """See `topic`."""
    source: str
    """The project and its version, or the instruction set of ours."""
    ours: bool
    blocks: int
    features: tuple[str, ...]
    body: Histogram


@dataclass(frozen=True)
class Row:
    """A loop on a CPU; counts are of one pass, cycles per byte of the message."""

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
    """A peer's loop and the lowest of ours like it on that CPU: see `match`."""

    peer: Row
    ours: Row

    @property
    def quotient(self) -> float:
        """The peer's bound by ours: above 1, ours is the lower one."""
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
    """A bound beside a stored measurement on the CPU of that measurement."""

    name: str
    size: int
    """Bytes of the message."""
    model: float
    """The bound, in cycles per byte."""
    measured: float
    """Core cycles per byte."""

    @property
    def quotient(self) -> float:
        """How many times the bound was measured."""
        return self.measured / self.model

    def as_json(self) -> dict[str, Any]:
        """Return both figures and how far the measured one lies above the bound."""
        return {
            "kernel": self.name,
            "bytes": self.size,
            "model_cycles_per_byte": self.model,
            "measured_cycles_per_byte": self.measured,
            "measured_by_model": self.quotient,
        }


@dataclass(frozen=True)
class Wanted:
    """A goal of long messages on a core, beside the lowest bound of ours there."""

    row: Row
    core: str
    """The core that the goal is of."""
    goal: float
    """Cycles per byte, at most."""
    within: float
    """How far above it they may be, as a part of it."""

    @property
    def quotient(self) -> float:
        """The goal and what it allows, by the bound: below 1, no order of this loop reaches it."""
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


@dataclass(frozen=True)
class Comparison:
    """Everything that is shown."""

    rows: Mapping[str, tuple[Row, ...]]
    """By microarchitecture, ours and peers' together, the lowest bound first."""
    matches: Mapping[str, tuple[Match, ...]]
    """By microarchitecture."""
    checks: Mapping[str, tuple[Check, ...]]
    """By the title of each CPU that was measured and that a table describes."""
    wanted: Mapping[str, tuple[Wanted, ...]]
    """Goals of long messages beside the lowest bounds, by microarchitecture."""

    def as_json(self) -> dict[str, Any]:
        """Return the comparison."""
        return {
            "is": LABEL,
            "uarches": {name: [row.as_json() for row in rows] for name, rows in self.rows.items()},
            "like_with_like": {
                name: [match.as_json() for match in matches]
                for name, matches in self.matches.items()
            },
            "model_beside_measurement": {
                title: [check.as_json() for check in found] for title, found in self.checks.items()
            },
            "goals": {
                name: [wanted.as_json() for wanted in found] for name, found in self.wanted.items()
            },
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
    """Return the group loops of assembled kernels, of families that have one."""
    out = []
    for item in built:
        kernel, code = item.kernel, read_object(item.obj.read_bytes())
        function = f"{where.symbol(kernel.name)}_{family_of(kernel).loop}"
        body, decoder = group_loop(code, function), code.decoder
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
    """Return stored loops of peers, which hash and do nothing else."""
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
    """Yield every peer's row, and of ours the best of each topic, set and group size."""
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
    """Return, by microarchitecture, every peer's loop with the lowest like it of ours, if any.

    A longer pass pays for its reduction less often, and a wider register does more at once; so it
    is one of no more blocks and of no higher level (`ghashgen.records.levels`).
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
    loops: Sequence[Loop], peers: Sequence[Peer], records: Sequence[Record]
) -> dict[str, tuple[Check, ...]]:
    """Return bounds beside measurements, by the title of each CPU that a table describes.

    Kernels are those that were the fastest at a size; every peer with a stored loop is there.
    """
    known = {loop.name: loop for loop in loops}
    by_bench = dict(zip((peer.bench for peer in peers), theirs(peers), strict=True))
    out: dict[str, list[Check]] = {}
    for record in records:
        core = core_of(record.results.machine.cpu)
        if core is None or not core.uarch:
            continue
        uarch = uarches()[core.uarch]
        found = [
            Check(loop.name, cell.size, _row(loop, uarch).cycles_per_byte, cell.per_byte)
            for cell in _long(record.results)
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
    """Return the goals of the longest messages beside the lowest bounds of ours.

    `rows` are those of `compare`, `goals` by family. Of one core only goals in cycles count here.
    """
    tables = {core.title: core.uarch for core in CORES if core.uarch}
    out: dict[str, tuple[Wanted, ...]] = {}
    for family, book in goals.items():
        for kind in book.kinds:
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


def _long(results: Results) -> Iterator[Cell]:
    """Yield the measurements of long messages: of each size the best kernel, and every peer."""
    for mode, size in results.rows():
        if mode in MODES and size >= LONG:
            for key in results.keys:
                if kernel := results.fastest_kernel(size, mode, key):
                    yield kernel
                yield from results.of_kind(("peer",), size, mode, key)
