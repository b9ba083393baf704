"""The CPU features that decoded instructions need: what an assembled kernel asks of CPUID.

The bytes decide, not the instruction set that they were written for: assemblers take the shorter
VEX form of an instruction where its registers allow it, and a VEX.256 integer instruction needs the
AVX2 bit whatever AVX-512 bits a CPU shows.
"""

from collections.abc import Iterable, Mapping
from functools import cache

from iced_x86 import CpuidFeature, EncodingKind, Instruction, OpKind, Register

_ANY_CPU = frozenset(
    {
        *("INTEL8086", "INTEL8086_ONLY", "INTEL186", "INTEL286", "INTEL386", "INTEL486", "X64"),
        *("CMOV", "FPU", "MULTIBYTENOP"),
        "CET_IBT",  # ENDBR64 is a NOP where there is no CET
    }
)
"""What every x86-64 CPU has, or executes without harm."""

_OF_ENCODING = {EncodingKind.VEX: "AVX", EncodingKind.EVEX: "AVX512F"}
"""What an encoding of vector registers takes beside what the instruction does."""


BASELINE = frozenset(
    (
        *("X64", "INTEL8086", "INTEL186", "INTEL286", "INTEL386", "INTEL486"),
        *("CMOV", "MULTIBYTENOP", "SSE", "CET_IBT"),
    )
)
"""What every x86-64 CPU runs, as iced names it; ENDBR64 is a NOP where CET is missing."""


@cache
def feature_names() -> Mapping[int, str]:
    """Return iced's names of CPUID features by number."""
    return {v: k for k, v in vars(CpuidFeature).items() if isinstance(v, int) and k.isupper()}


def cpu_features(instructions: Iterable[Instruction]) -> tuple[str, ...]:
    """Return the names of the CPUID bits that instructions need, in lower case, sorted.

    VEX.128 VPCLMULQDQ needs PCLMULQDQ and AVX, and not the VPCLMULQDQ bit, which is about wider
    registers (Intel SDM vol. 2, PCLMULQDQ).
    """
    found: set[str] = set()
    for instruction in instructions:
        found.update(feature_names()[number] for number in instruction.cpuid_features())
        if instruction.encoding in _OF_ENCODING and _on_vectors(instruction):
            found.add(_OF_ENCODING[instruction.encoding])
    return tuple(sorted(map(_called, found - _ANY_CPU)))


def _called(name: str) -> str:
    """Return the name that compilers and operating systems give a bit, for iced's: avx512vbmi."""
    return "aesni" if name == "AES" else name.lower().replace("avx512_", "avx512")


def _on_vectors(instruction: Instruction) -> bool:
    return any(
        instruction.op_kind(i) == OpKind.REGISTER
        and Register.XMM0 <= instruction.op_register(i) <= Register.ZMM31
        for i in range(instruction.op_count)
    )


def needs(instructions: Iterable[Instruction]) -> tuple[str, ...]:
    """Return the CPUID features, as iced names them, beyond what every x86-64 CPU has."""
    needed = {
        feature_names()[feature]
        for instruction in instructions
        for feature in instruction.cpuid_features()
    }
    return tuple(sorted(needed - BASELINE))
