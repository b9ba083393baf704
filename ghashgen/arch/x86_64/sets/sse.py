"""Legacy SSE with PCLMULQDQ (Westmere, 2010): two operands, the first overwritten.

A memory operand of a legacy instruction must be 16-byte aligned (SDM vol. 1, section 4.1.1). The
table and the constants are; the input is not, so it is loaded by MOVDQU.
"""

from ghashgen.arch.rows import Isa, lowering
from ghashgen.arch.x86_64 import ARCH
from ghashgen.arch.x86_64.general import LOWER
from ghashgen.arch.x86_64.instructions import rows

ISA = Isa(
    name="sse",
    title="legacy SSE, PCLMULQDQ on xmm",
    arch=ARCH,
    vector_registers=16,
    lanes=1,
    catalogue_blocks=(1, 2, 4, 6, 8, 12, 16),
    features=("pclmulqdq", "sse2"),
    rows=rows("sse"),
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
