"""Callable functions of an object, under this project's names, whoever made it.

A kernel of this project (`run.built.Built`) takes arguments in the order of our prototypes. Another
object may take them in another order, and lengths in blocks.
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
"""The role of the length that `unit` and `multiple` refer to."""


@dataclass(frozen=True)
class Exported:
    """A function of an object: its counterpart among ours, and how to call it."""

    function: Function[Any]
    symbol: str
    roles: tuple[str, ...]
    """Roles of its parameters, in its own order."""
    unit: int = 1
    """Its length counts units of this many bytes."""
    multiple: int = 1
    """Its length in bytes is a multiple of this."""

    @property
    def stride(self) -> int:
        """Bytes of message for each absorbed block: a whole row if a column is hashed."""
        return self.multiple if self.function.statement == COLUMN else BLOCK_BYTES

    def takes(self, call: Arguments) -> bool:
        """Return whether the function accepts a call's length."""
        length = dict(zip(self.function.roles, call, strict=True)).get(LENGTH)
        return not isinstance(length, int) or length % self.multiple == 0

    def given(self, call: Arguments) -> Arguments:
        """Return a call's arguments in the object's order and units."""
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
        """Its name in the harness."""
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
        """Blocks in one turn of the main loop."""
        ...

    @property
    def key_bytes(self) -> int:
        """Key size of the cipher in bytes; 0 if there is none."""
        ...

    @property
    def exported(self) -> Mapping[str, Exported]:
        """The functions, by our names for them."""
        ...

    def table(self, key: bytes) -> bytes:
        """Return a key's table, for an object without init.

        Raises:
            GhashgenError: the table is not known.
        """
        ...


def arguments_of(callee: Callee, function: str, values: Values) -> Arguments:
    """Return the arguments of a call, in the order of our prototype.

    Raises:
        GhashgenError: as `run.arguments.arguments`.
    """
    exported = callee.exported[function].function
    return arguments(exported, values, callee.table_bytes, callee.table_align)
