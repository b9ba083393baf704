"""Packets of ESP by the example, against published ones and another library's."""

import ctypes
import random
from dataclasses import dataclass

import pytest
from helpers.cpus import AS_FOUND, need_x86
from helpers.examples import CANARY, SIZES, Library, Load, Placed, number, spare
from helpers.records import CASES, Association, trailed

here = pytest.mark.cpu(AS_FOUND)

need_x86(whole_module=True)


@dataclass
class Esp:
    """A security association, by the example."""

    code: Library
    of: Association

    def __post_init__(self) -> None:
        self.state = self.code.structure(
            ("salt", ctypes.c_uint8 * 4),
            ("spi", ctypes.c_uint32),
            ("extended", ctypes.c_int),
            ("icv", ctypes.c_size_t),
            ("sequence", ctypes.c_uint64),
        )()
        self.began = self.code.call(
            "esp_begin", ctypes.byref(self.state), self.of.key, self.of.salt,
            ctypes.c_uint32(self.of.spi), int(self.of.extended), number(self.of.icv),
        )  # fmt: skip

    def room(self, payload: bytes) -> int:
        return 16 + len(trailed(payload, 0)) + self.of.icv

    def written(self, name: str, payload: bytes, room: int | None, *given: object) -> bytes:
        room = self.room(payload) if room is None else room
        packet = spare(room)
        count = self.code.call(
            name, ctypes.byref(self.state), *given, payload, number(len(payload)), packet.at(),
            number(room),
        )  # fmt: skip
        found = packet.bytes()
        assert {*found[count:]} <= {CANARY}
        return found[:count]

    def seal(self, sequence: int, iv: bytes, next_header: int, payload: bytes) -> bytes:
        numbers = [ctypes.c_uint64(n) for n in (sequence, int.from_bytes(iv, "big"))]
        return self.written("esp_seal", payload, None, *numbers, ctypes.c_uint8(next_header))

    def protect(self, next_header: int, payload: bytes, room: int | None = None) -> bytes:
        return self.written("esp_protect", payload, room, ctypes.c_uint8(next_header))

    def unprotect(
        self, packet: bytes, high: int = 0, in_place: bool = False, room: int | None = None
    ) -> tuple[int, bytes, int]:
        """What is returned, the buffer for the payload, and the next header (-1: none said)."""
        room = max(len(packet) - 16 - self.of.icv, 0) if room is None else room
        given, header, size = Placed.of(packet), ctypes.c_uint8(), ctypes.c_size_t()
        out = given if in_place else spare(room)
        status = self.code.call(
            "esp_unprotect", ctypes.byref(self.state), ctypes.c_uint32(high), given.at(),
            number(len(packet)), ctypes.byref(header), out.at(16 if in_place else 0),
            number(room), ctypes.byref(size),
        )  # fmt: skip
        found = out.bytes()[16 if in_place else 0 :]
        assert in_place or given.bytes() == packet
        return (status, found if status else found[: size.value], -1 if status else header.value)


@here
def test_esp_writes_and_reads_the_published_packets(library: Load) -> None:
    code = library("esp_packet")
    for case in CASES:
        padding, header = case.text[-2], case.text[-1]
        payload, high = case.text[: -2 - padding], case.sequence >> 32
        sa = Esp(code, case.association)
        assert sa.unprotect(case.packet, high) == (0, payload, header)
        if trailed(payload, header) == case.text:
            assert sa.seal(case.sequence, case.iv, header, payload) == case.packet


@here
@pytest.mark.parametrize("icv", [8, 12, 16])
@pytest.mark.parametrize("extended", [False, True])
def test_esp_and_another_library_understand_each_other(
    icv: int, extended: bool, library: Load
) -> None:
    code, rng = library("esp_packet"), random.Random(4106 + icv)
    of = Association(rng.randbytes(16), rng.randbytes(4), rng.randrange(2**32), extended, icv)
    sa = Esp(code, of)
    sa.state.sequence = 2**32 - 9 if extended else 0
    for size in (*SIZES, *range(2, 6), *(rng.randrange(9000) for _ in range(12))):
        payload, header = rng.randbytes(size), rng.randrange(256)
        sequence = sa.state.sequence + 1
        text, iv = trailed(payload, header), sequence.to_bytes(8, "big")
        assert sa.protect(header, payload) == of.packet(sequence, iv, text)
        assert sa.state.sequence == sequence
        packet = of.packet(sequence, rng.randbytes(8), text)
        assert sa.unprotect(packet, sequence >> 32) == (0, payload, header)
        assert sa.unprotect(packet, sequence >> 32, in_place=True) == (0, payload, header)
    longest = b"odd" + bytes(range(1, 256)) + b"\xff\4"
    assert sa.unprotect(of.packet(1, bytes(8), longest)) == (0, b"odd", 4)


@here
@pytest.mark.parametrize("icv", [8, 12, 16])
def test_esp_refuses(icv: int, library: Load) -> None:
    code, rng = library("esp_packet"), random.Random(4303)
    of = Association(rng.randbytes(16), rng.randbytes(4), 0x01020304, True, icv)
    sa, payload = Esp(code, of), rng.randbytes(41)
    text = trailed(payload, 6)
    packet = of.packet(7, rng.randbytes(8), text)
    for bit in range(8 * len(packet)):
        changed = bytearray(packet)
        changed[bit // 8] ^= 1 << bit % 8
        status, out, _ = sa.unprotect(bytes(changed))
        assert status == -1
        assert {*out} == ({0} if bit >= 32 else {CANARY})
    assert sa.unprotect(packet, high=1)[0] == -1
    assert sa.unprotect(packet, room=len(text) - 1)[0] == -1
    for size in range(len(packet)):
        assert sa.unprotect(packet[:size])[0] == -1
    # Authentic, and no text that RFC 4303 has; in place the IV stands before it.
    for wrong, iv in (
        (b"\0\0\0\0\1\2\3\6", bytes(8)),
        (b"\0\0\0\0\1\1\2\4", bytes(8)),
        (b"\0\0\xff\4", bytes(8)),
        (b"\2\3\4\5\6\7\7\4", b"\0\0\0\0\0\0\0\1"),
        (b"\0\0\0\0\4", bytes(8)),
        (b"", bytes(8)),
    ):
        for in_place in (False, True):
            assert sa.unprotect(of.packet(8, iv, wrong), in_place=in_place)[0] == -1
    assert sa.unprotect(packet) == (0, payload, 6)
    assert sa.protect(6, payload, sa.room(payload) - 1) == b""
    assert sa.protect(6, bytes(65536)) == b""
    assert sa.state.sequence == 0
    sa.state.sequence = 2**64 - 1
    assert sa.protect(6, payload) == b""
    short = Esp(code, Association(of.key, of.salt, of.spi, False, icv))
    short.state.sequence = 2**32 - 1
    assert short.protect(6, payload) == b""
    assert [Esp(code, Association(of.key, of.salt, 1, False, n)).began for n in (4, 15, 17)] == [
        -1, -1, -1,
    ]  # fmt: skip
