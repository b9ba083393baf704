"""Measurements: subjects, cells (one subject, size and mode), and their statistics."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import median, quantiles
from types import MappingProxyType

from msgspec import Struct

from ghashgen.records.levels import level_of

DEFAULT_MODES = ("throughput", "latency", "init", "init-throughput")
"""Default modes: independent calls; calls whose state and data address depend on the call before;
key set-up from call to result; key set-ups back to back. See ``harness/bench/loops.h``.
"""

GCM = "gcm"
"""Independent messages with three calls each, as in AES-GCM: 12 bytes of AAD, the message, 16 bytes
of lengths. The size is the message's alone.
"""

SEAL_MODES = ("seal", "open", "seal-latency", "open-latency")
"""Whole AES-GCM messages with 12 bytes of AAD: independent ones, sealed or opened; a chain in which
sealing waits for the tag before; a chain in which opening waits for the verdict before. See
``harness/bench/gcm_loops.h``.
"""

IMIX, TEXT = "imix", "text"
"""AES-GCM: sealing messages of 64, 594 and 1518 bytes at 7 : 4 : 1; only the text of a message,
encrypted and hashed by functions that leave start and end to others.
"""

PIECES = ("pieces-16", "pieces-1k", "pieces-16k", "open-pieces-1k")
"""AES-GCM: sealing a message of 64 KiB in pieces of 16 bytes, 1 KiB and 16 KiB; opening one in
pieces of 1 KiB, with its tag compared at the end.
"""

SEAL_BURSTS = ("seal-burst", "open-burst")
"""AES-GCM: bursts of BURST messages of one length, sealed or opened by one call if the subject has
one for many; else one message after another. Each packet lies at some line of a page of its own.
Cycles are those of one message.
"""

IMIX_BURSTS = ("seal-burst-imix", "open-burst-imix")
"""The same with the lengths of IMIX in turn. Cycles are those of the whole burst."""

BURST = 32

CRYPT = "crypt"
"""AES-CTR: independent texts, each from a counter block of its own."""

HASH_EDGES: Mapping[str, str] = MappingProxyType({"edge": "edge-mapped", "null": "empty"})
"""Modes of GHASH about placement in memory, each with its baseline: an input that ends where mapped
memory ends, and one at the same place in a page with a mapped page behind it; a null pointer with
no bytes, and a valid pointer with no bytes.
"""

SEAL_EDGES: Mapping[str, str] = MappingProxyType(
    {
        "seal-aad-null": "seal-aad-empty",
        "seal-edge": "seal-edge-mapped",
        "open-edge": "open-edge-mapped",
    }
)
"""The same for AES-GCM: text, AAD and output end at the edge; the AAD is null or empty."""

EDGES: Mapping[str, str] = MappingProxyType({**HASH_EDGES, **SEAL_EDGES})
"""All of them."""

HASH_PLACES = ("crossing", "key-crossing", "cold")
SEAL_PLACES = (
    *("seal-out-edge", "seal-crossing", "seal-in-step", "seal-key-crossing"),
    "seal-cold",
)
"""Modes measured on request: only the output at the edge; text that begins 8 bytes before the end
of a page; output and input at the same addresses modulo 4096; a table across a page boundary; one
call after other code has filled the instruction caches.
"""


def beside(edges: Mapping[str, str]) -> tuple[str, ...]:
    """Return modes, each before its baseline."""
    return tuple(mode for pair in edges.items() for mode in pair)


_PLACED = (*beside(EDGES), *HASH_PLACES, *SEAL_PLACES, *SEAL_BURSTS)

EDGE_LARGEST = 2048
"""The longest message, in bytes, in the modes about placement."""

MODES = (*DEFAULT_MODES, GCM, *SEAL_MODES, IMIX, TEXT, *PIECES, CRYPT, *_PLACED, *IMIX_BURSTS)
"""Every mode."""

INIT_MODES = frozenset({"init", "init-throughput"})
"""Modes without a message: their cells have size 0."""

IMIX_BYTES = 7 * 64 + 4 * 594 + 1518
"""The size of an imix cell: the bytes of one pattern of twelve messages."""

_IMIX_MESSAGES = 7 + 4 + 1

IMIX_BURST_BYTES = 19 * 64 + 10 * 594 + 3 * 1518
"""The size of a burst's cell, likewise."""


def messages_of(mode: str) -> int:
    """Return how many messages a figure of this mode is for."""
    return {IMIX: _IMIX_MESSAGES, **dict.fromkeys(IMIX_BURSTS, BURST)}.get(mode, 1)


PIECES_BYTES = 1 << 16
"""The size of a message in pieces."""

FIXED_SIZES: Mapping[str, int] = MappingProxyType(
    {
        **dict.fromkeys(sorted(INIT_MODES), 0),
        **dict.fromkeys(("null", "empty"), 0),
        IMIX: IMIX_BYTES,
        **dict.fromkeys(IMIX_BURSTS, IMIX_BURST_BYTES),
        **dict.fromkeys(PIECES, PIECES_BYTES),
    }
)
"""Modes with fixed sizes, and the size of their cells."""


def sizes_of(mode: str, sizes: Sequence[int]) -> tuple[int, ...]:
    """Return those sizes at which a mode is measured."""
    if mode in FIXED_SIZES:
        return (FIXED_SIZES[mode],)
    chosen = sorted(set(sizes))
    return tuple(size for size in chosen if mode not in _PLACED or size <= EDGE_LARGEST)


SIZES = (16, 32, 48, 64, 96, 128, 192, 256, 512, 1024, 1500, 4096, 16384, 65536, 1 << 20)
"""Message sizes in bytes; 1500 has a partial last block."""

