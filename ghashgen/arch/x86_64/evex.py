"""What the EVEX instruction sets share: rows and lowering at any width, 32 registers.

The EVEX forms at 128 and 256 bits need AVX512VL; assemblers choose the VEX form if registers 0-15
allow it. A function must end with VZEROUPPER, because registers 0-15 are written wide.
"""

from ghashgen.arch.rows import Row, lowering, row_table
from ghashgen.arch.x86_64.general import LOWER as GENERAL
from ghashgen.arch.x86_64.general import ROWS as GENERAL_ROWS
from ghashgen.ir.program import Flow

_SDM = "Intel SDM vol. 2"
_F = ("avx512f", "avx512vl")
_BW = ("avx512bw", "avx512vl")
# The VEX.128 form needs AESNI; assemblers choose it for xmm0-15.
_AES = ("vaes", "aesni", *_F)
_DQ = ("avx512dq", "avx512vl")

ROWS = {
    **GENERAL_ROWS,
    **row_table(
        Row(
            "vpclmulqdq",
            "w:v r:v r:v/mv r:i",
            # The VEX.128 form needs PCLMULQDQ; assemblers choose it for xmm0-15.
            ("vpclmulqdq", "pclmulqdq", *_F),
            f"{_SDM}, PCLMULQDQ, EVEX",
            "clmul",
        ),
        Row("vaesenc", "w:v r:v r:v/mv", _AES, f"{_SDM}, AESENC, EVEX", "other"),
        Row("vaesenclast", "w:v r:v r:v/mv", _AES, f"{_SDM}, AESENCLAST, EVEX", "other"),
        Row("vpaddd", "w:v r:v r:v/mv", _F, f"{_SDM}, PADDD, EVEX", "other"),
        Row("vpxorq", "w:v r:v r:v/mv", _F, f"{_SDM}, PXOR, EVEX", "xor"),
        Row("vpternlogq", "rw:v r:v r:v/mv r:i", _F, f"{_SDM}, VPTERNLOGQ", "xor"),
        Row("vpxorq.zero", "w:x n:x n:x", _F, f"{_SDM}, PXOR, EVEX.128", "xor"),
        Row("vporq", "w:v r:v r:v/mv", _F, f"{_SDM}, POR, EVEX", "xor"),
        Row("vpandq", "w:v r:v r:v/mv", _F, f"{_SDM}, PAND, EVEX", "xor"),
        Row("vpshufd", "w:v r:v/mv r:i", _F, f"{_SDM}, PSHUFD, EVEX", "shuffle"),
        Row("vpshufb", "w:v r:v r:v/mv", _BW, f"{_SDM}, PSHUFB, EVEX", "shuffle"),
        Row("vpslldq", "w:v r:v r:i", _BW, f"{_SDM}, PSLLDQ, EVEX", "shuffle"),
        Row("vpsrldq", "w:v r:v r:i", _BW, f"{_SDM}, PSRLDQ, EVEX", "shuffle"),
        Row("vpunpcklqdq", "w:v r:v r:v/mv", _F, f"{_SDM}, PUNPCKLQDQ, EVEX", "shuffle"),
        Row("vpunpckhqdq", "w:v r:v r:v/mv", _F, f"{_SDM}, PUNPCKHQDQ, EVEX", "shuffle"),
        Row("vpsllq.imm", "w:v r:v r:i", _F, f"{_SDM}, PSLLQ, EVEX", "shuffle"),
        Row("vpsrlq.imm", "w:v r:v r:i", _F, f"{_SDM}, PSRLQ, EVEX", "shuffle"),
        Row("vpsrad.imm", "w:v r:v r:i", _F, f"{_SDM}, PSRAD, EVEX", "shuffle"),
        Row("vextracti64x4", "w:h r:v r:i", ("avx512f",), f"{_SDM}, VEXTRACTI64X4", "shuffle"),
        Row("vextracti64x2", "w:h r:v r:i", _DQ, f"{_SDM}, VEXTRACTI64X2, EVEX.256", "shuffle"),
        Row("vextracti64x2.lane", "w:x r:v r:i", _DQ, f"{_SDM}, VEXTRACTI64X2", "shuffle"),
        Row("vinserti64x2", "w:v r:v r:x/m128 r:i", _DQ, f"{_SDM}, VINSERTI64X2", "shuffle"),
        Row("vshufi64x2", "w:v r:v r:v r:i", _F, f"{_SDM}, VSHUFI64X2", "shuffle"),
        Row("valignq", "w:v r:v r:v r:i", _F, f"{_SDM}, VALIGNQ", "shuffle"),
        Row(
            "vgf2p8affineqb",
            "w:v r:v r:v/mv r:i",
            ("gfni", *_F),
            f"{_SDM}, GF2P8AFFINEQB, EVEX",
            "other",
        ),
        Row("vmovdqa64.copy", "w:v r:v", _F, f"{_SDM}, MOVDQA, EVEX", "other", copy=True),
        Row("vmovdqu64.load", "w:v r:mv", _F, f"{_SDM}, MOVDQU, EVEX", "load"),
        Row("vmovdqu64.store", "w:mv r:v", _F, f"{_SDM}, MOVDQU, EVEX", "store"),
        Row("vbroadcasti64x2", "w:v r:m128", _DQ, f"{_SDM}, VPBROADCAST, EVEX", "load"),
        Row("vmovq.gpr", "w:x r:q", ("avx512f",), f"{_SDM}, MOVD/MOVQ, EVEX.128", "other"),
        Row("vmovq.load", "w:x r:m64", ("avx512f",), f"{_SDM}, MOVQ, EVEX.128", "load"),
        Row("vmovd.load", "w:x r:m32", ("avx512f",), f"{_SDM}, MOVD, EVEX.128", "load"),
        # Not VMOVQ, whose displacement capstone 5 reads wrong where EVEX shortens it.
        Row(
            "vpextrq.store", "w:m64 r:x r:i", ("avx512dq",), f"{_SDM}, PEXTRQ, EVEX.128", "shuffle"
        ),
        Row("vmovd.store", "w:m32 r:x", ("avx512f",), f"{_SDM}, MOVD, EVEX.128", "store"),
        Row("vpextrb.store", "w:m8 r:x r:i", ("avx512bw",), f"{_SDM}, PEXTRB, EVEX.128", "shuffle"),
        Row("vmovq.out", "w:q r:x", ("avx512f",), f"{_SDM}, MOVD/MOVQ, EVEX.128", "other"),
        Row("kmovq", "w:k r:q", ("avx512bw",), f"{_SDM}, KMOVQ", "other", flags="", flow=Flow.NEXT),
        Row(
            "kmovq.load",
            "w:k r:m64",
            ("avx512bw",),
            f"{_SDM}, KMOVQ",
            "load",
            flags="",
            flow=Flow.NEXT,
        ),
        Row("kmovb.out", "w:d r:k", ("avx512dq",), f"{_SDM}, KMOVB", "other", flags=""),
        Row("bzhi", "w:q r:q r:q", ("bmi2",), f"{_SDM}, BZHI", "other", flags="w"),
        Row("vbroadcasti32x4", "w:v r:kz r:m128", _F, f"{_SDM}, VPBROADCAST, EVEX", "load"),
        Row("vmovdqu8.load", "w:v r:kz r:mv", _BW, f"{_SDM}, MOVDQU8, EVEX", "load"),
        Row("vmovdqu8.store", "w:mv r:km r:v", _BW, f"{_SDM}, MOVDQU8, EVEX", "store"),
        Row("vpshufb.masked", "w:v r:kz r:v r:v/mv", _BW, f"{_SDM}, PSHUFB, EVEX", "shuffle"),
        Row("vmovdqu8.masked", "w:v r:kz r:v", _BW, f"{_SDM}, MOVDQU8, EVEX", "other"),
        Row("vpcmpuq", "w:k r:v r:v/mv r:i", _F, f"{_SDM}, VPCMPUQ", "other"),
        Row("vextracti64x2.store", "w:m128 r:v r:i", _DQ, f"{_SDM}, VEXTRACTI64X2", "shuffle"),
        Row("vzeroupper", "", ("avx",), f"{_SDM}, VZEROUPPER", "other", flags="", flow=Flow.NEXT),
    ),
}
"""Rows at 128, 256 and 512 bits."""

