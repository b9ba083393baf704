"""The CPU features that AArch64 kernels are told apart by, and which instructions need them."""

from collections.abc import Mapping
from types import MappingProxyType

DETECTED: Mapping[str, str] = MappingProxyType({"asimd": "1", "pmull": "4", "sha3": "17"})
"""FEAT_AdvSIMD, FEAT_PMULL, FEAT_SHA3: the bit of HWCAP in which Linux tells each
(Documentation/arch/arm64/elf_hwcaps); ``harness/aarch64/cpu.c`` reads them."""

NEEDED: Mapping[str, str] = MappingProxyType(
    {"pmull": "pmull", "pmull2": "pmull", "eor3": "sha3", "bcax": "sha3", "rax1": "sha3"}
)
"""The feature that a mnemonic needs beside Advanced SIMD."""
