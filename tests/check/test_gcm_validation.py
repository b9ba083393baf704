"""Validation of AES-GCM: what is right passes, planted faults are told, what is unknown fails."""

import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from helpers.cpus import AS_FOUND, need
from helpers.emulating import needs_emulator
from helpers.gcm_faults import AVX, PLANTED, WIDE, Planted, hash_after_the_write, made
from helpers.verbs import called

from ghashgen.algebra.field.gcm import gcm_encrypt, j0
from ghashgen.check.validation import ciphers
from ghashgen.check.validation.gcm import cavp, messages, texts, validator
from ghashgen.check.validation.gcm.oracle import Key, differences, text
from ghashgen.check.validation.pyca import encrypt_block
from ghashgen.check.validation.runners import Native, Runner, native
from ghashgen.check.validation.trials import faults, together
from ghashgen.ir.builder import Builder
from ghashgen.ir.program import VReg
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.gcm.parts import lengths
from ghashgen.kernels.target import runnable
from ghashgen.run.built import Built, build
from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import Tool

RIGHT = (
    GcmKernel(128, "sse", "karatsuba", "shift-xor", 2),
    GcmKernel(256, "avx", "winograd", "clmul1", 3, streams=True),
    GcmKernel(192, "avx2", "winograd", "clmul1", 4),
    GcmKernel(256, "avx512vl", "k", "clmul1", 2, messages=False),
    replace(WIDE, wipe=True, streams=True),
    GcmKernel(128, "sse", "winograd", "clmul1", 2, short=True),
    GcmKernel(256, "avx512vl", "k", "clmul1", 4, short=True),
    GcmKernel(192, "avx512", "winograd", "clmul1", 8, short=True, streams=True),
    GcmKernel(128, "sse", "k", "clmul1", 2, streams=True, on_failure="untouched", tags="any"),
    GcmKernel(256, "avx512vl", "k", "clmul1", 2, streams=True, on_failure="untouched", tags="any"),
)
planted_faults = pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name)


def told(runner: Runner, built: Built[GcmKernel], functions: Sequence[str]) -> Iterator[str]:
    """Yield what trials of some functions tell."""
    wanted = validator.wanted_of(built.kernel, 0, runner.sample)
    try:
        for name in functions:
            for some in together(validator.SUITES[name](wanted)):
                yield from faults(runner, built, some)
    except GhashgenError as error:
        yield str(error)


def require_told(planted: Planted, found: Iterator[str]) -> None:
    """Require that one of some lines says what is wrong; the rest is not run."""
    others = []
    for line in found:
        if re.search(planted.words, line):
            return
        others.append(line)
    pytest.fail(f"{planted.words} is in none of {others[:3]}")


def native_runner(built: Built[GcmKernel], folder: Path) -> Native:
    need(built.features)
    return native([built], folder)


@needs_emulator[0]
@planted_faults
def test_a_planted_fault_is_told_in_the_emulator(
    planted: Planted, emulated: Runner, monkeypatch: pytest.MonkeyPatch, nasm: Tool, tmp_path: Path
) -> None:
    built = made(planted, monkeypatch, nasm, tmp_path)
    require_told(planted, told(emulated, built, planted.functions))


@needs_emulator[0]
def test_what_is_wrong_in_place_alone_is_found_at_every_place(
    emulated: Runner, monkeypatch: pytest.MonkeyPatch, nasm: Tool, tmp_path: Path
) -> None:
    (planted,) = (each for each in PLANTED if each.plant is hash_after_the_write)
    found = emulated.check(made(planted, monkeypatch, nasm, tmp_path))
    assert found
    assert all(line.startswith("decrypt, in place, against the pages") for line in found)


@pytest.mark.cpu(AS_FOUND)
def test_aad_whose_length_takes_more_than_32_bits_is_seen(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, harness_folder: Path
) -> None:
    """Cut off the upper bits of a length: nothing but an AAD beyond 2^32 bits has any."""

    def cut(b: Builder, length: VReg) -> VReg:
        return b.from_gpr(b.gpr("gpr_shr", b.gpr("gpr_shl", length, 35), 32))

    monkeypatch.setattr(lengths, "_bits", cut)
    kernel = replace(AVX, blocks=8, messages=True)
    (built,) = build([kernel], runnable("sysv"), tmp_path / "none", tmp_path)
    runner, much = native_runner(built, harness_folder), messages.much_aad(16)
    few = [*messages.tags(16), *messages.refused(16, "open")]
    assert list(faults(runner, built, few)) == []
    (line,) = faults(runner, built, [much])
    assert line.startswith("seal of 37 bytes, AAD of 4294967317: tag from byte 0 on: got ")


