"""Records of TLS 1.2 and 1.3 by the examples, read by another library, and what that wrote."""

from __future__ import annotations

import ctypes
import random
from dataclasses import dataclass
from typing import Any

import pytest
from helpers.cpus import AS_FOUND, need_x86
from helpers.examples import CANARY, SIZES, Library, Load, Placed, number, spare
from helpers.records import tls12, tls13

here = pytest.mark.cpu(AS_FOUND)

need_x86(whole_module=True)


Unprotected = tuple[int, bytes, int]
"""What is returned, the buffer for the text, and the type (-1 where none was said)."""


def protected(
    way: Tls12 | Tls13, name: str, room: int, kind: int, text: bytes, *numbers: Any
) -> bytes:
    record = spare(room)
    given = (ctypes.byref(way.state), ctypes.c_uint8(kind), text, *numbers)
    count = way.code.call(name, *given, record.at(), number(room))
    found = record.bytes()
    assert {*found[count:]} <= {CANARY}
    return found[:count]


def unprotected(
    way: Tls12 | Tls13, name: str, header: int, added: int, record: bytes, in_place: bool,
    room: int | None,
) -> Unprotected:  # fmt: skip
    room = max(len(record) - added, 0) if room is None else room
    given, kind, size = Placed.of(record), ctypes.c_uint8(), ctypes.c_size_t()
    out = given if in_place else spare(room)
    begins = header if in_place else 0
    status = way.code.call(
        name, ctypes.byref(way.state), given.at(), number(len(record)),
        ctypes.byref(kind), out.at(begins), number(room), ctypes.byref(size),
    )  # fmt: skip
    found = out.bytes()[begins:]
    assert in_place or given.bytes() == record
    return (status, found if status else found[: size.value], -1 if status else kind.value)


@dataclass
class Tls12:
    """One direction of TLS 1.2, by the example."""

    code: Library
    key: bytes
    salt: bytes

    def __post_init__(self) -> None:
        fields = (("salt", ctypes.c_uint8 * 4), ("sequence", ctypes.c_uint64))
        self.state = self.code.structure(*fields)()
        self.code.call("tls12_begin", ctypes.byref(self.state), self.key, self.salt)

    def protect(self, kind: int, text: bytes, room: int | None = None) -> bytes:
        room = len(text) + 29 if room is None else room
        return protected(self, "tls12_protect", room, kind, text, number(len(text)))

    def unprotect(
        self, record: bytes, in_place: bool = False, room: int | None = None
    ) -> Unprotected:
        return unprotected(self, "tls12_unprotect", 13, 13, record, in_place, room)


@here
def test_tls12_and_another_library_understand_each_other(library: Load) -> None:
    code, rng = library("tls12_record"), random.Random(12)
    key, salt = rng.randbytes(16), rng.randbytes(4)
    ours, theirs = Tls12(code, key, salt), Tls12(code, key, salt)
    for sequence, size in enumerate((*SIZES, 2**14, *(rng.randrange(1, 2**14) for _ in range(20)))):
        kind, text = rng.choice((22, 23)) if size else 23, rng.randbytes(size)
        explicit = sequence.to_bytes(8, "big")
        assert ours.protect(kind, text) == tls12(key, salt, sequence, explicit, kind, text)
        record = tls12(key, salt, sequence, rng.randbytes(8), kind, text)
        assert theirs.unprotect(record, sequence % 2 == 0) == (0, text, kind)


