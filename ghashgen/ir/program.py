"""The intermediate representation: registers, operands, operations, blocks, programs.

One set of types serves every stage. Before `select`, an `Op.code` is an abstract operation (table
`CODES`); after it, the key of an instruction row of the ISA. Before `allocate`, registers are
`VReg`; after it, `PReg`. After `frame`, a function is a list of lines: operations, and directives
for everything else in its file. Every stage makes new frozen values. Registers may be written more
than once (a loop-carried accumulator is one VReg), so there are no phi nodes; liveness comes from
data flow (`compiler.liveness`).
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field


class RegClass(enum.StrEnum):
    """Register files; a vector register is the same register at any width."""

    VEC = "v"
    GPR = "r"
    MASK = "k"


class Flow(enum.StrEnum):
    """Where control may go after an operation."""

    NEXT = "next"
    """To the next operation."""
    BRANCH = "branch"
    """To the next operation or to its label, depending on the flags or a register."""
    JUMP = "jump"
    """To its label."""
    CALL = "call"
    """To another function, and back to the next operation."""
    RETURN = "return"
    """To the caller."""

    @property
    def falls(self) -> bool:
        """Whether control may continue with the next operation."""
        return self is not Flow.JUMP and self is not Flow.RETURN


@dataclass(frozen=True, order=True)
class VReg:
    """A virtual register."""

    cls: RegClass
    index: int
    name: str = field(compare=False, default="")

    def __hash__(self) -> int:
        return self.index

    def __str__(self) -> str:
        return f"%{self.cls}{self.index}"


@dataclass(frozen=True, order=True)
class PReg:
    """A physical register: hardware number within its class."""

    cls: RegClass
    index: int

    def __hash__(self) -> int:
        return self.index

    def __str__(self) -> str:
        return f"{self.cls}{self.index}"


Reg = VReg | PReg
_REGISTER = (VReg, PReg)


@dataclass(frozen=True)
class Mem:
    """A memory operand: base + index·scale + disp, or a named constant (rip-relative)."""

    base: Reg | None = None
    disp: int = 0
    index: Reg | None = None
    scale: int = 1
    symbol: str | None = None
    align: int = 1
    """Known alignment of the address in bytes."""
    within: str = ""
    """Name of the object that it is part of: parts of two objects never overlap. "" says
    nothing.
    """

    @property
    def registers(self) -> tuple[Reg, ...]:
        """The registers in the address."""
        return tuple(reg for reg in (self.base, self.index) if reg is not None)


WAY, ENTERED = "how it was entered", "entered"
"""The comment of the number that says how a function was entered, and the label behind it."""


@dataclass(frozen=True)
class Label:
    """A branch target within the function, or within another of the same file."""

    name: str
    short: bool = False
    """Whether a jump to it must be short, because not every assembler finds that itself."""
    of: str = ""
    """The other function, or ""."""


@dataclass(frozen=True)
class Slot:
    """A stack slot of the function's frame, 16-byte aligned; `frame` turns it into a Mem.

    If an operation takes its address, it may be accessed only from there, and never as a slot.
    """

    index: int


@dataclass(frozen=True)
class Argument:
    """A parameter that arrives on the stack, counted from 0; `frame` turns it into a Mem."""

    index: int


Operand = Reg | Mem | int | Label | Slot | Argument


@dataclass(frozen=True)
class Stream:
    """One of several independent computations of a block, which `compiler.schedule.weave`
    interleaves; this one from `start` to `end` of the whole.
    """

    name: str
    start: float = 0.0
    end: float = 1.0
    lean: bool = True
    """Whether to order it for few registers; otherwise it stays as recorded."""

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end <= 1:
            raise ValueError(f"{self.name} lasts from {self.start} to {self.end} of a block")


@dataclass(frozen=True)
class Op:
    """One operation: `code` names its row, operands are in the row's order."""

    code: str
    operands: tuple[Operand, ...] = ()
    width: int = 128
    """Vector width in bits of the operands whose kind depends on the operation."""
    comment: str = ""
    origin: int = -1
    """Position in the selected program, set by `select`; -1 for code that a later pass added."""
    stream: "Stream | None" = None
    """The computation that it belongs to, if a block has several in parallel."""

    def on(self, *operands: Operand) -> "Op":
        """Return the operation on other operands."""
        return Op(self.code, operands, self.width, self.comment, self.origin, self.stream)


