"""GHASH: Algorithm 1 against GF(2^128), the hashes of the GCM specification, padding, faults."""

import random

import pytest

from ghashgen.algebra.field import gf128, powers
from ghashgen.algebra.field import ghash as spec
from ghashgen.algebra.field.bitorder import block_from_element, element_from_block
from ghashgen.algebra.field.gcm import length_block
from ghashgen.algebra.field.ghash import ghash, ghash_padded, multiply_blocks, pad16

H0 = bytes.fromhex("66e94bd4ef8a2c3b884cfa59ca342b2e")
C2 = bytes.fromhex("0388dace60b6a392f328c2b971b2fe78")
H3 = bytes.fromhex("b83b533708bf535d0aa6e52980d53b78")
A4 = bytes.fromhex("feedfacedeadbeeffeedfacedeadbeefabaddad2")
C3 = bytes.fromhex(
    "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e"
    "21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091473f5985"
)

# McGrew and Viega, "The Galois/Counter Mode of Operation (GCM)", appendix B: H, A, C, GHASH.
KNOWN_HASHES = {
    "case 1": (H0, b"", b"", "00000000000000000000000000000000"),
    "case 2": (H0, b"", C2, "f38cbb1ad69223dcc3457ae5b6b0f885"),
    "case 3": (H3, b"", C3, "7f1b32b81b820d02614f8895ac1d4eac"),
    "case 4": (H3, A4, C3[:60], "698e57f70e6ecc7fd9463b7260a9ae5f"),
}

BLOCKS = [random.Random(seed).randbytes(16) for seed in range(40)]


def gcm_hash(h: bytes, a: bytes, c: bytes) -> str:
    return ghash(h, pad16(a) + pad16(c) + length_block(len(a), len(c))).hex()


@pytest.mark.parametrize("case", KNOWN_HASHES)
def test_known_hashes(case: str) -> None:
    h, a, c, expected = KNOWN_HASHES[case]
    assert gcm_hash(h, a, c) == expected


def test_known_hash_notices_any_wrong_bit_of_r(monkeypatch: pytest.MonkeyPatch) -> None:
    h, a, c, expected = KNOWN_HASHES["case 2"]
    right = spec.R
    for bit in range(128):
        monkeypatch.setattr(spec, "R", right ^ (1 << bit))
        assert gcm_hash(h, a, c) != expected


def test_algorithm_1_is_the_field_product() -> None:
    edges = [bytes(16), b"\x80" + bytes(15), bytes(15) + b"\x01", b"\xff" * 16]
    for x in (*BLOCKS[:20], *edges):
        for y in (*BLOCKS[20:24], *edges):
            product = gf128.mul(element_from_block(x), element_from_block(y))
            assert multiply_blocks(x, y) == block_from_element(product)


def test_ghash_is_the_sum_of_blocks_times_falling_powers_of_h() -> None:
    h = element_from_block(H0)
    for n in range(1, 6):
        blocks = BLOCKS[:n]
        total = 0
        for i, block in enumerate(blocks):
            total ^= gf128.mul(element_from_block(block), powers.power(h, n - i))
        assert ghash(H0, b"".join(blocks)) == block_from_element(total)


def test_ghash_of_nothing_is_the_zero_block() -> None:
    assert ghash(H0, b"") == bytes(16)


@pytest.mark.parametrize("length", range(50))
def test_pad16_completes_the_last_block(length: int) -> None:
    data = b"\xff" * length
    padded = pad16(data)
    assert len(padded) % 16 == 0
    assert 0 <= len(padded) - length < 16
    assert padded == data + bytes(len(padded) - length)


@pytest.mark.parametrize("length", range(50))
def test_ghash_padded_continues_and_pads(length: int) -> None:
    data = random.Random(length).randbytes(length)
    before = b"".join(BLOCKS[:3])
    assert ghash_padded(H3, ghash(H3, before), data) == ghash(H3, before + pad16(data))
    assert ghash_padded(H3, bytes(16), data) == ghash(H3, pad16(data))


def test_ghash_padded_without_data_leaves_the_state() -> None:
    assert ghash_padded(H3, BLOCKS[0], b"") == BLOCKS[0]


def test_refusals() -> None:
    for length in (1, 15, 17):
        with pytest.raises(ValueError, match="whole blocks"):
            ghash(H0, bytes(length))
    for bad in (b"", bytes(15), bytes(17)):
        with pytest.raises(ValueError, match="16 bytes"):
            ghash(bad, b"")
        for x, y in ((bad, H0), (H0, bad)):
            with pytest.raises(ValueError, match="16 bytes"):
                multiply_blocks(x, y)
            with pytest.raises(ValueError, match="16 bytes"):
                ghash_padded(x, y, b"")
    with pytest.raises(ValueError, match="no sum"):
        spec.xor_blocks(H0, b"")