@needs_emulator[0]
def test_the_emulator_refuses_aad_that_no_memory_holds(emulated: Runner, tmp_path: Path) -> None:
    kernel = replace(AVX, messages=True)
    (built,) = build([kernel], runnable("sysv"), tmp_path / "none", tmp_path)
    with pytest.raises(GhashgenError, match="no memory for aad; run it natively"):
        list(faults(emulated, built, [messages.much_aad(16)]))


def test_messages_of_every_length_meet_every_length_of_aad() -> None:
    found = [(len(m.plaintext), len(m.aad)) for m in messages.every_length(16, 79)]
    assert found == [(text, aad) for text in range(80) for aad in range(50)]
    few = [
        (len(m.plaintext), len(m.aad)) for m in messages.every_length(16, 79, messages.one_of_all)
    ]
    assert [text for text, _ in few] == [*range(80)]
    for first in range(30):
        assert {aad for _, aad in few[first : first + 50]} == {*range(50)}
    assert {len(m.iv) for m in messages.ivs(16)} >= {*range(1, 301), 4097}
    counts = {len(messages.cavp(size, name)) for size in (16, 24, 32) for name in ("seal", "open")}
    assert counts == {7875}


def test_a_short_iv_is_as_the_specification_has_it() -> None:
    rng = random.Random(5)
    for size in (1, 7, 200):
        key = Key(rng.randbytes(16))
        iv, aad, plaintext = rng.randbytes(size), rng.randbytes(5), rng.randbytes(20)
        found = messages.message(key, iv, aad, plaintext)
        wanted = gcm_encrypt(lambda block, k=key: encrypt_block(k.key, block), iv, plaintext, aad)
        assert (found.ciphertext, found.tag) == wanted


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize("planted", PLANTED[::4], ids=lambda planted: planted.name)
def test_a_planted_fault_is_told(
    planted: Planted,
    monkeypatch: pytest.MonkeyPatch,
    nasm: Tool,
    tmp_path: Path,
    harness_folder: Path,
) -> None:
    built = made(planted, monkeypatch, nasm, tmp_path)
    require_told(planted, told(native_runner(built, harness_folder), built, planted.functions))


@needs_emulator[0]
@pytest.mark.parametrize("kernel", RIGHT, ids=lambda kernel: kernel.name)
def test_a_right_kernel_passes_in_the_emulator(
    kernel: GcmKernel, emulated: Runner, tmp_path: Path
) -> None:
    (built,) = build([kernel], runnable("sysv"), tmp_path / "none", tmp_path)
    found = validator.validator([built])(emulated, built)
    assert found.ok, found.failures[:3]
    assert found.how == "emulated"
    assert found.cases > 2 * found.longest_tail


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize(
    ("kernel", "abi"),
    [*((kernel, "sysv") for kernel in RIGHT), (RIGHT[1], "win64"), (RIGHT[4], "win64")],
)
def test_a_right_kernel_passes(
    kernel: GcmKernel, abi: str, tmp_path: Path, harness_folder: Path
) -> None:
    """One of them with every case, as `ghashgen validate` runs all of the catalogue."""
    (built,) = build([kernel], runnable(abi), tmp_path / "none", tmp_path)
    runner = native_runner(built, harness_folder)
    every = (kernel, abi) == (RIGHT[1], "sysv")
    found = validator.validator([built])(runner if every else replace(runner, sample=16), built)
    assert found.ok, found.failures[:3]
    least = 2 * found.longest_tail
    if every:
        # Every pair of lengths to seal and to open, and the records of CAVP.
        least = 100 * found.longest_tail + 4 * len(cavp.texts(kernel.key_bytes))
    assert found.cases > least


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize("option", [{"on_failure": "untouched"}, {"tags": "any"}])
def test_a_kernel_with_an_option_is_told_from_one_without(
    option: dict[str, Any], tmp_path: Path, harness_folder: Path
) -> None:
    plain = GcmKernel(128, "sse", "k", "clmul1", 1)
    for kernel, claimed in ((plain, replace(plain, **option)), (replace(plain, **option), plain)):
        (built,) = build([kernel], runnable("sysv"), tmp_path / "none", tmp_path)
        runner = replace(native_runner(built, harness_folder), sample=64)
        for as_claimed, right in ((kernel, True), (claimed, False)):
            wanted = validator.wanted_of(as_claimed, 0, runner.sample)
            trials = wanted.fitted(validator.SUITES["open"](wanted))
            found = (line for some in together(trials) for line in faults(runner, built, some))
            assert (next(found, None) is None) == right