@dataclass(frozen=True)
class Directive:
    """A line that is not an instruction, for the assembler or for unwinding."""

    code: str
    operands: tuple[Reg | int | Label, ...] = ()
    comment: str = ""

    def __post_init__(self) -> None:
        if self.code not in DIRECTIVES:
            raise ValueError(f"unknown directive {self.code}")

    def numbers(self) -> tuple[int, ...]:
        """Return the operands that are numbers, in order."""
        return tuple(operand for operand in self.operands if isinstance(operand, int))

    def register(self) -> PReg:
        """Return the register of an unwind directive.

        Raises:
            TypeError: its first operand is not a register.
        """
        first = self.operands[0] if self.operands else None
        if not isinstance(first, PReg):
            raise TypeError(f"{self.code} names no register")
        return first

    def label(self) -> str:
        """Return the label that it defines.

        Raises:
            TypeError: its first operand is not a label.
        """
        first = self.operands[0] if self.operands else None
        if not isinstance(first, Label):
            raise TypeError(f"{self.code} names no label")
        return first.name


DIRECTIVES: Mapping[str, str] = {
    # symbols and places: bytes are numbers
    "export": "the function's symbol, seen from outside",
    "align": "the next instruction stands at a multiple of so many bytes",
    "entry": "the function's symbol stands here",
    "label": "a label of this function alone, and how deep in loops",
    "pad": "one NOP of so many bytes",
    "end": "the function ends here",
    "fill": "so many one-byte NOPs lie before the next function",
    # unwinding: the CFA is what the stack pointer was before the call's return address was pushed
    "enter": "frame description begins; the CFA lies so many bytes above the stack pointer",
    "pushed": "a register was pushed; it and the stack pointer lie so many bytes below the CFA",
    "grown": "the stack pointer fell by so many bytes; the CFA now lies so many above it",
    "saved": "a register was stored so many bytes above the stack pointer, so many below the CFA",
    "body": "the prologue is over",
    "remember": "what holds here holds again at the next recall",
    "recall": "the code below is entered as at the last remember",
    "restored": "a register has its caller's value again",
    "shrunk": "the stack pointer rose by so many bytes; the CFA now lies so many above it",
    "popped": "a register was popped; the CFA now lies so many bytes above the stack pointer",
    "leave": "the function's frame description ends",
}
"""Every directive and its meaning."""

Line = Op | Directive
"""A line of a finished function."""


@dataclass(frozen=True)
class Block:
    """Straight-line code under a label; falls through to the next block."""

    label: str
    ops: tuple[Op, ...]
    depth: int = 0
    """Loop nesting."""


@dataclass(frozen=True)
class Constant:
    """A read-only constant of the kernel."""

    name: str
    data: bytes


@dataclass(frozen=True)
class Program:
    """One function: parameters in ABI order, blocks in layout order, the constants that it
    reads.
    """

    name: str
    params: tuple[VReg, ...]
    blocks: tuple[Block, ...]
    constants: Mapping[str, Constant]
    slots: int = 0
    """16-byte stack slots that the code itself uses as a buffer, from slot 0."""

    @property
    def ops(self) -> tuple[Op, ...]:
        """All operations in layout order."""
        return tuple(op for block in self.blocks for op in block.ops)


