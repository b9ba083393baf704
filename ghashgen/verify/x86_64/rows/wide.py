"""Rows for instructions that move 128-bit lanes or elements across a wide register. SDM vol. 2."""

from collections.abc import Callable, Iterator, Sequence

from iced_x86 import Instruction, OpKind, Register

from ghashgen.verify.core.refutation import unsupported
from ghashgen.verify.core.term import MASK64, Lane
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.machine.machine import Machine, Step
from ghashgen.verify.x86_64 import operands as ops
from ghashgen.verify.x86_64.machine import Builder, Row, row_of, vector_index
from ghashgen.verify.x86_64.rows.lane import elements, merge
from ghashgen.verify.x86_64.rows.vector import lanes_of

Cross = Callable[[Terms, Sequence[Lane], Sequence[Lane], int], list[Lane]]
"""A row over whole registers: terms, SRC1, SRC2 (or the only source twice), immediate."""


def half(t: Terms, lanes: Sequence[Lane], index: int, to: int) -> Lane:
    """Return qword `index` of a register, in half `to` of a lane."""
    lane, high = lanes[index // 2], index % 2
    return t.moves(lane, ((64 * (to - high), MASK64 << 64 * to),))


def qwords(t: Terms, lanes: Sequence[Lane], order: Sequence[int]) -> list[Lane]:
    """Return the register whose qword k is qword order[k]."""
    return [
        t.xor(half(t, lanes, order[k], 0), half(t, lanes, order[k + 1], 1))
        for k in range(0, len(order), 2)
    ]


def _permute_qwords(t: Terms, a: Sequence[Lane], b: Sequence[Lane], imm: int) -> list[Lane]:
    """VPERMQ imm8: within each 256 bits."""
    order = [base + (imm >> 2 * k & 3) for base in range(0, 2 * len(b), 4) for k in range(4)]
    return qwords(t, b, order)


def _align_qwords(t: Terms, a: Sequence[Lane], b: Sequence[Lane], imm: int) -> list[Lane]:
    """VALIGNQ: the concatenation SRC1:SRC2 shifted right by imm qwords."""
    count = 2 * len(b)
    both = [*b, *a]
    return qwords(t, both, [k + (imm & count - 1) for k in range(count)])


def _shuffle_lanes(t: Terms, a: Sequence[Lane], b: Sequence[Lane], imm: int) -> list[Lane]:
    """VSHUFI64X2: the lower half of the lanes from SRC1, the upper from SRC2."""
    if len(b) == 2:
        return [a[imm & 1], b[imm >> 1 & 1]]
    return [a[imm & 3], a[imm >> 2 & 3], b[imm >> 4 & 3], b[imm >> 6 & 3]]


def _permute_lanes(t: Terms, a: Sequence[Lane], b: Sequence[Lane], imm: int) -> list[Lane]:
    """VPERM2I128."""
    both = [*a[:2], *b[:2]]
    return [0 if imm >> 4 * k & 8 else both[imm >> 4 * k & 3] for k in range(2)]


def _blend_dwords(t: Terms, a: Sequence[Lane], b: Sequence[Lane], imm: int) -> list[Lane]:
    """VPBLENDD."""
    out = []
    for lane, (x, y) in enumerate(zip(a, b, strict=False)):
        order = [k + 4 if imm >> 4 * lane + k & 1 else k for k in range(4)]
        out.append(merge(t, x, y, elements(order, 4)))
    return out


def _qwords_by_register(t: Terms, a: Sequence[Lane], b: Sequence[Lane], imm: int) -> list[Lane]:
    """VPERMQ by a register: DEST qword k is SRC2 qword (SRC1 qword k)."""
    count = 2 * len(b)
    order = []
    for lane in a[: len(b)]:
        if not isinstance(lane, int):
            reason = "a permutation with a control that is not constant"
            return [t.opaque(reason, *a, *b)] * len(b)
        order += [lane & count - 1, lane >> 64 & count - 1]
    return qwords(t, b, order)


def build_cross(function: Cross, lanes: int, element: int = 64) -> Builder:
    """Build DEST := function(SRC1, SRC2, imm) on whole registers."""

    def build(i: Instruction) -> Step:
        has_immediate = i.op_kind(i.op_count - 1) == OpKind.IMMEDIATE8
        last = i.op_count - (2 if has_immediate else 1)
        imm = ops.immediate(i) if has_immediate else 0
        index = vector_index(i.op_register(last - 1))
        read, write = ops.read_lanes(i, last, lanes), ops.write_lanes(i, lanes, element)

        def step(m: Machine) -> None:
            write(m, function(m.terms, m.vec[index], read(m), imm))

        return step

    return build


def _extract(width: int, total: int, element: int) -> Builder:
    """Build VEXTRACTI128 and kin: `width` of `total` lanes."""

    def build(i: Instruction) -> Step:
        source = vector_index(i.op1_register)
        first = (ops.immediate(i) & total // width - 1) * width
        if i.op_kind(0) == OpKind.MEMORY:
            if i.op_mask != Register.NONE:
                raise unsupported("a masked extraction to memory")
            where = ops.address(i)

            def store(m: Machine) -> None:
                start = where(m)
                for k in range(width):
                    m.memory.store(ops._sum(m, start, 16 * k), m.vec[source][first + k], 16)

            return store
        write = ops.write_lanes(i, width, element)
        return lambda m: write(m, m.vec[source][first : first + width])

    return build


def _insert(width: int, total: int, element: int) -> Builder:
    """Build VINSERTI128 and kin: `width` lanes into `total`."""

    def build(i: Instruction) -> Step:
        base = vector_index(i.op1_register)
        first = (ops.immediate(i) & total // width - 1) * width
        read, write = ops.read_lanes(i, 2, width), ops.write_lanes(i, total, element)

        def step(m: Machine) -> None:
            out = list(m.vec[base][:total])
            out[first : first + width] = read(m)
            write(m, out)

        return step

    return build


def broadcast(size: int, lanes: int, element: int) -> Builder:
    """Build VPBROADCASTB/W/D/Q and VBROADCASTI*: repeat `size` bytes over the register."""

    def build(i: Instruction) -> Step:
        write = ops.write_lanes(i, lanes, element)
        memory = i.op_kind(1) == OpKind.MEMORY
        if size >= 16:
            count = size // 16
            read = ops.read_lanes(i, 1, count, aligned=False)
            return lambda m: write(m, list(read(m)) * (lanes // count))
        sources = tuple(k % size for k in range(16))
        if not memory and i.op1_register >= Register.XMM0:
            index = vector_index(i.op1_register)
            return lambda m: write(m, [m.terms.bytes(m.vec[index][0], sources)] * lanes)
        read_one = ops.read_gpr(i, 1, 8 * size if memory else max(8 * size, 32))

        def step(m: Machine) -> None:
            lane = m.terms.bytes(ops.as_lane(read_one(m), m.terms.at), sources)
            write(m, [lane] * lanes)

        return step

    return build


def _rows() -> Iterator[Row]:
    yz = (("YMM", 256), ("ZMM", 512))
    yield row_of("VEX_VPERMQ_YMM_YMMM256_IMM8", build_cross(_permute_qwords, 2), "VPERMQ")
    yield row_of(
        "VEX_VPERM2I128_YMM_YMM_YMMM256_IMM8", build_cross(_permute_lanes, 2), "VPERM2I128"
    )
    yield row_of(
        "VEX_VPERM2F128_YMM_YMM_YMMM256_IMM8", build_cross(_permute_lanes, 2), "VPERM2F128"
    )
    for r, bits in (("XMM", 128), *yz):
        lanes = lanes_of(r)
        name = f"EVEX_VALIGNQ_{r}_K1Z_{r}_{r}M{bits}B64_IMM8"
        yield row_of(name, build_cross(_align_qwords, lanes), "VALIGND/VALIGNQ")
        if r == "ZMM":
            continue
        yield row_of(
            f"VEX_VPBLENDD_{r}_{r}_{r}M{bits}_IMM8", build_cross(_blend_dwords, lanes), "VPBLENDD"
        )
    for r, bits in yz:
        lanes = lanes_of(r)
        yield row_of(
            f"EVEX_VPERMQ_{r}_K1Z_{r}M{bits}B64_IMM8", build_cross(_permute_qwords, lanes), "VPERMQ"
        )
        name = f"EVEX_VPERMQ_{r}_K1Z_{r}_{r}M{bits}B64"
        yield row_of(name, build_cross(_qwords_by_register, lanes), "VPERMQ")
        for form, element in (("32X4", 32), ("64X2", 64)):
            for letter in "FI":
                name = f"EVEX_VSHUF{letter}{form}_{r}_K1Z_{r}_{r}M{bits}B{element}_IMM8"
                yield row_of(
                    name, build_cross(_shuffle_lanes, lanes, element), "VSHUFF32x4 and kin"
                )
                name = f"EVEX_VEXTRACT{letter}{form}_XMMM128_K1Z_{r}_IMM8"
                yield row_of(name, _extract(1, lanes, element), "VEXTRACTI128 and kin")
                name = f"EVEX_VINSERT{letter}{form}_{r}_K1Z_{r}_XMMM128_IMM8"
                yield row_of(name, _insert(1, lanes, element), "VINSERTI128 and kin")
                name = f"EVEX_VBROADCAST{letter}{form}_{r}_K1Z_M128"
                yield row_of(name, broadcast(16, lanes, element), "VPBROADCAST")
    for letter in "FI":
        yield row_of(
            f"VEX_VEXTRACT{letter}128_XMMM128_YMM_IMM8", _extract(1, 2, 64), "VEXTRACTI128 and kin"
        )
        yield row_of(
            f"VEX_VINSERT{letter}128_YMM_YMM_XMMM128_IMM8", _insert(1, 2, 64), "VINSERTI128 and kin"
        )
        yield row_of(f"VEX_VBROADCAST{letter}128_YMM_M128", broadcast(16, 2, 64), "VPBROADCAST")
        for form, element in (("32X8", 32), ("64X4", 64)):
            name = f"EVEX_VEXTRACT{letter}{form}_YMMM256_K1Z_ZMM_IMM8"
            yield row_of(name, _extract(2, 4, element), "VEXTRACTI128 and kin")
            name = f"EVEX_VINSERT{letter}{form}_ZMM_K1Z_ZMM_YMMM256_IMM8"
            yield row_of(name, _insert(2, 4, element), "VINSERTI128 and kin")
            build = broadcast(32, 4, element)
            yield row_of(f"EVEX_VBROADCAST{letter}{form}_ZMM_K1Z_M256", build, "VPBROADCAST")
    for size, letter in ((1, "B"), (2, "W"), (4, "D"), (8, "Q")):
        for r in ("XMM", "YMM", "ZMM"):
            lanes = lanes_of(r)
            build = broadcast(size, lanes, 8 * size)
            if r != "ZMM":
                yield row_of(f"VEX_VPBROADCAST{letter}_{r}_XMMM{8 * size}", build, "VPBROADCAST")
            yield row_of(f"EVEX_VPBROADCAST{letter}_{r}_K1Z_XMMM{8 * size}", build, "VPBROADCAST")
            general = "R64" if size == 8 else "R32"
            yield row_of(f"EVEX_VPBROADCAST{letter}_{r}_K1Z_{general}", build, "VPBROADCAST")


ROWS: tuple[Row, ...] = tuple(_rows())
