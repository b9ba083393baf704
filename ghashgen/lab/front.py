"""README's summary: three claims, each with its figures and its limit, and one short table."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ghashgen.lab.changed import MARK
from ghashgen.lab.reached import REACHED, verdicts
from ghashgen.lab.standing import Pair, figure, markdown_table, pair, wrapped
from ghashgen.records.core import size_name
from ghashgen.records.goals import Book
from ghashgen.records.records import Record

SIZES = (64, 16384)
"""Message sizes of the table, in bytes: a short message and a long one."""

COLUMNS = (
    *("function", "CPU", ">every length"),
    *(f">at {size_name(size)}" for size in SIZES),
    ">each call waits",
)

NOT_MEASURED = "- **Fast.** Not measured yet: `ghashgen bench --record`."


@dataclass(frozen=True)
class Side:
    """A function as README calls it, and the modes and key sizes of its records that it shows."""

    title: str
    mode: str
    chained: str
    """The mode where each call waits for the one before."""
    keys: tuple[int, ...]
    """What a range covers; single sizes are of the first."""


HASH = Side("GHASH", "throughput", "latency", (0,))
MESSAGES = Side("AES-GCM", "seal", "seal-latency", (128, 256))


def proved_claim(sentence: str, trusted_lines: int) -> str:
    """Return the claim about proofs: the sentence that both pages share, and what must be
    trusted.
    """
    return _item(
        f"**Proved.** {sentence} *Limit:* you must trust the prover, {trusted_lines:,} lines of "
        "Python with its model of the instructions; caches, speculation and power are not modelled "
        "([what is proved, trusted and missing](SOUNDNESS.md))."
    )


Changed = Mapping[str, Collection[str]]
"""By a record's slug, the kernels that have other code now than when they were measured."""

OLD = f"{MARK} Some kernels had other code when measured; [results](docs/results.md) mark them."


def fast_claim(
    hashes: Sequence[Record],
    messages: Sequence[Record],
    goals: Book,
    changed: Changed,
) -> str:
    """Return the claim about speed: the range of each function, and where it ends."""
    sides = ((HASH, hashes), (MESSAGES, messages))
    found = [(side, _every(records, side.mode, side.keys)) for side, records in sides]
    ranges = [f"{side.title} is {_range(pairs)} times as fast" for side, pairs in found if pairs]
    if not ranges:
        return NOT_MEASURED
    sizes = [size for _, pairs in found for size, _ in pairs]
    limits = (
        "each figure is for our fastest kernel at that length, and no other CPU was measured.",
        _changed(sides, changed),
        _chained(sides),
        _goals(messages, goals),
    )
    return _item(
        f"**Fast.** Called back to back, {_and(ranges)} as the fastest other library at each "
        f"message length from {size_name(min(sizes))} to {size_name(max(sizes))}, on the CPUs in "
        f"the table. *Limit:* {' '.join(text for text in limits if text)} See [all "
        "results](docs/results.md) and [the method](docs/bench.md)."
    )


def adopt_claim(kernels: int, isas: Iterable[str]) -> str:
    """Return the claim about adoption."""
    names = [f"`{isa}`" for isa in sorted(set(isas))]
    return _item(
        "**Easy to adopt.** A kernel is one assembly file and a C header. It needs no library, "
        f"allocates nothing and keeps no global state. {kernels} kernels are checked in, for "
        f"{_and(names)}. *Limit:* a kernel does not check the CPU; you do, or the C dispatcher "
        "does. AArch64 kernels are tested in an emulator, and not proved."
    )


