"""What a kernel costs, counted from its assembled bytes.

Classes as in papers/intel-2023, Table 11, widened: clmul, xor (every bitwise operation), shuffle
(half, byte and bit moves), load and store (instructions that do nothing else), other. A memory
operand of a computing instruction is counted beside the classes, as `memory_operands`. What the
instructions need of the CPU and what they leave behind is found in the same bytes.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from iced_x86 import Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register

from ghashgen.arch.x86_64.cpuid import cpu_features
from ghashgen.arch.x86_64.objects import ObjectCode
from ghashgen.arch.x86_64.uarch.forms import is_memory
from ghashgen.cost.left import Left, left_by
from ghashgen.kernels.hash.kernel import Kernel

CLASSES = ("clmul", "xor", "shuffle", "load", "store", "other")
"""Every class, in the order of the tables."""

_PREFIXES = (
    ("clmul", ("PCLMULQDQ",)),
    ("xor", ("PXOR", "POR", "PAND", "PTERNLOG", "XORP", "ORP", "ANDP", "ANDNP")),
    (
        "shuffle",
        (
            "PSHUF",
            "PSLL",
            "PSRL",
            "PSRA",
            "PUNPCK",
            "PALIGN",
            "ALIGN",
            "PERM",
            "SHUF",
            "INSERT",
            "EXTRACT",
            "PINSR",
            "PEXTR",
            "UNPCK",
            "PBLEND",
            "BLEND",
            "PROL",
            "PROR",
            "PSHLD",
            "PSHRD",
            "MOVDDUP",
            "MOVSHDUP",
            "MOVSLDUP",
            "MOVHL",
            "MOVLH",
            "MOVHP",
            "MOVLP",
            "BROADCAST",
            "PBROADCAST",
        ),
    ),
)
_LOADS = (
    *("LDDQU", "MOVDQ", "MOVQ", "MOVD", "MOVUP", "MOVAP", "MOVNT", "MOVSS", "MOVSD", "MOVSHDUP"),
    *("MOVSLDUP", "MASKMOV", "PMASKMOV", "KMOV", "MOVZX", "MOVSX", "MOVBE", "BROADCAST"),
    *("PBROADCASTD", "PBROADCASTQ"),
)
"""What does nothing but load where its source is memory; a duplicate is made by the load port."""
_STORES = (*_LOADS, "EXTRACT", "MOVHP", "MOVLP")
"""What takes a store alone, and no port that shuffles, where its destination is memory."""
_READS = {OpAccess.READ, OpAccess.READ_WRITE, OpAccess.COND_READ, OpAccess.READ_COND_WRITE}
_WRITES = {OpAccess.WRITE, OpAccess.READ_WRITE, OpAccess.COND_WRITE, OpAccess.READ_COND_WRITE}


@cache
def _mnemonics() -> Mapping[int, str]:
    """Return iced's mnemonic names by number, in lower case."""
    return {v: k.lower() for k, v in vars(Mnemonic).items() if isinstance(v, int) and k.isupper()}


def mnemonic(instruction: Instruction) -> str:
    """Return the mnemonic in lower case."""
    return _mnemonics()[instruction.mnemonic]


def _has_memory(instruction: Instruction) -> bool:
    kinds = map(instruction.op_kind, range(instruction.op_count))
    return OpKind.MEMORY in kinds and mnemonic(instruction) not in ("lea", "nop")


def classify(instruction: Instruction) -> str:
    """Return the class of one decoded instruction."""
    writes = instruction.op0_kind == OpKind.MEMORY
    return _class_of(mnemonic(instruction), _has_memory(instruction), writes)


def class_of(form: str) -> str:
    """Return the class of a form of `arch.x86_64.uarch.forms`, the same as of an instruction of
    it.
    """
    name, _, operands = form.partition(" ")
    kinds = operands.split(",")
    return _class_of(name, any(map(is_memory, kinds)), is_memory(kinds[0]))


@cache
def _class_of(name: str, has_memory: bool, writes_memory: bool) -> str:
    """Return the class, by mnemonic and whether an operand, or the first one, is in memory."""
    name = name.upper()
    bare = name[1:] if name.startswith("V") else name
    if has_memory and (bare == "MOV" or bare.startswith(_STORES if writes_memory else _LOADS)):
        return "store" if writes_memory else "load"
    for cls, prefixes in _PREFIXES:
        if bare.startswith(prefixes):
            return cls
    return "other"


@dataclass(frozen=True)
class Region:
    """Counts over a run of instructions."""

    classes: Mapping[str, int]
    instructions: int
    memory_operands: int
    """Memory operands of instructions that compute."""
    mnemonics: Mapping[str, int]


