"""Wrong objects that a second reading of the checker found, each beside a twin that is right.

All were accepted: by an empty certificate, or by one that was made for the object.
"""

import ctypes
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.core_checking import emitted
from helpers.handmade import BUFFERS, KEPT, MUL, assertion, check, stated
from helpers.verify_objects import assembled

from ghashgen.check.proofs import statement
from ghashgen.kernels.selection import catalogue
from ghashgen.support.toolchain import find_cc
from ghashgen.verify.checking import check_object
from ghashgen.verify.core.refutation import Category, Refutation
from ghashgen.verify.statements.gcm import GcmSpec

PRODUCT = "LOAD_CONSTANTS\n PRODUCT rdi, rsi\n"

WIPED = "".join(f" pxor xmm{k}, xmm{k}\n" for k in (0, 3, 4, 5, 8)) + " xor ecx, ecx\n ret\n"

SECRET = f"{PRODUCT} mov rax, [rdi]\n"


@pytest.mark.parametrize(
    ("lines", "wipe", "category"),
    [
        ("lea rax, [rbx+rax]", True, Category.WIPE),
        ("lea rax, [r8+rax+5]", True, Category.WIPE),
        ("lea rax, [rbx+rax]\n bswap rax", False, Category.TIMING),
        ("lea rax, [rbx+rax]\n prefetcht0 [rax]", False, Category.CONSTANT_TIME),
    ],
)
def test_a_sum_is_as_secret_as_its_parts(lines: str, wipe: bool, category: Category) -> None:
    """The sum of the caller's register and a secret passed for the caller's register."""
    spec = replace(MUL, wipe=wipe)
    check(f"{SECRET} lea rax, [rbx+r8]\n{WIPED}", spec)
    with pytest.raises(Refutation) as refused:
        check(f"{SECRET} {lines}\n{WIPED}", spec)
    assert refused.value.category is category, str(refused.value)


@pytest.mark.parametrize("imm", ["0", "0xff"])
@pytest.mark.parametrize("where", ["rdi+4096", "rbx", "0"])
def test_an_operand_is_read_whatever_the_result(where: str, imm: str) -> None:
    """VPTERNLOG with a constant result left its operand alone, wherever that lies."""
    ended = f"{PRODUCT} vzeroupper\n ret\n"
    check(f"vpternlogd xmm0, xmm1, [rdi], {imm}\n{ended}", MUL)
    with pytest.raises(Refutation, match="memory"):
        check(f"vpternlogd xmm0, xmm1, [{where}], {imm}\n{ended}", MUL)


def test_the_code_is_no_place_for_a_masked_access() -> None:
    lines = "kxorq k1, k1, k1\n vmovdqa64 [rel handmade]{k1}, zmm0\n ret\n"
    with pytest.raises(Refutation, match="masked access"):
        check(lines, MUL)


COMBINE = """
default rel
section .note.GNU-stack noalloc noexec nowrite progbits
section .rodata align=16
swap: db 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0
q: dq 1, 0xc200000000000000
section .text
%macro TIMES_FACTOR 2
    vpclmulqdq  xmm5, %2, xmm11, 0x00
    vpclmulqdq  xmm6, %2, xmm10, 0x01
    vpclmulqdq  xmm7, %2, xmm11, 0x10
    vpclmulqdq  %1, %2, xmm10, 0x11
    vpxor       xmm5, xmm5, xmm6
    vpxor       %1, %1, xmm7
    vpclmulqdq  xmm6, xmm5, [q], 0x10
    vpshufd     xmm5, xmm5, 0x4e
    vpxor       %1, %1, xmm5
    vpxor       %1, %1, xmm6
%endmacro
global handmade
handmade:
    vmovdqu     xmm0, [rdx]
    vpshufb     xmm0, xmm0, [swap]
    vpshufd     xmm1, xmm0, 0xff
    vpsrad      xmm1, xmm1, 0x1f
    vpand       xmm1, xmm1, [q]
    vpsrlq      xmm2, xmm0, 0x3f
    vpslldq     xmm2, xmm2, 0x08
    vpsllq      xmm0, xmm0, 0x01
    vpxor       xmm0, xmm0, xmm2
    vpxor       xmm10, xmm0, xmm1       ; B of the factor P
    vpclmulqdq  xmm1, xmm10, [q], 0x10
    vpshufd     xmm2, xmm10, 0x4e
    vpxor       xmm11, xmm1, xmm2       ; K of it
    vmovdqu     xmm3, [rdi]
    vpshufb     xmm3, xmm3, [swap]      ; X
    vmovdqu     xmm4, [rsi]
    vpshufb     xmm4, xmm4, [swap]      ; Y
    TIMES_FACTOR xmm8, xmm3
    vpxor       xmm8, xmm8, xmm4        ; X·P + Y
%ifdef FAULT
    vpxor       xmm9, xmm3, xmm4
    TIMES_FACTOR xmm12, xmm9            ; (X + Y)·P
    vpclmulqdq  xmm0, xmm8, xmm3, 0x00
    vpclmulqdq  xmm1, xmm12, xmm3, 0x00
    vpxor       xmm0, xmm0, xmm1        ; 0, if the two sums were equal
    vpxor       xmm8, xmm8, xmm0
%endif
    vpshufb     xmm8, xmm8, [swap]
    vmovdqu     [rdi], xmm8
    ret
"""


