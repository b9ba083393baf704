"""What a kernel in a host's layout claims.

Its table has cells of the powers of the hash subkey alone. The caller keeps the key schedule: the
round keys of FIPS 197 in memory order, for a key of 128, 192 or 256 bits, and at `rounds_at` the
number `rounds_times`·Nr - `rounds_less` in 4 bytes, little-endian. A function is proved for each
size of a key.

A caller's key may have the table behind its round keys: then `table` is that key, whose cells are
named, and no function has a parameter `schedule`. `init` takes the subkey from the round keys.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ghashgen.algebra.field.aes_round import ROUNDS
from ghashgen.algebra.field.bitorder import BLOCK_BYTES, Order
from ghashgen.support.errors import require
from ghashgen.verify.meaning.function import Function
from ghashgen.verify.meaning.hash import meaning_of
from ghashgen.verify.statements import hash as hashes
from ghashgen.verify.statements.aes import Keyed

_CRYPT = ("input", "output", "length", "schedule", "first_counter", "table", "state")

OPERATIONS: dict[str, tuple[str, ...]] = {
    "init": ("table", "halves"),
    "mul": hashes.OPERATIONS["mul"],
    "update": hashes.OPERATIONS["update"],
    "encrypt": _CRYPT,
    "decrypt": _CRYPT,
}
"""The operations, each with its parameters. `ghashgen.verify.meaning.hash` says what the first
three mean, `ghashgen.verify.meaning.aes` what the others do.
"""

_IN_KEY = tuple(name for name in _CRYPT if name != "schedule")

OF_A_KEY: dict[str, tuple[str, ...]] = {
    "init": ("table",),
    "update": hashes.OPERATIONS["update"],
    "encrypt": _IN_KEY,
    "decrypt": _IN_KEY,
    "final": ("table", "first_counter", "state", "aad_length", "length"),
}
"""The operations where a key has the table. `final` puts the tag in the place of the state."""


MOST = 255
"""The greatest number that tells the rounds."""


@dataclass(frozen=True)
class GivenFunction(hashes.FunctionSpec):
    """One exported function: what it does, its symbol, its parameters in order."""

    operations: ClassVar[Mapping[str, tuple[str, ...]]] = OPERATIONS


@dataclass(frozen=True)
class OfAKey(GivenFunction):
    """One where a key has the table."""

    operations: ClassVar[Mapping[str, tuple[str, ...]]] = OF_A_KEY


@dataclass(frozen=True, kw_only=True)
class GivenSpec(Keyed):
    """A kernel's statement, also of where the key schedule has the number of rounds."""

    operations: ClassVar[Mapping[str, tuple[str, ...]]] = {**OPERATIONS, **OF_A_KEY}
    op: ClassVar[str] = "ghash"
    any_size: ClassVar[bool] = True
    order: Order
    rounds_at: int
    rounds_less: int
    rounds_times: int = 1
    reverses: bool = False
    """Whether state and counter block have their bytes reversed in memory; a tag has not."""

    def __post_init__(self) -> None:
        super().__post_init__()
        keys = super().round_keys
        hashes.check_cells(cell for k, cell in enumerate(self.cells) if k not in keys)
        kind = OfAKey if self.in_key else GivenFunction
        apart = all(type(f) is kind for f in self.functions)
        require(apart, f"{self.name} has its keys elsewhere", "name each key, or none")
        free = all(0 <= k < len(self.cells) and not self.cells[k] for k in self.told)
        where = f"a number of rounds at byte {self.rounds_at} of the key"
        require(free, where, "its cell is a free one")
        behind = self.rounds_at >= BLOCK_BYTES * (self.rounds + 1)
        where = f"a number of rounds at byte {self.rounds_at} of the key schedule"
        aligned = behind and not self.rounds_at % BLOCK_BYTES
        require(aligned, where, "it is at a multiple of 16, behind the round keys")
        told = [self.rounds_times * rounds - self.rounds_less for rounds in ROUNDS.values()]
        known = self.rounds_times >= 1 and min(told) >= 1 and max(told) <= MOST
        rounds = f"{self.rounds_times}·Nr - {self.rounds_less}"
        require(known, rounds, f"it is a number of 1 to {MOST}")

    @property
    def round_keys(self) -> Mapping[int, int]:
        """The cells of the key schedule that hold round keys, each with the round."""
        return super().round_keys or {k: k for k in range(self.rounds + 1)}

    @property
    def in_key(self) -> bool:
        """Whether a key has the table."""
        return bool(super().round_keys)

    @property
    def told(self) -> Mapping[int, int]:
        """The cells of a key that begin with a number of 4 bytes, each with the number."""
        number = self.rounds_times * self.rounds - self.rounds_less
        return {self.rounds_at // BLOCK_BYTES: number} if self.in_key else {}

    def meaning(self, function: Any) -> Function:
        """Return what one of the functions means.

        Raises:
            Refutation: it has no meaning here.
        """
        if function.operation in hashes.OPERATIONS and not self.in_key:
            return meaning_of(self, function)
        return super().meaning(function)
