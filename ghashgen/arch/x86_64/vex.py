"""What the VEX instruction sets share: lowering where rows have one name."""

from ghashgen.arch.rows import lowering
from ghashgen.arch.x86_64.general import LOWER as GENERAL

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
