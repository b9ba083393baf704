"""The state at a function's entry, and what it shares with every other state of that function."""

from collections.abc import Mapping
from dataclasses import dataclass

from ghashgen.verify.core.linear import Facts
from ghashgen.verify.core.numbers import Number
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.core.values import Pointer, Value
from ghashgen.verify.rules.state import State, own
from ghashgen.verify.x86_64.abi import SLOT, STACK_LIMIT, Abi, floor_of, stack_before
from ghashgen.verify.x86_64.elf import Image
from ghashgen.verify.x86_64.machine import END, RSP, entry_machine
from ghashgen.verify.x86_64.memory import RETURN_BYTES, STACK, Memory
from ghashgen.verify.x86_64.regions import Access, Region


@dataclass(frozen=True)
class Call:
    """How a function is called: the convention, its arguments, the buffers that it may use."""

    abi: Abi
    arguments: tuple[Value, ...]
    regions: tuple[Region, ...]
    align: tuple[int, int]
    """The stack pointer at the entry, modulo so much: (16, 8), or more exactly."""
    held: tuple[tuple[str, int, Value], ...] = ()
    """Numbers in memory: the buffer, where in it, and the 8 bytes that are there."""


def blank(image: Image, terms: Terms, call: Call, facts: Facts, label: str) -> State:
    """Return a state in which nothing has happened and the registers are the caller's."""
    abi = call.abi
    above = RETURN_BYTES + abi.home_bytes
    stacked = call.arguments[len(abi.arguments) :]
    size = above + SLOT * len(stacked)
    stack = Region(
        STACK, -STACK_LIMIT, size, Access.UPDATE, lambda k: stack_before(terms, k), *call.align
    )
    memory = Memory(terms, image, [*call.regions, stack])
    memory.facts = facts
    m = entry_machine(terms, memory)
    m.red_zone, m.gpr[RSP] = abi.red_zone, Pointer(STACK, 0)
    memory.floor, memory.page = floor_of(m), abi.page
    memory.returns.append((Pointer(STACK, 0), END))
    return State(m, {}, label, own(facts))


def entered(image: Image, terms: Terms, call: Call, facts: Facts) -> State:
    """Return the state at the entry: arguments are where the convention has them."""
    state, abi = blank(image, terms, call, facts, "entry"), call.abi
    for register, value in zip(abi.arguments, call.arguments, strict=False):
        state.machine.gpr[register] = value
    above = RETURN_BYTES + abi.home_bytes
    stacked = enumerate(call.arguments[len(abi.arguments) :])
    for region, at, value in (
        *((STACK, above + SLOT * index, value) for index, value in stacked), *call.held,
    ):  # fmt: skip
        state.memory.written[region].update({at + k: (value, k) for k in range(SLOT)})
    return state


def arguments(
    parameters: tuple[str, ...], numbers: Mapping[str, Number], buffers: Mapping[str, Pointer]
) -> tuple[Value, ...]:
    """Return the values of parameters: a number, or the beginning of a buffer."""
    return tuple(numbers[name] if name in numbers else buffers[name] for name in parameters)
