"""The dispatcher decodes CPUID and XCR0 as the manual says, bit by bit."""

from pathlib import Path

import pytest
from helpers.cpus import AS_FOUND, masked
from helpers.dispatching import SYNTHETIC, Program, build, build_stubbed, symbols_of

from ghashgen.arch.x86_64.features import FEATURES
from ghashgen.output.dispatcher import render_dispatch
from ghashgen.run.emulate.client import FEATURES as EMULATED


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> Program:
    return build_stubbed(SYNTHETIC, tmp_path_factory.mktemp("dispatch") / "synthetic")


def test_features_are_those_that_the_package_knows(synthetic: Program) -> None:
    bits = synthetic.bits()
    assert tuple(bits) == FEATURES
    assert list(bits.values()) == [1 << i for i in range(len(FEATURES))]


# Registers as (CPUID.1:ECX, CPUID.1:EDX, CPUID.7:EBX, CPUID.7:ECX, XCR0).
ONES = 0xFFFFFFFF
ALL = (ONES, ONES, ONES, ONES, 0xE7)
OSXSAVE, F16C, AVX_BIT, AES_BIT, PCLMUL = 1 << 27, 1 << 29, 1 << 28, 1 << 25, 1 << 1
SSSE3, SSE2 = 1 << 9, 1 << 26
AVX2_BIT, BMI2, AVX512F, AVX512DQ = 1 << 5, 1 << 8, 1 << 16, 1 << 17
AVX512BW, AVX512VL_BIT = 1 << 30, 1 << 31
GFNI, VAES, VPCLMUL = 1 << 8, 1 << 9, 1 << 10
SKYLAKE_X = AVX2_BIT | BMI2 | AVX512F | AVX512DQ | AVX512BW | AVX512VL_BIT
LEAF1 = OSXSAVE | F16C | AVX_BIT | AES_BIT | PCLMUL | SSSE3
WIDE_CLMUL = GFNI | VAES | VPCLMUL


CASES: tuple[tuple[tuple[int, ...], str], ...] = (
    ((0, 0, 0, 0, 0), ""),
    ((AVX_BIT, 0, 0, 0, 0), ""),  # AVX without OSXSAVE: no XCR0 is read
    ((AVX_BIT | OSXSAVE, 0, 0, 0, 0x3), ""),  # XMM state alone
    ((AVX_BIT | OSXSAVE, 0, 0, 0, 0x5), ""),  # YMM state without XMM state
    ((AVX_BIT | OSXSAVE, 0, 0, 0, 0x7), "avx"),
    ((LEAF1, 0, AVX512F, 0, 0x7), "aesni avx pclmulqdq ssse3"),  # AVX512F without ZMM state
    ((LEAF1, 0, AVX512F, 0, 0x27), "aesni avx pclmulqdq ssse3"),  # opmask state alone
    ((LEAF1, 0, AVX512F, 0, 0x67), "aesni avx pclmulqdq ssse3"),  # no registers 16-31
    ((LEAF1, 0, AVX512F, 0, 0xE7), "aesni avx avx512f pclmulqdq ssse3"),
    ((LEAF1 & ~AVX_BIT, 0, SKYLAKE_X, 0, 0xE7), "aesni bmi2 pclmulqdq ssse3"),
    ((AVX_BIT, 0, SKYLAKE_X & ~AVX512F, 0, 0xE7), "avx avx2 bmi2"),  # the others need AVX512F
    ((AES_BIT | AVX_BIT, 0, 0, 0, 0x7), "aesni avx"),  # AES-NI without VAES
    ((AVX_BIT, 0, 0, VAES, 0x7), "avx vaes"),  # and VAES without AES-NI
    ((PCLMUL, SSE2, 0, 0, 0), "pclmulqdq sse2"),
    ((AVX_BIT, 0, 0, VPCLMUL, 0x7), "avx vpclmulqdq"),  # VPCLMULQDQ without AVX512, PCLMULQDQ
    ((AVX_BIT, 0, 0, VPCLMUL, 0x3), ""),
    ((0, 0, 0, GFNI, 0), "gfni"),  # has a legacy encoding
    (ALL, " ".join(FEATURES)),
)


