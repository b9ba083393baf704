"""The compact flavour: loops where other kernels unroll, so that a kernel takes little code.

A group of R registers is a loop over AES's rounds. Two rounds of the cipher stand beside the
products of two registers of GHASH, so one number, 16·i, finds round keys, blocks and powers. The
other rounds follow in a loop of their own.

    round        1 … R-2                       R-1 … Nr-1     Nr
    cipher       R states, keys i and i+1      one key        with the text
    GHASH        registers i+2 and i+3         reduction

What whole groups leave goes register by register, then block by block, and joins one sum with the
block of lengths. AAD goes block by block. Both directions are one code: encryption hashes a group
behind, and what it writes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.schemes import aggregate
from ghashgen.ir.builder import Builder, Value
from ghashgen.ir.program import Label, Mem, VReg
from ghashgen.kernels.aes.cipher import add_text
from ghashgen.kernels.aes.rolled import (
    enciphered,
    first_index,
    round_at,
    rounds_from,
    step,
    whitened,
)
from ghashgen.kernels.bytes.exact import Exact, load_few
from ghashgen.kernels.bytes.load import load_partial
from ghashgen.kernels.bytes.store import first_bytes, store_partial
from ghashgen.kernels.gcm.kernel import ENTRY_BYTES, GcmKernel
from ghashgen.kernels.gcm.parts.text import Text
from ghashgen.kernels.hash.parts.interface import (
    GROUP,
    entries,
    finish_group,
    key_sum,
    times_h,
    to_register,
)

DECRYPTS, ENCRYPTS = 0, 1
"""The ways of one code, by which function it was entered."""

Product = tuple[VReg, Sequence[Value]]
"""A register and the entries of its powers."""

Lengths = Callable[[], VReg] | None
"""Records the block of lengths."""


class _Sums:
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


def _product(text: Text, at: VReg, register: int, i: VReg | None = None) -> Product:
    """Record the load of a group's register, counted from register i; return it with its keys."""
    b, hashing, lanes = text.b, text.kernel.hash, text.kernel.lane_count

    def place(memory: Value) -> Mem:
        assert isinstance(memory, Mem)
        return replace(memory, disp=memory.disp + BLOCK_BYTES * lanes * register, index=i)

    raw = b.load(place(text.at(at)), "C, bytes as in memory", lanes)
    keys = entries(hashing, text.context, text.kernel.blocks)
    return to_register(b, hashing, raw, "C"), [place(key) for key in keys]


def _more(text: Text, i: VReg, name: str) -> None:
    """Go back for two more registers, if there are more than the first two."""
    step(text.b, text.keys, i, 2)
    text.b.branch("below", i, text.keys.apart * (text.kernel.registers - 1), name)


def _first_two(text: Text, sums: _Sums, X: VReg, at: VReg) -> None:
    """Record the products of the first two registers, which X joins, and the reduction."""
    b, kernel = text.b, text.kernel
    A, keys = _product(text, at, 0)
    sums.add(_product(text, at, 1), (b.xor(A, X, "A = X + C"), keys))
    b.assign(X, sums.reduced(key_sum(kernel.hash, text.context, kernel.blocks)))


def _counted(text: Text, count: int) -> list[VReg]:
    """Record the counter blocks of so many registers, with k_0 added."""
    lanes, blocks = text.kernel.lane_count, list[VReg]()
    for _ in range(count):
        blocks.append(text.counters.partial(lanes))
        text.counters.skip(lanes)
    return whitened(text.b, text.keys, blocks)


def _group(text: Text, X: VReg, at: VReg, lag: VReg) -> None:
    """Record AES of a group and, but if it is the first of an encryption, GHASH of that at `at`."""
    b, kernel, keys = text.b, text.kernel, text.keys
    sums, states = _Sums(b, kernel), _counted(text, kernel.registers)
    sums.clear()
    i = first_index(b, keys)
    with b.loop("pairs"):
        for k in range(2):
            round_at(b, keys, states, i, k)
        b.branch("equal", lag, 1, "cipher_alone")
        sums.add(_product(text, at, 1, i), _product(text, at, 2, i))
        b.label("cipher_alone")
        _more(text, i, "pairs")
    round_at(b, keys, states, i)
    step(b, keys, i)
    b.branch("equal", lag, 1, "nothing_hashed")
    _first_two(text, sums, X, at)
    text.move(at, text.group_bytes)
    b.label("nothing_hashed")
    text.write(states, key=rounds_from(b, keys, states, i, "cipher"))


def crypt_text(text: Text, X: VReg, way: VReg, lengths: Lengths = None) -> None:
    """Record out = in + keystream, and X continued over the ciphertext and the lengths, if any.

    Encryption hashes a group while it encrypts the next one.
    """
    b, kernel, size = text.b, text.kernel, text.group_bytes
    b.branch("below", text.length, size, "rest")
    at = b.gpr("gpr_copy", text.source, note="what is hashed")
    lag = b.gpr("gpr_copy", way, note="whether nothing is hashed yet")
    b.branch("equal", way, DECRYPTS, "turn")
    b.assign(at, text.out)
    b.emit("jump", Label("turn"))
    with b.loop(GROUP):
        b.assign(lag, b.gpr("gpr_const", 0))
        b.label("turn")
        _group(text, X, at, lag)
        text.advance(size, "next group")
        b.branch("not_below", text.length, size, GROUP)
    b.branch("equal", way, DECRYPTS, "rest")
    with b.part("last"):
        sums = _Sums(b, kernel)
        sums.clear()
        i = first_index(b, text.keys)
        with b.loop("pairs"):
            sums.add(_product(text, at, 1, i), _product(text, at, 2, i))
            _more(text, i, "pairs")
        _first_two(text, sums, X, at)
    b.label("rest")
    _rest(text, X, way, lengths)


