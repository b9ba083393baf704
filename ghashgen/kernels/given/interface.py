"""The type of a host's interface, as data: a new host is one file in `interfaces/`."""

from collections.abc import Mapping
from dataclasses import dataclass

from ghashgen.kernels.core import Param
from ghashgen.kernels.given import interfaces as package
from ghashgen.support.registry import found


@dataclass(frozen=True)
class Taken:
    """One function as the host calls it."""

    symbols: Mapping[str, str]
    """Its symbol by instruction set."""
    params: tuple[Param, ...]
    """Its parameters in the host's order; their roles say which of ours they are."""


@dataclass(frozen=True)
class Interface:
    """What a host prescribes."""

    name: str
    title: str
    table_bytes: int
    """The bytes that it reserves for the table. The contents are ours."""
    rounds_at: int
    """Where its key schedule has the number of rounds: 4 bytes, little-endian. The round keys of
    FIPS 197 begin the schedule, in memory order.
    """
    rounds_less: int
    """What is subtracted from Nr there."""
    functions: Mapping[str, Taken]
    """By our names."""

    @property
    def isas(self) -> tuple[str, ...]:
        """The instruction sets that it has symbols for."""
        return tuple(dict.fromkeys(isa for f in self.functions.values() for isa in f.symbols))


def interfaces() -> Mapping[str, Interface]:
    """Return every interface by name."""
    return found(package, "INTERFACE")
