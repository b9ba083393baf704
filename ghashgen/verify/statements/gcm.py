"""What an AES-GCM kernel claims.

Like a hash (`ghashgen.verify.statements.hash`), with a key size, and with round keys among the
table's cells: ("key", i) is round key i, from 0, as FIPS 197 writes its words w[4i] … w[4i+3].
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from ghashgen.algebra.field.bitorder import Order
from ghashgen.verify.core.refutation import unsupported
from ghashgen.verify.meaning import operations
from ghashgen.verify.meaning.function import Function
from ghashgen.verify.statements import hash as hashes
from ghashgen.verify.statements.aes import Cell, Keyed, round_key

_CRYPT = ("table", "counter", "state", "input", "output", "length")
_MORE = ("table", "stream", "input", "output", "length")
_SEAL = ("table", "iv", "iv_length", "aad", "aad_length", "input", "length", "output", "tag")

OPERATIONS: dict[str, tuple[str, ...]] = {
    "init": ("table", "key"),
    "init_any": ("table", "key", "key_length"),
    "encrypt": _CRYPT,
    "decrypt": _CRYPT,
    "seal": _SEAL,
    "open": (*_SEAL, "tag_length"),
    "start": ("table", "stream", "iv", "iv_length"),
    "aad": ("table", "stream", "aad", "aad_length"),
    "encrypt_more": _MORE,
    "decrypt_more": _MORE,
    "finish": ("table", "stream", "tag"),
    "verify": ("table", "stream", "tag", "tag_length"),
    **{name: hashes.OPERATIONS[name] for name in ("update", "power", "combine")},
}
"""The operations, each with its parameters in the order of this package's own interface.
`ghashgen.verify.meaning.operations` says what they mean.
"""


@dataclass(frozen=True)
class GcmFunction(hashes.FunctionSpec):
    """One exported function: what it does, its symbol, its parameters in order."""

    operations: ClassVar[Mapping[str, tuple[str, ...]]] = OPERATIONS


@dataclass(frozen=True)
class GcmSpec(Keyed):
    """A kernel's statement: functions, calling convention, key, bit order, table.

    `cells[c]` is what stands at byte 16·c of the table (`parse_cell`), or None for nothing.
    `table_align` is the alignment in bytes that the caller guarantees.

    Raises:
        GhashgenError: it makes no sense.
    """

    name: str
    abi: str
    key_bits: int
    order: Order
    blocks: int
    cells: tuple[Cell, ...]
    table_bytes: int
    functions: tuple[GcmFunction, ...]
    table_align: int = 16
    wipe: bool = False
    sized: bool = False

    def __post_init__(self) -> None:
        self.check_keys()
        # For its refusals.
        _ = self.hash

    @cached_property
    def hash(self) -> hashes.KernelSpec:
        """The claims about GHASH: the cells of the hash subkey's powers."""
        return hashes.KernelSpec(
            name=self.name,
            abi=self.abi,
            order=self.order,
            blocks=self.blocks,
            cells=tuple(
                None if k in self.round_keys or k in self.numbers else c
                for k, c in enumerate(self.cells)
            ),
            table_bytes=self.table_bytes,
            functions=(),
            table_align=self.table_align,
            wipe=self.wipe,
        )

    def meaning(self, function: GcmFunction) -> Function:
        """Return what one of the functions means, whether input and output are two buffers or one.

        Raises:
            Refutation: it has no meaning here.
        """
        if self.key_sizes:
            raise unsupported("a key of any size, in one case")
        return operations.meaning_of(self, function)


def parse_cell(text: str) -> Cell:
    """Return ("key", 3) for "key3", and otherwise a hash's cell.

    Raises:
        GhashgenError: it is none of these.
    """
    return round_key(text) or hashes.parse_cell(text)
