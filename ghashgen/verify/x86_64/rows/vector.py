"""Rows for vector instructions that treat every 128-bit lane alike, in all three encodings.

The functions on lanes are in `ghashgen.verify.x86_64.rows.lane`. `ghashgen.verify.x86_64.operands`
handles lanes, encodings, broadcast and masks.
"""

from collections.abc import Callable, Iterator, Sequence

from iced_x86 import Instruction, OpKind

from ghashgen.verify.core.kinds import EQUAL, as_lane
from ghashgen.verify.core.lanewise import lanewise
from ghashgen.verify.core.refutation import unsupported
from ghashgen.verify.core.term import MASK64, MASK128, Lane, Term
from ghashgen.verify.machine.flags import of_test
from ghashgen.verify.machine.machine import Machine, Step
from ghashgen.verify.x86_64 import operands as ops
from ghashgen.verify.x86_64.machine import Builder, Row, row_of, vector_index
from ghashgen.verify.x86_64.rows import lane as on


def _by_immediate(shift: on.Shift, bits: int) -> on.One:
    return lambda t, a, imm: shift(t, a, imm, bits)


def lanes_of(name: str) -> int:
    """Return the number of lanes from the name of an instruction code."""
    return 4 if "ZMM" in name else 2 if "YMM" in name else 1


def build_one(function: on.One, lanes: int, element: int = 64) -> Builder:
    """Build DEST := function(SRC, imm) per lane."""

    def build(i: Instruction) -> Step:
        # Legacy PSLLQ xmm, imm8 reads its destination.
        has_immediate = i.op_kind(i.op_count - 1) == OpKind.IMMEDIATE8
        source = i.op_count - (2 if has_immediate else 1)
        imm = ops.immediate(i) if has_immediate else 0
        read, write = ops.read_lanes(i, source, lanes), ops.write_lanes(i, lanes, element)

        def step(m: Machine) -> None:
            write(m, lanewise(m.terms, function, imm, tuple(read(m))))

        return step

    return build


ZERO_IDIOMS = ("PXOR", "XORPS", "XORPD", "PSUB", "PANDN", "PCMPGT")
"""Instructions whose result is zero if both sources are the same register."""


def build_two(function: on.Two, lanes: int, element: int = 64, same: int | None = None) -> Builder:
    """Build DEST := function(SRC1, SRC2, imm) per lane; `same`: the result for equal registers."""

    def build(i: Instruction) -> Step:
        has_immediate = i.op_kind(i.op_count - 1) == OpKind.IMMEDIATE8
        last = i.op_count - (2 if has_immediate else 1)
        imm = ops.immediate(i) if has_immediate else 0
        write = ops.write_lanes(i, lanes, element)
        if same is not None and ops.same_register(i, last - 1, last):
            return lambda m: write(m, [same] * lanes)
        read_b = ops.read_lanes(i, last, lanes)
        index = vector_index(i.op_register(last - 1))

        def step(m: Machine) -> None:
            write(m, lanewise(m.terms, function, imm, m.vec[index][:lanes], tuple(read_b(m))))

        return step

    return build


MASK_UNCHECKED = ("GF2P8AFFINEQB+imm",)
"""Instructions whose masked forms are refused because their meaning is unverified: the manual masks
them by byte, Bochs by qword, and no CPU with them was available.
"""


def _unmasked(build: Builder) -> Builder:
    def checked(i: Instruction) -> Step:
        if i.has_op_mask:
            raise unsupported("a masked GF2P8AFFINEQB, which was not checked against any CPU")
        return build(i)

    return checked


def build_ternary(lanes: int, element: int) -> Builder:
    """Build VPTERNLOGD/Q, which reads its destination too."""

    def build(i: Instruction) -> Step:
        first, second = (vector_index(i.op_register(k)) for k in (0, 1))
        read, write = ops.read_lanes(i, 2, lanes), ops.write_lanes(i, lanes, element)
        imm = ops.immediate(i)

        def step(m: Machine) -> None:
            c = tuple(read(m))  # It is read even where the result does not depend on it.
            if imm in (0x00, 0xFF):
                write(m, [MASK128 if imm else 0] * lanes)
                return
            a, b = m.vec[first][:lanes], m.vec[second][:lanes]
            write(m, lanewise(m.terms, on.ternary, imm, a, b, c))

        return step

    return build