def table(hashes: Sequence[Record], messages: Sequence[Record], changed: Changed) -> str:
    """Return the short table, a row for each function and CPU; nothing where none was measured."""
    rows = [*_rows(hashes, HASH, changed), *_rows(messages, MESSAGES, changed)]
    if not rows:
        return ""
    title = wrapped(
        "Each figure is a speed-up: the time of the fastest other library divided by ours. "
        "Brackets give our core cycles per call, or per byte (/B). AES-GCM figures are for sealing "
        "whole messages with 12 bytes of AAD; ranges cover 128-bit and 256-bit keys, single "
        "lengths 128-bit keys."
    )
    old = any(MARK in cell for row in rows for cell in row)
    return f"{title}\n\n{markdown_table(COLUMNS, rows)}" + (f"\n\n{OLD}" if old else "")


def _rows(records: Sequence[Record], side: Side, changed: Changed) -> Iterator[tuple[str, ...]]:
    for record in records:
        if pairs := _pairs(record, side.mode, side.keys):
            single = (pair(record.results, size, side.mode, side.keys[0]) for size in SIZES)
            mark = MARK if _old(record, side, changed) else ""
            yield (
                *(side.title, f"{record.title}{mark}", _range(pairs)),
                *(f"{one.ratio:.2f} ({figure(one.kernel)})" if one else "" for one in single),
                _range(_pairs(record, side.chained, side.keys)),
            )


Pairs = Sequence[tuple[int, Pair]]
"""Sizes, each with the best kernel and the best peer."""


def _pairs(record: Record, mode: str, keys: tuple[int, ...]) -> Pairs:
    """Return every size that was measured in a mode."""
    sizes = [size for name, size in record.results.rows() if name == mode]
    found = [(size, pair(record.results, size, mode, key)) for key in keys for size in sizes]
    return [(size, both) for size, both in found if both is not None]


def _every(records: Iterable[Record], mode: str, keys: tuple[int, ...]) -> Pairs:
    return [each for record in records for each in _pairs(record, mode, keys)]


def _range(pairs: Pairs) -> str:
    """Return the lowest and the highest ratio; nothing where nothing was measured."""
    ratios = [both.ratio for _, both in pairs]
    return f"{min(ratios):.2f} to {max(ratios):.2f}" if ratios else ""


def _chained(sides: Iterable[tuple[Side, Sequence[Record]]]) -> str:
    """Return how little chained calls gain at least; nothing where none was measured."""
    found = []
    for side, records in sides:
        if pairs := _every(records, side.chained, side.keys):
            found.append(f"{min(both.ratio for _, both in pairs):.2f} for {side.title}")
    if not found:
        return ""
    return f"If each call waits for the one before, the factor falls to as little as {_and(found)}."


def _old(record: Record, side: Side, changed: Changed) -> bool:
    """Return whether a figure of a function is of a kernel that has other code now."""
    shown = (*_pairs(record, side.mode, side.keys), *_pairs(record, side.chained, side.keys))
    return not {both.kernel.name for _, both in shown}.isdisjoint(changed.get(record.slug, ()))


def _changed(sides: Iterable[tuple[Side, Sequence[Record]]], changed: Changed) -> str:
    """Return on which CPUs kernels were measured that have changed since; nothing if on none."""
    old = dict.fromkeys(
        record.title for side, records in sides for record in records if _old(record, side, changed)
    )
    if not old:
        return ""
    return f"On {_and(tuple(old))}, kernels were measured whose code has changed since."


def _goals(records: Sequence[Record], book: Book) -> str:
    """Return how many of the project's goals each CPU reaches; nothing where none has any."""
    found = []
    for record in records:
        goals = book.of(record.results.machine.features)
        if asked := [each for each in verdicts(record, goals) if each.shares] if goals else []:
            reached = sum(each.said == REACHED for each in asked)
            found.append(f"{reached} of {len(asked)} on {record.title}")
    if not found:
        return ""
    return f"Of the goals that we set for AES-GCM before we measured it, it reaches {_and(found)}."


def _and(items: Sequence[str]) -> str:
    """Return "a, b and c"."""
    *others, last = items
    return f"{', '.join(others)} and {last}" if others else last


def _item(text: str) -> str:
    """Return an item of a list, in lines of up to the width of prose."""
    return wrapped(f"- {text}").replace("\n", "\n  ")
