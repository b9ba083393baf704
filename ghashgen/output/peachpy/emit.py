"""Kernels as PeachPy allocates and encodes them, for the file that ships.

Users read, vendor and prove assembly, so PeachPy's instructions are written in the target's syntax,
in the given order and on the registers that PeachPy chose. Copies of a register to itself are left
out. The frame around them is this tool's: ENDBR64, callee-saved registers, unwinding, wipe.
PeachPy's VZEROUPPER before each RET is dropped, because nothing here is wider than VEX.128. Jumps
stay off the ends of 32-byte lines as everywhere.

`compiler.recheck` replays PeachPy's allocation as it does this tool's own. The assembled file is
decoded again and must contain PeachPy's instructions, registers included.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from ghashgen.compiler.allocate import Allocation, rewrite
from ghashgen.compiler.pipeline import PASSES, Compiled, Pass, Unit, compile_kernel
from ghashgen.kernels.core import Point
from ghashgen.kernels.target import Target
from ghashgen.output.backend import Prepared
from ghashgen.output.peachpy.encode import check, encoded
from ghashgen.output.peachpy.homes import homes
from ghashgen.output.peachpy.instructions import Encoded, Item, body, decode, flow, functions_in
from ghashgen.support.errors import GhashgenError

_ALLOCATE = "allocate"
_COPIES = ("mov", "vmovdqa")
"""Mnemonics of rows that copy a register (`arch.rows.Row.copy`)."""


def prepare(kernel: Point, target: Target) -> Prepared:
    """Let PeachPy encode a kernel; return how to continue compiling it, and the check of its
    object.

    Raises:
        GhashgenError: PeachPy is missing or cannot encode this kernel.
    """
    check(kernel, target.abi)
    compiling = partial(compile_kernel, kernel, target.abi, target.table_align_of(kernel))
    at = next(i for i, step in enumerate(PASSES) if step.name == _ALLOCATE)
    found = encoded(
        kernel, {name: item.selected for name, item in compiling(passes=PASSES[:at]).items()}
    )
    allocating = Pass(_ALLOCATE, partial(_allocated, found))
    passes = (*PASSES[:at], allocating, *PASSES[at + 1 :])
    return Prepared(partial(compiling, passes=passes), partial(hold, kernel, target, found))


def _body(kernel: str, function: Encoded) -> list[Item]:
    """Return PeachPy's instructions without its prologue and epilogues.

    Raises:
        GhashgenError: these are not pushes of callee-saved registers, VZEROUPPER and pops.
    """
    items, faults = body(decode(function))
    if faults:
        raise GhashgenError(f"{kernel}_{function.name}: PeachPy's code {faults[0]}")
    return items


def _allocated(found: Mapping[str, Encoded], unit: Unit) -> Unit:
    """Give each function the allocation that its bytes show."""
    functions = {}
    for name, item in unit.functions.items():
        places = homes(item.selected, _body(unit.kernel.name, found[name]))
        program = rewrite(item.selected, unit.isa, places)
        functions[name] = replace(item, allocated=(Allocation(program, program.slots, 0),))
    return replace(unit, functions=functions)


def hold(
    kernel: Point,
    target: Target,
    found: Mapping[str, Encoded],
    compiled: Mapping[str, Compiled],
    data: bytes,
) -> None:
    """Compare an assembled object with PeachPy's functions, apart from frame and padding.

    Raises:
        GhashgenError: names the instruction, register or branch target that differs.
    """
    symbols = {name: target.symbol(f"{kernel.name}_{name}") for name in compiled}
    for name, function in functions_in(data, symbols).items():
        items = [item for item in decode(function) if item.shape[0] != "nop"]
        pairs = zip(compiled[name].function.ops, items, strict=True)
        ours = flow([item for op, item in pairs if op.origin >= 0])
        theirs = flow([item for item in _body(kernel.name, found[name]) if not _empty(item)])
        if ours != theirs:
            raise GhashgenError(
                f"{kernel.name}_{name}: the assembled code differs from PeachPy's, "
                f"{_first(ours, theirs)}",
                "report this kernel and the versions of PeachPy and of the assembler",
            )


def _empty(item: Item) -> bool:
    """Return whether it copies a register to itself."""
    name, operands = item.shape
    return name in _COPIES and len(set(item.registers)) == 1 and item.registers[0] in operands


def _first(ours: Sequence[object], theirs: Sequence[object]) -> str:
    pairs = enumerate(zip(ours, theirs, strict=False))
    at = next((i for i, (a, b) in pairs if a != b), min(len(ours), len(theirs)))
    return f"first instruction {at}"
