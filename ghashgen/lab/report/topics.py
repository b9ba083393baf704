"""The subject of a report page: one family, with its own wording."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ghashgen.kernels.core import Family
from ghashgen.kernels.families import DEFAULT, families


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

    @property
    def family(self) -> Family[Any]:
        """The family."""
        return families()[self.name]

    def compares(self, axes: Mapping[str, Any]) -> bool:
        """Return whether a kernel with these axes is among those compared."""
        return all(axes.get(axis, value) == value for axis, value in self.alike)


HASH = Topic(
    name=DEFAULT,
    page="report.html",
    prefix="",
    title="GHASH",
    mode="throughput",
    way="messages back to back",
    others=(
        ("latency", "calls chained"),
        ("gcm", "whole GCM messages"),
        ("edge", "at the end of memory"),
    ),
    alike=(("op", "ghash"),),
    proved="A certificate says what holds at the head of the loop of update. The rules check it "
    "instruction by instruction, with the length unknown.",
)

AES_GCM = Topic(
    name="gcm",
    page="report-gcm.html",
    prefix="gcm-",
    title="AES-GCM",
    mode="seal",
    way="messages sealed back to back, 12 bytes of AAD each",
    others=(
        ("open", "opened"),
        ("seal-latency", "sealed, chained"),
        ("open-latency", "opened, chained"),
        ("text", "the text alone"),
        ("imix", "IMIX, sealed"),
        ("pieces-1k", "sealed in pieces of 1 KiB"),
        ("open-pieces-1k", "opened in pieces of 1 KiB"),
        ("seal-aad-null", "sealed, AAD null"),
        ("seal-edge", "sealed, at the end of mapped memory"),
        ("open-edge", "opened, at the end of mapped memory"),
    ),
    alike=(("key", 128),),
    proved="A certificate says what holds at the head of each loop. The rules check it instruction "
    "by instruction, with the lengths unknown.",
)

TOPICS: Mapping[str, Topic] = MappingProxyType({t.name: t for t in (HASH, AES_GCM)})
"""Every page by its family."""
