"""What whole groups of a compact kernel's text leave: registers, then blocks, in loops.

Where vector registers are many, `parts.wide_rest` has the registers, and less than a register goes
at once. Otherwise the cipher takes four registers in a turn, and less goes block by block. All of
it joins one sum with the block of lengths. AAD and IVs go block by block.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.ir.builder import Builder
from ghashgen.ir.program import Label, Mem, VReg
from ghashgen.kernels.aes.rolled import enciphered, step
from ghashgen.kernels.bytes.exact import Exact, load_few, numbers_left
from ghashgen.kernels.bytes.load import load_partial
from ghashgen.kernels.bytes.store import first_bytes, store_partial
from ghashgen.kernels.gcm.kernel import ENTRY_BYTES, GcmKernel
from ghashgen.kernels.gcm.parts.rest import Rest, counted, ended, filled
from ghashgen.kernels.gcm.parts.sums import Sums
from ghashgen.kernels.gcm.parts.text import Text
from ghashgen.kernels.gcm.parts.ways import Way
from ghashgen.kernels.gcm.parts.wide_rest import wide_registers
from ghashgen.kernels.gcm.parts.woven import Behind
from ghashgen.kernels.hash.parts.interface import entries, key_sum, times_h, to_register

TOGETHER = 4
"""Registers of the rest that the cipher takes in a turn."""


def rest_of(
    text: Text, X: VReg, way: Way, lengths: Callable[[], VReg], behind: Behind | None = None
) -> None:
    """Record less than a group and, of a message, the lengths. A group may be `behind`."""
    b, kernel, lanes = text.b, text.kernel, text.kernel.lane_count
    hashing, top = kernel.hash, kernel.layout.top
    key_at = b.gpr("gpr_address", Mem(base=text.context, disp=ENTRY_BYTES * (top - 1)))
    way.messages("counted")
    b.branch("equal", text.length, 0, "hashed_all" if behind is None else "counted")
    b.assign(key_at, b.gpr("gpr_add", key_at, ENTRY_BYTES, note="no block of lengths follows"))
    b.label("counted")
    rounded = b.gpr("gpr_and", b.gpr("gpr_address", Mem(base=text.length, disp=15)), -BLOCK_BYTES)
    b.assign(key_at, b.gpr("gpr_minus", key_at, rounded))
    terms = key_sum(hashing, key_at, top)
    R = None
    if terms is not None:
        R = b.variable(b.load(terms, "R: the key terms of all powers that are met"), "R")
    rest = Rest(text, way, X, Sums(b, kernel), key_at)
    rest.sums.clear()
    at_once = kernel.instruction_set.partial_registers
    if behind is None:
        b.branch("equal", text.length, 0, "written")
    if behind is not None:
        _part(rest, wide_registers(rest, behind), R)
    elif lanes == 1:
        _blocks(rest, None)
    else:
        _blocks(rest, _registers(rest))
    b.label("written")
    way.texts("summed")
    place = (text.context, 1) if at_once else (key_at, top)
    rest.sums.add((b.xor(lengths(), X, "the lengths"), entries(hashing, *place)))
    b.label("summed")
    b.assign(X, rest.sums.reduced(R))
    b.label("hashed_all")


def _keystream(rest: Rest, E: Sequence[VReg]) -> None:
    """Record the keystream of as many registers as the text fills, or of all of E."""
    text, b, keys, lanes = rest.text, rest.text.b, rest.text.keys, rest.text.kernel.lane_count
    starts = 1, 2

    def begin(states: Sequence[VReg]) -> None:
        for state, block in counted(text, E, states):
            b.assign(state, b.xor(block, start[0], "+ k_0"))
            b.assign(state, b.aes_round(state, start[1], "round 1"))

    def go_on(states: Sequence[VReg]) -> None:
        for key in round_keys:
            for state in states:
                b.assign(state, b.aes_round(state, key, "round i"))

    start = [keys.key(i, lanes) for i in range(2)]
    filled(text, "first", E, starts, begin)
    i = b.gpr("gpr_const", 2 * keys.apart, note="place of k_2, from k_0")
    last = keys.end()
    with b.loop("wide_round"):
        round_keys = [keys.indexed(i, ahead, lanes) for ahead in range(2)]
        filled(text, "wide", E, starts, go_on)
        step(b, keys, i, 2)
        b.branch("above", last, i, "wide_round")
    ended(text, E, keys.indexed(i, 0, lanes))


def _registers(rest: Rest) -> VReg:
    """Record whole registers, of which the cipher takes four in a turn; return the keystream of
    what is left.
    """
    text, b, lanes = rest.text, rest.text.b, rest.text.kernel.lane_count
    size = BLOCK_BYTES * lanes
    E = [b.register("E", lanes) for _ in range(TOGETHER)]
    with b.loop("registers"):
        for register in E:
            b.emit("zero", register)
        _keystream(rest, E)
        left = b.gpr("gpr_const", len(E), note="registers of keystream")
        with b.loop("register"):
            b.branch("below", text.length, size, "part")
            raw = b.load(text.at(text.source), "text", lanes)
            written = b.xor(E[0], raw, "the other text")
            b.store(text.at(text.out), written, "written")
            rest.hash(rest.chosen("wide_chosen", raw, lambda: written))
            text.counters.skip(lanes)
            rest.advance(size)
            b.branch("equal", text.length, 0, "written")
            for one, following in pairwise(E):
                b.assign(one, following)
            b.assign(left, b.gpr("gpr_sub", left, 1))
            b.branch("equal", left, 0, "registers")
            b.branch("not_equal", text.length, 0, "register")
    b.label("part")
    return E[0]


def _part(rest: Rest, E: VReg, R: VReg | None) -> None:
    """Record less than a register, at once. Changes R, the sum of key terms."""
    text, b, lanes = rest.text, rest.text.b, rest.text.kernel.lane_count
    exact = Exact.of(b, text.length, numbers_left(lanes, whole=False), lanes)
    raw = exact.load("part", text.at(text.source))
    written = b.xor(E, raw, "the other text")
    exact.store("part_written", text.at(text.out), written)
    rest.hash(rest.chosen("part_chosen", raw, lambda: exact.first(written)))
    rounded = b.gpr("gpr_add", text.length, BLOCK_BYTES - 1)
    text.counters.skip(b.gpr("gpr_shr", rounded, 4, note="blocks, the partial one too"))
    if R is not None:
        # A lane behind the text adds its power's key term: that of H^1, which the lengths add too,
        # or zeros, which follow H^1 in the table.
        b.branch("not_below", text.length, BLOCK_BYTES * (lanes - 1) + 1, "written")
        rest.way.texts("written")
        one = key_sum(text.kernel.hash, text.context, 1)
        assert one is not None
        b.assign(R, b.xor(R, one, "the key term of H^1 is in twice"))


def _blocks(rest: Rest, stream: VReg | None) -> None:
    """Record less than a register, or a group of blocks, block by block."""
    text, b = rest.text, rest.text.b
    with b.loop("block"):
        if stream is None:
            state = enciphered(b, text.keys, text.counters.partial(1), "block_round")
            E = b.aes_last(*state, "keystream")
        else:
            E = b.first_lane(stream)
        C = b.register("C")
        b.branch("below", text.length, BLOCK_BYTES, "partial")
        raw = b.load(text.at(text.source), "text")
        written = b.xor(raw, E, "the other text")
        b.store(text.at(text.out), written, "written")
        b.assign(C, rest.chosen("block_chosen", raw, lambda: written))
        b.emit("jump", Label("hashed"))
        b.label("partial")
        with b.part("partial"):
            b.assign(C, _piece(rest, E))
            b.assign(text.length, b.gpr("gpr_const", BLOCK_BYTES))
        b.label("hashed")
        rest.hash(C)
        rest.advance(BLOCK_BYTES)
        text.counters.skip(1)
        if stream is not None:
            b.assign(stream, b.lanes_down(stream, 1, "the next block's"))
        b.branch("not_equal", text.length, 0, "block")


def _piece(rest: Rest, E: VReg) -> VReg:
    """Record a partial block; return its ciphertext, zero-padded."""
    text, b, length = rest.text, rest.text.b, rest.text.length
    raw = load_partial(b, text.source, length, "padded", forget=True)
    written = b.xor(raw, E, "the other text")
    store_partial(b, b.gpr("gpr_copy", text.out), length, written)
    return rest.chosen("chosen", raw, lambda: first_bytes(b, written, length))


def absorbed(b: Builder, kernel: GcmKernel, context: VReg, source: VReg, length: VReg) -> VReg:
    """Record GHASH of so many bytes, block by block; return the state. Changes both registers."""
    X = b.zero("X")

    def absorb(raw: VReg) -> None:
        A = b.xor(X, to_register(b, kernel.hash, raw, "C"), "A = X + C")
        b.assign(X, times_h(b, kernel.hash, context, A))

    b.branch("below", length, BLOCK_BYTES, "short")
    with b.loop("whole"):
        absorb(b.load(Mem(base=source), "C, bytes as in memory"))
        b.assign(source, b.gpr("gpr_add", source, BLOCK_BYTES, note="the next block"))
        b.assign(length, b.gpr("gpr_sub", length, BLOCK_BYTES))
        b.branch("not_below", length, BLOCK_BYTES, "whole")
    b.label("short")
    b.branch("equal", length, 0, "absorbed")
    if kernel.instruction_set.partial_registers:
        absorb(load_few(b, "piece", Mem(base=source), length, range(1, BLOCK_BYTES)))
    else:
        absorb(load_partial(b, source, length, "padded"))
    b.label("absorbed")
    return X
