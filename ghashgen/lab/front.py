"""README's summary: three claims, each with its figures and its limit, and one short table."""

import math
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import groupby

from ghashgen.lab.pages import item, markdown_table, wrapped
from ghashgen.lab.reached import REACHED, Verdict, verdicts
from ghashgen.lab.speeds.core import Measured, Speed, ranked
from ghashgen.lab.standing import MARK, Pair, Standing, figure
from ghashgen.records.core import BURST, PIECES, size_name
from ghashgen.records.goals import Book
from ghashgen.support.wording import joined

LONG = 1024
"""Messages of so many bytes and more are the claim's first figure."""

SIZES = (64, 16384)
"""Message sizes of the table, in bytes: a short message and a long one."""

BURST_SIZES = (16, 64, 256)
"""Message sizes of bursts that the claim names, in bytes."""

COLUMNS = (
    *("function", "CPU", ">every length"),
    *(f">at {size_name(size)}" for size in SIZES),
    ">dependent calls",
)

NOT_MEASURED = "- **Fast.** Not measured yet: `ghashgen bench --record`."


def proved_claim(sentence: str, trusted_lines: int) -> str:
    """Return the claim about proofs: what both pages say, and what must be trusted."""
    return item(
        f"**Proved.** {sentence} *Limit:* you must trust the prover and its model of the "
        f"instructions, {trusted_lines:,} lines of Python. Caches, speculation and power are not "
        "modelled. See [what is proved, trusted and missing](SOUNDNESS.md)."
    )


OLD = (
    f"{MARK} The code of some kernels has changed since. [results.md](docs/results.md) marks their "
    "rows."
)


def fast_claim(measured: Iterable[Measured]) -> str:
    """Return the claim about speed: for long messages, for all, on which CPUs, and its limits."""
    sides = [(one.speed, one.standings) for one in ranked(measured)]
    sides = [(side, found) for side, found in sides if _every(found, side)]
    if not sides:
        return NOT_MEASURED
    every = [(side, _every(found, side)) for side, found in sides]
    long = [(side, [each for each in pairs if each[0] >= LONG]) for side, pairs in every]
    sizes = [size for _, pairs in every for size, _ in pairs]
    at_length = [one for one in long if one[1]]
    slow = {side: said for side, found in sides if (said := _slower(side, found))}
    told = (
        _times(at_length, f"From {size_name(LONG)} up,")
        or _times(every, f"From {size_name(min(sizes))} to {size_name(max(sizes))},"),
        *(_in_bursts(side, found) for side, found in sides if side.bursts),
        f"We measured {_cpus(sides)}.",
        "*Limit:* each length uses the kernel that `ghashgen recommend` names for it, and calls "
        "run back to back.",
        _either_key(slow),
        *slow.values(),
        "Dependent calls are slower at some lengths: see the last column."
        if any(_least(one, s, s.chained) < 1 for s, found in sides for one in found)
        else "",
        _slower_where(
            "Messages in pieces of 16 bytes are slower",
            ((s, found, PIECES[0]) for s, found in sides),
        ),
        "See [all results](docs/results.md) and [the method](docs/bench.md).",
    )
    return item(f"**Fast.** {' '.join(text for text in told if text)}")


def adopt_claim(kernels: int, isas: Iterable[str]) -> str:
    """Return the claim about adoption."""
    names = [f"`{isa}`" for isa in sorted(set(isas))]
    return item(
        "**Easy to adopt.** A kernel is one assembly file and a C header, which you build with "
        "your own tools. It needs no library, allocates nothing and keeps no global state. "
        f"The {kernels} kernels are for the instruction sets {joined(names)}. *Limit:* a kernel "
        "does not check the CPU. Check it yourself, or call the [C dispatcher](docs/dispatch.md). "
        "AArch64 kernels are tested in an emulator, and not proved."
    )


def table(measured: Iterable[Measured]) -> str:
    """Return the short table, a row for each function and CPU; nothing where none was measured."""
    found = ranked(one for one in measured if one.standings)
    rows = [row for one in found for row in _rows(one.standings, one.speed)]
    if not rows:
        return ""
    title = wrapped(
        "Each figure is the time of the fastest other library divided by ours. Brackets give our "
        "core cycles per call, or per byte (/B). Each dependent call needs the result of the one "
        f"before. {' '.join(_calls([one.speed for one in found]))}"
    )
    old = any(MARK in cell for row in rows for cell in row)
    return f"{title}\n\n{markdown_table(COLUMNS, rows)}" + (f"\n\n{OLD}" if old else "")


def _calls(shown: Sequence[Speed]) -> Iterator[str]:
    """Yield what was measured of each function, in sentences, and under which keys."""
    yield from (speed.calls for speed in shown if speed.calls)
    if keyed := [speed.function for speed in shown if len(speed.keys) > 1]:
        yield (
            f"Ranges of {joined(keyed)} cover 128-bit and 256-bit keys; their single lengths are "
            "for 128-bit keys."
        )


def _rows(standings: Sequence[Standing], side: Speed) -> Iterator[tuple[str, ...]]:
    for one in standings:
        if pairs := _pairs(one, side.mode, side.keys):
            single = (one.pair(size, side.mode, side.keys[0]) for size in SIZES)
            yield (
                *(side.function, _title(one, side), _range(pairs)),
                *(f"{both.ratio:.2f} ({figure(both.kernel)})" if both else "" for both in single),
                _range(_pairs(one, side.chained, side.keys)),
            )


