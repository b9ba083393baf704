"""What a kernel in a host's layout claims.

Its table has cells of the powers of the hash subkey alone. The caller keeps the key schedule: the
round keys of FIPS 197 in memory order, for a key of 128, 192 or 256 bits, and at `rounds_at` the
number `rounds_times`·Nr - `rounds_less` in 4 bytes, little-endian. A function is proved for each
size of a key.
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


MOST = 255
"""The greatest number that tells the rounds."""


@dataclass(frozen=True)
class GivenFunction(hashes.FunctionSpec):
    """One exported function: what it does, its symbol, its parameters in order."""

    operations: ClassVar[Mapping[str, tuple[str, ...]]] = OPERATIONS


@dataclass(frozen=True, kw_only=True)
class GivenSpec(Keyed):
    """A kernel's statement, also of where the key schedule has the number of rounds."""

    operations: ClassVar[Mapping[str, tuple[str, ...]]] = OPERATIONS
    op: ClassVar[str] = "ghash"
    any_size: ClassVar[bool] = True
    order: Order
    rounds_at: int
    rounds_less: int
    rounds_times: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        hashes.check_cells(self.cells)
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
        return {k: k for k in range(self.rounds + 1)}

    def meaning(self, function: Any) -> Function:
        """Return what one of the functions means.

        Raises:
            Refutation: it has no meaning here.
        """
        if function.operation in hashes.OPERATIONS:
            return meaning_of(self, function)
        return super().meaning(function)
