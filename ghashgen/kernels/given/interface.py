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
    """The bytes that it reserves for the table."""
    rounds_at: int
    """Where its key schedule tells the number of rounds, Nr: 4 bytes, little-endian. The round keys
    of FIPS 197 begin the schedule, in memory order.
    """
    rounds_less: int
    functions: Mapping[str, Taken]
    """By our names."""
    rounds_times: int = 1
    """The number there is rounds_times·Nr - rounds_less."""
    table_at: int = 0
    """Where the key schedule has the table; 0 if the table is a parameter of its own."""
    reverses: bool = False
    """Whether state and counter block have their bytes reversed in memory."""
    cells: tuple[str, ...] = ()
    """What the table holds if the host's own code fills or reads it too; then each of its functions
    may be replaced alone. () if the contents are ours.
    """

    def told(self, rounds: int) -> int:
        """Return the number by which the key schedule tells the rounds."""
        return self.rounds_times * rounds - self.rounds_less

    @property
    def isas(self) -> tuple[str, ...]:
        """The instruction sets that it has symbols for."""
        return tuple(dict.fromkeys(isa for f in self.functions.values() for isa in f.symbols))


def interfaces() -> Mapping[str, Interface]:
    """Return every interface by name."""
    return found(package, "INTERFACE")
