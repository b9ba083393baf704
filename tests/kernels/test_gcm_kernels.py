"""AES-GCM kernels on this CPU against other implementations, and what they leave behind."""

import random
import re
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from helpers.gcm import DIRECTIONS, Key, calls, context, made, run
from helpers.gcm import call as defined
from helpers.gcm_proving import text_of
from helpers.gcm_sample import SAMPLE, WINOGRAD, bare, harness_of, here, samples
from helpers.syntaxes import each_syntax

from ghashgen.algebra.field.ghash import ghash_padded
from ghashgen.arch.registry import isas
from ghashgen.kernels.families import families, functions_of
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.support.errors import GhashgenError


@here
@samples
def test_texts_of_every_length_are_as_defined(kernel: GcmKernel, harness_folder: Path) -> None:
    harness, rng = harness_of(kernel, harness_folder), random.Random(kernel.name)
    key = Key(rng.randbytes(kernel.key_bytes))
    ctx = context(harness, kernel, key)
    wanted = calls(key, range((2 * kernel.blocks + 1) * 16 + 16), rng)
    for in_place in (False, True):
        for each, done in run(harness, kernel, ctx, wanted, in_place):
            what = f"{each.name} of {len(each.text)} bytes"
            assert not done.violations, what
            assert done.buffers["out"] == each.out, what
            assert done.buffers["counter"] == each.counter_after, what
            assert done.buffers["x"] == each.x_after, what


@here
@pytest.mark.parametrize("kernel", SAMPLE[:4], ids=lambda kernel: kernel.name)
def test_the_other_convention(kernel: GcmKernel, harness_folder: Path) -> None:
    harness, rng = harness_of(kernel, harness_folder, "win64"), random.Random(2)
    key = Key(rng.randbytes(kernel.key_bytes))
    ctx = context(harness, kernel, key)
    lengths = (0, 15, 16, 16 * kernel.blocks, 16 * kernel.blocks + 31, 48 * kernel.blocks + 5)
    for each, done in run(harness, kernel, ctx, calls(key, lengths, rng), False):
        assert not done.violations
        assert (done.buffers["out"], done.buffers["x"]) == (each.out, each.x_after)


