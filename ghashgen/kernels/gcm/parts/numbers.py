"""States of whole registers from a register of numbers, of which each word is one block's.

A state is IV || number with k_0 added. All states have the same first 96 bits. One shuffle moves a
word of `numbers` to the end of every lane, its bytes turned, and one addition makes it a state. So
a state takes two operations, and one more for every fourth.
"""

from ghashgen.ir.builder import Builder, Value
from ghashgen.ir.program import VReg
from ghashgen.kernels.gcm.parts.text import Text

WORD = 4
"""Bytes of a number, and words of a lane."""

NOTHING = b"\x80"
"""The order of a byte shuffle that makes a zero."""

IV_TURNED = bytes(range(15, WORD - 1, -1)) + NOTHING * WORD
"""Of a counter with its bytes turned: the IV in memory order, and zeros."""


def _order(b: Builder, data: bytes, name: str) -> Value:
    return b.const(int.from_bytes(data, "little"), name)


class Numbers:
    """The numbers of the registers to come, from the counters of a text."""

    def __init__(self, text: Text) -> None:
        self.text, self.b, self.lanes = text, text.b, text.kernel.lane_count
        b, following = self.b, text.counters.next
        iv = b.shuffle_bytes(following, _order(b, IV_TURNED, "iv_turned"), "IV")
        self.head = b.variable(b.xor(iv, text.keys.key(0, self.lanes), "+ k_0"), "IV + k_0")
        first = b.shuffle_bytes(following, _order(b, bytes(range(WORD)) * WORD, "first_word"))
        ahead = b"".join((w * self.lanes).to_bytes(WORD, "little") for w in range(WORD))
        later = _order(b, ahead, "word_numbers")
        self.numbers = b.variable(b.add32(first, later, "word w is w registers ahead"), "numbers")

    def states(self, first: int, end: int) -> list[VReg]:
        """Record the states of a group's registers from `first` on, and step over them."""
        b, out = self.b, list[VReg]()
        for i in range(first, end):
            word = i % WORD
            order = NOTHING * 12 + bytes(range(WORD * word + 3, WORD * word - 1, -1))
            number = b.shuffle_bytes(self.numbers, _order(b, order, f"number_{word}"), "number")
            out.append(b.variable(b.xor(number, self.head, "IV || number, + k_0"), "state"))
            if word == WORD - 1 or i == self.text.kernel.registers - 1:
                self._step((word + 1) * self.lanes)
        return out

    def _step(self, blocks: int) -> None:
        b = self.b
        step = _order(b, blocks.to_bytes(WORD, "little") * WORD, f"words_{blocks}")
        b.assign(self.numbers, b.add32(self.numbers, step, "the next numbers"))
