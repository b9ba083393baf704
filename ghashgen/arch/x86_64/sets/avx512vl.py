"""AVX-512VL with VPCLMULQDQ on ymm (EVEX.256): two blocks a register, 32 registers.

For processors whose clock drops on zmm: AVX-512 without the width. Assemblers write ymm
instructions on registers 0-15 in their VEX form, whose CPUID bit is AVX2.
"""

from ghashgen.arch.rows import Isa, lowering
from ghashgen.arch.x86_64 import ARCH
from ghashgen.arch.x86_64.evex import FEATURES, LOWER
from ghashgen.arch.x86_64.instructions import rows

ISA = Isa(
    name="avx512vl",
    title="AVX-512VL, VPCLMULQDQ on ymm (EVEX.256)",
    arch=ARCH,
    vector_registers=32,
    mask_registers=8,
    lanes=2,
    catalogue_blocks=(2, 8, 16, 32, 48),
    features=("avx2", *FEATURES),
    leave=("vzeroupper",),
    rows=rows("evex"),
    lower={
        **LOWER,
        **lowering("""
            high_half:      vextracti64x2 d a 1
            lanes_down:     vpxorq.zero t t t; valignq d t a i
            lanes_joined:   valignq d b a i
            lanes_up:       vpxorq.zero t t t; valignq d a t i
        """),
    },
)
