"""What every family of kernels is made of: exported functions and their parameters, as values.

    Function("mul", order=20, params=(TABLE, STATE), purpose=…, statement="mul", build=build)

A function stands in one file of its family's folder and is found there. Its prototype, its row in
headers and dispatchers, the registers that its parameters arrive in, the calls that the harness and
the emulator make of it, what is counted of it, and what the prover is asked about it follow from
this value; no list elsewhere names it.
"""

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from types import MappingProxyType, ModuleType
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from ghashgen.arch.rows import Isa
from ghashgen.ir.builder import Builder
from ghashgen.ir.program import CODES, Flow, Program
from ghashgen.kernels.axes import Axis

MAX_PARAMS = 12
"""Parameters of a function, at most: what the harness in C has room for (`KERNEL_ARGUMENTS`)."""


CELL_BYTES = 16
"""Bytes of a cell of a kernel's table."""

Value = str | int | bool
"""The value of an axis."""

Values = Mapping[str, Value]
"""Values by axis."""


@dataclass(frozen=True)
class Layout:
    """A kernel's table."""

    cells: tuple[str, ...] = ()
    """What each 16 bytes hold, in the words of the family."""
    top: int = 0
    """The largest power of H in it, 0 if there is none."""
    arrays: Mapping[str, int] = field(default_factory=dict)
    """Byte offsets of what has a name."""

    @property
    def size(self) -> int:
        """Bytes of the table."""
        return CELL_BYTES * len(self.cells)


class Point(Protocol):
    """What is known of a kernel, whatever its family."""

    @property
    def family(self) -> str:
        """The name of its family."""
        ...

    @property
    def name(self) -> str:
        """The kernel's name."""
        ...

    @property
    def instruction_set(self) -> Isa:
        """The instruction set."""
        ...

    @property
    def widest(self) -> int:
        """128-bit lanes of the widest register in use."""
        ...

    @property
    def wipe(self) -> bool:
        """Whether registers and stack that held secrets are zeroed on return."""
        ...

    @property
    def schedule(self) -> str:
        """The order of operations, see `arch.schedules`."""
        ...

    @property
    def blocks(self) -> int:
        """Blocks of 16 bytes that one turn of its loop, or one call, takes."""
        ...

    @property
    def layout(self) -> Layout:
        """Its table; empty if its functions take none."""
        ...

    @property
    def best_align(self) -> int:
        """Alignment of the table in bytes that serves speed best; 1 if none does."""
        ...


@runtime_checkable
class Keyed(Protocol):
    """A kernel of a cipher."""

    @property
    def key_bytes(self) -> int:
        """Bytes of a key."""
        ...


class Direction(Enum):
    """What a function does with the memory that a parameter points to."""

    IN = "in"
    OUT = "out"
    INOUT = "inout"


@dataclass(frozen=True)
class Table:
    """A pointer to the kernel's table, whose size and alignment are those of the kernel."""


@dataclass(frozen=True)
class Fixed:
    """A pointer to so many bytes."""

    count: int


@dataclass(frozen=True)
class CipherKey:
    """A pointer to the key of the cipher, whose size is that of the kernel."""


@dataclass(frozen=True)
class Counted:
    """A pointer to as many units of `unit` bytes as the parameter `by` says."""

    by: str
    unit: int = 1


@dataclass(frozen=True)
class Word:
    """A number of 64 bits, passed by value."""

    ctype: str = "uint64_t"


Size = Table | Fixed | CipherKey | Counted | Word

LENGTH = Word("size_t")
"""A number of bytes or blocks in memory."""


