"""AVX, VEX-128 (Sandy Bridge, 2011): three operands, memory operands of any alignment.

VEX.128 VPCLMULQDQ needs the PCLMULQDQ and AVX flags; the VPCLMULQDQ flag is for wider registers. A
VEX.128 write zeroes the rest of the register, so no VZEROUPPER is needed, except if bytes are
swapped two blocks at a time in a ymm register, which needs AVX2.
"""

from ghashgen.arch.rows import Isa, lowering
from ghashgen.arch.x86_64 import ARCH
from ghashgen.arch.x86_64.instructions import rows
from ghashgen.arch.x86_64.vex import LOWER

ISA = Isa(
    name="avx",
    title="AVX, VPCLMULQDQ on xmm (VEX.128)",
    arch=ARCH,
    vector_registers=16,
    lanes=1,
    leave=("vzeroupper",),
    catalogue_blocks=(1, 2, 4, 6, 8, 12, 16),
    features=("avx", "pclmulqdq"),
    rows=rows("vex", "avx"),
    lower={
        **LOWER,
        **lowering("""
            shuffle_bytes@256:  vpshufb.ymm d a b
            load@256:           vmovdqu.load256 d m
            load_aligned@256:   vmovdqu.load256 d m
            store@256:          vmovdqu.store256 m a
            store_high:         vextracti128.store m a 1
            clear_upper:        vzeroupper
        """),
    },
)
