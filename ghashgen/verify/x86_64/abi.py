"""Calling conventions: where arguments arrive, what must survive, and the check at the return.

System V: "System V ABI, AMD64 Architecture Processor Supplement", 3.2.1, 3.2.2, 3.2.3.
Windows: "x64 calling convention", Microsoft, register volatility and home space.
The direction flag stays clear because no row writes it; x87 and MMX state stay untouched for the
same reason.
"""

from collections.abc import Callable
from dataclasses import dataclass

from iced_x86 import Code

from ghashgen.verify.core.refutation import Category, Refutation, unsupported
from ghashgen.verify.core.term import Lane
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.core.values import Pointer, Value
from ghashgen.verify.x86_64.decoding import decode
from ghashgen.verify.x86_64.elf import Image
from ghashgen.verify.x86_64.machine import GPR_NAMES, RAX, RSP, Machine
from ghashgen.verify.x86_64.memory import RELEASED, RETURN_BYTES, STACK


@dataclass(frozen=True)
class Abi:
    """One convention: register numbers of arguments and saved registers, and the stack's layout."""

    name: str
    arguments: tuple[int, ...]
    saved: tuple[int, ...]
    saved_vectors: tuple[int, ...]
    home_bytes: int
    """Bytes above the return address that the callee may use."""
    red_zone: int
    page: int
    """Bytes by which the stack grows when the guard page below it is touched; 0 if any touch grows
    it.
    """


SYSV = Abi("sysv", (7, 6, 2, 1, 8, 9), (3, 5, 12, 13, 14, 15), (), 0, 128, 0)
WIN64 = Abi("win64", (1, 2, 8, 9), (3, 5, 6, 7, 12, 13, 14, 15), tuple(range(6, 16)), 32, 0, 4096)

RESULT = RAX
"""The register of a returned number, in both. Bits above its type mean nothing (System V 3.2.3,
"Returning of Values"; Windows, "Return values").
"""

ABIS = {abi.name: abi for abi in (SYSV, WIN64)}

STACK_LIMIT = 1 << 16
"""Bytes of the stack that a function may use."""

SLOT = 8
"""Bytes of an argument on the stack."""


def stack_before(terms: Terms, index: int) -> Lane:
    """Return what the 16 bytes at 16·index of the stack held at the entry.

    The caller's, from the return address on. Below it is anything, and may be something else each
    time: where the stack pointer was higher in between, a signal handler may have written there.
    """
    return terms.caller(f"{STACK}[{16 * index}]") if index >= 0 else terms.lost(RELEASED, False)


def floor_of(machine: Machine) -> Callable[[], int]:
    """Return what tells the lowest offset of the stack that may be used now.

    It knows the registers alone, and not the machine, whose memory it is for: so what a run has
    made is gone with it.
    """
    registers, red_zone = machine.gpr, machine.red_zone

    def floor() -> int:
        pointer = registers[RSP]
        if isinstance(pointer, Pointer) and pointer.region == STACK:
            offset = pointer.offset
            return offset - red_zone if isinstance(offset, int) else 0
        return 0

    return floor


def check_entry(image: Image, symbol: str) -> None:
    """Check that a function begins with ENDBR64 if the object's notes say so (SDM vol. 1, 17.3).

    Raises:
        Refutation: it does not.
    """
    at = image.symbol(symbol)
    if "IBT" in image.features and decode(image, at).code != Code.ENDBR64:
        raise Refutation(
            Category.ABI, "the object's note says IBT, and the function does not begin with "
            "ENDBR64", at=at,
        )  # fmt: skip


def check_frame(m: Machine) -> None:
    """Check the stack pointer: a signal handler may run below what it protects.

    It stays in the available stack, and keeps return addresses out of what a handler may write. It
    does not skip the page that may be touched next. Below the stack's used pages is a guard page
    (Microsoft, "x64 prolog and epilog", "Thread Stack Size"). Memory beyond that is not yet stack,
    neither for this code nor for an exception.

    Raises:
        Refutation: it does not.
    """
    memory, pointer, at = m.memory, m.gpr[RSP], m.terms.at
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
    at = m.terms.at
    if m.gpr[RSP] != Pointer(STACK, RETURN_BYTES):
        raise Refutation(Category.ABI, "the stack pointer is not restored at return", at=at)
    for k in abi.saved:
        if m.gpr[k] is not gpr[k]:
            name = GPR_NAMES[k]
            raise Refutation(Category.ABI, f"{name} is callee-saved and not restored", at=at)
    for k in abi.saved_vectors:
        if m.vec[k][0] is not vec[k][0]:
            raise Refutation(Category.ABI, f"xmm{k} is callee-saved and not restored", at=at)
    if m.upper_dirty:
        raise Refutation(
            Category.ABI, "upper halves of ymm registers in use at return: no vzeroupper", at=at
        )
