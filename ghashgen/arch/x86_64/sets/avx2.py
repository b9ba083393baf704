"""AVX2 with VPCLMULQDQ on ymm (VEX.256; Alder Lake, Zen 3): two blocks in a register, 16 registers.

Narrower registers use VEX.128, whose writes zero the upper half: one block in a ymm register is an
xmm register. VPCLMULQDQ on ymm needs the VPCLMULQDQ flag, but not AVX512.
"""

from ghashgen.arch.rows import Isa, Row, lowering, row_table
from ghashgen.arch.x86_64 import ARCH
from ghashgen.arch.x86_64.vex import AVX, LOWER, ROWS, SDM

_AES = ("vaes", "aesni", "avx")
_AVX2 = ("avx2",)

ISA = Isa(
    name="avx2",
    title="AVX2, VPCLMULQDQ on ymm (VEX.256)",
    arch=ARCH,
    vector_registers=16,
    lanes=2,
    catalogue_blocks=(2, 4, 8, 16, 32, 48),
    features=("avx", "avx2", "pclmulqdq", "vpclmulqdq"),
    leave=("vzeroupper",),
    rows={
        **ROWS,
        **row_table(
            Row(
                "vpclmulqdq",
                "w:v r:v r:v/mv r:i",
                ("vpclmulqdq", "pclmulqdq", "avx"),
                f"{SDM}, PCLMULQDQ, VEX.256",
                "clmul",
            ),
            Row("vaesenc", "w:v r:v r:v/mv", _AES, f"{SDM}, AESENC, VEX.256", "other"),
            Row("vaesenclast", "w:v r:v r:v/mv", _AES, f"{SDM}, AESENCLAST, VEX.256", "other"),
            Row("vpaddd", "w:v r:v r:v/mv", _AVX2, f"{SDM}, PADDD, VEX.256", "other"),
            Row("vpxor", "w:v r:v r:v/mv", _AVX2, f"{SDM}, PXOR, VEX.256", "xor"),
            Row("vpor", "w:v r:v r:v/mv", _AVX2, f"{SDM}, POR, VEX.256", "xor"),
            Row("vpand", "w:v r:v r:v/mv", _AVX2, f"{SDM}, PAND, VEX.256", "xor"),
            Row("vpshufd", "w:v r:v/mv r:i", _AVX2, f"{SDM}, PSHUFD, VEX.256", "shuffle"),
            Row("vpshufb", "w:v r:v r:v/mv", _AVX2, f"{SDM}, PSHUFB, VEX.256", "shuffle"),
            Row("vpslldq", "w:v r:v r:i", _AVX2, f"{SDM}, PSLLDQ, VEX.256", "shuffle"),
            Row("vpsrldq", "w:v r:v r:i", _AVX2, f"{SDM}, PSRLDQ, VEX.256", "shuffle"),
            Row("vpunpcklqdq", "w:v r:v r:v/mv", _AVX2, f"{SDM}, PUNPCKLQDQ", "shuffle"),
            Row("vpunpckhqdq", "w:v r:v r:v/mv", _AVX2, f"{SDM}, PUNPCKHQDQ", "shuffle"),
            Row("vpsllq.imm", "w:v r:v r:i", _AVX2, f"{SDM}, PSLLQ, VEX.256", "shuffle"),
            Row("vpsrlq.imm", "w:v r:v r:i", _AVX2, f"{SDM}, PSRLQ, VEX.256", "shuffle"),
            Row("vpsrad.imm", "w:v r:v r:i", _AVX2, f"{SDM}, PSRAD, VEX.256", "shuffle"),
            Row("vextracti128", "w:h r:v r:i", _AVX2, f"{SDM}, VEXTRACTI128", "shuffle"),
            Row("vinserti128", "w:v r:v r:x/m128 r:i", _AVX2, f"{SDM}, VINSERTI128", "shuffle"),
            Row("vperm2i128", "w:v r:v r:v r:i", _AVX2, f"{SDM}, VPERM2I128", "shuffle"),
            Row(
                "vgf2p8affineqb",
                "w:v r:v r:v/mv r:i",
                ("gfni", "avx"),
                f"{SDM}, GF2P8AFFINEQB, VEX.256",
                "other",
            ),
            Row("vbroadcasti128", "w:v r:m128", _AVX2, f"{SDM}, VPBROADCAST", "load"),
            Row("vmovdqa.copy", "w:v r:v", AVX, f"{SDM}, MOVDQA, VEX.256", "other", copy=True),
            Row("vmovdqu.load", "w:v r:mv", AVX, f"{SDM}, MOVDQU, VEX.256", "load"),
            Row("vmovdqu.store", "w:mv r:v", AVX, f"{SDM}, MOVDQU, VEX.256", "store"),
        ),
    },
    lower={
        **LOWER,
        **lowering("""
            reverse_bits:   vgf2p8affineqb d a b 0
            high_half:      vextracti128 d a 1
            insert_lane:    vinserti128 d a b i
            spread_lane:    vperm2i128 d a a 0x00
            lanes_down:     vperm2i128 d a a 0x81   # the upper half, zeros above: one lane
            load_spread:    vbroadcasti128 d m
        """),
    },
)