@dataclass(frozen=True)
class Code:
    """An abstract operation: its operands' roles in order, and what it computes.

    Roles: w written, r read, m read from or written to memory, i immediate, l label. `r` operands
    of
    vector operations may also be memory; `select` loads them if the ISA needs it.
    """

    roles: str
    meaning: str
    swap: str = ""
    """How to exchange the sources: "" not at all, "same" freely, "halves" with the immediate."""
    flow: Flow = Flow.NEXT
    """Where control goes after it."""
    memory: int = 0
    """Size of its memory operand in bytes; 0 for the operation's width."""

    def __post_init__(self) -> None:
        if "l" in self.roles[:-1]:
            raise ValueError(f"{self.meaning}: a label stands last (compiler.liveness.targets)")
        if ("l" in self.roles) != (self.flow in (Flow.BRANCH, Flow.JUMP)):
            raise ValueError(f"{self.meaning}: a branch or jump has a label, others have none")

    def effects(self, op: Op) -> tuple[tuple[Reg, ...], tuple[Reg, ...]]:
        """Return (registers read, registers written) by `op`, including address registers."""
        reads: list[Reg] = []
        writes: list[Reg] = []
        for role, operand in zip(self.roles, op.operands, strict=True):
            if isinstance(operand, _REGISTER):
                (writes if role == "w" else reads).append(operand)
            elif isinstance(operand, Mem):
                reads.extend(operand.registers)
        return tuple(reads), tuple(writes)


