"""What was measured: subjects, cells (one subject, size and mode), and their statistics."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median, quantiles
from types import MappingProxyType

from ghashgen.records.levels import level_of

DEFAULT_MODES = ("throughput", "latency", "init", "init-throughput")
"""What is measured: independent calls; calls whose state and data address depend on the one before;
key set-up from call to result; key set-ups back to back. See ``harness/bench/loops.h``."""

GCM = "gcm"
"""Independent messages, each three calls as AES-GCM makes them: 12 bytes of AAD, the message, 16
bytes of lengths. The size is the message's alone."""

SEAL_MODES = ("seal", "open", "seal-latency", "open-latency")
"""Whole messages of AES-GCM, 12 bytes of AAD before each: independent ones, encrypted or decrypted;
encrypted ones of which each begins where the tag of the one before is known; decrypted ones of
which each begins where it is known whether the one before was right. See
``harness/bench/gcm_loops.h``."""

IMIX, TEXT = "imix", "text"
"""Of AES-GCM: sealing messages of 64, 594 and 1518 bytes at 7 : 4 : 1; the text of a message alone,
encrypted and hashed, by functions that others begin and end."""

PIECES = ("pieces-16", "pieces-1k", "pieces-16k", "open-pieces-1k")
"""Of AES-GCM: a message of 64 KiB that is sealed in pieces of 16 bytes, of 1 KiB, of 16 KiB; one
that is opened in pieces of 1 KiB, and its tag compared at the end."""

HASH_EDGES: Mapping[str, str] = MappingProxyType({"edge": "edge-mapped", "null": "empty"})
"""Modes of GHASH with memory as callers have it, each with the mode that it is compared with: an
input that ends where mapped memory ends, beside one at the same place in a page before a page that
is mapped; a null pointer and no bytes, beside a pointer to mapped memory and no bytes."""

SEAL_EDGES: Mapping[str, str] = MappingProxyType(
    {
        "seal-aad-null": "seal-aad-empty",
        "seal-edge": "seal-edge-mapped",
        "open-edge": "open-edge-mapped",
    }
)
"""The same of AES-GCM. Text, AAD and output end there; null or empty is the AAD."""

EDGES: Mapping[str, str] = MappingProxyType({**HASH_EDGES, **SEAL_EDGES})
"""All of them."""

HASH_PLACES = ("crossing", "key-crossing", "cold")
SEAL_PLACES = (
    *("seal-out-edge", "seal-crossing", "seal-in-step", "seal-key-crossing"),
    "seal-cold",
)
"""Modes that are measured when asked for: only the output at the edge; the text begins 8 bytes
before the end of a page; output and input at the same addresses modulo 4096; a table with the
boundary of two pages in its middle; one call after other code has filled the instruction caches."""


def beside(edges: Mapping[str, str]) -> tuple[str, ...]:
    """Return modes, each before the one that it is compared with."""
    return tuple(mode for pair in edges.items() for mode in pair)


_PLACED = (*beside(EDGES), *HASH_PLACES, *SEAL_PLACES)

EDGE_LARGEST = 2048
"""The longest message, in bytes, of the modes that are about where memory lies."""

MODES = (*DEFAULT_MODES, GCM, *SEAL_MODES, IMIX, TEXT, *PIECES, *_PLACED)
"""Every mode."""

INIT_MODES = frozenset({"init", "init-throughput"})
"""Modes without a message: their cells have size 0."""

IMIX_BYTES = 7 * 64 + 4 * 594 + 1518
"""The size of imix's cells: the bytes of one pattern of twelve messages."""

PIECES_BYTES = 1 << 16
"""The size of a message in pieces."""

FIXED_SIZES: Mapping[str, int] = MappingProxyType(
    {
        **dict.fromkeys(sorted(INIT_MODES), 0),
        **dict.fromkeys(("null", "empty"), 0),
        IMIX: IMIX_BYTES,
        **dict.fromkeys(PIECES, PIECES_BYTES),
    }
)
"""Modes that have no choice of sizes, with the size of their cells."""


def sizes_of(mode: str, sizes: Sequence[int]) -> tuple[int, ...]:
    """Return the sizes at which a mode is measured, of these."""
    if mode in FIXED_SIZES:
        return (FIXED_SIZES[mode],)
    chosen = sorted(set(sizes))
    return tuple(size for size in chosen if mode not in _PLACED or size <= EDGE_LARGEST)


SIZES = (16, 32, 48, 64, 96, 128, 192, 256, 512, 1024, 1500, 4096, 16384, 65536, 1 << 20)
"""Message sizes in bytes; 1500 has a partial last block."""

QUICK_SIZES = (16, 64, 256, 1024, 4096, 16384)
"""The sizes of a first look."""

