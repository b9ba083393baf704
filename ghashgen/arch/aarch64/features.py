"""The CPU features that distinguish AArch64 kernels, and the instructions that need them."""

from collections.abc import Mapping
from types import MappingProxyType

DETECTED: Mapping[str, str] = MappingProxyType({"asimd": "1", "pmull": "4", "sha3": "17"})
"""The HWCAP bit of FEAT_AdvSIMD, FEAT_PMULL and FEAT_SHA3 in Linux
(Documentation/arch/arm64/elf_hwcaps); ``harness/aarch64/cpu.c`` reads them.
"""

NEEDED: Mapping[str, str] = MappingProxyType(
    {"pmull": "pmull", "pmull2": "pmull", "eor3": "sha3", "bcax": "sha3", "rax1": "sha3"}
)
"""The feature that a mnemonic needs besides Advanced SIMD."""
