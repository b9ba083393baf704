"""Rows for loads, stores and transfers between registers: whole vectors, halves, elements, masks.

Intel SDM vol. 2. A masked load or store touches only the enabled elements: the others neither fault
nor change (vol. 1, 15.6.3).
"""

from collections.abc import Iterator

from iced_x86 import Instruction, OpKind, Register

from ghashgen.verify.core.refutation import unsupported
from ghashgen.verify.core.term import MASK64, MASK128, Lane
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.core.values import M64
from ghashgen.verify.machine.machine import Machine, Step
from ghashgen.verify.x86_64 import operands as ops
from ghashgen.verify.x86_64.machine import Builder, Row, is_mask, mask_index, row_of, vector_index
from ghashgen.verify.x86_64.rows import lane as on
from ghashgen.verify.x86_64.rows.vector import WIDTHS, build_one, build_two
from ghashgen.verify.x86_64.rows.wide import broadcast


def enabled_runs(elements: int, first: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield (start byte, byte count) of runs of enabled elements in the lane that starts there."""
    start: int | None = None
    for k in range(16 // size + 1):
        on = k < 16 // size and elements >> first + k & 1
        if on and start is None:
            start = k
        elif not on and start is not None:
            yield start * size, (k - start) * size
            start = None


def _move(lanes: int, aligned: bool, size: int) -> Builder:
    """Build MOVDQA, MOVDQU and their kin; `size` is a mask element in bytes."""

    def build(i: Instruction) -> Step:
        masked = i.op_mask != Register.NONE
        if i.op_kind(0) == OpKind.MEMORY:
            return _store(i, lanes, aligned, size if masked else 0)
        if masked and i.op_kind(1) == OpKind.MEMORY:
            return _masked_load(i, lanes, aligned, size)
        read = ops.read_lanes(i, 1, lanes, aligned)
        write = ops.write_lanes(i, lanes, 8 * size)
        return lambda m: write(m, read(m))

    return build


def _store(i: Instruction, lanes: int, aligned: bool, size: int) -> Step:
    where, index = ops.address(i), vector_index(i.op1_register)
    align, mask = 16 * lanes if aligned else 1, i.op_mask

    def step(m: Machine) -> None:
        start = where(m)
        if not size and lanes > 1:
            m.memory.locate(start, 16 * lanes, align, store=True)
        elements = ops.mask_elements(m, mask, 16 // size * lanes) if size else 0
        if size:
            m.memory.require_aligned(start, align)
        for k in range(lanes):
            at = ops._sum(m, start, 16 * k)
            lane = m.vec[index][k]
            if not size:
                m.memory.store(at, lane, 16, align if lanes == 1 else 1)
                continue
            for first, count in enabled_runs(elements, k * 16 // size, size):
                part = m.terms.moves(lane, ((-8 * first, (1 << 8 * count) - 1),))
                m.memory.store(ops._sum(m, at, first), part, count)

    return step


def _masked_load(i: Instruction, lanes: int, aligned: bool, size: int) -> Step:
    where, mask = ops.address(i), i.op_mask
    write, align = ops.write_lanes(i, lanes, 8 * size), 16 * lanes if aligned else 1

    def step(m: Machine) -> None:
        start = where(m)
        elements = ops.mask_elements(m, mask, 16 // size * lanes)
        m.memory.require_aligned(start, align)
        out: list[Lane] = []
        for k in range(lanes):
            lane: Lane = 0
            for first, count in enabled_runs(elements, k * 16 // size, size):
                value = m.memory.load(ops._sum(m, start, 16 * k + first), count)
                part = ops.to_vector(m, value)
                ones = (1 << 8 * count) - 1
                lane = m.terms.xor(lane, m.terms.moves(part, ((8 * first, ones << 8 * first),)))
            out.append(lane)
        write(m, out)

    return step


def _to_vector(bits: int) -> Builder:
    """Build MOVD/MOVQ xmm, r/m and xmm, xmm/m64: the rest of the 128 bits is zero."""

    def build(i: Instruction) -> Step:
        write = ops.write_lanes(i, 1)
        if i.op_kind(1) == OpKind.REGISTER and i.op1_register >= Register.XMM0:
            index = vector_index(i.op1_register)
            return lambda m: write(m, [m.terms.keep(m.vec[index][0], MASK64)])
        read = ops.read_gpr(i, 1, bits)
        keep = (1 << bits) - 1

        def step(m: Machine) -> None:
            write(m, [m.terms.keep(ops.to_vector(m, read(m)), keep)])

        return step

    return build


def _low_half(i: Instruction) -> Step:
    """Build MOVQ xmm/m64, xmm."""
    to_memory = i.op_kind(0) == OpKind.MEMORY
    return _extract(64, 0)(i) if to_memory else _to_vector(64)(i)


def _high_to_low(t: Terms, a: Lane, b: Lane, imm: int) -> Lane:
    """MOVHLPS: DEST low := SRC high."""
    return on.merge(t, a, b, on.elements([3, 1], 8))


def _low_to_both(t: Terms, a: Lane, imm: int) -> Lane:
    """MOVDDUP: both halves of each lane are its low half."""
    return t.bytes(a, on.elements([0, 0], 8))


def _insert(bits: int, element: int | None = None) -> Builder:
    """Build PINSRB/W/D/Q, and MOVLPS/MOVHPS xmm, m64: one element of DEST (VEX: SRC1) is new."""

    def build(i: Instruction) -> Step:
        source = i.op_count - (2 if element is None else 1)
        base = vector_index(i.op_register(source - 1))
        narrow = bits < 32 and i.op_kind(source) == OpKind.REGISTER
        read, write = ops.read_gpr(i, source, 32 if narrow else bits), ops.write_lanes(i, 1)
        number = ops.immediate(i) & 128 // bits - 1 if element is None else element
        at, ones = number * bits, (1 << bits) - 1

        def step(m: Machine) -> None:
            t = m.terms
            value = t.moves(ops.to_vector(m, read(m)), ((at, ones << at),))
            write(m, [t.xor(t.keep(m.vec[base][0], MASK128 ^ ones << at), value)])

        return step

    return build


def _extract(bits: int, element: int | None = None) -> Builder:
    """Build PEXTRB/W/D/Q, and stores of one element; a register gets it zero-extended."""

    def build(i: Instruction) -> Step:
        index = vector_index(i.op1_register)
        width = bits if i.op_kind(0) == OpKind.MEMORY else max(bits, 32)
        write = ops.write_gpr(i, 0, width)
        number = ops.immediate(i) & 128 // bits - 1 if element is None else element
        move = ((-number * bits, (1 << bits) - 1),)
        return lambda m: write(m, m.terms.moves(m.vec[index][0], move))

    return build


def _mask_move(bits: int) -> Builder:
    """Build KMOV: between mask registers, from memory, from and to a general register."""

    def build(i: Instruction) -> Step:
        to_mask = i.op_kind(0) == OpKind.REGISTER and is_mask(i.op0_register)
        # KMOVB and KMOVW name a register of 32 bits.
        general = max(bits, 32)
        write = ops.write_mask(i, bits) if to_mask else ops.write_gpr(i, 0, general)
        if i.op_kind(1) == OpKind.REGISTER and is_mask(i.op1_register):
            source = mask_index(i.op1_register)
            return lambda m: write(m, ops.narrow(m, m.mask[source], bits))
        read = ops.read_gpr(i, 1, bits if i.op_kind(1) == OpKind.MEMORY else general)
        return lambda m: write(m, read(m))

    return build


def _mask_logic(bits: int, name: str) -> Builder:
    def build(i: Instruction) -> Step:
        first, second = (mask_index(i.op_register(k)) for k in (1, 2))
        write = ops.write_mask(i, bits)

        def step(m: Machine) -> None:
            if first == second and name in ("KXNOR", "KXOR"):
                write(m, M64 if name == "KXNOR" else 0)
                return
            a, b = m.mask[first], m.mask[second]
            if not isinstance(a, int) or not isinstance(b, int):
                raise unsupported("mask logic on unknown masks", m.terms.at)
            results = {"KXNOR": M64 ^ a ^ b, "KXOR": a ^ b, "KOR": a | b, "KAND": a & b}
            write(m, results[name])

        return step

    return build


def _mask_shift(bits: int, left: bool) -> Builder:
    def build(i: Instruction) -> Step:
        source, write = mask_index(i.op1_register), ops.write_mask(i, bits)
        count = ops.immediate(i)

        def step(m: Machine) -> None:
            a = ops.narrow(m, m.mask[source], bits)
            if not isinstance(a, int):
                raise unsupported("a shift of a mask that is not a known number", m.terms.at)
            write(m, 0 if count >= bits else a << count if left else a >> count)

        return step

    return build


def _clear_upper(everything: bool) -> Builder:
    """Build VZEROUPPER and VZEROALL: registers 0 to 15 only (SDM vol. 2C)."""

    def build(i: Instruction) -> Step:
        def step(m: Machine) -> None:
            for k in range(16):
                m.vec[k] = (0 if everything else m.vec[k][0], 0, 0, 0)
            m.upper_dirty = False

        return step

    return build


WHOLE = (
    ("MOVDQA", True), ("MOVDQU", False), ("MOVAPS", True), ("MOVUPS", False),
    ("MOVAPD", True), ("MOVUPD", False),
)  # fmt: skip

WHOLE_EVEX = (
    ("VMOVDQA32", True, 4), ("VMOVDQA64", True, 8), ("VMOVDQU8", False, 1),
    ("VMOVDQU16", False, 2), ("VMOVDQU32", False, 4), ("VMOVDQU64", False, 8),
    ("VMOVAPS", True, 4), ("VMOVUPS", False, 4),
)  # fmt: skip


def _rows() -> Iterator[Row]:
    for mnemonic, aligned in WHOLE:
        for form in ("XMM_XMMM128", "XMMM128_XMM"):
            yield row_of(f"{mnemonic}_{form}", _move(1, aligned, 8), mnemonic)
        for lanes, (r, bits) in zip((1, 2), WIDTHS[:2], strict=True):
            for form in (f"{r}_{r}M{bits}", f"{r}M{bits}_{r}"):
                yield row_of(f"VEX_V{mnemonic}_{form}", _move(lanes, aligned, 8), mnemonic)
    for mnemonic, aligned, size in WHOLE_EVEX:
        for lanes, (r, bits) in zip((1, 2, 4), WIDTHS, strict=True):
            for form in (f"{r}_K1Z_{r}M{bits}", f"{r}M{bits}_K1Z_{r}"):
                yield row_of(f"EVEX_{mnemonic}_{form}", _move(lanes, aligned, size), mnemonic[1:])
    yield row_of("LDDQU_XMM_M128", _move(1, False, 8), "LDDQU")
    yield row_of("VEX_VLDDQU_XMM_M128", _move(1, False, 8), "LDDQU")
    for prefix in ("", "VEX_V", "EVEX_V"):
        yield row_of(f"{prefix}MOVD_XMM_RM32", _to_vector(32), "MOVD/MOVQ")
        yield row_of(f"{prefix}MOVQ_XMM_RM64", _to_vector(64), "MOVD/MOVQ")
        yield row_of(f"{prefix}MOVQ_XMM_XMMM64", _to_vector(64), "MOVQ")
        yield row_of(f"{prefix}MOVD_RM32_XMM", _extract(32, 0), "MOVD/MOVQ")
        yield row_of(f"{prefix}MOVQ_RM64_XMM", _extract(64, 0), "MOVD/MOVQ")
        yield row_of(f"{prefix}MOVQ_XMMM64_XMM", _low_half, "MOVQ")
        middle = "" if not prefix else "XMM_"
        for name, half in (("MOVLPS", 0), ("MOVHPS", 1), ("MOVLPD", 0), ("MOVHPD", 1)):
            yield row_of(f"{prefix}{name}_XMM_{middle}M64", _insert(64, half), name)
            yield row_of(f"{prefix}{name}_M64_XMM", _extract(64, half), name)
        yield row_of(
            f"{prefix}MOVLHPS_XMM_{middle}XMM", build_two(on.unpack_of(8, False), 1), "MOVLHPS"
        )
        yield row_of(f"{prefix}MOVHLPS_XMM_{middle}XMM", build_two(_high_to_low, 1), "MOVHLPS")
        for bits, letter, source in ((8, "B", "R32M8"), (16, "W", "R32M16"), (32, "D", "RM32"), (64, "Q", "RM64")):  # fmt: skip # noqa: E501
            yield row_of(f"{prefix}PINSR{letter}_XMM_{middle}{source}_IMM8", _insert(bits), "PINSR")
            yield row_of(f"{prefix}PEXTR{letter}_{source}_XMM_IMM8", _extract(bits), "PEXTR")
    yield row_of("MOVDDUP_XMM_XMMM64", broadcast(8, 1, 64), "MOVDDUP")
    yield row_of("VEX_VMOVDDUP_XMM_XMMM64", broadcast(8, 1, 64), "MOVDDUP")
    yield row_of("VEX_VMOVDDUP_YMM_YMMM256", build_one(_low_to_both, 2), "MOVDDUP")
    yield row_of("EVEX_VMOVDDUP_ZMM_K1Z_ZMMM512", build_one(_low_to_both, 4), "MOVDDUP")
    for bits, letter in ((8, "B"), (16, "W"), (32, "D"), (64, "Q")):
        general = "R64" if bits == 64 else "R32"
        yield row_of(f"VEX_KMOV{letter}_KR_KM{bits}", _mask_move(bits), "KMOV")
        yield row_of(f"VEX_KMOV{letter}_KR_{general}", _mask_move(bits), "KMOV")
        yield row_of(f"VEX_KMOV{letter}_{general}_KR", _mask_move(bits), "KMOV")
        for name in ("KXNOR", "KXOR", "KOR", "KAND"):
            yield row_of(f"VEX_{name}{letter}_KR_KR_KR", _mask_logic(bits, name), name)
        yield row_of(f"VEX_KSHIFTL{letter}_KR_KR_IMM8", _mask_shift(bits, True), "KSHIFTL")
        yield row_of(f"VEX_KSHIFTR{letter}_KR_KR_IMM8", _mask_shift(bits, False), "KSHIFTR")
    yield row_of("VEX_VZEROUPPER", _clear_upper(False), "VZEROUPPER")
    yield row_of("VEX_VZEROALL", _clear_upper(True), "VZEROALL")


ROWS: tuple[Row, ...] = tuple(_rows())
