"""The types of every family of kernels: exported functions and their parameters, as values.

    Function("mul", order=20, params=(TABLE, STATE), purpose=…, statement="mul", build=build)

A function is one file in its family's folder and is found there; no list names it. Its prototype,
its row in headers and dispatchers, its calls, counts and proofs all follow from this value.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType, ModuleType
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from ghashgen.arch.rows import Isa
from ghashgen.ir.builder import Builder
from ghashgen.ir.program import CODES, Flow, Program
from ghashgen.kernels.axes import Axis
from ghashgen.support.registry import found

MAX_PARAMS = 12
"""Most parameters of a function: the room in the C harness (`KERNEL_ARGUMENTS`)."""

CELL_BYTES = 16
"""Bytes in a cell of a kernel's table."""

Value = str | int | bool
Values = Mapping[str, Value]
"""Values by axis."""


@dataclass(frozen=True)
class Layout:
    """A kernel's table."""

    cells: tuple[str, ...] = ()
    """The content of each 16 bytes, in the family's words."""
    top: int = 0
    """The largest power of H in it, or 0."""
    arrays: Mapping[str, int] = field(default_factory=dict)
    """Byte offsets of named arrays."""

    @property
    def size(self) -> int:
        """Bytes of the table."""
        return CELL_BYTES * len(self.cells)


class Point(Protocol):
    """What every kernel has, whatever its family."""

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
        """The order of operations; see `arch.schedules`."""
        ...

    @property
    def blocks(self) -> int:
        """16-byte blocks that one turn of its loop, or one call, takes."""
        ...

    @property
    def layout(self) -> Layout:
        """Its table; empty if its functions take none."""
        ...

    @property
    def best_align(self) -> int:
        """The fastest alignment of the table in bytes; 1 if it does not matter."""
        ...


@runtime_checkable
class Keyed(Protocol):
    """A kernel of a cipher."""

    @property
    def key_bytes(self) -> int:
        """Key size in bytes."""
        ...


class Direction(Enum):
    """What a function does with the memory that a parameter points to."""

    IN = "in"
    OUT = "out"
    INOUT = "inout"


@dataclass(frozen=True)
class Table:
    """A pointer to the kernel's table; the kernel determines its size and alignment."""


@dataclass(frozen=True)
class Fixed:
    """A pointer to a fixed number of bytes; `parts` name what lies at which offset."""

    count: int
    parts: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class CipherKey:
    """A pointer to the cipher key, whose size the kernel determines."""


@dataclass(frozen=True)
class Counted:
    """A pointer to as many units of `unit` bytes as the parameter `by` says."""

    by: str
    unit: int = 1
    ctype: str = "uint8_t"
    """The type of a unit in C."""


@dataclass(frozen=True)
class Word:
    """A 64-bit number, passed by value."""

    ctype: str = "uint64_t"


Size = Table | Fixed | CipherKey | Counted | Word

LENGTH = Word("size_t")
"""A number of bytes or blocks in memory."""


@dataclass(frozen=True)
class Param:
    """One parameter: its name in C and its meaning.

    `role` is its name in statements. Memory has a `direction` and an alignment in bytes that
    callers promise; numbers have neither. Time may depend on parameters that are not `secret`.
    `may_be` names the parameter whose memory it may share, at the same address; any other overlap
    is the caller's error. `allowed` are the numbers for which the function works, () for all.
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
            raise ValueError(f"{self.name} allows numbers that cannot be passed by value")
        if isinstance(self.size, Word) and (self.direction is not Direction.IN or self.align != 1):
            raise ValueError(
                f"{self.name} is passed by value, so it has no direction and no alignment"
            )
        if self.align < 1 or self.align & self.align - 1:
            raise ValueError(f"{self.name} is aligned to {self.align}, which is not a power of two")

    @property
    def declaration(self) -> str:
        """The parameter in C."""
        const = "const " if self.direction is Direction.IN else ""
        match self.size:
            case Table():
                return f"{const}void *{self.name}"
            case Fixed(count):
                return f"{const}uint8_t {self.name}[{count}]"
            case Counted(ctype=ctype):
                return f"{const}{ctype} *{self.name}"
            case CipherKey():
                return f"{const}uint8_t *{self.name}"
            case Word(ctype):
                return f"{ctype} {self.name}"

    @property
    def written(self) -> bool:
        """Whether the function may write to its memory."""
        return self.direction is not Direction.IN


RESULT_TYPES: Mapping[str, int] = MappingProxyType(
    {"int": 32, "uint32_t": 32, "uint64_t": 64, "size_t": 64}
)
"""Integer types that a function may return, with their sizes in bits."""


@dataclass(frozen=True)
class Result:
    """A number that a function returns in a register; bits above its type mean nothing.

    `role` says what it means. Callers may act upon a result that is not `secret`, however it was
    computed.
    """

    role: str
    ctype: str = "int"
    secret: bool = False

    def __post_init__(self) -> None:
        if self.ctype not in RESULT_TYPES:
            raise ValueError(f"{self.ctype} is not one of {', '.join(RESULT_TYPES)}")

    def number(self, register: int) -> int:
        """Return what a C caller reads, given the register's 64 bits."""
        bits = RESULT_TYPES[self.ctype]
        value = register & (1 << bits) - 1
        negative = self.ctype == "int" and value >> bits - 1
        return value - (1 << bits) if negative else value


K = TypeVar("K", bound=Point)


