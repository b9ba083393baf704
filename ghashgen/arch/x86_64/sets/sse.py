"""Legacy SSE with PCLMULQDQ (Westmere, 2010): two operands, the first overwritten.

A memory operand of a legacy instruction must be 16-byte aligned (SDM vol. 1, section 4.1.1). The
table and the constants are; the input is not, so it is loaded by MOVDQU.
"""

from ghashgen.arch.rows import Isa, Row, lowering, row_table
from ghashgen.arch.x86_64 import ARCH
from ghashgen.arch.x86_64.general import LOWER, ROWS

_SDM = "Intel SDM vol. 2"
_SSE2 = ("sse2",)
_SSE4_1 = ("sse4_1",)
_AES = ("aesni",)

ISA = Isa(
    name="sse",
    title="legacy SSE, PCLMULQDQ on xmm",
    arch=ARCH,
    vector_registers=16,
    lanes=1,
    catalogue_blocks=(1, 2, 4, 6, 8, 12, 16),
    features=("pclmulqdq", "sse2"),
    rows={
        **ROWS,
        **row_table(
            Row(
                "pclmulqdq",
                "rw:x r:x/m128a r:i",
                ("pclmulqdq",),
                f"{_SDM}, PCLMULQDQ",
                "clmul",
            ),
            Row("aesenc", "rw:x r:x/m128a", _AES, f"{_SDM}, AESENC", "other"),
            Row("aesenclast", "rw:x r:x/m128a", _AES, f"{_SDM}, AESENCLAST", "other"),
            Row("paddd", "rw:x r:x/m128a", _SSE2, f"{_SDM}, PADDD", "other"),
            Row("pcmpgtb", "rw:x r:x/m128a", _SSE2, f"{_SDM}, PCMPGTB", "other"),
            Row("pxor", "rw:x r:x/m128a", _SSE2, f"{_SDM}, PXOR", "xor"),
            Row("pxor.zero", "w:x n:x", _SSE2, f"{_SDM}, PXOR", "xor"),
            Row("por", "rw:x r:x/m128a", _SSE2, f"{_SDM}, POR", "xor"),
            Row("pand", "rw:x r:x/m128a", _SSE2, f"{_SDM}, PAND", "xor"),
            Row("pshufd", "w:x r:x/m128a r:i", _SSE2, f"{_SDM}, PSHUFD", "shuffle"),
            Row("pshufb", "rw:x r:x/m128a", ("ssse3",), f"{_SDM}, PSHUFB", "shuffle"),
            Row("pslldq", "rw:x r:i", _SSE2, f"{_SDM}, PSLLDQ", "shuffle"),
            Row("psrldq", "rw:x r:i", _SSE2, f"{_SDM}, PSRLDQ", "shuffle"),
            Row("punpcklqdq", "rw:x r:x/m128a", _SSE2, f"{_SDM}, PUNPCKLQDQ", "shuffle"),
            Row("punpckhqdq", "rw:x r:x/m128a", _SSE2, f"{_SDM}, PUNPCKHQDQ", "shuffle"),
            Row("psllq.imm", "rw:x r:i", _SSE2, f"{_SDM}, PSLLQ", "shuffle"),
            Row("psrlq.imm", "rw:x r:i", _SSE2, f"{_SDM}, PSRLQ", "shuffle"),
            Row("psllq.by", "rw:x r:x/m128a", _SSE2, f"{_SDM}, PSLLQ", "shuffle"),
            Row("psrlq.by", "rw:x r:x/m128a", _SSE2, f"{_SDM}, PSRLQ", "shuffle"),
            Row("psrad.imm", "rw:x r:i", _SSE2, f"{_SDM}, PSRAD", "shuffle"),
            Row("movdqa.copy", "w:x r:x", _SSE2, f"{_SDM}, MOVDQA", "other", copy=True),
            Row("movdqa.load", "w:x r:m128a", _SSE2, f"{_SDM}, MOVDQA", "load"),
            Row("movdqu.load", "w:x r:m128", _SSE2, f"{_SDM}, MOVDQU", "load"),
            Row("movdqu.store", "w:m128 r:x", _SSE2, f"{_SDM}, MOVDQU", "store"),
            Row("movq.load", "w:x r:m64", _SSE2, f"{_SDM}, MOVQ", "load"),
            Row("movd.load", "w:x r:m32", _SSE2, f"{_SDM}, MOVD", "load"),
            Row("movq.store", "w:m64 r:x", _SSE2, f"{_SDM}, MOVQ", "store"),
            Row("movd.store", "w:m32 r:x", _SSE2, f"{_SDM}, MOVD", "store"),
            Row("pextrw.store", "w:m16 r:x r:i", _SSE4_1, f"{_SDM}, PEXTRW", "shuffle"),
            Row("pextrb.store", "w:m8 r:x r:i", _SSE4_1, f"{_SDM}, PEXTRB", "shuffle"),
            Row("movq.gpr", "w:x r:q", _SSE2, f"{_SDM}, MOVD/MOVQ", "other"),
            Row("movq.out", "w:q r:x", _SSE2, f"{_SDM}, MOVD/MOVQ", "other"),
        ),
    },
    lower={
        **LOWER,
        **lowering("""
            clmul:          movdqa.copy d a; pclmulqdq d b i
            xor:            movdqa.copy d a; pxor d b
            or:             movdqa.copy d a; por d b
            and:            movdqa.copy d a; pand d b
            swap64:         pshufd d a 0x4e
            shl_bytes:      movdqa.copy d a; pslldq d i
            shr_bytes:      movdqa.copy d a; psrldq d i
            shl64:          movdqa.copy d a; psllq.imm d i
            shr64:          movdqa.copy d a; psrlq.imm d i
            shl64_by:       movdqa.copy d a; psllq.by d b
            shr64_by:       movdqa.copy d a; psrlq.by d b
            join_low:       movdqa.copy d a; punpcklqdq d b
            join_high:      movdqa.copy d a; punpckhqdq d b
            spread_top:     pshufd d a 0xff; psrad.imm d 31
            shuffle_bytes:  movdqa.copy d a; pshufb d b
            aes_round:      movdqa.copy d a; aesenc d b
            aes_last:       movdqa.copy d a; aesenclast d b
            add32:          movdqa.copy d a; paddd d b
            bytes_above:    movdqa.copy d a; pcmpgtb d b
            zero:           pxor.zero d d
            copy:           movdqa.copy d a
            load:           movdqu.load d m
            load_aligned:   movdqa.load d m
            load64:         movq.load d m
            load32:         movd.load d m
            store:          movdqu.store m a
            store64:        movq.store m a
            store32:        movd.store m a
            store16:        pextrw.store m a 0
            store8:         pextrb.store m a 0
            from_gpr:       movq.gpr d a
            to_gpr:         movq.out d a
        """),
    },
)
