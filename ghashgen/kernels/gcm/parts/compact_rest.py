"""What whole groups of a compact kernel's text leave: registers, then blocks, in loops.

The cipher takes up to four registers in a turn. Less than a register goes block by block, or at
once if registers may be partly filled and there are no key terms. All of it joins one sum with the
block of lengths. AAD and IVs go block by block.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.schemes import aggregate
from ghashgen.ir.builder import Builder, Value
from ghashgen.ir.program import Label, Mem, VReg
from ghashgen.kernels.aes.rolled import enciphered, second_index, step, whitened
from ghashgen.kernels.bytes.exact import Exact, load_few, numbers_left
from ghashgen.kernels.bytes.load import load_partial
from ghashgen.kernels.bytes.store import first_bytes, store_partial
from ghashgen.kernels.gcm.kernel import ENTRY_BYTES, GcmKernel
from ghashgen.kernels.gcm.parts.text import Text
from ghashgen.kernels.gcm.parts.ways import Way
from ghashgen.kernels.hash.parts.interface import (
    entries,
    finish_group,
    key_sum,
    times_h,
    to_register,
)

TOGETHER = 4
"""Registers of the rest that the cipher takes in a turn."""

Product = tuple[VReg, Sequence[Value]]
"""A register and the entries of its powers."""


class Sums:
    """The accumulators of a sum of products."""

    def __init__(self, b: Builder, kernel: GcmKernel) -> None:
        self.b, self.hashing = b, kernel.hash
        names = kernel.hash.multiplier.accumulators
        self.acc = {name: b.register(name, kernel.lane_count) for name in names}

    def clear(self) -> None:
        """Start at 0."""
        for register in self.acc.values():
            self.b.emit("zero", register)

    def add(self, *products: Product) -> None:
        """Add the products of registers, each with its keys."""
        sums: Mapping[str, Value] = dict(self.acc)
        for A, keys in products:
            scheme = self.hashing.multiplier, self.hashing.bit_order
            sums = aggregate.accumulate(self.b, *scheme, sums, A, keys)
        for name, register in self.acc.items():
            self.b.assign(register, sums[name])

    def reduced(self, R: Value | None) -> VReg:
        """Record the reduction."""
        return finish_group(self.b, self.hashing, self.acc, R)


@dataclass
class _Rest:
    """Less than a group, and how it is hashed."""

    text: Text
    way: Way
    X: VReg
    sums: Sums
    key_at: VReg
    """The place of the next block's power, in the first array."""

    def chosen(self, name: str, given: VReg, written: Callable[[], VReg]) -> VReg:
        """Return what is read or, encrypting, what is written."""
        b = self.text.b
        C = b.variable(given, "C")
        self.way.decrypts(name)
        b.assign(C, written())
        b.label(name)
        return C

    def hash(self, C: VReg) -> None:
        """Add the products of a register or a block."""
        b, hashing = self.text.b, self.text.kernel.hash
        A = b.xor(to_register(b, hashing, C, "C"), self.X, "A = X + C")
        b.emit("zero", self.X, note="X counts once")
        self.sums.add((A, entries(hashing, self.key_at, hashing.layout.top)))

    def advance(self, size: int) -> None:
        """Step over so many bytes, and their powers."""
        b, key_at = self.text.b, self.key_at
        b.assign(key_at, b.gpr("gpr_add", key_at, size, note="the next powers"))
        self.text.advance(size)


