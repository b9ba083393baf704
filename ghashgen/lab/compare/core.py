"""What a comparison consists of: variants in groups, a baseline each, and the paper's own figures.

A ratio is always the baseline's time by the variant's: above 1, the variant is the faster one.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ghashgen.kernels.core import Point
from ghashgen.lab.bench import Results, bench
from ghashgen.lab.bench.contest import HASH, PORTABLE, Contest
from ghashgen.support.tables import Table

Bench = Callable[..., Results]
"""What measures as `lab.bench.bench` does: its arguments and results."""


@dataclass(frozen=True)
class Derived:
    """What follows from what was measured: a table made of a record, and what it says."""

    table: Callable[..., Table]
    says: str


@dataclass(frozen=True)
class Variant:
    """One row: a kernel of this project, or what the benchmark has beside kernels, by its name."""

    label: str
    subject: Point | str
    paper_time: float | None = None
    """The paper's own time for its counterpart, where the paper states one."""
    constant_time: bool = True
    """Whether the code is written so that its time depends on the length alone."""
    rival: str = PORTABLE
    """Whose a subject given by name is: one of the contest's rivals."""
    way: str = ""
    """How it is called, where a study compares ways to call one subject."""

    @property
    def name(self) -> str:
        """The name of what is measured."""
        base = self.subject if isinstance(self.subject, str) else self.subject.name
        return f"{base} {self.way}" if self.way else base


@dataclass(frozen=True)
class Group:
    """Rows that have one baseline: the first."""

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
    """Cycles a byte."""


@dataclass(frozen=True)
class Study:
    """A comparison that a paper makes, as this project can repeat it."""

    name: str
    title: str
    source: str
    mode: str
    """One of its contest's modes."""
    sizes: tuple[int, ...]
    """Bytes of a message."""
    groups: tuple[Group, ...]
    paper_rows: tuple[PaperRow, ...] = ()
    time_source: str = ""
    """Where the paper states the times that its variants carry."""
    time_unit: str = "s"
    """What these times are in."""
    contest: Contest = HASH
    """The measurement that its mode belongs to."""
    aad: int = 12
    """Bytes of AAD before each message of AES-GCM."""
    bench: Bench = bench
    """What measures it."""
    derived: tuple[Derived, ...] = ()
    """What follows from a record."""
    differs: tuple[str, ...] = ()
    """What of the paper's setting is not repeated, one sentence or two each."""

    @property
    def variants(self) -> tuple[Variant, ...]:
        """Every row, in order."""
        return tuple(variant for group in self.groups for variant in group.variants)

    @property
    def kernels(self) -> tuple[Point, ...]:
        """The kernels of this project among the rows."""
        found = (v.subject for v in self.variants if not isinstance(v.subject, str))
        return tuple(dict.fromkeys(found))

    @property
    def others(self) -> Mapping[str, str]:
        """What is no kernel of this project among the rows: whose it is, by name."""
        return {v.subject: v.rival for v in self.variants if isinstance(v.subject, str)}


def paper_ratio(group: Group, variant: Variant) -> float | None:
    """Return the paper's time of the group's baseline by that of the variant, if it states both."""
    if group.baseline.paper_time is None or variant.paper_time is None:
        return None
    return group.baseline.paper_time / variant.paper_time
