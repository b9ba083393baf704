"""The proof of seal and open: whole messages, planted faults, and what lengths are refused."""

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
    assert proof.refutation is None, str(proof.refutation)
    assert {t.what for t in proof.theorems} == {*THEOREMS, *(["wipe"] if kernel.wipe else [])}


PLANTED = {
    NARROW: [
        # The last 16 bytes: as read, as written, for the hash.
        ("seal", "[rsi + rcx + 16] ; the last block", "[rsi + rcx + 15] ;", FUNCTION),
        ("seal", "vpand xmm5, xmm5, [rdx + rcx + 32]", "vpand xmm5, xmm5, [rdx + rcx + 31]",
         Category.MEMORY),
        ("seal", "vpshufb xmm5, xmm5, [rsi + 16]", "vpshufb xmm5, xmm5, [rsi + 17]",
         Category.MEMORY),
        ("seal", "vmovdqu [r12 + r13 - 16], xmm5", "vmovdqu [r12 + r13 - 17], xmm5",
         Category.MEMORY),
        ("seal", "vmovdqu [r12 + r13 - 16], xmm5", "vmovdqu [r12 + r13 - 15], xmm5",
         Category.MEMORY),
        ("seal", "vpand xmm4, xmm4, [rdx + rcx + 16] ", ";", FUNCTION),
        ("seal", "and rcx, 0x0f ", "and rcx, 0x07 ;", ""),
        # A power, that of S, and which path a length takes.
        ("seal", "vpclmulqdq xmm9, xmm5, [rdi + 48], 0x01", "vpclmulqdq xmm9, xmm5, [rdi + 64], 1",
         FUNCTION),
        ("seal", "lea rcx, [rdi + rcx + 64]", "lea rcx, [rdi + rcx + 80]", FUNCTION),
        ("seal", "lea rcx, [r13 + 15]", "lea rcx, [r13 + 16]", FUNCTION),
        ("seal", "cmp r13, 0x21", "cmp r13, 0x22", ""),
        ("seal", "cmp r13, 0x11", "cmp r13, 0x12", ""),
        ("seal", "cmp r8, 0x11", "cmp r8, 0x12", ""),
    ],
    TWO: [
        # Lanes: J_0 beside the last block, S and the lengths, the last two blocks, counters.
        ("seal", "vinserti128 ymm5, ymm5, xmm8, 0x01", "vinserti128 ymm5, ymm8, xmm5, 1", ""),
        ("seal", "vinserti128 ymm6, ymm6, xmm8, 0x01", "vinserti128 ymm6, ymm6, xmm6, 1", FUNCTION),
        ("seal", "vinserti128 ymm0, ymm3, xmm0, 0x01", "vinserti128 ymm0, ymm0, xmm3, 1", FUNCTION),
        ("seal", "vinserti128 ymm4, ymm5, xmm4, 0x01", "vinserti128 ymm4, ymm4, xmm5, 1", ""),
        ("seal", "vpaddd ymm6, ymm14, [rel {}_blocks_2]", "vmovdqa ymm6, ymm14", ""),
        ("seal", "[rel {}_lane_numbers_from_1]", "[rel {}_blocks_2]", ""),
        # The last 16 bytes: of which lanes, as written, for the hash.
        ("seal", "vextracti128 xmm7, ymm5, 0x01", "vextracti128 xmm7, ymm5, 0", Category.MEMORY),
        ("seal", "vpand xmm6, xmm6, [rdx + rcx + 32]", "vpand xmm6, xmm6, [rdx + rcx + 31]",
         Category.MEMORY),
        ("seal", "vpand ymm5, ymm8, [rdx + rcx] ", "vmovdqa ymm5, ymm8 ;", FUNCTION),
        ("seal", "vpand xmm5, xmm6, [rdx + rcx + 16] ", "vmovdqa xmm5, xmm6 ;", FUNCTION),
        ("seal", "vmovdqu [r12], ymm5 ", "vmovdqu [r12], xmm5 ;", ""),
        # Powers, and which path a length takes.
        ("seal", "vmovdqu xmm5, [rdi + 80]", "vmovdqu xmm5, [rdi + 64]", FUNCTION),
        ("seal", "vpclmulqdq ymm7, ymm5, [rdi + 128], 0x00",
         "vpclmulqdq ymm7, ymm5, [rdi + 112], 0", FUNCTION),
        ("seal", "vpclmulqdq ymm7, ymm5, [rdi + 128], 0x00",
         "vpclmulqdq xmm7, xmm5, [rdi + 128], 0", FUNCTION),
        ("seal", "cmp r13, 0x21", "cmp r13, 0x22", ""),
        ("seal", "cmp r13, 0x31", "cmp r13, 0x30", ""),
        ("seal", "cmp r13, 0x41", "cmp r13, 0x42", ""),
        ("open", "je .right", "je .right\n cmp r14, 17\n je .right", ""),
    ],
}  # fmt: skip
"""By kernel: function, a text in it, what stands there instead, and the refusal."""


@pytest.mark.parametrize(
    ("kernel", "operation", "old", "new", "category"),
    [(kernel, *row) for kernel, rows in PLANTED.items() for row in rows],
)
def test_a_fault_on_the_straight_path_is_refused(
    kernel: GcmKernel, operation: str, old: str, new: str, category: str
) -> None:
    head, label, tail = text_of(kernel).partition(f"\n{kernel.name}_{operation}:\n")
    own, end, rest = tail.partition("\n.end:")
    own = planted(own, old.format(kernel.name), new.format(kernel.name))
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
