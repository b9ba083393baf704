"""Sums of products of a compact kernel's loops, which take a register or two in a turn."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.schemes import aggregate
from ghashgen.ir.builder import Builder, Value
from ghashgen.ir.program import Mem, VReg
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.gcm.parts.text import Text
from ghashgen.kernels.hash.parts.interface import entries, finish_group, to_register

Product = tuple[VReg, Sequence[Value]]
"""A register and the entries of its powers."""


Contributions = Sequence[tuple[str, Value]]
"""Products of a register, each with the accumulator that it belongs to."""


class Sums:
    """The accumulators of a sum of products."""

    def __init__(self, b: Builder, kernel: GcmKernel) -> None:
        self.b, self.hashing = b, kernel.hash
        names = kernel.hash.multiplier.accumulators
        self.acc = {name: b.register(name, kernel.lane_count) for name in names}

    def clear(self) -> None:
        """Start at 0."""
        for register in self.acc.values():
            self.b.emit("zero", register)

    def add(self, *products: Product) -> None:
        """Add the products of registers, each with its keys."""
        self.take(self.products(A, keys) for A, keys in products)

    def products(self, A: VReg, keys: Sequence[Value]) -> Contributions:
        """Record the products of a register with its keys."""
        multiply, order = self.hashing.multiplier, self.hashing.bit_order
        operands = multiply.prepared(self.b, A, keys, order)
        return multiply.contributions(self.b, operands, keys, order)

    def take(self, several: Iterable[Contributions]) -> None:
        """Add the products of registers."""
        sums: Mapping[str, Value] = dict(self.acc)
        for one in several:
            sums = aggregate.added(self.b, sums, one)
        for name, register in self.acc.items():
            self.b.assign(register, sums[name])

    def reduced(self, R: Value | None) -> VReg:
        """Record the reduction."""
        return finish_group(self.b, self.hashing, self.acc, R)


def moved(places: Sequence[Value], ahead: int, i: VReg | None = None) -> list[Mem]:
    """Return places in memory so many bytes further on, and `i` more."""
    out = list[Mem]()
    for place in places:
        assert isinstance(place, Mem)
        out.append(replace(place, disp=place.disp + ahead, index=i))
    return out


def product(text: Text, at: VReg, register: int, i: VReg | None = None) -> Product:
    """Record the load of a group's register, `i` bytes further on; return it with its keys."""
    b, hashing, lanes = text.b, text.kernel.hash, text.kernel.lane_count
    ahead = BLOCK_BYTES * lanes * register
    (block,) = moved([text.at(at)], ahead, i)
    raw = b.load(block, "C, bytes as in memory", lanes)
    keys = entries(hashing, text.context, text.kernel.blocks)
    return to_register(b, hashing, raw, "C"), moved(keys, ahead, i)
