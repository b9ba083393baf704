"""The proof of seal and open: whole messages, planted faults, and what lengths are refused."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.gcm_proving import SMALL, proved, text_of
from helpers.planting import planted

from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.check.proofs import statement
from ghashgen.check.statements import load_spec
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.support.toolchain import assemble_text
from ghashgen.verify.core.refutation import Category
from ghashgen.verify.prove import THEOREMS
from ghashgen.verify.search.telling import wrong_at

SHORT = GcmKernel(128, "avx512", "winograd", "clmul1", 8, short=True)
NARROW = GcmKernel(128, "avx", "k", "clmul1", 4, short=True)
TWO = replace(NARROW, isa="avx2")
KERNELS = [
    (SHORT, "sysv"),
    (GcmKernel(256, "avx512vl", "k", "clmul1", 4, wipe=True, short=True), "win64"),
    (NARROW, "sysv"),
    (TWO, "sysv"),
    (GcmKernel(256, "avx2", "winograd", "clmul1", 2, wipe=True, short=True), "win64"),
    (GcmKernel(192, "sse", "winograd", "clmul1", 2, wipe=True, short=True), "win64"),
    (replace(SMALL, key=256, wipe=True), "win64"),
    (GcmKernel(128, "sse", "winograd", "clmul1", 2), "sysv"),
    (GcmKernel(128, "avx512", "winograd", "clmul1", 8), "sysv"),
    # No loop over what is left of the AAD.
    (GcmKernel(128, "avx512", "k", "clmul1", 4, order="natural"), "sysv"),
]

FUNCTION, UNSUPPORTED = Category.FUNCTION, Category.UNSUPPORTED


@pytest.mark.parametrize("operation", ["seal", "open"])
@pytest.mark.parametrize(("kernel", "abi"), [(SMALL, "sysv"), *KERNELS], ids=lambda x: str(x)[:60])
def test_a_message_is_proved(kernel: GcmKernel, abi: str, operation: str) -> None:
    proof = proved(kernel, text_of(kernel, abi), operation, abi=abi)
    assert proof.refutation is None, proof.report()
    assert {t.what for t in proof.theorems} == {*THEOREMS, *(["wipe"] if kernel.wipe else [])}


PLANTED = [
    # The tag.
    ("seal", "vpunpcklqdq xmm2, xmm2, xmm4   ", "vpunpcklqdq xmm2, xmm4, xmm2 ;", 0,
     FUNCTION, "the block of lengths is not"),
    ("seal", "vpxor       xmm0, xmm0, xmm1                    ; the tag", "", 0,
     FUNCTION, "E_K(J_0) is not added"),
    ("seal", ".iv_ready:", ".iv_ready:\n vpshufb xmm2, xmm2, xmm0\n"
     " vpaddd xmm2, xmm2, [rel ONE]\n vpshufb xmm2, xmm2, xmm0", 0,
     FUNCTION, "E_K(J_0) is not added"),
    ("seal", "vmovdqu     [rsp], xmm3", "vmovdqu [rsp], xmm2", 0,
     FUNCTION, "E_K(J_0) is not added"),
    ("seal", "vmovdqu     [rax], xmm0", "vmovq [rax], xmm0", 0, FUNCTION, "the tag is not written"),
    ("seal", "mov         eax, 0x00", "mov eax, 1", 0, FUNCTION, "the status is wrong"),
    # Padding: of an IV, of AAD.
    ("seal", "vpsrlq      xmm4, xmm4, 0x08", "", 0, "", ""),
    ("seal", "shl         rdx, 0x03", "shl rdx, 2", 0, "", ""),
    # Lengths.
    ("seal", "ja          .refused", "nop", 0, "", ""),
    ("seal", "cmp         rdx, 0x0c", "cmp rdx, 0x0d", 0, "", ""),
    ("open", "cmp         r10, 0x04", "cmp r10, 0x05", 0, "", ""),
    ("open", "mov         eax, 0x02", "mov eax, 1", 0, FUNCTION, "the status of invalid lengths"),
    # The comparison.
    ("open", "vpshufd     xmm1, xmm0, 0x4e\n    vpor ",
     "vpslldq xmm0, xmm0, 1\n vpshufd xmm1, xmm0, 0x4e\n vpor ", 0,
     Category.CONSTANT_TIME, "a condition on some bits of the tag"),
    ("open", "vpor        xmm0, xmm0, xmm1                    ; all differences", "", 0,
     Category.CONSTANT_TIME, "a condition on some bits of the tag"),
    ("open", "je          .right", "jmp .right", 0, FUNCTION, "nothing depends on whether"),
    ("open", "je          .right", "jne .right", 0, "", ""),
    ("open", "vmovq       rax, xmm0\n", "vmovq rax, xmm0\n cmp eax, 5\n je .right\n", 0,
     Category.CONSTANT_TIME, "a condition depends on a secret"),
    # Zeros.
    ("open", "vpextrb     byte [r13], xmm0, 0x00              ; zeros", "", 0,
     FUNCTION, "the output is not zero to its end"),
    ("open", ".clear_blocks:", ".clear_blocks:\n vmovdqu xmm0, [rsp]", 0,
     FUNCTION, "the output is not zero to its end"),
    ("open", "jae         .clear_blocks", "", 0, FUNCTION, "the output is not zero to its end"),
    ("open", "cmp         r14, 0x10\n    jb          .clear_last",
     "cmp r14, 0x4000\n jae .right\n cmp r14, 0x10\n jb .clear_last", 0, "", ""),
    ("open", "je          .right", "je .right\n cmp r13, r9\n jne .clear_cleared_1", 0, "", ""),
]  # fmt: skip
"""Function, a text in it, what stands there instead, at which occurrence, and the refusal."""


@pytest.mark.parametrize(("operation", "old", "new", "at", "category", "words"), PLANTED)
def test_a_planted_fault_is_refused(
    operation: str, old: str, new: str, at: int, category: str, words: str
) -> None:
    one = re.search(r"vpaddd +xmm2, xmm2, \[rel (\w+)\]", text_of(SMALL))
    assert one is not None
    refused(SMALL, operation, old, new.replace("ONE", one[1]), at, category, words)


STRAIGHT = [
    # Counter blocks: of the text, of J_0 in a lane that the text leaves, of J_0 alone.
    ("seal", "[rel {}_numbers_2]", "[rel {}_numbers_6]", 0, FUNCTION, "block 1 of the output"),
    ("seal", "[rel {}_numbers_2_1]", "[rel {}_numbers_2]", 0,
     FUNCTION, "E_K(J_0) is not added"),
    ("seal", "[rel {}_numbers_6_1]", "[rel {}_numbers_6]", 0,
     FUNCTION, "E_K(J_0) is not added"),
    ("seal", "[rel {}_numbers_1_1]", "[rel {}_numbers_2]", 0,
     FUNCTION, "E_K(J_0) is not added"),
    # E_K(J_0): its lane, its last round, its place in the tag.
    ("seal", "valignq     zmm2, zmm2, zmm7, 0x06", "valignq zmm2, zmm2, zmm7, 4", 0,
     FUNCTION, "E_K(J_0) is not added"),
    ("seal", "vaesenclast zmm2, zmm2, zmm6                    ; E_K(J_0)",
     "vaesenc zmm2, zmm2, zmm6", 0, FUNCTION, "E_K(J_0) is not added"),
    ("seal", "vpternlogq  xmm1, xmm0, xmm2, 0x96              ; the tag",
     "vpxorq xmm1, xmm1, xmm0", 0, FUNCTION, "E_K(J_0) is not added"),
    # S and the lengths, in one register; their powers; those of the text.
    ("seal", "vinserti64x2 ymm3, ymm3, xmm4, 0x01", "vinserti64x2 ymm3, ymm4, xmm3, 1", 0,
     FUNCTION, ""),
    ("seal", "lea         rcx, [rdi + rcx + 160]", "lea rcx, [rdi + rcx + 144]", 0, FUNCTION, ""),
    ("seal", "vmovdqu64   xmm6, [rdi + 176]", "vmovdqu64 xmm6, [rdi + 160]", 0, FUNCTION, ""),
    ("seal", "vpxorq      zmm4, zmm3, [rcx + 16]", "vpxorq zmm4, zmm3, [rcx + 32]", 0,
     FUNCTION, ""),
    # The key terms: of all powers, of a free lane, and where they leave the tag.
    ("seal", "vmovdqu64   xmm5, [rcx + 512]", "vmovdqu64 xmm5, [rcx + 528]", 0, FUNCTION, ""),
    ("seal", "vpxorq      xmm5, xmm5, [rdi + 688]", "", 0, FUNCTION, ""),
    ("seal", "vpxorq      xmm2, xmm2, xmm3                    ; minus the terms", "", 0,
     FUNCTION, ""),
    # Zeros behind the text in the hash; the last 16 bytes; a few bytes.
    ("seal", "vpandq      zmm3, zmm7, [rdx + 112]             ; C, zero-padded",
     "vmovdqa64 zmm3, zmm7", 0, FUNCTION, ""),
    ("seal", "vpandq      zmm3, zmm7, [rdx + 112]             ; C, zero-padded",
     "vmovdqa64 zmm3, zmm7", 1, FUNCTION, ""),
    ("seal", "first_1]  ; C, zero-padded", "numbers_2]", 0, FUNCTION, ""),
    ("seal", "vmovdqu64   [rbp + r12 - 16], xmm3              ; written",
     "vmovdqu64 [rbp + r12 - 15], xmm3", 0, Category.MEMORY, "beyond it"),
    ("seal", "vpshufb     xmm3, xmm3, [rcx + r12 - 16]        ; at the end",
     "vpshufb xmm3, xmm3, [rcx + r12 - 15]", 0, Category.MEMORY, "written already"),
    ("seal", "vpshufb     xmm4, xmm7, [rcx + r12 + 160]       ; in front",
     "vpshufb xmm4, xmm7, [rcx + r12 + 161]", 0, Category.MEMORY, "written already"),
    ("seal", "vmovdqu64   xmm3, [rbp + 48]                    ; the block before",
     "vmovdqu64 xmm3, [rbp + 32]", 0, Category.MEMORY, "written already"),
    ("seal", "vmovd       xmm4, [r9 + r12 - 4]                ; the last bytes",
     "vmovd xmm4, [r9 + r12 - 3]", 0, Category.MEMORY, "beyond it"),
    ("seal", "vpshufb     xmm4, xmm4, [rdx + 48]", "vpshufb xmm4, xmm4, [rdx + 49]", 0,
     FUNCTION, ""),
    # Which way a length takes; IVs of 96 bits and others; AAD of one block and of more.
    ("seal", "cmp         r12, 0x81", "cmp r12, 0x82", 0, "", ""),
    ("seal", "cmp         r12, 0x11", "cmp r12, 0x12", 0, "", ""),
    ("seal", "cmp         r12, 0x31", "cmp r12, 0x32", 0, "", ""),
    ("seal", "cmp         rdx, 0x0c", "cmp rdx, 0x10", 0, "", ""),
    ("seal", "jne         .other", "", 0, "", ""),
    ("seal", "first_numbers]  ; IV || 1", "numbers_2]", 0, FUNCTION, ""),
    ("seal", "cmp         r8, 0x11", "cmp r8, 0x12", 0, "", ""),
    ("seal", "add         rdx, 0x01                           ; bytes of the last block",
     "add rdx, 2", 0, "", ""),
    ("seal", "sub         rdx, 0x01\n", "\n", 0, "", ""),
    # All in one register: the text behind a lane, the lengths in theirs, S, the powers.
    ("open", "vpxorq      xmm7, xmm7, xmm7\n    valignq     zmm7, zmm6, zmm7, 0x06",
     "vpxorq xmm7, xmm7, xmm7\n    valignq zmm7, zmm6, zmm7, 4", 0, FUNCTION, ""),
    ("open", "vpandq      zmm4, zmm4, [rsi + rcx + 32]", "vpandq zmm4, zmm4, [rsi + rcx + 48]", 0,
     FUNCTION, ""),
    ("open", "vpternlogq  zmm4, zmm3, zmm7, 0x96              ; S, C_1 …, the lengths",
     "vpxorq zmm4, zmm4, zmm7", 0, FUNCTION, ""),
    ("open", "vpxorq      zmm3, zmm4, [rdx]                   ; T = A + C1",
     "vpxorq zmm3, zmm4, [rdx + 16]", 0,
     FUNCTION, ""),
    ("open", "vmovdqu64   [r12 + r13 - 16], xmm3", "vmovdqu64 [r12 + r13 - 17], xmm3", 0,
     Category.MEMORY, ""),
    ("open", "cmp         r13, 0x21", "cmp r13, 0x22", 0, "", ""),
    # What a wrong tag leaves behind.
    ("open", "je          .right", "je .right\n cmp rbp, 17\n je .right", 0, "", ""),
]  # fmt: skip


@pytest.mark.parametrize(("operation", "old", "new", "at", "category", "words"), STRAIGHT)
def test_a_fault_on_the_straight_path_is_refused(
    operation: str, old: str, new: str, at: int, category: str, words: str
) -> None:
    old, new = old.format(SHORT.name), new.format(SHORT.name)
    refused(SHORT, operation, old, new, at, category, words)


OVERLAPPING = [
    # The last 16 bytes: as read, as written, for the hash.
    ("seal", "[rsi + rcx + 16]        ; the last block", "[rsi + rcx + 15] ;", FUNCTION, ""),
    ("seal", "vpand       xmm5, xmm5, [rdx + rcx + 32]", "vpand xmm5, xmm5, [rdx + rcx + 31]",
     Category.MEMORY, "written already"),
    ("seal", "vpshufb     xmm5, xmm5, [rsi + 16]", "vpshufb xmm5, xmm5, [rsi + 17]",
     Category.MEMORY, "written already"),
    ("seal", "vmovdqu     [r12 + r13 - 16], xmm5", "vmovdqu [r12 + r13 - 17], xmm5",
     Category.MEMORY, ""),
    ("seal", "vmovdqu     [r12 + r13 - 16], xmm5", "vmovdqu [r12 + r13 - 15], xmm5",
     Category.MEMORY, "beyond it"),
    ("seal", "vpand       xmm4, xmm4, [rdx + rcx + 16] ", ";", FUNCTION, ""),
    ("seal", "and         rcx, 0x0f  ", "and rcx, 0x07 ;", "", ""),
    # A power, that of S, and which path a length takes.
    ("seal", "vpclmulqdq  xmm9, xmm5, [rdi + 48], 0x01", "vpclmulqdq xmm9, xmm5, [rdi + 64], 1",
     FUNCTION, ""),
    ("seal", "lea         rcx, [rdi + rcx + 64]", "lea rcx, [rdi + rcx + 80]", FUNCTION, ""),
    ("seal", "lea         rcx, [r13 + 15]", "lea rcx, [r13 + 16]", FUNCTION, ""),
    ("seal", "cmp         r13, 0x21", "cmp r13, 0x22", "", ""),
    ("seal", "cmp         r13, 0x11", "cmp r13, 0x12", "", ""),
    ("seal", "cmp         r8, 0x11", "cmp r8, 0x12", "", ""),
]  # fmt: skip


@pytest.mark.parametrize(("operation", "old", "new", "category", "words"), OVERLAPPING)
def test_a_fault_on_the_straight_path_of_one_lane_is_refused(
    operation: str, old: str, new: str, category: str, words: str
) -> None:
    refused(NARROW, operation, old, new, 0, category, words)


BY_TWO = [
    # Lanes: J_0 beside the last block, S and the lengths, the last two blocks, counters.
    ("seal", "vinserti128 ymm5, ymm5, xmm8, 0x01", "vinserti128 ymm5, ymm8, xmm5, 1", "", ""),
    ("seal", "vinserti128 ymm6, ymm6, xmm8, 0x01", "vinserti128 ymm6, ymm6, xmm6, 1",
     FUNCTION, "E_K(J_0) is not added"),
    ("seal", "vinserti128 ymm0, ymm3, xmm0, 0x01", "vinserti128 ymm0, ymm0, xmm3, 1", FUNCTION, ""),
    ("seal", "vinserti128 ymm4, ymm5, xmm4, 0x01", "vinserti128 ymm4, ymm4, xmm5, 1", "", ""),
    ("seal", "vpaddd      ymm6, ymm14, [rel {}_blocks_2]", "vmovdqa ymm6, ymm14", "", ""),
    ("seal", "[rel {}_lane_numbers_from_1]", "[rel {}_blocks_2]", "", ""),
    # The last 16 bytes: of which lanes, as written, for the hash.
    ("seal", "vextracti128 xmm7, ymm5, 0x01", "vextracti128 xmm7, ymm5, 0",
     Category.MEMORY, "written already"),
    ("seal", "vpand       xmm6, xmm6, [rdx + rcx + 32]", "vpand xmm6, xmm6, [rdx + rcx + 31]",
     Category.MEMORY, "written already"),
    ("seal", "vpand       ymm5, ymm8, [rdx + rcx] ", "vmovdqa ymm5, ymm8 ;", FUNCTION, ""),
    ("seal", "vpand       xmm5, xmm6, [rdx + rcx + 16] ", "vmovdqa xmm5, xmm6 ;", FUNCTION, ""),
    ("seal", "vmovdqu     [r12], ymm5 ", "vmovdqu [r12], xmm5 ;", "", ""),
    # Powers, and which path a length takes.
    ("seal", "vmovdqu     xmm5, [rdi + 80]", "vmovdqu xmm5, [rdi + 64]", FUNCTION, ""),
    ("seal", "vpclmulqdq  ymm7, ymm5, [rdi + 128], 0x00", "vpclmulqdq ymm7, ymm5, [rdi + 112], 0",
     FUNCTION, ""),
    ("seal", "vpclmulqdq  ymm7, ymm5, [rdi + 128], 0x00", "vpclmulqdq xmm7, xmm5, [rdi + 128], 0",
     FUNCTION, ""),
    ("seal", "cmp         r13, 0x21", "cmp r13, 0x22", "", ""),
    ("seal", "cmp         r13, 0x31", "cmp r13, 0x30", "", ""),
    ("seal", "cmp         r13, 0x41", "cmp r13, 0x42", "", ""),
    ("open", "je          .right", "je .right\n cmp r14, 17\n je .right", "", ""),
]  # fmt: skip


@pytest.mark.parametrize(("operation", "old", "new", "category", "words"), BY_TWO)
def test_a_fault_on_the_straight_path_of_two_lanes_is_refused(
    operation: str, old: str, new: str, category: str, words: str
) -> None:
    old, new = old.format(TWO.name), new.format(TWO.name)
    refused(TWO, operation, old, new, 0, category, words)


def refused(
    kernel: GcmKernel, operation: str, old: str, new: str, at: int, category: str, words: str,
) -> None:  # fmt: skip
    head, label, tail = text_of(kernel).partition(f"\n{kernel.name}_{operation}:\n")
    own, end, rest = tail.partition("\n.end:")
    own = planted(own, old, new, at)
    refutation = proved(kernel, head + label + own + end + rest, operation).refutation
    assert refutation is not None
    # Where the tag is wrong, the branch is on no question about it: on a secret.
    told = (category, UNSUPPORTED, *([Category.CONSTANT_TIME] if operation == "open" else []))
    assert not category or refutation.category in told, str(refutation)


@pytest.mark.parametrize("operation", ["seal", "open"])
def test_at_chosen_lengths_nothing_is_wrong(operation: str) -> None:
    stated = statement(SMALL, SMALL.name, "sysv")
    chosen = tuple(f for f in stated.functions if f.operation == operation)
    elf = assemble_text(find_nasm(), SMALL.name, text_of(SMALL), "elf64")
    assert wrong_at(elf, replace(stated, functions=chosen), (0, 13, 16, 77)) is None


def test_a_file_may_state_messages(tmp_path: Path) -> None:
    lines = [
        f'name = "{SMALL.name}"', 'abi = "sysv"', 'family = "gcm"', "key_bits = 128",
        'order = "reflected"', "blocks = 2", f"cells = {list(SMALL.layout.cells)}",
        f"table_bytes = {SMALL.layout.size}",
    ]  # fmt: skip
    for operation in ("seal", "open"):
        lines += [f"[functions.{operation}]", f'symbol = "{SMALL.name}_{operation}"']
    file = tmp_path / "kernel.toml"
    file.write_text("\n".join(lines))
    elf = assemble_text(find_nasm(), SMALL.name, text_of(SMALL), "elf64")
    assert {f.operation for f in load_spec(file).functions} == {"seal", "open"}
    assert wrong_at(elf, load_spec(file), (40,)) is None
