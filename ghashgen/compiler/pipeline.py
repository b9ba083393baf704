"""The compiler on one screen: from a kernel to placed functions.

`PASSES` gives the order, including checks. A pass takes the frozen values of earlier passes and
adds its own. Most see one function at a time; `place` sees a whole kernel, because one assembly
tells all instruction lengths. Each pass is explained at the head of its file.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from ghashgen.arch.core import Abi
from ghashgen.arch.rows import Isa
from ghashgen.compiler.allocate import Allocation, allocate
from ghashgen.compiler.arrive import arrive
from ghashgen.compiler.enter import entering as entered
from ghashgen.compiler.frame import Function, frame
from ghashgen.compiler.fuse import fuse
from ghashgen.compiler.hoist import hoist
from ghashgen.compiler.place import filled, place
from ghashgen.compiler.promise import promise
from ghashgen.compiler.recheck import recheck
from ghashgen.compiler.schedule import schedule
from ghashgen.compiler.schedule.replay import replay
from ghashgen.compiler.schedule.weave import rewoven, weave
from ghashgen.compiler.select import select
from ghashgen.ir.program import Program
from ghashgen.kernels.core import Point
from ghashgen.kernels.families import functions_of
from ghashgen.support.errors import GhashgenError

Measure = Callable[[Mapping[str, Function]], Mapping[str, Sequence[int]]]
"""Returns how many bytes an assembler makes of each operation of some functions, by name."""


@dataclass(frozen=True)
class Compiled:
    """One function, as far as it is compiled."""

    programs: Mapping[str, Program]
    """The program after each pass, by the pass's name; "build" as it was recorded."""
    order: str = ""
    """How its order was found; "" if it is as written."""
    allocated: tuple[Allocation, ...] = ()
    framed: tuple[Function, ...] = ()
    """After framing, then after placement."""

    @property
    def program(self) -> Program:
        """The program after the last pass over programs."""
        return self.programs[list(self.programs)[-1]]

    @property
    def abstract(self) -> Program:
        """Abstract operations on virtual registers."""
        return self.programs["promise"]

    @property
    def selected(self) -> Program:
        """Instruction rows on virtual registers, in their order."""
        return self.programs["schedule"]

    @property
    def allocation(self) -> Allocation:
        """Instruction rows on physical registers."""
        return self.allocated[-1]

    @property
    def function(self) -> Function:
        """The finished function."""
        return self.framed[-1]


@dataclass(frozen=True)
class Unit:
    """The functions of a kernel, by name, and their target."""

    kernel: Point
    abi: Abi
    table_align: int
    """Alignment in bytes that callers promise."""
    measure: Measure | None
    vectors: int
    """Number of vector registers to use, 0 for all."""
    functions: Mapping[str, Compiled] = field(default_factory=dict)
    entering: Mapping[str, tuple[str, int, int] | None] = field(default_factory=dict)
    """Every function in order, and if it is another's code: which one's, the number with which it
    enters, and how many parameters it has.
    """

    @property
    def isa(self) -> Isa:
        """The instruction set."""
        return self.kernel.instruction_set


@dataclass(frozen=True)
class Pass:
    """A step of the compiler."""

    name: str
    run: Callable[[Unit], Unit]


def _each(name: str, run: Callable[[Compiled, Unit], Compiled]) -> Pass:
    """Return a pass that sees one function at a time."""

    def on_all(unit: Unit) -> Unit:
        return replace(unit, functions={key: run(f, unit) for key, f in unit.functions.items()})

    return Pass(name, on_all)


def _program(name: str, run: Callable[[Program, Unit], Program]) -> Pass:
    """Return a pass from one program to the next."""

    def on_one(item: Compiled, unit: Unit) -> Compiled:
        return replace(item, programs={**item.programs, name: run(item.program, unit)})

    return _each(name, on_one)


def _check(name: str, run: Callable[[Compiled, Unit], None]) -> Pass:
    """Return a pass that changes nothing but may refuse."""

    def on_one(item: Compiled, unit: Unit) -> Compiled:
        run(item, unit)
        return item

    return _each(name, on_one)


def _schedule(item: Compiled, unit: Unit) -> Compiled:
    kernel = unit.kernel
    found = schedule(item.program, unit.isa, unit.abi, kernel.schedule)
    return replace(item, programs={**item.programs, "schedule": found.program}, order=found.account)


def _rewoven(item: Compiled, unit: Unit) -> None:
    rewoven(item.programs["fuse"], item.programs["weave"], unit.isa.lanes)


