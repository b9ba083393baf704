"""The register file of one call, and its garbage before the call.

The block of `REGISTERS_BYTES` bytes below is what the entry stub loads and the exit stub stores,
little-endian: 16 general registers in encoding order, rflags, mxcsr, eight 64-bit mask registers,
thirty-two 64-byte vector registers.
"""

import hashlib
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

GPR_NAMES = (
    "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
    "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
)  # fmt: skip

GPR_AT = 0
RFLAGS_AT = 128
MXCSR_AT = 136
K_AT = 144
ZMM_AT = 256
REGISTERS_BYTES = ZMM_AT + 32 * 64
_UNUSED = slice(K_AT + 64, ZMM_AT)

# CF PF AF ZF SF OF: a caller may pass these in any state (SysV 3.2.1, Win64).
ARITHMETIC_FLAGS = 0x8D5
# Bit 1 always reads as one; interrupts are enabled as in any user process.
FIXED_FLAGS = 0x202
DEFAULT_MXCSR = 0x1F80


@dataclass(frozen=True)
class Registers:
    """Every register that a kernel can see, decoded from a register block on demand.

    Values are Python integers; bit 0 of a zmm register is bit 0 of its lowest lane.
    """

    block: bytes

    def __getitem__(self, name: str) -> int:
        """Return the general register called `name` (64 bits).

        Raises:
            KeyError: there is no such register.
        """
        return self.gpr[name]

    @cached_property
    def gpr(self) -> Mapping[str, int]:
        """The sixteen general registers by name, in encoding order."""
        return dict(zip(GPR_NAMES, struct.unpack_from("<16Q", self.block, GPR_AT), strict=True))

    @cached_property
    def zmm(self) -> tuple[int, ...]:
        """The thirty-two vector registers, 512 bits each."""
        return tuple(
            int.from_bytes(self.block[at : at + 64], "little")
            for at in range(ZMM_AT, REGISTERS_BYTES, 64)
        )

    @cached_property
    def k(self) -> tuple[int, ...]:
        """The eight mask registers, 64 bits each."""
        return struct.unpack_from("<8Q", self.block, K_AT)

    @property
    def rflags(self) -> int:
        """The flags."""
        return int.from_bytes(self.block[RFLAGS_AT : RFLAGS_AT + 8], "little")

    @property
    def mxcsr(self) -> int:
        """The SSE control and status register."""
        return int.from_bytes(self.block[MXCSR_AT : MXCSR_AT + 4], "little")

    @property
    def rsp(self) -> int:
        """The stack pointer."""
        return self.gpr["rsp"]

    def xmm(self, index: int) -> int:
        """The low 128 bits of vector register `index`."""
        return self.zmm[index] & ((1 << 128) - 1)


@lru_cache(maxsize=256)
def garbage(seed: int, label: str, length: int) -> bytes:
    """Return `length` bytes that depend only on `seed` and `label` (SHAKE256)."""
    return hashlib.shake_256(f"{label}:{seed}".encode()).digest(length)


@lru_cache(maxsize=256)
def sentinel_block(seed: int) -> bytes:
    """Return a register block of garbage with valid rflags (DF clear) and the default mxcsr."""
    block = bytearray(garbage(seed, "registers", REGISTERS_BYTES))
    flags = struct.unpack_from("<Q", block, RFLAGS_AT)[0] & ARITHMETIC_FLAGS | FIXED_FLAGS
    struct.pack_into("<QQ", block, RFLAGS_AT, flags, DEFAULT_MXCSR)
    block[_UNUSED] = bytes(len(block[_UNUSED]))
    return bytes(block)