def build_count(shift: on.Shift, bits: int, lanes: int) -> Builder:
    """Build a shift of all elements by the low 64 bits of an xmm register or 16 bytes of memory."""

    def build(i: Instruction) -> Step:
        last = i.op_count - 1
        read = ops.read_lanes(i, last, 1)
        index = vector_index(i.op_register(last - 1))
        write = ops.write_lanes(i, lanes, bits)

        def step(m: Machine) -> None:
            t = m.terms
            count = t.keep(read(m)[0], MASK64)
            values = m.vec[index][:lanes]
            if isinstance(count, Term):
                reason = "a vector shift by an unknown count"
                write(m, [t.opaque(reason, value, count) for value in values])
                return
            write(m, [shift(t, a, min(count, 255), bits) for a in values])

        return step

    return build


def _test(lanes: int) -> Builder:
    """Build PTEST: ZF if DEST AND SRC is 0, CF if NOT DEST AND SRC is."""

    def build(i: Instruction) -> Step:
        index, read = vector_index(i.op0_register), ops.read_lanes(i, 1, lanes)

        def step(m: Machine) -> None:
            t, pairs = m.terms, list(zip(m.vec[index][:lanes], read(m), strict=True))
            # AND NOT of a register with itself is 0.
            same = ops.same_register(i, 0, 1)
            others: list[Lane] = [0 if same else on.and_not(t, a, b, 0) for a, b in pairs]
            m.flags = of_test([t.both(a, b) for a, b in pairs], others)

        return step

    return build


SIGNS = tuple((-7 * k - 7, 1 << k) for k in range(16))
"""The map from the top bits of 16 bytes to 16 bits."""


def _byte_signs(lanes: int) -> Builder:
    """Build PMOVMSKB: bit k is the top bit of byte k; higher bits are zero (SDM vol. 2B)."""

    def build(i: Instruction) -> Step:
        index, write = vector_index(i.op1_register), ops.write_gpr(i, 0, 32)

        def step(m: Machine) -> None:
            t = m.terms
            out: Lane = m.vec[index][0]
            if lanes == 1 and isinstance(out, Term) and out.op == EQUAL:
                # Bytes of a comparison are all ones or 0, like their top bits.
                write(m, t.equal(as_lane(out.args[0]), (1 << 16) - 1))
                return
            out = 0
            for k, lane in enumerate(m.vec[index][:lanes]):
                moves = tuple((16 * k + shift, keep << 16 * k) for shift, keep in SIGNS)
                out = t.xor(out, t.moves(lane, moves))
            write(m, out)

        return step

    return build


WIDTHS = (("XMM", 128), ("YMM", 256), ("ZMM", 512))


def encodings(
    mnemonic: str, two: bool, evex: Sequence[tuple[str, int, int]]
) -> Iterator[tuple[str, int]]:
    """Yield the code names of a packed instruction, and the element bits of the mask of each.

    Legacy, VEX.128, VEX.256 and EVEX of each width; `evex` lists (mnemonic, element bits of the
    mask, element bits of the broadcast or 0).
    """
    imm = "_IMM8" if mnemonic.endswith("+imm") else ""
    name = mnemonic.removesuffix("+imm")
    # PSHUFD has one source, so no second operand in the VEX form.
    middle = "{r}_" if two else ""
    yield f"{name}_XMM_XMMM128{imm}", 64
    for r, bits in WIDTHS[:2]:
        yield f"VEX_V{name}_{r}_{middle.format(r=r)}{r}M{bits}{imm}", 64
    for e, element, broadcast in evex:
        b = f"B{broadcast}" if broadcast else ""
        # Without an element there is no mask in the encoding.
        k = "_K1Z" if not e.endswith("PCLMULQDQ") else ""
        for r, bits in WIDTHS:
            yield f"EVEX_{e}_{r}{k}_{middle.format(r=r)}{r}M{bits}{b}{imm}", element


Evex = tuple[tuple[str, int, int], ...]

