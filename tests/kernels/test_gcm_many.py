"""Many messages in one call: bursts of all mixes of lengths, right, and wrong by planted faults."""

import ctypes
import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from helpers.cpus import AS_FOUND, lacking, need
from helpers.emulating import needs_emulator, pooled
from helpers.examples import ROOT, WARNINGS, run
from helpers.verbs import called

from ghashgen.arch.features import FEATURES_OFF
from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.check.proofs import require_provable
from ghashgen.check.validation.gcm import many
from ghashgen.check.validation.runners import Native, native
from ghashgen.check.validation.trials import calls, faults
from ghashgen.kernels.gcm.catalogue import catalogue
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.gcm.parts.records import RECORD_BYTES, WORDS
from ghashgen.kernels.target import runnable, target
from ghashgen.output.generate import generate
from ghashgen.run.built import Built, build
from ghashgen.run.emulate import Emulator
from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import Tool, assemble, assemble_text, find_cc

here = pytest.mark.cpu(AS_FOUND)
NEEDS = ("avx512bw", "avx512dq", "avx512vl", "bmi2", "vaes", "vpclmulqdq")
EVERY = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 24}


def kernel(key: int) -> GcmKernel:
    """The kernel of the page, or a smaller one with another key: that of 192 bits has `alike`, for
    all numbers of rows.

    The smaller ones wipe, also masks of lengths, which they read from the records.
    """
    blocks = {128: 24, 192: 16, 256: 4}[key]
    many = "alike" if key == 192 else "groups"
    wipe = key != 128
    return GcmKernel(key, "avx512", "k", "clmul1", blocks, short=True, many=many, wipe=wipe)


NARROW = {
    "avx2": GcmKernel(128, "avx2", "winograd", "clmul1", 4, many="groups"),
    "sse": GcmKernel(256, "sse", "k", "clmul1", 2, many="groups"),
    "avx2 alike": GcmKernel(256, "avx2", "winograd", "clmul1", 10, many="alike"),
    "avx alike": GcmKernel(128, "avx", "k", "clmul1", 6, many="alike", wipe=True),
}
"""Groups in registers of two lanes, and of one."""

IN_TURN = GcmKernel(128, "sse", "winograd", "clmul1", 2, many="each")
"""It processes one message after another."""


