"""Operands of decoded instructions as small functions on the machine: addresses, reads, writes.

Rules for all vector instructions are only here. Legacy encodings keep the bits above 127 and demand
16-byte alignment. VEX and EVEX encodings zero the bits above the vector length (SDM vol. 1, 14.1.1
and 15.5). EVEX masks merge or zero by element (SDM vol. 1, 15.6.4).
"""

from collections.abc import Callable, Sequence

import iced_x86 as iced

from ghashgen.verify.core.numbers import times
from ghashgen.verify.core.refutation import Category, Refutation, unsupported
from ghashgen.verify.core.term import MASK128, Lane, Term, secret
from ghashgen.verify.core.values import M64, Linear, Pointer, Value
from ghashgen.verify.machine.machine import Machine
from ghashgen.verify.x86_64.machine import gpr_index, mask_index, vector_index

Read = Callable[[Machine], Value]
Write = Callable[[Machine, Value], None]
ReadLanes = Callable[[Machine], Sequence[Lane]]
WriteLanes = Callable[[Machine, Sequence[Lane]], None]

NO_REGISTER = int(iced.Register.NONE)


def same_register(i: iced.Instruction, first: int, second: int) -> bool:
    """Return whether two operands are one register."""
    return (
        i.op_kind(first) == iced.OpKind.REGISTER
        and i.op_kind(second) == iced.OpKind.REGISTER
        and i.op_register(first) == i.op_register(second)
    )


def bits_of(i: iced.Instruction, op: int) -> int:
    """Return the bits of an operand; an immediate has those of the first one."""
    kind = i.op_kind(op)
    if kind == iced.OpKind.REGISTER:
        return 8 * int(iced.RegisterExt.size(i.op_register(op)))
    if kind == iced.OpKind.MEMORY:
        return 8 * int(iced.MemorySizeExt.size(i.memory_size))
    return bits_of(i, 0)


def lanes_of(i: iced.Instruction, op: int) -> int:
    """Return the lanes of a vector operand."""
    return bits_of(i, op) // 128


def as_lane(value: Value, at: int) -> Lane:
    """Return a value that enters a vector register."""
    if isinstance(value, int | Term):
        return value
    raise unsupported("a pointer or an unknown length in a vector register", at)


def to_vector(m: Machine, value: Value) -> Lane:
    """Return a general register's value for a vector register; it may have unknowns."""
    if isinstance(value, Linear):
        return m.terms.number(value, m.facts)
    return as_lane(value, m.terms.at)


def scale_value(m: Machine, value: Value, factor: int) -> Value:
    """Return value·factor for a factor of 1, 2, 4 or 8."""
    if factor == 1:
        return value
    if isinstance(value, int | Linear):
        return m.facts.reduced(times(value, factor), 64)
    raise unsupported("a scaled pointer or secret", m.terms.at)


def _address_register(register: int) -> int | None:
    if register == NO_REGISTER:
        return None
    if not iced.Register.RAX <= register <= iced.Register.R15:
        raise unsupported("an address of 32 bits")
    return gpr_index(register)


def address(i: iced.Instruction) -> Read:
    """Return the effective address of the memory operand."""
    if i.is_ip_rel_memory_operand:
        at = int(i.ip)
        return lambda m: m.memory.image.operands[at]
    displacement, scale = i.memory_displacement & M64, i.memory_index_scale
    base, index = _address_register(i.memory_base), _address_register(i.memory_index)

    def both(m: Machine) -> Value:
        total: Value = displacement
        if base is not None:
            total = _sum(m, m.gpr[base], total)
        if index is not None:
            total = _sum(m, total, scale_value(m, m.gpr[index], scale))
        return total

    return both


def _sum(m: Machine, a: Value, b: Value) -> Value:
    if b == 0:
        return a
    found = [value for value in (a, b) if isinstance(value, Term)]
    if len(found) == 2:
        return m.terms.opaque("a sum of two registers", *found, mask=M64)
    if found:
        # Memory.locate checks whether that is a secret or a caller's leftover.
        return found[0]
    out = m.facts.add(a, b)
    if out is None:
        raise unsupported("an address from two pointers", m.terms.at)
    return out


def memory_align(i: iced.Instruction, lanes: int, aligned: bool | None) -> int:
    """Return the alignment in bytes that a memory operand needs.

    `aligned` gives it outright (MOVDQA, MOVDQU). None means the rule for arithmetic: 16 bytes in
    legacy encodings, none in VEX and EVEX (SDM vol. 1, 14.9).
    """
    if aligned is None:
        return 16 if i.encoding == iced.EncodingKind.LEGACY else 1
    return 16 * lanes if aligned else 1


def read_lanes(i: iced.Instruction, op: int, aligned: bool | None = None) -> ReadLanes:
    """Return a reader of a vector register or memory operand."""
    if i.op_kind(op) == iced.OpKind.REGISTER:
        index, lanes = vector_index(i.op_register(op)), lanes_of(i, op)
        return lambda m: m.vec[index][:lanes]
    where = address(i)
    lanes = lanes_of(i, op)
    align = memory_align(i, lanes, aligned)

    def load(m: Machine) -> Sequence[Lane]:
        values = m.memory.load_lanes(where(m), lanes, align)
        return [as_lane(value, m.terms.at) for value in values]

    return load