def rest_of(text: Text, X: VReg, way: Way, lengths: Callable[[], VReg]) -> None:
    """Record less than a group and, of a message, the lengths."""
    b, kernel, lanes = text.b, text.kernel, text.kernel.lane_count
    hashing, top = kernel.hash, kernel.layout.top
    key_at = b.gpr("gpr_address", Mem(base=text.context, disp=ENTRY_BYTES * (top - 1)))
    way.messages("counted")
    b.branch("equal", text.length, 0, "hashed_all")
    b.assign(key_at, b.gpr("gpr_add", key_at, ENTRY_BYTES, note="no block of lengths follows"))
    b.label("counted")
    rounded = b.gpr("gpr_and", b.gpr("gpr_address", Mem(base=text.length, disp=15)), -BLOCK_BYTES)
    b.assign(key_at, b.gpr("gpr_minus", key_at, rounded))
    terms = key_sum(hashing, key_at, top)
    R = None if terms is None else b.load(terms, "R: the key terms of all powers that are met")
    rest = _Rest(text, way, X, Sums(b, kernel), key_at)
    rest.sums.clear()
    b.branch("equal", text.length, 0, "written")
    at_once = kernel.instruction_set.partial_registers and terms is None
    stream = _registers(rest) if lanes > 1 else None
    if stream is not None and at_once:
        _part(rest, stream)
    else:
        _blocks(rest, stream)
    b.label("written")
    way.texts("summed")
    place = (text.context, 1) if at_once else (key_at, top)
    rest.sums.add((b.xor(lengths(), X, "the lengths"), entries(hashing, *place)))
    b.label("summed")
    b.assign(X, rest.sums.reduced(R))
    b.label("hashed_all")


def _registers(rest: _Rest) -> VReg:
    """Record whole registers; go on with the keystream of what is left, if anything is.

    The cipher takes four registers in a turn, or the one or two that are left.
    """
    text, b, keys, lanes = rest.text, rest.text.b, rest.text.keys, rest.text.kernel.lane_count
    size = BLOCK_BYTES * lanes

    def rounds(count: int) -> None:
        round_keys = [keys.indexed(i, ahead, lanes) for ahead in range(count)]
        for some, more in ((slice(1), 1), (slice(1, 2), 2), (slice(2, 4), 0)):
            for key in round_keys:
                for state in states[some]:
                    b.assign(state, b.aes_round(state, key, "round i"))
            if more:
                b.branch("below", text.length, more * size + 1, "no_more")
        b.label("no_more")

    with b.loop("registers"):
        states = whitened(b, keys, text.counters.last_blocks(TOGETHER))
        i = second_index(b, keys, states)
        end = keys.end()
        with b.loop("wide_round"):
            rounds(2)
            step(b, keys, i, 2)
            b.branch("above", end, i, "wide_round")
        last = keys.indexed(i, 0, lanes)
        E = [b.variable(b.aes_last(state, last, "keystream"), "E") for state in states]
        left = b.gpr("gpr_const", TOGETHER, note="registers of keystream")
        b.branch("below", text.length, size, "part")
        with b.loop("register"):
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
            b.branch("not_below", text.length, size, "register")
    b.label("part")
    return E[0]


def _part(rest: _Rest, E: VReg) -> None:
    """Record less than a register, at once."""
    text, b, lanes = rest.text, rest.text.b, rest.text.kernel.lane_count
    exact = Exact.of(b, text.length, numbers_left(lanes, whole=False), lanes)
    raw = exact.load("part", text.at(text.source))
    written = b.xor(E, raw, "the other text")
    exact.store("part_written", text.at(text.out), written)
    rest.hash(rest.chosen("part_chosen", raw, lambda: exact.first(written)))
    rounded = b.gpr("gpr_add", text.length, BLOCK_BYTES - 1)
    text.counters.skip(b.gpr("gpr_shr", rounded, 4, note="blocks, the partial one too"))


def _blocks(rest: _Rest, stream: VReg | None) -> None:
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


def _piece(rest: _Rest, E: VReg) -> VReg:
    """Record a partial block; return its ciphertext, zero-padded."""
    text, b, length = rest.text, rest.text.b, rest.text.length
    if text.kernel.instruction_set.partial_registers:
        exact = Exact.of(b, length, range(1, BLOCK_BYTES))
        raw = exact.load("piece", text.at(text.source))
        written = b.xor(raw, E, "the other text")
        exact.store("written", text.at(text.out), written)
        return rest.chosen("chosen", raw, lambda: exact.first(written))
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
