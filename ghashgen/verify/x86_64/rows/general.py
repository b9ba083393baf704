"""Rows for general registers: moves, addition, logic, shifts. Intel SDM vol. 2, by mnemonic.

`ghashgen.verify.core.linear` defines the arithmetic of numbers and addresses. On secrets, only
operations that are linear over GF(2) have a meaning here; the rest becomes opaque.
"""

from collections.abc import Iterator
from dataclasses import replace

from iced_x86 import Instruction, OpKind

from ghashgen.verify.core.moves import byte_moves
from ghashgen.verify.core.refutation import unsupported
from ghashgen.verify.core.term import Lane, Term, same_value
from ghashgen.verify.core.values import M64, Linear, Pointer, UndecidedError, Value
from ghashgen.verify.machine.flags import Flag, Flags, of_difference, of_result, of_sum, undefined
from ghashgen.verify.machine.machine import Machine, Step
from ghashgen.verify.machine.regions import mask_pointer
from ghashgen.verify.x86_64 import operands as ops
from ghashgen.verify.x86_64.conditions import CONDITIONS
from ghashgen.verify.x86_64.machine import Builder, Row, row_of
from ghashgen.verify.x86_64.rows import lane as on


def sum_values(m: Machine, a: Value, b: Value, bits: int = 64) -> Value:
    """Return a + b modulo 2^bits; opaque if a secret enters."""
    if isinstance(a, Term) or isinstance(b, Term):
        if isinstance(a, int | Term) and isinstance(b, int | Term):
            mask_a = a.mask if isinstance(a, Term) else a
            mask_b = b.mask if isinstance(b, Term) else b
            if not mask_a & mask_b:
                return m.terms.xor(a, b)
        return m.terms.opaque("an addition of secrets", a, b, mask=(1 << bits) - 1)
    out = m.facts.add(a, b, bits)
    if out is None:
        raise unsupported("an addition of two addresses", m.terms.at)
    return out


def _difference(m: Machine, a: Value, b: Value, bits: int) -> Value:
    if isinstance(a, Term) or isinstance(b, Term):
        if same_value(a, b):
            return 0
        return m.terms.opaque("a subtraction of secrets", a, b, mask=(1 << bits) - 1)
    out = m.facts.subtract(a, b, bits)
    if out is None:
        raise unsupported("a difference of addresses in different buffers", m.terms.at)
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


def _arithmetic(m: Machine, name: str, a: Value, b: Value, bits: int) -> tuple[Value, Flags]:
    """Return an instruction's result for two operands, and the flags that it sets."""
    if name == "add":
        return sum_values(m, a, b, bits), of_sum(m.facts, a, b, bits)
    if name == "sub":
        return _difference(m, a, b, bits), of_difference(m.facts, a, b, bits, m.memory.inside)
    result = _logic(m, name, a, b, bits)
    return result, of_result(m.facts, result, bits, False, False, a, b)


def _low_bits(m: Machine, a: Value, mask: Value) -> int | None:
    """Return the bits of a length that a mask of low bits selects, None if they are not known.

    The length may have more bits than the instruction reads.
    """
    if isinstance(a, Linear) and isinstance(mask, int) and not mask & mask + 1:
        return m.facts.low_bits(a, mask.bit_length())
    return None


def _binary(name: str, bits: int, store: bool = True) -> Builder:
    def build(i: Instruction) -> Step:
        read_a, read_b = ops.read_gpr(i, 0, bits), ops.read_gpr(i, 1, bits)
        write = ops.write_gpr(i, 0, bits) if store else None
        same = ops.same_register(i, 0, 1)
        narrow = name == "and" and bits < 64 and i.op_kind(0) == OpKind.REGISTER
        whole = ops.read_gpr(i, 0, 64) if narrow else None

        def step(m: Machine) -> None:
            # XOR and SUB of a register with itself do not depend on its value.
            a: Value | None
            a, b = (0, 0) if same and name in ("xor", "sub") else (None, read_b(m))
            if whole is not None:
                a = _low_bits(m, whole(m), b)
            if a is None:
                a = read_a(m)
            if name == "cmp":
                # The flags are known even for differences that no register could hold.
                m.flags = of_difference(m.facts, a, b, bits, m.memory.inside)
                return
            result, flags = _arithmetic(m, name, a, b, bits)
            if write is not None:
                write(m, result)
            m.flags = flags

        return step

    return build


def _unary(name: str, bits: int) -> Builder:
    """Build NEG, which is 0 - a, and INC and DEC, a + 1 and a - 1 with the carry left alone."""

    def build(i: Instruction) -> Step:
        read, write = ops.read_gpr(i, 0, bits), ops.write_gpr(i, 0, bits)

        def step(m: Machine) -> None:
            first, second = (0, read(m)) if name == "neg" else (read(m), 1)
            sum_or_difference = "add" if name == "inc" else "sub"
            result, flags = _arithmetic(m, sum_or_difference, first, second, bits)
            write(m, result)
            m.flags = flags if name == "neg" else replace(flags, carry=m.flags.carry, at_most=None)

        return step

    return build


