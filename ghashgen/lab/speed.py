"""The text and tables about speed in docs/results.md, from each CPU's records."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from ghashgen.lab.changed import MARK, marked
from ghashgen.lab.edges import edge_columns, edge_rows
from ghashgen.lab.figures.speed import file_of
from ghashgen.lab.reached import goal_parts
from ghashgen.lab.standing import (
    GCM_COLUMNS,
    LONG_COLUMNS,
    PIECES_COLUMNS,
    SETUP_COLUMNS,
    gcm_rows,
    long_rows,
    markdown_table,
    pieces_rows,
    setup_rows,
    wrapped,
)
from ghashgen.records.core import HASH_EDGES, SEAL_EDGES
from ghashgen.records.cpus import lacking
from ghashgen.records.goals import Book
from ghashgen.records.records import METHOD, Record
from ghashgen.support.wording import counted

NAMED = 6
"""Subjects named of those that one reason kept from being measured."""


def measured_parts(
    hashes: Iterable[Record],
    messages: Iterable[Record],
    goals: Book,
    changed: Mapping[str, Collection[str]],
) -> Iterable[str]:
    """Yield the results page's parts about speed; `changed` names kernels by a record's slug."""
    for record in hashes:
        yield from speed_parts(record, changed[record.slug])
    for record in messages:
        yield from gcm_parts(record, goals, changed[record.slug])


def speed_parts(record: Record, changed: Collection[str]) -> Iterable[str]:
    """Yield the results page's parts about GHASH on one CPU; `changed` kernels are marked."""
    yield f"## Speed on {record.title}"
    yield _measured_on(record, changed)
    yield from (marked(part, changed) for part in _hash_tables(record))


def _hash_tables(record: Record) -> Iterable[str]:
    yield f"![GHASH on {record.title}, by message size](figures/{file_of(record, 0)})"
    yield markdown_table(LONG_COLUMNS, long_rows(record))
    yield from _edges(record, HASH_EDGES)
    yield from _rest(record)


def gcm_parts(record: Record, goals: Book, changed: Collection[str]) -> Iterable[str]:
    """Yield the parts about AES-GCM, including which goals are reached; likewise."""
    yield f"## Speed of AES-GCM on {record.title}"
    yield _measured_on(record, changed)
    yield from (marked(part, changed) for part in _gcm_tables(record, goals))


def _gcm_tables(record: Record, goals: Book) -> Iterable[str]:
    yield wrapped(
        "Whole messages, sealed back to back, 12 bytes of AAD each. The last four columns are the "
        "same ratio for other calls: messages opened; each waiting for the tag or the verdict of "
        "the one before; and the text alone. IMIX: 64, 594 and 1518 bytes at 7 : 4 : 1."
    )
    yield f"![AES-256-GCM on {record.title}, by message size](figures/{file_of(record, 256)})"
    yield markdown_table(GCM_COLUMNS, gcm_rows(record))
    if pieces := tuple(pieces_rows(record)):
        yield wrapped(
            "One message of 64 KiB with 12 bytes of AAD, sealed or opened in pieces of 16 bytes, "
            "1 KiB and 16 KiB, begin and end included, in cycles per byte of text:"
        )
        yield markdown_table(PIECES_COLUMNS, pieces)
    yield from _edges(record, SEAL_EDGES)
    yield from _rest(record)
    yield from goal_parts(record, goals)


def _edges(record: Record, modes: Mapping[str, str]) -> Iterable[str]:
    """Yield the cost of callers' memory placement; nothing if it was not measured."""
    results = record.results
    if rows := tuple(edge_rows(results, modes)):
        yield wrapped(
            "Inputs at the edge: buffers end where mapped memory ends, or have no bytes and a null "
            "pointer. In brackets, the time divided by that of the same call with mapped memory "
            "behind the buffers, or with a pointer to mapped memory. Each row is the fastest of "
            "its generation of kernels, or of all peers:"
        )
        yield markdown_table(edge_columns(modes, keyed=any(results.keys)), rows)


def _measured_on(record: Record, changed: Collection[str]) -> str:
    machine = record.results.machine
    clock = f", {machine.clock_ghz:.2f} GHz" if machine.clock_ghz else ""
    sources = f", sources {machine.git}" if machine.git else ""
    runs = f"{record.runs} run{'s' * (record.runs != 1)}"
    note = f" Note: {record.note}." if record.note else ""
    lacks = lacking(machine.cpu, machine.features)
    less = f" The machine lacked {' '.join(lacks)}, which {record.core} has." if lacks else ""
    own = len(record.results.subjects.keys() & set(changed))
    old = (
        f" {counted(own, 'kernel')} had other code when measured than is checked in now. "
        f"The tables mark them {MARK}; charts, and rows without a name, may show them too."
        if own
        else ""
    )
    return wrapped(f"{machine.cpu}{clock}{sources}; {runs}; {METHOD}.{note}{less}{old}")


def _rest(record: Record) -> Iterable[str]:
    """Yield the key set-ups of a record, and what it lacks."""
    machine = record.results.machine
    yield wrapped("Key set-up, from call to result, for the kernels in the table and every peer:")
    yield markdown_table(SETUP_COLUMNS, setup_rows(record))
    if machine.features and record.results.missing:
        absent = dict[str, list[str]]()
        for name, why in sorted(record.results.missing.items()):
            absent.setdefault(why, []).append(name)
        said = (f"{_some(names)}: {why}" for why, names in absent.items())
        yield wrapped(f"Not measured: {'; '.join(said)}.")


def _some(names: Sequence[str]) -> str:
    """Return some of these names, and how many more there are."""
    more = len(names) - NAMED
    return ", ".join(names) if more <= 0 else f"{', '.join(names[:NAMED])} and {more} more"
