"""What the kernels of each family are measured in, and against."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ghashgen.lab.bench.interface import HASHING, MESSAGES, Interface
from ghashgen.lab.bench.peers import GCM_PEERS, PEERS, Peer
from ghashgen.records.core import (
    DEFAULT_MODES,
    GCM,
    HASH_EDGES,
    HASH_PLACES,
    IMIX,
    PIECES,
    SEAL_EDGES,
    SEAL_MODES,
    SEAL_PLACES,
    TEXT,
    beside,
)
from ghashgen.records.records import folder_of

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
    keyed: bool
    """Whether subjects have an AES key."""

    @property
    def modes(self) -> tuple[str, ...]:
        """Every mode."""
        return (*self.default_modes, *self.other_modes)

    @property
    def rivals(self) -> tuple[str, ...]:
        """Everything that a kernel can be compared with."""
        return (*self.peers, PORTABLE, *self.interfaces)


HASH = Contest(
    family="hash",
    result="GHASH",
    default_modes=(*DEFAULT_MODES, *beside(HASH_EDGES)),
    other_modes=(GCM, *HASH_PLACES),
    peers=PEERS,
    interfaces=HASHING,
    folder=folder_of("hash"),
    keyed=False,
)

AES_GCM = Contest(
    family="gcm",
    result="AES-GCM",
    default_modes=(
        *(*SEAL_MODES, IMIX, TEXT, *PIECES, "init", "init-throughput"),
        *beside(SEAL_EDGES),
    ),
    other_modes=SEAL_PLACES,
    peers=GCM_PEERS,
    interfaces=MESSAGES,
    folder=folder_of("gcm"),
    keyed=True,
)

CONTESTS: Mapping[str, Contest] = MappingProxyType({c.family: c for c in (HASH, AES_GCM)})
"""Every contest by family."""
