"""Values of AES-GCM: those of GHASH, round keys, and the values of the S-box."""

from ghashgen.algebra.ops.forms import Form, variable
from ghashgen.verify.core.kinds import NUMBER_LETTER
from ghashgen.verify.core.words import LETTER as SUM_LETTER
from ghashgen.verify.meaning.algebra import Algebra
from ghashgen.verify.meaning.cipher import BOX_LETTER

ROUND_KEY = "key"
"""The kind of a table entry that is a round key."""

IV, COUNTER = "I", "N"
"""The variables of the first 96 bits of the counter block, and of its last 32 as a number."""

TEXT = "T"
"""The letter of the variables of blocks to encrypt."""

NONCE, AAD = "V", "D"
"""The letters of the variables of blocks of an IV, and of AAD: after "B", as forms need them."""

MASK, LENGTHS = "M", "L"
"""The variables of E_K(J_0), and of the length block."""

RIGHT, GIVEN = "O", "G"
"""The variables of a message's tag, and of the received one."""

ROUND_KEY_LETTER, KEY_LETTER = "K", "U"
"""The letters of the variables that are round keys K0, K1, …, and 16 bytes of a key: U1, U2."""

WORDS = {
    ROUND_KEY_LETTER: "round key {}",
    KEY_LETTER: "the key",
    BOX_LETTER: "a value of the S-box",
    IV: "the first 96 bits of the counter block",
    COUNTER: "the counter",
    SUM_LETTER: "the counter",
    NONCE: "block {} of the IV",
    AAD: "block {} of the AAD",
    MASK: "E_K(J_0)",
    LENGTHS: "the block of lengths",
    RIGHT: "the right tag",
    GIVEN: "the tag that was given",
    NUMBER_LETTER: "the lengths",
    TEXT: "block {} of the text",
}
"""What messages call them."""


class GcmAlgebra(Algebra):
    """Forms of table entries: each round key is 128 bits of its own, in memory order."""

    def _define(self, kind: str, power: int) -> Form:
        if kind == ROUND_KEY:
            return variable(f"{ROUND_KEY_LETTER}{power}")
        return super()._define(kind, power)
