"""A key schedule's number of rounds: code for each size of a key."""

from collections.abc import Iterator

from ghashgen.ir.builder import Builder
from ghashgen.ir.program import Label, Mem, VReg
from ghashgen.kernels.aes.cipher import ROUNDS, RoundKeys, rounds
from ghashgen.kernels.given.kernel import GivenKernel, Sized


def sizes(b: Builder, kernel: GivenKernel, schedule: VReg, done: str) -> Iterator[Sized]:
    """Yield the text of each size, to record its code; each goes on at `done`, the last one too.

    `done` is "" where each code but the last returns.
    """
    host = kernel.host
    place = Mem(base=schedule, disp=host.rounds_at)
    told = b.gpr("gpr_load8", place, note="the rounds, as the schedule tells them")
    *some, last = ROUNDS
    for bits in some:
        other = f"not_{bits}"
        b.branch("not_equal", told, host.told(ROUNDS[bits]), other)
        with b.part(f"key_{bits}"):
            yield kernel.sized(bits)
        if done:
            b.emit("jump", Label(done))
        else:
            b.emit("return")
        b.label(other)
    with b.part(f"key_{last}"):
        yield kernel.sized(last)
    if done:
        b.label(done)


def enciphered(b: Builder, kernel: GivenKernel, schedule: VReg, block: VReg, note: str) -> VReg:
    """Record E_K(block)."""
    out = b.register(note)
    for sized in sizes(b, kernel, schedule, "enciphered"):
        keys = RoundKeys(b, sized, schedule)
        (state,) = rounds(b, keys, [block])
        b.assign(out, b.aes_last(state, keys.last(1), note))
    return out
