"""The state at a function's entry, and what it shares with every other state of that function."""

from dataclasses import dataclass

from ghashgen.verify.core.linear import Facts
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.core.values import Pointer, Value
from ghashgen.verify.machine.convention import SLOT, STACK_LIMIT, floor_of, stack_before
from ghashgen.verify.machine.image import Image
from ghashgen.verify.machine.machine import END, entry_machine
from ghashgen.verify.machine.memory import STACK, Memory
from ghashgen.verify.machine.regions import Access, Region
from ghashgen.verify.rules.state import State, own


@dataclass(frozen=True)
class Call:
    """How a function is called: the convention, its arguments, the buffers that it may use."""

    abi: str
    arguments: tuple[Value, ...]
    regions: tuple[Region, ...]
    align: tuple[int, int]
    """The stack pointer at the entry, modulo so much: as the target says, or more exactly."""
    held: tuple[tuple[str, int, Value], ...] = ()
    """Numbers in memory: the buffer, where in it, and the 8 bytes that are there."""


def blank(image: Image, terms: Terms, call: Call, facts: Facts, label: str) -> State:
    """Return a state in which nothing has happened and the registers are the caller's."""
    target, abi = image.target, image.target.convention(call.abi)
    above = target.return_bytes + abi.home_bytes
    stacked = call.arguments[len(abi.arguments) :]
    size = above + SLOT * len(stacked)
    stack = Region(STACK, -STACK_LIMIT, size, Access.UPDATE, stack_before, *call.align)
    memory = Memory(terms, image, [*call.regions, stack])
    memory.facts = facts
    m = entry_machine(terms, memory)
    if abi.saved_bits < 128:
        for k in abi.saved_vectors:
            m.vec[k] = (terms.caller_apart(target.vectors[k], abi.saved_bits), *m.vec[k][1:])
    m.red_zone, m.gpr[target.stack_pointer] = abi.red_zone, Pointer(STACK, 0)
    memory.floor, memory.page = floor_of(m), abi.page
    if target.return_bytes:
        memory.returns.append((Pointer(STACK, 0), END))
    return State(m, {}, label, own(facts))


def entered(image: Image, terms: Terms, call: Call, facts: Facts) -> State:
    """Return the state at the entry: arguments are where the convention has them."""
    state, abi = blank(image, terms, call, facts, "entry"), image.target.convention(call.abi)
    for register, value in zip(abi.arguments, call.arguments, strict=False):
        state.machine.gpr[register] = value
    above = image.target.return_bytes + abi.home_bytes
    stacked = enumerate(call.arguments[len(abi.arguments) :])
    for region, at, value in (
        *((STACK, above + SLOT * index, value) for index, value in stacked), *call.held,
    ):  # fmt: skip
        state.memory.written[region].update({at + k: (value, k) for k in range(SLOT)})
    return state
