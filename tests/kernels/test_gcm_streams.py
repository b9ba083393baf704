"""Messages in pieces on this CPU: the state that one call leaves is what the next one gets."""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from helpers.cpus import AS_FOUND
from helpers.examples import ROOT, WARNINGS, need_the_cpu, run
from helpers.gcm import Key, context, made
from helpers.gcm_sample import SAMPLE as TEXTS
from helpers.gcm_sample import harness_of
from helpers.sealing import DIFFERS, DONE, REFUSED, TAGS, Message, call, iv_for, message
from helpers.syntaxes import each_syntax

from ghashgen.kernels.families import functions_of
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.run.arguments import Answer
from ghashgen.run.harness import Harness

here = pytest.mark.cpu(AS_FOUND)
SAMPLE = tuple(replace(kernel, messages=False, streams=True) for kernel in TEXTS)
samples = pytest.mark.parametrize("kernel", SAMPLE, ids=lambda kernel: kernel.name)
few = pytest.mark.parametrize("kernel", [SAMPLE[6], SAMPLE[10], SAMPLE[11]], ids=lambda k: k.name)
MISPLACED = 3
PAGE = (ROOT / "docs/gcm-streams.md").read_text(encoding="utf-8")
KEY = "feffe9928665731c6d6a8f9467308308"
TEXT = (
    "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
    "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39"
)
"""Of test case 4 of GCM's own document, which the example takes."""
STATE = 96
MORE = {True: "encrypt_more", False: "decrypt_more"}


@dataclass
class Stream:
    """A message on its way, by one kernel."""

    harness: Harness
    kernel: GcmKernel
    ctx: bytes
    state: bytes = bytes(STATE)
    out: bytes = b""
    results: list[int | None] = field(default_factory=list)

    def __call__(self, function: str, in_place: bool = False, **values: bytes) -> Answer:
        given = {"ctx": self.ctx, **values}
        if function != "start":
            given["state"] = self.state
        (done,) = call(self.harness, self.kernel, function, [given], in_place)
        self.state = done["state"]
        self.out += done.buffers.get("out", b"")
        self.results.append(done.result)
        return done

    def whole(
        self,
        each: Message,
        aad: Sequence[bytes],
        text: Sequence[bytes],
        encrypts: bool,
        in_place: bool = False,
    ) -> None:
        """Everything up to the tag."""
        self.out, self.results = b"", []
        self("start", iv=each.iv)
        for piece in aad:
            self("aad", aad=piece)
        for piece in text:
            self(MORE[encrypts], in_place, **{"in": piece})
        assert self.out == (each.sealed if encrypts else each.text), each.what
        assert {*self.results} == {DONE}


def begun(kernel: GcmKernel, folder: Path, abi: str = "sysv") -> tuple[Stream, Key, random.Random]:
    harness, rng = harness_of(kernel, folder, abi), random.Random(kernel.name)
    key = Key(rng.randbytes(kernel.key_bytes))
    return Stream(harness, kernel, context(harness, kernel, key)), key, rng


def pieces(rng: random.Random, data: bytes, most: int) -> Iterator[bytes]:
    while data:
        size = rng.randrange(most + 1)
        yield data[:size]
        data = data[size:]


def bytewise(data: bytes) -> list[bytes]:
    return [data[i : i + 1] for i in range(len(data))]


@here
@samples
def test_messages_in_pieces_are_as_another_library_seals_them(
    kernel: GcmKernel, harness_folder: Path
) -> None:
    stream, key, rng = begun(kernel, harness_folder)
    group = 16 * kernel.blocks
    for turn, most in enumerate((1, 5, 20, 40, group + 20, 4 * group)):
        # Each piece is a run of the harness, so the more of them there are, the shorter.
        sizes = (rng.choice((12, 60)), rng.randrange(40), min(12 * most, 4 * group + 40))
        each = message(key, *map(rng.randbytes, sizes))
        for encrypts in (True, False):
            source = each.text if encrypts else each.sealed
            aad, text = list(pieces(rng, each.aad, most)), list(pieces(rng, source, most))
            stream.whole(each, aad, text, encrypts, in_place=bool(turn & 1))
            state = stream.state
            assert stream("finish")["tag"] == each.tag, each.what
            assert stream.state == bytes(STATE)
            stream.state = state
            assert stream("verify", tag=each.tag).result == DONE
            assert stream.state == bytes(STATE)


@here
@samples
def test_byte_by_byte(kernel: GcmKernel, harness_folder: Path) -> None:
    stream, key, rng = begun(kernel, harness_folder)
    each = message(key, rng.randbytes(12), rng.randbytes(35), rng.randbytes(50))
    for encrypts in (True, False):
        source = each.text if encrypts else each.sealed
        stream.whole(each, bytewise(each.aad), bytewise(source), encrypts)
        assert stream("finish")["tag"] == each.tag


