"""The examples of harness/examples: built as docs/gcm.md says, and held against another library."""

from __future__ import annotations

import ctypes
import platform
import random
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from cpus import AS_FOUND, lacking
from records import CASES, PUBLISHED_RECORD, Association, tls12, tls13, trailed

from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.check.validation.gcm.validator import SUITES
from ghashgen.kernels.families import functions_of
from ghashgen.kernels.gcm import axes
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.support.errors import GhashgenError
from ghashgen.support.paths import project_root
from ghashgen.support.toolchain import find_cc
from ghashgen.verify.gcm.spec import GcmFunction

ROOT = project_root()
EXAMPLES = ("tls12_record", "tls13_record", "esp_packet")
PAGE = (ROOT / "docs/gcm.md").read_text(encoding="utf-8")
NAME = "gcm128_avx_winograd_clmul1_x8"
"""The kernel that the examples take."""
HEADER = (ROOT / "generated" / "ghashgen.h").read_text(encoding="utf-8")
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
NEEDS = ("aesni", "pclmulqdq", "avx")
TAG, CANARY = 16, 0xA5
SIZES = (0, 1, 15, 16, 17, 31, 127, 128, 129, 255, 256, 300, 1400, 4096)

here = pytest.mark.cpu(AS_FOUND)
examples = pytest.mark.parametrize("example", EXAMPLES)

if platform.machine() not in ("x86_64", "AMD64"):
    pytest.skip("the kernel is x86-64 code and this machine is not", allow_module_level=True)


def commands() -> list[str]:
    """The lines of docs/gcm.md that build and run the examples."""
    found: list[str] = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.M | re.S)
    (block,) = (text for text in found if "nasm" in text)
    return block.replace("\\\n", " ").splitlines()


def run(line: str, folder: Path, more: list[str]) -> subprocess.CompletedProcess[str]:
    """Run one of them in a folder, by the tools that were found, with more options for cc."""
    words = shlex.split(re.sub("(harness|generated)(?=[/ ])", rf"{ROOT}/\1", line))
    started = {
        "nasm": find_nasm().command,
        "cc": [*find_cc().command, *more],
    }
    command = [*started[words[0]], *words[1:]] if words[0] in started else words
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the kernel, assembled."""
    folder = tmp_path_factory.mktemp("examples")
    done = run(commands()[0], folder, [])
    assert done.returncode == 0, done.stderr
    return folder


def need_the_cpu() -> None:
    if missing := lacking(NEEDS):
        pytest.skip(f"this CPU has no {', '.join(missing)}: the examples are compiled and not run")


@here
def test_the_commands_of_the_page_build_and_run_them(kernel: Path) -> None:
    printed = {}
    for line in commands()[1:]:
        build, start = line.split(" && ")
        done = run(build, kernel, WARNINGS)
        assert done.returncode == 0, done.stderr
        if not lacking(NEEDS):
            done = run(start, kernel, [])
            assert (done.returncode, done.stderr) == (0, "")
            printed[start] = bytes.fromhex(done.stdout)
    need_the_cpu()
    request = b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"
    first = tls12(bytes(range(16)), bytes(range(0xA0, 0xA4)), 0, bytes(8), 23, request)
    assert printed == {
        "./tls12_record": first,
        "./tls13_record": PUBLISHED_RECORD,
        "./esp_packet": CASES[0].packet,
    }


def test_published_records_are_as_another_library_has_them() -> None:
    key = bytes.fromhex("17422dda596ed5d9acd890e3c63f5051")
    iv = bytes.fromhex("5b78923dee08579033e523d9")
    assert tls13(key, iv, 0, bytes(range(50)) + b"\x17") == PUBLISHED_RECORD
    for case in CASES:
        assert case.association.packet(case.sequence, case.iv, case.text) == case.packet


@examples
def test_clang_has_no_complaint(example: str, kernel: Path) -> None:
    if not shutil.which("clang"):
        pytest.skip("clang is not installed")
    source = ROOT / "harness" / "examples" / f"{example}.c"
    options = ["-std=c11", *WARNINGS, "-fsyntax-only", f"-I{ROOT / 'generated'}", str(source)]
    done = subprocess.run(["clang", *options], cwd=kernel, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_page_quotes_the_header_and_the_examples() -> None:
    """Every piece of C on the page is the header's prototypes of any NAME, or of one example."""
    folder = ROOT / "harness" / "examples"
    sources = {name: (folder / f"{name}.c").read_text(encoding="utf-8") for name in EXAMPLES}
    found = re.findall(r"^\w+ \w+\(.*\);$", HEADER, re.M)
    kernel = GcmKernel(128, "avx", "winograd", "clmul1", 8)
    assert kernel.name == NAME
    symbols = [f" {NAME}_{function}(" for function in functions_of(kernel)]
    own = [line for line in found if any(symbol in line for symbol in symbols)]
    prototypes = [line.replace(NAME, "NAME") for line in own]
    pieces = re.findall(r"^```c\n(.*?)^```$", PAGE, re.M | re.S)
    (interface,) = [text for text in pieces if "NAME_" in text]
    assert re.sub(r"\s+", " ", interface).strip() == " ".join(prototypes)
    pieces.remove(interface)
    assert [[name for name in EXAMPLES if text in sources[name]] for text in pieces] == [
        [name] for name in EXAMPLES
    ]


