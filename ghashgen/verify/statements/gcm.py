"""What an AES-GCM kernel claims.

Like a hash (`ghashgen.verify.statements.hash`), with a key size, and with round keys among the
table's cells: ("key", i) is round key i, from 0, as FIPS 197 writes its words w[4i] … w[4i+3].
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ghashgen.algebra.field.bitorder import Order
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
    "seal_many": ("table", "messages", "count"),
    "open_many": ("table", "messages", "count"),
    "start": ("table", "stream", "iv", "iv_length"),
    "aad": ("table", "stream", "aad", "aad_length"),
    "encrypt_more": _MORE,
    "decrypt_more": _MORE,
    "finish": ("table", "stream", "tag"),
    "verify": ("table", "stream", "tag", "tag_length"),
    **{name: hashes.OPERATIONS[name] for name in ("update", "power", "combine")},
}
"""The operations, each with its parameters in the order of this package's own interface.
`ghashgen.verify.meaning.aes` says what they mean.
"""


@dataclass(frozen=True)
class GcmFunction(hashes.FunctionSpec):
    """One exported function: what it does, its symbol, its parameters in order."""

    operations: ClassVar[Mapping[str, tuple[str, ...]]] = OPERATIONS


@dataclass(frozen=True, kw_only=True)
class GcmSpec(Keyed):
    """A kernel's statement: also the bit order, and cells of the powers of the hash subkey."""

    operations: ClassVar[Mapping[str, tuple[str, ...]]] = OPERATIONS
    order: Order
    untouched: bool = False
    """Whether `open` writes nothing where the tag is wrong; else it writes zeros."""
    any_tag: bool = False
    """Whether a given tag may have any number of bytes from 1 to 16."""

    def __post_init__(self) -> None:
        super().__post_init__()
        others = (c for k, c in enumerate(self.cells) if k not in {*self.round_keys, *self.numbers})
        hashes.check_cells(others)


def parse_cell(text: str) -> Cell:
    """Return ("key", 3) for "key3", and otherwise a hash's cell.

    Raises:
        GhashgenError: it is none of these.
    """
    return round_key(text) or hashes.parse_cell(text)
