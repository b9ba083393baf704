"""The key schedule of AES (FIPS 197, section 5.2).

SubWord is AES's last round on a register that holds one word four times. Its columns are alike, so
ShiftRows moves nothing, and adding its round key adds Rcon. RotWord is part of the shuffle that
spreads the word. The words of a step are prefix sums of the previous step's words, each plus that
word; two shifted additions compute them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ghashgen.algebra.field.aes_round import rcon
from ghashgen.ir.builder import Builder, Value
from ghashgen.ir.program import Label, Mem, VReg

WORDS = 0x00000001_00000001_00000001_00000001
"""The number 1 in the first byte of every word: Rcon of the first step."""

AFTER_OVERFLOW = 0x1B * WORDS
"""x^8 in AES's field, Rcon of step 9."""


def _spread(word: int, rotate: bool) -> int:
    """Return the byte permutation that copies a word to all four places, with its bytes rotated or
    not.
    """
    order = (1, 2, 3, 0) if rotate else (0, 1, 2, 3)
    return int.from_bytes(bytes(4 * word + i for i in order) * 4, "little")


@dataclass
class _Schedule:
    """The steps of the key schedule."""

    b: Builder
    rcon: Value | None = None
    step: int = 0

    def _next_rcon(self) -> Value:
        """Return Rcon of the next step: x^(step - 1) in the first byte of every word."""
        b = self.b
        self.step += 1
        if self.rcon is None:
            self.rcon = b.const(WORDS, "rcon_1")
        elif self.step == 9:
            self.rcon = b.const(AFTER_OVERFLOW, "rcon_9")
        else:
            self.rcon = b.shl64(self.rcon, 1, "Rcon")
        return self.rcon

    def sub_rot(self, key: VReg, word: int, rcon: Value | None = None) -> VReg:
        """Return SubWord(RotWord(w)) + Rcon in every word."""
        b, rcon = self.b, rcon or self._next_rcon()
        mask = b.const(_spread(word, True), f"rotated_word_{word}")
        return b.aes_last(b.shuffle_bytes(key, mask, "RotWord"), rcon, "SubWord + Rcon")

    def sub(self, key: VReg, word: int) -> VReg:
        """Return SubWord(w) in every word."""
        b = self.b
        spread = b.shuffle_bytes(key, b.const(_spread(word, False), f"word_{word}"), "w")
        return b.aes_last(spread, b.zero("zeros"), "SubWord")

    def sums(self, key: VReg, added: VReg) -> VReg:
        """Return the prefix sums of four words, each plus `added`."""
        b = self.b
        twice = b.xor(key, b.shl_bytes(key, 4), "w_i + w_(i-1)")
        all_four = b.xor(twice, b.shl_bytes(twice, 8), "w_i + … + w_(i-3)")
        return b.xor(all_four, added, "the next words")


def _keys_128(b: Builder, schedule: _Schedule, key: VReg) -> Iterator[VReg]:
    k = b.load(Mem(base=key), "k_0")
    yield k
    for _ in range(10):
        k = schedule.sums(k, schedule.sub_rot(k, 3))
        yield k


def _keys_192(b: Builder, schedule: _Schedule, key: VReg) -> Iterator[VReg]:
    """A step makes six words: four in A, two in the low half of B. Two steps make three round
    keys.
    """
    A = b.load(Mem(base=key), "k_0")
    B = b.shr_bytes(b.load(Mem(base=key, disp=8), "words 2 … 5"), 8, "words 4 and 5")
    yield A
    for step in range(1, 9):
        A = schedule.sums(A, schedule.sub_rot(B, 1))
        yield b.join_low(B, A, "two words of either step") if step % 2 else A
        if step < 8:
            last = b.shuffle_bytes(A, b.const(_spread(3, False), "word_3"), "w")
            B = b.xor(b.xor(B, b.shl_bytes(B, 4)), last, "the next two words")
        if step % 2:
            yield b.join_low(b.swap64(A), B, "the last four words")