@dataclass(frozen=True)
class Function(Generic[K]):
    """An exported function of one family's kernels.

    `order` sorts the functions; `build` records the code, with the parameters as `b.params`.
    """

    name: str
    order: int
    params: tuple[Param, ...]
    purpose: Callable[[K], str]
    """One line that says what it does."""
    build: Callable[[Builder, K], None]
    statement: str = ""
    """The prover's operation that it must be proved to be; "" for none."""
    types: str = ""
    """The types in C that its prototype needs besides the standard ones, declared."""
    exported: Callable[[K], bool] = lambda kernel: True
    """Whether a kernel has it."""
    length_multiple: Callable[[K], int] = lambda kernel: 1
    """Callers promise that its length in bytes is a multiple of this."""
    returns: Result | None = None
    """The number that it returns, if any; `Builder.give` ends it."""
    variant: Callable[[K], Mapping[str, Any]] = lambda kernel: {}
    """(kernel) → the fields that differ for it (`kernels.families.functions_of`)."""
    enters: Callable[[K], tuple[str, int] | None] = lambda kernel: None
    """(kernel) → the function whose code it is, entered with this number (`Builder.way`), and whose
    first parameters it has."""
    symbol: str = ""
    """Its symbol where a host prescribes it; "" for NAME_function."""

    def __post_init__(self) -> None:
        words = {p.name for p in self.params if isinstance(p.size, Word)}
        names = {p.name for p in self.params}
        if len(names) != len(self.params) or len(self.params) > MAX_PARAMS:
            raise ValueError(
                f"{self.name} must have at most {MAX_PARAMS} uniquely named parameters"
            )
        for param in self.params:
            if isinstance(param.size, Counted) and param.size.by not in words:
                raise ValueError(
                    f"{self.name}: {param.size.by} is not a number that counts a buffer"
                )
            if param.may_be and not any(
                (p.name, p.size) == (param.may_be, param.size) for p in self.params
            ):
                raise ValueError(f"{self.name}: {param.may_be} is not memory like {param.name}")

    def program(self, kernel: K) -> Program:
        """Return a kernel's function in abstract operations.

        Raises:
            ValueError: a path through it does not return its result.
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

    def symbol_in(self, base: str) -> str:
        """Return its symbol in an object whose other symbols begin with `base`."""
        return self.symbol or f"{base}_{self.name}"

    def prototype(self, symbol: str) -> str:
        """Return the C prototype of this function under a symbol."""
        ctype = self.returns.ctype if self.returns else "void"
        return f"{ctype} {symbol}({', '.join(param.declaration for param in self.params)})"

    @property
    def roles(self) -> tuple[str, ...]:
        """The parameters' names in statements, in order."""
        return tuple(param.role for param in self.params)


@dataclass(frozen=True)
class Words:
    """What the banner of an emitted file says about its kind of kernel."""

    title: str
    """What it computes and where that is defined: one line without a full stop."""
    parts: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Its parts, listed below the instruction set: name, and lines."""
    table: str = ""
    """The layout of the table, in one line."""
    arguments: tuple[tuple[str, str], ...] = ()
    """Promises by callers about parameters other than the table: name, promise."""
    closing: tuple[str, ...] = ()
    """What time depends on and what must not overlap: whole lines."""


@dataclass(frozen=True, eq=False)
class Family(Generic[K]):
    """A family of kernels: its axes, and functions for everything that differs between families.

    A kernel is a frozen dataclass whose fields are named like its axes.
    """

    name: str
    order: int
    """Its place among the families: a choice that fits several makes kernels of the first."""
    title: str
    axes: tuple[Axis, ...]
    make: Callable[..., K]
    """(values by axis) → the kernel, with missing axes at their defaults. Refuses invalid
    combinations.
    """
    functions: Callable[[], Mapping[str, Function[K]]]
    """() → every function that some kernel exports, by name, in the order of emission."""
    catalogue: Callable[[], tuple[K, ...]]
    """() → the checked-in kernels."""
    theorems: Callable[[K], list[str]]
    """(kernel) → names of the identities that its design rests on."""
    words: Callable[[K], Words]
    """(kernel) → the words of its file."""
    line: Callable[[Values], str]
    """(values of a manifest entry) → one line of the header: what the kernel computes."""
    notes: Callable[[Sequence[Values]], tuple[str, ...]] = lambda entries: ()
    """(values of each kernel in a header) → the header's notes on all of them: lines, with ""
    between paragraphs.
    """
    loop: str = ""
    """The function whose loop over whole groups is counted, or ""."""
    single: str = ""
    """The function whose product of one block is counted, or ""."""
    preference: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """Values by axis in order of preference, used if nothing was measured; an earlier axis
    outweighs all later ones. `choice.families` says what can be chosen in a family.
    """
    facets: Mapping[str, str] = field(default_factory=dict)
    """What it brings to other rooms, by facet (`kernels.facets`). The modules are named, not
    imported, because they are in higher rooms.
    """

    @property
    def table(self) -> str:
        """The name of the parameter that points to the table."""
        params = (param for function in self.functions().values() for param in function.params)
        return next((param.name for param in params if isinstance(param.size, Table)), "table")


def found_in(package: ModuleType) -> Mapping[str, Function[Any]]:
    """Return the functions that a package's modules export as FUNCTION, by name, in order.

    Raises:
        GhashgenError: a module exports none, or two functions have the same name.
        ValueError: two have the same place in the order.
    """
    functions = sorted(found(package, "FUNCTION").values(), key=lambda f: f.order)
    orders = [function.order for function in functions]
    if twice := [order for order in orders if orders.count(order) > 1]:
        raise ValueError(f"two functions of {package.__name__} have the order {twice[0]}")
    return MappingProxyType({function.name: function for function in functions})
