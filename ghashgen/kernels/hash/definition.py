"""The operations GHASH and POLYVAL, as the emitted files name them."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Definition:
    """How a file names its kernel's operation."""

    name: str
    source: str
    """The document that defines it, including the byte order of every 16-byte argument."""
    section: str
    subkey: str
    times: str

    def product(self, a: str, b: str) -> str:
        """Return the product of a and b in the definition's words."""
        return self.times.format(a, b)


DEFINITIONS: Mapping[str, Definition] = {
    "ghash": Definition("GHASH", "SP 800-38D", "section 6.4", "the hash subkey", "{}·{}"),
    "polyval": Definition("POLYVAL", "RFC 8452", "section 3", "the key", "dot({}, {})"),
}
"""Definitions by value of the axis `op`."""

OPS = tuple(DEFINITIONS)
"""The operations."""
