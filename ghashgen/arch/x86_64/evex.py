"""What the EVEX instruction sets share: features, and lowering at any width, to 32 registers.

The EVEX forms at 128 and 256 bits need AVX512VL; assemblers choose the VEX form if registers 0-15
allow it. A function must end with VZEROUPPER, because registers 0-15 are written wide.
"""

from ghashgen.arch.rows import lowering
from ghashgen.arch.x86_64.general import LOWER as GENERAL

FEATURES = (*("avx", "avx512dq", "avx512f", "avx512vl"), *("pclmulqdq", "vpclmulqdq"))
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
        spread_word:    vpshufd d a i
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
        merge_words:    vmovdqa64.copy d b; vpshufd.merged d a c i
        masked:         vmovdqu8.masked d a b
        shuffle_masked: vpshufb.masked d a b c
        differing:      vpcmpuq d a b 4
        mask_bits:      kmovb.out d a
        gpr_low:        bzhi d a b
    """),
}
"""Lowering of everything that does not depend on the register width."""
