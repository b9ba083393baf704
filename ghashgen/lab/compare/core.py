"""The parts of a comparison: variants in groups, a baseline for each, and the paper's own figures.

A ratio is always the baseline's time divided by the variant's: above 1, the variant is faster.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ghashgen.kernels.core import Point
from ghashgen.lab.bench import Results, bench
from ghashgen.lab.bench.contest import PORTABLE, Contest
from ghashgen.lab.bench.families.hash import CONTEST as HASH
from ghashgen.support.tables import Table

Bench = Callable[..., Results]
"""A function that measures like `lab.bench.bench`, with its arguments and results."""


@dataclass(frozen=True)
class Derived:
    """A table derived from a record, and what it shows."""

    table: Callable[..., Table]
    says: str


@dataclass(frozen=True)
class Variant:
    """One row: a kernel of this project, or another subject of the benchmark by name."""

    label: str
    subject: Point | str
    paper_time: float | None = None
    """The paper's time for its counterpart, if stated."""
    constant_time: bool = True
    """Whether the code is written so that its time depends only on the length."""
    rival: str = PORTABLE
    """The rival, one of the contest's, of a subject given by name."""
    way: str = ""
    """How it is called, if a study compares ways to call one subject."""

    @property
    def name(self) -> str:
        """The name of the measured subject."""
        base = self.subject if isinstance(self.subject, str) else self.subject.name
        return f"{base} {self.way}" if self.way else base


@dataclass(frozen=True)
class Group:
    """Rows with one baseline, which is the first."""

    title: str
    variants: tuple[Variant, ...]

    @property
    def baseline(self) -> Variant:
        """What the others are compared with; its ratio is 1."""
        return self.variants[0]


@dataclass(frozen=True)
class PaperRow:
    """Figures that the paper itself states, by message size in bytes."""

    label: str
    source: str
    ratios: Mapping[int, float] = field(default_factory=dict)
    per_byte: Mapping[int, float] = field(default_factory=dict)
    """Cycles per byte."""


@dataclass(frozen=True)
class Study:
    """A paper's comparison, as this project can repeat it."""

    name: str
    title: str
    source: str
    mode: str
    """One of its contest's modes."""
    sizes: tuple[int, ...]
    """Message sizes in bytes."""
    groups: tuple[Group, ...]
    paper_rows: tuple[PaperRow, ...] = ()
    time_source: str = ""
    """Where the paper states the times in its variants."""
    time_unit: str = "s"
    """The unit of these times."""
    contest: Contest = HASH
    """The measurement with its mode."""
    aad: int = 12
    """Bytes of AAD before each message of AES-GCM."""
    bench: Bench = bench
    """The function that measures it."""
    derived: tuple[Derived, ...] = ()
    """What is derived from a record."""
    differs: tuple[str, ...] = ()
    """Differences from the paper's setting, one or two sentences each."""

    @property
    def variants(self) -> tuple[Variant, ...]:
        """Every row, in order."""
        return tuple(variant for group in self.groups for variant in group.variants)

    @property
    def kernels(self) -> tuple[Point, ...]:
        """This project's kernels among the rows."""
        found = (v.subject for v in self.variants if not isinstance(v.subject, str))
        return tuple(dict.fromkeys(found))

    @property
    def others(self) -> Mapping[str, str]:
        """The other rows: rival by name."""
        return {v.subject: v.rival for v in self.variants if isinstance(v.subject, str)}


def paper_ratio(group: Group, variant: Variant) -> float | None:
    """Return the paper's time of the group's baseline divided by the variant's, if it states
    both.
    """
    if group.baseline.paper_time is None or variant.paper_time is None:
        return None
    return group.baseline.paper_time / variant.paper_time
