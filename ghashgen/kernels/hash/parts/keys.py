"""A power of H as a key operand in registers: what init, power and combine multiply by.

The product of two twisted operands is twisted again: A·x^-1 and B·x^-1, read as A·B·x, give
(A·B)·x^-1. So B_(i+j) = B_i·B_j with the kernel's multiply and reduction.
"""

from dataclasses import dataclass

from ghashgen.algebra.schemes import aggregate
from ghashgen.algebra.schemes.twist import twist
from ghashgen.ir.builder import Builder, Value
from ghashgen.ir.program import VReg
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.hash.parts.interface import in_register


@dataclass(frozen=True)
class Key:
    """A key operand: its table entries, and its own reduced key term."""

    entries: tuple[Value, ...]
    term: Value | None


def key_of(b: Builder, kernel: Kernel, B: Value) -> Key:
    """Derive the entries of a power, in every lane of B."""
    multiply, order = kernel.multiplier, kernel.bit_order
    entries = multiply.derive(b, B, order)
    if multiply.key_term is None:
        return Key(entries, None)
    term = aggregate.key_constant(b, multiply, kernel.reducer, order, entries)
    return Key(entries, in_register(term))


def times(b: Builder, kernel: Kernel, A: Value, key: Key) -> VReg:
    """Return A·B lane by lane, with the key's term lane by lane too."""
    multiply, order = kernel.multiplier, kernel.bit_order
    acc = aggregate.accumulate(b, multiply, order, {}, A, key.entries)
    return in_register(aggregate.finish(b, multiply, kernel.reducer, order, acc, key.term))


def key_operand(b: Builder, kernel: Kernel, H: VReg) -> Value:
    """Return twist(H). POLYVAL's H stands for H·x in GHASH, so the twist is undone there.

    RFC 8452, appendix A: POLYVAL(H, …) is GHASH with the subkey mulX_GHASH(ByteReverse(H)).
    """
    return H if kernel.op == "polyval" else twist(b, H, kernel.bit_order)
