"""The check of a calling convention: the stack at the entry and on the way, and at the return.

What must survive is the target's to say (`ghashgen.verify.machine.target.Abi`).
"""

from collections.abc import Callable

from ghashgen.verify.core.refutation import Category, Refutation, unsupported
from ghashgen.verify.core.term import Lane
from ghashgen.verify.core.values import Pointer, Value
from ghashgen.verify.machine.machine import Machine
from ghashgen.verify.machine.memory import RELEASED, STACK, Memory
from ghashgen.verify.machine.target import Abi

STACK_LIMIT = 1 << 16
"""Bytes of the stack that a function may use."""

SLOT = 8
"""Bytes of an argument on the stack."""


def stack_before(memory: Memory, at: int) -> Lane:
    """Return what 16 bytes of the stack held at the entry.

    The caller's, from the return address on. Below it is anything, and may be something else each
    time: where the stack pointer was higher in between, a signal handler may have written there.
    """
    terms = memory.terms
    return terms.caller(f"{STACK}[{at}]") if at >= 0 else terms.lost(RELEASED, False)


def floor_of(machine: Machine) -> Callable[[], int]:
    """Return what tells the lowest offset of the stack that may be used now.

    It knows the registers alone, and not the machine, whose memory it is for: so what a run has
    made is gone with it.
    """
    registers, red_zone, top = machine.gpr, machine.red_zone, machine.target.stack_pointer

    def floor() -> int:
        pointer = registers[top]
        if isinstance(pointer, Pointer) and pointer.region == STACK:
            offset = pointer.offset
            return offset - red_zone if isinstance(offset, int) else 0
        return 0

    return floor


def check_frame(m: Machine) -> None:
    """Check the stack pointer: a signal handler may run below what it protects.

    It stays in the available stack, and keeps return addresses out of what a handler may write. It
    does not skip the page that may be touched next. Below the stack's used pages is a guard page
    (Microsoft, "x64 prolog and epilog", "Thread Stack Size"). Memory beyond that is not yet stack,
    neither for this code nor for an exception.

    Raises:
        Refutation: it does not.
    """
    memory, pointer, at = m.memory, m.gpr[m.target.stack_pointer], m.terms.at
    assert isinstance(pointer, Pointer)
    if not isinstance(pointer.offset, int):
        raise unsupported("a stack pointer with an unknown", at)
    low = memory.regions[STACK].low
    if not isinstance(low, int) or pointer.offset < low:
        raise Refutation(Category.MEMORY, "the stack pointer leaves the available stack", at=at)
    floor = memory.floor()
    if any(isinstance(slot.offset, int) and slot.offset < floor for slot, _ in memory.returns):
        raise Refutation(
            Category.ABI, "the stack pointer leaves a return address to signal handlers", at=at
        )
    if memory.page and memory.touched - pointer.offset >= memory.page:
        raise Refutation(
            Category.ABI, "the frame grows by a page or more that is not touched in order", at=at
        )


def check_return(abi: Abi, m: Machine, gpr: list[Value], vec: list[tuple[Lane, ...]]) -> None:
    """Check the state after the return against the registers on entry.

    Raises:
        Refutation: a saved register, the stack pointer or the upper halves are not as promised.
    """
    at, target, terms = m.terms.at, m.target, m.terms
    if m.gpr[target.stack_pointer] != Pointer(STACK, target.return_bytes):
        raise Refutation(Category.ABI, "the stack pointer is not restored at return", at=at)
    kept = [(target.general[k], m.gpr[k] is gpr[k]) for k in abi.saved]
    low = (1 << abi.saved_bits) - 1
    for k in abi.saved_vectors:
        now, before = (terms.keep(file[k][0], low) for file in (m.vec, vec))
        kept.append((target.vectors[k], now is before))
    for name, same in kept:
        if not same:
            raise Refutation(Category.ABI, f"{name} is callee-saved and not restored", at=at)
    if m.upper_dirty:
        raise Refutation(
            Category.ABI, "upper halves of vector registers are in use at return: clear them", at=at
        )