@here
def test_tls12_refuses(library: Load) -> None:
    code, rng = library("tls12_record"), random.Random(12)
    key, salt, text = rng.randbytes(16), rng.randbytes(4), rng.randbytes(41)
    record = tls12(key, salt, 0, rng.randbytes(8), 23, text)
    reader = Tls12(code, key, salt)
    for bit in range(8 * len(record)):
        changed = bytearray(record)
        changed[bit // 8] ^= 1 << bit % 8
        alert = {0: 20, 1: 70, 2: 70, 3: 50, 4: 50}.get(bit // 8, 20)
        status, out, _ = reader.unprotect(bytes(changed))
        assert status == alert
        assert {*out[: len(text)]} <= ({0} if alert == 20 else {CANARY})
    for size in range(29):
        assert reader.unprotect(record[:size])[0] == 50
        cut = record[:3] + max(size - 5, 0).to_bytes(2, "big") + record[5:size]
        assert reader.unprotect(cut[:size])[0] == 50
    assert reader.unprotect(record, room=40)[0] == 80
    assert reader.unprotect(tls12(key, salt, 0, bytes(8), 23, bytes(2**14 + 1)))[0] == 22
    assert reader.unprotect(tls12(key, salt, 1, bytes(8), 23, text))[0] == 20
    assert reader.unprotect(record)[:2] == (0, text)
    writer = Tls12(code, key, salt)
    assert writer.protect(23, bytes(2**14 + 1)) == b""
    assert writer.protect(23, text, room=len(text) + 28) == b""
    assert writer.protect(22, b"") == b""
    assert writer.state.sequence == 0
    writer.state.sequence = reader.state.sequence = 2**64 - 1
    assert writer.protect(23, text) == b""
    assert reader.unprotect(record)[0] == 80


@dataclass
class Tls13:
    """One direction of TLS 1.3, by the example."""

    code: Library
    key: bytes
    iv: bytes

    def __post_init__(self) -> None:
        fields = (("iv", ctypes.c_uint8 * 12), ("sequence", ctypes.c_uint64))
        self.state = self.code.structure(*fields)()
        self.code.call("tls13_begin", ctypes.byref(self.state), self.key, self.iv)

    def protect(
        self, kind: int, content: bytes, padding: int = 0, room: int | None = None
    ) -> bytes:
        room = len(content) + padding + 22 if room is None else room
        return protected(
            self, "tls13_protect", room, kind, content, number(len(content)), number(padding)
        )

    def unprotect(
        self, record: bytes, in_place: bool = False, room: int | None = None
    ) -> Unprotected:
        return unprotected(self, "tls13_unprotect", 5, 21, record, in_place, room)


@here
def test_tls13_and_another_library_understand_each_other(library: Load) -> None:
    code, rng = library("tls13_record"), random.Random(13)
    key, iv = rng.randbytes(16), rng.randbytes(12)
    ours, theirs = Tls13(code, key, iv), Tls13(code, key, iv)
    for sequence, size in enumerate((*SIZES, 2**14, *(rng.randrange(1, 2**14) for _ in range(20)))):
        kind, content = rng.choice((22, 23)) if size else 23, rng.randbytes(size)
        padding = min(rng.choice((0, 0, 1, 15, 200, 2**14)), 2**14 - size)
        record = tls13(key, iv, sequence, content + bytes([kind]) + bytes(padding))
        assert ours.protect(kind, content, padding) == record
        assert theirs.unprotect(record, sequence % 2 == 0) == (0, content, kind)


@here
def test_tls13_refuses(library: Load) -> None:
    code, rng = library("tls13_record"), random.Random(13)
    key, iv, content = rng.randbytes(16), rng.randbytes(12), rng.randbytes(41)
    inner = content + b"\x17\0\0"
    record = tls13(key, iv, 0, inner)
    reader = Tls13(code, key, iv)
    for bit in range(8 * len(record)):
        changed = bytearray(record)
        changed[bit // 8] ^= 1 << bit % 8
        alert = {0: 10, 3: 50, 4: 50}.get(bit // 8, 20)
        status, out, _ = reader.unprotect(bytes(changed))
        assert status == alert
        assert {*out} == ({0} if alert == 20 else {CANARY})
    for size in range(22):
        assert reader.unprotect(record[:size])[0] == 50
        cut = record[:3] + max(size - 5, 0).to_bytes(2, "big") + record[5:size]
        assert reader.unprotect(cut[:size])[0] == 50
    assert reader.unprotect(record, room=len(inner) - 1)[0] == 80
    assert reader.unprotect(tls13(key, iv, 1, inner))[0] == 20
    assert reader.unprotect(tls13(key, iv, 0, bytes(2**14 + 241)))[0] == 22
    # What is authentic, and yet none of these.
    for number_, (wrong, alert) in enumerate(
        ((bytes(20), 10), (b"\x16\0", 10), (b"\x15", 10), (bytes(2**14 + 1) + b"\x17", 22))
    ):
        assert reader.unprotect(tls13(key, iv, number_, wrong))[0] == alert
    assert reader.unprotect(tls13(key, iv, 4, b"\x17")) == (0, b"", 23)
    writer = Tls13(code, key, iv)
    assert writer.protect(23, bytes(2**14 + 1)) == b""
    assert writer.protect(23, bytes(2**14), 1) == b""
    assert writer.protect(23, content, 2**64 - 1, 100) == b""
    assert writer.protect(23, content, 5, len(content) + 26) == b""
    assert writer.protect(22, b"") == b""
    assert writer.state.sequence == 0
    writer.state.sequence = reader.state.sequence = 2**64 - 1
    assert writer.protect(23, content) == b""
    assert reader.unprotect(record)[0] == 80