def rows(heading: str) -> dict[str, list[str]]:
    """The cells of a table of the page, by the first one of each row."""
    text = PAGE.partition(heading)[2].partition("\n\n")[0]
    lines = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| `")]
    return {cells[0].strip(" `"): [cell.strip() for cell in cells[1:]] for cells in lines}


def test_the_page_says_what_is_proved_and_validated() -> None:
    kernel = GcmKernel(128, "avx", "winograd", "clmul1", 8, segments=True)
    words = {True: "yes", False: "no"}
    said = rows("| function | proved | validated |\n")
    assert {name.partition("`")[0]: cells for name, cells in said.items()} == {
        name: [words[function.statement in GcmFunction.operations], words[name in SUITES]]
        for name, function in functions_of(kernel).items()
    }


def test_the_page_says_which_groups_there_are() -> None:
    said = {
        name: tuple(map(int, re.findall(r"\d+", cells[-1])))
        for name, cells in rows("| `--isa` | the CPU must have |").items()
    }
    assert axes.ISA.left_open
    assert axes.BLOCKS.left_open
    assert said.keys() == {*axes.ISA.left_open({})}
    for name, (usual, *numbers) in said.items():
        assert (usual,) == axes.BLOCKS.left_open({"isa": name})
        assert [n for n in range(1, 65) if makes_sense(name, n)] == list(
            range(numbers[-2], numbers[-1] + 1, numbers[0])
        )


def makes_sense(isa: str, blocks: int) -> bool:
    try:
        GcmKernel(192, isa, "winograd", "clmul1", blocks)
    except GhashgenError:
        return False
    return True


def test_readers_find_the_examples() -> None:
    """The page of messages in pieces has one more (tests/test_gcm_streams.py)."""
    assert {f"{name}.c" for name in (*EXAMPLES, "pieces")} == {
        path.name for path in (ROOT / "harness" / "examples").iterdir()
    }


Buffer = ctypes.Array[ctypes.c_uint8]


@dataclass(frozen=True)
class Placed:
    """A buffer with bytes on either side that must stay as they are."""

    whole: Buffer
    size: int

    @classmethod
    def of(cls, data: bytes) -> Placed:
        margin = bytes([CANARY]) * 64
        whole = margin + data + margin
        return cls((ctypes.c_uint8 * len(whole)).from_buffer_copy(whole), len(data))

    def at(self, offset: int = 0) -> ctypes.c_void_p:
        return ctypes.c_void_p(ctypes.addressof(self.whole) + 64 + offset)

    def bytes(self) -> bytes:
        found = bytes(self.whole)
        assert {*found[:64], *found[64 + self.size :]} == {CANARY}
        return found[64 : 64 + self.size]


