"""The emulator against independent models in Python, against the host, and on planted faults."""

from __future__ import annotations

import ctypes
import importlib.util
import mmap
import os
import random
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from ghashgen.emulate import FEATURES, Buffer, Call, CallResult, Emulator, Image, raw_image
from ghashgen.errors import GhashgenError

needs_bochs = pytest.mark.skipif(
    importlib.util.find_spec("bochscpu") is None, reason="bochscpu-python 0.3.1 is not installed"
)
needs_nasm = pytest.mark.skipif(shutil.which("nasm") is None, reason="nasm is not installed")
pytestmark = [needs_bochs, needs_nasm]

LANES = {"xmm": 1, "ymm": 2, "zmm": 4}
IMMEDIATES = (0x00, 0x01, 0x10, 0x11)
FFFF = (1 << 128) - 1

Assemble = Callable[[str], Image]


@pytest.fixture(scope="module")
def emulator() -> Iterator[Emulator]:
    with Emulator() as running:
        yield running


@pytest.fixture(scope="module")
def object_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], bytes]:
    folder = tmp_path_factory.mktemp("asm")

    def run(text: str) -> bytes:
        source, target = folder / "t.asm", folder / "t.o"
        source.write_text(text)
        subprocess.run(["nasm", "-f", "elf64", "-o", target, source], check=True)
        return target.read_bytes()

    return run


@pytest.fixture(scope="module")
def assemble(emulator: Emulator, object_of: Callable[[str], bytes]) -> Assemble:
    return lambda text: emulator.load(object_of(text))


def one(instruction: str) -> str:
    return f"section .text\nglobal f\nf:\n  {instruction}\n  ret\n"


def bytes_of(image: Image) -> bytes:
    return image.segments[0].content


# Models.


def clmul(a: int, b: int) -> int:
    product = 0
    for i in range(64):
        if b >> i & 1:
            product ^= a << i
    return product