def test_a_product_by_the_factor_is_not_the_value_itself(tmp_path: Path) -> None:
    """X·P and X were one value in a sum, so X·P + Y and (X + Y)·P were equal."""
    spec = stated("combine", "state", "addend", "factor")
    nothing = {"schema": 1, "functions": {"handmade": {"assertions": {}}}}
    right, wrong = assembled(COMBINE), assembled("%define FAULT\n" + COMBINE)
    check_object(right, spec, nothing)
    with pytest.raises(Refutation):
        check_object(wrong, spec, nothing)
    if "pclmulqdq" not in Path("/proc/cpuinfo").read_text().split():
        pytest.skip("this CPU lacks pclmulqdq")
    assert _combined(right, tmp_path / "right.so") != _combined(wrong, tmp_path / "wrong.so")


def _combined(obj: bytes, library: Path) -> bytes:
    library.with_suffix(".o").write_bytes(obj)
    command = [*find_cc().command, "-shared", "-o", str(library), str(library.with_suffix(".o"))]
    subprocess.run(command, check=True, capture_output=True)
    state, addend, factor = (
        ctypes.create_string_buffer(bytes(range(k, k + 16)), 16) for k in (0, 50, 100)
    )
    ctypes.CDLL(str(library)).handmade(state, addend, factor)
    return state.raw


KERNEL = "gcm128_avx_winograd_clmul1_x8_streams"

GREATEST = (1 << 61) - 1


def _start() -> GcmSpec:
    """Return the statement of start alone."""
    spec = statement(next(k for k in catalogue() if k.name == KERNEL), KERNEL, "sysv")
    assert isinstance(spec, GcmSpec)
    return replace(spec, functions=tuple(f for f in spec.functions if f.operation == "start"))


def test_an_iv_that_may_have_12_bytes_is_not_hashed() -> None:
    """J_0 of every IV was hashed, where a cut did not say whether the IV has 12 bytes."""
    text = emitted(KERNEL)
    before, begin, rest = text.partition(f"global {KERNEL}_start")
    start, end, after = rest.partition(f"{KERNEL}_aad:function")
    assert start.count("jne         .other") == 1
    wrong = start.replace("jne         .other", "jmp         .other")
    places = {
        **KEPT, "rsp": ["p", "stack", "0"], "rdi": ["p", "table", "0"],
        "rsi": ["p", "stream", "0"], "rdx": ["p", "iv", "16*t"], "rcx": ["n", "iv_length"],
        "r9": ["n", "iv_length-16*t"], "v0.0": ["c", "0x000102030405060708090a0b0c0d0e0f"],
        "v1.0": ["c", "0xc2000000000000000000000000000001"], "v2.0": ["v", "x"],
    }  # fmt: skip
    hashed = {"of": "iv", "hashed": "16*t", "ahead": 0, "sum": [["x", 0]]}
    ghosts = {"iv": hashed, "counter": None, "mask": False}
    ways = {
        "entry": [{"iv_length": "iv_length", "t": "0"}],
        "whole": [{"iv_length": "iv_length", "t": "t+1"}],
    }
    same = {"ghosts": ghosts, "ways": ways, "flags": "public"}
    whole = assertion(
        "", places, unknowns={"iv_length": [16, GREATEST], "t": [0, 1 << 57]},
        facts=["iv_length-16*t-16"], level=2, falls="iv_length-16*t", **same,
    )  # fmt: skip
    short = assertion(
        "", places, unknowns={"iv_length": [1, GREATEST], "t": [0, 1 << 57]},
        facts=["iv_length-16*t-1", "15-iv_length+16*t"], level=1, **same,
    )  # fmt: skip
    assertions = {"whole": {**whole, "at": 0x69}, "short": {**short, "at": 0xD0}}
    certificate = {"schema": 1, "functions": {f"{KERNEL}_start": {"assertions": assertions}}}
    obj = assembled(before + begin + wrong + end + after)
    with pytest.raises(Refutation, match="a counter that nobody knows"):
        check_object(obj, _start(), certificate)


@pytest.mark.parametrize("number", ["-5", str(1 << 128)])
def test_a_number_that_is_no_lane_is_refused(number: str) -> None:
    value = ["t", "xor", ["n", number], ["c", "0x3"]]
    cut = assertion("cut", {**BUFFERS, "v8.0": value})
    with pytest.raises(Refutation, match="no lane"):
        check(f".cut:\n {PRODUCT} ret\n", MUL, cut=cut)


@pytest.mark.parametrize("name", ["\ud800", "a\nb", "\x1b[2J", "\u2028", "x" * 5000])
def test_a_name_that_cannot_be_printed_is_refused_in_one_line(name: str) -> None:
    cut = assertion("cut", {**BUFFERS, name: "?"})
    with pytest.raises(Refutation) as refused:
        check(f".cut:\n {PRODUCT} ret\n", MUL, cut=cut)
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 500


def test_a_masked_load_of_nothing_is_right() -> None:
    check(f"kxorq k1, k1, k1\n vmovdqu64 zmm9{{k1}}, [rdi]\n {PRODUCT} vzeroupper\n ret\n", MUL)
