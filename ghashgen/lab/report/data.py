"""The values that the report shows, independent of their presentation."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.lab.report.topics import Topic


@dataclass(frozen=True)
class Theorem:
    """One theorem about one function of one kernel, as in PROOFS.json."""

    operation: str
    what: str
    lengths: str
    method: str


@dataclass(frozen=True)
class PortBound:
    """The port model's lower bound on a group loop: a model, not a measurement."""

    per_block: float
    """Cycles per 16-byte block: the larger of the ports' and the front end's."""
    limit: str
    """What sets it: the ports together, as "p0 p5", or "front end"."""
    load: Mapping[str, float]
    """Each port's cycles per block, uops spread as evenly as their ports allow."""
    front_end: float
    """Cycles per block to issue the loop."""
    no_data: tuple[str, ...]
    """Forms of instructions without data in the table, which the bound leaves out."""

    @property
    def per_byte(self) -> float:
        """Cycles per byte."""
        return self.per_block / BLOCK_BYTES


@dataclass(frozen=True)
class Examined:
    """What an assembled object tells about a kernel."""

    text_sha256: str
    """SHA-256 of the code, as in MANIFEST.json; measurements refer to it."""
    image_sha256: str
    """The hash that proofs refer to."""
    bounds: Mapping[str, PortBound]
    """By microarchitecture; absent if the CPU lacks an instruction."""
    lacks: Mapping[str, tuple[str, ...]]
    """CPUID features for the group loop that a microarchitecture lacks; absent if none."""


@dataclass(frozen=True)
class Variant:
    """One kernel of the output folder."""

    name: str
    axes: Mapping[str, Any]
    file: str
    """Path below the output folder."""
    features: tuple[str, ...]
    blocks: int
    table_bytes: int
    code_bytes: int
    instructions: int
    """Instructions of the group loop."""
    classes: Mapping[str, int]
    """Instructions of the group loop by class."""
    theorems: tuple[Theorem, ...]
    """Theorems about these bytes; empty if there is no proof, or only of other bytes."""
    proof: str
    """proved: about these very bytes; recorded: there is no assembler to compare the bytes; stale:
    about other bytes; refuted; missing: not in PROOFS.json.
    """
    examined: Examined | None
    """None if nothing could be assembled."""

    @property
    def per_block(self) -> Mapping[str, Fraction]:
        """Instructions per block by class."""
        return {cls: Fraction(count, self.blocks) for cls, count in self.classes.items()}

    @property
    def total_per_block(self) -> Fraction:
        """Instructions per block."""
        return Fraction(self.instructions, self.blocks)


@dataclass(frozen=True)
class Timing:
    """One subject at one size: cycles per byte, with low and high quartiles if known.

    `samples` is 0 if the source does not say.
    """

    name: str
    kind: str
    size: int
    per_byte: float
    low: float | None
    high: float | None
    samples: int
    digest: str
    """SHA-256 of the kernel's code; empty for others, and if the source does not say."""
    level: int = 0
    """The generation of its code: an index of `records.levels.LEVELS`."""


@dataclass(frozen=True)
class Way:
    """Another way to call: by size, the kernel to take, and the best peer's time divided by its."""

    title: str
    rows: tuple[tuple[int, str, str, str, str], ...]
    """(size, kernel, its figure, best peer, ratio)."""


@dataclass(frozen=True)
class Speed:
    """One measurement of throughput, on one CPU."""

    slug: str
    """The CPU's name in ids and files."""
    title: str
    """The CPU's core, by its common name."""
    source: str
    """The file, and the part of it, that it was read from."""
    machine: str
    method: str
    timings: tuple[Timing, ...]
    missing: Mapping[str, str]
    """What was not measured, and why."""
    takes: Mapping[int, str]
    """By message size, the kernel to take; "" for none."""
    key: int = 0
    """AES key size in bits for AES-GCM."""
    others: tuple["Way", ...] = ()
    """Other measured ways to call, if the source has them."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """The message sizes in bytes, ascending."""
        return tuple(sorted({timing.size for timing in self.timings}))

    def of(self, name: str) -> tuple[Timing, ...]:
        """Return one subject's timings by ascending size."""
        found = [timing for timing in self.timings if timing.name == name]
        return tuple(sorted(found, key=lambda timing: timing.size))

    def taken(self, size: int) -> Timing | None:
        """Return the figure of the kernel to take at a size, if it was measured."""
        name = self.takes.get(size)
        return next((t for t in self.timings if (t.name, t.size) == (name, size)), None)

    def best(self, kind: str, size: int, level: int | None = None) -> Timing | None:
        """Return the fastest of a kind at a size; with `level`, of that level or narrower."""
        found = [
            t
            for t in self.timings
            if (t.kind, t.size) == (kind, size) and (level is None or t.level <= level)
        ]
        return min(found, key=lambda t: (t.per_byte, t.name), default=None)

    @property
    def spread(self) -> bool:
        """Whether every figure has its quartiles: a whole record, not a summary."""
        return all(timing.low is not None for timing in self.timings)

    @property
    def levels(self) -> tuple[int, ...]:
        """The levels of the measured kernels, the widest first."""
        return tuple(sorted({t.level for t in self.timings if t.kind == "kernel"}, reverse=True))

    def names(self, kind: str) -> tuple[str, ...]:
        """Return the subjects of a kind, sorted."""
        return tuple(sorted({t.name for t in self.timings if t.kind == kind}))


@dataclass(frozen=True)
class Report:
    """Everything on the page."""

    topic: Topic
    """Its subject."""
    generator: str
    assemblers: tuple[str, ...]
    folder: str
    """The folder of kernels, by its name on the page."""
    variants: tuple[Variant, ...]
    uarches: Mapping[str, str]
    """Titles of the modelled microarchitectures, by name."""
    ports: Mapping[str, tuple[str, ...]]
    """Ports of each microarchitecture."""
    speeds: tuple[Speed, ...]
    """One for each CPU, in the order of their slugs."""
    notes: tuple[str, ...]
    """What is missing or stale, and the command that corrects it: one sentence each."""

    def variant(self, name: str) -> Variant | None:
        """Return a kernel by name."""
        return next((variant for variant in self.variants if variant.name == name), None)
