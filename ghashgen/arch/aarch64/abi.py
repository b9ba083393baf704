"""The calling convention of AArch64.

Apple's and Microsoft's do not differ for a leaf function with integer and pointer parameters.
x18, which is the platform's there, is never used.
"""

from collections.abc import Mapping
from types import MappingProxyType

from ghashgen.arch.core import Abi

AAPCS64 = Abi(
    name="aapcs64",
    title="Procedure Call Standard for the Arm 64-bit Architecture (IHI 0055), 6.1",
    params=tuple(range(8)),
    # x16 and x17 are free between calls: veneers use them only on the way into a function.
    volatile=tuple(range(18)),
    saved=tuple(range(19, 29)),
    # The caller owns the low 64 bits of v8 to v15; a frame saves whole registers.
    saved_vectors=tuple(range(8, 16)),
    stack_params_at=0,
    format="elf64",
)

ABIS: Mapping[str, Abi] = MappingProxyType({AAPCS64.name: AAPCS64})
"""Every calling convention by name."""
