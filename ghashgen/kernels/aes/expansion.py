"""The key schedule of AES (FIPS 197, section 5.2).

SubWord is AES's last round on a register that holds one word four times. Its columns are alike, so
ShiftRows moves nothing, and adding its round key adds Rcon. The words of a step are prefix sums of
the previous step's words, each plus SubWord's; two shifted additions compute them. For 128 and 256
bits (`_Ahead`) a step waits only for SubWord; otherwise RotWord is part of the shuffle that spreads
the word.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ghashgen.algebra.field.aes_round import rcon
from ghashgen.ir.builder import Builder, Value
from ghashgen.ir.program import Label, Mem, VReg

WORDS = 0x00000001_00000001_00000001_00000001
"""The number 1 in the first byte of every word: Rcon of the first step."""


def _spread(word: int, by: int) -> int:
    """Return the byte permutation that copies a word to all places, rotated by so many bytes."""
    return int.from_bytes(bytes(4 * word + (i + by) % 4 for i in range(4)) * 4, "little")


def key_steps(last: int) -> bytes:
    """Return Rcon of each step, rotated as its X; the words of X_-3 to X_0; how to rotate back."""
    values = (
        *((rcon(i)[0] * WORDS) << 8 * ((i - last) % 4) for i in range(1, 11)),
        *(_spread(i, 3 - i + last) for i in range(4)),
        *(_spread(0, i) for i in range(1, 4)),
    )
    return b"".join(value.to_bytes(16, "little") for value in values)


@dataclass
class _Schedule:
    """The steps of the key schedule."""

    b: Builder
    rcon: Value | None = None

    def _next_rcon(self) -> Value:
        """Return Rcon of the next step: x^(step - 1) in the first byte of every word."""
        b, last = self.b, self.rcon
        self.rcon = b.const(WORDS, "rcon_1") if last is None else b.shl64(last, 1, "Rcon")
        return self.rcon

    def sub_rot(self, key: VReg, word: int, rcon: Value | None = None) -> VReg:
        """Return SubWord(RotWord(w)) + Rcon in every word."""
        b, rcon = self.b, rcon or self._next_rcon()
        mask = b.const(_spread(word, 1), f"rotated_word_{word}")
        return b.aes_last(b.shuffle_bytes(key, mask, "RotWord"), rcon, "SubWord + Rcon")

    def sub(self, key: VReg, word: int) -> VReg:
        """Return SubWord(w) in every word."""
        b = self.b
        spread = b.shuffle_bytes(key, b.const(_spread(word, 0), f"word_{word}"), "w")
        return b.aes_last(spread, b.zero("zeros"), "SubWord")

    def sums(self, key: VReg, added: VReg) -> VReg:
        """Return the prefix sums of four words, each plus `added`."""
        b = self.b
        twice = b.xor(key, b.shl_bytes(key, 4), "w_i + w_(i-1)")
        all_four = b.xor(twice, b.shl_bytes(twice, 8), "w_i + … + w_(i-3)")
        return b.xor(all_four, added, "the next words")


class _Ahead:
    """Keys whose steps wait only for SubWord: X_i is the last word of key i in every column.

    Summing up the words of a key four times gives it back, as (1 + x)^4 = 1 + x^4; so the last word
    is that of four steps before, plus what a step adds. X_i stays rotated by i - `last` bytes, as
    X_(i-4) is: RotWord costs nothing, and the last X is as it should be. Summing up twice adds two
    words to the next two.
    """

    def __init__(self, b: Builder, key: VReg, last: int) -> None:
        """Record X_-3 to X_0 of the first key; `last` is the number of the last step."""
        self.b, self.key, self.step, self.last = b, key, 0, last
        self.before: tuple[VReg, VReg] | None = None
        self.table = b.gpr("gpr_address", b.const_bytes(key_steps(last), "key_steps"))
        twos = b.xor(key, b.shr_bytes(key, 4), "w_2 + w_3, third")
        all_four = b.xor(twos, b.shr_bytes(twos, 8), "w_0 + … + w_3, first")
        odd = b.xor(key, b.shr_bytes(key, 8), "w_1 + w_3, second")
        words = (all_four, odd, twos, key)
        self.X = [b.shuffle_bytes(x, self._at(10 + i), f"X_{i - 3}") for i, x in enumerate(words)]

    def _at(self, i: int) -> Mem:
        return Mem(base=self.table, disp=16 * i, align=16)

    def next(self, last: VReg, rotates: bool = True) -> VReg:
        """Record X_i = SubWord(last) + X_(i-4), and Rcon if the step `rotates`; return key i."""
        b, old = self.b, self.X.pop(0)
        self.step += 1
        if rotates and self.step in (1, self.last):
            # X_-3 is late, and nothing waits for the last X.
            added = b.aes_last(last, self._at(self.step - 1), "SubWord + Rcon")
            if self.step < self.last:
                self.X.append(b.xor(added, old, "X_1"))
        else:
            round_key = b.xor(old, self._at(self.step - 1), "+ Rcon") if rotates else old
            self.X.append(b.aes_last(last, round_key, f"X_{self.step}"))
            added = b.xor(self.X[-1], old, "SubWord + Rcon")
        if back := (self.step - self.last) % 4:
            added = b.shuffle_bytes(added, self._at(13 + back), "rotated back")
        if self.before is None:
            twice = b.xor(self.key, b.shl_bytes(self.key, 4), "w_i + w_(i-1)")
            sums = b.xor(twice, b.shl_bytes(twice, 8), "w_i + … + w_(i-3)")
        else:
            key, earlier = self.before
            twice = b.xor(key, b.shl_bytes(key, 8), "w_i + w_(i-2)")
            sums = b.xor(twice, b.shr64(earlier, 32, "to words 0 and 2"))
        self.before = self.key, added
        self.key = b.xor(sums, added, "the next words")
        return self.key


def _keys_128(b: Builder, schedule: _Schedule, key: VReg) -> Iterator[VReg]:
    k = b.load(Mem(base=key), "k_0")
    yield k
    ahead = _Ahead(b, k, STEPS[16])
    for _ in range(STEPS[16]):
        yield ahead.next(ahead.X[-1])


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
            last = b.shuffle_bytes(A, b.const(_spread(3, 0), "word_3"), "w")
            B = b.xor(b.xor(B, b.shl_bytes(B, 4)), last, "the next two words")
        if step % 2:
            yield b.join_low(b.swap64(A), B, "the last four words")


def _keys_256(b: Builder, schedule: _Schedule, key: VReg) -> Iterator[VReg]:
    first = b.load(Mem(base=key), "k_0"), b.load(Mem(base=key, disp=16), "k_1")
    yield from first
    last = STEPS[32]
    even, odd = (_Ahead(b, k, last) for k in first)
    for step in range(1, last + 1):
        yield even.next(odd.X[-1])
        if step < last:
            yield odd.next(even.X[-1], rotates=False)


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
        spread = b.shuffle_bytes(A, b.const(_spread(3, 0), "word_3"), "w")
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