def in_lanes(function: Callable[..., int], lanes: int, *operands: int, width: int = 128) -> int:
    """`function` on each lane of `width` bits; the lanes above are zero."""
    mask = (1 << width) - 1
    return sum(
        function(*(x >> width * i & mask for x in operands)) << width * i
        for i in range(lanes * 128 // width)
    )


def pclmul(immediate: int) -> Callable[[int, int], int]:
    def lane(a: int, b: int) -> int:
        return clmul(
            a >> 64 * (immediate & 1) & (2**64 - 1), b >> 64 * (immediate >> 4) & (2**64 - 1)
        )

    return lane


def pshufb(a: int, control: int) -> int:
    source = a.to_bytes(16, "little")
    picks = control.to_bytes(16, "little")
    return int.from_bytes(bytes(0 if c & 0x80 else source[c & 15] for c in picks), "little")


def affine(constant: int) -> Callable[[int, int], int]:
    """SDM, GF2P8AFFINEQB: bit i of a byte is parity(matrix byte 7-i AND x) XOR bit i of imm8."""

    def qword(x: int, matrix: int) -> int:
        rows = matrix.to_bytes(8, "little")
        return int.from_bytes(
            bytes(
                sum(
                    ((rows[7 - i] & byte).bit_count() & 1 ^ constant >> i & 1) << i
                    for i in range(8)
                )
                for byte in x.to_bytes(8, "little")
            ),
            "little",
        )

    return qword


def _times2(x: int) -> int:
    return x << 1 ^ (0x11B if x & 0x80 else 0)


def _gf256(a: int, b: int) -> int:
    product = 0
    for i in range(8):
        if b >> i & 1:
            product ^= a
        a = _times2(a)
    return product


def _sbox(x: int) -> int:
    inverse = next((y for y in range(256) if _gf256(x, y) == 1), 0)
    spread = inverse
    for _ in range(4):
        inverse = (inverse << 1 | inverse >> 7) & 0xFF
        spread ^= inverse
    return spread ^ 0x63


SBOX = [_sbox(x) for x in range(256)]


def aes_last(state: int, key: int) -> int:
    """FIPS 197: ShiftRows, SubBytes, AddRoundKey; column-major bytes, byte 0 lowest."""
    s = state.to_bytes(16, "little")
    moved = bytes(SBOX[s[(4 * (c + r) + r) % 16]] for c in range(4) for r in range(4))
    return int.from_bytes(moved, "little") ^ key


def aes_round(state: int, key: int) -> int:
    s = aes_last(state, 0).to_bytes(16, "little")
    mixed = bytearray()
    for c in range(0, 16, 4):
        a = s[c : c + 4]
        mixed += bytes(
            _times2(a[r])
            ^ _times2(a[(r + 1) % 4])
            ^ a[(r + 1) % 4]
            ^ a[(r + 2) % 4]
            ^ a[(r + 3) % 4]
            for r in range(4)
        )
    return int.from_bytes(mixed, "little") ^ key


def aes128_round_keys(key: bytes) -> list[bytes]:
    words = [key[i : i + 4] for i in range(0, 16, 4)]
    constant = 1
    for i in range(4, 44):
        word = words[-1]
        if i % 4 == 0:
            word = bytes(SBOX[b] for b in word[1:] + word[:1])
            word = bytes([word[0] ^ constant]) + word[1:]
            constant = _times2(constant)
        words.append(bytes(x ^ y for x, y in zip(words[i - 4], word, strict=True)))
    return [b"".join(words[i : i + 4]) for i in range(0, 44, 4)]


# Instructions against the models: destination register 0, sources 1 and 2.


def run_on_random(
    emulator: Emulator, image: Image, model: Callable[[int, int, int], int], times: int = 12
) -> None:
    rng = random.Random(1)
    operands = [[rng.getrandbits(512) for _ in range(3)] for _ in range(times)]
    calls = [
        Call(registers={"zmm0": z, "zmm1": a, "zmm2": b, "zmm17": a, "zmm18": b}, seed=i)
        for i, (z, a, b) in enumerate(operands)
    ]
    for (z, a, b), result in zip(operands, emulator.call_many(image, "f", calls), strict=True):
        assert result.outcome.ok, result.outcome.text
        assert result.after.zmm[0] == model(z, a, b)
        # Nothing else moved.
        assert result.after.zmm[1:] == result.before.zmm[1:]
        assert result.after.k == result.before.k
        assert result.after.rflags == result.before.rflags


@pytest.mark.parametrize("register", LANES)
@pytest.mark.parametrize("immediate", IMMEDIATES)
def test_vpclmulqdq_vex(
    emulator: Emulator, assemble: Assemble, register: str, immediate: int
) -> None:
    if register == "zmm":
        text = f"vpclmulqdq zmm0, zmm1, zmm2, {immediate}"
    else:
        text = f"{{vex3}} vpclmulqdq {register}0, {register}1, {register}2, {immediate}"
    image = assemble(one(text))
    assert bytes_of(image)[0] == (0x62 if register == "zmm" else 0xC4)
    run_on_random(
        emulator, image, lambda z, a, b: in_lanes(pclmul(immediate), LANES[register], a, b)
    )


@pytest.mark.parametrize("register", ["xmm", "ymm"])
@pytest.mark.parametrize("immediate", IMMEDIATES)
def test_vpclmulqdq_evex(
    emulator: Emulator, assemble: Assemble, register: str, immediate: int
) -> None:
    image = assemble(one(f"vpclmulqdq {register}0, {register}17, {register}18, {immediate}"))
    assert bytes_of(image)[0] == 0x62
    run_on_random(
        emulator, image, lambda z, a, b: in_lanes(pclmul(immediate), LANES[register], a, b)
    )


def test_a_wrong_immediate_does_not_match_the_model(emulator: Emulator, assemble: Assemble) -> None:
    image = assemble(one("vpclmulqdq zmm0, zmm1, zmm2, 0x01"))
    with pytest.raises(AssertionError):
        run_on_random(emulator, image, lambda z, a, b: in_lanes(pclmul(0x10), 4, a, b))


LEGACY = {
    **{f"pclmulqdq xmm0, xmm1, {i}": pclmul(i) for i in IMMEDIATES},
    "pshufb xmm0, xmm1": pshufb,
    "aesenc xmm0, xmm1": aes_round,
    "aesenclast xmm0, xmm1": aes_last,
    "pxor xmm0, xmm1": lambda x, y: x ^ y,
}


@pytest.mark.parametrize("text", LEGACY)
def test_legacy_sse_keeps_the_upper_bits(emulator: Emulator, assemble: Assemble, text: str) -> None:
    model = LEGACY[text]
    run_on_random(
        emulator,
        assemble(one(text)),
        lambda z, a, b: z >> 128 << 128 | model(z & FFFF, a & FFFF),
    )


ZMM = {
    "vgf2p8affineqb zmm0, zmm1, zmm2, 0": lambda z, a, b: in_lanes(affine(0), 4, a, b, width=64),
    "vgf2p8affineqb zmm0, zmm1, zmm2, 0xA5": lambda z, a, b: in_lanes(
        affine(0xA5), 4, a, b, width=64
    ),
    "vpternlogq zmm0, zmm1, zmm2, 0x96": lambda z, a, b: z ^ a ^ b,
    "vpternlogq zmm0, zmm1, zmm2, 0xCA": lambda z, a, b: z & a | b & ~z,
    "vpshufb zmm0, zmm1, zmm2": lambda z, a, b: in_lanes(pshufb, 4, a, b),
    "vaesenc zmm0, zmm1, zmm2": lambda z, a, b: in_lanes(aes_round, 4, a, b),
    "vaesenclast zmm0, zmm1, zmm2": lambda z, a, b: in_lanes(aes_last, 4, a, b),
    "vpxor xmm0, xmm1, xmm2": lambda z, a, b: (a ^ b) & FFFF,
    "vpermb zmm0, zmm1, zmm2": lambda z, a, b: int.from_bytes(
        bytes(b.to_bytes(64, "little")[i & 63] for i in a.to_bytes(64, "little")), "little"
    ),
}


@pytest.mark.parametrize("text", ZMM)
def test_wide_instruction(emulator: Emulator, assemble: Assemble, text: str) -> None:
    run_on_random(emulator, assemble(one(text)), ZMM[text])


def test_vzeroupper(emulator: Emulator, assemble: Assemble) -> None:
    result = emulator.call(assemble(one("vzeroupper")), "f", seed=7)
    before, after = result.before.zmm, result.after.zmm
    assert after[:16] == tuple(x & FFFF for x in before[:16])
    assert after[16:] == before[16:]


def test_aes128_on_four_lanes_equals_pyca(emulator: Emulator, assemble: Assemble) -> None:
    rounds = "\n".join(
        f"  vbroadcasti32x4 zmm1, [rdi + {16 * i}]\n"
        f"  {'vpxorq' if i == 0 else 'vaesenclast' if i == 10 else 'vaesenc'} zmm0, zmm0, zmm1"
        for i in range(11)
    )
    image = assemble(one(f"vmovdqu64 zmm0, [rsi]\n{rounds}\n  vmovdqu64 [rsi], zmm0"))
    rng = random.Random(2)
    key, data = rng.randbytes(16), rng.randbytes(64)
    buffers = [
        Buffer("keys", b"".join(aes128_round_keys(key))),
        Buffer("data", data, writable=True),
    ]
    result = emulator.call(image, "f", ["keys", "data"], buffers=buffers, count=True)
    assert result.outcome.ok, result.outcome.text
    cipher = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    assert result.buffers["data"] == cipher.update(data)
    assert result.retired == {
        "ret": 1, "vaesenc": 9, "vaesenclast": 1,
        "vbroadcasti32x4": 11, "vmovdqu64": 2, "vpxorq": 1,
    }  # fmt: skip


def test_the_cpu_has_every_feature(emulator: Emulator) -> None:
    assert emulator.features() == frozenset(FEATURES)


# The host against the emulator, where both can.

NATIVE = {
    "pclmulqdq": ("pclmulqdq", [f"pclmulqdq xmm0, xmm1, {i}" for i in IMMEDIATES]),
    "aes": ("aes", ["aesenc xmm0, xmm1", "aesenclast xmm0, xmm1", "aesimc xmm0, xmm1"]),
    "ssse3": ("ssse3", ["pshufb xmm0, xmm1", "palignr xmm0, xmm1, 8"]),
    "avx pclmul": ("avx", [f"{{vex3}} vpclmulqdq xmm0, xmm0, xmm1, {i}" for i in IMMEDIATES]),
    "avx2": ("avx2", ["vpshufb ymm0, ymm0, ymm1", "vpsrlq ymm0, ymm1, 57"]),
    "avx512": ("avx512bw", ["vpternlogq zmm0, zmm1, zmm0, 0x6A", "vpshufb zmm0, zmm0, zmm1"]),
}


def host_flags() -> set[str]:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((set(x.split()) for x in lines if x.startswith("flags")), set())


@pytest.mark.parametrize("group", NATIVE)
def test_the_host_agrees(emulator: Emulator, assemble: Assemble, group: str) -> None:
    flag, texts = NATIVE[group]
    if flag not in host_flags():
        pytest.skip(f"the host's CPU has no {flag}")
    load, store = ("movdqu", "movdqu")
    width = 16
    if "avx" in group:
        load, store = ("vmovdqu64", "vmovdqu64") if group == "avx512" else ("vmovdqu", "vmovdqu")
        width = 64 if group == "avx512" else 32
    register = {16: "xmm", 32: "ymm", 64: "zmm"}[width]
    rng = random.Random(3)
    for text in texts:
        image = assemble(
            one(
                f"{load} {register}0, [rdi]\n  {load} {register}1, [rsi]\n  {text}\n"
                f"  {store} [rdi], {register}0"
            )
        )
        code = bytes_of(image)
        with mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC) as page:
            page.write(code)
            view = ctypes.c_char.from_buffer(page)
            function = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_char_p)(
                ctypes.addressof(view)
            )
            for _ in range(8):
                x, y = rng.randbytes(width), rng.randbytes(width)
                native = ctypes.create_string_buffer(x, width)
                function(ctypes.cast(native, ctypes.c_char_p), y)
                buffers = [Buffer("x", x, writable=True), Buffer("y", y)]
                result = emulator.call(image, "f", ["x", "y"], buffers=buffers)
                assert result.buffers["x"] == native.raw, text
                assert native.raw != x
            del view


