"""FIPS 197 over an opaque S-box: with its values put in, it is FIPS 197; other rounds differ."""

import itertools
import random
from collections.abc import Sequence

import pytest

from ghashgen.algebra.field import aes
from ghashgen.check.attack.valued import ValuedTerms
from ghashgen.verify.core.term import Lane
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.meaning import cipher
from ghashgen.verify.x86_64.rows.aes import aesenc, aesenclast, aeskeygenassist

SIZES = (16, 24, 32)


def pool() -> Terms:
    return Terms(lambda name, index: pytest.fail("no table"), kinds=(cipher.boxes().kind,))


def number(data: bytes) -> int:
    return int.from_bytes(data.ljust(16, b"\0"), "little")


def key_lanes(terms: Terms, size: int) -> Sequence[Lane]:
    """The key as two lanes; a key of 24 bytes leaves half a lane that nobody may read."""
    lanes = [terms.variable("U1"), terms.variable("U2")]
    return lanes[: -(-size // 16)]


@pytest.mark.parametrize("size", SIZES)
def test_with_the_values_of_the_s_box_it_is_the_standard(size: int) -> None:
    rng = random.Random(size)
    terms = ValuedTerms()
    keys = cipher.expanded(terms, key_lanes(terms, size), size)
    assert len(keys) == aes.ROUNDS[size] + 1
    sealed = cipher.encrypted(terms, terms.variable("C1"), keys)
    subkey = cipher.encrypted(terms, 0, keys)
    for _ in range(4):
        key, block = rng.randbytes(size), rng.randbytes(16)
        values = {"U1": number(key[:16]), "U2": number(key[16:]), "C1": number(block)}
        wanted = aes.key_expansion(key)
        assert [terms.value(k, values) for k in keys] == list(map(number, wanted))
        assert terms.value(sealed, values) == number(aes.cipher(key, block))
        assert terms.value(subkey, values) == number(aes.cipher(key, bytes(16)))


def test_the_rows_compute_it() -> None:
    terms = pool()
    keys: list[Lane] = [terms.variable(f"K{i}") for i in range(11)]
    state = terms.xor(terms.variable("C1"), keys[0])
    for key in keys[1:-1]:
        state = aesenc(terms, state, key, 0)
    state = aesenclast(terms, state, keys[-1], 0)
    assert terms.form(state) == terms.form(cipher.encrypted(terms, terms.variable("C1"), keys))


def test_the_order_of_additions_does_not_matter() -> None:
    """The last round key added to the text before, the first to the constant part of a counter."""
    terms = pool()
    keys: list[Lane] = [terms.variable(f"K{i}") for i in range(11)]
    text = terms.variable("C2")
    wanted = terms.xor(cipher.encrypted(terms, 7, keys), text)
    state = terms.xor(keys[0], 7)
    for key in keys[1:-1]:
        state = aesenc(terms, state, key, 0)
    got = aesenclast(terms, state, terms.xor(text, keys[-1]), 0)
    assert terms.form(got) == terms.form(wanted)


def test_other_rounds_are_other_forms() -> None:
    terms = pool()
    keys: list[Lane] = [terms.variable(f"K{i}") for i in range(11)]
    block = terms.variable("C1")
    forms = [terms.form(cipher.encrypted(terms, block, keys))]
    forms.append(terms.form(cipher.encrypted(terms, block, [*keys[:5], *keys[6:]])))
    swapped = [*keys[:3], keys[4], keys[3], *keys[5:]]
    forms.append(terms.form(cipher.encrypted(terms, block, swapped)))
    forms.append(terms.form(cipher.encrypted(terms, terms.xor(block, 1), keys)))
    state = terms.xor(block, keys[0])
    for number_, key in enumerate(keys[1:], 1):
        row = aesenclast if number_ >= 9 else aesenc
        state = row(terms, state, key, 0)
    forms.append(terms.form(state))
    assert all(a != b for a, b in itertools.combinations(forms, 2))


@pytest.mark.parametrize("size", SIZES)
def test_the_key_expansion_is_that_of_the_instruction(size: int) -> None:
    """RotWord and SubWord by AESKEYGENASSIST, in the four words of which two are made."""
    terms = pool()
    keys = cipher.expanded(terms, key_lanes(terms, size), size)
    words = [terms.bytes(k, (*range(4 * j, 4 * j + 4), *[-1] * 12)) for k in keys for j in range(4)]
    Nk = size // 4
    for i in range(Nk, len(words)):
        if i % Nk not in (0, 4 if Nk > 6 else 0):
            continue
        source = terms.moves(words[i - 1], ((96, 0xFFFFFFFF << 96),))
        imm = aes.rcon(i // Nk)[0] if i % Nk == 0 else 0
        found = aeskeygenassist(terms, source, imm)
        at = 12 if i % Nk == 0 else 8
        temp = terms.bytes(found, (*range(at, at + 4), *[-1] * 12))
        assert terms.form(terms.xor(temp, words[i - Nk])) == terms.form(words[i])