def _rest(text: Text, X: VReg, way: VReg, lengths: Lengths) -> None:
    """Record less than a group, and the lengths."""
    b, kernel, lanes = text.b, text.kernel, text.kernel.lane_count
    hashing, top = kernel.hash, kernel.layout.top
    sums = _Sums(b, kernel)
    if lengths is None:
        b.branch("equal", text.length, 0, "hashed_all")
    rounded = b.gpr("gpr_and", b.gpr("gpr_address", Mem(base=text.length, disp=15)), -BLOCK_BYTES)
    start = ENTRY_BYTES * (top - (lengths is not None))
    key_at = b.gpr("gpr_minus", b.gpr("gpr_address", Mem(base=text.context, disp=start)), rounded)
    terms = key_sum(hashing, key_at, top)
    R = None if terms is None else b.load(terms, "R: the key terms of all powers that are met")
    sums.clear()

    def chosen(name: str, given: VReg, written: Callable[[], VReg]) -> VReg:
        """Return what is read or, encrypting, what is written."""
        C = b.variable(given, "C")
        b.branch("equal", way, DECRYPTS, name)
        b.assign(C, written())
        b.label(name)
        return C

    def hashed(C: VReg, size: int) -> None:
        A = b.xor(to_register(b, hashing, C, "C"), X, "A = X + C")
        b.emit("zero", X, note="X counts once")
        sums.add((A, entries(hashing, key_at, top)))
        b.assign(key_at, b.gpr("gpr_add", key_at, size, note="the next powers"))

    if lanes > 1:
        size = BLOCK_BYTES * lanes
        b.branch("below", text.length, size, "blocks")
        with b.loop("register"):
            state, key = enciphered(b, text.keys, text.counters.partial(lanes), "wide_round")
            text.counters.skip(lanes)
            raw = b.load(text.at(text.source), "text", lanes)
            written = add_text(b, state, key, raw, "the other text")
            b.store(text.at(text.out), written, "written")
            hashed(chosen("wide_chosen", raw, lambda: written), size)
            text.advance(size)
            b.branch("not_below", text.length, size, "register")
        b.label("blocks")
    if lanes > 1 or lengths is not None:
        b.branch("equal", text.length, 0, "written")

    def keystream() -> VReg:
        blocks = text.counters.partial(lanes)
        return b.aes_last(*enciphered(b, text.keys, blocks, "block_round"), "keystream")

    # One register has the keystream of all blocks that are left.
    stream = b.variable(keystream(), "keystream") if lanes > 1 else None
    with b.loop("block"):
        E = keystream() if stream is None else b.first_lane(stream)
        C = b.register("C")
        b.branch("below", text.length, BLOCK_BYTES, "partial")
        raw = b.load(text.at(text.source), "text")
        written = b.xor(raw, E, "the other text")
        b.store(text.at(text.out), written, "written")
        b.assign(C, chosen("block_chosen", raw, lambda: written))
        b.emit("jump", Label("hashed"))
        b.label("partial")
        with b.part("partial"):
            b.assign(C, _piece(text, E, chosen))
            b.assign(text.length, b.gpr("gpr_const", BLOCK_BYTES))
        b.label("hashed")
        hashed(C, BLOCK_BYTES)
        text.advance(BLOCK_BYTES)
        if stream is None or text.counters.kept:
            text.counters.skip(1)
        if stream is not None:
            b.assign(stream, b.lanes_down(stream, 1, "the next block's"))
        b.branch("not_equal", text.length, 0, "block")
    b.label("written")
    if lengths is not None:
        sums.add((b.xor(lengths(), X, "the lengths"), entries(hashing, key_at, top)))
    b.assign(X, sums.reduced(R))
    if lengths is None:
        b.label("hashed_all")


def _piece(text: Text, E: VReg, chosen: Callable[[str, VReg, Callable[[], VReg]], VReg]) -> VReg:
    """Record a partial block; return its ciphertext, zero-padded."""
    b, length = text.b, text.length
    if text.kernel.instruction_set.partial_registers:
        exact = Exact.of(b, length, range(1, BLOCK_BYTES))
        raw = exact.load("piece", text.at(text.source))
        written = b.xor(raw, E, "the other text")
        exact.store("written", text.at(text.out), written)
        return chosen("chosen", raw, lambda: exact.first(written))
    raw = load_partial(b, text.source, length, "padded", forget=True)
    written = b.xor(raw, E, "the other text")
    store_partial(b, b.gpr("gpr_copy", text.out), length, written)
    return chosen("chosen", raw, lambda: first_bytes(b, written, length))


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
