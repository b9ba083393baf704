"""A planted fault outlives another allocation, and no other instruction is taken for it."""

import pytest
from helpers.planting import planted

TEXT = """    vpandq      zmm6, zmm0, [rsi + rcx + 32]        ; masked
    vpxorq      zmm6, zmm6, xmm0
    vpxorq      zmm7, zmm8, zmm9
    vaesenclast zmm1, zmm1, zmm5                    ; E_K(J_0)
    lea         rdx, [rdi + rcx + 160]
    vmovdqu8    zmm3{k2}{z}, zmm3
    sub         rdx, 0x01
    jae         .more
"""


@pytest.mark.parametrize(
    ("wanted", "wrong", "line"),
    [
        # As it stands: nothing is a letter.
        ("vpandq      zmm6, zmm0, [rsi + rcx + 32]", "nop", "    nop        ; masked"),
        # Elsewhere: the registers of the fault are those found, those of no letter as they stand.
        (
            "vpandq zmm9, zmm2, [rax + rbx + 32]",
            "vpandq ymm9, ymm2, [rax + rbx + 48]",
            "    vpandq ymm6, ymm0, [rsi + rcx + 48]        ; masked",
        ),
        ("vpandq zmm9, zmm2, [rax + rbx + 32]", "vmovq xmm9, r15", "    vmovq xmm6, r15  "),
        ("lea r8, [r9 + r10 + 160]", "lea r8, [r9 + r10 + 144]", "    lea rdx, [rdi + rcx + 144]"),
        ("vmovdqu8 zmm9{k1}{z}, zmm9", "vmovdqu64 zmm9, zmm9", "    vmovdqu64 zmm3, zmm3"),
        ("vaesenclast zmm2, zmm2, zmm3 ; E_K(J_0)", "nop", "    nop"),
        ("sub rax, 0x01\n jae .more", "nop", "    nop"),
        # One register named twice is one: of the two sums the first.
        ("vpxorq zmm1, zmm1, xmm4", "nop", "    nop\n    vpxorq      zmm7, zmm8, zmm9"),
    ],
)
def test_a_place_is_found_by_what_it_does(wanted: str, wrong: str, line: str) -> None:
    found = planted(TEXT, wanted, wrong)
    assert line in found
    assert found != TEXT


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        ("vpandq zmm9, zmm9, [rax + rbx + 32]", "no such text"),
        ("vpandq zmm9, zmm2, [rax + rbx + 33]", "no such text"),
        ("vpandq ymm9, ymm2, [rax + rbx + 32]", "no such text"),
        ("vaesenclast zmm2, zmm2, zmm3 ; E_K(Y)", "no such text"),
        ("vpxorq zmm1, zmm2,", "2 places fit"),
    ],
)
def test_another_instruction_is_not_taken_for_it(wanted: str, why: str) -> None:
    with pytest.raises(AssertionError, match=why):
        planted(TEXT, wanted, "nop")


def test_of_several_as_written_one_is_meant() -> None:
    assert planted("ret\nret\nret\n", "ret", "nop", 1) == "ret\nnop\nret\n"