def _complement(bits: int) -> Builder:
    def build(i: Instruction) -> Step:
        read, write = ops.read_gpr(i, 0, bits), ops.write_gpr(i, 0, bits)
        ones = (1 << bits) - 1
        return lambda m: write(m, m.terms.xor(ops.as_lane(read(m), m.terms.at), ones))

    return build


SHIFTS: dict[str, on.Shift] = {
    "shl": on.shift_left,
    "shr": on.shift_right,
    "sar": on.shift_signed,
    "rol": on.rotate_left,
    "ror": lambda t, a, count, bits: on.rotate_left(t, a, -count, bits),
}
"""What a shift does to one element; here a lane has only one."""


def shift_value(m: Machine, name: str, a: Value, count: int, bits: int) -> Value:
    """Return a shifted or rotated by a known count."""
    if isinstance(a, int | Term):
        lane = ops.as_lane(ops.narrow(m, a, bits), m.terms.at)
        return SHIFTS[name](m.terms, lane, count, bits)
    if count == 0:
        return a
    if isinstance(a, Linear) and count < bits:
        if name == "shr" or (name == "sar" and m.facts.bit(a, bits - 1) is False):
            return m.facts.shift_right(a, count)
        if name == "shl":
            return m.facts.shift_left(a, count, bits)
    raise unsupported(f"{name.upper()} of an address", m.terms.at)


def known_count(m: Machine, count: Value, bits: int) -> int:
    """Return a shift count modulo the operand size (SDM vol. 2B, SAL/SAR/SHL/SHR)."""
    if isinstance(count, int):
        return count & (63 if bits == 64 else 31)
    if isinstance(count, Linear):
        return m.facts.known(count) & (63 if bits == 64 else 31)
    raise unsupported("a shift by an unknown count", m.terms.at)


def _shift(name: str, bits: int, flags: bool) -> Builder:
    def build(i: Instruction) -> Step:
        at_source = 1 if not flags else 0
        read = ops.read_gpr(i, at_source, bits)
        read_count = ops.read_gpr(i, at_source + 1, 8 if flags else bits)
        write = ops.write_gpr(i, 0, bits)

        def step(m: Machine) -> None:
            a = read(m)
            count = known_count(m, read_count(m), bits)
            result = shift_value(m, name, a, count, bits)
            write(m, result)
            if not flags or not count:
                return
            if name in ("rol", "ror"):
                # Only CF and OF change.
                out = undefined(a)
                m.flags = replace(m.flags, carry=out, overflow=out, at_most=None, less=None)
                return
            carry = _shifted_out(m, name, a, count, bits)
            m.flags = of_result(m.facts, result, bits, carry, undefined(a), a)

        return step

    return build


def _shifted_out(m: Machine, name: str, a: Value, count: int, bits: int) -> Flag:
    """Return the last bit shifted out; undefined beyond the operand (SDM vol. 2B, SAL/SAR/SHL)."""
    if isinstance(a, int | Linear) and count < bits:
        out = m.facts.bit(a, bits - count if name == "shl" else count - 1)
        if out is not None:
            return out
    return undefined(a)


def _move(bits: int, source_bits: int | None = None) -> Builder:
    def build(i: Instruction) -> Step:
        read, write = ops.read_gpr(i, 1, source_bits or bits), ops.write_gpr(i, 0, bits)

        def step(m: Machine) -> None:
            write(m, read(m))

        return step

    return build


def _move_signed(bits: int, source_bits: int) -> Builder:
    """Build MOVSX and MOVSXD: the upper bits are copies of the source's sign."""
    low, sign = (1 << source_bits) - 1, source_bits - 1
    moves = ((0, low), *((k - sign, 1 << k) for k in range(source_bits, bits)))

    def build(i: Instruction) -> Step:
        read, write = ops.read_gpr(i, 1, source_bits), ops.write_gpr(i, 0, bits)

        def step(m: Machine) -> None:
            a = read(m)
            if isinstance(a, int | Term):
                write(m, m.terms.moves(a, moves))
                return
            extended = m.facts.as_signed(a, source_bits) if isinstance(a, Linear) else None
            if extended is None:
                raise UndecidedError("the sign of a length with an unknown, or of an address")
            write(m, m.facts.reduced(extended, bits))

        return step

    return build


