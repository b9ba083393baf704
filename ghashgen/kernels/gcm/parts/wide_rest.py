"""Less than a group of a compact kernel with 32 vector registers: its whole registers.

The cipher takes all of them at once. A loop of its own has one or two, others take four at least.
Then four are hashed in a turn, straight, and what is left of four.
"""

from collections.abc import Sequence

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.ir.program import Label, VReg
from ghashgen.kernels.aes.rolled import round_at, step
from ghashgen.kernels.gcm.parts.rest import Rest, counted, ended, filled
from ghashgen.kernels.gcm.parts.sums import Contributions
from ghashgen.kernels.gcm.parts.woven import Behind

TOGETHER = 4
"""Registers that are hashed in a turn, and that the cipher takes at least if two are not enough."""


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
        lacking = _turn(rest, E)
    return _left(rest, E, lacking)


def _keystream(rest: Rest, E: Sequence[VReg]) -> None:
    """Record the keystream of as many registers as the text fills."""
    text, b, keys, lanes = rest.text, rest.text.b, rest.text.keys, rest.text.kernel.lane_count
    size = BLOCK_BYTES * lanes
    start = [keys.key(i, lanes) for i in range(2)]

    def begin(states: Sequence[VReg]) -> None:
        for state, block in counted(text, E, states):
            b.assign(state, b.xor(block, start[0], "+ k_0"))
            b.assign(state, b.aes_round(state, start[1], "round 1"))

    filled(text, "first", E, (1, 2), begin)
    i = b.gpr("gpr_const", 2 * keys.apart, note="place of k_2, from k_0")
    last = keys.end()
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


def _turn(rest: Rest, E: Sequence[VReg]) -> list[list[Contributions]]:
    """Record four whole registers of a loop `registers`, or go to a part with as many as there are;
    return the products that the sums lack at each part: those of two registers are added at once.
    """
    text, b, size = rest.text, rest.text.b, BLOCK_BYTES * rest.text.kernel.lane_count
    lacking, waiting = list[list[Contributions]](), list[Contributions]()
    for k, one in enumerate(E[:TOGETHER]):
        b.branch("below", text.length, size * (k + 1), f"part_{k}" if k else "part")
        lacking.append(list(waiting))
        waiting.append(_products(rest, one, size * k, f"chosen_{k}"))
        if k % 2:
            rest.sums.take(waiting)
            waiting.clear()
    rest.advance(size * TOGETHER)
    text.counters.skip(text.kernel.lane_count * TOGETHER)
    b.branch("equal", text.length, 0, "written")
    for one, following in zip(E, E[TOGETHER:], strict=False):
        b.assign(one, following)
    b.branch("not_equal", text.length, 0, "registers")
    return lacking


def _products(rest: Rest, E: VReg, at: int, chosen: str) -> Contributions:
    """Record a register of the text, so many bytes further on; return its products."""
    text, b = rest.text, rest.text.b
    raw = b.load(text.at(text.source, at), "text", text.kernel.lane_count)
    written = b.xor(E, raw, "the other text")
    b.store(text.at(text.out, at), written, "written")
    return rest.products(rest.chosen(chosen, raw, lambda: written), at)


def _left(rest: Rest, E: Sequence[VReg], lacking: list[list[Contributions]]) -> VReg:
    """Record the parts of a turn; return the keystream of less than a register, at `part`."""
    text, b, lanes = rest.text, rest.text.b, rest.text.kernel.lane_count
    for k in range(1, TOGETHER):
        b.label(f"part_{k}")
        rest.sums.take(lacking[k])
        b.assign(E[0], E[k])
        rest.advance(BLOCK_BYTES * lanes * k)
        text.counters.skip(lanes * k)
        b.branch("equal", text.length, 0, "written")
        if k < TOGETHER - 1:
            b.emit("jump", Label("part"))
    b.label("part")
    return E[0]
