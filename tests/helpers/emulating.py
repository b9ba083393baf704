"""What the tests of the emulator share: pieces of code, and models of instructions in Python."""

import importlib.util
import random
import shutil
from collections.abc import Callable
from queue import Queue

import pytest

from ghashgen.check.validation.runners import Emulated
from ghashgen.run.emulate import Call, Emulator, Image

needs_bochs = pytest.mark.skipif(
    importlib.util.find_spec("bochscpu") is None, reason="bochscpu-python 0.3.1 is not installed"
)
needs_nasm = pytest.mark.skipif(shutil.which("nasm") is None, reason="nasm is not installed")
needs_emulator = [needs_bochs, needs_nasm]

LANES = {"xmm": 1, "ymm": 2, "zmm": 4}
IMMEDIATES = (0x00, 0x01, 0x10, 0x11)
FFFF = (1 << 128) - 1

Assemble = Callable[[str], Image]
"""Assembles a text and lays it out; the fixture `assemble`."""


def pooled(emulator: Emulator) -> Emulated:
    """What runs kernels in one emulator, one after another."""
    free: Queue[Emulator] = Queue()
    free.put(emulator)
    return Emulated(free)


def one(instruction: str) -> str:
    return f"section .text\nglobal f\nf:\n  {instruction}\n  ret\n"


def bytes_of(image: Image) -> bytes:
    return image.segments[0].content


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