KINDS = ("kernel", "peer", "portable", "interface")
"""What a subject is: an emitted kernel; another library's kernel; C without a carry-less multiply;
a library as its user calls it (not comparable with a kernel: the call itself is in the time)."""


@dataclass(frozen=True)
class Subject:
    """Something measured; ``digest`` is a kernel's `text_sha256` of MANIFEST.json, else empty."""

    name: str
    kind: str
    table_bytes: int = 0
    digest: str = ""
    needs: tuple[str, ...] = ()
    """CPU features; empty where the source does not tell."""
    key: int = 0
    """Bits of AES's key in AES-GCM; 0: GHASH. Subjects of one size of key are compared."""

    @property
    def level(self) -> int:
        """The generation of its code: a place in `ghashgen.records.levels.LEVELS`."""
        return level_of(self.needs)


@dataclass(frozen=True)
class Run:
    """One run's samples of a cell, in core cycles per call."""

    median: float
    low: float
    """First quartile."""
    high: float
    """Third quartile."""
    kept: int
    dropped: int
    """Samples on a core whose slots another thread took, or that were switched away."""


FEWEST_SAMPLES = 3
"""Of a run that counts."""


def summarise(samples: Sequence[float], dropped: int) -> Run | None:
    """Return the statistics of a run, or None when too few samples were kept."""
    if len(samples) < FEWEST_SAMPLES:
        return None
    low, middle, high = quantiles(samples, n=4, method="inclusive")
    return Run(middle, low, high, len(samples), dropped)


@dataclass(frozen=True)
class Cell:
    """One subject at one size in one mode; a run with too few samples is absent from ``runs``."""

    name: str
    size: int
    mode: str
    runs: tuple[Run, ...]

    @property
    def usable(self) -> tuple[Run, ...]:
        """The runs that kept at least half as many samples as the best: others met neighbours."""
        most = max(run.kept for run in self.runs)
        return tuple(run for run in self.runs if 2 * run.kept >= most)

    @property
    def cycles(self) -> float:
        """Core cycles per call: the median over usable runs of their medians."""
        return median(run.median for run in self.usable)

    @property
    def per_byte(self) -> float:
        """Core cycles per byte; of key set-up, the cycles of a call."""
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
    """Commit of the project's sources, with + when the tree had changes; "" outside a clone."""


@dataclass(frozen=True)
class Results:
    """A whole measurement."""

    machine: Machine
    subjects: Mapping[str, Subject]
    cells: tuple[Cell, ...]
    missing: Mapping[str, str]
    """Why a subject or a peer was not measured, by name."""

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

    @property
    def keys(self) -> tuple[int, ...]:
        """The sizes of keys that subjects have, in bits; 0 alone in a measurement of GHASH."""
        return tuple(sorted({self.subjects[cell.name].key for cell in self.cells}))

    def of_kind(self, kinds: Iterable[str], size: int, mode: str, key: int = 0) -> list[Cell]:
        """Return the cells of these kinds of subject with this size of key, fastest first."""
        wanted = frozenset(kinds)
        cells = [
            cell
            for cell in self._at(size, mode)
            if self.subjects[cell.name].kind in wanted and self.subjects[cell.name].key == key
        ]
        return sorted(cells, key=lambda cell: (cell.cycles, cell.name))

    def fastest_kernel(self, size: int, mode: str, key: int = 0) -> Cell | None:
        """Return the fastest kernel with this size of key, None where none was measured.

        Where its twin with fewer options (no wipe, no streams) is level with it, that one.
        """
        kernels = self.of_kind(("kernel",), size, mode, key)
        if not kernels:
            return None
        best = kernels[0]
        twins = [c for c in kernels if leaner(c.name, best.name) and c.cycles < TIE * best.cycles]
        return min(twins, key=lambda cell: (cell.name.count("_"), cell.cycles), default=best)

    def rows(self) -> list[tuple[str, int]]:
        """Return the (mode, size) pairs measured, in the order of MODES and by size."""
        return sorted(self._by_place, key=lambda pair: (MODES.index(pair[0]), pair[1]))


TIE = 1.05
"""Times whose ratio is below this count as equal."""


def leaner(name: str, other: str) -> bool:
    """Whether a kernel's name is the other's with words left out: its twin with fewer options.

    So `gcm128_avx_k_clmul1_x8` is of `gcm128_avx_k_clmul1_x8_wipe_streams`.
    """
    return set(name.split("_")) < set(other.split("_"))


def ratio(kernel: Cell, peer: Cell | None) -> float | None:
    """Return peer / kernel: above 1, the kernel is faster."""
    return None if peer is None else peer.cycles / kernel.cycles


def size_name(size: int, mode: str = "init") -> str:
    """Return 64 B, 4 KiB, 1 MiB; a key set-up has no size."""
    if not size:
        return "key" if mode in INIT_MODES else "0 B"
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"
