"""AES against the examples of FIPS 197, appendices A to C, and pyca/cryptography."""

import itertools

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st

from ghashgen.algebra.field import aes

KEYS = {
    16: bytes.fromhex("2b7e151628aed2a6abf7158809cf4f3c"),
    24: bytes.fromhex("8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b"),
    32: bytes.fromhex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4"),
}
"""The keys of appendix A."""

SCHEDULES = {
    16: {4: "a0fafe17 88542cb1 23a33939 2a6c7605", 40: "d014f9a8 c9ee2589 e13f0cc8 b6630ca6"},
    24: {6: "fe0c91f7 2402f5a5 ec12068e 6c827f6b", 48: "e98ba06f 448c773c 8ecc7204 01002202"},
    32: {8: "9ba35411 8e6925af a51a8b5f 2067fcde", 56: "fe4890d1 e6188d0b 046df344 706c631e"},
}
"""Words of the expanded keys there, from the first that is computed and at the end."""

B = ("3243f6a8885a308d313198a2e0370734", "3925841d02dc09fbdc118597196a0b32")
"""Input and output of appendix B, under the first key of appendix A."""

C = {
    16: "69c4e0d86a7b0430d8cdb78070b4c55a",
    24: "dda97ca4864cdfe06eaf70a0ec0d7191",
    32: "8ea2b7ca516745bfeafc49904b496089",
}
"""What 00112233 … ccddeeff becomes in appendix C, under the keys 000102 …"""

keys = st.sampled_from((16, 24, 32)).flatmap(lambda n: st.binary(min_size=n, max_size=n))
blocks = st.binary(min_size=16, max_size=16)


def test_products_and_s_box_are_those_of_the_standard() -> None:
    assert aes.multiply(0x57, 0x83) == 0xC1
    assert [aes.multiply(0x57, 1 << k) for k in range(5)] == [0x57, 0xAE, 0x47, 0x8E, 0x07]
    for a in range(1, 256):
        assert aes.multiply(a, aes.inverse(a)) == 1
    assert aes.inverse(0) == 0
    # Figure 7: S(53) = ed; its first and last rows.
    assert aes.s_box()[0x53] == 0xED
    assert aes.s_box()[:16].hex() == "637c777bf26b6fc53001672bfed7ab76"
    assert aes.s_box()[-16:].hex() == "8ca1890dbfe6426841992d0fb054bb16"
    assert sorted(aes.s_box()) == list(range(256))


def test_round_one_is_that_of_appendix_b() -> None:
    start = bytes.fromhex("193de3bea0f4e22b9ac68d2ae9f84808")
    after_sub = aes.sub_bytes(start)
    assert after_sub.hex() == "d42711aee0bf98f1b8b45de51e415230"
    after_shift = aes.shift_rows(after_sub)
    assert after_shift.hex() == "d4bf5d30e0b452aeb84111f11e2798e5"
    assert aes.mix_columns(after_shift).hex() == "046681e5e0cb199a48f8d37a2806264c"


@pytest.mark.parametrize("size", [16, 24, 32])
def test_key_expansions_are_those_of_appendix_a(size: int) -> None:
    expanded = aes.key_expansion(KEYS[size])
    assert len(expanded) == aes.ROUNDS[size] + 1
    schedule = b"".join(expanded)
    assert schedule[:size] == KEYS[size]
    for first, words in SCHEDULES[size].items():
        assert schedule[4 * first : 4 * first + 16].hex() == words.replace(" ", "")


def test_the_example_of_appendix_b() -> None:
    plain, ciphered = map(bytes.fromhex, B)
    assert aes.cipher(KEYS[16], plain) == ciphered


@pytest.mark.parametrize("size", [16, 24, 32])
def test_the_examples_of_appendix_c(size: int) -> None:
    plain = bytes(0x11 * k for k in range(16))
    assert aes.cipher(bytes(range(size)), plain).hex() == C[size]


@given(keys, blocks)
def test_it_agrees_with_pyca(key: bytes, block: bytes) -> None:
    encryptor = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    assert aes.cipher(key, block) == encryptor.update(block)


@given(blocks, blocks)
def test_all_but_the_s_box_is_linear(a: bytes, b: bytes) -> None:
    both = bytes(x ^ y for x, y in zip(a, b, strict=True))
    for function in (aes.shift_rows, aes.mix_columns):
        parts = zip(function(a), function(b), strict=True)
        assert function(both) == bytes(x ^ y for x, y in parts)


def test_other_sizes_are_refused() -> None:
    for key, block in itertools.product((b"", bytes(15), bytes(20), bytes(33)), (bytes(16),)):
        with pytest.raises(ValueError, match="an AES key has 16, 24 or 32 bytes"):
            aes.cipher(key, block)
    with pytest.raises(ValueError, match="16"):
        aes.cipher(bytes(16), bytes(15))
