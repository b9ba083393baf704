"""The values that the report shows, and nothing about how they look."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.lab.report.topics import Topic


@dataclass(frozen=True)
class Theorem:
    """One theorem about one function of one kernel, as PROOFS.json has it."""

    operation: str
    what: str
    lengths: str
    method: str


@dataclass(frozen=True)
class PortBound:
    """The port model's lower bound on a group loop: a model, no measurement."""

    per_block: float
    """Cycles a block of 16 bytes: the larger of the ports' and the front end's."""
    limit: str
    """What sets it: the ports together, as "p0 p5", or "front end"."""
    load: Mapping[str, float]
    """Each port's cycles per block, uops spread as evenly as their ports allow."""
    front_end: float
    """Cycles a block to issue the loop."""
    no_data: tuple[str, ...]
    """Forms of instructions that the table knows nothing about and that the bound leaves out."""

    @property
    def per_byte(self) -> float:
        """Cycles a byte."""
        return self.per_block / BLOCK_BYTES


@dataclass(frozen=True)
class Examined:
    """What the assembled object says of a kernel."""

    text_sha256: str
    """SHA-256 of the code, as MANIFEST.json has it: what a measurement names."""
    image_sha256: str
    """The hash that a proof names."""
    bounds: Mapping[str, PortBound]
    """By microarchitecture; absent where the CPU lacks an instruction."""
    lacks: Mapping[str, tuple[str, ...]]
    """CPUID features that a microarchitecture lacks for the group loop; absent if none."""


@dataclass(frozen=True)
class Variant:
    """One kernel of the output folder."""

    name: str
    axes: Mapping[str, Any]
    file: str
    """Below the output folder."""
    features: tuple[str, ...]
    blocks: int
    table_bytes: int
    code_bytes: int
    instructions: int
    """Of the group loop."""
    classes: Mapping[str, int]
    """Of the group loop, by class."""
    theorems: tuple[Theorem, ...]
    """Proved of these bytes; empty if there is no proof, or only one of other bytes."""
    proof: str
    """proved, of these very bytes; recorded, but there is no assembler to compare the bytes; stale:
    proved of other bytes; refuted; missing: not in PROOFS.json."""
    examined: Examined | None
    """None where nothing could be assembled."""

    @property
    def per_block(self) -> Mapping[str, Fraction]:
        """Instructions a block by class."""
        return {cls: Fraction(count, self.blocks) for cls, count in self.classes.items()}

    @property
    def total_per_block(self) -> Fraction:
        """Instructions a block."""
        return Fraction(self.instructions, self.blocks)


@dataclass(frozen=True)
class Timing:
    """One subject at one size; cycles of a byte, low and high the quartiles where they are known.

    `samples` is 0 where the source does not tell.
    """

    name: str
    kind: str
    size: int
    per_byte: float
    low: float | None
    high: float | None
    samples: int
    digest: str
    """SHA-256 of the kernel's code; empty for others, and where the source does not tell."""
    level: int = 0
    """The generation of its code: a place in `records.levels.LEVELS`."""


@dataclass(frozen=True)
class Way:
    """Another way to call: by size the best kernel, and the best peer's time by the kernel's."""

    title: str
    rows: tuple[tuple[int, str, str, str, str], ...]
    """(size, kernel, its figure, best peer, ratio)."""


@dataclass(frozen=True)
class Speed:
    """One measurement of throughput, on one CPU."""

    slug: str
    """Names the CPU in ids and files."""
    title: str
    """The CPU's core, as a reader knows it."""
    source: str
    """The file that it was read from, and which part."""
    machine: str
    method: str
    timings: tuple[Timing, ...]
    missing: Mapping[str, str]
    """What was not measured, and why."""
    key: int = 0
    """Bits of AES's key in AES-GCM."""
    others: tuple["Way", ...] = ()
    """Other ways to call that were measured, where the source tells."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """The message sizes in bytes, ascending."""
        return tuple(sorted({timing.size for timing in self.timings}))

    def of(self, name: str) -> tuple[Timing, ...]:
        """Return one subject's timings by ascending size."""
        found = [timing for timing in self.timings if timing.name == name]
        return tuple(sorted(found, key=lambda timing: timing.size))

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
        """Whether every figure has its quartiles: a whole record, no summary of one."""
        return all(timing.low is not None for timing in self.timings)

    @property
    def levels(self) -> tuple[int, ...]:
        """The levels of the kernels measured, the widest first."""
        return tuple(sorted({t.level for t in self.timings if t.kind == "kernel"}, reverse=True))

    def names(self, kind: str) -> tuple[str, ...]:
        """Return the subjects of a kind, sorted."""
        return tuple(sorted({t.name for t in self.timings if t.kind == kind}))


@dataclass(frozen=True)
class Report:
    """Everything on the page."""

    topic: Topic
    """What it is about."""
    generator: str
    assemblers: tuple[str, ...]
    folder: str
    """The folder of kernels, as the page names it."""
    variants: tuple[Variant, ...]
    uarches: Mapping[str, str]
    """Titles of the modelled microarchitectures, by name."""
    ports: Mapping[str, tuple[str, ...]]
    """Ports of each microarchitecture."""
    speeds: tuple[Speed, ...]
    """One for each CPU, in the order of their slugs."""
    notes: tuple[str, ...]
    """What is missing or stale, and the command that mends it: one sentence each."""

    def variant(self, name: str) -> Variant | None:
        """Return a kernel by name."""
        return next((variant for variant in self.variants if variant.name == name), None)