def _swap_bytes(bits: int, op: int) -> Builder:
    sources = tuple(bits // 8 - 1 - k if k < bits // 8 else -1 for k in range(16))
    moves = byte_moves(sources)

    def build(i: Instruction) -> Step:
        read, write = ops.read_gpr(i, op, bits), ops.write_gpr(i, 0, bits)

        def step(m: Machine) -> None:
            # For a number with an unknown: its bits, and where each one goes.
            lane: Lane = ops.to_vector(m, read(m))
            write(m, m.terms.moves(lane, moves))

        return step

    return build


def _lea(bits: int) -> Builder:
    def build(i: Instruction) -> Step:
        where, write = ops.address(i), ops.write_gpr(i, 0, bits)

        def step(m: Machine) -> None:
            value = where(m)
            if isinstance(value, Term):
                value = m.terms.opaque("an address computed from a secret", value, mask=M64)
            write(m, value)

        return step

    return build


def _conditional_move(bits: int, condition: str) -> Builder:
    test = CONDITIONS[condition]

    def build(i: Instruction) -> Step:
        read, old = ops.read_gpr(i, 1, bits), ops.read_gpr(i, 0, bits)
        write = ops.write_gpr(i, 0, bits)

        def step(m: Machine) -> None:
            # A 32-bit CMOV zeroes the upper half even when it does not move (SDM vol. 2A).
            source = read(m)
            write(m, source if test(m) else old(m))

        return step

    return build


def _set(condition: str) -> Builder:
    test = CONDITIONS[condition]

    def build(i: Instruction) -> Step:
        write = ops.write_gpr(i, 0, 8)
        return lambda m: write(m, int(test(m)))

    return build


def _bzhi(bits: int) -> Builder:
    def build(i: Instruction) -> Step:
        read, read_count = ops.read_gpr(i, 1, bits), ops.read_gpr(i, 2, bits)
        write = ops.write_gpr(i, 0, bits)

        def step(m: Machine) -> None:
            a, count = read(m), read_count(m)
            if not isinstance(count, int):
                if not isinstance(count, Linear):
                    raise UndecidedError("BZHI by a secret or an address")
                count = m.facts.known(count)
            count &= 0xFF
            result = _logic(m, "and", a, (1 << min(count, bits)) - 1, bits)
            write(m, result)
            m.flags = of_result(m.facts, result, bits, count > bits - 1, False, a)

        return step

    return build


def _rows() -> Iterator[Row]:
    for bits in (8, 16, 32, 64):
        r, rm = f"R{bits}", f"RM{bits}"
        imm = f"IMM{min(bits, 32)}"
        accumulator = {8: "AL", 16: "AX", 32: "EAX", 64: "RAX"}[bits]
        for name in ("add", "sub", "cmp", "and", "or", "xor"):
            forms = [f"{rm}_{r}", f"{r}_{rm}", f"{rm}_{imm}", f"{accumulator}_{imm}"]
            if bits > 8:
                forms.append(f"{rm}_IMM8")
            for form in forms:
                yield row_of(f"{name.upper()}_{form}", _binary(name, bits), name.upper())
        for form in (f"{rm}_{r}", f"{rm}_{imm}", f"{accumulator}_{imm}"):
            yield row_of(f"TEST_{form}", _binary("and", bits, store=False), "TEST")
        yield row_of(f"NOT_{rm}", _complement(bits), "NOT")
        for name in ("inc", "dec", "neg"):
            yield row_of(f"{name.upper()}_{rm}", _unary(name, bits), name.upper())
        for form in (f"{rm}_{r}", f"{r}_{rm}", f"{rm}_{imm}", f"{r}_IMM{bits}"):
            yield row_of(f"MOV_{form}", _move(bits), "MOV")
        for name in ("shl", "shr", "sar", "rol", "ror"):
            for count in ("IMM8", "1", "CL"):
                manual = "SAL/SAR/SHL/SHR" if name[0] == "s" else "RCL/RCR/ROL/ROR"
                yield row_of(f"{name.upper()}_{rm}_{count}", _shift(name, bits, flags=True), manual)
    for bits in (32, 64):
        r, rm = f"R{bits}", f"RM{bits}"
        yield row_of(f"LEA_{r}_M", _lea(bits), "LEA")
        yield row_of(f"BSWAP_{r}", _swap_bytes(bits, 0), "BSWAP")
        yield row_of(f"MOVBE_{r}_M{bits}", _swap_bytes(bits, 1), "MOVBE")
        yield row_of(f"MOVBE_M{bits}_{r}", _swap_bytes(bits, 1), "MOVBE")
        for source in (8, 16):
            yield row_of(f"MOVZX_{r}_RM{source}", _move(bits, source), "MOVZX")
        for name in ("shlx", "shrx"):
            build = _shift(name[:3], bits, flags=False)
            yield row_of(f"VEX_{name.upper()}_{r}_{rm}_{r}", build, "SARX/SHLX/SHRX")
        yield row_of(f"VEX_BZHI_{r}_{rm}_{r}", _bzhi(bits), "BZHI")
        for condition in CONDITIONS:
            yield row_of(
                f"CMOV{condition.upper()}_{r}_{rm}", _conditional_move(bits, condition), "CMOVcc"
            )
    for condition in CONDITIONS:
        yield row_of(f"SET{condition.upper()}_RM8", _set(condition), "SETcc")
    yield row_of("MOVZX_R16_RM8", _move(16, 8), "MOVZX")
    yield row_of("MOVSXD_R64_RM32", _move_signed(64, 32), "MOVSX/MOVSXD")
    for bits, source in ((16, 8), (32, 8), (64, 8), (32, 16), (64, 16)):
        yield row_of(f"MOVSX_R{bits}_RM{source}", _move_signed(bits, source), "MOVSX/MOVSXD")


ROWS: tuple[Row, ...] = tuple(_rows())
