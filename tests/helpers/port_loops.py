"""What the tests of port bounds share: instructions, and the loops of some kernels."""

from functools import cache

from iced_x86 import Code, Instruction, MemoryOperand, Register

from ghashgen.arch.objects import ObjectCode, read_object
from ghashgen.arch.registry import uarch
from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.cost.audit import loop as loop_of
from ghashgen.cost.ports import Loop
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import target
from ghashgen.support.toolchain import assemble_text
from helpers.compiling import emitted_text

SKX = uarch("cascadelake")
R, C = Register, Code
KERNELS = (
    Kernel("avx", "winograd", "clmul1", 16),
    Kernel("sse", "karatsuba", "clmul2", 4),
    Kernel("avx2", "winograd", "clmul1", 4),
    Kernel("avx512", "k", "clmul1", 8, "natural"),
    Kernel("avx512vl", "schoolbook", "clmul2", 4),
)


def clmul(d: int = R.XMM1, a: int = R.XMM2) -> Instruction:
    return Instruction.create_reg_reg_reg_i32(C.VEX_VPCLMULQDQ_XMM_XMM_XMMM128_IMM8, d, a, a, 1)


def shuffle() -> Instruction:
    return Instruction.create_reg_reg_reg(C.VEX_VPSHUFB_XMM_XMM_XMMM128, R.XMM1, R.XMM2, R.XMM3)


def xor(a: int = R.XMM2, b: int = R.XMM3) -> Instruction:
    return Instruction.create_reg_reg_reg(C.VEX_VPXOR_XMM_XMM_XMMM128, R.XMM1, a, b)


def xor_memory() -> Instruction:
    where = MemoryOperand(R.RDI, displ=16)
    return Instruction.create_reg_reg_mem(C.VEX_VPXOR_XMM_XMM_XMMM128, R.XMM1, R.XMM2, where)


def xor_wide(code: int, register: int) -> Instruction:
    return Instruction.create_reg_reg_reg(code, register, register + 1, register + 2)


def compare() -> Instruction:
    return Instruction.create_reg_i32(C.CMP_RM64_IMM32, R.RCX, 256)


def jump() -> Instruction:
    return Instruction.create_branch(C.JAE_REL8_64, 0)


@cache
def code(kernel: Kernel) -> tuple[str, ObjectCode]:
    """A kernel's symbol and its assembled code."""
    text = emitted_text(kernel, target())
    return target().symbol(kernel.name), read_object(
        assemble_text(find_nasm(), kernel.name, text, "elf64")
    )


def group(kernel: Kernel) -> Loop:
    """A kernel's loop over whole groups."""
    symbol, object_code = code(kernel)
    body = loop_of(object_code, f"{symbol}_update")
    return Loop(kernel.name, kernel.blocks, tuple(body))
