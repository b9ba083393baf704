"""The guest code around a call: loads every register, stores every register, calls again.

Loading and storing inside the guest makes mask registers accessible (the library's state has none)
and costs one run of some 120 emulated instructions instead of 32 Python lists.
"""

from iced_x86 import BlockEncoder, Code, Instruction, MemoryOperand, Register

from ghashgen.run.emulate.layout import RETURN_ADDRESS, STUB_CODE, STUB_IN, STUB_OUT, STUB_SCRATCH
from ghashgen.run.emulate.registers import (
    GPR_AT,
    GPR_NAMES,
    K_AT,
    MXCSR_AT,
    REGISTERS_BYTES,
    RFLAGS_AT,
    ZMM_AT,
)

# The word after the register block is where the entry stub jumps to.
TARGET_AT = REGISTERS_BYTES

# The words after it are the series stub's: calls left, function, rsp, then the next call's values
# of all registers that either convention uses for arguments, then how much each grows from call to
# call.
SERIES_AT = TARGET_AT + 8
SERIES_REGISTERS = ("rdi", "rsi", "rdx", "rcx", "r8", "r9")
SERIES_WORDS = 3 + 2 * len(SERIES_REGISTERS)
_SERIES = STUB_CODE + 1536
_RSP = GPR_NAMES.index("rsp")
_GPRS = tuple(getattr(Register, name.upper()) for name in GPR_NAMES)
_ZMMS = tuple(getattr(Register, f"ZMM{i}") for i in range(32))
_KS = tuple(getattr(Register, f"K{i}") for i in range(8))
_NOT_RSP = tuple(i for i in range(16) if i != _RSP)


def _at(address: int) -> MemoryOperand:
    return MemoryOperand(Register.RIP, displ=address, displ_size=8)


def _encode(instructions: list[Instruction], address: int) -> bytes:
    encoder = BlockEncoder(64)
    encoder.add_many(instructions)
    return encoder.encode(address)


def entry_stub() -> tuple[int, bytes]:
    """Return address and bytes of the code that loads the block at `STUB_IN` and jumps to its
    target.
    """
    mem, reg_mem = Instruction.create_mem, Instruction.create_reg_mem
    flags_stack = _at(STUB_SCRATCH + 2048)
    code = [
        reg_mem(Code.LEA_R64_M, Register.RSP, flags_stack),
        mem(Code.PUSH_RM64, _at(STUB_IN + RFLAGS_AT)),
        Instruction.create(Code.POPFQ),
        mem(Code.VEX_VLDMXCSR_M32, _at(STUB_IN + MXCSR_AT)),
        *(
            reg_mem(Code.EVEX_VMOVDQU64_ZMM_K1Z_ZMMM512, _ZMMS[i], _at(STUB_IN + ZMM_AT + 64 * i))
            for i in range(32)
        ),
        *(reg_mem(Code.VEX_KMOVQ_KR_KM64, _KS[i], _at(STUB_IN + K_AT + 8 * i)) for i in range(8)),
        *(
            reg_mem(Code.MOV_R64_RM64, _GPRS[i], _at(STUB_IN + GPR_AT + 8 * i))
            for i in (*_NOT_RSP, _RSP)
        ),
        mem(Code.JMP_RM64, _at(STUB_IN + TARGET_AT)),
    ]
    return STUB_CODE, _encode(code, STUB_CODE)


def exit_stub() -> tuple[int, bytes]:
    """Return address and bytes of the code that stores the block at `STUB_OUT` and ends with UD2.

    The called function returns to it, and a faulted call is resumed there.
    """
    mem, mem_reg = Instruction.create_mem, Instruction.create_mem_reg
    code = [
        mem_reg(Code.MOV_RM64_R64, _at(STUB_OUT + GPR_AT + 8 * _RSP), Register.RSP),
        Instruction.create_reg_mem(Code.LEA_R64_M, Register.RSP, _at(STUB_SCRATCH + 2048)),
        Instruction.create(Code.PUSHFQ),
        mem(Code.POP_RM64, _at(STUB_OUT + RFLAGS_AT)),
        *(mem_reg(Code.MOV_RM64_R64, _at(STUB_OUT + GPR_AT + 8 * i), _GPRS[i]) for i in _NOT_RSP),
        *(mem_reg(Code.VEX_KMOVQ_M64_KR, _at(STUB_OUT + K_AT + 8 * i), _KS[i]) for i in range(8)),
        *(
            mem_reg(Code.EVEX_VMOVDQU64_ZMMM512_K1Z_ZMM, _at(STUB_OUT + ZMM_AT + 64 * i), _ZMMS[i])
            for i in range(32)
        ),
        mem(Code.VEX_VSTMXCSR_M32, _at(STUB_OUT + MXCSR_AT)),
        Instruction.create(Code.UD2),
    ]
    return RETURN_ADDRESS, _encode(code, RETURN_ADDRESS)


def series_stub() -> tuple[int, bytes]:
    """Return address and bytes of the loop that calls a function until no call is left.

    Its whole state is in memory, so that registers left by a call cannot mislead it. It ends in the
    exit stub.
    """
    mem, reg_mem = Instruction.create_mem, Instruction.create_reg_mem

    def word(number: int) -> MemoryOperand:
        return _at(STUB_IN + SERIES_AT + 8 * number)

    arguments = range(3, 3 + len(SERIES_REGISTERS))
    code = [
        Instruction.create_mem_i32(Code.SUB_RM64_IMM8, word(0), 1),
        Instruction.create_branch(Code.JB_REL32_64, RETURN_ADDRESS),
        reg_mem(Code.MOV_R64_RM64, Register.RSP, word(2)),
    ]
    for name, number in zip(SERIES_REGISTERS, arguments, strict=True):
        register = _GPRS[GPR_NAMES.index(name)]
        code += [
            reg_mem(Code.MOV_R64_RM64, register, word(number)),
            reg_mem(Code.MOV_R64_RM64, Register.RAX, word(number + len(SERIES_REGISTERS))),
            Instruction.create_mem_reg(Code.ADD_RM64_R64, word(number), Register.RAX),
        ]
    code += [mem(Code.CALL_RM64, word(1)), Instruction.create_branch(Code.JMP_REL32_64, _SERIES)]
    return _SERIES, _encode(code, _SERIES)
