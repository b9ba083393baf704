"""Emulated instructions against independent models in Python, and against the host."""

import ctypes
import mmap
import random

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from helpers.cpus import AS_FOUND, need
from helpers.emulating import (
    FFFF,
    IMMEDIATES,
    LANES,
    Assemble,
    aes128_round_keys,
    aes_last,
    aes_round,
    affine,
    bytes_of,
    in_lanes,
    needs_emulator,
    one,
    pclmul,
    pshufb,
    run_on_random,
)

from ghashgen.run.emulate import FEATURES, Buffer, Emulator

pytestmark = needs_emulator


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
        emulator, assemble(one(text)), lambda z, a, b: z >> 128 << 128 | model(z & FFFF, a & FFFF)
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
    "pclmulqdq": (("pclmulqdq",), [f"pclmulqdq xmm0, xmm1, {i}" for i in IMMEDIATES]),
    "aes": (("aesni",), ["aesenc xmm0, xmm1", "aesenclast xmm0, xmm1", "aesimc xmm0, xmm1"]),
    "ssse3": (("ssse3",), ["pshufb xmm0, xmm1", "palignr xmm0, xmm1, 8"]),
    "avx pclmul": (
        ("avx", "pclmulqdq"),
        [f"{{vex3}} vpclmulqdq xmm0, xmm0, xmm1, {i}" for i in IMMEDIATES],
    ),
    "avx2": (("avx2",), ["vpshufb ymm0, ymm0, ymm1", "vpsrlq ymm0, ymm1, 57"]),
    "avx512": (
        ("avx512f", "avx512bw"),
        ["vpternlogq zmm0, zmm1, zmm0, 0x6A", "vpshufb zmm0, zmm0, zmm1"],
    ),
}


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize("group", NATIVE)
def test_the_host_agrees(emulator: Emulator, assemble: Assemble, group: str) -> None:
    needs, texts = NATIVE[group]
    need(needs)
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
