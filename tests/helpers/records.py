"""Records of TLS and packets of ESP, made by another library, as the RFCs say."""

from dataclasses import dataclass

from cryptography.hazmat.primitives.ciphers.aead import AESGCM


def tls12(key: bytes, salt: bytes, sequence: int, explicit: bytes, kind: int, text: bytes) -> bytes:
    """A record of TLS 1.2: RFC 5246, section 6.2.3.3, and RFC 5288, section 3."""
    aad = sequence.to_bytes(8, "big") + bytes([kind, 3, 3]) + len(text).to_bytes(2, "big")
    sealed = explicit + AESGCM(key).encrypt(salt + explicit, text, aad)
    return bytes([kind, 3, 3]) + len(sealed).to_bytes(2, "big") + sealed


def tls13(key: bytes, iv: bytes, sequence: int, inner: bytes) -> bytes:
    """A record of TLS 1.3 with this inner plaintext: RFC 8446, sections 5.2 and 5.3."""
    nonce = (int.from_bytes(iv, "big") ^ sequence).to_bytes(12, "big")
    header = bytes([23, 3, 3]) + (len(inner) + 16).to_bytes(2, "big")
    return header + AESGCM(key).encrypt(nonce, inner, header)


@dataclass(frozen=True)
class Association:
    """A security association of ESP."""

    key: bytes
    salt: bytes
    spi: int
    extended: bool = False
    icv: int = 16

    def packet(self, sequence: int, iv: bytes, text: bytes) -> bytes:
        """The packet whose plaintext, trailer and all, is this: RFC 4106, sections 3 to 6."""
        spi, number = self.spi.to_bytes(4, "big"), sequence.to_bytes(8, "big")
        aad = spi + (number if self.extended else number[4:])
        sealed = AESGCM(self.key).encrypt(self.salt + iv, text, aad)
        return spi + number[4:] + iv + sealed[: len(text) + self.icv]


def trailed(payload: bytes, next_header: int) -> bytes:
    """A payload with the shortest padding and the trailer: RFC 4303, section 2.4."""
    padding = bytes(range(1, 1 + -(len(payload) + 2) % 4))
    return payload + padding + bytes([len(padding), next_header])


PUBLISHED_RECORD = bytes.fromhex(
    "1703030043a23f7054b62c94d0affafe8228ba55cbefacea42f914aa66bcab3f2b9819a8a5b46b395bd54a9a20441e2b"
    "62974e1f5a6292a2977014bd1e3deae63aeebb21694915e4"
)
"""RFC 8448, section 3, "{client} send application_data record"."""


@dataclass(frozen=True)
class Case:
    """A case of draft-mcgrew-gcm-test-01, section 4."""

    association: Association
    sequence: int
    iv: bytes
    text: bytes
    sealed: bytes

    @property
    def packet(self) -> bytes:
        """As it is sent."""
        spi, number = self.association.spi.to_bytes(4, "big"), self.sequence.to_bytes(8, "big")
        return spi + number[4:] + self.iv + self.sealed


def _case(key: str, salt: str, spi: int, sequence: int, iv: str, text: str, sealed: str) -> Case:
    extended = sequence >= 1 << 32 or key.startswith("abbc")
    association = Association(bytes.fromhex(key), bytes.fromhex(salt), spi, extended)
    return Case(association, sequence, *map(bytes.fromhex, (iv, text, sealed)))


CASES = (
    _case(
        "4c80cdefbb5d10da906ac73c3613a634",
        "2e443b68",
        0x4321,
        0x8765432100000000,
        "4956ed7e3b244cfe",
        "45000048699a000080114db7c0a80102c0a801010a9bf15638d3010000010000"
        "00000000045f736970045f756470037369700963796265726369747902646b00"
        "0021000101020201",
        "fecf537e729d5b07dc30df528dd22b768d1b98736696a6fd348509fa13ceac34"
        "cfa2436f14a3f3cf65925bf1f4a13c5d15b21e1884f5ff6247aeabb786b93bce"
        "61bc17d768fd9732459018148f6cbe722fd04796562dfdb4",
    ),
    _case(
        "feffe9928665731c6d6a8f9467308308",
        "cafebabe",
        0xA5F8,
        0x0A,
        "facedbaddecaf888",
        "4500003e698f000080114dccc0a80102c0a801010a980035002a2343b2d00100"
        "0001000000000000037369700963796265726369747902646b00000100010001",
        "deb22cd9b07c72c16e3a65beeb8df304a5a5897d33ae530f1ba76d5d114d2a5c"
        "3de81827c10e9a4f51330d0eec416642cfbb85a5b47e48a4ec3b9ba95d918bd1"
        "83b70d3aa8bc6ee4c309e9d85a41ad4a",
    ),
    _case(
        "00000000000000000000000000000000",
        "00000000",
        0,
        1,
        "0000000000000000",
        "4500003c99c500008001cb7a40679318010101010800075c0200440061626364"
        "65666768696a6b6c6d6e6f707172737475767761626364656667686901020201",
        "4688daf2f973a392732909c331d56d60f694abaa414b5e7ff5fdcdfff5e9a284"
        "456476492719ffb64de7d9dca1e1d894bc3bd57873ed4d181d19d4d5c8c18af3"
        "f821d496eeb096e98ad2b69e4799c71d",
    ),
    _case("abbccddef00112233445566778899aab", "decaf888", 0x100, 1, "cafedebaceface74",
        "746f016265016f72016e6f7401746f0162650001",
        "29c9fc69a197d038ccdd14e2ddfcaa0543332164412503524303ed3c6c5f283843af8c3e"),
    _case("7d773d00c144c525ac619d18c84a3f47", "d9664267", 0x335467AE, 0xFFFFFFFF,
        "43457e9182443bc6", "01020201", "437f866bcb3f699fe9b0822bac961c4504bef270"),
)  # fmt: skip
"""Those with keys of 128 bits whose padding is the shortest, some of them with 64-bit numbers."""