# Memory: guard pages, fault suppression, strays.


def read_in(emulator: Emulator, image: Image, buffer: Buffer, argument: str = "in") -> CallResult:
    return emulator.call(image, "f", [argument], buffers=[buffer])


@pytest.mark.parametrize("length", [1, 15, 16, 33, 4096, 4097, 10000])
def test_over_read_is_located(emulator: Emulator, assemble: Assemble, length: int) -> None:
    image = assemble(one("vmovdqu xmm0, [rdi]"))
    inside = read_in(emulator, image, Buffer("in", length), f"in+{max(length - 16, 0)}")
    if length >= 16:
        assert inside.outcome.ok, inside.outcome.text
    result = read_in(emulator, image, Buffer("in", length), f"in+{max(length - 15, 0)}")
    assert result.outcome.kind == "page-fault"
    assert result.outcome.where == f"in+{length}"
    assert result.outcome.text.startswith("read 1 byte past the end of in (vmovdqu xmm0,[rdi] at ")


def test_over_read_distance_under_read_and_offset(emulator: Emulator, assemble: Assemble) -> None:
    image = assemble(one("mov al, [rdi + rsi]"))

    def read(buffer: Buffer, at: int) -> str:
        result = emulator.call(image, "f", ["in", at], buffers=[Buffer("other", 64), buffer])
        return result.outcome.text.partition(" (")[0]

    assert read(Buffer("in", 33), 32) == "returned"
    assert read(Buffer("in", 33), 40) == "read 8 bytes past the end of in"
    assert read(Buffer("in", 33, place="start"), 0) == "returned"
    assert read(Buffer("in", 33, place="start"), -3) == "read 3 bytes before the start of in"
    assert read(Buffer("in", 33, offset=7), 39) == "returned"
    assert read(Buffer("in", 33, offset=7), 40) == "read 8 bytes past the end of in"
    assert read(Buffer("in", 33, place="start", offset=7), -8) == (
        "read 8 bytes before the start of in"
    )
    assert read(Buffer("in", 0), 0) == "read 1 byte past the end of in"


