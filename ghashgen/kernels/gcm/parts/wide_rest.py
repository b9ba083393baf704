"""Less than a group of a compact kernel with 32 vector registers: its whole registers.

The cipher takes all of them at once. Then four are hashed in a turn, straight: the products of two
are added at once, which saves additions. Behind them `some` steps over one to three registers.
"""

from collections.abc import Sequence

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.ir.program import Label, RegClass, VReg
from ghashgen.kernels.aes.rolled import first_index, round_at, step
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
        waiting = _hashed(rest, E[:TOGETHER])
        rest.advance(BLOCK_BYTES * lanes * TOGETHER)
        text.counters.skip(lanes * TOGETHER)
        b.branch("equal", text.length, 0, "written")
        for one, following in zip(E, E[TOGETHER:], strict=False):
            b.assign(one, following)
        b.branch("not_equal", text.length, 0, "registers")
    done = b.register("done", cls=RegClass.GPR)
    for k in range(1, TOGETHER):
        b.label(f"part_{k}")
        rest.sums.take(waiting[k])
        b.assign(E[0], E[k])
        b.assign(done, b.gpr("gpr_const", BLOCK_BYTES * lanes * k))
        if k < TOGETHER - 1:
            b.emit("jump", Label("some"))
    b.label("some")
    rest.advance(done)
    text.counters.skip(b.gpr("gpr_shr", done, 4, note="blocks done"))
    b.branch("equal", text.length, 0, "written")
    b.label("part")
    return E[0]


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


def _hashed(rest: Rest, E: Sequence[VReg]) -> list[list[Contributions]]:
    """Record whole registers, or go to a part with as many as there are; return the products that
    the sums lack at each part.
    """
    text, size = rest.text, BLOCK_BYTES * rest.text.kernel.lane_count
    waiting, left = list[list[Contributions]](), list[Contributions]()
    for k, one in enumerate(E):
        text.b.branch("below", text.length, size * (k + 1), f"part_{k}" if k else "part")
        waiting.append(list(left))
        left.append(_products(rest, one, size * k, f"chosen_{k}"))
        if k % 2:
            rest.sums.take(left)
            left.clear()
    return waiting


def _products(rest: Rest, E: VReg, at: int, chosen: str) -> Contributions:
    """Record a register of the text, so many bytes further on; return its products."""
    text, b = rest.text, rest.text.b
    raw = b.load(text.at(text.source, at), "text", text.kernel.lane_count)
    written = b.xor(E, raw, "the other text")
    b.store(text.at(text.out, at), written, "written")
    return rest.products(rest.chosen(chosen, raw, lambda: written), at)
