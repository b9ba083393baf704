"""The types of an instruction row, a lowering and an instruction set.

A row states how to write an instruction, what it reads and writes, and where control goes after it.
Printers, liveness, scheduling, register allocation, placement and the list of CPU features derive
from it. Latencies and ports are in the architecture's tables of cores. The meaning is with the
abstract operation (`ir.program.CODES`) and, independently, in `verify/`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from ghashgen.arch.core import Arch
from ghashgen.arch.decoder import CLASSES
from ghashgen.ir.program import (
    CODES,
    Argument,
    Flow,
    Mem,
    Op,
    Operand,
    PReg,
    Reg,
    RegClass,
    Slot,
    VReg,
)

KINDS = {
    "v": "vector register at the operation's width",
    "x": "vector register, its low 128 bits",
    "h": "vector register of half the operation's width",
    "q": "64-bit general register",
    "d": "32-bit general register, zero-extending",
    "k": "mask register",
    "km": "mask register of the operand before it, which keeps what the mask leaves out",
    "kz": "mask register of the operand before it, with zeros where the mask leaves out",
    "mv": "as many bytes of memory as the operation is wide",
    "m128": "16 bytes of memory",
    "m128a": "16 bytes of memory, address a multiple of 16 or a fault",
    "m64": "8 bytes of memory",
    "m32": "4 bytes of memory",
    "m16": "2 bytes of memory",
    "m8": "1 byte of memory",
    "addr": "an address that is not accessed",
    "i": "immediate",
    "l": "label",
}
"""Operand kinds."""

ROLES = {
    "w": "written",
    "r": "read",
    "rw": "read and written",
    "n": "named but not read (zeroing idiom)",
}
"""Operand roles."""

_VEC = RegClass.VEC
_READ = frozenset({"r", "rw"})
_WRITTEN = frozenset({"w", "rw"})

MEMORY_BYTES = {"mv": 0, "m128": 16, "m128a": 16, "m64": 8, "m32": 4, "m16": 2, "m8": 1}
"""Bytes of a memory operand by kind; 0 means the operation's width."""


UNSTATED = "?"
"""The value of a fact that a row does not state."""

FLAGS_ROLES = ("", "r", "w", "rw")
"""What an instruction may do with the flags: nothing, read, write, both."""

ALIGNED_BYTES = 16
"""Alignment of the address of an m128a operand."""

_REGISTER = (VReg, PReg)
_VECTOR_KINDS = ("v", "h", "x")
_REGISTER_KINDS = {
    RegClass.VEC: {"v", "h", "x"},
    RegClass.GPR: {"q", "d"},
    RegClass.MASK: {"k", "km", "kz"},
}


@dataclass(frozen=True)
class OperandSpec:
    """One operand of a row."""

    role: str
    kinds: tuple[str, ...]
    form: str = ""
    """How to write it if its kind does not say: 16b, for a register as sixteen bytes."""

    @cached_property
    def vector(self) -> str:
        """The kind of vector register allowed here, or ""."""
        return next((kind for kind in self.kinds if kind in _VECTOR_KINDS), "")

    @property
    def file(self) -> RegClass:
        """The file of a register here."""
        files = (cls for cls, kinds in _REGISTER_KINDS.items() if kinds & set(self.kinds))
        return next(files)

    @cached_property
    def memory(self) -> str:
        """The kind of memory or address allowed here, or ""."""
        return next((kind for kind in self.kinds if kind in MEMORY_BYTES or kind == "addr"), "")

    def accepts(self, operand: Operand) -> bool:
        """Return whether this operand is allowed here unchanged."""
        if isinstance(operand, Slot):
            return bool({"mv", "m128", "m128a", "m64", "addr"} & set(self.kinds))
        if isinstance(operand, Argument):
            return "m64" in self.kinds
        if isinstance(operand, Mem):
            if "m128a" in self.kinds and operand.align < ALIGNED_BYTES:
                return False
            return bool(self.memory)
        if isinstance(operand, _REGISTER):
            return bool(_REGISTER_KINDS[operand.cls] & set(self.kinds))
        return ("i" if isinstance(operand, int) else "l") in self.kinds