@here
@pytest.mark.parametrize("bits", [128, 192, 256])
def test_a_message_is_as_another_library_seals_it(bits: int, harness_folder: Path) -> None:
    kernel, rng = bare(bits, "avx", *WINOGRAD, 4), random.Random(bits)
    harness = harness_of(kernel, harness_folder)
    key, iv = Key(rng.randbytes(bits // 8)), rng.randbytes(12)
    text, aad = rng.randbytes(333), rng.randbytes(13)
    x = ghash_padded(key.subkey, bytes(16), aad)
    first = iv + (2).to_bytes(4, "big")
    each = defined(key, "encrypt", first, x, text)
    ((_, done),) = run(harness, kernel, context(harness, kernel, key), [each], False)
    lengths = (8 * len(aad)).to_bytes(8, "big") + (8 * len(text)).to_bytes(8, "big")
    hashed = ghash_padded(key.subkey, done.buffers["x"], lengths)
    mask = key.block(iv + (1).to_bytes(4, "big"))
    tag = bytes(a ^ b for a, b in zip(hashed, mask, strict=True))
    assert done.buffers["out"] + tag == AESGCM(key.key).encrypt(iv, text, aad)


@here
def test_a_wrong_key_counter_or_text_would_be_noticed(harness_folder: Path) -> None:
    kernel, rng = SAMPLE[2], random.Random(3)
    harness = harness_of(kernel, harness_folder)
    key = Key(rng.randbytes(16))
    ctx = context(harness, kernel, key)
    (each, _) = calls(key, (200,), rng)
    other = context(harness, kernel, Key(rng.randbytes(16)))
    changed = replace(each, text=bytes([each.text[0] ^ 1]) + each.text[1:])
    for wrong_ctx, wrong in (
        (other, each),
        (ctx, replace(each, counter=rng.randbytes(16))),
        (ctx, changed),
    ):
        ((_, done),) = run(harness, kernel, wrong_ctx, [wrong], False)
        assert done.buffers["out"] != each.out
        assert done.buffers["x"] != each.x_after


def test_only_kernels_that_wipe_leave_nothing() -> None:
    for isa in ("sse", "avx", "avx2", "avx512vl", "avx512"):
        lanes = isas()[isa].lanes
        kernel = bare(256, isa, *WINOGRAD, 4 * lanes)
        for function in functions_of(kernel):
            assert made(kernel).left(function).names
            assert not made(replace(kernel, wipe=True)).left(function).names, (isa, function)


@each_syntax
@pytest.mark.parametrize("kernel", SAMPLE[::3], ids=lambda kernel: kernel.name)
def test_every_syntax_is_assembled_to_the_same_bytes(kernel: GcmKernel, syntax: str) -> None:
    assert made(kernel, syntax=syntax).code.code == made(kernel).code.code


def test_the_context_is_the_hash_table_and_the_round_keys() -> None:
    kernel = bare(192, "avx512", *WINOGRAD, 32)
    table, cells = kernel.hash.layout.cells, kernel.layout.cells
    assert cells[: len(table)] == table
    assert cells[len(table) :] == tuple(f"key{i}" for i in range(13))
    assert kernel.layout.size == 16 * len(cells)
    assert kernel.name == "gcm192_avx512_winograd_clmul1_x32_text"
    assert tuple(functions_of(kernel)) == ("init", *DIRECTIONS)
    assert (
        families()["gcm"].make(**{a.name: getattr(kernel, a.name) for a in families()["gcm"].axes})
        == kernel
    )


def test_short_paths_of_four_lanes_read_each_round_key_in_every_lane() -> None:
    kernel = GcmKernel(128, "avx512", "k", "clmul1", 8, short=True)
    cells = kernel.layout.cells[len(kernel.hash.layout.cells) :]
    assert cells == tuple(f"key{i // 4}" for i in range(44))
    body = text_of(kernel).partition(f"{kernel.name}_encrypt:")[2]
    few, _, four = body.partition(".from_33:")
    four = four.partition(".from_65:")[0]
    for text, register in ((few, "ymm"), (four, "zmm")):
        assert len(re.findall(rf"vaesenc +({register}\d+), \1, \[rdi", text)) == 9
    assert "zmm" not in few
    # J_0 alone takes one lane.
    assert re.search(r"vaesenc +xmm\d+, xmm\d+, \[rdi", body)
    narrower = replace(kernel, isa="avx512vl", blocks=4)
    assert narrower.layout.cells.count("key3") == 1


@pytest.mark.parametrize(("isa", "lanes"), [("avx512", 4), ("avx512vl", 2)])
def test_encryption_in_wide_registers_reads_no_ciphertext_back(isa: str, lanes: int) -> None:
    kernel = GcmKernel(128, isa, *WINOGRAD, 8 * lanes)
    body = text_of(kernel).partition(f"{kernel.name}_encrypt:")[2]
    body = body.partition(f"{kernel.name}_decrypt:")[0]
    loop = body.partition(".group:")[2].partition("jae .group")[0]
    # The words of four registers' counters are made at once; each takes its place by one shuffle.
    assert len(re.findall(r"vpshufd +[yz]mm\d+\{k\d\}", loop)) == kernel.registers
    assert loop.count("vpaddd") == 1 + kernel.registers // 4
    # r8 is `out`, and has no copy.
    assert len(re.findall(r"vmovdqu64 +\[r8", body)) > 2 * kernel.registers
    assert not re.findall(r", \[?r8\b", body)


def test_j0_takes_one_lane_beside_text() -> None:
    kernel = GcmKernel(128, "avx512", "k", "clmul1", 8)
    body = text_of(kernel).partition(f"{kernel.name}_seal:")[2].partition(".groups:")[0]
    # On every path of a text without groups E_K(J_0) is put aside.
    assert len(re.findall(r"vaesenclast +xmm\d+, xmm\d+", body)) == body.count("[rsp], xmm") > 0


@pytest.mark.parametrize(
    ("axes", "words"),
    [
        ((160, "avx", *WINOGRAD, 6), "unknown key '160'"),
        ((128, "avx", "winograd", "clmul3", 6), "reduce 'clmul3' takes"),
        ((128, "avx", *WINOGRAD, 9), "would take 9 of 16 vector registers"),
        ((128, "avx512", *WINOGRAD, 6), "do not fill registers of 4 lanes"),
        ((128, "pmull", *WINOGRAD, 6), "has no AES instructions"),
        ((128, "avx", *WINOGRAD, 6, "natural"), "needs GFNI"),
    ],
)
def test_axes_that_make_no_sense_are_refused(axes: tuple[object, ...], words: str) -> None:
    with pytest.raises(GhashgenError, match=words):
        GcmKernel(*axes)  # type: ignore[arg-type]


@pytest.mark.parametrize("isa", ["sse", "avx2"])
def test_round_keys_stay_in_memory_where_no_register_is_free(isa: str) -> None:
    blocks = 6 * isas()[isa].lanes
    assert GcmKernel(128, isa, *WINOGRAD, blocks).held_keys == 0
    with pytest.raises(GhashgenError, match="no register is free"):
        GcmKernel(128, isa, *WINOGRAD, blocks, roundkeys="memory")
