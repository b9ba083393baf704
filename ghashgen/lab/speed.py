"""What docs/results.md says of speed: text and tables, from the records of each CPU."""

from collections.abc import Iterable, Mapping

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
from ghashgen.records.goals import Book
from ghashgen.records.records import METHOD, Record


def speed_parts(record: Record) -> Iterable[str]:
    """Yield what the page of results says of GHASH on one CPU."""
    yield f"## Speed on {record.title}"
    yield _measured_on(record)
    yield f"![GHASH on {record.title}, by message size](figures/{file_of(record, 0)})"
    yield markdown_table(LONG_COLUMNS, long_rows(record))
    yield from _edges(record, HASH_EDGES)
    yield from _rest(record)


def gcm_parts(record: Record, goals: Book) -> Iterable[str]:
    """Yield what it says of AES-GCM, and which goals are reached there."""
    yield f"## Speed of AES-GCM on {record.title}"
    yield _measured_on(record)
    yield wrapped(
        "Messages sealed whole, 12 bytes of AAD each; the last four columns are the same ratio "
        "where messages are opened, where each waits for the tag or the verdict of the one before, "
        "and of the text alone, as stitched functions take it. IMIX: 64, 594 and 1518 bytes at "
        "7 : 4 : 1:"
    )
    yield f"![AES-256-GCM on {record.title}, by message size](figures/{file_of(record, 256)})"
    yield markdown_table(GCM_COLUMNS, gcm_rows(record))
    if pieces := tuple(pieces_rows(record)):
        yield wrapped(
            "One message of 64 KiB in pieces of 16 bytes, 1 KiB and 16 KiB, sealed or opened, 12 "
            "bytes of AAD before it; begin and end are in the time, in cycles of a byte of text:"
        )
        yield markdown_table(PIECES_COLUMNS, pieces)
    yield from _edges(record, SEAL_EDGES)
    yield from _rest(record)
    yield from goal_parts(record, goals)


def _edges(record: Record, modes: Mapping[str, str]) -> Iterable[str]:
    """Yield what memory as callers have it costs; nothing where it was not measured."""
    results = record.results
    if rows := tuple(edge_rows(results, modes)):
        yield wrapped(
            "Inputs at the edge: what is read and written ends where mapped memory ends, or there "
            "are no bytes and the pointer to them is null. In brackets, how many times as long as "
            "at the same place in a page with mapped memory behind it, or with a pointer to mapped "
            "memory. Of each generation of kernels, and of all peers, the fastest there:"
        )
        yield markdown_table(edge_columns(modes, keyed=any(results.keys)), rows)


def _measured_on(record: Record) -> str:
    machine = record.results.machine
    clock = f", {machine.clock_ghz:.2f} GHz" if machine.clock_ghz else ""
    sources = f", sources {machine.git}" if machine.git else ""
    runs = f"{record.runs} run{'s' * (record.runs != 1)}"
    note = f" Note: {record.note}." if record.note else ""
    return wrapped(f"{machine.cpu}{clock}{sources}; {runs}; {METHOD}.{note}")


def _rest(record: Record) -> Iterable[str]:
    """Yield the key set-ups of a record, and what it lacks."""
    machine = record.results.machine
    yield wrapped(
        "Key set-up, from call to result, of the kernels in the table and of every peer measured:"
    )
    yield markdown_table(SETUP_COLUMNS, setup_rows(record))
    if machine.features and record.results.missing:
        absent = sorted(record.results.missing.items())
        yield wrapped("Not measured: " + "; ".join(f"{name}: {why}" for name, why in absent) + ".")