Named = Sequence[tuple[str, int, int]]
"""Mnemonic endings, each with its element and its EVEX broadcast (0: none), in bits."""

ELEMENTS: Named = (("B", 8, 0), ("W", 16, 0), ("D", 32, 32), ("Q", 64, 64))

NO_WORDS: Named = tuple(named for named in ELEMENTS if named[0] != "W")

WIDENED: Named = (("BW", 8, 0), ("WD", 16, 0), ("DQ", 32, 32), ("QDQ", 64, 64))


def _for_elements(
    start: str, two: Callable[[int], on.Two], named: Named
) -> Iterator[tuple[str, on.Two, Evex]]:
    for end, bits, broadcast in named:
        yield start + end, two(bits), ((f"V{start}{end}", bits, broadcast),)


TWO_SOURCES: tuple[tuple[str, on.Two, Evex], ...] = (
    ("PXOR", lambda t, a, b, imm: t.xor(a, b), (("VPXORD", 32, 32), ("VPXORQ", 64, 64))),
    ("XORPS", lambda t, a, b, imm: t.xor(a, b), (("VXORPS", 32, 32),)),
    ("XORPD", lambda t, a, b, imm: t.xor(a, b), (("VXORPD", 64, 64),)),
    ("POR", lambda t, a, b, imm: t.either(a, b), (("VPORD", 32, 32), ("VPORQ", 64, 64))),
    ("ORPS", lambda t, a, b, imm: t.either(a, b), (("VORPS", 32, 32),)),
    ("ORPD", lambda t, a, b, imm: t.either(a, b), (("VORPD", 64, 64),)),
    ("PAND", lambda t, a, b, imm: t.both(a, b), (("VPANDD", 32, 32), ("VPANDQ", 64, 64))),
    ("ANDPS", lambda t, a, b, imm: t.both(a, b), (("VANDPS", 32, 32),)),
    ("ANDPD", lambda t, a, b, imm: t.both(a, b), (("VANDPD", 64, 64),)),
    ("PANDN", on.and_not, (("VPANDND", 32, 32), ("VPANDNQ", 64, 64))),
    ("PSHUFB", on.pshufb, (("VPSHUFB", 8, 0),)),
    ("PALIGNR+imm", on.palignr, (("VPALIGNR", 8, 0),)),
    ("PCLMULQDQ+imm", on.pclmulqdq, (("VPCLMULQDQ", 64, 0),)),
    ("SHUFPS+imm", on.shufps, (("VSHUFPS", 32, 32),)),
    *_for_elements("PUNPCKL", lambda bits: on.unpack_of(bits // 8, False), WIDENED),
    *_for_elements("PUNPCKH", lambda bits: on.unpack_of(bits // 8, True), WIDENED),
    ("UNPCKLPD", on.unpack_of(8, False), (("VUNPCKLPD", 64, 64),)),
    ("UNPCKHPD", on.unpack_of(8, True), (("VUNPCKHPD", 64, 64),)),
    ("PBLENDW+imm", on.blend_of(2), ()),
    *_for_elements("PADD", lambda bits: on.arithmetic_of(bits, 1), ELEMENTS),
    *_for_elements("PSUB", lambda bits: on.arithmetic_of(bits, -1), NO_WORDS),
    *((f"PCMPGT{letter}", on.greater_than(bits), ()) for letter, bits, _ in NO_WORDS),
    *((f"PCMPEQ{letter}", on.equal_to(bits), ()) for letter, bits, _ in NO_WORDS),
    ("GF2P8AFFINEQB+imm", on.affine, (("VGF2P8AFFINEQB", 8, 64),)),
)

ONE_SOURCE: tuple[tuple[str, on.One, Evex], ...] = (
    ("PSHUFD+imm", on.pshufd, (("VPSHUFD", 32, 32),)),
    ("PSHUFLW+imm", on.pshuflw, (("VPSHUFLW", 16, 0),)),
    ("PSHUFHW+imm", on.pshufhw, (("VPSHUFHW", 16, 0),)),
)

SHIFTS = (
    ("SLLW", 16, on.shift_left), ("SLLD", 32, on.shift_left), ("SLLQ", 64, on.shift_left),
    ("SRLW", 16, on.shift_right), ("SRLD", 32, on.shift_right), ("SRLQ", 64, on.shift_right),
    ("SRAW", 16, on.shift_signed), ("SRAD", 32, on.shift_signed),
)  # fmt: skip


def _same_result(mnemonic: str) -> int | None:
    if mnemonic.startswith(ZERO_IDIOMS):
        return 0
    return MASK128 if mnemonic.startswith("PCMPEQ") else None


def _rows() -> Iterator[Row]:
    for mnemonic, two, evex in TWO_SOURCES:
        for name, element in encodings(mnemonic, True, evex):
            build = build_two(two, lanes_of(name), element, _same_result(mnemonic))
            if mnemonic in MASK_UNCHECKED:
                build = _unmasked(build)
            yield row_of(name, build, mnemonic.removesuffix("+imm"))
    for mnemonic, one, evex in ONE_SOURCE:
        for name, element in encodings(mnemonic, False, evex):
            build = build_one(one, lanes_of(name), element)
            yield row_of(name, build, mnemonic.removesuffix("+imm"))
    for mnemonic, bits, shift in SHIFTS:
        b = "" if bits == 16 else f"B{bits}"
        by_immediate = [f"P{mnemonic}_XMM_IMM8"]
        by_register = [f"P{mnemonic}_XMM_XMMM128"]
        for r, width in WIDTHS:
            if r != "ZMM":
                by_immediate.append(f"VEX_VP{mnemonic}_{r}_{r}_IMM8")
                by_register.append(f"VEX_VP{mnemonic}_{r}_{r}_XMMM128")
            by_immediate.append(f"EVEX_VP{mnemonic}_{r}_K1Z_{r}M{width}{b}_IMM8")
            by_register.append(f"EVEX_VP{mnemonic}_{r}_K1Z_{r}_XMMM128")
        for name in by_immediate:
            build = build_one(_by_immediate(shift, bits), lanes_of(name), bits)
            yield row_of(name, build, "PSLLW/PSRLW/PSRAW and following")
        for name in by_register:
            build = build_count(shift, bits, lanes_of(name))
            yield row_of(name, build, "PSLLW/PSRLW/PSRAW and following")
    for mnemonic, left in (("SLLDQ", True), ("SRLDQ", False)):
        names = [f"P{mnemonic}_XMM_IMM8"]
        names += [f"VEX_VP{mnemonic}_{r}_{r}_IMM8" for r in ("XMM", "YMM")]
        for r, width in WIDTHS:
            names.append(f"EVEX_VP{mnemonic}_{r}_{r}M{width}_IMM8")
        whole = on.shift_left if left else on.shift_right
        for name in names:
            build = build_one(_bytes_shift(whole), lanes_of(name))
            yield row_of(name, build, f"P{mnemonic}")
    for element in (32, 64):
        letter = "D" if element == 32 else "Q"
        for r, width in WIDTHS:
            name = f"EVEX_VPTERNLOG{letter}_{r}_K1Z_{r}_{r}M{width}B{element}_IMM8"
            yield row_of(name, build_ternary(lanes_of(name), element), "VPTERNLOG")
            name = f"EVEX_VPROL{letter}_{r}_K1Z_{r}M{width}B{element}_IMM8"
            build = build_one(_by_immediate(on.rotate_left, element), lanes_of(name), element)
            yield row_of(name, build, "VPROL")

    for prefix, r, memory, lanes in (
        ("", "XMM", 128, 1), ("VEX_V", "XMM", 128, 1), ("VEX_V", "YMM", 256, 2),
    ):  # fmt: skip
        yield row_of(f"{prefix}PTEST_{r}_{r}M{memory}", _test(lanes), "PTEST")
        yield row_of(f"{prefix}PMOVMSKB_R32_{r}", _byte_signs(lanes), "PMOVMSKB")


def _bytes_shift(shift: on.Shift) -> on.One:
    return lambda t, a, imm: shift(t, a, 8 * min(imm, 16), 128)


ROWS: tuple[Row, ...] = tuple(_rows())