def parse_operands(text: str) -> tuple[OperandSpec, ...]:
    """Return the operands of a signature.

    Raises:
        ValueError: a role or a kind is unknown.
    """
    specs = []
    for word in text.split():
        role, _, rest = word.partition(":")
        kinds, _, form = rest.partition(".")
        spec = OperandSpec(role, tuple(kinds.split("/")), form)
        unknown = [kind for kind in spec.kinds if kind not in KINDS]
        if role not in ROLES or unknown:
            raise ValueError(f"operand {word!r}: unknown role or kind")
        specs.append(spec)
    return tuple(specs)


@dataclass(frozen=True)
class Row:
    """One instruction form."""

    key: str
    """Mnemonic, with a suffix after a dot if it has several forms."""
    signature: str
    """Operands in Intel order, each role:kind/kind, or role:kind.form."""
    features: tuple[str, ...]
    """CPUID feature names that the form needs."""
    source: str
    """Where the manual defines it."""
    audit_class: str
    """One of `arch.decoder.CLASSES`."""
    copy: bool = False
    """A register-to-register move that may vanish if both get the same register."""
    flags: str = UNSTATED
    """What it does with the flags, one of FLAGS_ROLES. A row with a vector operand may omit it and
    then leaves them alone.
    """
    flow: Flow | str = UNSTATED
    """Where control goes. A row with operands, none of them a label, may omit it and then continues
    with the next instruction.
    """
    fuses: bool = False
    """Whether a conditional branch directly after it may fuse with it."""
    stands_in: bool = False
    """Whether it only marks a place for `compiler.frame`, and no assembler sees it."""

    def __post_init__(self) -> None:
        if not (self.key and self.source and self.audit_class in CLASSES):
            raise ValueError(f"row {self.key!r} is incomplete")
        labels = ["l" in spec.kinds for spec in self.operands]
        if any(labels[:-1]):
            raise ValueError(f"row {self.key!r}: a label stands last (compiler.liveness.targets)")
        if self.flags == UNSTATED and any(spec.vector for spec in self.operands):
            object.__setattr__(self, "flags", "")
        if self.flow == UNSTATED and labels and not labels[-1]:
            object.__setattr__(self, "flow", Flow.NEXT)
        if self.flags not in FLAGS_ROLES:
            raise ValueError(f"row {self.key!r} does not say what it does with the flags")
        if not isinstance(self.flow, Flow):
            raise ValueError(f"row {self.key!r} does not say where control goes after it")
        if (self.flow in (Flow.BRANCH, Flow.JUMP)) != any(labels):
            raise ValueError(f"row {self.key!r}: a branch or jump has a label, others have none")

    def widths(self, op: Op) -> list[tuple[Reg, int]]:
        """Return the vector registers that `op` names, each with the number of bits that matter."""
        share = {"v": op.width, "h": op.width // 2, "x": 128}
        return [
            (operand, share[spec.vector])
            for spec, operand in zip(self.operands, op.operands, strict=True)
            if isinstance(operand, _REGISTER) and operand.cls is _VEC
        ]

    @cached_property
    def mnemonic(self) -> str:
        """The mnemonic alone."""
        return self.key.partition(".")[0]

    @cached_property
    def operands(self) -> tuple[OperandSpec, ...]:
        """The signature, parsed."""
        return parse_operands(self.signature)

    @cached_property
    def _flow(self) -> tuple[tuple[bool, bool], ...]:
        """For each operand, whether it is read and whether it is written."""
        return tuple((spec.role in _READ, spec.role in _WRITTEN) for spec in self.operands)

    def effects(self, op: Op) -> tuple[tuple[Reg, ...], tuple[Reg, ...]]:
        """Return (registers read, registers written) by `op`, including address registers."""
        reads: list[Reg] = []
        writes: list[Reg] = []
        for (read, written), operand in zip(self._flow, op.operands, strict=True):
            if isinstance(operand, _REGISTER):
                if read:
                    reads.append(operand)
                if written:
                    writes.append(operand)
            elif isinstance(operand, Mem):
                reads.extend(operand.registers)
        return tuple(reads), tuple(writes)


RETURN_VALUE = Row(
    "return.value",
    "r:q",
    (),
    "the convention: a number is in its register at the return",
    "other",
    flags="",
    flow=Flow.RETURN,
    stands_in=True,
)
"""A return with a number; `allocate` puts it in the convention's register if it can."""


@dataclass(frozen=True)
class Step:
    """One instruction of a lowering: row key and operand tokens.

    Tokens: d the result, a b c the sources, m the memory operand, i the immediate, l the label, t a
    temporary, a number for a literal immediate.
    """

    row: str
    tokens: tuple[str, ...]


@dataclass(frozen=True)
class Isa:
    """An instruction set."""

    name: str
    title: str
    arch: Arch
    """Its architecture."""
    vector_registers: int
    lanes: int
    """128-bit lanes of a register, as the group loop uses it."""
    rows: Mapping[str, Row]
    lower: Mapping[str, tuple[Step, ...]]
    catalogue_blocks: tuple[int, ...]
    """Group sizes of the checked-in kernels."""
    features: tuple[str, ...]
    """CPU features that its kernels should need, besides those for the byte order. Tests compare
    this with the decoded bytes, from which an emitted file takes its own list.
    """
    mask_registers: int = 0
    """Mask registers; the first one cannot mask."""
    leave: tuple[str, ...] = ()
    """Rows to run before every return, without operands: VZEROUPPER after wide registers."""

    @cached_property
    def written(self) -> Mapping[str, Row]:
        """The rows that assemblers see, by key."""
        return {key: row for key, row in self.rows.items() if not row.stands_in}

    @cached_property
    def operand_align(self) -> int:
        """Alignment in bytes that instructions need for 16 bytes in memory; 1 if any will do."""
        kinds = {kind for row in self.rows.values() for spec in row.operands for kind in spec.kinds}
        return ALIGNED_BYTES if "m128a" in kinds else 1

    @property
    def mirrors(self) -> bool:
        """Whether it reverses the bits of a byte without a matrix."""
        return "mirror_bits" in self.lower

    @property
    def partial_registers(self) -> bool:
        """Whether one register takes all that is left of a text, however many lanes that fills."""
        return "take_lane" in self.lower

    def __post_init__(self) -> None:
        for code, steps in self.lower.items():
            if _operation(code) not in CODES:
                raise ValueError(f"{self.name} lowers the unknown operation {code}")
            for step in steps:
                if step.row not in self.rows:
                    raise ValueError(f"{self.name}: {code} uses the missing row {step.row}")
                if len(step.tokens) != len(self.rows[step.row].operands):
                    raise ValueError(f"{self.name}: {code} has the wrong operands for {step.row}")

    @cached_property
    def supported(self) -> frozenset[str]:
        """The abstract operations that this set has."""
        return frozenset(map(_operation, self.lower))

    def steps(self, code: str, width: int, immediate: int | None = None) -> tuple[Step, ...]:
        """Return the lowering of an operation at a width, with an immediate if it has one."""
        special = self.lower.get(f"{code}={immediate}") or self.lower.get(f"{code}@{width}")
        return special or self.lower[code]


def _operation(key: str) -> str:
    """Return the abstract operation of a key in a lowering table."""
    return key.partition("=")[0].partition("@")[0]


def lowering(text: str) -> dict[str, tuple[Step, ...]]:
    """Parse a lowering table: lines `code: row tokens; row tokens`; # starts a comment.

    `code@256` lowers the operation only at that width, `code=0x11` only with that immediate.
    """
    table: dict[str, tuple[Step, ...]] = {}
    for line in text.splitlines():
        line = line.partition("#")[0].strip()
        if line:
            code, _, rest = line.partition(":")
            words = [step.split() for step in rest.split(";")]
            name, given, immediate = code.partition("=")
            key = f"{name}={int(immediate, 0)}" if given else code
            table[key] = tuple(Step(first, tuple(tokens)) for first, *tokens in words)
    return table


def row_table(*rows: Row) -> dict[str, Row]:
    """Index rows by key; refuse duplicates."""
    table = {row.key: row for row in rows}
    if len(table) != len(rows):
        raise ValueError("two rows with one key")
    return table
