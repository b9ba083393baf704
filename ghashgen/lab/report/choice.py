"""Which kernels a plot or a table shows, and the totals above them, by rules rather than names."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ghashgen.lab.report.data import PortBound, Report, Speed, Timing, Variant

GROUP = 16
"""Group size in blocks of the kernels whose instructions are compared; if an ISA has none, its
largest.
"""

SHOWN_SIZES = (64, 1024, 16384)
"""Sizes whose cycles per byte are in the table of variants, if they were measured."""


def axes(variants: Sequence[Variant]) -> tuple[str, ...]:
    """Return the axes on which the kernels differ, in the manifest's order."""
    names = dict.fromkeys(axis for variant in variants for axis in variant.axes)
    return tuple(name for name in names if len(_values(variants, name)) > 1)


def constants(variants: Sequence[Variant]) -> dict[str, str]:
    """Return the axes on which all kernels agree, with the value."""
    names = dict.fromkeys(axis for variant in variants for axis in variant.axes)
    agreed = {name: _values(variants, name) for name in names}
    return {name: text(values[0]) for name, values in agreed.items() if len(values) == 1}


def text(value: Any) -> str:
    """Return the text for an axis's value; None means that the kernel lacks the axis."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)


def _values(variants: Sequence[Variant], axis: str) -> list[Any]:
    """Return the values of an axis: numbers in order, names by frequency, then by name."""
    found = [variant.axes.get(axis) for variant in variants]
    counts = {value: found.count(value) for value in dict.fromkeys(found)}
    if all(isinstance(value, int) and not isinstance(value, bool) for value in counts):
        return sorted(counts)
    return sorted(counts, key=lambda value: (-counts[value], text(value)))


def filters(variants: Sequence[Variant]) -> dict[str, tuple[str, ...]]:
    """Return the values that each axis offers as a filter."""
    return {axis: tuple(map(text, _values(variants, axis))) for axis in axes(variants)}


# -- proofs ---------------------------------------------------------------------------------------

WHATS = {
    "function": "result",
    "memory": "memory",
    "constant-time": "constant time",
    "abi": "calling convention",
    "wipe": "wipe",
}
"""Kinds of theorem in the order of the table, with their names; other kinds follow under their own
names.
"""


@dataclass(frozen=True)
class ProofRow:
    """Kernels with one proved kind of theorem, by column of the table of proofs."""

    what: str
    kernels: Mapping[tuple[str, str], int]
    """By (function, method)."""
    total: int


@dataclass(frozen=True)
class ProofTable:
    """What is proved, counted over kernels."""

    columns: tuple[tuple[str, str, str], ...]
    """(function, method, lengths in bytes)."""
    rows: tuple[ProofRow, ...]
    kernels: int
    theorems: int
    """Number of theorems as in README: those for two buffers and for one are one theorem."""


def proof_table(report: Report) -> ProofTable:
    """Count the theorems."""
    pairs = [(v.name, theorem) for v in report.variants for theorem in v.theorems]
    order = [function.statement for function in report.topic.family.functions().values()]
    keys = {(theorem.operation, theorem.method) for _, theorem in pairs}
    rank = {name: index for index, name in enumerate(order)}
    columns = sorted(keys, key=lambda key: (rank.get(key[0], len(order)), key))
    kinds = dict.fromkeys([*WHATS, *sorted({theorem.what for _, theorem in pairs})])
    rows = []
    for what in kinds:
        found = {
            key: len({n for n, t in pairs if t.what == what and (t.operation, t.method) == key})
            for key in columns
        }
        total = len({(name, t.operation) for name, t in pairs if t.what == what})
        if total:
            rows.append(ProofRow(WHATS.get(what, what), found, total))
    return ProofTable(
        columns=tuple((*key, _lengths(t.lengths for _, t in pairs if _key(t) == key))
                      for key in columns),
        rows=tuple(rows),
        kernels=len({name for name, _ in pairs}),
        theorems=sum(row.total for row in rows),
    )  # fmt: skip


_RANGE = re.compile(r"(\w+ = )?(\d+)\.\.(\d+)")


def _key(theorem: Any) -> tuple[str, str]:
    return theorem.operation, theorem.method


def of_lengths(text: str) -> str:
    """Return a range with its unit: bytes, or what the range itself names."""
    if not text:
        return "no length"
    return text if " = " in text else f"{text} bytes"


def _lengths(texts: Iterable[str]) -> str:
    """Return ranges that differ between kernels in one phrase.

    A range is of lengths in bytes, "0..287", or of something named, "m = 0..2".
    """
    ranges = {found.groups() for text in texts if (found := _RANGE.fullmatch(text))}
    if not ranges:
        return ""
    low, high = (sorted({int(found[part]) for found in ranges}) for part in (1, 2))
    name = "".join(sorted({found[0] or "" for found in ranges}))
    return f"{name}{_span(low)} to {_span(high)}"


def _span(numbers: list[int]) -> str:
    first, last = _power(numbers[0]), _power(numbers[-1])
    return first if first == last else f"{first}…{last}"


def _power(number: int) -> str:
    """Return a long number of the form 2^n − 1 so, else its digits."""
    if number > 1 << 32 and (number + 1) & number == 0:
        return f"2^{number.bit_length()} − 1"
    return str(number)


# -- costs ----------------------------------------------------------------------------------------


def costs(report: Report) -> tuple[Variant, ...]:
    """Return the kernel with the fewest instructions per block for each ISA and value of the
    topic's axis.
    """
    axis, _ = report.topic.by
    own = [v for v in report.variants if report.topic.compares(v.axes)]
    return tuple(
        _least([v for v in of_isa if v.axes[axis] == value], lambda v: v.total_per_block)
        for isa in _by_cost(own, "isa")
        for of_isa in [_sized([v for v in own if v.axes["isa"] == isa])]
        for value in _by_cost(own, axis)
        if any(v.axes[axis] == value for v in of_isa)
    )


def _sized(variants: list[Variant]) -> list[Variant]:
    sizes = {variant.blocks for variant in variants}
    size = GROUP if GROUP in sizes else max(sizes)
    return [variant for variant in variants if variant.blocks == size]


def _by_cost(variants: Sequence[Variant], axis: str) -> list[Any]:
    """Return an axis's values, the one whose best kernel is costliest first."""
    best: dict[Any, Any] = {}
    for variant in variants:
        value, cost = variant.axes[axis], variant.total_per_block
        best[value] = min(best.get(value, cost), cost)
    return sorted(best, key=lambda value: (-best[value], str(value)))