def mask_elements(m: Machine, register: int, count: int) -> int:
    """Return the low `count` bits of a mask register, which must be a known number."""
    value = m.mask[mask_index(register)]
    if isinstance(value, int):
        return value & (1 << count) - 1
    if isinstance(value, Term) and not secret(value):
        raise Refutation(Category.FUNCTION, "a mask that the caller left", at=m.terms.at)
    raise unsupported("a mask that is not a known number", m.terms.at)


def element_mask(elements: int, first: int, element_bits: int) -> int:
    """Return the 128-bit mask of a lane whose first element has index `first`."""
    out = 0
    for k in range(128 // element_bits):
        if elements >> first + k & 1:
            out |= ((1 << element_bits) - 1) << k * element_bits
    return out


def element_of(i: iced.Instruction) -> int:
    """Return the bits of an element of a form: what one bit of its mask stands for."""
    return 8 * int(iced.MemorySizeExt.element_size(iced.OpCodeInfo(i.code).memory_size))


def write_lanes(i: iced.Instruction) -> WriteLanes:
    """Return a writer of the vector register that is operand 0."""
    index, lanes = vector_index(i.op0_register), lanes_of(i, 0)
    if i.encoding == iced.EncodingKind.LEGACY:

        def legacy(m: Machine, values: Sequence[Lane]) -> None:
            m.vec[index] = (values[0], *m.vec[index][1:])

        return legacy
    zeros = (0,) * (4 - lanes)
    wide = lanes > 1 and index < 16

    def whole(m: Machine, values: Sequence[Lane]) -> None:
        m.vec[index] = (*values, *zeros)
        if wide:
            m.upper_dirty = True

    if not i.has_op_mask:
        return whole
    zeroing, register, element_bits = i.zeroing_masking, i.op_mask, element_of(i)
    per_lane = 128 // element_bits

    def masked(m: Machine, values: Sequence[Lane]) -> None:
        t = m.terms
        elements = mask_elements(m, register, per_lane * lanes)
        out = []
        for k, value in enumerate(values):
            keep = element_mask(elements, k * per_lane, element_bits)
            lane = t.keep(value, keep)
            if not zeroing:
                lane = t.xor(lane, t.keep(m.vec[index][k], MASK128 ^ keep))
            out.append(lane)
        whole(m, out)

    return masked


def write_mask(i: iced.Instruction, bits: int) -> Write:
    """Return a writer of the mask register in operand 0: `bits` bits, the others zero.

    SDM vol. 2A, KMOV and following: "the upper bits are zeroed".
    """
    index = mask_index(i.op0_register)

    def whole(m: Machine, value: Value) -> None:
        m.mask[index] = narrow(m, value, bits)

    return whole


def immediate(i: iced.Instruction) -> int:
    """Return the 8-bit immediate in the last operand."""
    return int(i.immediate(i.op_count - 1)) & 0xFF


def read_gpr(i: iced.Instruction, op: int, bits: int = 0) -> Read:
    """Return a reader of a general operand (register, memory, immediate): its bits, or so many."""
    kind, bits = i.op_kind(op), bits or bits_of(i, op)
    mask = (1 << bits) - 1
    if kind == iced.OpKind.REGISTER:
        index = gpr_index(i.op_register(op))
        if bits == 64:
            return lambda m: m.gpr[index]
        return lambda m: narrow(m, m.gpr[index], bits)
    if kind == iced.OpKind.MEMORY:
        where = address(i)
        return lambda m: m.memory.load(where(m), bits // 8)
    value = int(i.immediate(op)) & mask
    return lambda m: value


def narrow(m: Machine, value: Value, bits: int) -> Value:
    """Return the low bits of a value."""
    if isinstance(value, int | Linear):
        return m.facts.reduced(value, bits)
    if isinstance(value, Term):
        return m.terms.keep(value, (1 << bits) - 1)
    if bits == 64:
        return value
    raise unsupported("the low bits of an address", m.terms.at)


def write_gpr(i: iced.Instruction) -> Write:
    """Return a writer of the general register or memory operand that is operand 0.

    A 32-bit write zeroes the upper half; 8- and 16-bit writes keep the rest (SDM vol. 1, 3.4.1.1).
    Values are narrowed to the operand's bits here, for every row.
    """
    bits = bits_of(i, 0)
    if i.op_kind(0) == iced.OpKind.MEMORY:
        where = address(i)
        return lambda m, value: m.memory.store(where(m), narrow(m, value, bits), bits // 8)
    index = gpr_index(i.op0_register)
    if bits >= 32:

        def whole(m: Machine, value: Value) -> None:
            m.gpr[index] = narrow(m, value, bits)

        return whole
    low = (1 << bits) - 1

    def merged(m: Machine, value: Value) -> None:
        old = m.gpr[index]
        if isinstance(old, int) and isinstance(value, int):
            m.gpr[index] = old & ~low | value & low
            return
        t, at = m.terms, m.terms.at
        if isinstance(old, Linear | Pointer):
            old = t.lost("the upper bits of a length or an address", False, 64)
        rest = t.keep(old, M64 ^ low)
        # A sum with a named block has all bits of that block.
        m.gpr[index] = narrow(m, t.beside(rest, t.keep(as_lane(value, at), low)), 64)

    return merged
