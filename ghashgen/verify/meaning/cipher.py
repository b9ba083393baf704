"""FIPS 197 over an uninterpreted S-box: the cipher and the key expansion, on lanes.

A lane is a state or a round key in memory order: byte k of the lane, from the lowest, is byte k of
the block. `terms` must have the kind `SBOX` (`boxes`).

    encrypted(terms, block, keys)   E_K(block) for round keys 0 … Nr
    expanded(terms, key)            these round keys, from the 4, 6 or 8 words of a key

Only SubBytes is not linear. So a value is E_K(block) exactly if their forms are equal
(`Terms.form`), however it was computed: round keys may have been added to something else before,
and rounds may be shared among blocks. Equal computations are one term, whose form is computed once
(2 ms for 14 rounds).

What holds for every S-box holds for that of FIPS 197. Comparison with a CPU shows that the rows
apply that one. Known answers, with the values of the S-box put in, show that this module follows
FIPS 197.
"""

from collections.abc import Callable, Sequence
from functools import cache

from ghashgen.algebra.field import aes_round as aes
from ghashgen.algebra.ops.forms import Moves
from ghashgen.verify.core.moves import moves_of
from ghashgen.verify.core.opaque import BYTES, SBOX, Bytewise
from ghashgen.verify.core.term import Lane
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.meaning.letters import BOX_LETTER

WORD = (1 << 8 * aes.WORD_BYTES) - 1
"""The bits of the first word of a lane."""


def boxes() -> Bytewise:
    """Return the S-box for a pool of terms; the pool must have its kind."""
    return Bytewise(SBOX, BOX_LETTER)


@cache
def _linear(step: Callable[[bytes], bytes]) -> Moves:
    """Return a step of a round, on 16 bytes, as a linear map of a lane."""
    return moves_of(lambda v: int.from_bytes(step(v.to_bytes(BYTES, "little")), "little"))


def _mixed(state: bytes) -> bytes:
    """ShiftRows, then MixColumns."""
    return aes.mix_columns(aes.shift_rows(state))


@cache
def _rotated() -> tuple[int, ...]:
    """Return each byte's source in a word after RotWord; nothing after the word."""
    return (*aes.rot_word(bytes(range(aes.WORD_BYTES))), *[-1] * (BYTES - aes.WORD_BYTES))


def encrypted(terms: Terms, block: Lane, keys: Sequence[Lane]) -> Lane:
    """Return the block under round keys 0 to Nr: CIPHER of FIPS 197, section 5.1."""
    state = terms.xor(block, keys[0])
    for number, key in enumerate(keys[1:], 1):
        state = terms.apply(SBOX, state)
        # One linear map, so that kernels that compute in this order build the same terms.
        state = terms.moves(state, _linear(_mixed if number < len(keys) - 1 else aes.shift_rows))
        state = terms.xor(state, key)
    return state


def expanded(terms: Terms, key: Sequence[Lane], key_bytes: int) -> list[Lane]:
    """Return round keys 0 to Nr: KEYEXPANSION of FIPS 197, section 5.2.

    The bytes of the lanes `key`, in order, begin with the key's `key_bytes`: 16, 24 or 32.
    """
    Nk = key_bytes // aes.WORD_BYTES
    in_lane = BYTES // aes.WORD_BYTES
    w: list[Lane] = []
    for i in range(Nk):
        at = aes.WORD_BYTES * (i % in_lane)
        sources = (*range(at, at + aes.WORD_BYTES), *[-1] * (BYTES - aes.WORD_BYTES))
        w.append(terms.bytes(key[i // in_lane], sources))
    for i in range(Nk, in_lane * (aes.ROUNDS[key_bytes] + 1)):
        temp = w[i - 1]
        if i % Nk == 0:
            rcon = int.from_bytes(aes.rcon(i // Nk), "little")
            temp = terms.xor(_sub_word(terms, terms.bytes(temp, _rotated())), rcon)
        elif Nk > 6 and i % Nk == 4:
            temp = _sub_word(terms, temp)
        w.append(terms.xor(w[i - Nk], temp))
    return [_joined(terms, w[i : i + in_lane]) for i in range(0, len(w), in_lane)]


def _sub_word(terms: Terms, word: Lane) -> Lane:
    """Return SubWord: the S-box of each byte of a word, alone in its lane."""
    return terms.keep(terms.apply(SBOX, word), WORD)


def _joined(terms: Terms, words: Sequence[Lane]) -> Lane:
    """Return the lane of consecutive words."""
    out: Lane = 0
    for k, word in enumerate(words):
        shift = 8 * aes.WORD_BYTES * k
        out = terms.xor(out, terms.moves(word, ((shift, WORD << shift),)))
    return out