Pairs = Sequence[tuple[int, Pair]]
"""Sizes, each with the kernel to take and the best peer."""


def _pairs(one: Standing, mode: str, keys: tuple[int, ...]) -> Pairs:
    """Return every size that was measured in a mode."""
    sizes = [size for name, size in one.record.results.rows() if name == mode]
    found = [(size, one.pair(size, mode, key)) for key in keys for size in sizes]
    return [(size, both) for size, both in found if both is not None]


def _every(standings: Iterable[Standing], side: Speed) -> Pairs:
    return [each for one in standings for each in _pairs(one, side.mode, side.keys)]


def _times(found: Sequence[tuple[Speed, Pairs]], when: str) -> str:
    """Return how many times as fast each function is; nothing where nothing was measured."""
    ranges = [f"{side.function} is {_range(pairs)} times" for side, pairs in found]
    return f"{when} {joined(ranges)} as fast as the fastest other library." if ranges else ""


def _in_bursts(side: Speed, standings: Sequence[Standing]) -> str:
    """Return how many times as fast many messages in one call are, by length."""
    pairs = [each for one in standings for each in _pairs(one, side.bursts, side.keys)]
    lengths = {size: _range([each for each in pairs if each[0] == size]) for size in BURST_SIZES}
    told = [f"{times} times at {size_name(size)}" for size, times in lengths.items() if times]
    said = joined(told).replace("times", "times as fast", 1)
    call = f"With [one call for {BURST} messages](docs/gcm-many.md)"
    return f"{call}, {side.function} is {said}." if told else ""


def _cpus(sides: Sequence[tuple[Speed, Sequence[Standing]]]) -> str:
    """Return the measured CPUs; with the function, where another was not measured there."""
    of = {side.function: {one.record.title for one in found} for side, found in sides}
    titles: dict[str, set[str]] = {}
    for side, standings in sides:
        for one in standings:
            titles.setdefault(one.record.title, set()).add(_title(one, side))
    found = []
    for cpu, shown in titles.items():
        there = [name for name, cpus in of.items() if cpu in cpus]
        alone = "" if len(there) == len(of) else f" ({joined(there)} only)"
        found.append(f"{max(shown, key=len)}{alone}")
    return joined(found)


def _slower(side: Speed, standings: Iterable[Standing]) -> str:
    """Return at which lengths, and on which CPUs, a function is slower than another library."""
    found = []
    for one in standings:
        pairs = _pairs(one, side.mode, side.keys)
        # As the table rounds it: a ratio that reads 1.00 is not called slower.
        slow = {size for size, both in pairs if round(both.ratio, 2) < 1}
        if slow:
            found.append(f"on {one.record.title} at {joined(_lengths(slow, pairs))}")
    return f"{side.function} is slower {joined(found)}." if found else ""


def _lengths(some: Container[int], pairs: Pairs) -> list[str]:
    """Return these lengths; three or more measured in a row as "a to b"."""
    told = []
    every = sorted({size for size, _ in pairs})
    for slow, row in groupby(every, key=some.__contains__):
        names = [*map(size_name, row)]
        if slow:
            told += names if len(names) < 3 else [f"{names[0]} to {names[-1]}"]
    return told


def _either_key(shown: Iterable[Speed]) -> str:
    """Return when a length is named, for functions with several key sizes."""
    of = [side.function for side in shown if len(side.keys) > 1]
    return f"For {joined(of)}, these lists name a length if one key size is slower." if of else ""


def _slower_where(what: str, found: Iterable[tuple[Speed, Sequence[Standing], str]]) -> str:
    """Return on which CPUs functions are slower in a mode, at some length."""
    told = []
    for side, standings, mode in found:
        slow = [one for one in standings if _least(one, side, mode) < 1]
        if slow:
            told.append(f"{side.function} on {joined([one.record.title for one in slow])}")
    return f"{what}: {joined(told)}." if told else ""


def _least(one: Standing, side: Speed, mode: str) -> float:
    ratios = (round(both.ratio, 2) for _, both in _pairs(one, mode, side.keys))
    return min(ratios, default=math.inf)


def _range(pairs: Pairs) -> str:
    """Return the lowest and the highest ratio; nothing where nothing was measured."""
    ratios = [both.ratio for _, both in pairs]
    return f"{min(ratios):.2f} to {max(ratios):.2f}" if ratios else ""


def _title(one: Standing, side: Speed) -> str:
    """Return the CPU, marked if a figure is of a kernel that has other code now."""
    shown = (*_pairs(one, side.mode, side.keys), *_pairs(one, side.chained, side.keys))
    old = not {both.kernel.name for _, both in shown}.isdisjoint(one.changed)
    return f"{one.record.title}{MARK if old else ''}"


def goals_note(standings: Sequence[Standing], book: Book) -> str:
    """Return how many of the project's goals are reached; nothing where no CPU has any."""
    found: list[Verdict] = []
    for one in standings:
        for goals in book.every(one.record.results.machine.features):
            found += [each for each in verdicts(one, goals) if each.shares]
    if not found:
        return ""
    reached = sum(each.said == REACHED for each in found)
    goal = "speed goal" if len(found) == 1 else "speed goals"
    return wrapped(
        f"We set {len(found)} [{goal}](docs/results.md#goals-of-aes-gcm) for AES-GCM before we "
        f"measured it, and reached {reached}."
    )