def _keys_256(b: Builder, schedule: _Schedule, key: VReg) -> Iterator[VReg]:
    even, odd = b.load(Mem(base=key), "k_0"), b.load(Mem(base=key, disp=16), "k_1")
    yield even
    yield odd
    for step in range(7):
        even = schedule.sums(even, schedule.sub_rot(odd, 3))
        yield even
        if step < 6:
            odd = schedule.sums(odd, schedule.sub(even, 3))
            yield odd


_EXPANSIONS: dict[int, Callable[[Builder, _Schedule, VReg], Iterator[VReg]]] = {
    128: _keys_128,
    192: _keys_192,
    256: _keys_256,
}
"""By key size in bits: yields the round keys one after another."""


def round_keys(b: Builder, bits: int, key: VReg) -> Iterator[VReg]:
    """Record the round keys of the key of so many bits at an address, one after another."""
    return _EXPANSIONS[bits](b, _Schedule(b), key)


RCONS = b"".join((rcon(i)[0] * WORDS).to_bytes(16, "little") for i in range(1, 11))
"""Rcon of each step, in the first byte of every word."""

STEPS = {16: 10, 24: 8, 32: 7}
"""Steps of the key schedule by key size in bytes; each has an Rcon."""


def rolled_keys(
    b: Builder,
    key: VReg,
    length: VReg,
    store: Callable[[int, VReg], None],
    done: Callable[[int], None],
) -> None:
    """Record the round keys of a key of `length` bytes: 16, 24 or 32, as a loop for each size.

    `store` stores a round key so many keys behind the place, `done` moves the place behind keys.
    The last key is stored at the end.
    """
    schedule, last = _Schedule(b), b.register("the last round key")
    table = b.gpr("gpr_address", b.const_bytes(RCONS, "rcons"))
    i = b.gpr("gpr_const", 0)
    A = b.variable(b.load(Mem(base=key), "k_0"), "A")

    def ended(name: str, size: int) -> None:
        b.assign(i, b.gpr("gpr_add", i, 16 * (2 if size == 24 else 1)))
        b.branch("below", i, 16 * STEPS[size], name)
        b.assign(last, A)

    def step(key: VReg, word: int, ahead: int = 0) -> VReg:
        place = Mem(base=table, index=i, disp=16 * ahead, align=16)
        return schedule.sub_rot(key, word, place)

    b.branch("equal", length, 24, "middle")
    b.branch("not_below", length, 32, "longest")
    with b.loop("shortest"):
        store(0, A)
        done(1)
        b.assign(A, schedule.sums(A, step(A, 3)))
        ended("shortest", 16)
    b.emit("jump", Label("last"))
    b.label("middle")
    B = b.shr_bytes(b.load(Mem(base=key, disp=8), "words 2 … 5"), 8, "words 4 and 5")
    B = b.variable(B, "B")

    def next_two() -> None:
        spread = b.shuffle_bytes(A, b.const(_spread(3, False), "word_3"), "w")
        b.assign(B, b.xor(b.xor(B, b.shl_bytes(B, 4)), spread, "the next two words"))

    with b.loop("two_steps"):
        store(0, A)
        b.assign(A, schedule.sums(A, step(B, 1)))
        store(1, b.join_low(B, A, "two words of either step"))
        next_two()
        store(2, b.join_low(b.swap64(A), B, "the last four words"))
        b.assign(A, schedule.sums(A, step(B, 1, 1)))
        next_two()
        done(3)
        ended("two_steps", 24)
    b.emit("jump", Label("last"))
    b.label("longest")
    odd = b.variable(b.load(Mem(base=key, disp=16), "k_1"), "odd")
    with b.loop("even_and_odd"):
        store(0, A)
        store(1, odd)
        done(2)
        b.assign(A, schedule.sums(A, step(odd, 3)))
        b.assign(odd, schedule.sums(odd, schedule.sub(A, 3)))
        ended("even_and_odd", 32)
    b.label("last")
    store(0, last)
