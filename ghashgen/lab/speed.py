"""The text and tables about speed in docs/results.md, from each CPU's records."""

from collections.abc import Iterable, Iterator, Sequence

from ghashgen.choice.rule import RULE
from ghashgen.lab.edges import SHOWN, TITLES, edge_cells
from ghashgen.lab.figures.speed import file_of
from ghashgen.lab.pages import item, markdown_table, wrapped
from ghashgen.lab.speeds.core import Measured, Speed
from ghashgen.lab.standing import MARK, Standing, marked, shown
from ghashgen.records.cpus import lacking
from ghashgen.records.records import Record
from ghashgen.support.wording import counted, first_of

LACKS = "the CPU lacks features that they need"

NAMED = 2
"""Subjects named of those that one reason kept from being measured."""


def measured_parts(measured: Sequence[Measured], goals: Iterable[str]) -> Iterable[str]:
    """Yield the results page's parts about speed; `goals` are its parts about goals."""
    shown = [one for one in measured if one.standings]
    if shown:
        yield "## How the speeds are given"
        yield _legend([one.speed for one in shown])
    for each in shown:
        for one in each.standings:
            yield from speed_parts(each.speed, one)
    if found := tuple(goals):
        yield "## Goals of AES-GCM"
        yield wrapped(
            "The goals were set before the measurement, for messages sealed back to back with 12 "
            "bytes of AAD. A goal is a ratio and, on one core, also a number of cycles. If both "
            "are missed, the table gives the larger miss. Below each CPU's name are the cycles "
            "of the kernel that `ghashgen recommend` names. What ports allow is in "
            "[model.md](model.md)."
        )
        yield from found
    yield from edge_parts(
        (one.speed.function, each.record) for one in shown for each in one.standings
    )
    setups = [part for one in shown for part in _setup(one.standings)]
    if setups:
        yield "## Key set-up"
        yield wrapped(
            "Core cycles from call to result, for the kernels and peers that the tables above name:"
        )
        yield from setups


def _legend(shown: Iterable[Speed]) -> str:
    items = (
        "**cycles**: core cycles per call up to 256 bytes, per byte (/B) above: the median of the "
        "runs' medians. Kernels and peers run in turns, in one process on one core.",
        "**spread**: from the lowest first to the highest third quartile of the runs, in percent "
        "of the cycles.",
        "**kernel**: the one that `ghashgen recommend` names and the dispatcher takes for the "
        f"length: {RULE}.",
        "**ratio**: the time of the best peer divided by that of the kernel. Above 1 the kernel is "
        "faster; a difference below 5% means little. The same measurement chose kernel and "
        "peer, so both times are a little too low.",
        "**chained**: the ratio where each call waits for the result of the one before.",
        f"{MARK}: the kernel's code has changed since it was measured.",
        *(each for speed in shown for each in speed.legend),
    )
    return "\n".join(map(item, items))


def speed_parts(speed: Speed, one: Standing) -> Iterable[str]:
    """Yield the results page's parts about a family on one CPU; changed kernels are marked."""
    record = one.record
    chart = file_of(speed, record, speed.drawn)
    yield f"## {speed.heading} on {record.title}"
    yield _measured_on(one)
    yield f"![{speed.alt} on {record.title}, by message size](figures/{chart})"
    for table in speed.tables:
        if rows := tuple(table.rows(one)):
            yield marked(markdown_table(table.heads, rows), one.changed)


def edge_parts(measured: Iterable[tuple[str, Record]]) -> Iterator[str]:
    """Yield the cost of callers' memory placement, of records each with its function.

    Nothing if it was not measured.
    """
    rows = [
        (record.title, what, who, *cells)
        for what, record in measured
        for who, kind in (("kernels", "kernel"), ("fastest peer", "peer"))
        if any(cells := tuple(edge_cells(record.results, kind)))
    ]
    if rows:
        yield "## Inputs at the edge"
        sizes = ", ".join(map(str, SHOWN))
        yield wrapped(
            "Buffers end where mapped memory ends, or have no bytes and a null pointer. A figure "
            "is the time divided by that of the same call with mapped memory behind the buffers, "
            "or with a pointer to mapped memory: 1.00 means that the edge costs nothing. The two "
            f"figures are the lowest and the highest at {sizes} bytes, over the fastest kernel of "
            "each instruction set, or over the fastest peer. Only these records have such figures."
        )
        yield markdown_table(
            ("CPU", "function", "code", *(f">{head}" for head in TITLES.values())), rows
        )


def _measured_on(one: Standing) -> str:
    record, machine = one.record, one.record.results.machine
    clock = f", {machine.clock_ghz:.2f} GHz" if machine.clock_ghz else ""
    sources = f", sources {machine.git}" if machine.git else ""
    runs = counted(record.runs, "run")
    note = f" Note: {record.note.removesuffix('.')}." if record.note else ""
    lacks = lacking(machine.cpu, machine.features)
    less = f" The machine lacked {' '.join(lacks)}, which {record.core} has." if lacks else ""
    own = len(one.changed)
    old = (
        f" The code of {counted(own, 'kernel')} has changed since this measurement. The chart may "
        "show them too."
        if own
        else ""
    )
    return wrapped(f"{machine.cpu}{clock}{sources}; {runs}.{note}{less}{old}{_missing(record)}")


def _missing(record: Record) -> str:
    """Return what a record lacks, by reason; nothing for a record that does not say."""
    if not (record.results.machine.features and record.results.missing):
        return ""
    absent = dict[str, list[str]]()
    for name, why in sorted(record.results.missing.items()):
        reason = LACKS if why.startswith("this CPU lacks") else why
        absent.setdefault(reason, []).append(name)
    said = (f"{first_of(names, NAMED)}: {why}" for why, names in absent.items())
    return f" Not measured: {'; '.join(said)}."


def _setup(standings: Sequence[Standing]) -> Iterator[str]:
    """Yield the table of a family's key set-ups, a column for each CPU; none if unmeasured."""
    subjects = {n: s for one in standings for n, s in one.record.results.subjects.items()}
    named = frozenset[str]().union(*map(shown, standings))
    rows = []
    for name in sorted(named, key=lambda name: (subjects[name].kind, name)):
        found = [(one, one.record.results.cell(name, 0, "init")) for one in standings]
        if any(cell for _, cell in found):
            rows.append(
                (
                    *(f"`{name}`", str(subjects[name].table_bytes)),
                    *(
                        f"{cell.cycles:.0f}{MARK if name in one.changed else ''}" if cell else ""
                        for one, cell in found
                    ),
                )
            )
    if rows:
        heads = (f">{one.record.title}" for one in standings)
        yield markdown_table(("subject", ">table bytes", *heads), rows)
