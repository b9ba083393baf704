"""The calling convention of AArch64.

Apple's and Microsoft's differ in nothing that a leaf function with integer and pointer parameters
meets: x18, which belongs to the platform there, is left alone everywhere.
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
    # Of v8 to v15 the low 64 bits are the caller's; a frame keeps them whole.
    saved_vectors=tuple(range(8, 16)),
    stack_params_at=0,
    format="elf64",
)

ABIS: Mapping[str, Abi] = MappingProxyType({AAPCS64.name: AAPCS64})
"""Every calling convention by name."""
