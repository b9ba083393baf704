"""Rows for loads, stores and transfers between registers: whole vectors, halves, elements, masks.

Intel SDM vol. 2. A masked load or store touches only the enabled elements: the others neither fault
nor change (vol. 1, 15.6.3).
"""

import re
from collections.abc import Iterator

from iced_x86 import Instruction, MemorySizeExt, OpCodeInfo, OpKind

from ghashgen.verify.core.term import MASK64, MASK128, Lane
from ghashgen.verify.machine.machine import Machine, Step
from ghashgen.verify.x86_64 import operands as ops
from ghashgen.verify.x86_64.machine import (
    Builder,
    Rows,
    is_mask,
    is_vector,
    mask_index,
    vector_index,
)
from ghashgen.verify.x86_64.rows.vector import SIZES


def enabled_runs(m: Machine, mask: int, lanes: int, size: int) -> Iterator[tuple[int, int, int]]:
    """Yield (lane, start byte, byte count) of runs of enabled elements of `size` bytes."""
    count = 16 // size
    enabled = f"{ops.mask_elements(m, mask, count * lanes):0{count * lanes}b}"[::-1]
    for k in range(lanes):
        for run in re.finditer("1+", enabled[k * count : (k + 1) * count]):
            yield k, run.start() * size, (run.end() - run.start()) * size


def _move(aligned: bool) -> Builder:
    """Build MOVDQA, MOVDQU and their kin."""

    def build(i: Instruction) -> Step:
        if i.op_kind(0) == OpKind.MEMORY:
            return _store(i, aligned)
        if i.has_op_mask and i.op_kind(1) == OpKind.MEMORY:
            return _masked_load(i, aligned)
        read, write = ops.read_lanes(i, 1, aligned), ops.write_lanes(i)
        return lambda m: write(m, read(m))

    return build


def _store(i: Instruction, aligned: bool) -> Step:
    where, index, lanes = ops.address(i), vector_index(i.op1_register), ops.lanes_of(i, 1)
    align = ops.memory_align(i, lanes, aligned)
    if not i.has_op_mask:
        return lambda m: m.memory.store_lanes(where(m), m.vec[index][:lanes], align)
    mask, size = i.op_mask, ops.element_of(i) // 8

    def masked(m: Machine) -> None:
        start = where(m)
        m.memory.require_aligned(start, align)
        for k, first, count in enabled_runs(m, mask, lanes, size):
            part = m.terms.moves(m.vec[index][k], ((-8 * first, (1 << 8 * count) - 1),))
            m.memory.store(ops._sum(m, start, 16 * k + first), part, count)

    return masked


def _masked_load(i: Instruction, aligned: bool) -> Step:
    where, mask, lanes = ops.address(i), i.op_mask, ops.lanes_of(i, 0)
    write, size = ops.write_lanes(i), ops.element_of(i) // 8
    align = ops.memory_align(i, lanes, aligned)

    def step(m: Machine) -> None:
        start = where(m)
        m.memory.require_aligned(start, align)
        out: list[Lane] = [0] * lanes
        for k, first, count in enabled_runs(m, mask, lanes, size):
            part = ops.to_vector(m, m.memory.load(ops._sum(m, start, 16 * k + first), count))
            ones = (1 << 8 * count) - 1
            out[k] = m.terms.xor(out[k], m.terms.moves(part, ((8 * first, ones << 8 * first),)))
        write(m, out)

    return step


def _low(i: Instruction) -> Step:
    """Build MOVD, MOVQ: the low bits of a register, from it or to it; the rest of it is zero."""
    if i.op_kind(0) != OpKind.REGISTER or not is_vector(i.op0_register):
        return _extract(i)
    write = ops.write_lanes(i)
    if i.op_kind(1) == OpKind.REGISTER and is_vector(i.op1_register):
        index = vector_index(i.op1_register)
        return lambda m: write(m, [m.terms.keep(m.vec[index][0], MASK64)])
    read = ops.read_gpr(i, 1)
    return lambda m: write(m, [ops.to_vector(m, read(m))])


def part_of(i: Instruction) -> int:
    """Return the bits of the one element that a form moves."""
    return 8 * int(MemorySizeExt.size(OpCodeInfo(i.code).memory_size))


def _insert(i: Instruction) -> Step:
    """Build PINSRB/W/D/Q: one element of DEST (VEX: SRC1) is new."""
    source, bits = i.op_count - 2, part_of(i)
    base = vector_index(i.op_register(source - 1))
    read, write = ops.read_gpr(i, source), ops.write_lanes(i)
    at, ones = (ops.immediate(i) & 128 // bits - 1) * bits, (1 << bits) - 1

    def step(m: Machine) -> None:
        t = m.terms
        value = t.moves(ops.to_vector(m, read(m)), ((at, ones << at),))
        write(m, [t.xor(t.keep(m.vec[base][0], MASK128 ^ ones << at), value)])

    return step


def _extract(i: Instruction) -> Step:
    """Build PEXTRB/W/D/Q, MOVD, MOVQ: one element, the lowest without an immediate.

    A register gets it zero-extended.
    """
    index, bits, write = vector_index(i.op1_register), part_of(i), ops.write_gpr(i)
    number = ops.immediate(i) & 128 // bits - 1 if i.op_count > 2 else 0
    move = ((-number * bits, (1 << bits) - 1),)
    return lambda m: write(m, m.terms.moves(m.vec[index][0], move))


def _mask_move(bits: int) -> Builder:
    """Build KMOV: between mask registers, from memory, from and to a general register."""

    def build(i: Instruction) -> Step:
        to_mask = is_mask(i.op0_register)
        write = ops.write_mask(i, bits) if to_mask else ops.write_gpr(i)
        if i.op_kind(1) == OpKind.REGISTER and is_mask(i.op1_register):
            source = mask_index(i.op1_register)
            return lambda m: write(m, ops.narrow(m, m.mask[source], bits))
        read = ops.read_gpr(i, 1)
        return lambda m: write(m, read(m))

    return build


def _mask_xor(bits: int) -> Builder:
    """Build KXOR: a register and itself are 0, whatever it holds."""

    def build(i: Instruction) -> Step:
        first, second = (mask_index(i.op_register(k)) for k in (1, 2))
        write = ops.write_mask(i, bits)

        def step(m: Machine) -> None:
            a, b = (ops.as_lane(m.mask[k], m.terms.at) for k in (first, second))
            write(m, 0 if first == second else m.terms.xor(a, b))

        return step

    return build


def _clear_upper(i: Instruction) -> Step:
    """Build VZEROUPPER: registers 0 to 15 only (SDM vol. 2C)."""

    def step(m: Machine) -> None:
        for k in range(16):
            m.vec[k] = (m.vec[k][0], 0, 0, 0)
        m.upper_dirty = False

    return step


ROWS: Rows = {
    "MOVDQA MOVAPS MOVAPD VMOVDQA32 VMOVDQA64": _move(True),
    "MOVDQU MOVUPS MOVUPD LDDQU VMOVDQU8 VMOVDQU16 VMOVDQU32 VMOVDQU64": _move(False),
    "MOVD MOVQ": _low,
    "PINSRB PINSRW PINSRD PINSRQ": _insert,
    "PEXTRB PEXTRW PEXTRD PEXTRQ": _extract,
    **{f"KMOV{letter}": _mask_move(bits) for letter, bits in SIZES.items()},
    **{f"KXOR{letter}": _mask_xor(bits) for letter, bits in SIZES.items()},
    "VZEROUPPER": _clear_upper,
}