QUICK_SIZES = (16, 64, 256, 1024, 4096, 16384)
"""The sizes of a first look."""


@dataclass(frozen=True)
class Subject:
    """Something measured; ``digest`` is a kernel's `text_sha256` from MANIFEST.json, else empty."""

    name: str
    kind: str
    """One of "kernel" (emitted), "peer" (another library's), "portable" (C without a carry-less
    multiply), "interface" (a library as its user calls it; its time includes the call).
    """
    table_bytes: int = 0
    digest: str = ""
    needs: tuple[str, ...] = ()
    """CPU features; empty if the source does not say."""
    key: int = 0
    """AES key size in bits; 0 for GHASH. Only subjects with the same key size are compared."""

    @property
    def level(self) -> int:
        """The generation of its code: an index of `ghashgen.records.levels.LEVELS`."""
        return level_of(self.needs)


class Run(Struct, frozen=True):
    """One run's samples of a cell, in core cycles per call. Records have so many that making a
    dataclass of each would take a third of the time of `recommend`.
    """

    median: float
    low: float
    """First quartile."""
    high: float
    """Third quartile."""
    kept: int
    dropped: int
    """Samples lost because another thread used the core's slots, or after a context switch."""


FEWEST_SAMPLES = 3
"""Minimum number of samples for a run to count."""


def summarise(samples: Sequence[float], dropped: int) -> Run | None:
    """Return the statistics of a run, or None if too few samples were kept."""
    if len(samples) < FEWEST_SAMPLES:
        return None
    low, middle, high = quantiles(samples, n=4, method="inclusive")
    return Run(middle, low, high, len(samples), dropped)


class Cell(Struct, frozen=True, dict=True):
    """One subject at one size in one mode; ``runs`` lacks runs with too few samples."""

    name: str
    size: int
    mode: str
    runs: tuple[Run, ...]

    @property
    def usable(self) -> tuple[Run, ...]:
        """The runs with at least half as many samples as the best; others were disturbed."""
        most = max(run.kept for run in self.runs)
        return tuple(run for run in self.runs if 2 * run.kept >= most)

    @cached_property
    def cycles(self) -> float:
        """Core cycles per call: the median of the usable runs' medians."""
        return median(run.median for run in self.usable)

    @property
    def per_byte(self) -> float:
        """Core cycles per byte; for key set-up, per call."""
        return self.cycles / self.size if self.size else self.cycles

    @property
    def spread(self) -> tuple[float, float]:
        """The lowest first and the highest third quartile of the usable runs, in core cycles."""
        return min(run.low for run in self.usable), max(run.high for run in self.usable)


@dataclass(frozen=True)
class Machine:
    """Where it was measured; ``clock_ghz`` is the core's clock at the start of the last run."""

    cpu: str
    features: tuple[str, ...]
    clock_ghz: float
    git: str
    """Commit of the project's sources, with + if the tree had changes; "" outside a clone."""


@dataclass(frozen=True)
class Results:
    """A whole measurement."""

    machine: Machine
    subjects: Mapping[str, Subject]
    cells: tuple[Cell, ...]
    missing: Mapping[str, str]
    """By name: why a subject or a peer was not measured."""

    def up_to(self, level: int) -> "Results":
        """Return what was measured of code of at most this generation.

        What chooses its code at run time stays, though it may use more.
        """
        kept = {name: one for name, one in self.subjects.items() if one.level <= level}
        return replace(
            self, subjects=kept, cells=tuple(cell for cell in self.cells if cell.name in kept)
        )

    def cell(self, name: str, size: int, mode: str) -> Cell | None:
        """Return a cell, if it was measured."""
        return next((cell for cell in self._at(size, mode) if cell.name == name), None)

    @cached_property
    def _by_place(self) -> Mapping[tuple[str, int], tuple[Cell, ...]]:
        """Cells by mode and size."""
        found: dict[tuple[str, int], list[Cell]] = {}
        for cell in self.cells:
            found.setdefault((cell.mode, cell.size), []).append(cell)
        return {place: tuple(cells) for place, cells in found.items()}

    def _at(self, size: int, mode: str) -> tuple[Cell, ...]:
        return self._by_place.get((mode, size), ())

    @cached_property
    def keys(self) -> tuple[int, ...]:
        """The subjects' key sizes in bits; only 0 in a measurement of GHASH."""
        return tuple(sorted({self.subjects[cell.name].key for cell in self.cells}))

    def of_kind(self, kinds: Iterable[str], size: int, mode: str, key: int = 0) -> list[Cell]:
        """Return the cells of these kinds of subject with this key size, fastest first."""
        wanted = frozenset(kinds)
        cells = [
            cell
            for cell in self._at(size, mode)
            if self.subjects[cell.name].kind in wanted and self.subjects[cell.name].key == key
        ]
        return sorted(cells, key=lambda cell: (cell.cycles, cell.name))

    def rows(self) -> list[tuple[str, int]]:
        """Return the (mode, size) pairs measured, in the order of MODES and by size."""
        return sorted(self._by_place, key=lambda pair: (MODES.index(pair[0]), pair[1]))


TIE = 1.05
"""Times with a ratio below this count as equal."""


def ratio(kernel: Cell, peer: Cell | None) -> float | None:
    """Return peer / kernel: above 1, the kernel is faster."""
    return None if peer is None else peer.cycles / kernel.cycles


def size_name(size: int, mode: str = "init") -> str:
    """Return 64 B, 4 KiB, 1 MiB; "key" for a mode without sizes."""
    if not size:
        return "key" if mode in INIT_MODES else "0 B"
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"