def test_a_function_that_nothing_is_known_of_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (built,) = build([AVX], runnable("sysv"), tmp_path / "none", tmp_path)
    without = {name: suite for name, suite in validator.SUITES.items() if name != "decrypt"}
    monkeypatch.setattr(validator, "SUITES", without)

    class NoRunner:
        how, sample = "not at all", 10_000

        def __getattr__(self, name: str) -> Callable[..., list[Any]]:
            return lambda *arguments: []

    monkeypatch.setattr("ghashgen.check.validation.trials.run", lambda *arguments: (0, []))
    monkeypatch.setattr(validator, "calls", lambda *arguments: {})
    found = validator.validator([built])(NoRunner(), built)
    assert found.failures == ("nothing validates decrypt",)


@pytest.mark.cpu(AS_FOUND)
def test_the_verb_says_what_it_ran_and_what_not(tmp_path: Path) -> None:
    words = ["validate", "--family", "gcm", "--key", "128", "--isa", "sse", "--blocks", "2"]
    words += ["--multiply", "k", "--reduce", "clmul1", "--json"]
    done = called(*words)
    (row,) = json.loads(done.stdout)
    assert row["ok"]
    assert row["name"] == "gcm128_sse_k_clmul1_x2"
    assert row["longest_tail"] == 5 * 16 + 15
    assert row["random_points"] is None
    assert "random points: only for kernels of GHASH and POLYVAL" in done.stderr


@pytest.mark.parametrize("size", [16, 24, 32])
def test_the_oracle_leads_to_any_counter_and_state(size: int) -> None:
    rng = random.Random(size)
    key = Key(rng.randbytes(size))
    counter = rng.randbytes(12) + b"\xff\xff\xff\xff"
    assert j0(key.h, key.iv_of(counter)) == counter
    for length in (0, 1, 16, 40):
        found = text(key, counter, rng.randbytes(16), rng.randbytes(length))
        assert list(differences(found)) == []
        assert list(differences(replace(found, x=bytes(16)))) == ["the state"]
        other = replace(found, counter=bytes(16))
        assert list(differences(other)) == ["the ciphertext"] * bool(length)


def test_answers_that_differ_from_the_specification_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def wrong(key: Key, counter: bytes, x: bytes, plaintext: bytes) -> object:
        return replace(text(key, counter, x, plaintext), x_after=bytes(16))

    monkeypatch.setattr(texts, "text", wrong)
    texts.every_length.cache_clear()
    with pytest.raises(GhashgenError, match="pyca and the specification differ on the state of 0"):
        texts.every_length(16, 3)
    texts.every_length.cache_clear()


def test_counters_carry_before_every_block_of_two_groups() -> None:
    lasts = [int.from_bytes(found.counter[12:], "big") for found in texts.wraps(16, 3)]
    for number in ciphers.CARRIES:
        assert {(number - at) % 2**32 for at in range(9)} <= {*lasts}
    prefixes = {found.counter[:12] for found in texts.wraps(16, 3)}
    assert b"\xff" * 12 in prefixes
    assert len(prefixes) > 4


def test_counters_of_messages_carry_before_every_block_of_two_groups() -> None:
    found = messages.wraps(16, 3)
    lasts = [int.from_bytes(j0(Key(m.key).h, m.iv)[12:], "big") for m in found]
    for number in ciphers.CARRIES:
        assert {(number - at - 1) % 2**32 for at in range(9)} <= {*lasts}
    assert {len(m.iv) for m in found} == {16}
    assert {len(m.plaintext) for m in found} == {7 * 16 + 15}


def test_records_are_all_those_with_96_bit_ivs(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is made of a record takes most of the time, and is compared with kernels elsewhere."""
    monkeypatch.setattr(cavp, "_text", lambda record, plaintext: record)
    for size in (16, 24, 32):
        found = tuple(cavp._texts(8 * size))
        # 2625 encryptions, and of as many decryptions those whose tags are right.
        assert 2625 < len(found) < 2 * 2625
        assert {len(each.plaintext) for _, each in found} == {0, 13, 16, 32, 51}
