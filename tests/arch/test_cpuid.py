"""CPU features come from decoded bytes; what a set expects of its kernels is compared with them."""

import re
from pathlib import Path

import pytest
from helpers.verify_objects import assembled
from iced_x86 import Decoder

from ghashgen.arch.objects import read_object
from ghashgen.arch.x86_64.cpuid import cpu_features
from ghashgen.arch.x86_64.features import FEATURES
from ghashgen.kernels import manifest
from ghashgen.kernels.core import Point
from ghashgen.kernels.ctr.kernel import CtrKernel
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.hash.catalogue import catalogue as hashes
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.selection import catalogue
from ghashgen.support import parallel
from ghashgen.support.paths import project_root

FOLDER = project_root() / "generated"

# By the instruction pages of the Intel SDM, volume 2, column "CPUID Feature Flag".
NEEDS = (
    ("pxor xmm0, xmm1", "sse2"),
    ("pshufb xmm0, xmm1", "ssse3"),
    ("pclmulqdq xmm0, xmm1, 0", "pclmulqdq"),
    ("vpclmulqdq xmm0, xmm1, xmm2, 0", "avx pclmulqdq"),
    ("vpclmulqdq ymm0, ymm1, ymm2, 0", "avx vpclmulqdq"),
    ("vpclmulqdq zmm0, zmm1, zmm2, 0", "avx512f vpclmulqdq"),
    ("vpclmulqdq ymm16, ymm1, ymm2, 0", "avx512f avx512vl vpclmulqdq"),
    ("vpshufb xmm0, xmm1, xmm2", "avx"),
    ("vpshufb ymm0, ymm1, ymm2", "avx2"),  # with AVX, which every CPU with AVX2 has
    ("vpshufb ymm16, ymm1, ymm2", "avx512bw avx512f avx512vl"),
    ("vpxorq zmm0, zmm1, zmm2", "avx512f"),
    ("vgf2p8affineqb ymm0, ymm1, ymm2, 0", "avx gfni"),
    ("vgf2p8affineqb zmm0, zmm1, zmm2, 0", "avx512f gfni"),
    ("bzhi rax, rcx, rdx", "bmi2"),
    ("vzeroupper", "avx"),
    ("endbr64", ""),
    ("mov rax, rcx", ""),
    ("nop dword [rax]", ""),
)


@pytest.mark.parametrize(("line", "needs"), NEEDS)
def test_an_instruction_needs_what_the_manual_says(line: str, needs: str) -> None:
    code = read_object(assembled(f"section .text\nf: {line}\n")).code
    assert set(cpu_features(Decoder(64, code))) - {"avx"} == set(needs.split()) - {"avx"}
    assert ("avx" in cpu_features(Decoder(64, code))) == ("avx" in needs.split() or "avx2" in needs)


WITH_AES = {
    "sse": {"aesni", "sse4_1"},
    "avx": {"aesni"},
    "avx2": {"aesni", "vaes"},
    "avx512": {"aesni", "vaes"},
}
"""What AES adds to a set's GHASH: keys are expanded in narrow registers even where text is not."""


OF_CTR = {
    "sse": {"aesni", "sse2", "sse4_1", "ssse3"},
    "avx": {"aesni", "avx"},
    "avx2": {"aesni", "avx", "avx2", "vaes"},
    "avx512": {"aesni", "avx", "avx512bw", "avx512dq", "avx512f", "avx512vl", "vaes"},
}
"""What AES-CTR needs: no carry-less products, and masks of 16 bits."""


def expected(kernel: Point) -> tuple[str, ...]:
    """What a kernel should need: what all of its set do, and the way of its bytes' order."""
    if isinstance(kernel, CtrKernel):
        return tuple(sorted(OF_CTR[kernel.isa]))
    if isinstance(kernel, GcmKernel):
        # Masks of lengths; and pieces of two blocks, in registers of just that width.
        more = {"bmi2"} if kernel.many == "alike" and kernel.isa == "avx512" else set()
        more |= {"avx2"} if kernel.isa == "avx512" and (kernel.streams or kernel.short) else set()
        return tuple(sorted({*expected(kernel.hash), *WITH_AES[kernel.isa], *more}))
    assert isinstance(kernel, Kernel)
    isa, wide = kernel.instruction_set, 128 * kernel.lane_count
    if kernel.op == "polyval":
        operations = []
    elif kernel.order == "natural":
        operations = [("reverse_bits", wide)]
    else:
        wider = [("shuffle_bytes", 256)] if kernel.swap == "stack" else []
        operations = [("shuffle_bytes", 128), *wider]
    rows = [isa.rows[step.row] for code, width in operations for step in isa.steps(code, width)]
    found = {*isa.features, *(name for row in rows for name in row.features)} - {"avx512bw"}
    return tuple(sorted(found | ({"avx512bw"} if moves_bytes(kernel) else set())))