CODES: Mapping[str, Code] = {
    # vectors: (destination, sources…, immediate)
    "clmul": Code("wrri", "carry-less product of the halves 0xJI: a[I]·b[J]", swap="halves"),
    "xor": Code("wrr", "a + b", swap="same"),
    "or": Code("wrr", "a OR b", swap="same"),
    "and": Code("wrr", "a AND b", swap="same"),
    "swap64": Code("wr", "(a1, a0)"),
    "spread_word": Code("wri", "in every word the one that two bits of i choose, four times"),
    "shl_bytes": Code("wri", "a << 8·i"),
    "shr_bytes": Code("wri", "a >> 8·i"),
    "shl64": Code("wri", "each half << i"),
    "shr64": Code("wri", "each half >> i"),
    "shl64_by": Code("wrr", "each half << low 64 bits of b, below 128; 0 if that is over 63"),
    "shr64_by": Code("wrr", "each half >> low 64 bits of b, below 128; 0 if that is over 63"),
    "join_low": Code("wrr", "(a0, b0)"),
    "join_high": Code("wrr", "(a1, b1)"),
    "spread_top": Code("wr", "128 copies of bit 127"),
    "shuffle_bytes": Code("wrr", "byte j = byte b[j] of a"),
    "reverse_bits": Code("wrr", "each byte of a times the 8×8 bit matrix b"),
    "mirror_bits": Code("wr", "each byte of a with its bits in the opposite order"),
    "aes_round": Code("wrr", "MixColumns(ShiftRows(SubBytes(a))) + b, in each lane"),
    "aes_last": Code("wrr", "ShiftRows(SubBytes(a)) + b, in each lane"),
    "add32": Code("wrr", "each 32-bit word of a plus that of b, modulo 2^32", swap="same"),
    "bytes_above": Code("wrr", "each byte: ones where a is above b, both signed, zeros elsewhere"),
    "high_half": Code("wr", "the upper half of the register"),
    "insert_lane": Code("wrri", "a with lane i replaced by b"),
    "spread_lane": Code("wr", "lane 0 in every lane"),
    "lanes_down": Code("wri", "a >> 64·i across lanes, zeros enter at the top"),
    "lanes_joined": Code("wrri", "b above a, both >> 64·i across lanes: lanes of b enter there"),
    "lanes_up": Code("wri", "the register above 0, both >> 64·i across lanes: lanes enter lower"),
    "take_lane": Code("wri", "lane i"),
    "pick_lanes": Code("wrri", "lanes of a below, of b above; two bits of i choose each"),
    "store_lane": Code("mri", "lane i, 16 bytes", memory=16),
    "xor3": Code("wrrr", "a + b + c"),
    "zero": Code("w", "0"),
    "copy": Code("wr", "a"),
    "load": Code("wm", "16 bytes"),
    "load_aligned": Code("wm", "16 bytes from an address known to be aligned"),
    "load64": Code("wm", "8 bytes, zero-extended", memory=8),
    "load32": Code("wm", "4 bytes, zero-extended", memory=4),
    "load_spread": Code("wm", "16 bytes, in every lane", memory=16),
    "store": Code("mr", "16 bytes"),
    "store_high": Code("mr", "the upper of two lanes, 16 bytes", memory=16),
    "store64": Code("mr", "the low 8 bytes", memory=8),
    "store32": Code("mr", "the low 4 bytes", memory=4),
    "store16": Code("mr", "the low 2 bytes", memory=2),
    "store8": Code("mr", "the low byte", memory=1),
    "from_gpr": Code("wr", "a general register, zero-extended"),
    "to_gpr": Code("wr", "the low half, in a general register"),
    # mask registers, one bit for each byte: (destination, mask, sources…)
    "mask": Code("wr", "the bits of a general register"),
    "load_mask": Code("wm", "8 bytes", memory=8),
    "load_masked": Code("wrm", "the bytes of the mask, zeros elsewhere; no other byte is accessed"),
    "store_masked": Code("mrr", "the bytes of the mask; no other byte is accessed"),
    "shuffle_masked": Code("wrrr", "shuffle_bytes, zeros outside the mask"),
    "merge_words": Code("wrrri", "a, but in words of the mask, one bit a word, word i of b's lane"),
    "masked": Code("wrr", "the bytes of the mask, zeros elsewhere"),
    "differing": Code("wrr", "in a mask register: the 64-bit parts in which a and b differ"),
    "mask_bits": Code("wr", "a mask register's low 8 bits, in a general register"),
    # general registers
    "gpr_copy": Code("wr", "a"),
    "gpr_const": Code("wi", "i, of 32 bits"),
    "gpr_const64": Code("wi", "i, of 64 bits"),
    "gpr_load8": Code("wm", "1 byte, zero-extended", memory=1),
    "gpr_load64": Code("wm", "8 bytes", memory=8),
    "gpr_store64": Code("mr", "8 bytes, all of the register", memory=8),
    "gpr_address": Code("wm", "the address of the memory operand"),
    "gpr_add": Code("wri", "a + i"),
    "gpr_sub": Code("wri", "a - i"),
    "gpr_minus": Code("wrr", "a - b"),
    "gpr_xor": Code("wrr", "a XOR b", swap="same"),
    "gpr_or": Code("wrr", "a OR b", swap="same"),
    "gpr_low": Code("wrr", "the low b bits of a, all of them if b is 64 to 255"),
    "gpr_and": Code("wri", "a AND i, i sign-extended from 32 bits"),
    "gpr_shl": Code("wri", "a << i"),
    "gpr_shr": Code("wri", "a >> i"),
    "gpr_neg": Code("wr", "-a"),
    "clear_upper": Code("", "zero the vector registers above lane 0, for narrow code after it"),
    # control; comparisons are unsigned
    "jump": Code("l", "go to the label", flow=Flow.JUMP),
    "branch_below": Code("ril", "if a < i", flow=Flow.BRANCH),
    "branch_not_below": Code("ril", "if a >= i", flow=Flow.BRANCH),
    "branch_above": Code("rrl", "if a > b", flow=Flow.BRANCH),
    "branch_equal": Code("ril", "if a = i", flow=Flow.BRANCH),
    "branch_not_equal": Code("ril", "if a ≠ i", flow=Flow.BRANCH),
    "branch_differs": Code("rrl", "if a ≠ b", flow=Flow.BRANCH),
    "return": Code("", "return", flow=Flow.RETURN),
    "return_value": Code("r", "return a", flow=Flow.RETURN),
}
"""Every abstract operation that a builder may record."""
