"""What a small program is said to leave, for the rules and for one run of it."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ghashgen.algebra.field.bitorder import BLOCK_BYTES, Order
from ghashgen.algebra.ops.forms import Form, variable
from ghashgen.check.attack.toy.run import STATE_BYTES, Byte, Cpu
from ghashgen.verify.core.linear import Fork, compared
from ghashgen.verify.core.numbers import Number, combined, within
from ghashgen.verify.core.term import Lane
from ghashgen.verify.core.values import Linear
from ghashgen.verify.machine.memory import Memory
from ghashgen.verify.machine.regions import Access
from ghashgen.verify.meaning.algebra import Algebra
from ghashgen.verify.meaning.buffers import Buffer, End, Left
from ghashgen.verify.meaning.function import Function
from ghashgen.verify.meaning.hashing import Blocks
from ghashgen.verify.meaning.names import Names
from ghashgen.verify.rules.state import State

NAME = "toy"

STATE, AREA = Blocks("X", "state"), Blocks("A", "area")

Sum = frozenset[tuple[str, int]]
"""Blocks of which a value is the sum: a buffer and a place."""


@dataclass(frozen=True)
class Claim:
    """What is left: the status, if it is said; blocks of the state; blocks of the area."""

    status: int | None
    blocks: Mapping[tuple[str, int], Sum]

    def wrong(self, cpu: Cpu) -> str:
        """Return in what one run's end differs from it, "" if in nothing."""
        rax = cpu.r["rax"]
        if self.status is not None and rax != self.status and not (
            isinstance(rax, int) and rax % (1 << 32) == self.status
        ):  # fmt: skip
            return f"the status is {rax}"
        for (region, at), wanted in self.blocks.items():
            if region == "area" and cpu.length < at + BLOCK_BYTES:
                continue
            for k in range(BLOCK_BYTES):
                want: Byte = frozenset((name, place + k) for name, place in wanted), 0
                if cpu.byte(region, at + k) != want:
                    return f"byte {at + k} of {region} is {cpu.byte(region, at + k)}"
        return ""


def left(cpu: Cpu, rng: random.Random) -> Claim:
    """Return what is so of one run, where it can be said; often with one thing that is not so."""
    rax = cpu.r["rax"]
    status = rax % (1 << 32) if isinstance(rax, int) and rng.randrange(3) == 0 else None
    blocks: dict[tuple[str, int], Sum] = {}
    changed = []
    places = [("state", at) for at in range(0, STATE_BYTES, BLOCK_BYTES)]
    for region, at in (*places, ("area", 0), ("area", BLOCK_BYTES)):
        if region == "area" and cpu.length < at + BLOCK_BYTES:
            continue
        found = cpu.byte(region, at)
        wanted = frozenset((name, place) for name, place in found[0])
        one = Claim(None, {(region, at): wanted})
        sums = all(name in ("state", "area") and place % 16 == 0 for name, place in wanted)
        if sums and not one.wrong(cpu):
            blocks[region, at] = wanted
        if wanted != {(region, at)}:
            changed.append((region, at))
    if len(blocks) > 1 and rng.randrange(3):
        blocks = {place: blocks[place] for place in rng.sample(sorted(blocks), rng.choice((1, 2)))}
    if changed and rng.randrange(2):
        # As if it had not been written, or had what lies beside it.
        place = rng.choice(changed)
        blocks[place] = frozenset({place if rng.randrange(4) else ("state", 16)})
    elif status is not None and rng.randrange(4) == 0:
        status += rng.choice((1, 16))
    return Claim(status, blocks)


def block(region: str, at: int) -> str:
    """Return a block's variable."""
    return (STATE if region == "state" else AREA).name(at)


def meaning(claim: Claim, lengths: tuple[int, int]) -> Function:
    """Return a claim as the rules see it."""
    names = Names(Algebra(Order.REFLECTED))
    terms = names.terms

    def content(blocks: Blocks, memory: Memory, at: Number) -> Lane | None:
        return terms.variable(blocks.name(at)) if within(at, BLOCK_BYTES) == 0 else None

    def left(state: State) -> Iterator[Left]:
        length = state.ghosts["length"]
        assert isinstance(length, int | Linear)
        for (region, at), sum_ in claim.blocks.items():
            behind = combined(length, at + BLOCK_BYTES, -1)
            if region == "area":
                short = state.facts.below(behind, 0)
                if short is None:
                    raise Fork("a block, or none", compared(behind))
                if short:
                    continue
            wanted = Form(128)
            for place in sum_:
                wanted ^= variable(block(*place))
            yield Left(region, at, f"{region} + {at}", wanted)

    return Function(
        NAME, "sysv", False, ("state", "area", "length"), names,
        {
            "state": Buffer(Access.UPDATE, STATE_BYTES, lambda m, at: content(STATE, m, at)),
            "area": Buffer(Access.UPDATE, "length", lambda m, at: content(AREA, m, at)),
        },
        {"length": lengths}, (), (STATE, AREA),
        lambda state: End(claim.status, left(state)), result_bits=32,
    )  # fmt: skip
