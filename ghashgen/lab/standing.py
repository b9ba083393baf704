"""Tables of the records in docs/bench: the kernel to take beside the best peer, by CPU.

Which kernel to take, `ghashgen.choice` says, as for `recommend` and the dispatcher. A ratio is the
peer's time divided by the kernel's, both measured in turns in one process.
"""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path

from ghashgen.choice.candidate import candidates
from ghashgen.choice.choice import Chooser, pick_at
from ghashgen.choice.cores import host_of, record_features, vendor_of
from ghashgen.choice.families.registry import questions
from ghashgen.choice.figures import of_other_code
from ghashgen.kernels.manifest import Entry
from ghashgen.lab.bench.table import CYCLES_UP_TO
from ghashgen.records.core import (
    CRYPT,
    GCM,
    IMIX,
    IMIX_BURSTS,
    IMIX_BYTES,
    PIECES,
    PIECES_BYTES,
    SEAL_BURSTS,
    SEAL_MODES,
    TEXT,
    Cell,
)
from ghashgen.records.levels import LEVELS, level_of
from ghashgen.records.records import Record, folder_of, load_records

MARK = "\\*"
"""Marks a kernel whose figures are of other code than is checked in, in Markdown."""

LONG_COLUMNS = (
    *(">bytes", "kernel", ">cycles", ">spread", "best peer", ">ratio"),
    *(">chained", ">GCM message"),
)
GCM_COLUMNS = (
    *(">key", ">bytes", "kernel", ">cycles", ">spread", "best peers", ">ratio"),
    *(">open", ">seal chained", ">open chained", ">text alone"),
)
BURST_COLUMNS = (
    *(">key", ">bytes", "kernel", ">cycles", ">spread", "best peer", ">ratio", ">open"),
    ">one by one",
)
CTR_COLUMNS = (">key", ">bytes", "kernel", ">cycles", ">spread", "best peers", ">ratio")
PIECES_COLUMNS = (
    *(">key", "mode", "kernel", ">cycles", ">its twin that wipes", ">spread", "best peer"),
    ">ratio",
)


@dataclass(frozen=True)
class Pair:
    """The kernel to take and the best peer of one size and mode."""

    kernel: Cell
    peer: Cell

    @property
    def ratio(self) -> float:
        """The peer's time divided by the kernel's: above 1, the kernel is faster."""
        return self.peer.cycles / self.kernel.cycles


@dataclass(frozen=True)
class Standing:
    """A CPU's record, and the kernels to take on that CPU."""

    record: Record
    takes: Callable[[int, str, int], str]
    """(bytes of a message, mode, key size in bits or 0) → the kernel to take; "" for none."""
    changed: Collection[str] = ()
    """The measured kernels that have other code now."""
    up_to: Callable[[int], "Standing"] | None = None
    """The same for code of at most this generation (`levels.LEVELS`), as on an older CPU."""

    def kernel(self, size: int, mode: str = "throughput", key: int = 0) -> Cell | None:
        """Return the figure of the kernel to take, or None if it was not measured."""
        return self.record.results.cell(self.takes(size, mode, key), size, mode)

    def pair(self, size: int, mode: str = "throughput", key: int = 0) -> Pair | None:
        """Return the kernel to take and the best peer at a size in bytes, or None if either is
        missing.

        For AES-GCM, only those with this key size in bits.
        """
        return self.of(self.takes(size, mode, key), size, mode, key)

    def of(self, name: str, size: int, mode: str, key: int) -> Pair | None:
        """Return a kernel and the best peer, likewise."""
        kernel = self.record.results.cell(name, size, mode)
        peers = self.record.results.of_kind(("peer",), size, mode, key)
        return Pair(kernel, peers[0]) if kernel and peers else None


def load_standings(root: Path, entries: Collection[Entry], family: str) -> tuple[Standing, ...]:
    """Return each record of a family below `root` with what is taken there of these kernels."""
    return standings(load_records(root / folder_of(family)), entries, family)


