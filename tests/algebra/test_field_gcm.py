"""GCM against the GCM specification's test cases, the NIST CAVP vectors and pyca/cryptography."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import cryptography_vectors
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given, settings
from hypothesis import strategies as st

from ghashgen.algebra.field import gcm, gf128, powers
from ghashgen.algebra.field import ghash as ghash_spec
from ghashgen.algebra.field.bitorder import block_from_element, element_from_block
from ghashgen.algebra.field.counter import gctr, inc32
from ghashgen.algebra.field.gcm import gcm_decrypt, gcm_encrypt, j0, length_block


def aes(key: bytes) -> Callable[[bytes], bytes]:
    encryptor = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    return encryptor.update


@dataclass(frozen=True)
class Case:
    """One test case, in the letters of the standard."""

    K: bytes
    IV: bytes
    P: bytes
    A: bytes
    C: bytes
    T: bytes


def case(K: str, IV: str, P: str, A: str, C: str, T: str) -> Case:
    return Case(*(bytes.fromhex(value) for value in (K, IV, P, A, C, T)))


ZERO16 = "00" * 16
K128 = "feffe9928665731c6d6a8f9467308308"
K192 = K128 + K128[:16]
K256 = K128 + K128
IV12, IV8 = "cafebabefacedbaddecaf888", "cafebabefacedbad"
IV60 = (
    "9313225df88406e555909c5aff5269aa6a7a9538534f7da1e4c303d2a318a728"
    "c3c0c95156809539fcf0e2429a6b525416aedbf5a0de6a57a637b39b"
)
A20 = "feedfacedeadbeeffeedfacedeadbeefabaddad2"
P64 = (
    "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
    "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255"
)
P60 = P64[:120]
C64_128 = (
    "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e"
    "21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091473f5985"
)
C60_5 = (
    "61353b4c2806934a777ff51fa22a4755699b2a714fcdc6f83766e5f97b6c7423"
    "73806900e49f24b22b097544d4896b424989b5e1ebac0f07c23f4598"
)
C60_6 = (
    "8ce24998625615b603a033aca13fb894be9112a5c3a211a8ba262a3cca7e2ca7"
    "01e4a9a4fba43c90ccdcb281d48c7c6fd62875d2aca417034c34aee5"
)
C60_192 = (
    "3980ca0b3c00e841eb06fac4872a2757859e1ceaa6efd984628593b40ca1e19c"
    "7d773d00c144c525ac619d18c84a3f4718e2448b2fe324d9ccda2710"
)
C60_256 = (
    "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
    "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662"
)
C60_18 = (
    "5a8def2f0c9e53f1f75d7853659e2a20eeb2b22aafde6419a058ab4f6f746bf4"
    "0fc0c3b780f244452da3ebf1c5d82cdea2418997200ef82e44ae7e3f"
)

# McGrew and Viega, "The Galois/Counter Mode of Operation (GCM)", appendix B, by its numbers.
SPECIFICATION = {
    1: case(ZERO16, "00" * 12, "", "", "", "58e2fccefa7e3061367f1d57a4e7455a"),
    2: case(ZERO16, "00" * 12, ZERO16, "", "0388dace60b6a392f328c2b971b2fe78",
        "ab6e47d42cec13bdf53a67b21257bddf"),
    3: case(K128, IV12, P64, "", C64_128, "4d5c2af327cd64a62cf35abd2ba6fab4"),
    4: case(K128, IV12, P60, A20, C64_128[:120], "5bc94fbc3221a5db94fae95ae7121a47"),
    5: case(K128, IV8, P60, A20, C60_5, "3612d2e79e3b0785561be14aaca2fccb"),
    6: case(K128, IV60, P60, A20, C60_6, "619cc5aefffe0bfa462af43c1699d050"),
    7: case("00" * 24, "00" * 12, "", "", "", "cd33b28ac773f74ba00ed1f312572435"),
    8: case("00" * 24, "00" * 12, ZERO16, "", "98e7247c07f0fe411c267e4384b0f600",
        "2ff58d80033927ab8ef4d4587514f0fb"),
    10: case(K192, IV12, P60, A20, C60_192, "2519498e80f1478f37ba55bd6d27618c"),
    13: case("00" * 32, "00" * 12, "", "", "", "530f8afbc74536b9a963b4f1c4cb738b"),
    14: case("00" * 32, "00" * 12, ZERO16, "", "cea7403d4d606b6e074ec5d3baf39d18",
        "d0d1c8a799996bf0265b98b5d48ab919"),
    16: case(K256, IV12, P60, A20, C60_256, "76fc6ece0f4e1768cddf8853bb2d551b"),
    18: case(K256, IV60, P60, A20, C60_18, "a44a8266ee1c8eb0c8b5d4cf5ae9f19a"),
}  # fmt: skip


@pytest.mark.parametrize("number", SPECIFICATION)
def test_case_of_the_gcm_specification(number: int) -> None:
    v = SPECIFICATION[number]
    # The arbiter of the vector itself.
    assert AESGCM(v.K).encrypt(v.IV, v.P, v.A) == v.C + v.T
    assert gcm_encrypt(aes(v.K), v.IV, v.P, v.A) == (v.C, v.T)
    assert gcm_decrypt(aes(v.K), v.IV, v.C, v.A, v.T) == v.P


def test_known_tag_notices_any_wrong_bit_of_r(monkeypatch: pytest.MonkeyPatch) -> None:
    v = SPECIFICATION[4]
    right = ghash_spec.R
    for bit in range(128):
        monkeypatch.setattr(ghash_spec, "R", right ^ (1 << bit))
        ciphertext, tag = gcm_encrypt(aes(v.K), v.IV, v.P, v.A)
        assert ciphertext == v.C
        assert tag != v.T


FAULTS: dict[str, tuple[str, Callable[..., bytes]]] = {
    "counter stands still": ("inc32", lambda block: block),
    "counter leads the block": ("inc32", lambda block: bytes([(block[0] + 1) % 256]) + block[1:]),
    "lengths in bytes": ("length_block", lambda a, c: a.to_bytes(8, "big") + c.to_bytes(8, "big")),
    "lengths swapped": ("length_block", lambda a, c: length_block(c, a)),
    "padding absent": ("pad16", lambda data: data[: len(data) // 16 * 16]),
    "J_0 from the IV's first bytes": ("j0", lambda _h, iv: iv[:12].ljust(15, b"\0") + b"\1"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_known_tag_notices_a_fault_in_a_step(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    v = SPECIFICATION[6]
    name, wrong = FAULTS[fault]
    monkeypatch.setattr(gcm, name, wrong)
    assert gcm_encrypt(aes(v.K), v.IV, v.P, v.A) != (v.C, v.T)


@settings(derandomize=True, database=None, deadline=None, max_examples=60)
@given(
    key=st.sampled_from((16, 24, 32)).flatmap(lambda n: st.binary(min_size=n, max_size=n)),
    iv=st.one_of(st.binary(min_size=12, max_size=12), st.binary(min_size=8, max_size=128)),
    plaintext=st.binary(max_size=100),
    aad=st.binary(max_size=70),
)
def test_gcm_agrees_with_pyca(key: bytes, iv: bytes, plaintext: bytes, aad: bytes) -> None:
    ciphertext, tag = gcm_encrypt(aes(key), iv, plaintext, aad)
    assert ciphertext + tag == AESGCM(key).encrypt(iv, plaintext, aad)
    assert gcm_decrypt(aes(key), iv, ciphertext, aad, tag) == plaintext


@pytest.mark.parametrize("increments", [0, 1, 2, 3])
def test_counter_wraps_in_32_bits_as_in_pyca(increments: int) -> None:
    # An IV of one block gives J_0 = (IV•H ⊕ [128]_128)•H: solve for a J_0 about to wrap.
    key, data = bytes(range(16)), bytes(80)
    start = b"\xff" * 12 + (2**32 - 1 - increments).to_bytes(4, "big")
    h = element_from_block(aes(key)(bytes(16)))
    h_inverse = powers.inverse(h)
    lengths = element_from_block(length_block(0, 16))
    y1 = gf128.mul(element_from_block(start), h_inverse) ^ lengths
    iv = block_from_element(gf128.mul(y1, h_inverse))
    assert j0(block_from_element(h), iv) == start
    ciphertext, tag = gcm_encrypt(aes(key), iv, data, b"")
    assert ciphertext + tag == AESGCM(key).encrypt(iv, data, b"")


def cavp(name: str) -> Iterator[dict[str, str]]:
    """The first two records of each section of a CAVP response file."""
    with cryptography_vectors.open_vector_file(f"ciphers/AES/GCM/{name}", "r") as stream:
        text: str = stream.read()
    for record in text.split("\n\n"):
        fields = {}
        for line in record.splitlines():
            field, equals, value = line.partition("=")
            fields[field.strip()] = value.strip() if equals else "yes"
        if fields.get("Count") in ("0", "1"):
            yield fields


def field(record: dict[str, str], name: str) -> bytes:
    return bytes.fromhex(record[name])


@pytest.mark.parametrize("key_bits", [128, 192, 256])
def test_cavp_encryption(key_bits: int) -> None:
    # IVs of 1, 12 and 128 bytes, tags of every length: more than pyca's interface reaches.
    iv_sizes, tag_sizes = set(), set()
    for r in cavp(f"gcmEncryptExtIV{key_bits}.rsp"):
        tag = field(r, "Tag")
        sealed = gcm_encrypt(
            aes(field(r, "Key")), field(r, "IV"), field(r, "PT"), field(r, "AAD"), len(tag)
        )
        assert sealed == (field(r, "CT"), tag)
        iv_sizes.add(len(field(r, "IV")))
        tag_sizes.add(len(tag))
    assert iv_sizes == {1, 12, 128}
    assert tag_sizes == set(gcm.TAG_BYTES)


@pytest.mark.parametrize("key_bits", [128, 192, 256])
def test_cavp_decryption(key_bits: int) -> None:
    opened = failed = 0
    for r in cavp(f"gcmDecrypt{key_bits}.rsp"):
        tag = field(r, "Tag")
        arguments = (
            aes(field(r, "Key")),
            field(r, "IV"),
            field(r, "CT"),
            field(r, "AAD"),
            tag,
            len(tag),
        )
        if "FAIL" in r:
            failed += 1
            with pytest.raises(ValueError, match="does not authenticate"):
                gcm_decrypt(*arguments)
        else:
            opened += 1
            assert gcm_decrypt(*arguments) == field(r, "PT")
    assert opened > 100
    assert failed > 100


def test_a_changed_bit_is_refused() -> None:
    v = SPECIFICATION[6]
    for name, bit in itertools.product(("IV", "C", "A", "T"), (0, 77, 127)):
        parts = {part: getattr(v, part) for part in ("IV", "C", "A", "T")}
        changed = bytearray(parts[name])
        changed[bit // 8] ^= 1 << bit % 8
        parts[name] = bytes(changed)
        with pytest.raises(ValueError, match="does not authenticate"):
            gcm_decrypt(aes(v.K), parts["IV"], parts["C"], parts["A"], parts["T"])


def test_a_shortened_tag_is_refused_unless_asked_for() -> None:
    v = SPECIFICATION[4]
    with pytest.raises(ValueError, match="does not authenticate"):
        gcm_decrypt(aes(v.K), v.IV, v.C, v.A, v.T[:12])
    assert gcm_decrypt(aes(v.K), v.IV, v.C, v.A, v.T[:12], tag_bytes=12) == v.P


def test_inc32_changes_the_last_four_bytes_only() -> None:
    assert inc32(bytes(16)) == bytes(15) + b"\x01"
    assert inc32(b"\xaa" * 12 + b"\x00\x00\xff\xff") == b"\xaa" * 12 + b"\x00\x01\x00\x00"
    assert inc32(b"\xff" * 16) == b"\xff" * 12 + bytes(4)


def test_gctr_of_nothing_is_nothing() -> None:
    assert gctr(aes(bytes(16)), bytes(16), b"") == b""


def test_length_block_is_in_bits_big_endian() -> None:
    assert length_block(20, 60).hex() == "00000000000000a000000000000001e0"
    # AAD of 512 MiB is the first whose bit length needs more than 32 bits.
    assert length_block(2**29, 2**36 - 32).hex() == "00000001000000000000007fffffff00"


def test_refusals() -> None:
    cipher = aes(bytes(16))
    with pytest.raises(ValueError, match="IV"):
        gcm_encrypt(cipher, b"", b"", b"")
    for tag_bytes in (0, 3, 5, 11, 17):
        with pytest.raises(ValueError, match="GCM tag"):
            gcm_encrypt(cipher, bytes(12), b"", b"", tag_bytes)
        with pytest.raises(ValueError, match="GCM tag"):
            gcm_decrypt(cipher, bytes(12), b"", b"", bytes(tag_bytes), tag_bytes)
    for call in (inc32, lambda b: j0(b, bytes(12)), lambda b: gctr(cipher, b, b"")):
        with pytest.raises(ValueError, match="16 bytes"):
            call(bytes(15))
    for lengths in ((2**61, 0), (0, 2**61), (-1, 0)):
        with pytest.raises(OverflowError):
            length_block(*lengths)
