"""The compiler on one screen: a kernel goes in, finished functions come out.

functions.*   Kernel → Program            abstract operations, virtual registers
promise       Program → Program           alignment as far as the caller promises it
arrive        Program → Program           parameters on the stack into registers
fuse          Program → Program           a + b + c at once, where the ISA has it
hoist         Program → Program           loop constants into registers
select        Program → Program           instruction rows of the ISA
schedule      Program → Program           order of independent operations, by a uarch's table
replay        (Program, Program)          independent check of that order
allocate      Program → Allocation        physical registers, spills counted
recheck       (Program, Allocation)       independent replay; refuses a wrong allocation
frame         Allocation → Function       prologue, epilogue, wipe
"""

from dataclasses import dataclass

from ghashgen.arch.core import Abi
from ghashgen.arch.x86_64.uarch.schedules import is_solved
from ghashgen.compiler.allocate import allocate
from ghashgen.compiler.arrive import arrive
from ghashgen.compiler.frame import Function, frame
from ghashgen.compiler.fuse import fuse
from ghashgen.compiler.hoist import hoist
from ghashgen.compiler.promise import promise
from ghashgen.compiler.recheck import recheck
from ghashgen.compiler.schedule import schedule
from ghashgen.compiler.schedule.replay import replay
from ghashgen.compiler.schedule.solutions import find
from ghashgen.compiler.select import select
from ghashgen.ir.program import Program
from ghashgen.kernels.core import Point
from ghashgen.kernels.families import functions_of


@dataclass(frozen=True)
class Compiled:
    """One function at the stages that other backends and tests want to see."""

    abstract: Program
    selected: Program
    function: Function
    order: str = ""
    """How its order was found; "" if it is as written."""


def in_rows(program: Program, kernel: Point) -> Program:
    """Return an abstract program in the rows of the kernel's ISA, in the order as written."""
    return select(hoist(fuse(program, kernel.set)), kernel.set)


def compile_function(program: Program, kernel: Point, abi: Abi) -> Compiled:
    """Run the pipeline on one abstract program."""
    isa = kernel.set
    written = in_rows(arrive(program, abi), kernel)
    solution = find(kernel.name) if is_solved(kernel.schedule) else None
    scheduled = schedule(written, isa, abi, kernel.schedule, solution)
    selected = scheduled.program
    replay(written, selected, isa)
    allocation = allocate(selected, isa, abi)
    recheck(selected, allocation.program, allocation.slots, isa, abi)
    function = frame(allocation, isa, abi, kernel.wipe)
    return Compiled(program, selected, function, scheduled.account)


def compile_kernel(kernel: Point, abi: Abi, table_align: int = 0) -> dict[str, Compiled]:
    """Compile every function of a kernel, by name.

    The caller promises `table_align` bytes, 0 standing for what the instructions need.
    """
    align = table_align or kernel.set.operand_align
    return {
        name: compile_function(promise(function.program(kernel), kernel.set, align), kernel, abi)
        for name, function in functions_of(kernel).items()
    }