def test_masked_load_suppresses_the_fault(emulator: Emulator, assemble: Assemble) -> None:
    image = assemble(one("vmovdqu8 zmm0{k1}{z}, [rdi]"))
    for length in (0, 1, 5, 16, 63):
        data = bytes(range(1, length + 1))
        for bits, ok in ((length, True), (length + 1, False)):
            result = emulator.call(
                image, "f", ["in"], buffers=[Buffer("in", data)], registers={"k1": 2**bits - 1}
            )
            assert result.outcome.ok is ok, result.outcome.text
            if ok:
                assert result.after.zmm[0] == int.from_bytes(data, "little")
            else:
                assert result.outcome.where == f"in+{length}"


def test_masked_store_suppresses_the_fault(emulator: Emulator, assemble: Assemble) -> None:
    image = assemble(one("vmovdqu8 [rdi]{k1}, zmm3"))
    out = Buffer("out", 5, writable=True)
    result = emulator.call(image, "f", ["out"], buffers=[out], registers={"k1": 0x1F, "zmm3": 0x77})
    assert result.outcome.ok, result.outcome.text
    assert result.buffers["out"] == b"\x77\0\0\0\0"
    result = emulator.call(image, "f", ["out"], buffers=[out], registers={"k1": 0x3F})
    assert result.outcome.text.startswith("write 1 byte past the end of out")


