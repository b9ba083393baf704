"""AVX, VEX-128 (Sandy Bridge, 2011): three operands, memory operands of any alignment.

VEX.128 VPCLMULQDQ needs the PCLMULQDQ and AVX flags; the VPCLMULQDQ flag is for wider registers. A
VEX.128 write zeroes the rest of the register, so no VZEROUPPER is needed, except if bytes are
swapped two blocks at a time in a ymm register, which needs AVX2.
"""

from ghashgen.arch.rows import Isa, Row, lowering, row_table
from ghashgen.arch.x86_64 import ARCH
from ghashgen.arch.x86_64.general import LOWER, ROWS
from ghashgen.ir.program import Flow

_SDM = "Intel SDM vol. 2"
_AVX = ("avx",)
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
                f"{_SDM}, PCLMULQDQ, VEX.128",
                "clmul",
            ),
            Row("vaesenc", "w:x r:x r:x/m128", _AES, f"{_SDM}, AESENC, VEX.128", "other"),
            Row(
                "vaesenclast",
                "w:x r:x r:x/m128",
                _AES,
                f"{_SDM}, AESENCLAST, VEX.128",
                "other",
            ),
            Row("vpaddd", "w:x r:x r:x/m128", _AVX, f"{_SDM}, PADDD, VEX.128", "other"),
            Row("vpcmpgtb", "w:x r:x r:x/m128", _AVX, f"{_SDM}, PCMPGTB, VEX.128", "other"),
            Row("vpxor", "w:x r:x r:x/m128", _AVX, f"{_SDM}, PXOR, VEX.128", "xor"),
            Row("vpxor.zero", "w:x n:x n:x", _AVX, f"{_SDM}, PXOR, VEX.128", "xor"),
            Row("vpor", "w:x r:x r:x/m128", _AVX, f"{_SDM}, POR, VEX.128", "xor"),
            Row("vpand", "w:x r:x r:x/m128", _AVX, f"{_SDM}, PAND, VEX.128", "xor"),
            Row("vpshufd", "w:x r:x/m128 r:i", _AVX, f"{_SDM}, PSHUFD, VEX.128", "shuffle"),
            Row("vpshufb", "w:x r:x r:x/m128", _AVX, f"{_SDM}, PSHUFB, VEX.128", "shuffle"),
            Row("vpslldq", "w:x r:x r:i", _AVX, f"{_SDM}, PSLLDQ, VEX.128", "shuffle"),
            Row("vpsrldq", "w:x r:x r:i", _AVX, f"{_SDM}, PSRLDQ, VEX.128", "shuffle"),
            Row("vpunpcklqdq", "w:x r:x r:x/m128", _AVX, f"{_SDM}, PUNPCKLQDQ", "shuffle"),
            Row("vpunpckhqdq", "w:x r:x r:x/m128", _AVX, f"{_SDM}, PUNPCKHQDQ", "shuffle"),
            Row("vpsllq.imm", "w:x r:x r:i", _AVX, f"{_SDM}, PSLLQ, VEX.128", "shuffle"),
            Row("vpsrlq.imm", "w:x r:x r:i", _AVX, f"{_SDM}, PSRLQ, VEX.128", "shuffle"),
            Row("vpsllq.by", "w:x r:x r:x/m128", _AVX, f"{_SDM}, PSLLQ, VEX.128", "shuffle"),
            Row("vpsrlq.by", "w:x r:x r:x/m128", _AVX, f"{_SDM}, PSRLQ, VEX.128", "shuffle"),
            Row("vpsrad.imm", "w:x r:x r:i", _AVX, f"{_SDM}, PSRAD, VEX.128", "shuffle"),
            Row("vmovdqa.copy", "w:x r:x", _AVX, f"{_SDM}, MOVDQA, VEX.128", "other", copy=True),
            Row("vmovdqu.load", "w:x r:m128", _AVX, f"{_SDM}, MOVDQU, VEX.128", "load"),
            Row("vmovdqu.store", "w:m128 r:x", _AVX, f"{_SDM}, MOVDQU, VEX.128", "store"),
            Row("vmovq.load", "w:x r:m64", _AVX, f"{_SDM}, MOVQ, VEX.128", "load"),
            Row("vmovd.load", "w:x r:m32", _AVX, f"{_SDM}, MOVD, VEX.128", "load"),
            Row("vpshufb.ymm", "w:v r:v r:v/mv", ("avx2",), f"{_SDM}, PSHUFB, VEX.256", "shuffle"),
            Row("vmovdqu.load256", "w:v r:mv", _AVX, f"{_SDM}, MOVDQU, VEX.256", "load"),
            Row("vmovdqu.store256", "w:mv r:v", _AVX, f"{_SDM}, MOVDQU, VEX.256", "store"),
            Row(
                "vextracti128.store",
                "w:m128 r:v r:i",
                ("avx2",),
                f"{_SDM}, VEXTRACTI128",
                "store",
            ),
            Row("vzeroupper", "", _AVX, f"{_SDM}, VZEROUPPER", "other", flags="", flow=Flow.NEXT),
            Row("vmovq.store", "w:m64 r:x", _AVX, f"{_SDM}, MOVQ, VEX.128", "store"),
            Row("vmovd.store", "w:m32 r:x", _AVX, f"{_SDM}, MOVD, VEX.128", "store"),
            Row("vpextrw.store", "w:m16 r:x r:i", _AVX, f"{_SDM}, PEXTRW, VEX.128", "shuffle"),
            Row("vpextrb.store", "w:m8 r:x r:i", _AVX, f"{_SDM}, PEXTRB, VEX.128", "shuffle"),
            Row("vmovq.gpr", "w:x r:q", _AVX, f"{_SDM}, MOVD/MOVQ, VEX.128", "other"),
            Row("vmovq.out", "w:q r:x", _AVX, f"{_SDM}, MOVD/MOVQ, VEX.128", "other"),
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
            shuffle_bytes@256:  vpshufb.ymm d a b
            load@256:           vmovdqu.load256 d m
            load_aligned@256:   vmovdqu.load256 d m
            store@256:          vmovdqu.store256 m a
            store_high:         vextracti128.store m a 1
            clear_upper:        vzeroupper
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
            from_gpr:       vmovq.gpr d a
            to_gpr:         vmovq.out d a
        """),
    },
)
