"""A kernel: one small declarative value; its name, its table and its refusals derive from it."""

from collections.abc import Iterable
from dataclasses import dataclass

from ghashgen.errors import GhashgenError
from ghashgen.field.bitorder import Order
from ghashgen.isa.core import Isa
from ghashgen.isa.registry import isas
from ghashgen.schemes.aggregate import MAX_BLOCKS
from ghashgen.schemes.core import Multiply, Reduce
from ghashgen.schemes.registry import multiplies, reduces

ENTRY_BYTES = 16


@dataclass(frozen=True)
class Kernel:
    """One variant of a GHASH kernel; axes are plain names, see `check`."""

    isa: str
    multiply: str
    reduce: str
    blocks: int
    order: str = Order.REFLECTED.value
    wipe: bool = False
    """Zero every register and stack slot that held secrets before returning."""
    alias: str = ""
    """A name of its own, for the kernels of a paper."""

    @property
    def name(self) -> str:
        """Derived from the axes; an axis at its default leaves no trace."""
        if self.alias:
            return self.alias
        parts = ["ghash", self.isa, self.multiply, self.reduce, f"x{self.blocks}"]
        if self.order != Order.REFLECTED.value:
            parts.append(self.order)
        if self.wipe:
            parts.append("wipe")
        return "_".join(parts).replace("-", "")

    @property
    def set(self) -> Isa:
        """The instruction set."""
        return isas()[self.isa]

    @property
    def multiplier(self) -> Multiply:
        """The multiply scheme."""
        return multiplies()[self.multiply]

    @property
    def reducer(self) -> Reduce:
        """The reduction."""
        return reduces()[self.reduce]

    @property
    def bit_order(self) -> Order:
        """The bit order of registers."""
        return Order(self.order)

    @property
    def stride(self) -> int:
        """Bytes of one power in the table."""
        return ENTRY_BYTES * len(self.multiplier.table_entries)

    @property
    def table_bytes(self) -> int:
        """Bytes of the table: powers 1..blocks, ascending."""
        return self.stride * self.blocks

    @property
    def table_align(self) -> int:
        """Alignment that the table needs, in bytes."""
        return ENTRY_BYTES

    def entry_offset(self, power: int, entry: str) -> int:
        """Byte offset in the table of an entry of H^power."""
        index = self.multiplier.table_entries.index(entry)
        return (power - 1) * self.stride + index * ENTRY_BYTES


def _choose(axis: str, value: str, allowed: Iterable[str]) -> None:
    allowed = list(allowed)
    if value not in allowed:
        raise GhashgenError(f"unknown {axis} {value!r}", f"choose one of {', '.join(allowed)}")


def check(kernel: Kernel) -> Kernel:
    """Return the kernel if its axes make sense together.

    Raises:
        GhashgenError: names the axis at fault, the reason and what to choose instead.
    """
    _choose("isa", kernel.isa, isas())
    _choose("multiply", kernel.multiply, multiplies())
    _choose("reduce", kernel.reduce, reduces())
    _choose("order", kernel.order, [order.value for order in Order])
    if not 1 <= kernel.blocks <= MAX_BLOCKS:
        raise GhashgenError(
            f"blocks must be 1 to {MAX_BLOCKS}, not {kernel.blocks}", "choose a value in that range"
        )
    multiply, reduce = kernel.multiplier, kernel.reducer
    if reduce.shape is not multiply.shape:
        fitting = [r.name for r in reduces().values() if r.shape is multiply.shape]
        raise GhashgenError(
            f"reduce {reduce.name!r} takes a {reduce.shape.bits}-bit product, but multiply "
            f"{multiply.name!r} makes one of {multiply.shape.bits} bits",
            f"choose reduce {' or '.join(fitting)}",
        )
    if kernel.bit_order not in reduce.orders:
        raise GhashgenError(
            f"reduce {reduce.name!r} exists only for order {reduce.orders[0].value!r}",
            "choose another reduce or order",
        )
    if kernel.bit_order is Order.NATURAL and "reverse_bits" not in kernel.set.supported:
        raise GhashgenError(
            f"order 'natural' needs GFNI to reverse the bits of a byte, which isa {kernel.isa!r} "
            "lacks",
            "choose order reflected",
        )
    return kernel