def test_writes_that_are_not_allowed(emulator: Emulator, assemble: Assemble) -> None:
    image = assemble(
        one("mov byte [rdi], 0x5A")
        + "global g\ng:\n not byte [rel c]\n ret\nsection .rodata\nc: dd 0\n"
    )
    read_only = emulator.call(image, "f", ["in+3"], buffers=[Buffer("in", 8)])
    assert read_only.outcome.text.startswith("write of in at offset 3, which is read-only")
    constant = emulator.call(image, "g")
    assert constant.outcome.where == ".rodata+0x0"
    # Within the page but outside the buffer there is no fault, only a changed byte.
    for at, words in ((-2, "2 bytes before the start"), (8, "1 byte past the end")):
        stray = emulator.call(
            image, "f", [f"out+{at}"], buffers=[Buffer("out", 8, writable=True, offset=8)]
        )
        assert stray.outcome.kind == "stray-write"
        assert stray.outcome.text == f"write {words} of out"
        assert not stray.outcome.ok


def test_stack_is_guarded_and_measured(emulator: Emulator, assemble: Assemble) -> None:
    image = assemble(one("push rax\n push rcx\n pop rcx\n pop rax") + "g:\n call g\n")
    result = emulator.call(image, "f", seed=3)
    assert result.outcome.ok
    assert len(result.stack) == 16
    assert int.from_bytes(result.stack[8:], "little") == result.before["rax"]
    assert result.after.rsp == result.before.rsp + 8
    deep = emulator.call(image, "g")
    assert deep.outcome.text.startswith("write 8 bytes below the stack")


def test_misalignment_is_located(emulator: Emulator, assemble: Assemble) -> None:
    image = assemble(one("vmovdqa64 zmm0, [rdi + 4*rsi + 16]"))
    aligned = emulator.call(image, "f", ["in", 12], buffers=[Buffer("in", 128)])
    assert aligned.outcome.ok, aligned.outcome.text
    result = emulator.call(image, "f", ["in", 1], buffers=[Buffer("in", 128)])
    assert result.outcome.kind == "general-protection"
    assert result.outcome.where == "in+20"
    assert "in at offset 20 is misaligned" in result.outcome.text


# Control: faults in code, budget, counts.


