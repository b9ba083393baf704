"""The CPU features that decoded instructions need, as CPUID bits.

The bytes decide, not the instruction set of the kernel. Assemblers use an instruction's shorter VEX
form if its registers allow it, and a VEX.256 integer instruction needs the AVX2 bit whatever
AVX-512 bits a CPU has.
"""

from collections.abc import Iterable, Mapping
from functools import cache

from iced_x86 import CpuidFeature, EncodingKind, Instruction, OpKind, Register

_ANY_CPU = frozenset(
    {
        *("INTEL8086", "INTEL8086_ONLY", "INTEL186", "INTEL286", "INTEL386", "INTEL486", "X64"),
        *("CMOV", "FPU", "MULTIBYTENOP"),
        "CET_IBT",  # ENDBR64 is a NOP without CET
    }
)
"""Features that every x86-64 CPU has, or executes without effect."""

_OF_ENCODING = {EncodingKind.VEX: "AVX", EncodingKind.EVEX: "AVX512F"}
"""The feature that an encoding of vector registers needs besides the instruction's own."""


BASELINE = frozenset(
    (
        *("X64", "INTEL8086", "INTEL186", "INTEL286", "INTEL386", "INTEL486"),
        *("CMOV", "MULTIBYTENOP", "SSE", "CET_IBT"),
    )
)
"""Features of every x86-64 CPU, by iced's names; ENDBR64 is a NOP without CET."""


@cache
def feature_names() -> Mapping[int, str]:
    """Return iced's names of CPUID features by number."""
    return {v: k for k, v in vars(CpuidFeature).items() if isinstance(v, int) and k.isupper()}


def cpu_features(instructions: Iterable[Instruction]) -> tuple[str, ...]:
    """Return the names of the CPUID bits that instructions need, in lower case, sorted.

    VEX.128 VPCLMULQDQ needs PCLMULQDQ and AVX, not the VPCLMULQDQ bit, which is for wider registers
    (Intel SDM vol. 2, PCLMULQDQ).
    """
    found: set[str] = set()
    for instruction in instructions:
        found.update(feature_names()[number] for number in instruction.cpuid_features())
        if instruction.encoding in _OF_ENCODING and _on_vectors(instruction):
            found.add(_OF_ENCODING[instruction.encoding])
    return tuple(sorted(map(_called, found - _ANY_CPU)))


def _called(name: str) -> str:
    """Return compilers' and operating systems' name of a bit for iced's: avx512vbmi."""
    return "aesni" if name == "AES" else name.lower().replace("avx512_", "avx512")


def iced_name(bit: str) -> str:
    """Return iced's name of a bit, by its name here."""
    return {_called(name): name for name in feature_names().values()}[bit]


def _on_vectors(instruction: Instruction) -> bool:
    return any(
        instruction.op_kind(i) == OpKind.REGISTER
        and Register.XMM0 <= instruction.op_register(i) <= Register.ZMM31
        for i in range(instruction.op_count)
    )


def needs(instructions: Iterable[Instruction]) -> tuple[str, ...]:
    """Return the CPUID features, by iced's names, that some x86-64 CPU lacks."""
    needed = {
        feature_names()[feature]
        for instruction in instructions
        for feature in instruction.cpuid_features()
    }
    return tuple(sorted(needed - BASELINE))
