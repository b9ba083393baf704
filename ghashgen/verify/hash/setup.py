"""The state in which a function is entered: buffers, arguments, what the caller left."""

from dataclasses import dataclass, field

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.verify.core.term import RAW, Lane
from ghashgen.verify.core.values import Affine, Number, Pointer, UndecidedError, Value, shift_right
from ghashgen.verify.hash.naming import PARTIAL, Naming, block_name
from ghashgen.verify.hash.spec import ZERO, FunctionSpec, KernelSpec
from ghashgen.verify.x86_64.abi import ABIS, Abi
from ghashgen.verify.x86_64.elf import Image
from ghashgen.verify.x86_64.machine import END, RSP, Machine, entry_machine
from ghashgen.verify.x86_64.memory import RETURN_BYTES, STACK, Memory, Region

STATE, ADDEND = "X", "Y"
"""The variables of the state on entry, and of what combine adds to it."""

FACTOR = 0
"""B_0 is the key operand of an arbitrary factor: of combine's p, of power's P at the loop."""

STACK_LIMIT = 1 << 16
"""Bytes of stack that a kernel may use."""


@dataclass
class Entry:
    """A machine at a function's entry, with what is needed to judge it later."""

    machine: Machine
    abi: Abi
    length: Number
    gpr: list[Value]
    vec: list[tuple[Lane, ...]]
    raw: bool = False
    """Whether part of a partial block has been read."""
    absorbed: int = 0
    """Bytes of input absorbed before the last cut."""
    weights: dict[str, int] = field(default_factory=dict)
    """States, each with the number of blocks absorbed before it since the last cut."""


def data_cell(entry: Entry, naming: Naming, index: int) -> Lane | None:
    """Return block `index` + 1 of the input as it stands in memory.

    Raises:
        UndecidedError: the block is whole for some of the lengths and partial for others.
    """
    length = entry.length
    terms = naming.terms
    if BLOCK_BYTES * (index + 1) <= (length if isinstance(length, int) else length.least):
        block = terms.variable(block_name(index + 1))
    elif isinstance(length, Affine):
        raise UndecidedError("bytes of a block that is the last one for some lengths only")
    else:
        entry.raw = True
        block = terms.variable(PARTIAL, RAW)
    return terms.moves(block, naming.algebra.memory)


def _table_lane(naming: Naming, cell: tuple[str, int] | None) -> Lane | None:
    if cell is None:
        return None
    return 0 if cell[0] == ZERO else naming.terms.entry(*cell)


def enter(
    image: Image,
    spec: KernelSpec,
    function: FunctionSpec,
    naming: Naming,
    length: Number,
    stack_align: tuple[int, int] = (16, 8),
    exponent: Number = 0,
) -> Entry:
    """Return the machine at the entry of a function, for a message of `length` bytes.

    `exponent` is power's third argument.

    `stack_align` is what is known of the entry's stack pointer: its residue modulo a power of two.
    Both ABIs promise 8 modulo 16.
    """
    terms, abi = naming.terms, ABIS[spec.abi]

    cells = tuple(_table_lane(naming, cell) for cell in spec.cells)

    def table_cell(index: int) -> Lane | None:
        return cells[index] if index < len(cells) else None

    state = terms.moves(terms.variable(STATE), naming.algebra.memory)
    addend = terms.moves(terms.variable(ADDEND), naming.algebra.memory)
    subkey, factor = terms.entry("subkey", 1), terms.entry("subkey", FACTOR)
    init = function.operation == "init"
    regions = [
        Region(
            "table",
            0,
            spec.table_bytes,
            init,
            (lambda index: None) if init else table_cell,
            spec.table_align,
        ),
        Region("state", 0, BLOCK_BYTES, True, lambda index: state),
        Region("subkey", 0, BLOCK_BYTES, False, lambda index: subkey),
        Region("addend", 0, BLOCK_BYTES, False, lambda index: addend),
        Region("factor", 0, BLOCK_BYTES, False, lambda index: factor),
        Region("result", 0, BLOCK_BYTES, True, lambda index: None),
        Region("input", 0, length, False, lambda index: data_cell(entry, naming, index)),
        Region(
            STACK,
            -STACK_LIMIT,
            RETURN_BYTES + abi.home_bytes,
            True,
            lambda index: terms.caller(f"{STACK}[{16 * index}]"),
            *stack_align,
        ),
    ]
    machine = entry_machine(terms, Memory(terms, image, regions))
    machine.red_zone = abi.red_zone
    machine.gpr[RSP] = Pointer(STACK, 0)
    machine.memory.floor = lambda: _floor(machine)
    machine.memory.returns.append((Pointer(STACK, 0), END))
    machine.memory.page = abi.page
    for register, parameter in zip(abi.arguments, function.parameters, strict=False):
        if parameter == "length":
            unit = function.length_unit
            in_units: Number
            if isinstance(length, Affine):
                in_units = shift_right(length, unit.bit_length() - 1)
            else:
                in_units = length // unit
            machine.gpr[register] = in_units
        elif parameter == "exponent":
            machine.gpr[register] = exponent
        else:
            machine.gpr[register] = Pointer(parameter, 0)
    entry = Entry(machine, abi, length, list(machine.gpr), list(machine.vec))
    entry.weights = {STATE: 0}
    return entry


def _floor(machine: Machine) -> int:
    """Return the lowest offset of the stack that may be used now."""
    pointer = machine.gpr[RSP]
    if isinstance(pointer, Pointer) and pointer.region == STACK and isinstance(pointer.offset, int):
        return pointer.offset - machine.red_zone
    return 0
