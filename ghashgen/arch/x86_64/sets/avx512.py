"""AVX-512 with VPCLMULQDQ on zmm (Ice Lake, Sapphire Rapids, Zen 4): four blocks in a register."""

from ghashgen.arch.rows import Isa, lowering
from ghashgen.arch.x86_64 import ARCH
from ghashgen.arch.x86_64.evex import FEATURES, LOWER
from ghashgen.arch.x86_64.instructions import rows

ISA = Isa(
    name="avx512",
    title="AVX-512, VPCLMULQDQ on zmm (EVEX.512)",
    arch=ARCH,
    vector_registers=32,
    mask_registers=8,
    lanes=4,
    catalogue_blocks=(4, 8, 16, 32, 48),
    features=FEATURES,
    leave=("vzeroupper",),
    rows=rows("evex"),
    lower={
        **LOWER,
        **lowering("""
            high_half@512:  vextracti64x4 d a 1
            high_half@256:  vextracti64x2 d a 1
            lanes_down:     vpxorq.zero t t t; valignq d t a i
            lanes_joined:   valignq d b a i
            lanes_up:       vpxorq.zero t t t; valignq d a t i
        """),
    },
)
