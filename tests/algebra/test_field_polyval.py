"""POLYVAL: the vectors of RFC 8452, the bridge to GHASH, and AES-GCM-SIV of pyca/cryptography."""

import random
from collections.abc import Callable

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCMSIV
from helpers.irreducible import is_irreducible

from ghashgen.algebra.field import gf2, gf128
from ghashgen.algebra.field import polyval as spec
from ghashgen.algebra.field.bitorder import byte_reverse, xor_blocks
from ghashgen.algebra.field.ghash import ghash, pad16
from ghashgen.algebra.field.polyval import dot, mulX_GHASH, polyval

# RFC 8452, section 7 (a, b, dot) and appendix A (H, X_1, X_2 and their hashes).
A = bytes.fromhex("66e94bd4ef8a2c3b884cfa59ca342b2e")
B = bytes.fromhex("ff000000000000000000000000000000")
DOT = bytes.fromhex("ebe563401e7e91ea3ad6426b8140c394")
H = bytes.fromhex("25629347589242761d31f826ba4b757b")
X1_X2 = bytes.fromhex("4f4f95668c83dfb6401762bb2d01a262d1a24ddd2721d006bbe45f20d3c9f362")
POLYVAL = bytes.fromhex("f7a3b47b846119fae5b7866cf5e5b77e")
GHASH = bytes.fromhex("bd9b3997046731fb96251b91f9c99d7a")


def test_dot_of_section_7() -> None:
    assert dot(A, B) == DOT


def test_hashes_of_appendix_a() -> None:
    assert polyval(H, X1_X2) == POLYVAL
    assert ghash(H, X1_X2) == GHASH


def polyval_from_ghash(h: bytes, data: bytes) -> bytes:
    """ByteReverse(GHASH(mulX_GHASH(ByteReverse(H)), ByteReverse(X_1), …)) (appendix A)."""
    blocks = [byte_reverse(data[at : at + 16]) for at in range(0, len(data), 16)]
    return byte_reverse(ghash(mulX_GHASH(byte_reverse(h)), b"".join(blocks)))


def test_the_bridge_of_appendix_a() -> None:
    assert polyval_from_ghash(H, X1_X2) == POLYVAL
    assert mulX_GHASH(byte_reverse(H)).hex() == "dcbaa5dd137c188ebb21492c23c9b112"


@pytest.mark.parametrize(
    ("block", "product"),
    [
        ("01000000000000000000000000000000", "00800000000000000000000000000000"),
        ("9c98c04df9387ded828175a92ba652d8", "4e4c6026fc9c3ef6c140bad495d3296c"),
    ],
)
def test_mulx_of_appendix_a(block: str, product: str) -> None:
    assert mulX_GHASH(bytes.fromhex(block)).hex() == product


@pytest.mark.parametrize("blocks", range(6))
def test_the_bridge_agrees(blocks: int) -> None:
    rng = random.Random(blocks)
    h, data = rng.randbytes(16), rng.randbytes(16 * blocks)
    assert polyval_from_ghash(h, data) == polyval(h, data)


def test_constants_are_what_they_claim() -> None:
    # The reciprocal of P, hence a field as well; and x^-128 undoes x^128.
    assert gf2.bit_reflect(gf128.P, 129) == spec.POLYVAL_P
    assert is_irreducible(spec.POLYVAL_P)
    assert gf2.mod(spec.X_TO_MINUS_128 << 128, spec.POLYVAL_P) == 1


@pytest.mark.parametrize("constant", ["POLYVAL_P", "X_TO_MINUS_128"])
def test_known_answers_notice_any_wrong_bit_of_a_constant(
    constant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = getattr(spec, constant)
    for bit in range(128):
        monkeypatch.setattr(spec, constant, right ^ (1 << bit))
        assert dot(A, B) != DOT
        assert polyval(H, X1_X2) != POLYVAL


def test_bridge_notices_a_wrong_field_polynomial(monkeypatch: pytest.MonkeyPatch) -> None:
    # x^127, whose product with x must be reduced.
    odd = bytes(15) + b"\x01"
    right = mulX_GHASH(odd)
    assert right.hex() == "e1" + "00" * 15
    for bit in range(8):
        with monkeypatch.context() as patch:
            patch.setattr(gf128, "P", gf128.P ^ (1 << bit))
            assert mulX_GHASH(odd) != right


def aes(key: bytes) -> Callable[[bytes], bytes]:
    return Cipher(algorithms.AES(key), modes.ECB()).encryptor().update


def gcm_siv_tag(key: bytes, nonce: bytes, plaintext: bytes, aad: bytes) -> bytes:
    """The tag of RFC 8452, section 4, in terms of POLYVAL."""
    derive = aes(key)
    halves = [
        derive(i.to_bytes(4, "little") + nonce)[:8] for i in range(4 if len(key) == 16 else 6)
    ]
    authentication_key, encryption_key = b"".join(halves[:2]), b"".join(halves[2:])
    lengths = (8 * len(aad)).to_bytes(8, "little") + (8 * len(plaintext)).to_bytes(8, "little")
    s = polyval(authentication_key, pad16(aad) + pad16(plaintext) + lengths)
    s = xor_blocks(s, nonce + bytes(4))
    return aes(encryption_key)(s[:15] + bytes([s[15] & 0x7F]))


@pytest.mark.parametrize("key_bytes", [16, 32])
@pytest.mark.parametrize("length", [1, 15, 16, 17, 64, 100])
def test_polyval_gives_the_tags_of_pyca_aes_gcm_siv(key_bytes: int, length: int) -> None:
    rng = random.Random(1000 * key_bytes + length)
    key, nonce = rng.randbytes(key_bytes), rng.randbytes(12)
    plaintext, aad = rng.randbytes(length), rng.randbytes(length // 2)
    sealed = AESGCMSIV(key).encrypt(nonce, plaintext, aad)
    assert sealed[-16:] == gcm_siv_tag(key, nonce, plaintext, aad)


def test_refusals() -> None:
    for length in (1, 15, 17):
        with pytest.raises(ValueError, match="whole blocks"):
            polyval(H, bytes(length))
        with pytest.raises(ValueError, match="16 bytes"):
            polyval(bytes(length), b"")
        for unary in (byte_reverse, mulX_GHASH):
            with pytest.raises(ValueError, match="16 bytes"):
                unary(bytes(length))
        with pytest.raises(ValueError, match="16 bytes"):
            dot(bytes(length), A)
        with pytest.raises(ValueError, match="16 bytes"):
            dot(A, bytes(length))
