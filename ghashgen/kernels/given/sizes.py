"""The size of a key, which its schedule tells by the number of rounds."""

from collections.abc import Iterator

from ghashgen.ir.builder import Builder
from ghashgen.ir.program import Mem, VReg
from ghashgen.kernels.aes.cipher import ROUNDS
from ghashgen.kernels.core import CELL_BYTES
from ghashgen.kernels.given.kernel import GivenKernel, Sized


def _told(b: Builder, kernel: GivenKernel, schedule: VReg) -> VReg:
    place = Mem(base=schedule, disp=kernel.host.rounds_at)
    return b.gpr("gpr_load8", place, note="the rounds, as the schedule tells them")


def sizes(b: Builder, kernel: GivenKernel, schedule: VReg) -> Iterator[Sized]:
    """Yield the text of each size, to record its code. Each but the last returns."""
    told = _told(b, kernel, schedule)
    *some, last = ROUNDS
    for bits in some:
        other = f"not_{bits}"
        b.branch("not_equal", told, kernel.host.told(ROUNDS[bits]), other)
        with b.part(f"key_{bits}"):
            yield kernel.sized(bits)
        b.emit("return")
        b.label(other)
    with b.part(f"key_{last}"):
        yield kernel.sized(last)


def rounds(b: Builder, kernel: GivenKernel, schedule: VReg, block: VReg) -> tuple[VReg, Mem]:
    """Record all rounds of a block but the last; return the state, and where the last key is.

    The last rounds are those of every size: a shorter key enters later.
    """
    host, told = kernel.host, _told(b, kernel, schedule)
    apart = CELL_BYTES // host.rounds_times
    place = Mem(base=schedule, index=told, scale=apart, disp=apart * host.rounds_less)
    last = b.gpr("gpr_address", place, note="the last round key")
    state = b.variable(b.xor(block, Mem(base=schedule), "+ k_0"), "AES")
    fewest, *more = ROUNDS.values()
    for number in (fewest, *more[:-1]):
        b.branch("equal", told, host.told(number), f"rounds_{number}")
    for number in range(more[-1], 1, -1):
        if number in ROUNDS.values() and number != more[-1]:
            b.label(f"rounds_{number}")
        key = Mem(base=last, disp=-CELL_BYTES * (number - 1))
        b.assign(state, b.aes_round(state, key, f"{number - 1} rounds behind this one"))
    return state, Mem(base=last)