def _least(variants: Sequence[Variant], cost: Callable[[Variant], Any]) -> Variant:
    return min(variants, key=lambda v: (cost(v), v.total_per_block, v.name))


def bound_rows(report: Report, uarch: str) -> tuple[tuple[Variant, PortBound], ...]:
    """Return, by ISA, the compared kernel with the lowest bound on a microarchitecture."""
    found: dict[str, list[tuple[Variant, PortBound]]] = {}
    for variant in report.variants:
        if not report.topic.compares(variant.axes) or variant.examined is None:
            continue
        bound = variant.examined.bounds.get(uarch)
        if bound is not None:
            found.setdefault(variant.axes["isa"], []).append((variant, bound))

    def cost(row: tuple[Variant, PortBound]) -> Any:
        return round(row[1].per_block, 9), row[0].total_per_block, row[0].name

    best = [min(rows, key=cost) for rows in found.values()]
    return tuple(sorted(best, key=lambda row: (-row[1].per_block, row[0].name)))


def used_ports(report: Report, uarch: str) -> tuple[tuple[str, ...], ...]:
    """Return the ports that one of these kernels uses; those with equal loads in all are joined."""
    loads = [bound.load for _, bound in bound_rows(report, uarch)]
    alike: dict[tuple[float, ...], list[str]] = {}
    for port in report.ports[uarch]:
        column = tuple(round(load.get(port, 0.0), 9) for load in loads)
        if any(column):
            alike.setdefault(column, []).append(port)
    return tuple(tuple(ports) for ports in alike.values())


def unrunnable(report: Report, uarch: str) -> dict[str, tuple[str, ...]]:
    """Return the ISAs without a kernel that runs on a microarchitecture, with what it lacks."""
    lacks: dict[str, set[str]] = {}
    runs: set[str] = set()
    for variant in report.variants:
        if variant.examined is None:
            continue
        isa = variant.axes["isa"]
        if missing := variant.examined.lacks.get(uarch):
            lacks[isa] = lacks[isa] & set(missing) if isa in lacks else set(missing)
        else:
            runs.add(isa)
    return {isa: tuple(sorted(found)) for isa, found in sorted(lacks.items()) if isa not in runs}


# -- speed ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """A line in the plot of speed."""

    label: str
    names: tuple[str, ...]
    """The subjects in it."""
    kind: str
    timings: tuple[Timing, ...]


def lines(speed: Speed) -> tuple[Line, ...]:
    """Return the kernels to take, as one line, and every peer.

    If the source holds only the best at each size, the best peers are one line.
    """
    taken = tuple(t for size in speed.sizes if (t := speed.taken(size)) is not None)
    ours = Line("ours", tuple(dict.fromkeys(t.name for t in taken)), "kernel", taken)
    names = speed.names("peer")
    if speed.spread:
        peers = [Line(name, (name,), "peer", speed.of(name)) for name in names]
    else:
        best = tuple(t for size in speed.sizes if (t := speed.best("peer", size)) is not None)
        peers = [Line("best peer", names, "peer", best)]
    return tuple(line for line in (ours, *peers) if line.timings)


def tabled(report: Report) -> tuple[Speed, ...]:
    """Return the measurements for the table of variants: those of all kernels."""
    return tuple(speed for speed in report.speeds if speed.spread)


def shown_sizes(speed: Speed) -> tuple[int, ...]:
    """Return the sizes in the table of variants."""
    measured = {timing.size for timing in speed.timings if timing.kind == "kernel"}
    return tuple(size for size in SHOWN_SIZES if size in measured) or tuple(sorted(measured)[-1:])
