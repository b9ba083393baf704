"""Whole groups of a compact kernel with 16 vector registers.

A group of R registers is a loop over AES's rounds. Two rounds of the cipher alternate with the
products of two registers of GHASH, so one number, 16·i, finds round keys, blocks and powers. Other
rounds that every key size has follow, and then those of longer keys in a loop of their own.

    round        1 … R-2                       R-1 … 9                     … Nr-1     Nr
    cipher       R states, keys i and i+1      one key                     two keys   with the text
    GHASH        registers i+2 and i+3         register 2, 1, reduction

Encryption hashes a group behind, and what it writes.
"""

from collections.abc import Sequence

from ghashgen.ir.program import Label, VReg
from ghashgen.kernels.aes.rolled import counted, first_index, round_at, rounds_from, step
from ghashgen.kernels.gcm.parts.sums import Sums, product
from ghashgen.kernels.gcm.parts.text import Text
from ghashgen.kernels.gcm.parts.ways import Way
from ghashgen.kernels.gcm.parts.woven import LEAST_ROUNDS
from ghashgen.kernels.hash.parts.interface import GROUP, key_sum


def _more(text: Text, i: VReg, name: str) -> None:
    """Go back for two more registers, if there are more than the first two."""
    step(text.b, text.keys, i, 2)
    text.b.branch("below", i, text.keys.apart * (text.kernel.registers - 1), name)


def _first_two(text: Text, sums: Sums, X: VReg, at: VReg) -> None:
    """Record the products of the first two registers, which X joins, and the reduction."""
    b, kernel = text.b, text.kernel
    A, keys = product(text, at, 0)
    sums.add(product(text, at, 1), (b.xor(A, X, "A = X + C"), keys))
    b.assign(X, sums.reduced(key_sum(kernel.hash, text.context, kernel.blocks)))


def _group(text: Text, X: VReg, at: VReg, lag: VReg) -> None:
    """Record AES of a group and, but if it is the first of an encryption, GHASH of that at `at`."""
    b, kernel, keys = text.b, text.kernel, text.keys
    sums, states = Sums(b, kernel), counted(text, kernel.registers)
    sums.clear()
    i = first_index(b, keys)
    with b.loop("pairs"):
        for k in range(2):
            round_at(b, keys, states, i, k)
            b.branch("equal", lag, 1, f"alone_{k}")
            sums.add(product(text, at, 1 + k, i))
            b.label(f"alone_{k}")
        _more(text, i, "pairs")
    _others(text, sums, X, at, lag, states, i)


def _others(
    text: Text, sums: Sums, X: VReg, at: VReg, lag: VReg, states: Sequence[VReg], i: VReg
) -> None:
    """Record the rounds from i on, beside them what remains of GHASH, and the output."""
    b, kernel, keys = text.b, text.kernel, text.keys

    def first() -> None:
        A, entries = product(text, at, 0)
        sums.add((b.xor(A, X, "A = X + C"), entries))

    def end() -> None:
        b.assign(X, sums.reduced(key_sum(kernel.hash, text.context, kernel.blocks)))
        text.move(at, text.group_bytes)

    hashing = (lambda: sums.add(product(text, at, 1))), first, end
    rounds = LEAST_ROUNDS - 1 - (kernel.registers - 2)
    for k in range(max(rounds, len(hashing))):
        if k < rounds:
            round_at(b, keys, states, i, k)
        if k < len(hashing):
            b.branch("equal", lag, 1, f"nothing_{k}")
            hashing[k]()
            b.label(f"nothing_{k}")
    step(b, keys, i, rounds)
    last = keys.end()
    b.branch("equal", i, last, "ciphered")
    rounds_from(b, keys, states, i, "cipher", last)
    b.label("ciphered")
    text.write(states, key=keys.indexed(i, 0, kernel.lane_count))


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
            sums.add(product(text, at, 1, i), product(text, at, 2, i))
            _more(text, i, "pairs")
        _first_two(text, sums, X, at)
