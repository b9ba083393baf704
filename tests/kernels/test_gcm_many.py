"""Many messages in one call: bursts of all mixes of lengths, against another library."""

from __future__ import annotations

import ctypes
import mmap
import platform
import random
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from helpers.cpus import AS_FOUND

from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.check.proofs import require_provable
from ghashgen.kernels.gcm.catalogue import catalogue
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.gcm.parts.records import RECORD_BYTES, WORDS
from ghashgen.kernels.target import target
from ghashgen.output.artefact import make
from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import assemble_text, find_cc

NEEDED = {"avx512bw", "avx512dq", "avx512vl", "bmi2", "vaes", "vpclmulqdq"}
here = pytest.mark.cpu(AS_FOUND)
DONE, DIFFERS, REFUSED = range(3)
PAGE, CANARY = mmap.PAGESIZE, 0xA5
LIBC = ctypes.CDLL(None, use_errno=True)


def kernel(key: int) -> GcmKernel:
    return GcmKernel(key, "avx512", "k", "clmul1", 32, short=True, many=True)


class Record(ctypes.Structure):
    """The C type `struct ghashgen_message`."""

    _fields_ = [(word, ctypes.c_uint64) for word in WORDS]


@dataclass
class Guarded:
    """Pages of buffers, each of which ends where a page begins that nobody may touch."""

    pages: list[mmap.mmap]

    def buffer(self, data: bytes) -> int:
        """Return the address of a copy of `data`, with canaries before it."""
        pages = len(data) // PAGE + 1
        held = mmap.mmap(-1, PAGE * (pages + 1))
        self.pages.append(held)
        start = ctypes.addressof(ctypes.c_char.from_buffer(held))
        end = start + PAGE * pages
        ctypes.memset(start, CANARY, PAGE * pages)
        ctypes.memmove(end - len(data), data, len(data))
        assert LIBC.mprotect(ctypes.c_void_p(end), ctypes.c_size_t(PAGE), 0) == 0
        return end - len(data)


@dataclass
class Burst:
    """Messages of one key as a call takes them."""

    key: bytes
    rng: random.Random
    guarded: Guarded

    def message(self, iv: int, aad: int, text: int) -> tuple[bytes, bytes, bytes, bytes]:
        parts = tuple(self.rng.randbytes(n) for n in (iv, aad, text))
        sealed = AESGCM(self.key).encrypt(parts[0], parts[2], parts[1])
        return parts[0], parts[1], parts[2], sealed

    def record(self, given: tuple[bytes, ...], seals: bool, in_place: bool) -> Record:
        iv, aad, text, sealed = given
        source = text if seals else sealed[:-16]
        at = self.guarded.buffer(source)
        out = at if in_place else self.guarded.buffer(bytes(len(source)))
        tag = self.guarded.buffer(bytes(16) if seals else sealed[-16:])
        where = (self.guarded.buffer(iv), self.guarded.buffer(aad) if aad else 0, at, out, tag)
        return Record(*where, len(text), len(aad), len(iv), 16, 77)


def read(record: Record, word: str, count: int) -> bytes:
    at = getattr(record, word)
    assert ctypes.string_at(at - 16, 16) == bytes([CANARY]) * 16
    return ctypes.string_at(at, count)


@dataclass
class Code:
    """The kernel's functions and a context."""

    lib: ctypes.CDLL
    name: str
    key: bytes
    context: ctypes.Array[ctypes.c_char]

    def call(self, function: str, records: list[Record]) -> list[Record]:
        array = (Record * len(records))(*records)
        run = getattr(self.lib, f"{self.name}_{function}")
        run(ctypes.byref(self.context), array, ctypes.c_size_t(len(records)))
        return list(array)


