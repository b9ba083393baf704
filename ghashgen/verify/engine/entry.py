"""The state at a function's entry: buffers, arguments, what the caller left."""

import weakref
from typing import Generic

from ghashgen.verify.core.refutation import unsupported
from ghashgen.verify.core.term import Lane
from ghashgen.verify.core.values import Affine, Number, Pointer, Value, shift_right
from ghashgen.verify.engine.family import Cell, Count, E, Function, Meaning, Numbers, Statement
from ghashgen.verify.machine.convention import SLOT, STACK_LIMIT, floor_of, stack_before
from ghashgen.verify.machine.image import Image
from ghashgen.verify.machine.machine import END, entry_machine
from ghashgen.verify.machine.memory import RETURN_BYTES, STACK, Memory
from ghashgen.verify.machine.regions import Access, Region
from ghashgen.verify.x86_64.abi import ABIS
from ghashgen.verify.x86_64.machine import RSP


class Content(Generic[E]):
    """The 16 bytes at 16·index of a buffer, in the run of this entry.

    The entry refers to it, and not the other way. So a run's values are freed with the run, without
    a garbage collection.
    """

    def __init__(self, cell: Cell[E], entry: E) -> None:
        self.cell = cell
        self._entry = weakref.ref(entry)

    def __call__(self, index: int) -> Lane | None:
        """Return the bytes, or None if there are none."""
        entry = self._entry()
        if entry is None:
            raise unsupported("what a buffer holds, of a run that is over")
        return self.cell(entry, index)

    def of(self, entry: E) -> "Content[E]":
        """Return the same in another run."""
        return Content(self.cell, entry)


def enter(
    image: Image,
    statement: Statement,
    function: Function,
    meaning: Meaning[E],
    numbers: Numbers,
    stack_align: tuple[int, int] = (16, 8),
) -> E:
    """Return the machine at a function's entry, for one value of every number.

    `stack_align` is what is known of the entry's stack pointer: (power of two, residue). Both ABIs
    promise 8 modulo 16.
    """
    terms, abi = meaning.terms, ABIS[statement.abi]

    regions = []
    arguments: list[Value] = []
    for name in function.parameters:
        parameter = meaning.parameters[name]
        if isinstance(parameter, Count):
            arguments.append(_in_units(numbers[name], parameter.unit))
            continue
        arguments.append(Pointer(parameter.at or name, 0))
        if parameter.at is not None:
            continue
        size = parameter.size if isinstance(parameter.size, int) else numbers[parameter.size]
        regions.append(Region(name, 0, size, parameter.access, _nothing, parameter.align))
    buffers = tuple(regions)
    in_registers = len(abi.arguments)
    above = RETURN_BYTES + abi.home_bytes
    regions.append(
        Region(
            STACK,
            -STACK_LIMIT,
            above + SLOT * len(arguments[in_registers:]),
            Access.UPDATE,
            lambda index: stack_before(terms, index),
            *stack_align,
        )
    )
    machine = entry_machine(terms, Memory(terms, image, regions))
    machine.red_zone = abi.red_zone
    machine.gpr[RSP] = Pointer(STACK, 0)
    machine.memory.floor = floor_of(machine)
    machine.memory.returns.append((Pointer(STACK, 0), END))
    machine.memory.page = abi.page
    for register, value in zip(abi.arguments, arguments, strict=False):
        machine.gpr[register] = value
    stack = machine.memory.written[STACK]
    for index, value in enumerate(arguments[in_registers:]):
        at = above + SLOT * index
        stack.update({at + k: (value, k) for k in range(SLOT)})
    # In one order, so that equal states have equal keys. The meaning's own follow.
    counts = {name: numbers[name] for name in function.parameters if name in numbers}
    counts |= {name: numbers[name] for name in sorted(numbers) if name not in counts}
    entry = meaning.entry(machine, abi, counts)
    for region in buffers:
        region.cell = Content(meaning.cell(region.name), entry)
    entry.arguments = range(above, above + SLOT * len(arguments[in_registers:]))
    return entry


def _nothing(index: int) -> Lane | None:
    return None


def _in_units(number: Number, unit: int) -> Number:
    if isinstance(number, Affine):
        return shift_right(number, unit.bit_length() - 1)
    if number % unit:
        raise unsupported(f"{number} is no multiple of {unit}")
    return number // unit
