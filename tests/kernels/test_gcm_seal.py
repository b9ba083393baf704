"""Whole messages, sealed and opened on this CPU: every kind of length, tag, error and place."""

import random
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.cpus import AS_FOUND
from helpers.gcm import Key, context, made, prepared
from helpers.gcm_sample import SAMPLE as TEXTS
from helpers.gcm_sample import harness_of
from helpers.sealing import (
    DIFFERS,
    DONE,
    REFUSED,
    TAGS,
    call,
    iv_for,
    lengths,
    message,
    messages,
    to_open,
    to_seal,
)
from helpers.syntaxes import each_syntax

from ghashgen.ir.program import Mem
from ghashgen.kernels.families import functions_of
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.gcm.parts.few import most_bytes
from ghashgen.kernels.memory import IN_TABLE
from ghashgen.run.arguments import answered
from ghashgen.run.harness import Harness
from ghashgen.support.errors import GhashgenError

here = pytest.mark.cpu(AS_FOUND)
SHORT = (
    GcmKernel(128, "avx512", "winograd", "clmul1", 24, short=True),
    GcmKernel(192, "avx512", "k", "clmul1", 4, order="natural", short=True),
    GcmKernel(256, "avx512vl", "k", "clmul1", 12, wipe=True, short=True),
    GcmKernel(128, "avx512vl", "karatsuba", "shift-xor", 4, short=True),
    GcmKernel(128, "avx", "k", "clmul1", 8, short=True),
    GcmKernel(192, "sse", "winograd", "clmul1", 4, short=True),
    GcmKernel(256, "avx", "karatsuba", "shift-xor", 2, wipe=True, short=True),
    GcmKernel(128, "avx2", "k", "clmul1", 16, short=True),
    GcmKernel(256, "avx2", "winograd", "clmul1", 6, wipe=True, short=True),
    GcmKernel(128, "avx2", "schoolbook", "clmul2", 2, order="natural", short=True),
    GcmKernel(192, "avx", "winograd", "clmul1", 1, short=True),
)
SAMPLE = (*(replace(kernel, messages=True) for kernel in TEXTS), *SHORT)
samples = pytest.mark.parametrize("kernel", SAMPLE, ids=lambda kernel: kernel.name)
few = pytest.mark.parametrize(
    "kernel", [*SAMPLE[6:12:2], SAMPLE[11], *SHORT[1::2], SHORT[6], SHORT[10]], ids=lambda k: k.name
)
MORE = 12
TOP = 2**64 - 1


def begun(
    kernel: GcmKernel, folder: Path, abi: str = "sysv"
) -> tuple[Harness, Key, bytes, random.Random]:
    harness, rng = harness_of(kernel, folder, abi), random.Random(kernel.name)
    key = Key(rng.randbytes(kernel.key_bytes))
    return harness, key, context(harness, kernel, key), rng


@here
@samples
def test_messages_of_all_lengths_are_sealed_and_opened(
    kernel: GcmKernel, harness_folder: Path
) -> None:
    harness, key, ctx, rng = begun(kernel, harness_folder)
    wanted = messages(key, lengths(kernel, rng, MORE), rng)
    for in_place in (False, True):
        sealed = call(harness, kernel, "seal", [to_seal(ctx, m) for m in wanted], in_place)
        for each, done in zip(wanted, sealed, strict=True):
            assert done.result == DONE, each.what
            assert (done["out"], done["tag"]) == (each.sealed, each.tag), each.what
        opened = call(harness, kernel, "open", [to_open(ctx, m, m.tag) for m in wanted], in_place)
        for each, done in zip(wanted, opened, strict=True):
            assert (done.result, done["out"]) == (DONE, each.text), each.what


@here
@pytest.mark.parametrize("kernel", SHORT, ids=lambda kernel: kernel.name)
def test_every_length_on_a_straight_path_with_every_aad(
    kernel: GcmKernel, harness_folder: Path
) -> None:
    harness, key, ctx, rng = begun(kernel, harness_folder)
    texts = range(0, most_bytes(kernel) + 18, 1 if kernel.blocks < 12 else 5)
    wanted = messages(key, [(12, aad, n) for n in texts for aad in range(50)], rng)
    sealed = call(harness, kernel, "seal", [to_seal(ctx, m) for m in wanted])
    opened = call(harness, kernel, "open", [to_open(ctx, m, m.tag) for m in wanted])
    for each, there, back in zip(wanted, sealed, opened, strict=True):
        assert (there["out"], there["tag"]) == (each.sealed, each.tag), each.what
        assert (back.result, back["out"]) == (DONE, each.text), each.what


