"""AVX2 with VPCLMULQDQ on ymm (VEX.256; Alder Lake, Zen 3): two blocks in a register, 16 registers.

Narrower registers use VEX.128, whose writes zero the upper half: one block in a ymm register is an
xmm register. VPCLMULQDQ on ymm needs the VPCLMULQDQ flag, but not AVX512.
"""

from ghashgen.arch.rows import Isa, Row, lowering, row_table
from ghashgen.arch.x86_64 import ARCH
from ghashgen.arch.x86_64.general import LOWER, ROWS
from ghashgen.ir.program import Flow

_SDM = "Intel SDM vol. 2"
_AVX = ("avx",)
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
                f"{_SDM}, PCLMULQDQ, VEX.256",
                "clmul",
            ),
            Row("vaesenc", "w:v r:v r:v/mv", _AES, f"{_SDM}, AESENC, VEX.256", "other"),
            Row(
                "vaesenclast",
                "w:v r:v r:v/mv",
                _AES,
                f"{_SDM}, AESENCLAST, VEX.256",
                "other",
            ),
            Row("vpaddd", "w:v r:v r:v/mv", _AVX2, f"{_SDM}, PADDD, VEX.256", "other"),
            Row("vpcmpgtb", "w:x r:x r:x/m128", _AVX, f"{_SDM}, PCMPGTB, VEX.128", "other"),
            Row("vpxor", "w:v r:v r:v/mv", _AVX2, f"{_SDM}, PXOR, VEX.256", "xor"),
            Row("vpxor.zero", "w:x n:x n:x", _AVX, f"{_SDM}, PXOR, VEX.128", "xor"),
            Row("vpor", "w:v r:v r:v/mv", _AVX2, f"{_SDM}, POR, VEX.256", "xor"),
            Row("vpand", "w:v r:v r:v/mv", _AVX2, f"{_SDM}, PAND, VEX.256", "xor"),
            Row("vpshufd", "w:v r:v/mv r:i", _AVX2, f"{_SDM}, PSHUFD, VEX.256", "shuffle"),
            Row("vpshufb", "w:v r:v r:v/mv", _AVX2, f"{_SDM}, PSHUFB, VEX.256", "shuffle"),
            Row("vpslldq", "w:v r:v r:i", _AVX2, f"{_SDM}, PSLLDQ, VEX.256", "shuffle"),
            Row("vpsrldq", "w:v r:v r:i", _AVX2, f"{_SDM}, PSRLDQ, VEX.256", "shuffle"),
            Row("vpunpcklqdq", "w:v r:v r:v/mv", _AVX2, f"{_SDM}, PUNPCKLQDQ", "shuffle"),
            Row("vpunpckhqdq", "w:v r:v r:v/mv", _AVX2, f"{_SDM}, PUNPCKHQDQ", "shuffle"),
            Row("vpsllq.imm", "w:v r:v r:i", _AVX2, f"{_SDM}, PSLLQ, VEX.256", "shuffle"),
            Row("vpsrlq.imm", "w:v r:v r:i", _AVX2, f"{_SDM}, PSRLQ, VEX.256", "shuffle"),
            Row("vpsllq.by", "w:x r:x r:x/m128", _AVX, f"{_SDM}, PSLLQ, VEX.128", "shuffle"),
            Row("vpsrlq.by", "w:x r:x r:x/m128", _AVX, f"{_SDM}, PSRLQ, VEX.128", "shuffle"),
            Row("vpsrad.imm", "w:v r:v r:i", _AVX2, f"{_SDM}, PSRAD, VEX.256", "shuffle"),
            Row("vextracti128", "w:h r:v r:i", _AVX2, f"{_SDM}, VEXTRACTI128", "shuffle"),
            Row("vinserti128", "w:v r:v r:x/m128 r:i", _AVX2, f"{_SDM}, VINSERTI128", "shuffle"),
            Row("vperm2i128", "w:v r:v r:v r:i", _AVX2, f"{_SDM}, VPERM2I128", "shuffle"),
            Row(
                "vgf2p8affineqb",
                "w:v r:v r:v/mv r:i",
                ("gfni", "avx"),
                f"{_SDM}, GF2P8AFFINEQB, VEX.256",
                "other",
            ),
            Row("vbroadcasti128", "w:v r:m128", _AVX2, f"{_SDM}, VPBROADCAST", "load"),
            Row("vmovdqa.copy", "w:v r:v", _AVX, f"{_SDM}, MOVDQA, VEX.256", "other", copy=True),
            Row("vmovdqu.load", "w:v r:mv", _AVX, f"{_SDM}, MOVDQU, VEX.256", "load"),
            Row("vmovdqu.store", "w:mv r:v", _AVX, f"{_SDM}, MOVDQU, VEX.256", "store"),
            Row("vmovq.load", "w:x r:m64", _AVX, f"{_SDM}, MOVQ, VEX.128", "load"),
            Row("vmovd.load", "w:x r:m32", _AVX, f"{_SDM}, MOVD, VEX.128", "load"),
            Row("vmovq.store", "w:m64 r:x", _AVX, f"{_SDM}, MOVQ, VEX.128", "store"),
            Row("vmovd.store", "w:m32 r:x", _AVX, f"{_SDM}, MOVD, VEX.128", "store"),
            Row("vpextrw.store", "w:m16 r:x r:i", _AVX, f"{_SDM}, PEXTRW, VEX.128", "shuffle"),
            Row("vpextrb.store", "w:m8 r:x r:i", _AVX, f"{_SDM}, PEXTRB, VEX.128", "shuffle"),
            Row("vmovq.gpr", "w:x r:q", _AVX, f"{_SDM}, MOVD/MOVQ, VEX.128", "other"),
            Row("vmovq.out", "w:q r:x", _AVX, f"{_SDM}, MOVD/MOVQ, VEX.128", "other"),
            Row("vzeroupper", "", _AVX, f"{_SDM}, VZEROUPPER", "other", flags="", flow=Flow.NEXT),
        ),
    },
    lower={
        **LOWER,
        **lowering("""
            clmul:          vpclmulqdq d a b i
            xor:            vpxor d a b
            or:             vpor d a b
            and:            vpand d a b
            swap64:         vpshufd d a 0x4e
            shl_bytes:      vpslldq d a i
            shr_bytes:      vpsrldq d a i
            shl64:          vpsllq.imm d a i
            shr64:          vpsrlq.imm d a i
            shl64_by:       vpsllq.by d a b
            shr64_by:       vpsrlq.by d a b
            join_low:       vpunpcklqdq d a b
            join_high:      vpunpckhqdq d a b
            spread_top:     vpshufd d a 0xff; vpsrad.imm d d 31
            shuffle_bytes:  vpshufb d a b
            reverse_bits:   vgf2p8affineqb d a b 0
            high_half:      vextracti128 d a 1
            insert_lane:    vinserti128 d a b i
            spread_lane:    vperm2i128 d a a 0x00
            lanes_down:     vperm2i128 d a a 0x81   # the upper half, zeros above: one lane
            aes_round:      vaesenc d a b
            aes_last:       vaesenclast d a b
            add32:          vpaddd d a b
            bytes_above:    vpcmpgtb d a b
            zero:           vpxor.zero d d d
            copy:           vmovdqa.copy d a
            load:           vmovdqu.load d m
            load_aligned:   vmovdqu.load d m
            load64:         vmovq.load d m
            load32:         vmovd.load d m
            store:          vmovdqu.store m a
            store64:        vmovq.store m a
            store32:        vmovd.store m a
            store16:        vpextrw.store m a 0
            store8:         vpextrb.store m a 0
            load_spread:    vbroadcasti128 d m
            from_gpr:       vmovq.gpr d a
            to_gpr:         vmovq.out d a
        """),
    },
)