@here
@samples
def test_the_state_is_laid_out_as_documented(kernel: GcmKernel, harness_folder: Path) -> None:
    stream, key, rng = begun(kernel, harness_folder)
    J0 = rng.randbytes(15) + b"\xff"
    each = message(key, iv_for(key, J0), rng.randbytes(5), rng.randbytes(37))
    stream.whole(each, [each.aad], [each.text], True)
    counter = J0[:12] + (int.from_bytes(J0[12:], "big") + 4).to_bytes(4, "big")
    last = J0[:12] + (int.from_bytes(J0[12:], "big") + 3).to_bytes(4, "big")
    assert stream.state[16:32] == counter
    assert stream.state[32:48] == key.block(J0)
    assert stream.state[48:64] == key.block(last)
    assert [int.from_bytes(stream.state[i : i + 8], "little") for i in range(64, 96, 8)] == [
        5,
        37,
        2,
        0,
    ]


@here
@samples
def test_counters_wrap_inside_and_between_pieces(kernel: GcmKernel, harness_folder: Path) -> None:
    stream, key, rng = begun(kernel, harness_folder)
    for after in (1, 2, kernel.blocks, kernel.blocks + 3):
        J0 = rng.randbytes(12) + (2**32 - after).to_bytes(4, "big")
        each = message(key, iv_for(key, J0), b"", rng.randbytes(32 * kernel.blocks + 40))
        for most in (20, 64 * kernel.blocks):
            stream.whole(each, [], list(pieces(rng, each.text, most)), True)
            assert stream("finish")["tag"] == each.tag


@here
@few
def test_the_other_convention(kernel: GcmKernel, harness_folder: Path) -> None:
    stream, key, rng = begun(kernel, harness_folder, "win64")
    group = 16 * kernel.blocks
    for most in (7, 3 * group):
        each = message(key, rng.randbytes(20), rng.randbytes(70), rng.randbytes(4 * group + 9))
        for encrypts in (True, False):
            source = each.text if encrypts else each.sealed
            aad, text = list(pieces(rng, each.aad, most)), list(pieces(rng, source, most))
            stream.whole(each, aad, text, encrypts)
            assert stream("verify", tag=each.tag[:12]).result == DONE


@here
@samples
def test_a_tag_of_any_length_is_compared_whole(kernel: GcmKernel, harness_folder: Path) -> None:
    stream, key, rng = begun(kernel, harness_folder)
    each = message(key, rng.randbytes(12), rng.randbytes(5), rng.randbytes(37))
    stream.whole(each, [each.aad], [each.sealed], False)
    given: list[dict[str, bytes | int]] = []
    for size in TAGS:
        tag = int.from_bytes(each.tag[:size], "little")
        for wrong in (0, *(1 << bit for bit in range(8 * size))):
            tag_bytes = (tag ^ wrong).to_bytes(size, "little")
            given.append({"ctx": stream.ctx, "state": stream.state, "tag": tag_bytes})
    answers = call(stream.harness, kernel, "verify", given)
    for values, done in zip(given, answers, strict=True):
        tag_bytes = values["tag"]
        assert isinstance(tag_bytes, bytes)
        right = each.tag.startswith(tag_bytes)
        assert (done.result, done["state"]) == (DONE if right else DIFFERS, bytes(STATE))


@here
@few
def test_calls_out_of_order_change_nothing(kernel: GcmKernel, harness_folder: Path) -> None:
    stream, key, rng = begun(kernel, harness_folder)
    each = message(key, rng.randbytes(12), rng.randbytes(20), rng.randbytes(40))

    def refused(state: bytes, *functions: str) -> None:
        for function in functions:
            values = {"aad": {"aad": b"a"}, "finish": {}, "verify": {"tag": each.tag}}
            stream.state = state
            done = stream(function, **values.get(function, {"in": b"p"}))
            assert (done.result, stream.state) == (MISPLACED, state), function

    everything = ("aad", *MORE.values(), "finish", "verify")
    refused(bytes(STATE), *everything)
    stream.whole(each, [each.aad], [], True) if not each.text else stream("start", iv=each.iv)
    stream("aad", aad=each.aad)
    assert stream("encrypt_more", **{"in": b""}).result == DONE
    assert stream("aad", aad=b"").result == DONE
    stream("encrypt_more", **{"in": each.text[:16]})
    state = stream.state
    refused(state, "aad")
    stream.state = state
    stream("encrypt_more", **{"in": each.text[16:]})
    assert stream("finish")["tag"] == each.tag
    refused(stream.state, *everything)


