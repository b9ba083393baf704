"""The size of a key, which its schedule tells by the number of rounds."""

from collections.abc import Iterator
from itertools import pairwise

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


def rounds(b: Builder, kernel: GivenKernel, schedule: VReg, block: VReg) -> tuple[VReg, VReg]:
    """Record all rounds of a block but the last; return the state and the last round's key."""
    told = _told(b, kernel, schedule)
    keys = [Mem(base=schedule, disp=CELL_BYTES * i) for i in range(max(ROUNDS.values()) + 1)]
    state, last = b.variable(b.xor(block, keys[0], "+ k_0"), "AES"), b.register("last")
    for fewer, number in pairwise((0, *ROUNDS.values())):
        if fewer:
            b.branch("equal", told, kernel.host.told(fewer), "last")
            b.assign(state, b.aes_round(state, last, f"round {fewer}"))
        for i in range(fewer + 1, number):
            b.assign(state, b.aes_round(state, keys[i], f"round {i}"))
        b.assign(last, b.load(keys[number], f"k_{number}"))
    b.label("last")
    return state, last