@pytest.fixture(scope="module", params=[128, 256])
def code(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Code:
    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("the kernel is x86-64 code and this machine is not")
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    flags = next((line.split() for line in lines if line.startswith("flags")), [])
    if missing := NEEDED - set(flags):
        pytest.skip(f"this CPU has no {', '.join(sorted(missing))}")
    one, folder = kernel(request.param), tmp_path_factory.mktemp("many")
    nasm = find_nasm()
    obj, shared = folder / "many.o", folder / "many.so"
    obj.write_bytes(assemble_text(nasm, "many", make(one, target(), nasm).text, "elf64"))
    command = [*find_cc().command, "-shared", "-nostdlib", str(obj), "-o", str(shared)]
    subprocess.run(command, check=True)
    lib, key = ctypes.CDLL(str(shared)), random.Random(request.param).randbytes(one.key_bytes)
    context = ctypes.create_string_buffer(one.layout.size + 64)
    getattr(lib, f"{one.name}_init")(ctypes.byref(context), key)
    return Code(lib, one.name, key, context)


@pytest.fixture
def guarded() -> Guarded:
    return Guarded([])


def lengths(rng: random.Random, mix: str, count: int) -> list[tuple[int, int, int]]:
    """Bytes of IV, AAD and text."""
    first = rng.choice((rng.randrange(1, 17), rng.randrange(1, 65), rng.randrange(1, 1560)))
    aad = rng.randrange(1, 17)
    match mix:
        case "alike":
            return [(12, aad, first)] * count
        case "rows":
            rows = (first - 1) // 64
            return [
                (12, rng.randrange(1, 17), 64 * rows + rng.randrange(1, 65)) for _ in range(count)
            ]
        case "changing":
            sizes = [rng.choice((5, 16, 17, 64, 65, 130)) for _ in range(count // 4 + 1)]
            return [(12, aad, sizes[i // 4]) for i in range(count)]
    return [
        (rng.choice((12, 12, 12, 8, 16, 60)), rng.randrange(40), rng.randrange(200))
        for _ in range(count)
    ]


MIXES = ("alike", "rows", "changing", "any")


@here
@pytest.mark.parametrize("in_place", [False, True], ids=["apart", "in-place"])
@pytest.mark.parametrize("mix", MIXES)
def test_every_message_is_sealed_as_by_another_library(
    code: Code, guarded: Guarded, mix: str, in_place: bool
) -> None:
    rng = random.Random(f"{mix} {in_place}")
    burst = Burst(code.key, rng, guarded)
    for count in (*range(1, 18), 32):
        given = [burst.message(*each) for each in lengths(rng, mix, count)]
        records = [burst.record(each, True, in_place) for each in given]
        for (_, _, text, sealed), record in zip(
            given, code.call("seal_many", records), strict=True
        ):
            assert record.status == DONE
            assert read(record, "out", len(text)) + read(record, "tag", 16) == sealed
            assert in_place or read(record, "in", len(text)) == text


@here
@pytest.mark.parametrize("in_place", [False, True], ids=["apart", "in-place"])
@pytest.mark.parametrize("mix", MIXES)
def test_every_message_is_opened_or_refused_by_its_own_tag(
    code: Code, guarded: Guarded, mix: str, in_place: bool
) -> None:
    rng = random.Random(f"{mix} {in_place} open")
    burst = Burst(code.key, rng, guarded)
    for count in (*range(1, 18), 32):
        given = [burst.message(*each) for each in lengths(rng, mix, count)]
        wrong = {i for i in range(count) if rng.random() < 0.2}
        if count > 8:
            # Of two neighbours, each has the other's tag.
            a, b = given[4], given[5]
            given[4], given[5] = (
                (*a[:3], a[3][:-16] + b[3][-16:]),
                (*b[:3], b[3][:-16] + a[3][-16:]),
            )
            wrong = wrong - {4, 5}
        for i in wrong:
            tag = bytearray(given[i][3][-16:])
            tag[rng.randrange(16)] ^= 1 << rng.randrange(8)
            given[i] = (*given[i][:3], given[i][3][:-16] + tag)
        if count > 8:
            wrong |= {4, 5}
        records = [burst.record(each, False, in_place) for each in given]
        for i, record in enumerate(code.call("open_many", records)):
            text = given[i][2]
            assert record.status == (DIFFERS if i in wrong else DONE)
            assert read(record, "out", len(text)) == (bytes(len(text)) if i in wrong else text)


@here
def test_an_invalid_length_refuses_one_message_alone(code: Code, guarded: Guarded) -> None:
    burst = Burst(code.key, random.Random(5), guarded)
    given = [burst.message(12, 12, 64) for _ in range(12)]
    for function, word, value in (
        ("seal_many", "iv_len", 0),
        ("seal_many", "len", (1 << 36) - 31),
        ("seal_many", "aad_len", 1 << 61),
        ("open_many", "tag_len", 5),
    ):
        seals = function == "seal_many"
        records = [burst.record(each, seals, False) for each in given]
        setattr(records[6], word, value)
        out = code.call(function, records)
        assert [record.status for record in out] == [DONE] * 6 + [REFUSED] + [DONE] * 5
        assert read(out[6], "out", 64) == bytes(64)
        for (_, _, text, sealed), record in zip(given, out, strict=True):
            if record.status == DONE:
                assert read(record, "out", 64) == (sealed[:-16] if seals else text)


@here
def test_empty_messages_may_have_no_address_and_no_messages_do_nothing(code: Code) -> None:
    iv, tags = bytes(12), [ctypes.create_string_buffer(16) for _ in range(5)]
    at = ctypes.create_string_buffer(iv, 12)
    records = [
        Record(ctypes.addressof(at), 0, 0, 0, ctypes.addressof(tag), 0, 0, 12, 16, 7)
        for tag in tags
    ]
    assert [record.status for record in code.call("seal_many", records)] == [DONE] * 5
    assert {tag.raw for tag in tags} == {AESGCM(code.key).encrypt(iv, b"", b"")}
    assert code.call("seal_many", []) == code.call("open_many", []) == []


def test_what_is_not_proved_is_refused_and_stays_out_of_the_catalogue() -> None:
    with pytest.raises(GhashgenError, match="seal_many has no statement that the prover knows"):
        require_provable([kernel(128)])
    assert not any(one.many for one in catalogue())


@pytest.mark.parametrize(
    ("isa", "multiply", "changes"),
    [
        ("avx", "k", {}),
        ("avx512vl", "k", {}),
        ("avx512", "winograd", {}),
        ("avx512", "k", {"messages": False}),
        ("avx512", "k", {"order": "natural"}),
    ],
)
def test_kernels_that_cannot_have_it_refuse(
    isa: str, multiply: str, changes: dict[str, object]
) -> None:
    with pytest.raises(GhashgenError, match="many"):
        GcmKernel(128, isa, multiply, "clmul1", 8, many=True, **changes)  # type: ignore[arg-type]


def test_a_record_is_as_the_header_says() -> None:
    assert ctypes.sizeof(Record) == RECORD_BYTES