@dataclass(frozen=True)
class Param:
    """One parameter: its name in C, and what it stands for.

    `role` is what a statement calls it. Memory has a `direction` and an alignment in bytes that
    callers promise; numbers have none. What is not `secret` may decide time. `may_be` names the
    parameter whose memory it may be too, at the same address; memory that overlaps otherwise is
    the caller's error. `allowed` are the numbers at which the function does its work, () for all:
    checks call it with these.
    """

    name: str
    role: str
    size: Size
    direction: Direction = Direction.IN
    secret: bool = True
    align: int = 1
    may_be: str = ""
    allowed: Sequence[int] = ()

    def __post_init__(self) -> None:
        ends = (*self.allowed[:1], *self.allowed[-1:])  # a range may be long
        if ends and (not isinstance(self.size, Word) or min(ends) < 0):
            raise ValueError(f"{self.name} allows what no number passed by value can be")
        if isinstance(self.size, Word) and (self.direction is not Direction.IN or self.align != 1):
            raise ValueError(f"{self.name} is passed by value: it has no direction or alignment")
        if self.align < 1 or self.align & self.align - 1:
            raise ValueError(f"{self.name} is aligned to {self.align}, which is no power of two")

    @property
    def declaration(self) -> str:
        """The parameter in C."""
        const = "const " if self.direction is Direction.IN else ""
        match self.size:
            case Table():
                return f"{const}void *{self.name}"
            case Fixed(count):
                return f"{const}uint8_t {self.name}[{count}]"
            case Counted() | CipherKey():
                return f"{const}uint8_t *{self.name}"
            case Word(ctype):
                return f"{ctype} {self.name}"

    @property
    def written(self) -> bool:
        """Whether the function may write to the memory that it points to."""
        return self.direction is not Direction.IN


RESULT_TYPES: Mapping[str, int] = MappingProxyType(
    {"int": 32, "uint32_t": 32, "uint64_t": 64, "size_t": 64}
)
"""The types of numbers that a function may return, with their bits."""


@dataclass(frozen=True)
class Result:
    """A number that a function returns in a register, whose bits above its type mean nothing.

    `role` is what it says. What is not `secret` the caller may act upon, however it was computed.
    """

    role: str
    ctype: str = "int"
    secret: bool = False

    def __post_init__(self) -> None:
        if self.ctype not in RESULT_TYPES:
            raise ValueError(f"{self.ctype} is none of {', '.join(RESULT_TYPES)}")

    def number(self, register: int) -> int:
        """Return what a caller in C reads in the register, whose 64 bits are given."""
        bits = RESULT_TYPES[self.ctype]
        value = register & (1 << bits) - 1
        negative = self.ctype == "int" and value >> bits - 1
        return value - (1 << bits) if negative else value


K = TypeVar("K", bound=Point)


@dataclass(frozen=True)
class Function(Generic[K]):
    """An exported function of the kernels of one family.

    `order` puts it among the others; `build` records its code, its parameters being `b.params`.
    """

    name: str
    order: int
    params: tuple[Param, ...]
    purpose: Callable[[K], str]
    """What it does, in one line."""
    build: Callable[[Builder, K], None]
    statement: str = ""
    """The operation, of those that the prover knows, that it must be shown to be; "" for none."""
    exported: Callable[[K], bool] = lambda kernel: True
    """Whether a kernel has it."""
    length_multiple: Callable[[K], int] = lambda kernel: 1
    """What its length in bytes is a multiple of, as callers promise."""
    returns: Result | None = None
    """The number that it returns, if it does: `Builder.give` ends it."""

    def __post_init__(self) -> None:
        words = {p.name for p in self.params if isinstance(p.size, Word)}
        names = {p.name for p in self.params}
        if len(names) != len(self.params) or len(self.params) > MAX_PARAMS:
            raise ValueError(f"{self.name} has not up to {MAX_PARAMS} parameters of distinct names")
        for param in self.params:
            if isinstance(param.size, Counted) and param.size.by not in words:
                raise ValueError(f"{self.name}: {param.size.by} is no number that counts a buffer")
            if param.may_be and not any(
                (p.name, p.size) == (param.may_be, param.size) for p in self.params
            ):
                raise ValueError(f"{self.name}: {param.may_be} is no memory like {param.name}")

    def program(self, kernel: K) -> Program:
        """Return the function of a kernel, in abstract operations.

        Raises:
            ValueError: some way through it does not return what it is to return.
        """
        b = Builder(self.name, tuple(param.name for param in self.params), kernel.widest)
        self.build(b, kernel)
        program = b.program()
        ends = {op.code for op in program.ops if CODES[op.code].flow is Flow.RETURN}
        wanted = "return" if self.returns is None else "return_value"
        if ends != {wanted}:
            raise ValueError(
                f"{self.name} ends by {', '.join(sorted(ends))}, not by {wanted} alone"
            )
        return program

    def prototype(self, symbol: str) -> str:
        """Return the C prototype of this function under a symbol."""
        ctype = self.returns.ctype if self.returns else "void"
        return f"{ctype} {symbol}({', '.join(param.declaration for param in self.params)})"

    @property
    def roles(self) -> tuple[str, ...]:
        """What a statement calls the parameters, in order."""
        return tuple(param.role for param in self.params)