def spare(size: int) -> Placed:
    """A buffer that nothing was written to."""
    return Placed.of(bytes([CANARY]) * size)


@dataclass(frozen=True)
class Library:
    """An example as a library."""

    loaded: ctypes.CDLL
    context: int
    """Bytes of the kernel's context, which every struct begins with."""

    def call(self, name: str, *arguments: object) -> int:
        """A function that returns size_t, int or nothing, by its C name."""
        function = getattr(self.loaded, name)
        function.restype = ctypes.c_size_t if name.endswith(("_protect", "_seal")) else ctypes.c_int
        result: int = function(*arguments)
        return result

    def structure(self, *fields: tuple[str, object]) -> type[ctypes.Structure]:
        context = ("context", ctypes.c_uint8 * self.context)
        return type("State", (ctypes.Structure,), {"_fields_": [context, *fields]})


@pytest.fixture
def library(kernel: Path) -> Callable[[str], Library]:
    """Loads an example; skips where the CPU has not what the kernel needs."""
    need_the_cpu()

    def load(example: str) -> Library:
        source = ROOT / "harness" / "examples" / f"{example}.c"
        made = kernel / f"{example}.so"
        options = ["-std=c11", "-O2", "-shared", "-fPIC", *WARNINGS, f"-I{ROOT / 'generated'}"]
        command = [*find_cc().command, *options, str(source), "gcm.o", "-o", str(made)]
        subprocess.run(command, cwd=kernel, check=True)
        (size,) = re.findall(rf" {NAME.upper()}_CTX_BYTES (\d+)$", HEADER, re.M)
        return Library(ctypes.CDLL(str(made)), int(size))

    return load


Load = Callable[[str], Library]


def number(value: int) -> ctypes.c_size_t:
    return ctypes.c_size_t(value)


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
        record = spare(room)
        count = self.code.call(
            "tls12_protect", ctypes.byref(self.state), ctypes.c_uint8(kind), text,
            number(len(text)), record.at(), number(room),
        )  # fmt: skip
        found = record.bytes()
        assert {*found[count:]} <= {CANARY}
        return found[:count]

    def unprotect(
        self, record: bytes, in_place: bool = False, room: int | None = None
    ) -> tuple[int, bytes, int]:
        """What is returned, the buffer for the text, and the type (-1 where none was said)."""
        room = max(len(record) - 13, 0) if room is None else room
        given, kind, size = Placed.of(record), ctypes.c_uint8(), ctypes.c_size_t()
        out = given if in_place else spare(room)
        status = self.code.call(
            "tls12_unprotect", ctypes.byref(self.state), given.at(), number(len(record)),
            ctypes.byref(kind), out.at(13 if in_place else 0), number(room), ctypes.byref(size),
        )  # fmt: skip
        found = out.bytes()[13 if in_place else 0 :]
        assert in_place or given.bytes() == record
        return (status, found if status else found[: size.value], -1 if status else kind.value)


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
        record = spare(room)
        count = self.code.call(
            "tls13_protect", ctypes.byref(self.state), ctypes.c_uint8(kind), content,
            number(len(content)), number(padding), record.at(), number(room),
        )  # fmt: skip
        found = record.bytes()
        assert {*found[count:]} <= {CANARY}
        return found[:count]

    def unprotect(
        self, record: bytes, in_place: bool = False, room: int | None = None
    ) -> tuple[int, bytes, int]:
        """What is returned, the buffer for the content, and the type (-1 where none was said)."""
        room = max(len(record) - 21, 0) if room is None else room
        given, kind, size = Placed.of(record), ctypes.c_uint8(), ctypes.c_size_t()
        out = given if in_place else spare(room)
        status = self.code.call(
            "tls13_unprotect", ctypes.byref(self.state), given.at(), number(len(record)),
            ctypes.byref(kind), out.at(5 if in_place else 0), number(room), ctypes.byref(size),
        )  # fmt: skip
        found = out.bytes()[5 if in_place else 0 :]
        assert in_place or given.bytes() == record
        return (status, found if status else found[: size.value], -1 if status else kind.value)


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
