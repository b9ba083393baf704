"""What every statement about a kernel with AES says: a key, and round keys among the table's cells.

("key", i) is round key i, from 0, as FIPS 197 writes its words w[4i] … w[4i+3].
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from ghashgen.algebra.field.aes_round import ROUNDS
from ghashgen.support.errors import require
from ghashgen.verify.core.refutation import unsupported
from ghashgen.verify.meaning import aes
from ghashgen.verify.meaning.algebra import ROUND_KEY
from ghashgen.verify.meaning.function import Function

Cell = tuple[str, int] | None


LAST_KEY = "last"
"""("last", n) is a cell with the number n·Nr, 128 bits, little-endian: a table that has it is of a
key of any size, up to that of the statement.
"""


@dataclass(frozen=True, kw_only=True)
class Keyed:
    """A statement with the size of a key. `table_align` is the alignment in bytes that the caller
    guarantees; `cells[c]` is what stands at byte 16·c of the table, or None for nothing.

    Raises:
        GhashgenError: it makes no sense.
    """

    operations: ClassVar[Mapping[str, tuple[str, ...]]]
    """The operations of its family, each with its parameters."""
    name: str
    abi: str
    key_bits: int
    blocks: int
    cells: tuple[Cell, ...]
    table_bytes: int
    functions: tuple[Any, ...]
    table_align: int = 16
    wipe: bool = False
    sized: bool = False
    """Whether a table for keys of any size is meant with this one alone."""

    def __post_init__(self) -> None:
        known, key = (
            self.key_bits in {8 * size for size in ROUNDS},
            f"a key of {self.key_bits} bits",
        )
        require(known, key, "AES keys have 128, 192 or 256")
        held = sorted(set(self.round_keys.values()))
        cause = f"round keys {', '.join(map(str, held)) or 'none'} in the table"
        every = f"{key} has 0 to {self.rounds}, and all are wanted"
        require(held == [*range(self.rounds + 1)], cause, every)

    @property
    def key_sizes(self) -> Mapping[str, Self]:
        """The statements of each size of a key, by its bits, if the table is of any; else nothing.

        A function is proved if it is for every one of them: a key has one.
        """
        if self.sized or not self.any_size:
            return {}
        every = sorted(8 * size for size in ROUNDS if 8 * size <= self.key_bits)
        return {str(bits): self._of_size(bits) for bits in every}

    @property
    def any_size(self) -> bool:
        """Whether it is of keys of any size, up to that of the statement."""
        return bool(self._last_cells)

    def _of_size(self, bits: int) -> Self:
        rounds = ROUNDS[bits // 8]
        cells = (None if c and c[0] == ROUND_KEY and c[1] > rounds else c for c in self.cells)
        return replace(self, key_bits=bits, cells=tuple(cells), sized=True)

    @property
    def _last_cells(self) -> Mapping[int, int]:
        cells = enumerate(self.cells)
        return {k: cell[1] for k, cell in cells if cell is not None and cell[0] == LAST_KEY}

    @property
    def numbers(self) -> Mapping[int, int]:
        """The cells that hold public numbers, each with its number."""
        return {k: apart * self.rounds for k, apart in self._last_cells.items()}

    @property
    def key_bytes(self) -> int:
        """Bytes of a key."""
        return self.key_bits // 8

    @property
    def rounds(self) -> int:
        """Rounds of AES: one less than the round keys."""
        return ROUNDS[self.key_bytes]

    @property
    def round_keys(self) -> Mapping[int, int]:
        """The cells that hold round keys, each with the round."""
        cells = enumerate(self.cells)
        return {k: cell[1] for k, cell in cells if cell is not None and cell[0] == ROUND_KEY}

    def meaning(self, function: Any) -> Function:
        """Return what one of the functions means, whether input and output are two buffers or one.

        Raises:
            Refutation: it has no meaning here.
        """
        if self.key_sizes:
            raise unsupported("a key of any size, in one case")
        if function.operation not in self.operations:
            raise unsupported(f"no rules of the checker cover {function.operation}")
        return aes.meaning_of(self, function)


def round_key(text: str) -> Cell:
    """Return ("key", 3) for "key3", ("last", 16) for "last16", None for any other text."""
    match = re.fullmatch(rf"({ROUND_KEY}|{LAST_KEY})(0|[1-9]\d*)", text)
    return (match[1], int(match[2])) if match else None