@dataclass(frozen=True)
class Words:
    """What the banner of an emitted file says of its kernel beside what all kernels have."""

    title: str
    """What it computes, and where that is defined: one line, without a full stop."""
    parts: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """What it is made of, below the instruction set: name, and lines."""
    table: str = ""
    """How the table is laid out, in one line."""
    arguments: tuple[tuple[str, str], ...] = ()
    """What callers promise of parameters beside the table: their names, and the promise."""
    closing: tuple[str, ...] = ()
    """What time depends on and what must not overlap: whole lines."""


@dataclass(frozen=True, eq=False)
class Family(Generic[K]):
    """A family of kernels: the points on its axes, and what can be asked of them.

    A kernel is a frozen dataclass whose fields are called as its axes are.
    """

    name: str
    title: str
    axes: tuple[Axis, ...]
    make: Callable[..., K]
    """(values by axis) → the kernel; axes that are left out are at their defaults. A refusal, if
    they make no sense together."""
    functions: Callable[[], Mapping[str, Function[K]]]
    """() → every function that some kernel of it exports, by name, in the order of emission."""
    catalogue: Callable[[], tuple[K, ...]]
    """() → the kernels that are checked in."""
    theorems: Callable[[K], list[str]]
    """(kernel) → names of the identities that its design rests on."""
    words: Callable[[K], Words]
    """(kernel) → what its file says of it."""
    line: Callable[[Values], str]
    """(values of a manifest's entry) → what the kernel computes, in a line of the header."""
    notes: Callable[[Sequence[Values]], tuple[str, ...]] = lambda entries: ()
    """(values of each kernel in a header) → what the header says of them all: lines, "" between
    paragraphs."""
    loop: str = ""
    """The function whose loop over whole groups is counted, "" if there is none."""
    single: str = ""
    """The function whose product of one block is counted, "" if there is none."""
    preference: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """Values by axis, the preferred first, where nothing was measured: an earlier axis outweighs
    all later ones. What can be chosen of a family at all, `choice.families` says."""
    validation: str = ""
    """The module that runs its kernels against other implementations, "" while none does. It is
    named, not imported: it stands in a room above."""
    trials: str = ""
    """The module that runs what claims to be one of its kernels, for the attack on the prover, ""
    while none does: named, too."""

    @property
    def table(self) -> str:
        """What callers know the table by: the name of the parameter that points to it."""
        params = (param for function in self.functions().values() for param in function.params)
        return next((param.name for param in params if isinstance(param.size, Table)), "table")


def found_in(package: ModuleType) -> Mapping[str, Function[Any]]:
    """Return the functions that the modules of a package export as FUNCTION, by name, in order.

    Raises:
        ValueError: two have one name, or one place in the order.
    """
    return _found(package.__name__, tuple(package.__path__))


@cache
def _found(package: str, path: tuple[str, ...]) -> Mapping[str, Function[Any]]:
    """Import the modules of a package, by the folders that it has now."""
    names = sorted(info.name for info in pkgutil.iter_modules(path))
    modules = [importlib.import_module(f"{package}.{name}") for name in names]
    functions = sorted((module.FUNCTION for module in modules), key=lambda f: f.order)
    for what in ("name", "order"):
        _require_distinct(package, what, [getattr(function, what) for function in functions])
    return MappingProxyType({function.name: function for function in functions})


def _require_distinct(package: str, what: str, values: Iterable[object]) -> None:
    values = list(values)
    if twice := [value for value in values if values.count(value) > 1]:
        raise ValueError(f"two functions of {package} have the {what} {twice[0]!r}")
