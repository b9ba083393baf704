"""The type of what the pages say about a family's speed, and each family with its records."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ghashgen.kernels.families import brought
from ghashgen.kernels.manifest import Entry
from ghashgen.lab.standing import Standing, load_standings


@dataclass(frozen=True)
class Columns:
    """A table of one record."""

    heads: tuple[str, ...]
    """As `standing.markdown_table` takes them."""
    rows: Callable[[Standing], Iterable[Sequence[str]]]


@dataclass(frozen=True)
class Speed:
    """What the pages say about the speed of a family."""

    function: str
    """What its kernels compute, as the pages call it."""
    place: int
    """Its place in README, ascending."""
    mode: str
    """Calls back to back."""
    chained: str
    """The mode where each call waits for the one before; "" if there is none."""
    keys: tuple[int, ...]
    """Key sizes in bits that README's ranges cover, or 0; its single sizes are of the first."""
    heading: str
    """The beginning of the headings of results.md."""
    drawn: int
    """The key size of the chart beside a record's table."""
    chart: str
    """The beginning of the chart's title, with {key}."""
    file: str
    """The same in its file's name."""
    alt: str
    """The function in the text that stands for the chart."""
    tables: tuple[Columns, ...]
    """The tables of results.md; one without rows is left out."""
    calls: str = ""
    """A sentence of README about the measured calls."""
    bursts: str = ""
    """The mode of many messages in one call; "" if there is none."""
    legend: tuple[str, ...] = ()
    """Items of the legend in results.md."""


@dataclass(frozen=True)
class Measured:
    """A family's records, each with the kernels to take there."""

    speed: Speed
    standings: tuple[Standing, ...]


def speeds() -> Mapping[str, Speed]:
    """Return what the pages say about each family, the default one first."""
    return brought("speed")


def load_measured(root: Path, entries: Collection[Entry]) -> Mapping[str, Measured]:
    """Return every family with its records below `root`, the default one first."""
    return {
        name: Measured(speed, load_standings(root, entries, name))
        for name, speed in speeds().items()
    }


def ranked(measured: Iterable[Measured]) -> list[Measured]:
    """Return families in the order in which README names them."""
    return sorted(measured, key=lambda one: one.speed.place)
