"""Runs programs on integers, at two stages: abstract operations, and instruction rows.

Written from the manual's words for the instructions, by mnemonic, without the rows' own tables; a
program after `select` or `allocate` must compute what the abstract one does. Memory is a value for
each (symbol, displacement); a slot that was never written cannot be read.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from ghashgen.arch.rows import Isa
from ghashgen.ir.program import CODES, Label, Mem, Op, Operand, PReg, Program, Slot, VReg

LANE = (1 << 128) - 1
HALF = (1 << 64) - 1
MAX_STEPS = 10_000


def _halves(a: int) -> tuple[int, int]:
    return a & HALF, a >> 64


def _join(low: int, high: int) -> int:
    return low | high << 64


def _pclmulqdq(a: int, b: int, i: int) -> int:
    left, right = _halves(a)[i & 1], _halves(b)[i >> 4 & 1]
    out = 0
    for bit in range(64):
        if left >> bit & 1:
            out ^= right << bit
    return out


def _words(a: int, bits: int) -> list[int]:
    return [a >> at & (1 << bits) - 1 for at in range(0, 128, bits)]


def _unwords(words: list[int], bits: int) -> int:
    return sum(word << at * bits for at, word in enumerate(words))


def _pshufd(a: int, i: int) -> int:
    return _unwords([_words(a, 32)[i >> 2 * j & 3] for j in range(4)], 32)


def _pshufb(a: int, b: int) -> int:
    source = _words(a, 8)
    return _unwords([0 if j & 128 else source[j & 15] for j in _words(b, 8)], 8)


def _psllq(a: int, b: int) -> int:
    count = b & HALF
    return 0 if count > 63 else _unwords([x << count & HALF for x in _halves(a)], 64)


def _psrlq(a: int, b: int) -> int:
    count = b & HALF
    return 0 if count > 63 else _unwords([x >> count for x in _halves(a)], 64)


def _psrad(a: int, i: int) -> int:
    signed = [x - (1 << 32 if x >> 31 else 0) for x in _words(a, 32)]
    return _unwords([(x >> i) % (1 << 32) for x in signed], 32)


MNEMONICS: Mapping[str, Callable[..., int]] = {
    "pclmulqdq": _pclmulqdq,
    "pxor": lambda a, b: a ^ b,
    "por": lambda a, b: a | b,
    "pand": lambda a, b: a & b,
    "pshufd": _pshufd,
    "pshufb": _pshufb,
    "pslldq": lambda a, i: a << 8 * i & LANE,
    "psrldq": lambda a, i: a >> 8 * i,
    "punpcklqdq": lambda a, b: _join(a & HALF, b & HALF),
    "punpckhqdq": lambda a, b: _join(a >> 64, b >> 64),
    "psllq": _psllq,
    "psrlq": _psrlq,
    "psrad": _psrad,
    "movdqa": lambda a: a,
    "movdqu": lambda a: a,
    "movq": lambda a: a & HALF,
    "movd": lambda a: a & 0xFFFFFFFF,
    "mov": lambda a: a,
    "add": lambda a, i: (a + i) & HALF,
    "sub": lambda a, i: (a - i) & HALF,
    "and": lambda a, i: a & i & HALF,
    "shl": lambda a, i: a << i & HALF,
    "shr": lambda a, i: a >> i,
    "neg": lambda a: -a & HALF,
    "xor": lambda a, b: a ^ b,
}
"""Legacy mnemonic → function of the sources, the overwritten one first."""

ABSTRACT: Mapping[str, Callable[..., int]] = {
    "clmul": _pclmulqdq,
    "xor": lambda a, b: a ^ b,
    "or": lambda a, b: a | b,
    "and": lambda a, b: a & b,
    "swap64": lambda a: _join(a >> 64, a & HALF),
    "shl_bytes": lambda a, i: a << 8 * i & LANE,
    "shr_bytes": lambda a, i: a >> 8 * i,
    "shl64": _psllq,
    "shr64": _psrlq,
    "shl64_by": _psllq,
    "shr64_by": _psrlq,
    "join_low": lambda a, b: _join(a & HALF, b & HALF),
    "join_high": lambda a, b: _join(a >> 64, b >> 64),
    "spread_top": lambda a: LANE * (a >> 127),
    "shuffle_bytes": _pshufb,
    "zero": lambda: 0,
    "copy": lambda a: a,
    "load": lambda a: a,
    "load_aligned": lambda a: a,
    "store": lambda a: a,
    "from_gpr": lambda a: a,
    "gpr_copy": lambda a: a,
    "gpr_const": lambda i: i,
    "gpr_add": lambda a, i: (a + i) & HALF,
    "gpr_sub": lambda a, i: (a - i) & HALF,
    "gpr_and": lambda a, i: a & i & HALF,
    "gpr_shl": lambda a, i: a << i & HALF,
    "gpr_shr": lambda a, i: a >> i,
    "gpr_neg": lambda a: -a & HALF,
}
"""Abstract operation → function of its sources."""

CONDITIONS: Mapping[str, Callable[[int, int], bool]] = {
    "below": lambda a, i: a < i,
    "not_below": lambda a, i: a >= i,
    "equal": lambda a, i: a == i,
    "jb": lambda a, i: a < i,
    "jae": lambda a, i: a >= i,
    "je": lambda a, i: a == i,
}

Memory = dict[tuple[str, int], int]


class _Run:
    def __init__(self, memory: Memory, registers: Mapping[VReg | PReg, int]) -> None:
        self.memory = dict(memory)
        self.values: dict[VReg | PReg | Slot, int] = dict(registers)
        self.flags = (0, 0)

    def read(self, operand: Operand) -> int:
        match operand:
            case Mem():
                return self.memory[_place(operand)]
            case int():
                return operand
            case VReg() | PReg() | Slot():
                return self.values[operand]
            case Label():
                raise TypeError("a label has no value")

    def write(self, operand: Operand, value: int) -> None:
        if isinstance(operand, Mem):
            self.memory[_place(operand)] = value
        else:
            assert isinstance(operand, VReg | PReg | Slot)
            self.values[operand] = value

    def abstract(self, op: Op) -> str | None:
        """Do one operation; return the label to go to, "" to return, None to go on."""
        if op.code == "return":
            return ""
        labels = [x.name for x in op.operands if isinstance(x, Label)]
        if labels:
            if op.code == "jump":
                return labels[0]
            condition = CONDITIONS[op.code.removeprefix("branch_")]
            a, i = (self.read(operand) for operand in op.operands[:2])
            return labels[0] if condition(a, i) else None
        sources = [
            self.read(operand)
            for role, operand in zip(CODES[op.code].roles, op.operands, strict=True)
            if role in "ri" or (role == "m" and op.code != "store")
        ]
        self.write(op.operands[0], ABSTRACT[op.code](*sources))
        return None

    def row(self, op: Op) -> str | None:
        """Do one instruction; the destination is the first operand, as in every row here."""
        mnemonic = op.code.partition(".")[0]
        if mnemonic == "ret":
            return ""
        if mnemonic in ("jmp", *CONDITIONS):
            (label,) = op.operands
            assert isinstance(label, Label)
            taken = mnemonic == "jmp" or CONDITIONS[mnemonic](*self.flags)
            return label.name if taken else None
        if mnemonic == "cmp":
            self.flags = self.read(op.operands[0]), self.read(op.operands[1])
            return None
        if op.code.endswith(".zero"):
            same = len(set(op.operands)) == 1
            values = [self.values.get(operand, 0x5A) for operand in op.operands[1:]]
            self.write(op.operands[0], 0 if same else values[0] ^ values[-1] ^ 1)
            return None
        vex = mnemonic.startswith("v")
        function = MNEMONICS[mnemonic.removeprefix("v")]
        moves = mnemonic.removeprefix("v").startswith(("mov", "pshufd"))
        sources = op.operands[1:] if vex or moves else op.operands
        self.write(op.operands[0], function(*map(self.read, sources)))
        return None


def _place(memory: Mem) -> tuple[str, int]:
    return memory.symbol or "input", memory.disp


def run(
    program: Program,
    isa: Isa | None,
    memory: Memory,
    registers: Mapping[VReg | PReg, int] | None = None,
) -> Memory:
    """Return the memory after the program; abstract operations if `isa` is None."""
    machine = _Run(memory, registers or {})
    at = {block.label: i for i, block in enumerate(program.blocks)}
    block, steps = 0, 0
    while block < len(program.blocks):
        goes_to: str | None = None
        for op in program.blocks[block].ops:
            steps += 1
            assert steps < MAX_STEPS
            goes_to = machine.abstract(op) if isa is None else machine.row(op)
            if goes_to is not None:
                break
        if goes_to == "":
            return machine.memory
        block = block + 1 if goes_to is None else at[goes_to]
    raise AssertionError("the program ran past its end")


def mutate(program: Program, at: int, change: Callable[[Op], list[Op]]) -> Program:
    """Return the program with the operation at position `at` replaced."""
    blocks, count = [], 0
    for block in program.blocks:
        ops: list[Op] = []
        for op in block.ops:
            ops.extend(change(op) if count == at else [op])
            count += 1
        blocks.append(replace(block, ops=tuple(ops)))
    return replace(program, blocks=tuple(blocks))
