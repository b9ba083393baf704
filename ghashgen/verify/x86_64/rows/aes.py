"""Rows for AES-NI and VAES: what a round of FIPS 197 does to a 128-bit lane.

The S-box is the statement's kind of term `SBOX`; the rest of a round is linear. The manual defines
the rounds by those of FIPS 197, and so do the rows (`ghashgen.algebra.field.aes_round`). Byte k of
a lane, from the lowest, is byte k of the state.
"""

from functools import cache

from ghashgen.algebra.field.aes_round import mix_columns, shift_rows
from ghashgen.algebra.ops.forms import Moves
from ghashgen.verify.core.moves import moves_of
from ghashgen.verify.core.opaque import BYTES, SBOX
from ghashgen.verify.core.term import Lane
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.x86_64.machine import Rows
from ghashgen.verify.x86_64.rows.vector import lanes

ASSIST = (4, 5, 6, 7, 5, 6, 7, 4, 12, 13, 14, 15, 13, 14, 15, 12)
"""AESKEYGENASSIST: each byte's source, for SubWord and RotWord(SubWord) of words 1 and 3."""


@cache
def after_sub_bytes(mixed: bool) -> Moves:
    """Return ShiftRows and, if `mixed`, MixColumns as one linear map of a lane."""

    def rest(value: int) -> int:
        state = shift_rows(value.to_bytes(BYTES, "little"))
        return int.from_bytes(mix_columns(state) if mixed else state, "little")

    return moves_of(rest)


def aesenc(t: Terms, a: Lane, b: Lane, imm: int) -> Lane:
    """AESENC: MixColumns(ShiftRows(SubBytes(a))) + b."""
    return t.xor(t.moves(t.apply(SBOX, a), after_sub_bytes(True)), b)


def aesenclast(t: Terms, a: Lane, b: Lane, imm: int) -> Lane:
    """AESENCLAST: ShiftRows(SubBytes(a)) + b."""
    return t.xor(t.moves(t.apply(SBOX, a), after_sub_bytes(False)), b)


def aeskeygenassist(t: Terms, a: Lane, imm: int) -> Lane:
    """AESKEYGENASSIST: the immediate is added to the rotated words."""
    return t.xor(t.bytes(t.apply(SBOX, a), ASSIST), imm << 32 | imm << 96)


ROWS: Rows = {
    "AESENC": lanes(aesenc, 2),
    "AESENCLAST": lanes(aesenclast, 2),
    "AESKEYGENASSIST": lanes(aeskeygenassist, 1),
}