@here
@few
def test_a_length_too_long_changes_nothing(kernel: GcmKernel, harness_folder: Path) -> None:
    stream, key, rng = begun(kernel, harness_folder)
    each = message(key, rng.randbytes(12), b"", b"some text")
    stream.whole(each, [], [each.text], True)
    full = (2**36 - 32 - 3).to_bytes(8, "little")
    near = stream.state[:72] + full + stream.state[80:]
    for function in MORE.values():
        stream.state = near
        assert stream(function, **{"in": bytes(4)}).result == REFUSED
        assert stream.state == near
        assert stream(function, **{"in": bytes(3)}).result == DONE
    assert stream("verify", tag=bytes(11)).result == REFUSED
    before = stream.state
    assert stream("encrypt_more", **{"in": b"1"}).result == REFUSED
    assert stream.state == before
    stream("start", iv=each.iv)
    near = stream.state[:64] + (2**61 - 4).to_bytes(8, "little") + stream.state[72:]
    stream.state = near
    assert stream("aad", aad=bytes(4)).result == REFUSED
    assert stream.state == near
    assert stream("aad", aad=bytes(3)).result == DONE


@here
def test_wrong_pieces_would_be_noticed(harness_folder: Path) -> None:
    kernel = SAMPLE[4]
    stream, key, rng = begun(kernel, harness_folder)
    each = message(key, rng.randbytes(12), rng.randbytes(20), rng.randbytes(50))
    stream.whole(each, [each.aad], [each.sealed[:7], each.sealed[7:]], False)
    state = stream.state
    for at in range(64):
        if at in range(16, 32) or at in range(48, 64):
            continue  # a counter and a keystream that no text follows
        stream.state = state[:at] + bytes([state[at] ^ 1]) + state[at + 1 :]
        assert stream("verify", tag=each.tag).result == DIFFERS, at
    with pytest.raises(AssertionError):
        stream.whole(each, [each.aad], [each.sealed[:7], each.sealed[8:]], False)


@each_syntax
@pytest.mark.parametrize("kernel", [SAMPLE[i] for i in (1, 6, 9)], ids=lambda kernel: kernel.name)
def test_every_syntax_is_assembled_to_the_same_bytes(kernel: GcmKernel, syntax: str) -> None:
    assert made(kernel, syntax=syntax).code.code == made(kernel).code.code


@pytest.mark.parametrize("isa", ["sse", "avx", "avx2", "avx512vl", "avx512"])
def test_only_kernels_that_wipe_leave_nothing(isa: str) -> None:
    kernel = GcmKernel(128, isa, "winograd", "clmul1", 4, messages=False, streams=True)
    item, wiping = made(kernel), made(replace(kernel, wipe=True))
    for function in ("start", "aad", *MORE.values(), "finish", "verify"):
        assert item.left(function).names
        assert not wiping.left(function).names


def test_streams_stand_beside_messages() -> None:
    kernel = GcmKernel(128, "avx", "winograd", "clmul1", 8, streams=True)
    assert kernel.name == "gcm128_avx_winograd_clmul1_x8_streams"
    assert tuple(functions_of(kernel))[-8:] == (
        "seal", "open", "start", "aad", "encrypt_more", "decrypt_more", "finish", "verify",
    )  # fmt: skip


@here
def test_the_example_of_the_page_is_built_and_run(tmp_path: Path) -> None:
    """By the page's own lines; what it writes is as another library has it."""
    (block,) = (
        text for text in re.findall(r"^```sh\n(.*?)^```$", PAGE, re.M | re.S) if "nasm" in text
    )
    assemble, build = block.splitlines()
    compile_, start = build.split(" && ")
    for line, options in ((assemble, []), (compile_, WARNINGS)):
        found = run(line, tmp_path, options)
        assert (found.returncode, found.stderr) == (0, "")
    need_the_cpu()
    found = run(start, tmp_path, [])
    assert (found.returncode, found.stderr) == (0, "")
    key, iv = (bytes.fromhex(v) for v in (KEY, "cafebabefacedbaddecaf888"))
    aad = bytes.fromhex("feedfacedeadbeef" * 2 + "abaddad2")
    assert bytes.fromhex(found.stdout) == iv + AESGCM(key).encrypt(iv, bytes.fromhex(TEXT), aad)


def test_the_page_quotes_the_example_and_the_prototypes() -> None:
    source = (ROOT / "harness/examples/pieces.c").read_text(encoding="utf-8")
    interface, piece = re.findall(r"^```c\n(.*?)^```$", PAGE, re.M | re.S)
    assert piece in source
    functions = functions_of(SAMPLE[2])
    assert interface.splitlines() == [
        f"{functions[name].prototype(f'NAME_{name}')};"
        for name in ("start", "aad", *MORE.values(), "finish", "verify")
    ]
