"""Whole groups of a compact kernel with 16 vector registers.

A group of R registers is a loop over AES's rounds. Two rounds of the cipher alternate with the
products of two registers of GHASH, so one number, 16·i, finds round keys, blocks and powers. The
other rounds follow in a loop of their own.

    round        1 … R-2                       R-1 … Nr-1     Nr
    cipher       R states, keys i and i+1      one key        with the text
    GHASH        registers i+2 and i+3         reduction

Encryption hashes a group behind, and what it writes.
"""

from dataclasses import replace

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.ir.builder import Value
from ghashgen.ir.program import Label, Mem, VReg
from ghashgen.kernels.aes.rolled import first_index, round_at, rounds_from, step, whitened
from ghashgen.kernels.gcm.parts.compact_rest import Product, Sums
from ghashgen.kernels.gcm.parts.text import Text
from ghashgen.kernels.gcm.parts.ways import Way
from ghashgen.kernels.hash.parts.interface import GROUP, entries, key_sum, to_register


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


def _first_two(text: Text, sums: Sums, X: VReg, at: VReg) -> None:
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
    sums, states = Sums(b, kernel), _counted(text, kernel.registers)
    sums.clear()
    i = first_index(b, keys)
    with b.loop("pairs"):
        for k in range(2):
            round_at(b, keys, states, i, k)
            b.branch("equal", lag, 1, f"alone_{k}")
            sums.add(_product(text, at, 1 + k, i))
            b.label(f"alone_{k}")
        _more(text, i, "pairs")
    round_at(b, keys, states, i)
    step(b, keys, i)
    b.branch("equal", lag, 1, "nothing_hashed")
    _first_two(text, sums, X, at)
    text.move(at, text.group_bytes)
    b.label("nothing_hashed")
    text.write(states, key=rounds_from(b, keys, states, i, "cipher"))


def whole_groups(text: Text, X: VReg, way: Way) -> None:
    """Record a text's whole groups, of which there is one at least."""
    b, kernel, size = text.b, text.kernel, text.group_bytes
    at = b.gpr("gpr_copy", text.source, note="what is hashed")
    lag = b.gpr("gpr_const", 0, note="1 while nothing is hashed yet")
    way.decrypts("turn")
    b.assign(lag, b.gpr("gpr_const", 1))
    b.assign(at, text.out)
    b.emit("jump", Label("turn"))
    with b.loop(GROUP):
        b.assign(lag, b.gpr("gpr_const", 0))
        b.label("turn")
        _group(text, X, at, lag)
        text.advance(size, "next group")
        b.branch("not_below", text.length, size, GROUP)
    way.decrypts("rest")
    with b.part("last"):
        sums = Sums(b, kernel)
        sums.clear()
        i = first_index(b, text.keys)
        with b.loop("pairs"):
            sums.add(_product(text, at, 1, i), _product(text, at, 2, i))
            _more(text, i, "pairs")
        _first_two(text, sums, X, at)
