"""What the kernels of each family are measured in, and against."""

from collections.abc import Mapping
from dataclasses import dataclass

from ghashgen.kernels.families import brought
from ghashgen.lab.bench.interface import Interface
from ghashgen.lab.bench.peers import Peer

PORTABLE = "portable"
"""The name, among the rivals, of C without special instructions."""


@dataclass(frozen=True)
class Contest:
    """The measurement of one family."""

    family: str
    result: str
    """What all subjects must agree on."""
    default_modes: tuple[str, ...]
    other_modes: tuple[str, ...]
    """Modes measured on request."""
    peers: Mapping[str, Peer]
    interfaces: Mapping[str, Interface]
    folder: str
    """The folder of its records, below the project's root."""

    @property
    def modes(self) -> tuple[str, ...]:
        """Every mode."""
        return (*self.default_modes, *self.other_modes)

    @property
    def rivals(self) -> tuple[str, ...]:
        """Everything that a kernel can be compared with."""
        return (*self.peers, PORTABLE, *self.interfaces)


def contests() -> Mapping[str, Contest]:
    """Return every contest by family, the default family first."""
    return brought("contest")
