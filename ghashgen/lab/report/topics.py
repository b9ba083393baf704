"""The subject of a report page: one family, with its own wording."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ghashgen.kernels.core import Family
from ghashgen.kernels.families import brought, families


@dataclass(frozen=True)
class Topic:
    """A page."""

    name: str
    """The family."""
    page: str
    """The file."""
    prefix: str
    """Beginning of the names of its plots."""
    title: str
    """What its kernels compute."""
    mode: str
    """The mode of the calls whose figures it shows."""
    way: str
    """The mode in words."""
    others: tuple[tuple[str, str], ...]
    """Other modes whose ratios it shows, each with its column title."""
    alike: tuple[tuple[str, Any], ...]
    """Axes and values of the kernels whose instructions and bounds are compared."""
    proved: str
    """How lengths are proved."""
    by: tuple[str, str] = ("multiply", "multiply scheme")
    """The axis whose values are compared within an instruction set, and its name in words."""

    @property
    def family(self) -> Family[Any]:
        """The family."""
        return families()[self.name]

    def compares(self, axes: Mapping[str, Any]) -> bool:
        """Return whether a kernel with these axes is among those compared."""
        return all(axes.get(axis, value) == value for axis, value in self.alike)


def topics() -> Mapping[str, Topic]:
    """Return every page by its family, the default family first."""
    return brought("topic")