def _replay(item: Compiled, unit: Unit) -> None:
    replay(item.programs["select"], item.selected, unit.isa)


def _allocate(item: Compiled, unit: Unit) -> Compiled:
    return replace(item, allocated=(allocate(item.selected, unit.isa, unit.abi, unit.vectors),))


def _recheck(item: Compiled, unit: Unit) -> None:
    found = item.allocation
    recheck(item.selected, found.program, found.slots, unit.isa, unit.abi)


def _frame(item: Compiled, unit: Unit) -> Compiled:
    return replace(item, framed=(frame(item.allocation, unit.isa, unit.abi, unit.kernel.wipe),))


def _enter(unit: Unit) -> Unit:
    functions = dict(unit.functions)
    for name, of in unit.entering.items():
        if of is not None:
            real, number, params = of
            item = unit.functions[real]
            code = entered(real, item.function, number, params, unit.isa, unit.abi)
            functions[name] = replace(item, framed=(code,))
    order = unit.entering or functions
    return replace(unit, functions={name: functions[name] for name in order})


def _place(unit: Unit) -> Unit:
    if unit.measure is None:
        return unit
    lengths = unit.measure({name: item.function for name, item in unit.functions.items()})
    functions, last = {}, list(unit.functions)[-1]
    for name, item in unit.functions.items():
        try:
            placed = place(item.function, unit.isa, lengths[name], unit.abi.plain_epilogues)
            if name != last:
                placed = filled(placed, unit.isa)
        except ValueError as error:
            raise GhashgenError(f"{unit.kernel.name}: {error}", "report this kernel") from None
        functions[name] = replace(item, framed=(*item.framed, placed))
    return replace(unit, functions=functions)


PASSES: tuple[Pass, ...] = (
    # abstract operations, virtual registers
    _program("promise", lambda p, unit: promise(p, unit.isa, unit.table_align)),
    _program("arrive", lambda p, unit: arrive(p, unit.abi)),
    _program("fuse", lambda p, unit: fuse(p, unit.isa)),
    _program("weave", lambda p, unit: weave(p, unit.isa.lanes)),
    _check("rewoven", _rewoven),
    _program("hoist", lambda p, unit: hoist(p, unit.vectors or unit.isa.vector_registers)),
    # instruction rows
    _program("select", lambda p, unit: select(p, unit.isa)),
    _each("schedule", _schedule),
    _check("replay", _replay),
    # physical registers
    _each("allocate", _allocate),
    _check("recheck", _recheck),
    # lines: instructions and directives
    _each("frame", _frame),
    Pass("enter", _enter),
    Pass("place", _place),
)
"""The compiler: each pass takes what the ones above it made."""


def compile_programs(
    programs: Mapping[str, Program],
    kernel: Point,
    abi: Abi,
    table_align: int = 0,
    measure: Measure | None = None,
    passes: Sequence[Pass] = PASSES,
    vectors: int = 0,
    entering: Mapping[str, tuple[str, int, int] | None] = MappingProxyType({}),
) -> Mapping[str, Compiled]:
    """Run abstract programs of a kernel through the passes.

    The caller promises `table_align` bytes; 0 means what the instructions need. Without `measure`
    nothing is placed. `vectors` is the number of vector registers to use, 0 for all.
    """
    functions = {name: Compiled({"build": program}) for name, program in programs.items()}
    align = table_align or kernel.instruction_set.operand_align
    unit = Unit(kernel, abi, align, measure, vectors, functions, entering)
    for step in passes:
        unit = step.run(unit)
    return unit.functions


def compile_kernel(
    kernel: Point,
    abi: Abi,
    table_align: int = 0,
    measure: Measure | None = None,
    passes: Sequence[Pass] = PASSES,
) -> Mapping[str, Compiled]:
    """Compile every function of a kernel, by name; see `compile_programs`."""
    found = functions_of(kernel)
    entering = {
        name: (*of, len(f.params)) if (of := f.enters(kernel)) else None
        for name, f in found.items()
    }
    programs = {name: f.program(kernel) for name, f in found.items() if entering[name] is None}
    return compile_programs(programs, kernel, abi, table_align, measure, passes, entering=entering)


def in_rows(program: Program, kernel: Point) -> Program:
    """Return an abstract program in rows of the kernel's ISA, in the written order."""
    passes = [step for step in PASSES if step.name in ("fuse", "weave", "hoist", "select")]
    abi = kernel.instruction_set.arch.default_abi
    return compile_programs({"": program}, kernel, abi, passes=passes)[""].program