def standings(
    records: Sequence[Record], entries: Collection[Entry], family: str
) -> tuple[Standing, ...]:
    """Return each of these records of a family, likewise."""
    question, pool = questions()[family], candidates(entries, family)
    abi = min((c.abi for c in pool), default="")
    choosers = {
        value: Chooser([c for c in pool if (c.given, c.abi) == (value, abi)], records)
        for value in question.values
    }

    def takes(record: Record, level: int, size: int, mode: str, key: int) -> str:
        chooser, use = choosers[key or question.asked[0]], question.use_at(size, mode)
        host = host_of(chooser.hosts, record.results.machine.cpu, vendor_of(record))
        has = frozenset(one for one in record_features(record) if level_of((one,)) <= level)
        picks = chooser.picks(host, has, use)
        return pick_at(picks, size).candidate.name if picks else ""

    def up_to(record: Record, level: int) -> Standing:
        measured = replace(record, results=record.results.up_to(level))
        return Standing(measured, partial(takes, record, level))

    def standing(record: Record) -> Standing:
        newest = partial(takes, record, len(LEVELS))
        changed = sorted(of_other_code(record, pool))
        return Standing(record, newest, changed, partial(up_to, record))

    return tuple(map(standing, records))


def figure(cell: Cell) -> str:
    """Return core cycles per call up to 256 bytes, per byte above, with the unit."""
    if cell.size <= CYCLES_UP_TO:
        return f"{cell.cycles:.1f}"
    return f"{cell.per_byte:.3f}/B"


def long_rows(one: Standing) -> Iterator[tuple[str, ...]]:
    """Yield one CPU's rows: every size, with spread and the ratios of other ways to call."""
    for size in [size for mode, size in one.record.results.rows() if mode == "throughput"]:
        found = one.pair(size)
        if found is not None:
            others = (one.pair(size, mode) for mode in ("latency", GCM))
            yield (
                str(size),
                f"`{found.kernel.name}`",
                figure(found.kernel),
                _apart(found.kernel),
                found.peer.name,
                f"{found.ratio:.2f}",
                *("" if other is None else f"{other.ratio:.2f}" for other in others),
            )


def gcm_rows(one: Standing) -> Iterator[tuple[str, ...]]:
    """Yield one CPU's rows of AES-GCM, by key size: lengths in turn with one kernel to take.

    A row's figures are those of its first and last length, or the lowest and the highest.
    """
    for key in one.record.results.keys:
        for pairs in _runs(one, "seal", key):
            name, modes = next(iter(pairs.values())).kernel.name, (*SEAL_MODES[1:], TEXT)
            others = [[one.of(name, size, mode, key) for size in pairs] for mode in modes]
            yield _row(key, name, _ends([*map(str, pairs)]), [*pairs.values()], others)
        if imix := one.pair(IMIX_BYTES, IMIX, key):
            yield _row(key, imix.kernel.name, "IMIX", [imix], [[]] * len(SEAL_MODES))


def burst_rows(one: Standing) -> Iterator[tuple[str, ...]]:
    """Yield one CPU's rows of bursts, beside the kernel for packets called for each message."""
    results = one.record.results
    for key in results.keys:
        for seal, opened in (SEAL_BURSTS, IMIX_BURSTS):
            for size in [size for mode, size in results.rows() if mode == seal]:
                pairs = [one.pair(size, mode, key) for mode in (seal, opened)]
                if (sealing := pairs[0]) is None:
                    continue
                name = one.takes(IMIX_BYTES, IMIX, key)
                loop = results.cell(name, size, seal) if name != sealing.kernel.name else None
                yield (
                    *(str(key), "IMIX" if seal in IMIX_BURSTS else str(size)),
                    *(f"`{sealing.kernel.name}`", figure(sealing.kernel), _apart(sealing.kernel)),
                    *(sealing.peer.name, *map(ratios, ([pair] for pair in pairs))),
                    f"{loop.cycles / sealing.kernel.cycles:.2f}" if loop else "",
                )


