"""Rows for general registers: moves, arithmetic, logic, shifts. Intel SDM vol. 2, by mnemonic.

`ghashgen.verify.core.linear` defines the arithmetic of numbers and addresses. On secrets, only
operations that are linear over GF(2) have a meaning here; the rest becomes opaque.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from iced_x86 import Instruction, OpKind

from ghashgen.verify.core.moves import byte_moves
from ghashgen.verify.core.numbers import times
from ghashgen.verify.core.refutation import unsupported
from ghashgen.verify.core.term import Term, mask_of, same_value
from ghashgen.verify.core.values import M64, Linear, Pointer, UndecidedError, Value
from ghashgen.verify.machine.flags import Flag, Flags, of_difference, of_result, of_sum, undefined
from ghashgen.verify.machine.machine import Machine, Step
from ghashgen.verify.machine.regions import mask_pointer
from ghashgen.verify.x86_64 import operands as ops
from ghashgen.verify.x86_64.conditions import CONDITIONS
from ghashgen.verify.x86_64.machine import Builder, Rows
from ghashgen.verify.x86_64.rows import lane as on

Result = tuple[Value, Flags | None]
"""What an instruction writes, and the flags if it sets them."""

Operation = Callable[..., Result]
"""From the machine, the bits of the result, and the last operands."""


def row(
    function: Operation,
    count: int = 1,
    *,
    store: bool = True,
    idiom: bool = False,
    whole: bool = False,
) -> Builder:
    """Build DEST := function(machine, bits, the last `count` operands).

    `idiom`: a register and itself are as good as 0 and 0. `whole`: the first operand has all bits
    of its register.
    """

    def build(i: Instruction) -> Step:
        bits, first = ops.bits_of(i, 0), i.op_count - count
        reads = [ops.read_gpr(i, k) for k in range(first, i.op_count)]
        if whole and i.op_kind(first) == OpKind.REGISTER:
            reads[0] = ops.read_gpr(i, first, 64)
        if idiom and ops.same_register(i, 0, 1):
            reads = [lambda m: 0] * count
        write = ops.write_gpr(i) if store else None

        def step(m: Machine) -> None:
            result, flags = function(m, bits, *[read(m) for read in reads])
            if write is not None:
                write(m, result)
            if flags is not None:
                m.flags = flags

        return step

    return build


def total(m: Machine, a: Value, b: Value, bits: int = 64, sign: int = 1) -> Value:
    """Return a + sign·b modulo 2^bits; opaque if a secret enters, unless nothing can carry."""
    if isinstance(a, Term) or isinstance(b, Term):
        if sign < 0 and same_value(a, b):
            return 0
        lanes = isinstance(a, int | Term) and isinstance(b, int | Term)
        if sign > 0 and lanes and not mask_of(a) & mask_of(b):  # type: ignore[arg-type]
            return m.terms.xor(a, b)  # type: ignore[arg-type]
        return m.terms.opaque("an addition of secrets", a, b, mask=(1 << bits) - 1)
    out = m.facts.add(a, b, bits, sign)
    if out is None:
        raise unsupported("a sum or a difference of these addresses", m.terms.at)
    return out


def _logic(m: Machine, name: str, a: Value, b: Value, bits: int) -> Value:
    mask = (1 << bits) - 1
    if isinstance(a, int) and isinstance(b, int):
        return {"and": a & b, "or": a | b, "xor": a ^ b}[name] & mask
    if name in ("and", "or") and isinstance(a, Linear | Pointer) and a == b:
        return a
    if isinstance(a, Term) or isinstance(b, Term):
        first, second = ops.as_lane(a, m.terms.at), ops.as_lane(b, m.terms.at)
        t = m.terms
        return {"and": t.both, "or": t.either, "xor": t.xor}[name](first, second)
    if isinstance(b, Linear | Pointer) and isinstance(a, int):
        a, b = b, a
    if name == "and" and isinstance(b, int):
        if isinstance(a, Linear):
            return m.facts.mask_number(a, b, bits)
        if isinstance(a, Pointer):
            region = m.memory.regions.get(a.region)
            if region is not None:
                return Pointer(a.region, mask_pointer(region, a.offset, b))
    if name in ("or", "xor") and b == 0:
        return a
    raise UndecidedError(f"{name.upper()} of an address or of a length with an unknown")


def _add(m: Machine, bits: int, a: Value, b: Value) -> Result:
    return total(m, a, b, bits), of_sum(m.facts, a, b, bits)


def _subtract(m: Machine, bits: int, a: Value, b: Value) -> Result:
    return total(m, a, b, bits, -1), _compare(m, bits, a, b)[1]


def _compare(m: Machine, bits: int, a: Value, b: Value) -> Result:
    """CMP: the flags are known even for differences that no register could hold."""
    return 0, of_difference(m.facts, a, b, bits, m.memory.inside)


def _bitwise(name: str, m: Machine, bits: int, a: Value, b: Value) -> Result:
    result = _logic(m, name, a, b, bits)
    return result, of_result(m.facts, result, bits, False, False, a, b)


def _and(m: Machine, bits: int, a: Value, b: Value) -> Result:
    """AND, TEST. Of a length with more bits than are read, the lowest may be known."""
    if isinstance(a, Linear) and isinstance(b, int) and bits < 64 and not b & b + 1:
        return _bitwise("and", m, bits, m.facts.low_bits(a, b.bit_length()), b)
    return _bitwise("and", m, bits, ops.narrow(m, a, bits), b)


def _negate(m: Machine, bits: int, a: Value) -> Result:
    return _subtract(m, bits, 0, a)


def _by_one(change: Operation, m: Machine, bits: int, a: Value) -> Result:
    """INC, DEC: the carry is left alone."""
    result, flags = change(m, bits, a, 1)
    assert flags is not None
    return result, replace(flags, carry=m.flags.carry, at_most=None)


def _move(m: Machine, bits: int, a: Value) -> Result:
    return a, None


def _complement(m: Machine, bits: int, a: Value) -> Result:
    return m.terms.xor(ops.as_lane(a, m.terms.at), (1 << bits) - 1), None


def _swap_bytes(m: Machine, bits: int, a: Value) -> Result:
    """BSWAP. For a number with an unknown: its bits, and where each one goes."""
    sources = tuple(bits // 8 - 1 - k if k < bits // 8 else -1 for k in range(16))
    return m.terms.moves(ops.to_vector(m, a), byte_moves(sources)), None


def _lea(i: Instruction) -> Step:
    where, write = ops.address(i), ops.write_gpr(i)

    def step(m: Machine) -> None:
        value = where(m)
        if isinstance(value, Term):
            value = m.terms.opaque("an address computed from a secret", value, mask=M64)
        write(m, value)

    return step


def _set(condition: str) -> Builder:
    test = CONDITIONS[condition]
    return row(lambda m, bits: (int(test(m)), None), 0)


SHIFTS: dict[str, on.Shift] = {"shl": on.shift_left, "shr": on.shift_right, "rol": on.rotate_left}
"""What a shift does to one element; here a lane has only one."""


def shift_value(m: Machine, name: str, a: Value, count: int, bits: int) -> Value:
    """Return a shifted or rotated by a known count."""
    if isinstance(a, int | Term):
        lane = ops.as_lane(ops.narrow(m, a, bits), m.terms.at)
        return SHIFTS[name](m.terms, lane, count, bits)
    if count == 0:
        return a
    if isinstance(a, Linear) and count < bits:
        if name == "shr":
            return m.facts.shift_right(a, count)
        if name == "shl":
            return m.facts.reduced(times(a, 1 << count), bits)
    raise unsupported(f"{name.upper()} of an address", m.terms.at)


def known_count(m: Machine, count: Value, bits: int) -> int:
    """Return a shift count modulo the operand size (SDM vol. 2B, SAL/SAR/SHL/SHR)."""
    if isinstance(count, int | Linear):
        return m.facts.known(count, m.at) & (63 if bits == 64 else 31)
    raise unsupported("a shift by an unknown count", m.at)


def _shift(name: str, m: Machine, bits: int, a: Value, by: Value) -> Result:
    count = known_count(m, by, bits)
    result = shift_value(m, name, a, count, bits)
    if not count:
        return result, None
    if name == "rol":
        # Only CF and OF change.
        out = undefined(a)
        return result, replace(m.flags, carry=out, overflow=out, at_most=None, less=None)
    carry = _shifted_out(m, name, a, count, bits)
    return result, of_result(m.facts, result, bits, carry, undefined(a), a)


def _shifted_out(m: Machine, name: str, a: Value, count: int, bits: int) -> Flag:
    """Return the last bit shifted out; undefined beyond the operand (SDM vol. 2B, SAL/SAR/SHL)."""
    if isinstance(a, int | Linear) and count < bits:
        out = m.facts.bit(a, bits - count if name == "shl" else count - 1)
        if out is not None:
            return out
    return undefined(a)


def _bzhi(m: Machine, bits: int, a: Value, by: Value) -> Result:
    if not isinstance(by, int | Linear):
        raise UndecidedError("BZHI by a secret or an address")
    count = m.facts.known(by, m.at) & 0xFF
    result = _logic(m, "and", a, (1 << min(count, bits)) - 1, bits)
    return result, of_result(m.facts, result, bits, count > bits - 1, False, a)


ROWS: Rows = {
    "ADD": row(_add, 2),
    "SUB": row(_subtract, 2, idiom=True),
    "CMP": row(_compare, 2, store=False),
    "AND": row(_and, 2, whole=True),
    "TEST": row(_and, 2, store=False, whole=True),
    "OR": row(partial(_bitwise, "or"), 2),
    "XOR": row(partial(_bitwise, "xor"), 2, idiom=True),
    "NOT": row(_complement),
    "NEG": row(_negate),
    "INC": row(partial(_by_one, _add)),
    "DEC": row(partial(_by_one, _subtract)),
    "MOV MOVZX": row(_move),
    "BSWAP": row(_swap_bytes),
    "LEA": _lea,
    "BZHI": row(_bzhi, 2),
    **{name.upper(): row(partial(_shift, name), 2) for name in SHIFTS},
    **{f"SET{condition.upper()}": _set(condition) for condition in CONDITIONS},
}
