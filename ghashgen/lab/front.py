"""What README shows: three claims, each with its figures and its limit, and one short table."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ghashgen.lab.reached import REACHED, verdicts
from ghashgen.lab.standing import Pair, figure, markdown_table, pair, wrapped
from ghashgen.records.core import size_name
from ghashgen.records.goals import Book
from ghashgen.records.records import Record

SIZES = (64, 16384)
"""Message sizes of the table, in bytes: a short message and a long one."""

COLUMNS = (
    *("function", "bytes", "CPU", "fastest kernel", ">cycles"),
    *("fastest other library", ">speed-up"),
)

NOT_MEASURED = "- **Fast.** Not measured yet: `ghashgen bench --record`."


@dataclass(frozen=True)
class Side:
    """A function as README calls it, and the mode and key sizes of its records that it shows."""

    title: str
    mode: str
    keys: tuple[int, ...]
    """What the range covers; the table shows the first."""


HASH = Side("GHASH", "throughput", (0,))
MESSAGES = Side("AES-GCM", "seal", (128, 256))


def proved_claim(sentence: str, trusted_lines: int) -> str:
    """Return the claim about proofs: the sentence that both pages share, and what is trusted."""
    return _item(
        f"**Proved.** {sentence} *Limit:* you must trust the prover, {trusted_lines:,} lines of "
        "Python with its model of the instructions; caches, speculation and power are not modelled "
        "([what is proved, trusted and missing](SOUNDNESS.md))."
    )


def fast_claim(hashes: Sequence[Record], messages: Sequence[Record], goals: Book) -> str:
    """Return the claim about speed: the ranges of every record, and where they end."""
    if not hashes and not messages:
        return NOT_MEASURED
    ranges = [*_ranges(hashes, HASH), *_ranges(messages, MESSAGES)]
    missed = [text for record in messages if (text := _goals(record, goals))]
    limits = [
        "each figure takes our fastest kernel for that length, and no other CPU was measured.",
        _chained(hashes),
        *missed,
    ]
    return _item(
        "**Fast.** Beside the fastest other library at each message length, back-to-back calls run "
        f"{_and(ranges)} times as fast. *Limit:* {' '.join(text for text in limits if text)} See "
        "[all results](docs/results.md) and [the method](docs/bench.md)."
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


def table(hashes: Sequence[Record], messages: Sequence[Record]) -> str:
    """Return the short table; nothing where nothing was measured."""
    rows = [*_rows(hashes, HASH), *_rows(messages, MESSAGES)]
    if not rows:
        return ""
    title = wrapped(
        "Core cycles are per call, or per byte (/B). The speed-up is the other library's time "
        "divided by ours. AES-GCM: 128-bit key, whole messages sealed, 12 bytes of AAD."
    )
    return f"{title}\n\n{markdown_table(COLUMNS, rows)}"


def _rows(records: Sequence[Record], side: Side) -> Iterator[tuple[str, ...]]:
    key = side.keys[0]
    for size in SIZES:
        for record in records:
            if (found := pair(record.results, size, side.mode, key)) is not None:
                yield (
                    *(side.title, size_name(size), record.title, f"`{found.kernel.name}`"),
                    *(figure(found.kernel), found.peer.name, f"{found.ratio:.2f}"),
                )


def _pairs(record: Record, mode: str, keys: tuple[int, ...]) -> list[tuple[int, Pair]]:
    """Return every size that was measured in a mode, with the best kernel and the best peer."""
    sizes = [size for name, size in record.results.rows() if name == mode]
    found = [(size, pair(record.results, size, mode, key)) for key in keys for size in sizes]
    return [(size, both) for size, both in found if both is not None]


def _ranges(records: Sequence[Record], side: Side) -> Iterator[str]:
    for record in records:
        if found := _pairs(record, side.mode, side.keys):
            ratios = [both.ratio for _, both in found]
            sizes = [size for size, _ in found]
            yield (
                f"{min(ratios):.2f} to {max(ratios):.2f} ({side.title} on {record.title}, "
                f"{size_name(min(sizes))} to {size_name(max(sizes))})"
            )


def _chained(records: Sequence[Record]) -> str:
    """Return where chained calls of GHASH gain least; nothing where none was measured."""
    found = []
    for record in records:
        if pairs := _pairs(record, "latency", HASH.keys):
            size, least = min(pairs, key=lambda each: each[1].ratio)
            found.append(f"{least.ratio:.2f} on {record.title} (at {size_name(size)})")
    if not found:
        return ""
    return f"If each GHASH call waits for the one before, the factor falls to {_and(found)}."


def _goals(record: Record, book: Book) -> str:
    """Return how many of the project's goals are reached on a CPU; nothing where it has none."""
    goals = book.of(record.results.machine.features)
    asked = [each for each in verdicts(record, goals) if each.shares] if goals else []
    if not asked:
        return ""
    reached = sum(each.said == REACHED for each in asked)
    return (
        f"AES-GCM on {record.title} reaches {reached} of the {len(asked)} goals that we set for it."
    )


def _and(items: Sequence[str]) -> str:
    """Return "a, b and c"."""
    *others, last = items
    return f"{', '.join(others)} and {last}" if others else last


def _item(text: str) -> str:
    """Return an item of a list, in lines of up to the width of prose."""
    return wrapped(f"- {text}").replace("\n", "\n  ")
