"""Rows for instructions that move 128-bit lanes or elements across a wide register. SDM vol. 2."""

from collections.abc import Sequence
from itertools import product

from iced_x86 import Instruction, OpKind, Register

from ghashgen.verify.core.refutation import unsupported
from ghashgen.verify.core.term import MASK64, Lane
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.machine.machine import Machine, Step
from ghashgen.verify.x86_64 import operands as ops
from ghashgen.verify.x86_64.machine import Builder, Rows, is_vector, vector_index
from ghashgen.verify.x86_64.rows.lane import elements, merge
from ghashgen.verify.x86_64.rows.vector import SIZES, whole


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


def _permute_qwords(t: Terms, imm: int, b: Sequence[Lane]) -> list[Lane]:
    """VPERMQ imm8: within each 256 bits."""
    order = [base + (imm >> 2 * k & 3) for base in range(0, 2 * len(b), 4) for k in range(4)]
    return qwords(t, b, order)


def _align_qwords(t: Terms, imm: int, a: Sequence[Lane], b: Sequence[Lane]) -> list[Lane]:
    """VALIGNQ: the concatenation SRC1:SRC2 shifted right by imm qwords."""
    count = 2 * len(b)
    both = [*b, *a]
    return qwords(t, both, [k + (imm & count - 1) for k in range(count)])


def _shuffle_lanes(t: Terms, imm: int, a: Sequence[Lane], b: Sequence[Lane]) -> list[Lane]:
    """VSHUFI64X2: the lower half of the lanes from SRC1, the upper from SRC2."""
    if len(b) == 2:
        return [a[imm & 1], b[imm >> 1 & 1]]
    return [a[imm & 3], a[imm >> 2 & 3], b[imm >> 4 & 3], b[imm >> 6 & 3]]


def _permute_lanes(t: Terms, imm: int, a: Sequence[Lane], b: Sequence[Lane]) -> list[Lane]:
    """VPERM2I128."""
    both = [*a[:2], *b[:2]]
    return [0 if imm >> 4 * k & 8 else both[imm >> 4 * k & 3] for k in range(2)]


def _blend_dwords(t: Terms, imm: int, a: Sequence[Lane], b: Sequence[Lane]) -> list[Lane]:
    """VPBLENDD."""
    out = []
    for lane, (x, y) in enumerate(zip(a, b, strict=False)):
        order = [k + 4 if imm >> 4 * lane + k & 1 else k for k in range(4)]
        out.append(merge(t, x, y, elements(order, 4)))
    return out


def _qwords_by_register(t: Terms, imm: int, a: Sequence[Lane], b: Sequence[Lane]) -> list[Lane]:
    """VPERMQ by a register: DEST qword k is SRC2 qword (SRC1 qword k)."""
    count = 2 * len(b)
    order = []
    for lane in a[: len(b)]:
        if not isinstance(lane, int):
            reason = "a permutation with a control that is not constant"
            return [t.opaque(reason, *a, *b)] * len(b)
        order += [lane & count - 1, lane >> 64 & count - 1]
    return qwords(t, b, order)


def _permute(i: Instruction) -> Step:
    """Build VPERMQ: its control is an immediate, or a register."""
    if i.op_kind(2) == OpKind.IMMEDIATE8:
        return whole(_permute_qwords, 1)(i)
    return whole(_qwords_by_register, 2)(i)


def _insert(t: Terms, imm: int, base: Sequence[Lane], new: Sequence[Lane]) -> list[Lane]:
    """VINSERTI128 and kin: some lanes of a register are new."""
    out, width = list(base), len(new)
    first = (imm & len(base) // width - 1) * width
    out[first : first + width] = new
    return out


def _extract(i: Instruction) -> Step:
    """Build VEXTRACTI128 and kin: some lanes of a register."""
    source, width = vector_index(i.op1_register), ops.lanes_of(i, 0)
    first = (ops.immediate(i) & ops.lanes_of(i, 1) // width - 1) * width
    if i.op_kind(0) != OpKind.MEMORY:
        write = ops.write_lanes(i)
        return lambda m: write(m, m.vec[source][first : first + width])
    if i.op_mask != Register.NONE:
        raise unsupported("a masked extraction to memory")
    where = ops.address(i)

    def store(m: Machine) -> None:
        start = where(m)
        for k in range(width):
            m.memory.store(ops._sum(m, start, 16 * k), m.vec[source][first + k], 16)

    return store


def _broadcast_lanes(i: Instruction) -> Step:
    """Build VBROADCASTI128 and kin: repeat the lanes of a memory operand over the register."""
    write, read = ops.write_lanes(i), ops.read_lanes(i, 1)
    times = ops.lanes_of(i, 0) // ops.lanes_of(i, 1)
    return lambda m: write(m, tuple(read(m)) * times)


def broadcast(bits: int) -> Builder:
    """Build VPBROADCASTB/W/D/Q: repeat an element over the register."""
    sources = tuple(k % (bits // 8) for k in range(16))

    def build(i: Instruction) -> Step:
        write, lanes = ops.write_lanes(i, bits), ops.lanes_of(i, 0)
        if i.op_kind(1) == OpKind.REGISTER and is_vector(i.op1_register):
            index = vector_index(i.op1_register)
            return lambda m: write(m, [m.terms.bytes(m.vec[index][0], sources)] * lanes)
        read = ops.read_gpr(i, 1)

        def step(m: Machine) -> None:
            lane = m.terms.bytes(ops.as_lane(read(m), m.terms.at), sources)
            write(m, [lane] * lanes)

        return step

    return build


PARTS = [letter + form for letter, form in product("FI", ("128", "32X4", "64X2", "32X8", "64X4"))]
"""What the mnemonics end with that move lanes: the parts of a register."""

ROWS: Rows = {
    "VPERMQ": _permute,
    "VPERM2I128 VPERM2F128": whole(_permute_lanes, 2),
    "VALIGNQ": whole(_align_qwords, 2),
    "VPBLENDD": whole(_blend_dwords, 2),
    "VSHUFI32X4 VSHUFI64X2 VSHUFF32X4 VSHUFF64X2": whole(_shuffle_lanes, 2),
    " ".join(f"VEXTRACT{part}" for part in PARTS): _extract,
    " ".join(f"VINSERT{part}" for part in PARTS): whole(_insert, 2),
    " ".join(f"VBROADCAST{part}" for part in PARTS): _broadcast_lanes,
    **{f"VPBROADCAST{letter}": broadcast(bits) for letter, bits in SIZES.items()},
}