def commands() -> list[str]:
    """The lines of docs/gcm-many.md that generate a kernel, build the example and run it."""
    page, _, _ = (
        (ROOT / "docs/gcm-many.md").read_text(encoding="utf-8").partition("## Which messages")
    )
    blocks = re.findall(r"^```sh\n(.*?)^```$", page, re.M | re.S)
    return [line for block in blocks for line in block.replace("\\\n", "").splitlines()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the page's first command has been given."""
    here = tmp_path_factory.mktemp("many")
    (here / "generated").symlink_to(ROOT / "generated")
    words = shlex.split(commands()[0])
    assert (words[0], words[-2]) == ("ghashgen", "--out")
    called(*words[1:-1], str(here / words[-1]))
    return here


@pytest.fixture(scope="module")
def small(folder: Path) -> Built:
    (one,) = build([kernel(128)], runnable("sysv"), folder / "folder", folder)
    assert one.source != "rendered"
    return one


@pytest.fixture(scope="module", params=[128, 192, 256])
def built(request: pytest.FixtureRequest, small: Built, folder: Path) -> Built:
    if request.param == 128:
        return small
    (one,) = build([kernel(request.param)], runnable("sysv"), folder / "none", folder)
    return one


@here
def test_the_examples_of_the_page_open_all_packets_but_the_changed_one(folder: Path) -> None:
    _, assembled, *lines = commands()
    done = run(assembled, folder, [])
    assert done.returncode == 0, done.stderr
    for line, printed in zip(lines, ("ffffffdf", "fffffdff"), strict=True):
        built, start = line.split(" && ")
        done = run(built, folder, WARNINGS)
        assert done.returncode == 0, done.stderr
        if not lacking(NEEDS):
            done = run(start, folder, [])
            assert (done.returncode, done.stdout) == (0, f"{printed}\n")


@pytest.fixture(scope="module", params=list(NARROW))
def narrow(request: pytest.FixtureRequest, folder: Path) -> Built:
    (one,) = build([NARROW[request.param]], runnable("sysv"), folder / "none", folder)
    return one


def runner(built: Built, folder: Path) -> Native:
    need(built.features)
    return native([built], folder)


def told(native: Native, built: Built, function: str, sample: int) -> Iterator[str]:
    """Yield what bursts tell of a function."""
    try:
        yield from faults(native, built, many.trials(built.key_bytes, function, sample))
    except GhashgenError as error:
        yield str(error)


@here
@pytest.mark.parametrize("function", many.FUNCTIONS)
def test_every_message_of_a_burst_is_as_by_another_library(
    built: Built, function: str, harness_folder: Path
) -> None:
    assert not list(told(runner(built, harness_folder), built, function, 4))


@here
def test_every_message_of_a_group_in_narrow_registers_is_too(
    narrow: Built, harness_folder: Path
) -> None:
    native = runner(narrow, harness_folder)
    for function in many.FUNCTIONS:
        assert not list(told(native, narrow, function, 4))
    own = {name: many.placed(narrow.key_bytes, narrow.blocks, name) for name in many.FUNCTIONS}
    assert native.placed(narrow, calls(native, narrow, own)) == []


@here
@pytest.mark.parametrize("function", many.FUNCTIONS)
def test_messages_in_turn_are_as_by_another_library(
    function: str, harness_folder: Path, tmp_path: Path
) -> None:
    (one,) = build([IN_TURN], runnable("sysv"), tmp_path / "none", tmp_path)
    assert not list(told(runner(one, harness_folder), one, function, 16))


@here
def test_records_and_buffers_may_lie_anywhere(small: Built, harness_folder: Path) -> None:
    native, key = runner(small, harness_folder), small.key_bytes
    own = {name: many.placed(key, small.blocks, name) for name in many.FUNCTIONS}
    assert native.placed(small, calls(native, small, own)) == []
    (wrong,) = own["seal_many"]
    held = {name: wrong.pointers[name][:-1] for name in wrong.pointers}
    (line,) = native.placed(
        small, calls(native, small, {"seal_many": [replace(wrong, pointers=held)]})
    )
    assert "buffers against the pages behind them" in line


def test_bursts_have_every_count_and_every_status() -> None:
    for function in many.FUNCTIONS:
        bursts = many.trials(16, function, 4)
        counts = {len(each.given["messages"]) // RECORD_BYTES for each in bursts}
        assert {0, *EVERY} <= counts
        ends = [part.wanted for each in bursts for part in each.parts if part.name == "messages"]
        statuses = {w[at - 8] for w in ends for at in range(RECORD_BYTES, len(w) + 1, RECORD_BYTES)}
        assert statuses == ({0, 2} if function == many.SEAL else {0, 1, 2})


PLANTED = [
    ("swapped lanes", "seal_many", r"0x01( +; tags: lane 1)", r"0x02\1", r"tag \d+ from byte 0"),
    ("a tag in another's place", "seal_many", r"\[rsi - 208\]( +; tags: tag)", r"[rsi - 128]\1",
     r"tag \d+ from byte 0"),
    ("a tail in the next bytes", "seal_many", r"(vmovdqu8 +\[\w+\])\{k1\}(.*written)", r"\1\2",
     r"past the end|write at out"),
    ("another's status", "seal_many", r"\[rsi - 168\](.*tags: status)", r"[rsi - 88]\1",
     r"messages from byte 152 on: got 4d"),
    ("another's status", "open_many", r"\[rsi - 168\](.*tags: status)", r"[rsi - 88]\1",
     r"messages from byte 152 on: got 4d"),
    ("a group of three", "seal_many", r"(cmp +rax, )0x04(\n    jb +\.one\b)", r"\g<1>0x03\2",
     r"messages"),
    ("a group that is counted as three", "seal_many", r"(sub +\w+, )0x04(\n)", r"\g<1>0x03\2",
     r"messages"),
    ("one message less", "open_many", r"0x50( +; the next message)", r"0xa0\1", r"messages"),
    ("the verdict of a neighbour", "open_many", r"(shr +rbx, )0x02", r"\g<1>0x01",
     r"past the end"),
    ("a text that is not cleared", "open_many", r"vmovdqu64 +\[\w+\], \w+ +; zeros", "nop",
     r"out \d+ from byte"),
]  # fmt: skip
"""(fault, function, what stands in its text, what is put there, how it is told)"""


PLANTED_NARROW = [
    ("swapped lanes", "seal_many", r"(vextracti128 +\[\w+\], ymm\d+, )0x01( +; tags: written)",
     r"\g<1>0x00\2", r"tag \d+ from byte 0"),
    ("AAD of another", "seal_many", r"\[rsi - 152\]( +; aad)", r"[rsi - 72]\1",
     r"tag \d+ from byte 0"),
    ("a tail in the next bytes", "seal_many", r"( \+ \w+) - 16\](.*; AES: written)", r"\1]\2",
     r"past the end|write at out"),
    ("a tail that is not moved up", "seal_many", r"vpshufb +\w+, \w+, \w+ +; AES: moved up", "nop",
     r"out \d+ from byte"),
    ("another's status", "open_many", r"\[rsi - 88\](.*tags: status)", r"[rsi - 8]\1",
     r"messages from byte \d+ on: got 4d"),
    ("the verdict of a neighbour", "open_many", r"(shr +rbx, )0x01", r"\g<1>0x02",
     r"messages|out \d+ from byte"),
    ("a group that is counted as one less", "seal_many", r"(sub +\w+, )0x04(\n)", r"\g<1>0x03\2",
     r"messages"),
]  # fmt: skip
"""The same for messages in registers of two lanes."""


@here
@pytest.mark.parametrize("planted", PLANTED, ids=lambda one: f"{one[1]} {one[0]}")
def test_a_planted_fault_is_told(
    small: Built, planted: tuple[str, ...], nasm: Tool, tmp_path: Path
) -> None:
    fault_is_told(small, planted, nasm, tmp_path)


@here
@pytest.mark.parametrize("narrow", ["avx2"], indirect=True)
@pytest.mark.parametrize("planted", PLANTED_NARROW, ids=lambda one: f"{one[1]} {one[0]}")
def test_a_fault_planted_in_narrow_registers_is_told(
    narrow: Built, planted: tuple[str, ...], nasm: Tool, tmp_path: Path
) -> None:
    fault_is_told(narrow, planted, nasm, tmp_path)


def fault_is_told(small: Built, planted: tuple[str, ...], nasm: Tool, tmp_path: Path) -> None:
    _, function, old, new, words = planted
    before, _, own = small.obj.with_suffix(".asm").read_text().partition(f"_{function}:\n")
    own, end, after = own.partition("\n.end:")
    changed, count = re.subn(old, new, own)
    assert count
    obj = tmp_path / "planted.o"
    text = f"{before}_{function}:\n{changed}{end}{after}"
    obj.write_bytes(assemble_text(nasm, "planted", text, "elf64"))
    wrong = replace(small, obj=obj)
    lines = list(told(runner(wrong, tmp_path), wrong, function, 16))
    assert any(re.search(words, line) for line in lines), lines[:3]


@needs_emulator[0]
def test_the_emulator_passes_records_too(emulator: Emulator, small: Built) -> None:
    runner, key = pooled(emulator), small.key_bytes
    for function in many.FUNCTIONS:
        few = [one for one in many.trials(key, function, 16) if len(one.parts) < 40]
        assert list(faults(runner, small, few[:20])) == []
        wrong = replace(few[3], parts=[replace(few[3].parts[-1], wanted=bytes(8) + b"1")])
        (line,) = faults(runner, small, [wrong])
        assert "messages from byte 8 on" in line


BURST = """
#include <stdio.h>
#include "ghashgen_gcm_dispatch.h"
enum { COUNT = 5, LEN = 40 };
int main(void)
{
    static struct ghashgen_gcm_key key;
    static uint8_t bytes[16], iv[COUNT][12], text[COUNT][LEN + 16];
    static struct ghashgen_message m[COUNT];
    if (!ghashgen_gcm_key_init(&key, GHASHGEN_GCM_BURSTS, bytes, sizeof bytes))
        return 1;
    for (size_t i = 0; i < COUNT; i++) {
        iv[i][0] = (uint8_t)i;
        m[i] = (struct ghashgen_message){.iv = iv[i], .iv_len = 12, .aad = iv[i], .aad_len = 8,
            .in = text[i], .out = text[i], .len = LEN, .tag = text[i] + LEN, .tag_len = 16};
    }
    m[3].iv_len = 0;
    ghashgen_gcm_key_seal_many(&key, m, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        for (size_t j = 0; j < LEN + 16; j++)
            printf("%02x", text[i][j]);
        printf(" %u\\n", (unsigned)m[i].status);
    }
    text[2][7] ^= 1;
    ghashgen_gcm_key_open_many(&key, m, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        printf("%u", (unsigned)m[i].status);
    printf(" %s\\n", key.kernel->seal_many ? "at once" : "in turn");
    return 0;
}
"""


@here
def test_the_dispatcher_takes_bursts_on_any_cpu(folder: Path, tmp_path: Path) -> None:
    kernels, plain = folder / "folder", GcmKernel(128, "sse", "k", "clmul1", 2)
    # Convention prefers this one, but for bursts.
    wide = GcmKernel(128, "avx512", "winograd", "clmul1", 4)
    generate([plain, wide], target(), kernels)
    (tmp_path / "burst.c").write_text(BURST)
    objects = []
    for source in sorted(kernels.glob("*/*.asm")):
        objects.append(tmp_path / f"{source.stem}.o")
        assemble(find_nasm(), source, objects[-1])
    cc = [*find_cc().command, "-std=c11", *WARNINGS[:3], "-Werror", f"-I{kernels}", *objects]
    sources = [tmp_path / "burst.c", kernels / "ghashgen_gcm_dispatch.c"]
    subprocess.run([*cc, *sources, "-o", tmp_path / "burst"], check=True)
    wanted = [
        (bytes(56) if i == 3 else AESGCM(bytes(16)).encrypt(iv, bytes(40), iv[:8])).hex()
        + f" {2 if i == 3 else 0}"
        for i, iv in enumerate(bytes([i]) + bytes(11) for i in range(5))
    ]
    here = "in turn" if lacking(NEEDS) else "at once"
    for off, way in (("", here), ("avx512f", "in turn")):
        done = subprocess.run(
            [tmp_path / "burst"],
            env={**os.environ, FEATURES_OFF: off},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.splitlines() == [*wanted, f"00120 {way}"]


def test_what_is_not_proved_is_refused_and_stays_out_of_the_catalogue() -> None:
    with pytest.raises(GhashgenError, match="in all groups, and these are not proved yet"):
        require_provable([kernel(128)])
    require_provable([IN_TURN, kernel(192)])
    assert {one.many for one in catalogue()} == {"none", "alike"}


@pytest.mark.parametrize(
    ("isa", "multiply", "changes"),
    [
        ("avx", "k", {"messages": False}),
        ("avx2", "k", {"key": 256, "compact": True}),
        ("avx512", "winograd", {}),
        ("avx512", "k", {"messages": False}),
        ("avx512", "k", {"order": "natural"}),
        ("avx512vl", "k", {}),
        ("avx512vl", "k", {"many": "alike"}),
        ("avx2", "k", {"many": "alike", "blocks": 4}),
    ],
)
def test_kernels_that_cannot_have_it_refuse(
    isa: str, multiply: str, changes: dict[str, object]
) -> None:
    with pytest.raises(GhashgenError, match="many"):
        GcmKernel(
            **{"key": 128, "blocks": 8, "many": "groups", **changes},  # type: ignore[arg-type]
            isa=isa, multiply=multiply, reduce="clmul1",
        )  # fmt: skip


def test_a_record_is_as_the_header_says() -> None:
    class Record(ctypes.Structure):
        _fields_ = [(word, ctypes.c_uint64) for word in WORDS]

    assert ctypes.sizeof(Record) == RECORD_BYTES
