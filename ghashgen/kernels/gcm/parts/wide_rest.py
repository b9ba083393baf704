"""Less than a group of a compact kernel with 32 vector registers: its whole registers.

The cipher takes all of them at once. A loop of its own has one or two, others take four at least.
"""

from collections.abc import Sequence

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.ir.program import Label, VReg
from ghashgen.kernels.aes.rolled import first_index, round_at, step
from ghashgen.kernels.gcm.parts.rest import TOGETHER, Rest, counted, ended, filled, left, turn
from ghashgen.kernels.gcm.parts.woven import Behind


def wide_registers(rest: Rest, behind: Behind) -> VReg:
    """Record whole registers, and the group behind; return the keystream of what is left."""
    text, b, lanes = rest.text, rest.text.b, rest.text.kernel.lane_count
    E = [b.register("E", lanes) for _ in range(text.kernel.registers)]
    for register in E:
        b.emit("zero", register)
    b.branch("equal", text.length, 0, "enciphered")
    _keystream(rest, E)
    b.label("enciphered")
    behind.hash(rest.X)
    b.branch("not_equal", text.length, 0, "rest_follows")
    rest.way.texts("hashed_all")
    b.emit("jump", Label("written"))
    b.label("rest_follows")
    with b.loop("registers"):
        lacking = turn(rest, E, pairs=True)
    return left(rest, E, lacking)


def _keystream(rest: Rest, E: Sequence[VReg]) -> None:
    """Record the keystream of as many registers as the text fills."""
    text, b, keys, lanes = rest.text, rest.text.b, rest.text.keys, rest.text.kernel.lane_count
    size = BLOCK_BYTES * lanes
    whitening = keys.key(0, lanes)

    def begin(states: Sequence[VReg]) -> None:
        for state, block in counted(text, E, states):
            b.assign(state, b.xor(block, whitening, "+ k_0"))

    filled(text, "first", E, (1, 2), begin)
    i, last = first_index(b, keys), keys.end()
    b.branch("below", text.length, 2 * size + 1, "few")
    with b.loop("wide_round"):
        key = keys.indexed(i, 0, lanes)

        def go_on(states: Sequence[VReg]) -> None:
            for state in states:
                b.assign(state, b.aes_round(state, key, "round i"))

        filled(text, "wide", E, (TOGETHER,), go_on)
        step(b, keys, i)
        b.branch("above", last, i, "wide_round")
    b.emit("jump", Label("rounds_done"))
    b.label("few")
    round_at(b, keys, E[:2], i)
    step(b, keys, i)
    with b.loop("few_round"):
        round_at(b, keys, E[:1], i)
        round_at(b, keys, E[:1], i, 1)
        b.branch("below", text.length, size + 1, "one")
        round_at(b, keys, E[1:2], i)
        round_at(b, keys, E[1:2], i, 1)
        b.label("one")
        step(b, keys, i, 2)
        b.branch("above", last, i, "few_round")
    b.label("rounds_done")
    ended(text, E, keys.indexed(i, 0, lanes))
