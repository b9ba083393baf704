"""Rows for products of general registers. Intel SDM vol. 2A, IMUL."""

from collections.abc import Iterator

from iced_x86 import Instruction

from ghashgen.verify.core.numbers import times
from ghashgen.verify.core.term import Term
from ghashgen.verify.core.values import Linear, UndecidedError, Value, signed
from ghashgen.verify.machine.flags import of_product
from ghashgen.verify.machine.machine import Machine, Step
from ghashgen.verify.x86_64 import operands as ops
from ghashgen.verify.x86_64.machine import Builder, Row, row_of


def _product(m: Machine, a: Value, b: Value, bits: int) -> Value:
    """Return a·b modulo 2^bits; opaque if a secret enters."""
    if isinstance(a, Term) or isinstance(b, Term):
        if a == 0 or b == 0:
            return 0
        return m.terms.opaque("a product of secrets", a, b, mask=(1 << bits) - 1)
    if isinstance(a, int):
        a, b = b, a
    if isinstance(a, int | Linear) and isinstance(b, int):
        return m.facts.reduced(times(a, signed(b, bits)), bits)
    raise UndecidedError("a product of addresses, or of two lengths with an unknown")


def _multiply(bits: int) -> Builder:
    """Build IMUL of two operands, or of a source and an immediate (SDM vol. 2A)."""

    def build(i: Instruction) -> Step:
        # Without an immediate the first operand is a factor, too.
        first = 1 if i.op_count == 3 else 0
        read_a, read_b = ops.read_gpr(i, first, bits), ops.read_gpr(i, first + 1, bits)
        write = ops.write_gpr(i, 0, bits)

        def step(m: Machine) -> None:
            a, b = read_a(m), read_b(m)
            write(m, _product(m, a, b, bits))
            if isinstance(a, int):
                a, b = b, a
            m.flags = of_product(m.facts, a, b, bits)

        return step

    return build


def _rows() -> Iterator[Row]:
    for bits in (16, 32, 64):
        r, rm = f"R{bits}", f"RM{bits}"
        for form in (f"{r}_{rm}", f"{r}_{rm}_IMM8", f"{r}_{rm}_IMM{min(bits, 32)}"):
            yield row_of(f"IMUL_{form}", _multiply(bits), "IMUL")


ROWS: tuple[Row, ...] = tuple(_rows())