def moves_bytes(kernel: Kernel) -> bool:
    """Whether bytes move within a zmm register, or within one above 15: all else has a VEX form."""
    if kernel.isa == "avx512":
        return kernel.op != "polyval"
    high = kernel.powers == "registers" or kernel.pipeline == "ahead"
    return kernel.isa == "avx512vl" and high


def emitted(entry: manifest.Entry, text: str) -> tuple[str, ...]:
    """The features of the functions that a kernel exports."""
    code = read_object(assembled(text))
    bodies = (code.function(symbol) for symbol in entry.symbols.values())
    return cpu_features(instruction for body in bodies for instruction in body)


def text_of(entry: manifest.Entry) -> str:
    return (FOLDER / entry.file).read_text(encoding="utf-8")


def needs_of_bytes(entry: manifest.Entry) -> tuple[str, ...]:
    return emitted(entry, text_of(entry))


PARTS = 4
"""Every kernel is assembled in one of so many cases."""


@pytest.mark.parametrize("part", range(PARTS))
def test_the_bytes_of_the_catalogue_need_what_the_manifest_says(part: int) -> None:
    entries = [*manifest.load(FOLDER).values()][part::PARTS]
    found = parallel.run(needs_of_bytes, entries)
    assert [each.cpu_features for each in entries] == found


def test_every_kernel_of_the_catalogue_needs_what_its_set_expects() -> None:
    entries = manifest.load(FOLDER)
    assert {name: entry.cpu_features for name, entry in entries.items()} == {
        kernel.name: expected(kernel) for kernel in catalogue()
    }
    for entry in entries.values():
        (banner,) = (line for line in text_of(entry).splitlines() if line.startswith("; cpu "))
        assert tuple(banner.split()[2:]) == entry.cpu_features, entry.name
    header = (FOLDER / "ghashgen.h").read_text(encoding="utf-8")
    for kernel in catalogue():
        line = next(x for x in header.splitlines() if x.startswith(f"/* {kernel.name}: "))
        assert line.partition("; cpu ")[2].split()[:-1] == list(expected(kernel))


@pytest.mark.parametrize(
    ("isa", "planted", "feature"),
    [
        ("avx", "vpaddd ymm0, ymm0, ymm1", "avx2"),
        ("avx", "vaesenc xmm0, xmm0, xmm1", "aesni"),
        ("sse", "pextrq rax, xmm0, 1", "sse4_1"),
        ("avx512", "vpshufd ymm0, ymm1, 0", "avx2"),
        ("avx512vl", "vpermb ymm0, ymm1, ymm2", "avx512vbmi"),
    ],
)
def test_a_planted_instruction_is_seen(isa: str, planted: str, feature: str) -> None:
    kernel = next(k for k in hashes() if k.isa == isa)
    entry = manifest.load(FOLDER)[kernel.name]
    text = (FOLDER / entry.file).read_text(encoding="utf-8")
    assert feature not in expected(kernel)
    dirty = text.replace("    ret\n", f"    {planted}\n    ret\n", 1)
    assert set(emitted(entry, dirty)) - set(expected(kernel)) >= {feature}


def test_every_feature_is_one_that_the_harness_can_ask_for() -> None:
    assert {name for kernel in catalogue() for name in expected(kernel)} <= set(FEATURES)


def test_the_header_says_where_cpuid_has_each_feature() -> None:
    header = (FOLDER / "ghashgen.h").read_text(encoding="utf-8")
    told = dict(re.findall(r"^ \*   (\w+) +(leaf .*)$", header, re.MULTILINE))
    assert told.keys() == {name for kernel in catalogue() for name in expected(kernel)}
    assert told["ssse3"] == "leaf 1, ECX bit 9"
    assert told["avx512vl"] == "leaf 7, EBX bit 31; XCR0 & 0xE6"


def test_the_wide_set_of_ymm_registers_names_avx2() -> None:
    for path in sorted(Path(FOLDER / "avx512vl").glob("*.asm")):
        assert " avx2 " in next(x for x in path.read_text().splitlines() if x.startswith("; cpu "))