@pytest.mark.parametrize(("registers", "features"), CASES)
def test_features_by_register(
    synthetic: Program, registers: tuple[int, ...], features: str
) -> None:
    assert synthetic.decode(registers) == set(features.split())


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("UINT64_C(0x06)", "UINT64_C(0x02)"),
        ("UINT64_C(0x06)", "UINT64_C(0x04)"),
        ("UINT64_C(0xE6)", "UINT64_C(0x66)"),
        ("UINT64_C(0xE6)", "UINT64_C(0x06)"),
        ("state &= xcr0", "(void)xcr0"),
        ("LEAF7_ECX, 9, XCR0_YMM", "LEAF1_ECX, 25, XCR0_YMM"),  # VAES taken for AES-NI
        ("LEAF7_ECX, 10, XCR0_YMM", "LEAF7_ECX, 10, XCR0_ZMM"),
        ("LEAF7_ECX, 8, 0", "LEAF7_ECX, 8, XCR0_YMM"),
        ("if (words[LEAF1_ECX] & LEAF1_ECX_AVX)", "if (words[LEAF1_ECX])"),
    ],
)
def test_a_planted_fault_in_the_decoding_is_noticed(tmp_path: Path, right: str, wrong: str) -> None:
    files = render_dispatch(SYNTHETIC)
    assert files["ghashgen_dispatch.c"].count(right) == 1
    files["ghashgen_dispatch.c"] = files["ghashgen_dispatch.c"].replace(right, wrong)
    planted = build(files, tmp_path / "planted", symbols=symbols_of(SYNTHETIC))
    assert any(planted.decode(registers) != set(text.split()) for registers, text in CASES)


@pytest.mark.parametrize("feature", FEATURES)
def test_each_feature_is_a_bit_of_its_own(synthetic: Program, feature: str) -> None:
    """Bit positions as the emulator's table has them, which was written apart."""
    leaf, _, register, bit = EMULATED[{"aesni": "aes", "sse4_1": "sse4.1"}.get(feature, feature)]
    place = [(1, "rcx"), (1, "rdx"), (7, "rbx"), (7, "rcx")].index((leaf, register))
    registers = list(ALL)
    registers[place] &= ~(1 << bit)
    follow = {
        "avx": {n for n in FEATURES if n.startswith(("avx", "vaes", "vpclmulqdq"))},
        "avx512f": {n for n in FEATURES if n.startswith("avx512")},
    }
    assert set(FEATURES) - synthetic.decode(registers) == follow.get(feature, {feature})


@pytest.mark.parametrize(
    ("machine", "registers", "isa"),
    [
        ("Core 2: no PCLMULQDQ", (SSSE3, SSE2, 0, 0, 0), ""),
        ("Westmere: no AVX", (PCLMUL | SSSE3 | AES_BIT, SSE2, 0, 0, 0), "sse"),
        ("Haswell", (LEAF1, SSE2, AVX2_BIT | BMI2, 0, 0x7), "avx"),
        ("Skylake-X: ZMM, no VPCLMULQDQ", (LEAF1, SSE2, SKYLAKE_X, 0, 0xE7), "avx"),
        ("Ice Lake", (LEAF1, SSE2, SKYLAKE_X, WIDE_CLMUL, 0xE7), "avx512"),
        ("Ice Lake, no ZMM state", (LEAF1, SSE2, SKYLAKE_X, WIDE_CLMUL, 0x7), "avx2"),
        ("Ice Lake, no OSXSAVE", (LEAF1 & ~OSXSAVE, SSE2, SKYLAKE_X, WIDE_CLMUL, 0), "sse"),
        ("Ice Lake, PCLMULQDQ hidden", (LEAF1 & ~PCLMUL, SSE2, 0, WIDE_CLMUL, 0x7), ""),
        ("Alder Lake: no AVX512", (LEAF1, SSE2, AVX2_BIT | BMI2, WIDE_CLMUL, 0x7), "avx2"),
    ],
)
def test_choice_on_machines(
    synthetic: Program, machine: str, registers: tuple[int, ...], isa: str
) -> None:
    features = synthetic.mask(synthetic.decode(registers))
    name = synthetic.ask("best", "ghash", "4096", PLANT=f"2:{features:x}")[0]
    chosen = {item.name: item.isa for item in SYNTHETIC}
    assert chosen.get(name, "") == isa, machine


@pytest.mark.cpu(AS_FOUND)
def test_features_of_this_machine(synthetic: Program) -> None:
    cpuinfo = Path("/proc/cpuinfo")
    if not cpuinfo.exists():
        pytest.skip("no /proc/cpuinfo to compare with")
    line = next(line for line in cpuinfo.read_text().splitlines() if line.startswith("flags"))
    flags = {{"aes": "aesni"}.get(word, word) for word in line.split()[2:]}
    # The kernel may have been told to hide a flag that CPUID shows.
    off = set(masked().split(","))
    assert flags & set(FEATURES) - off <= synthetic.features()