@pytest.mark.parametrize(
    ("code", "spelled"), [("0f0b", "ud2"), ("0fff00", "ud0 eax,[rax]"), ("9006c3", "(bad)")]
)
def test_invalid_opcode(emulator: Emulator, code: str, spelled: str) -> None:
    result = emulator.call(raw_image(bytes.fromhex("90" + code)), "code", count=True)
    assert result.outcome.kind == "invalid-opcode", result.outcome.text
    assert result.outcome.instruction == spelled
    assert set(result.retired) == {"nop"}


def test_running_off_the_end_of_the_code(emulator: Emulator) -> None:
    for length, kind in ((5000, "invalid-opcode"), (4096, "page-fault")):
        result = emulator.call(raw_image(b"\x90" * length), "code", count=True)
        assert result.outcome.kind == kind
        assert result.outcome.text.startswith("execution ")
        assert result.retired == {"nop": length}


def test_privileged_and_system_instructions_do_not_pass(emulator: Emulator) -> None:
    for code in ("f4", "0f01d1", "cd80", "0f30"):  # hlt, xsetbv, int 80h, wrmsr
        result = emulator.call(raw_image(bytes.fromhex(code + "c3")), "code")
        assert not result.outcome.ok, code


def test_runaway_code_is_stopped(emulator: Emulator) -> None:
    result = emulator.call(raw_image(bytes.fromhex("90ebfd")), "code", budget=1001, count=True)
    assert result.outcome.kind == "budget"
    assert result.outcome.text == "not returned after 1001 instructions"
    assert result.retired == {"jmp": 501, "nop": 501}
    # The worker is as good as new, and execution of data is refused.
    result = emulator.call(
        raw_image(bytes.fromhex("ffe7")), "code", ["in"], buffers=[Buffer("in", b"\xc3" * 16)]
    )
    assert result.outcome.text.startswith("execution of in at offset 0, which is not executable")


def test_loop_counts_and_trace(emulator: Emulator, assemble: Assemble) -> None:
    image = assemble(
        one("xor eax, eax\n.next:\n  add al, [rdi]\n  inc rdi\n  dec rsi\n  jnz .next")
    )
    data = bytes(range(40))
    calls = [
        Call(["in", n], [Buffer("in", data[:n])], count=True, trace=True) for n in range(1, 40)
    ]
    for n, result in enumerate(emulator.call_many(image, "f", calls), start=1):
        assert result.after["rax"] == sum(data[:n]) % 256
        assert result.retired == {"add": n, "dec": n, "inc": n, "jne": n, "ret": 1, "xor": 1}
        assert result.instructions == 4 * n + 2
        assert [a.where for a in result.accesses if a.kind == "read"][:-1] == [
            f"in+{i}" for i in range(n)
        ]
    assert list(result.retired) == sorted(result.retired)


def test_count_of_a_faulted_call_stops_before_the_fault(
    emulator: Emulator, assemble: Assemble
) -> None:
    image = assemble(one(".next:\n  mov al, [rdi]\n  inc rdi\n  jmp .next"))
    result = emulator.call(image, "f", ["in"], buffers=[Buffer("in", 5)], count=True)
    assert result.outcome.where == "in+5"
    assert result.retired == {"inc": 5, "jmp": 5, "mov": 5}


# Calls: conventions, images, the worker.


@pytest.mark.parametrize("abi", ["sysv", "win64"])
def test_arguments(emulator: Emulator, assemble: Assemble, abi: str) -> None:
    first, registers, stack = {
        "sysv": ("rdi", ["rsi", "rdx", "rcx", "r8", "r9"], 8),
        "win64": ("rcx", ["rdx", "r8", "r9"], 40),
    }[abi]
    stores = [f"mov [{first} + {8 * i}], {name}" for i, name in enumerate(registers)]
    for i in range(len(registers), 9):
        where = stack + 8 * (i - len(registers))
        stores.append(f"mov rax, [rsp + {where}]\n  mov [{first} + {8 * i}], rax")
    values = [random.Random(i).getrandbits(64) for i in range(9)]
    result = emulator.call(
        assemble(one("\n  ".join(stores))),
        "f",
        ["out", *values],
        buffers=[Buffer("out", 72, writable=True)],
        abi=abi,  # type: ignore[arg-type]
    )
    assert result.outcome.ok, result.outcome.text
    assert result.buffers["out"] == b"".join(v.to_bytes(8, "little") for v in values)
    assert result.before.rsp % 16 == 8
    untouched = set(result.before.gpr) - {"rsp", "rax"}
    assert all(result.after[name] == result.before[name] for name in untouched)


