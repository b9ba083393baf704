"""What an AES-CTR kernel claims: a key size, and where the table has its round keys.

`cells[c]` is what stands at byte 16·c of the table: ("key", i) is round key i; None is nothing.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ghashgen.algebra.field.aes_round import ROUNDS
from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.support.errors import GhashgenError
from ghashgen.verify.meaning import ctr
from ghashgen.verify.meaning.function import Function
from ghashgen.verify.meaning.letters import ROUND_KEY
from ghashgen.verify.statements import hash as hashes

OPERATIONS: dict[str, tuple[str, ...]] = {
    "init": ("table", "key"),
    "crypt": ("table", "counter", "input", "output", "length"),
}
"""The operations, each with its parameters in the order of this package's own interface."""


@dataclass(frozen=True)
class CtrFunction(hashes.FunctionSpec):
    """One exported function: what it does, its symbol, its parameters in order."""

    operations: ClassVar[Mapping[str, tuple[str, ...]]] = OPERATIONS


@dataclass(frozen=True)
class CtrSpec:
    """A kernel's statement. `table_align` is the alignment in bytes that the caller guarantees.

    Raises:
        GhashgenError: it makes no sense.
    """

    name: str
    abi: str
    key_bits: int
    blocks: int
    cells: tuple[tuple[str, int] | None, ...]
    table_bytes: int
    functions: tuple[CtrFunction, ...]
    table_align: int = 16
    wipe: bool = False

    def __post_init__(self) -> None:
        if self.key_bits not in {8 * size for size in ROUNDS}:
            raise GhashgenError(f"a key of {self.key_bits} bits", "AES keys have 128, 192 or 256")
        held = set(self.round_keys.values())
        if held != set(range(self.rounds + 1)):
            raise GhashgenError(
                f"round keys {', '.join(map(str, sorted(held))) or 'none'} in the table",
                f"a key of {self.key_bits} bits has 0 to {self.rounds}, and all are wanted",
            )
        if self.abi not in hashes.ABIS:
            raise GhashgenError(f"no ABI {self.abi!r}", f"ABIs are {', '.join(hashes.ABIS)}")
        if self.blocks < 1:
            raise GhashgenError(f"{self.blocks} blocks per group", "a group has 1 block or more")
        if BLOCK_BYTES * len(self.cells) > self.table_bytes:
            raise GhashgenError(
                f"{len(self.cells)} cells do not fit in {self.table_bytes} bytes",
                "set table_bytes to 16 times the cells, or more",
            )
        if self.table_align < 1 or self.table_align & self.table_align - 1:
            raise GhashgenError(
                f"a table alignment of {self.table_align} bytes", "alignments are powers of two"
            )

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
        return {k: cell[1] for k, cell in enumerate(self.cells) if cell is not None}

    def meaning(self, function: CtrFunction) -> Function:
        """Return what one of the functions means, whether input and output are two buffers or one.

        Raises:
            Refutation: it has no meaning here.
        """
        return ctr.meaning_of(self, function)


def parse_cell(text: str) -> tuple[str, int] | None:
    """Return ("key", 3) for "key3", and None for "-".

    Raises:
        GhashgenError: it is neither.
    """
    if text == "-":
        return None
    match = re.fullmatch(rf"{ROUND_KEY}(0|[1-9]\d*)", text)
    if match is None:
        raise GhashgenError(f"no table cell {text!r}", "write a round key, such as key3, or -")
    return ROUND_KEY, int(match[1])
