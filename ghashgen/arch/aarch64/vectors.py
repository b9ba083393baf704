"""Shared by all instruction sets with Advanced SIMD: rows and lowerings for one block.

A register holds one block, and no instruction takes an operand from memory. A form after a kind is
the manual's way of writing the register: x.1q as a 128-bit polynomial, x.2d as two halves, x.d[1]
as its upper half, x.d as its lower half alone, with the upper zeroed.
"""

from ghashgen.arch.rows import Row, Step, lowering, row_table

_ARM = "Arm ARM (DDI 0487), C7.2"
_SIMD = ("asimd",)
_PMULL = ("pmull",)
BLOCK_BYTES = 16

ROWS = row_table(
    Row("pmull", "w:x.1q r:x.1d r:x.1d", _PMULL, f"{_ARM}, PMULL, PMULL2", "clmul"),
    Row("pmull2", "w:x.1q r:x.2d r:x.2d", _PMULL, f"{_ARM}, PMULL, PMULL2", "clmul"),
    Row("eor", "w:x.16b r:x.16b r:x.16b", _SIMD, f"{_ARM}, EOR (vector)", "xor"),
    Row("orr", "w:x.16b r:x.16b r:x.16b", _SIMD, f"{_ARM}, ORR (vector, register)", "xor"),
    Row("and", "w:x.16b r:x.16b r:x.16b", _SIMD, f"{_ARM}, AND (vector)", "xor"),
    Row("ext", "w:x.16b r:x.16b r:x.16b r:i", _SIMD, f"{_ARM}, EXT", "shuffle"),
    Row("zip1", "w:x.2d r:x.2d r:x.2d", _SIMD, f"{_ARM}, ZIP1", "shuffle"),
    Row("zip2", "w:x.2d r:x.2d r:x.2d", _SIMD, f"{_ARM}, ZIP2", "shuffle"),
    Row("tbl", "w:x.16b r:x.{16b} r:x.16b", _SIMD, f"{_ARM}, TBL", "shuffle"),
    Row("rbit", "w:x.16b r:x.16b", _SIMD, f"{_ARM}, RBIT (vector)", "shuffle"),
    Row("shl", "w:x.2d r:x.2d r:i", _SIMD, f"{_ARM}, SHL", "shuffle"),
    Row("ushr", "w:x.2d r:x.2d r:i", _SIMD, f"{_ARM}, USHR", "shuffle"),
    Row("sshr", "w:x.2d r:x.2d r:i", _SIMD, f"{_ARM}, SSHR", "shuffle"),
    Row("ushl", "w:x.2d r:x.2d r:x.2d", _SIMD, f"{_ARM}, USHL", "shuffle"),
    Row("neg.2d", "w:x.2d r:x.2d", _SIMD, f"{_ARM}, NEG (vector)", "other"),
    Row("dup", "w:x.2d r:x.d[0]", _SIMD, f"{_ARM}, DUP (element)", "shuffle"),
    Row("mov.high", "w:x.d r:x.d[1]", _SIMD, f"{_ARM}, DUP (element), MOV (scalar)", "shuffle"),
    Row("movi.zero", "w:x.2d", _SIMD, f"{_ARM}, MOVI", "other"),
    Row("mov.16b", "w:x.16b r:x.16b", _SIMD, f"{_ARM}, MOV (vector)", "other", copy=True),
    Row("fmov", "w:x.d r:q", (), f"{_ARM}, FMOV (general)", "other"),
    Row("ldr.q", "w:x.q r:m128", (), f"{_ARM}, LDR (immediate, SIMD&FP)", "load"),
    Row("ldr.d", "w:x.d r:m64", (), f"{_ARM}, LDR (immediate, SIMD&FP)", "load"),
    Row("ldr.s", "w:x.s r:m32", (), f"{_ARM}, LDR (immediate, SIMD&FP)", "load"),
    Row("str.q", "w:m128 r:x.q", (), f"{_ARM}, STR (immediate, SIMD&FP)", "store"),
)
"""Rows of vector registers. FMOV, LDR and STR belong to the base instruction set."""


def _byte_shifts() -> dict[str, tuple[Step, ...]]:
    """Return shifts by whole bytes: EXT takes 16 bytes from a block next to zeros."""
    zeros = Step("movi.zero", ("t",))
    out: dict[str, tuple[Step, ...]] = {}
    for i in range(1, BLOCK_BYTES):
        left = Step("ext", ("d", "t", "a", str(BLOCK_BYTES - i)))
        out[f"shl_bytes={i}"] = zeros, left
        out[f"shr_bytes={i}"] = zeros, Step("ext", ("d", "a", "t", str(i)))
    return out


LOWER = {
    **_byte_shifts(),
    **lowering("""
        clmul=0x00:     pmull d a b
        clmul=0x11:     pmull2 d a b
        clmul=0x01:     ext t a a 8; pmull d t b
        clmul=0x10:     ext t a a 8; pmull2 d t b
        xor:            eor d a b
        or:             orr d a b
        and:            and d a b
        swap64:         ext d a a 8
        shr_bytes=8:    mov.high d a
        shl64:          shl d a i
        shr64:          ushr d a i
        shl64_by:       dup t b; ushl d a t
        shr64_by:       dup t b; neg.2d t t; ushl d a t
        join_low:       zip1 d a b
        join_high:      zip2 d a b
        spread_top:     sshr t a 63; zip2 d t t
        shuffle_bytes:  tbl d a b
        mirror_bits:    rbit d a
        zero:           movi.zero d
        copy:           mov.16b d a
        load:           ldr.q d m
        load_aligned:   ldr.q d m
        load64:         ldr.d d m
        load32:         ldr.s d m
        store:          str.q m a
        from_gpr:       fmov d a
    """),
}
"""Lowering of the operations on one block.

USHL takes the lowest byte of a count as a signed number, negative to the right. It is right for
counts below 128, as the abstract shifts by a register promise.
"""
