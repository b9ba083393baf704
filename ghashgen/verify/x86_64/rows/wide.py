"""Rows for instructions that move 128-bit lanes or elements across a wide register. SDM vol. 2."""

from collections.abc import Sequence
from itertools import product

from iced_x86 import Instruction, OpKind, Register

from ghashgen.verify.core.refutation import unsupported
from ghashgen.verify.core.term import MASK64, Lane
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.machine.machine import Step
from ghashgen.verify.x86_64 import operands as ops
from ghashgen.verify.x86_64.machine import Rows, vector_index
from ghashgen.verify.x86_64.rows.vector import whole


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
    return lambda m: m.memory.store_lanes(where(m), m.vec[source][first : first + width])


def _broadcast_lanes(i: Instruction) -> Step:
    """Build VBROADCASTI128 and kin: repeat the lanes of a memory operand over the register."""
    write, read = ops.write_lanes(i), ops.read_lanes(i, 1)
    times = ops.lanes_of(i, 0) // ops.lanes_of(i, 1)
    return lambda m: write(m, tuple(read(m)) * times)


PARTS = [letter + form for letter, form in product("FI", ("128", "32X4", "64X2", "32X8", "64X4"))]
"""What the mnemonics end with that move lanes: the parts of a register."""

ROWS: Rows = {
    "VPERM2I128 VPERM2F128": whole(_permute_lanes, 2),
    "VALIGNQ": whole(_align_qwords, 2),
    "VSHUFI32X4 VSHUFI64X2 VSHUFF32X4 VSHUFF64X2": whole(_shuffle_lanes, 2),
    " ".join(f"VEXTRACT{part}" for part in PARTS): _extract,
    " ".join(f"VINSERT{part}" for part in PARTS): whole(_insert, 2),
    " ".join(f"VBROADCAST{part}" for part in PARTS): _broadcast_lanes,
}
