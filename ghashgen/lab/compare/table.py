"""A comparison as a text table and as CSV: measured rows beside the paper's own."""

import csv
import io
from collections.abc import Iterator

from msgspec.structs import asdict, fields

from ghashgen.lab.compare.core import PaperRow, Study, paper_ratio
from ghashgen.lab.compare.record import Figure, Record, Row
from ghashgen.records.core import size_name
from ghashgen.support.tables import Table

NOTHING, UNMEASURED = "–", "not measured"

_EXACT_BELOW = 10
"""Cycles per byte below this are shown with three decimals, others with one."""

_COLUMNS = (
    *("study", "group", "label", "subject", "constant_time", "missing"),
    *(field.name for field in fields(Figure)),
    *("cycles_per_byte", "paper_ratio", "digest"),
)
"""Columns of the CSV."""


def _cell(figure: Figure | None) -> str:
    if figure is None:
        return NOTHING
    digits = 3 if figure.per_byte < _EXACT_BELOW else 1
    return f"{figure.per_byte:.{digits}f} {_times(figure.ratio)}"


def _times(ratio: float | None) -> str:
    """Return × and a ratio of about three digits."""
    if ratio is None:
        return f"×{NOTHING}"
    return f"×{ratio:.{2 if ratio < 10 else 1 if ratio < 100 else 0}f}"


def _percent(figures: tuple[Figure, ...]) -> str:
    """Return the distance of the quartiles, relative to the median, at the worst size."""
    return f"{100 * max((f.high - f.low) / f.cycles for f in figures):.1f}%"


def _deviation(figures: tuple[Figure, ...]) -> str:
    """Return the largest deviation of a process's ratio from the one shown."""
    found = [
        max(f.ratio_high / f.ratio - 1, 1 - f.ratio_low / f.ratio)
        for f in figures
        if f.ratio and f.ratio_low and f.ratio_high and f.processes > 1
    ]
    return f"{100 * max(found):.1f}%" if found else NOTHING


def _times_of(study: Study) -> dict[tuple[str, str], tuple[float, float | None]]:
    """Return the paper's time and ratio of each row that has them, by group and label."""
    return {
        (group.title, variant.label): (variant.paper_time, paper_ratio(group, variant))
        for group in study.groups
        for variant in group.variants
        if variant.paper_time is not None
    }


def _paper_cell(study: Study, stated: tuple[float, float | None] | None) -> str:
    if stated is None:
        return NOTHING
    time, ratio = stated
    digits = 2 if study.time_unit == "s" else 1
    return f"{time:.{digits}f} {study.time_unit} {_times(ratio)}"


def _theirs(row: PaperRow, size: int) -> str:
    """Return the paper's figure for a size."""
    time = f"{row.per_byte[size]:.1f}" if size in row.per_byte else ""
    ratio = f"×{row.ratios[size]:.2f}" if size in row.ratios else ""
    return f"{time} {ratio}".strip() or NOTHING


def _text(row: Row, record: Record, columns: int) -> tuple[str, ...]:
    if not row.figures:
        return (UNMEASURED, *[NOTHING] * (columns - 1))
    cells = [_cell(row.figure(size)) for size in record.sizes]
    return (*cells, _percent(row.figures), _deviation(row.figures))


def _grouped(record: Record) -> bool:
    return len({row.group for row in record.rows}) > 1


def _sized(record: Record) -> bool:
    return any(row.table_bytes for row in record.rows)


def _timed(record: Record) -> bool:
    return not all(row.constant_time for row in record.rows)


def _rows(study: Study, record: Record) -> Iterator[tuple[str, ...]]:
    stated = _times_of(study)
    for row in record.rows:
        # "variable": by how the code is written, its time depends on secrets.
        time = ("constant" if row.constant_time else "variable",) if _timed(record) else ()
        paper = (_paper_cell(study, stated.get((row.group, row.label))),) if stated else ()
        group = (row.group,) if _grouped(record) else ()
        space = (str(row.table_bytes or NOTHING),) if _sized(record) else ()
        figures = _text(row, record, len(record.sizes) + 2)
        yield (*group, row.label, row.subject, *space, *time, *paper, *figures)
    for theirs in study.paper_rows:
        cells = [_theirs(theirs, size) for size in record.sizes]
        group = ("the paper's",) if _grouped(record) else ()
        time = (NOTHING,) if _timed(record) else ()
        paper = (NOTHING,) if stated else ()
        space = (NOTHING,) if _sized(record) else ()
        yield (
            *(*group, theirs.label, theirs.source, *space, *time, *paper),
            *(*cells, NOTHING, NOTHING),
        )


def table(study: Study, record: Record) -> Table:
    """Return the table: rows are variants, columns sizes.

    A cell is core cycles per byte and × the ratio to the first row of its group.
    """
    columns = (
        *(("group",) if _grouped(record) else ()),
        *("variant", "measured"),
        *((">table bytes",) if _sized(record) else ()),
        *(("time",) if _timed(record) else ()),
        *((">the paper's",) if _times_of(study) else ()),
        *(f">{size_name(size)}" for size in record.sizes),
        *(">spread", ">ratio ±"),
    )
    title = f"{study.title}: core cycles per byte ×ratio"
    return Table(title, columns, tuple(_rows(study, record)))


def missing(record: Record) -> tuple[tuple[str, str], ...]:
    """Return (why, names) of what was not measured; a wholly unmeasured group by its title."""
    some = {row.group for row in record.rows if row.figures}
    found: dict[str, dict[str, None]] = {}
    for row in record.rows:
        if row.missing:
            name = row.subject if row.group in some else row.group
            found.setdefault(row.missing, {})[name] = None
    return tuple((why, ", ".join(names)) for why, names in found.items())


def as_csv(study: Study, record: Record) -> str:
    """Return one line for each row and size, with a header line."""
    stated = _times_of(study)
    out = io.StringIO()
    writer = csv.DictWriter(out, _COLUMNS, lineterminator="\n", restval="")
    writer.writeheader()
    for row in record.rows:
        paper = stated.get((row.group, row.label), (None, None))[1]
        common = {
            "study": study.name,
            **{name: getattr(row, name) for name in ("group", "label", "subject", "digest")},
            "constant_time": row.constant_time,
            "missing": row.missing,
            "paper_ratio": "" if paper is None else round(paper, 4),
        }
        figures = [{**asdict(f), "cycles_per_byte": round(f.per_byte, 5)} for f in row.figures]
        writer.writerows([{**common, **figure} for figure in figures or [{}]])
    return out.getvalue()
