"""AVX, VEX-128 (Sandy Bridge, 2011): three operands, memory operands of any alignment.

VEX.128 VPCLMULQDQ needs the PCLMULQDQ and AVX flags; the VPCLMULQDQ flag is for wider registers. A
VEX.128 write zeroes the rest of the register, so no VZEROUPPER is needed, except if bytes are
swapped two blocks at a time in a ymm register, which needs AVX2.
"""

from ghashgen.arch.rows import Isa, Row, lowering, row_table
from ghashgen.arch.x86_64 import ARCH
from ghashgen.arch.x86_64.vex import AVX, LOWER, ROWS, SDM

_AES = ("aesni", "avx")

ISA = Isa(
    name="avx",
    title="AVX, VPCLMULQDQ on xmm (VEX.128)",
    arch=ARCH,
    vector_registers=16,
    lanes=1,
    leave=("vzeroupper",),
    catalogue_blocks=(1, 2, 4, 6, 8, 12, 16),
    features=("avx", "pclmulqdq"),
    rows={
        **ROWS,
        **row_table(
            Row(
                "vpclmulqdq",
                "w:x r:x r:x/m128 r:i",
                ("pclmulqdq", "avx"),
                f"{SDM}, PCLMULQDQ, VEX.128",
                "clmul",
            ),
            Row("vaesenc", "w:x r:x r:x/m128", _AES, f"{SDM}, AESENC, VEX.128", "other"),
            Row("vaesenclast", "w:x r:x r:x/m128", _AES, f"{SDM}, AESENCLAST, VEX.128", "other"),
            Row("vpaddd", "w:x r:x r:x/m128", AVX, f"{SDM}, PADDD, VEX.128", "other"),
            Row("vpxor", "w:x r:x r:x/m128", AVX, f"{SDM}, PXOR, VEX.128", "xor"),
            Row("vpor", "w:x r:x r:x/m128", AVX, f"{SDM}, POR, VEX.128", "xor"),
            Row("vpand", "w:x r:x r:x/m128", AVX, f"{SDM}, PAND, VEX.128", "xor"),
            Row("vpshufd", "w:x r:x/m128 r:i", AVX, f"{SDM}, PSHUFD, VEX.128", "shuffle"),
            Row("vpshufb", "w:x r:x r:x/m128", AVX, f"{SDM}, PSHUFB, VEX.128", "shuffle"),
            Row("vpslldq", "w:x r:x r:i", AVX, f"{SDM}, PSLLDQ, VEX.128", "shuffle"),
            Row("vpsrldq", "w:x r:x r:i", AVX, f"{SDM}, PSRLDQ, VEX.128", "shuffle"),
            Row("vpunpcklqdq", "w:x r:x r:x/m128", AVX, f"{SDM}, PUNPCKLQDQ", "shuffle"),
            Row("vpunpckhqdq", "w:x r:x r:x/m128", AVX, f"{SDM}, PUNPCKHQDQ", "shuffle"),
            Row("vpsllq.imm", "w:x r:x r:i", AVX, f"{SDM}, PSLLQ, VEX.128", "shuffle"),
            Row("vpsrlq.imm", "w:x r:x r:i", AVX, f"{SDM}, PSRLQ, VEX.128", "shuffle"),
            Row("vpsrad.imm", "w:x r:x r:i", AVX, f"{SDM}, PSRAD, VEX.128", "shuffle"),
            Row("vmovdqa.copy", "w:x r:x", AVX, f"{SDM}, MOVDQA, VEX.128", "other", copy=True),
            Row("vmovdqu.load", "w:x r:m128", AVX, f"{SDM}, MOVDQU, VEX.128", "load"),
            Row("vmovdqu.store", "w:m128 r:x", AVX, f"{SDM}, MOVDQU, VEX.128", "store"),
            Row("vpshufb.ymm", "w:v r:v r:v/mv", ("avx2",), f"{SDM}, PSHUFB, VEX.256", "shuffle"),
            Row("vmovdqu.load256", "w:v r:mv", AVX, f"{SDM}, MOVDQU, VEX.256", "load"),
            Row("vmovdqu.store256", "w:mv r:v", AVX, f"{SDM}, MOVDQU, VEX.256", "store"),
            Row("vextracti128.store", "w:m128 r:v r:i", ("avx2",), f"{SDM}, VEXTRACTI128", "store"),
        ),
    },
    lower={
        **LOWER,
        **lowering("""
            shuffle_bytes@256:  vpshufb.ymm d a b
            load@256:           vmovdqu.load256 d m
            load_aligned@256:   vmovdqu.load256 d m
            store@256:          vmovdqu.store256 m a
            store_high:         vextracti128.store m a 1
            clear_upper:        vzeroupper
        """),
    },
)
