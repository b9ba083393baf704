"""What the VEX instruction sets share: rows of one block, and lowering where rows have one name."""

from ghashgen.arch.rows import Row, lowering, row_table
from ghashgen.arch.x86_64.general import LOWER as GENERAL
from ghashgen.arch.x86_64.general import ROWS as GENERAL_ROWS
from ghashgen.ir.program import Flow

SDM = "Intel SDM vol. 2"
AVX = ("avx",)

ROWS = {
    **GENERAL_ROWS,
    **row_table(
        Row("vpcmpgtb", "w:x r:x r:x/m128", AVX, f"{SDM}, PCMPGTB, VEX.128", "other"),
        Row("vpxor.zero", "w:x n:x n:x", AVX, f"{SDM}, PXOR, VEX.128", "xor"),
        Row("vpsllq.by", "w:x r:x r:x/m128", AVX, f"{SDM}, PSLLQ, VEX.128", "shuffle"),
        Row("vpsrlq.by", "w:x r:x r:x/m128", AVX, f"{SDM}, PSRLQ, VEX.128", "shuffle"),
        Row("vmovq.load", "w:x r:m64", AVX, f"{SDM}, MOVQ, VEX.128", "load"),
        Row("vmovd.load", "w:x r:m32", AVX, f"{SDM}, MOVD, VEX.128", "load"),
        Row("vzeroupper", "", AVX, f"{SDM}, VZEROUPPER", "other", flags="", flow=Flow.NEXT),
        Row("vmovq.store", "w:m64 r:x", AVX, f"{SDM}, MOVQ, VEX.128", "store"),
        Row("vmovd.store", "w:m32 r:x", AVX, f"{SDM}, MOVD, VEX.128", "store"),
        Row("vpextrw.store", "w:m16 r:x r:i", AVX, f"{SDM}, PEXTRW, VEX.128", "shuffle"),
        Row("vpextrb.store", "w:m8 r:x r:i", AVX, f"{SDM}, PEXTRB, VEX.128", "shuffle"),
        Row("vmovq.gpr", "w:x r:q", AVX, f"{SDM}, MOVD/MOVQ, VEX.128", "other"),
        Row("vmovq.out", "w:q r:x", AVX, f"{SDM}, MOVD/MOVQ, VEX.128", "other"),
    ),
}
"""Rows of general registers, and of one block in an xmm register."""

LOWER = {
    **GENERAL,
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
}
"""Lowering to rows that have one name in each set, at the width of the set."""