@dataclass(frozen=True)
class Audit:
    """The audit of one kernel."""

    name: str
    isa: str
    blocks: int
    group: Region
    """The loop over whole groups, from its label to the branch back."""
    single: Region
    """One block's multiplication in mul, between load and store: what Table 11 counts."""
    functions: Mapping[str, Region]
    """Whole functions, by name."""
    code_bytes: Mapping[str, int]
    table_bytes: int
    stack_bytes: Mapping[str, int]
    registers: Mapping[str, tuple[str, ...]]
    """Registers that each function writes, widest form, rsp aside."""
    features: tuple[str, ...]
    """CPU features that the instructions need, by their CPUID names."""
    left: Mapping[str, Left]
    """Where secrets may be when each function returns."""

    @property
    def per_block(self) -> dict[str, float]:
        """Instructions of the group loop by class, per block."""
        return {cls: number / self.blocks for cls, number in self.group.classes.items()}


def region(instructions: list[Instruction]) -> Region:
    """Count a run of instructions."""
    names = Counter(map(mnemonic, instructions))
    classes = [classify(instruction) for instruction in instructions]
    totals = Counter(classes)
    folded = sum(
        1
        for instruction, cls in zip(instructions, classes, strict=True)
        if cls not in ("load", "store") and _has_memory(instruction)
    )
    return Region(
        classes={cls: totals[cls] for cls in CLASSES},
        instructions=len(instructions),
        memory_operands=folded,
        mnemonics=dict(sorted(names.items())),
    )


def loop(code: ObjectCode, head: str) -> list[Instruction]:
    """Return the loop that starts at symbol `head`, up to the branch back to it."""
    start = code.symbols[head]
    ends = [
        at
        for at, instruction in code.instructions.items()
        if at >= start
        and instruction.is_jcc_short_or_near
        and instruction.near_branch_target == start
    ]
    last = max(ends)
    return [code.instructions[at] for at in sorted(code.instructions) if start <= at <= last]


def _stack(instructions: Iterable[Instruction]) -> int:
    """Return the bytes below the return address: pushes and what is subtracted from rsp."""
    total = 0
    for instruction in instructions:
        name = mnemonic(instruction)
        if name == "push":
            total += 8
        elif name == "sub" and instruction.op0_register == Register.RSP:
            total += instruction.immediate(1)
    return total


@cache
def _register_names() -> Mapping[int, str]:
    return {v: k for k, v in vars(Register).items() if isinstance(v, int) and k.isupper()}


def _written(instructions: Iterable[Instruction]) -> tuple[str, ...]:
    factory = InstructionInfoFactory()
    names = set()
    for instruction in instructions:
        for used in factory.info(instruction).used_registers():
            if used.access in _WRITES:
                names.add(_full_name(_register_names()[used.register]))
    return tuple(sorted(names - {"rsp"}, key=lambda name: (name[:3], len(name), name)))


def _full_name(name: str) -> str:
    """Return the name of the register that contains this one: eax → rax, ymm3 → xmm3."""
    name = name.lower()
    if name[:3] in ("xmm", "ymm", "zmm"):
        return f"xmm{name[3:]}"
    if name.startswith("r") and name[1:].rstrip("dwb").isdigit():
        return f"r{name[1:].rstrip('dwb')}"
    return f"r{name[1:]}" if name.startswith("e") else name


def audit(kernel: Kernel, symbol: str, code: ObjectCode) -> Audit:
    """Audit an assembled kernel whose symbols begin with `symbol`."""
    names = ("init", "mul", "update", *(("power", "combine") if kernel.segments else ()))
    bodies = {name: code.between(f"{symbol}_{name}", f"{symbol}_{name}.end") for name in names}
    sizes = {name: sum(i.len for i in body) for name, body in bodies.items()}
    return Audit(
        name=kernel.name,
        isa=kernel.isa,
        blocks=kernel.blocks,
        group=region(loop(code, f"{symbol}_update.group")),
        single=region(code.between(f"{symbol}_mul.block", f"{symbol}_mul.store")),
        functions={name: region(body) for name, body in bodies.items()},
        code_bytes=sizes,
        table_bytes=kernel.table_bytes,
        stack_bytes={name: _stack(body) for name, body in bodies.items()},
        registers={name: _written(body) for name, body in bodies.items()},
        features=cpu_features(i for body in bodies.values() for i in body),
        left={name: left_by(body) for name, body in bodies.items()},
    )
