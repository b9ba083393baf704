"""Rows for vector instructions that treat every 128-bit lane alike, in all three encodings.

The functions on lanes are in `ghashgen.verify.x86_64.rows.lane`. `ghashgen.verify.x86_64.operands`
handles lanes, encodings and masks.
"""

from collections.abc import Callable, Sequence

from iced_x86 import Instruction, OpKind

from ghashgen.verify.core.kinds import EQUAL, as_lane
from ghashgen.verify.core.refutation import unsupported
from ghashgen.verify.core.term import MASK64, MASK128, Lane, Term
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.machine.machine import Machine, Step
from ghashgen.verify.x86_64 import operands as ops
from ghashgen.verify.x86_64.machine import Builder, Rows, vector_index
from ghashgen.verify.x86_64.rows import lane as on

Whole = Callable[..., Sequence[Lane]]
"""A row on whole registers: terms, immediate (0 if none), the lanes of each source in order."""


def whole(function: Whole, count: int, same: int | None = None) -> Builder:
    """Build DEST := function(terms, imm, the last `count` operands).

    `same`: each lane of the result if the two sources are one register.
    """

    def build(i: Instruction) -> Step:
        has_immediate = i.op_kind(i.op_count - 1) == OpKind.IMMEDIATE8
        end = i.op_count - has_immediate
        imm = ops.immediate(i) if has_immediate else 0
        write = ops.write_lanes(i)
        if same is not None and ops.same_register(i, end - 2, end - 1):
            zeros_or_ones = (same,) * ops.lanes_of(i, 0)
            return lambda m: write(m, zeros_or_ones)
        reads = [ops.read_lanes(i, k) for k in range(end - count, end)]
        return lambda m: write(m, function(m.terms, imm, *[read(m) for read in reads]))

    return build


def lanes(function: Callable[..., Lane], count: int, same: int | None = None) -> Builder:
    """Build DEST := function(terms, sources…, imm), lane by lane."""

    def each(t: Terms, imm: int, *sources: Sequence[Lane]) -> list[Lane]:
        return [function(t, *parts, imm) for parts in zip(*sources, strict=True)]

    return whole(each, count, same)


def unmasked(build: Builder) -> Builder:
    """Refuse masked forms whose meaning is unverified.

    The manual masks GF2P8AFFINEQB by byte, Bochs by qword, and no CPU with it was available.
    """

    def checked(i: Instruction) -> Step:
        if i.has_op_mask:
            raise unsupported("a masked GF2P8AFFINEQB, which was not checked against any CPU")
        return build(i)

    return checked


def shift_by(shift: on.Shift, bits: int) -> Builder:
    """Build a shift of all elements by an immediate, or by 64 bits of a register or memory."""

    def by_register(t: Terms, imm: int, values: Sequence[Lane], by: Sequence[Lane]) -> list[Lane]:
        count = t.keep(by[0], MASK64)
        if isinstance(count, Term):
            return [t.opaque("a vector shift by an unknown count", a, count) for a in values]
        return [shift(t, a, min(count, 255), bits) for a in values]

    by_immediate = lanes(lambda t, a, imm: shift(t, a, imm, bits), 1)
    in_register = whole(by_register, 2)

    def build(i: Instruction) -> Step:
        immediate = i.op_kind(i.op_count - 1) == OpKind.IMMEDIATE8
        return by_immediate(i) if immediate else in_register(i)

    return build


def shift_bytes(shift: on.Shift) -> Builder:
    """Build PSLLDQ, PSRLDQ."""
    return lanes(lambda t, a, imm: shift(t, a, 8 * min(imm, 16), 128), 1)


SIGNS = tuple((-7 * k - 7, 1 << k) for k in range(16))
"""The map from the top bits of 16 bytes to 16 bits."""


def _byte_signs(i: Instruction) -> Step:
    """Build PMOVMSKB: bit k is the top bit of byte k; higher bits are zero (SDM vol. 2B)."""
    index, count, write = vector_index(i.op1_register), ops.lanes_of(i, 1), ops.write_gpr(i)

    def step(m: Machine) -> None:
        t = m.terms
        out: Lane = m.vec[index][0]
        if count == 1 and isinstance(out, Term) and out.op == EQUAL:
            # Bytes of a comparison are all ones or 0, like their top bits.
            write(m, t.equal(as_lane(out.args[0]), (1 << 16) - 1))
            return
        out = 0
        for k, lane in enumerate(m.vec[index][:count]):
            moves = tuple((16 * k + shift, keep << 16 * k) for shift, keep in SIGNS)
            out = t.xor(out, t.moves(lane, moves))
        write(m, out)

    return step


SIZES = {"B": 8, "W": 16, "D": 32, "Q": 64}
"""Bits of an element, by the last letter of a mnemonic."""

SHIFTS = {
    "SLLW SLLD SLLQ": on.shift_left,
    "SRLW SRLD SRLQ": on.shift_right,
    "SRAW SRAD": on.shift_signed,
}

ROWS: Rows = {
    "PXOR XORPS XORPD VPXORD VPXORQ": lanes(lambda t, a, b, imm: t.xor(a, b), 2, same=0),
    "POR ORPS ORPD VPORD VPORQ": lanes(lambda t, a, b, imm: t.either(a, b), 2),
    "PAND ANDPS ANDPD VPANDD VPANDQ": lanes(lambda t, a, b, imm: t.both(a, b), 2),
    "PSHUFB": lanes(on.pshufb, 2),
    "PALIGNR": lanes(on.palignr, 2),
    "PCLMULQDQ": lanes(on.pclmulqdq, 2),
    "PSHUFD": lanes(on.pshufd, 1),
    "PUNPCKLQDQ": lanes(on.unpack_low, 2),
    "PUNPCKHQDQ": lanes(on.unpack_high, 2),
    **{f"PADD{end}": lanes(on.arithmetic_of(bits, 1), 2) for end, bits in SIZES.items()},
    **{
        f"{start}{end}": lanes(function(SIZES[end]), 2, same)
        for start, function, same in (
            ("PSUB", lambda bits: on.arithmetic_of(bits, -1), 0),
            ("PCMPGT", on.greater_than, 0),
            ("PCMPEQ", on.equal_to, MASK128),
        )
        for end in "BDQ"
    },
    **{
        f"P{name}": shift_by(shift, SIZES[name[-1]])
        for names, shift in SHIFTS.items()
        for name in names.split()
    },
    "PSLLDQ": shift_bytes(on.shift_left),
    "PSRLDQ": shift_bytes(on.shift_right),
    "VPTERNLOGD VPTERNLOGQ": lanes(on.ternary, 3),
    "GF2P8AFFINEQB": unmasked(lanes(on.affine, 2)),
    "PMOVMSKB": _byte_signs,
}
