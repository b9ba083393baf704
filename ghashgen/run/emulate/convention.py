"""What a calling convention requires of an emulated call."""

from ghashgen.arch.x86_64 import ARCH
from ghashgen.arch.x86_64.abi import ABIS
from ghashgen.arch.x86_64.registers import GPR_NAMES
from ghashgen.run.emulate.calls import Abi
from ghashgen.run.emulate.registers import Registers

EMULATED = ARCH.name
"""The emulated architecture."""

RESULT = GPR_NAMES[ARCH.result]
"""The register of returned numbers."""

DIRECTION_FLAG = 0x400


def abi_faults(abi: str, before: Registers, after: Registers) -> list[str]:
    """Return which preserved registers a call changed, and dirty upper halves."""
    convention = ABIS[abi]
    kept = [GPR_NAMES[number] for number in convention.saved]
    out = [f"{name} changed" for name in kept if before[name] != after[name]]
    # On entry rsp points to the return address, which RET pops.
    if after.rsp != before.rsp + 8:
        out.append("rsp is not restored")
    out += [
        f"xmm{number} changed"
        for number in convention.saved_vectors
        if before.xmm(number) != after.xmm(number)
    ]
    # Registers 16-31 have no legacy form, so their upper parts slow nothing down. A legacy
    # instruction keeps the caller's upper parts.
    wide = [number for number in range(16) if after.zmm[number] >> 128]
    dirty = [number for number in wide if before.zmm[number] >> 128 != after.zmm[number] >> 128]
    out += [f"the upper part of vector register {number} is in use" for number in dirty]
    if after.rflags & DIRECTION_FLAG:
        out.append("the direction flag is set")
    if before.mxcsr != after.mxcsr:
        out.append("mxcsr changed")
    return out


def abi_name(abi: str) -> Abi:
    """Return the calling convention by the emulator's name."""
    return "win64" if abi == "win64" else "sysv"