@pytest.mark.parametrize(
    ("isa", "blocks", "messages", "words"),
    [("avx512", 4, False, "seal and open"), ("avx512vl", 2, True, "no powers")],
)
def test_a_straight_path_where_there_is_none(
    isa: str, blocks: int, messages: bool, words: str
) -> None:
    with pytest.raises(GhashgenError, match=words):
        GcmKernel(128, isa, "winograd", "clmul1", blocks, messages=messages, short=True)


@here
@samples
def test_counters_that_wrap(kernel: GcmKernel, harness_folder: Path) -> None:
    harness, key, ctx, rng = begun(kernel, harness_folder)
    wanted = []
    for after in (1, 2, kernel.blocks, kernel.blocks + 3):
        J0 = rng.randbytes(12) + (2**32 - after).to_bytes(4, "big")
        text = rng.randbytes(32 * kernel.blocks + 40)
        wanted.append(message(key, iv_for(key, J0), b"", text))
    sealed = call(harness, kernel, "seal", [to_seal(ctx, m) for m in wanted])
    opened = call(harness, kernel, "open", [to_open(ctx, m, m.tag) for m in wanted])
    for each, there, back in zip(wanted, sealed, opened, strict=True):
        assert (there["out"], there["tag"]) == (each.sealed, each.tag)
        assert (back.result, back["out"]) == (DONE, each.text)


@here
@few
def test_the_other_convention(kernel: GcmKernel, harness_folder: Path) -> None:
    harness, key, ctx, rng = begun(kernel, harness_folder, "win64")
    wanted = messages(key, rng.sample(lengths(kernel, rng, MORE), 30), rng)
    for each, done in zip(
        wanted, call(harness, kernel, "seal", [to_seal(ctx, m) for m in wanted]), strict=True
    ):
        assert (done.result, done["out"], done["tag"]) == (DONE, each.sealed, each.tag), each.what
    calls = [to_open(ctx, m, m.tag[:size]) for m in wanted for size in (4, 16)]
    calls += [to_open(ctx, m, bytes(16)) for m in wanted]
    for done in call(harness, kernel, "open", calls[:60]):
        assert done.result == DONE
    for done in call(harness, kernel, "open", calls[60:]):
        assert done.result == DIFFERS
        assert not any(done["out"])


@here
@few
def test_buffers_behind_a_guard_page(kernel: GcmKernel, harness_folder: Path) -> None:
    harness, key, ctx, rng = begun(kernel, harness_folder)
    wanted = messages(key, [(n, n % 17, n % 33) for n in range(1, 40)], rng)
    seals = [to_seal(ctx, m) for m in wanted]
    for each, done in zip(wanted, call(harness, kernel, "seal", seals, at_start=True), strict=True):
        assert (done["out"], done["tag"]) == (each.sealed, each.tag)
    calls = [to_open(ctx, m, m.tag[: TAGS[i % 7]]) for i, m in enumerate(wanted)]
    for each, done in zip(wanted, call(harness, kernel, "open", calls, at_start=True), strict=True):
        assert (done.result, done["out"]) == (DONE, each.text)


