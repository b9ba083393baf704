"""The cipher's rounds as a loop: little code, and any number of rounds.

The loop's number is the distance of round key i from k_0.
"""

from collections.abc import Sequence
from typing import Any

from ghashgen.ir.builder import Builder
from ghashgen.ir.program import VReg
from ghashgen.kernels.aes.cipher import RoundKeys
from ghashgen.kernels.aes.text import Text


def first_index(b: Builder, keys: RoundKeys) -> VReg:
    """Return the number of the first round."""
    return b.gpr("gpr_const", keys.apart, note="place of k_1, from k_0")


def step(b: Builder, keys: RoundKeys, i: VReg, count: int = 1) -> None:
    """Record the step over so many rounds."""
    b.assign(i, b.gpr("gpr_add", i, keys.apart * count))


def whitened(b: Builder, keys: RoundKeys, blocks: Sequence[VReg]) -> list[VReg]:
    """Record the addition of k_0; return registers that the rounds change."""
    first = keys.key(0, b.lanes_of(blocks[0]))
    return [b.variable(b.xor(block, first, "+ k_0"), "state") for block in blocks]


def counted(text: Text[Any], count: int) -> list[VReg]:
    """Record the counter blocks of so many registers, with k_0 added; return the states."""
    lanes, blocks = text.kernel.lane_count, list[VReg]()
    for _ in range(count):
        blocks.append(text.counters.partial(lanes))
        text.counters.skip(lanes)
    return whitened(text.b, text.keys, blocks)


def round_at(b: Builder, keys: RoundKeys, states: Sequence[VReg], i: VReg, ahead: int = 0) -> None:
    """Record round i + `ahead`."""
    key = keys.indexed(i, ahead, b.lanes_of(states[0]))
    for state in states:
        b.assign(state, b.aes_round(state, key, "round i"))


def rounds_from(
    b: Builder,
    keys: RoundKeys,
    states: Sequence[VReg],
    i: VReg,
    name: str,
    end: VReg | None = None,
    count: int = 2,
) -> VReg:
    """Record the rounds from i to the last but one, `count` in a turn of the loop `name`.

    Two divide them if i is even. `end` is the place of the last key, which is returned; without it
    the context says that.
    """  # fmt: skip
    end = end or keys.end()
    with b.loop(name):
        for ahead in range(count):
            round_at(b, keys, states, i, ahead)
        step(b, keys, i, count)
        b.branch("above", end, i, name)
    return keys.indexed(i, 0, b.lanes_of(states[0]))


def second_index(b: Builder, keys: RoundKeys, states: Sequence[VReg]) -> VReg:
    """Record the first round; return the number of the second."""
    i = first_index(b, keys)
    round_at(b, keys, states, i)
    step(b, keys, i)
    return i


def enciphered(
    b: Builder, keys: RoundKeys, block: VReg, name: str, end: VReg | None = None
) -> tuple[VReg, VReg]:
    """Record all rounds but the last of one register, as the loop `name`; return it, and k_Nr."""
    states = whitened(b, keys, [block])
    last = rounds_from(b, keys, states, second_index(b, keys, states), name, end)
    return states[0], last
