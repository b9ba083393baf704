"""AVX2 with VPCLMULQDQ on ymm (VEX.256; Alder Lake, Zen 3): two blocks in a register, 16 registers.

Narrower registers use VEX.128, whose writes zero the upper half: one block in a ymm register is an
xmm register. VPCLMULQDQ on ymm needs the VPCLMULQDQ flag, but not AVX512.
"""

from ghashgen.arch.rows import Isa, lowering
from ghashgen.arch.x86_64 import ARCH
from ghashgen.arch.x86_64.instructions import rows
from ghashgen.arch.x86_64.vex import LOWER

ISA = Isa(
    name="avx2",
    title="AVX2, VPCLMULQDQ on ymm (VEX.256)",
    arch=ARCH,
    vector_registers=16,
    lanes=2,
    catalogue_blocks=(2, 4, 8, 16, 32, 48),
    features=("avx", "avx2", "pclmulqdq", "vpclmulqdq"),
    leave=("vzeroupper",),
    rows=rows("vex", "avx2"),
    lower={
        **LOWER,
        **lowering("""
            reverse_bits:   vgf2p8affineqb d a b 0
            high_half:      vextracti128 d a 1
            insert_lane:    vinserti128 d a b i
            spread_lane:    vperm2i128 d a a 0x00
            lanes_down:     vperm2i128 d a a 0x81   # the upper half, zeros above: one lane
            lanes_joined:   vperm2i128 d a b 0x21
            load_spread:    vbroadcasti128 d m
            store_lane:     vextracti128.store m a i
        """),
    },
)