RELOCATED = """
section .text
global f
f:
  mov eax, [rel constant]      ; PC32
  mov ecx, [table + 4]         ; 32S
  add eax, ecx
  mov rcx, [rel pointer]       ; 64, in data
  add eax, [rcx]
  mov edx, table               ; 32
  add eax, [rdx + 8]
  inc dword [rel counter]
  add eax, [rel counter]
  call g wrt ..plt             ; PLT32
  add eax, [rel zeros]
  ret
section .text2 progbits alloc exec nowrite align=64
global g:function
g: add eax, 0x10000000
  ret
section .rodata
constant: dd 1
table: dd 0x10, 0x100, 0x1000
section .data
counter: dd 0x10000
pointer: dq counter
section .bss
zeros: resb 10000
"""


def test_sections_and_relocations(emulator: Emulator, assemble: Assemble) -> None:
    image = assemble("default abs\n" + RELOCATED)
    assert [s.name for s in image.segments] == [".text", ".text2", ".rodata", ".data", ".bss"]
    assert set(image.symbols) >= {"f", "g", "constant", "counter", "zeros"}
    expected = 1 + 0x100 + 0x10000 + 0x1000 + 0x10001 + 0x10000000
    for _ in range(2):  # writable sections start afresh
        assert emulator.call(image, "f").after["rax"] == expected


def test_refusals(
    emulator: Emulator, assemble: Assemble, object_of: Callable[[str], bytes]
) -> None:
    with pytest.raises(GhashgenError, match="refers to 'missing'"):
        assemble("extern missing\n" + one("call missing"))
    with pytest.raises(GhashgenError, match="not an ELF object"):
        emulator.load(b"MZ")
    with pytest.raises(GhashgenError, match="does not reach"):
        assemble(one("mov eax, [f + 0x7fffffff]"))
    image = assemble(one("nop"))
    with pytest.raises(GhashgenError, match="no symbol 'h'; it defines: f"):
        emulator.call(image, "h")
    with pytest.raises(GhashgenError, match="names no buffer"):
        emulator.call(image, "f", ["in"])
    with pytest.raises(GhashgenError, match="cannot be set"):
        emulator.call(image, "f", registers={"zmm32": 0})
    with pytest.raises(GhashgenError, match="does not fit"):
        emulator.call(image, "f", buffers=[Buffer("in", 1 << 21)])


def test_results_do_not_depend_on_what_ran_before(emulator: Emulator, assemble: Assemble) -> None:
    image = assemble(one("vmovdqu ymm5, [rdi]\n  mov rbx, [rsp]"))
    call = Call(["in"], [Buffer("in", 70, offset=3)], seed=11, trace=True)
    first = emulator.call_many(image, "f", [call])[0]
    with Emulator() as fresh:
        second = fresh.call_many(image, "f", [call])[0]
    assert first == second
    assert emulator.call(image, "f", ["in"], buffers=call.buffers, seed=12).before != first.before


def test_a_dead_worker_is_replaced(assemble: Assemble) -> None:
    image = assemble(one("mov eax, 42"))
    with Emulator() as emulator:
        assert emulator.call(image, "f").after["rax"] == 42
        assert emulator._worker is not None
        os.kill(emulator._worker._process.pid, signal.SIGKILL)
        assert emulator.call(image, "f").after["rax"] == 42


def test_a_missing_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "bochscpu"
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError(\"No module named 'bochscpu'\")\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with Emulator() as emulator, pytest.raises(GhashgenError) as caught:
        emulator.call(raw_image(b"\xc3"), "code")
    assert caught.value.cause == "bochscpu-python 0.3.1 is not installed"
    assert caught.value.remedy == "python -m pip install bochscpu-python==0.3.1"