@here
@samples
def test_a_tag_of_any_length_is_compared_whole(kernel: GcmKernel, harness_folder: Path) -> None:
    harness, key, ctx, rng = begun(kernel, harness_folder)
    each = message(key, rng.randbytes(12), rng.randbytes(5), rng.randbytes(37))
    right = [to_open(ctx, each, each.tag[:size]) for size in TAGS]
    assert [done.result for done in call(harness, kernel, "open", right)] == [DONE] * len(TAGS)
    wrong = [
        to_open(
            ctx, each, bytes(byte ^ (1 << bit % 8) * (i == bit // 8) for i, byte in enumerate(tag))
        )
        for tag in (each.tag[:size] for size in TAGS)
        for bit in range(8 * len(tag))
    ]
    assert len(wrong) == 8 * sum(TAGS)
    for done in call(harness, kernel, "open", wrong):
        assert done.result == DIFFERS
        assert done["out"] == bytes(37)


@here
@samples
def test_of_a_wrong_message_nothing_is_left(kernel: GcmKernel, harness_folder: Path) -> None:
    harness, key, ctx, rng = begun(kernel, harness_folder)
    sizes = [*range(34), 16 * kernel.blocks + 1, 48 * kernel.blocks + 31]
    wanted = messages(key, [(12, 3, size) for size in sizes], rng)
    for in_place in (False, True):
        calls = [to_open(ctx, each, rng.randbytes(16)) for each in wanted]
        for each, done in zip(wanted, call(harness, kernel, "open", calls, in_place), strict=True):
            assert (done.result, done["out"]) == (DIFFERS, bytes(len(each.text)))


TOO_LONG = {
    "iv_len": (0, 2**61, TOP),
    "aad_len": (2**61, TOP - 15, TOP),
    "len": (2**36 - 31, 2**36, 2**63, TOP - 31, TOP),
    "tag_len": (*range(4), *range(5, 8), *range(9, 12), 17, 2**32 + 16, TOP),
}
"""Numbers of bytes that the standard does not allow."""


@here
@few
def test_lengths_that_the_standard_does_not_allow(kernel: GcmKernel, harness_folder: Path) -> None:
    harness, key, ctx, rng = begun(kernel, harness_folder)
    each = message(key, rng.randbytes(12), b"aad", rng.randbytes(40))
    for name, values in (("seal", to_seal(ctx, each)), ("open", to_open(ctx, each, each.tag))):
        function = functions_of(kernel)[name]
        given = prepared(kernel, name, values)
        for at, param in enumerate(function.params):
            for number in TOO_LONG.get(param.name, ()):
                call_ = [number if i == at else x for i, x in enumerate(given)]
                (done,) = harness.call(kernel.name, name, [call_])
                assert not done.violations
                answer = answered(function, done.buffers, done.register)
                assert answer.result == REFUSED, (param.name, number)
                assert all({*data} == {0xA5} for data in answer.buffers.values())


@here
def test_wrong_messages_would_be_noticed(harness_folder: Path) -> None:
    kernel = SAMPLE[4]
    harness, key, ctx, rng = begun(kernel, harness_folder)
    each = message(key, rng.randbytes(12), rng.randbytes(20), rng.randbytes(50))
    right = to_open(ctx, each, each.tag)
    for name in ("iv", "aad", "in"):
        data = right[name]
        assert isinstance(data, bytes)
        wrong = {**right, name: data[:-1] + bytes([data[-1] ^ 1])}
        (done,) = call(harness, kernel, "open", [wrong])
        assert done.result == DIFFERS
    other = Key(rng.randbytes(kernel.key_bytes))
    (done,) = call(harness, kernel, "seal", [to_seal(context(harness, kernel, other), each)])
    assert done["tag"] != each.tag
    assert done["out"] != each.sealed


@each_syntax
@pytest.mark.parametrize("kernel", [SAMPLE[8], SHORT[8]], ids=lambda kernel: kernel.name)
def test_every_syntax_is_assembled_to_the_same_bytes(kernel: GcmKernel, syntax: str) -> None:
    assert made(kernel, syntax=syntax).code.code == made(kernel).code.code


def test_what_open_keeps_of_the_text_is_wiped() -> None:
    kernel = GcmKernel(128, "avx", "winograd", "clmul1", 8)
    for function in ("seal", "open"):
        assert "stack" in made(kernel).left(function).names
        assert not made(replace(kernel, wipe=True)).left(function).names


def test_a_seal_in_wide_registers_reads_no_output() -> None:
    kernel = GcmKernel(128, "avx512", "k", "clmul1", 20)
    program = functions_of(kernel)["seal"].program(kernel)
    (loop,) = (block for block in program.blocks if block.label == "group")
    operands = [x for op in loop.ops for x in op.operands if isinstance(x, Mem) and not x.symbol]
    text = [x for x in operands if x.within != IN_TABLE]
    source, out = ({x.disp for x in text if x.base == base} for base in {x.base for x in text})
    assert source == out == {64 * i for i in range(kernel.registers)}
    assert len(text) == 2 * kernel.registers
