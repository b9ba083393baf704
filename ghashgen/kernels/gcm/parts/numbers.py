"""States of whole registers from a register of numbers, of which each word is one block's.

A state is IV || number with k_0 added. All states have the same first 96 bits. So the numbers of
four registers are turned, and get their word of k_0, at once. A shuffle with a mask then puts one
of them at the end of each lane of a copy of an earlier state.
"""

from collections.abc import Sequence

from ghashgen.ir.builder import Builder, Value
from ghashgen.ir.program import VReg
from ghashgen.kernels.gcm.parts.text import Text
from ghashgen.kernels.memory import BYTE_SWAP

WORD = 4
"""Bytes of a number, and words of a lane."""


class Numbers:
    """The numbers of the registers to come, from the counters of a text."""

    def __init__(self, text: Text) -> None:
        self.text, self.b, self.lanes = text, text.b, text.kernel.lane_count
        b, key = self.b, text.keys.key(0, self.lanes)
        following = text.counters.next
        self.swap = b.const(BYTE_SWAP, "byte_swap")
        # Of the register before: so it is as far behind in the first turn as in later ones.
        self.last = b.variable(b.xor(text.counters.before(), key, "+ k_0"), "a state")
        self.key = in_every_word(b, key, WORD - 1)
        self.mask = b.mask("mask", b.gpr("gpr_const", 0x8888), note="the last word of each lane")
        ahead = _words(b, [w * self.lanes for w in range(WORD)], "word_numbers")
        first = b.add32(in_every_word(b, following, 0), ahead, "word w is w registers ahead")
        self.numbers = b.variable(first, "numbers")
        self.turned = self.numbers

    def put(self, states: Sequence[VReg], first: int = 0) -> None:
        """Record the states of a group's registers from `first` on, and step over them."""
        b, registers = self.b, self.text.kernel.registers
        for i, state in enumerate(states, first):
            word = i % WORD
            if not word:
                turned = b.shuffle_bytes(self.numbers, self.swap, "as in memory")
                self.turned = b.xor(turned, self.key, "+ k_0")
            b.emit("merge_words", state, self.mask, self.last, self.turned, 0x55 * (3 - word))
            if word == WORD - 1 or i == registers - 1:
                blocks = (word + 1) * self.lanes
                step = _words(b, [blocks] * WORD, f"words_{blocks}")
                b.assign(self.numbers, b.add32(self.numbers, step, "the next numbers"))
            if i == registers - 1:
                b.assign(self.last, state)

    def resume(self) -> None:
        """Let the counters of the text go on behind the registers taken."""
        state = self.b.register("state", self.lanes)
        self.put([state])
        k_0 = self.text.keys.key(0, self.lanes)
        self.text.counters.resume(self.b.xor(state, k_0, "minus k_0"))


def in_every_word(b: Builder, register: VReg, word: int) -> VReg:
    """Record a word of each lane in every word of the lane."""
    out = b.register("a word", b.lanes_of(register))
    b.emit("spread_word", out, register, 0x55 * word)
    return out


def _words(b: Builder, words: list[int], name: str) -> Value:
    return b.const(sum(word << 32 * w for w, word in enumerate(words)), name)
