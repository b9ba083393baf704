"""What can be called: the functions of an object under this project's names, whoever made it.

A kernel of this project (`run.built.Built`) takes arguments in the order of our prototypes. An
object of somebody else's may take them in another order, and lengths in blocks.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.kernels.core import Function
from ghashgen.run.arguments import Arguments, Values, arguments

COLUMN = "column"
"""The operation that absorbs one block of each row."""

LENGTH = "length"
"""The role of the length that `unit` and `multiple` speak of."""


@dataclass(frozen=True)
class Exported:
    """A function of an object: what it is among ours, and how it is called."""

    function: Function[Any]
    symbol: str
    roles: tuple[str, ...]
    """Its parameters, in its own order."""
    unit: int = 1
    """Its length counts so many bytes."""
    multiple: int = 1
    """Its length in bytes is a multiple of this."""
    shared: bool = False
    """Whether what it writes is always the memory that it reads: nothing is said of two buffers."""

    @property
    def stride(self) -> int:
        """Bytes of a message for each block that is absorbed: a row, where a column is hashed."""
        return self.multiple if self.function.statement == COLUMN else BLOCK_BYTES

    def takes(self, call: Arguments) -> bool:
        """Return whether a call has a length that the function is for."""
        length = dict(zip(self.function.roles, call, strict=True)).get(LENGTH)
        return not isinstance(length, int) or length % self.multiple == 0

    def given(self, call: Arguments) -> Arguments:
        """Return the arguments of a call in the object's order and units."""
        if self.unit == 1 and self.roles == self.function.roles:
            return call
        by_role = dict(zip(self.function.roles, call, strict=True))
        length = by_role.get(LENGTH)
        if isinstance(length, int):
            by_role[LENGTH] = length // self.unit
        return tuple(by_role[role] for role in self.roles)


class Callee(Protocol):
    """An object that can be called."""

    @property
    def name(self) -> str:
        """What the harness knows it by."""
        ...

    @property
    def obj(self) -> Path:
        """The object file."""
        ...

    @property
    def abi(self) -> str:
        """The calling convention."""
        ...

    @property
    def table_bytes(self) -> int:
        """Bytes of the table."""
        ...

    @property
    def table_align(self) -> int:
        """Alignment in bytes that callers promise for the table."""
        ...

    @property
    def blocks(self) -> int:
        """Blocks that one turn of the main loop takes."""
        ...

    @property
    def key_bytes(self) -> int:
        """Bytes of a cipher's key; 0 if there is no cipher."""
        ...

    @property
    def exported(self) -> Mapping[str, Exported]:
        """The functions, by our names for them."""
        ...

    def table(self, key: bytes) -> bytes:
        """Return the table of a key, of an object that has no init to make it.

        Raises:
            GhashgenError: nobody knows it.
        """
        ...


def arguments_of(callee: Callee, function: str, values: Values) -> Arguments:
    """Return the arguments of a call, in the order of our prototype.

    Raises:
        GhashgenError: as `run.arguments.arguments`.
    """
    exported = callee.exported[function].function
    return arguments(exported, values, callee.table_bytes, callee.table_align)