FEATURES = (
    *("avx", "avx512dq", "avx512f", "avx512vl"),
    *("pclmulqdq", "vpclmulqdq"),
)
"""Features that kernels of these sets need at any register width.

Most need AVX512BW too, which moves bytes within zmm registers and within those above 15.
"""

LOWER = {
    **GENERAL,
    **lowering("""
        clmul:          vpclmulqdq d a b i
        xor:            vpxorq d a b
        xor3:           vmovdqa64.copy d a; vpternlogq d b c 0x96
        or:             vporq d a b
        and:            vpandq d a b
        swap64:         vpshufd d a 0x4e
        shl_bytes:      vpslldq d a i
        shr_bytes:      vpsrldq d a i
        shl64:          vpsllq.imm d a i
        shr64:          vpsrlq.imm d a i
        join_low:       vpunpcklqdq d a b
        join_high:      vpunpckhqdq d a b
        spread_top:     vpshufd d a 0xff; vpsrad.imm d d 31
        shuffle_bytes:  vpshufb d a b
        reverse_bits:   vgf2p8affineqb d a b 0
        insert_lane:    vinserti64x2 d a b i
        spread_lane:    vshufi64x2 d a a 0x00
        aes_round:      vaesenc d a b
        aes_last:       vaesenclast d a b
        add32:          vpaddd d a b
        zero:           vpxorq.zero d d d
        copy:           vmovdqa64.copy d a
        load:           vmovdqu64.load d m
        load_aligned:   vmovdqu64.load d m
        load64:         vmovq.load d m
        load32:         vmovd.load d m
        load_spread:    vbroadcasti64x2 d m
        from_gpr:       vmovq.gpr d a
        to_gpr:         vmovq.out d a
        take_lane:      vextracti64x2.lane d a i
        store:          vmovdqu64.store m a
        store64:        vpextrq.store m a 0
        store32:        vmovd.store m a
        store8:         vpextrb.store m a 0
        pick_lanes:     vshufi64x2 d a b i
        store_lane:     vextracti64x2.store m a i
        mask:           kmovq d a
        load_mask:      kmovq.load d m
        load_masked:    vmovdqu8.load d a m
        store_masked:   vmovdqu8.store m a b
        spread_masked:  vbroadcasti32x4 d a m
        shuffle_masked: vpshufb.masked d a b c
        masked:         vmovdqu8.masked d a b
        differing:      vpcmpuq d a b 4
        mask_bits:      kmovb.out d a
        gpr_low:        bzhi d a b
    """),
}
"""Lowering of everything that does not depend on the register width."""