def ctr_rows(one: Standing) -> Iterator[tuple[str, ...]]:
    """Yield one CPU's rows of AES-CTR, likewise."""
    for key in one.record.results.keys:
        for pairs in _runs(one, CRYPT, key):
            name = next(iter(pairs.values())).kernel.name
            yield _row(key, name, _ends([*map(str, pairs)]), [*pairs.values()], ())


def _runs(one: Standing, mode: str, key: int) -> Iterator[dict[int, Pair]]:
    """Yield, by length, what was measured in a mode: lengths in turn with one kernel to take."""
    sizes = [size for found, size in one.record.results.rows() if found == mode]
    pairs = [(size, one.pair(size, mode, key)) for size in sizes]
    measured = [(size, both) for size, both in pairs if both is not None]
    for _, run in groupby(measured, _kernel_and_unit):
        yield dict(run)


def _kernel_and_unit(sealed: tuple[int, Pair]) -> tuple[str, bool]:
    size, both = sealed
    return both.kernel.name, size <= CYCLES_UP_TO


def _row(
    key: int,
    name: str,
    lengths: str,
    pairs: Sequence[Pair],
    others: Iterable[Sequence[Pair | None]],
) -> tuple[str, ...]:
    spreads = [both.kernel for both in pairs if not math.isnan(both.kernel.spread[0])]
    worst = max(spreads, key=_width, default=pairs[0].kernel)
    return (
        *(str(key), lengths, f"`{name}`", _ends([figure(both.kernel) for both in pairs])),
        *(_apart(worst), ", ".join(dict.fromkeys(both.peer.name for both in pairs))),
        *(ratios(each) for each in (pairs, *others)),
    )


def ratios(pairs: Iterable[Pair | None]) -> str:
    """Return the lowest and the highest ratio; one if they read alike, "" without any."""
    found = sorted(both.ratio for both in pairs if both is not None)
    return span(f"{found[0]:.2f}", f"{found[-1]:.2f}") if found else ""


def span(first: str, last: str) -> str:
    """Return "first–last", or one of them if they are alike."""
    return first if first == last else f"{first}–{last}"


def _ends(texts: Sequence[str]) -> str:
    """Return the first and the last text, with the unit once."""
    first, last = texts[0], texts[-1]
    return first if first == last else span(first.removesuffix("/B"), last)


def pieces_rows(one: Standing) -> Iterator[tuple[str, ...]]:
    """Yield one CPU's rows of messages in pieces; none if none were measured."""
    results = one.record.results
    for key in results.keys:
        for mode in PIECES:
            if (found := one.pair(PIECES_BYTES, mode, key)) is None:
                continue
            twin = results.cell(_wiping(found.kernel.name), PIECES_BYTES, mode)
            yield (
                *(str(key), mode, f"`{found.kernel.name}`", figure(found.kernel)),
                *("" if twin is None else figure(twin), _apart(found.kernel)),
                *(found.peer.name, f"{found.ratio:.2f}"),
            )


def _wiping(name: str) -> str:
    """Return the name of the wiping variant of a kernel with streams."""
    return name.replace("_streams", "_wipe_streams")


def _width(cell: Cell) -> float:
    low, high = cell.spread
    return (high - low) / cell.cycles


def _apart(cell: Cell) -> str:
    return "" if math.isnan(_width(cell)) else f"{100 * _width(cell):.1f}%"


def shown(one: Standing) -> frozenset[str]:
    """Return the kernels and peers that the page's tables of a record name."""
    results = one.record.results
    modes = ("throughput", "seal", IMIX, CRYPT, *PIECES)
    pairs = [
        one.pair(size, mode, key)
        for mode, size in results.rows()
        for key in results.keys
        if mode in modes
    ]
    return frozenset(
        cell.name for both in pairs if both is not None for cell in (both.kernel, both.peer)
    )


def marked(part: str, names: Iterable[str]) -> str:
    """Return Markdown with each of these kernels marked, where it is named as code."""
    for name in names:
        part = part.replace(f"`{name}`", f"`{name}`{MARK}")
    return part
