"""The table of every kernel, as text: columns, cells, and what filters look at."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

from ghashgen.lab.report.choice import axes, shown_sizes, tabled, text
from ghashgen.lab.report.data import Report, Timing, Variant
from ghashgen.records.core import size_name

NONE = "–"


@dataclass(frozen=True)
class Column:
    """A column; `key` is its name in the page's address."""

    key: str
    title: str
    unit: str = ""
    number: bool = True


@dataclass(frozen=True)
class Cell:
    """A cell; `sort` is its sort key if that is not the text."""

    text: str
    css: str = ""
    sort: str | None = None
    title: str = ""


@dataclass(frozen=True)
class Row:
    """One kernel."""

    name: str
    href: str
    axes: str
    """JSON: text by axis."""
    text: str
    """Lower-case text for the search field."""
    cells: tuple[Cell, ...]


def _is_number(report: Report, axis: str) -> bool:
    values = [variant.axes.get(axis) for variant in report.variants]
    return all(isinstance(value, int) and not isinstance(value, bool) for value in values)


def columns(report: Report) -> tuple[Column, ...]:
    """Return the columns; the axes among them are those on which the kernels differ."""
    bounds = report.uarches if any(variant.examined for variant in report.variants) else ()
    return (
        Column("name", "kernel", number=False),
        *(
            Column(f"{speed.slug}-{size}", f"{speed.title}, {size_name(size)}", "measured, c/B")
            for speed in tabled(report)
            for size in shown_sizes(speed)
        ),
        *(Column(f"bound-{name}", name, "model, c/B") for name in bounds),
        Column("instructions", "instructions", "per block"),
        Column("clmul", "clmul", "per block"),
        Column("proved", "theorems", "proved"),
        Column("table", "table", "bytes"),
        Column("code", "code", "bytes"),
        *(Column(axis, axis, number=_is_number(report, axis)) for axis in axes(report.variants)),
    )


def rows(report: Report, folder: Path, link: Callable[[Path], str]) -> tuple[Row, ...]:
    """Return a row for each kernel, the fastest first; `link` makes a link to a file.

    Fastest refers to the largest size shown for the first CPU; unmeasured kernels follow by
    instructions per block.
    """
    elsewhere = measured_elsewhere(report)
    timings = {(speed.slug, t.name, t.size): t for speed in report.speeds for t in speed.timings}
    varying = axes(report.variants)
    examined = any(variant.examined for variant in report.variants)
    shown = [(speed.slug, size) for speed in tabled(report) for size in shown_sizes(speed)]
    first = [place for place in shown if place[0] == shown[0][0]]
    out = []

    def rank(variant: Variant) -> tuple[float, Any, str]:
        slug, size = first[-1] if first else ("", 0)
        timing = timings.get((slug, variant.name, size))
        return timing.per_byte if timing else inf, variant.total_per_block, variant.name

    for variant in sorted(report.variants, key=rank):
        values = {axis: text(variant.axes.get(axis)) for axis in varying}
        cells = [
            *(
                _measured(timings.get((slug, variant.name, size)), elsewhere[slug])
                for slug, size in shown
            ),
            *(_bound(variant, uarch) for uarch in (report.uarches if examined else ())),
            _exact(variant.total_per_block),
            _exact(variant.per_block["clmul"]),
            _proved(variant),
            Cell(str(variant.table_bytes), "num"),
            Cell(str(variant.code_bytes), "num"),
            *(Cell(values[axis], "num" if _is_number(report, axis) else "") for axis in varying),
        ]
        words = (variant.name, *values.values(), *variant.features)
        out.append(
            Row(
                name=variant.name,
                href=link(folder / variant.file),
                axes=json.dumps(values),
                text=" ".join(word for word in words if word).lower(),
                cells=tuple(cells),
            )
        )
    return tuple(out)


def measured_elsewhere(report: Report) -> dict[str, frozenset[str]]:
    """Return, by the CPU's slug, the kernels whose timings belong to other code."""
    digests = {v.name: v.examined.text_sha256 for v in report.variants if v.examined}
    return {
        speed.slug: frozenset(
            timing.name
            for timing in speed.timings
            if timing.digest and digests.get(timing.name, timing.digest) != timing.digest
        )
        for speed in report.speeds
    }


def _exact(value: Any) -> Cell:
    return Cell(f"{float(value):.2f}", "num", f"{float(value):.6f}")


def _bound(variant: Variant, uarch: str) -> Cell:
    if variant.examined is None or uarch not in variant.examined.bounds:
        lacks = variant.examined.lacks.get(uarch, ()) if variant.examined else ()
        return Cell(NONE, "num", "", f"{uarch} lacks {', '.join(lacks)}" if lacks else "")
    bound = variant.examined.bounds[uarch]
    left_out = f"; no data: {'; '.join(bound.no_data)}" if bound.no_data else ""
    return Cell(
        f"{bound.per_byte:.3f}",
        "num",
        f"{bound.per_byte:.6f}",
        f"model: {bound.per_block:.2f} cycles per block, set by {bound.limit}{left_out}",
    )


def _proved(variant: Variant) -> Cell:
    kinds: dict[str, dict[str, None]] = {}
    for theorem in variant.theorems:
        kinds.setdefault(theorem.operation, {})[theorem.what] = None
    count = sum(len(whats) for whats in kinds.values())
    if count:
        told = "; ".join(f"{operation}: {', '.join(whats)}" for operation, whats in kinds.items())
        return Cell(str(count), "num ok", str(count), told)
    return Cell(variant.proof, "num bad", "0")


def _measured(timing: Timing | None, elsewhere: frozenset[str]) -> Cell:
    if timing is None:
        return Cell(NONE, "num", "")
    mark = "†" if timing.name in elsewhere else ""
    spread = (
        f"quartiles {timing.low:.3f} to {timing.high:.3f}, {timing.samples} samples"
        if timing.low is not None and timing.high is not None
        else ""
    )
    return Cell(f"{timing.per_byte:.3f}{mark}", "num", f"{timing.per_byte:.6f}", spread)
