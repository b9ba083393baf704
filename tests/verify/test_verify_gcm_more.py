"""The proof of a message's next piece: every set, both conventions, planted faults and designs."""

import re

import pytest
from helpers.gcm_proving import AVX, proved, text_of
from helpers.piece_faults import changed

from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.check.proofs import statement
from ghashgen.kernels.families import functions_of
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.support.toolchain import assemble_text
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.prove import THEOREMS, prove_object

AAD, ENCRYPT, DECRYPT = PIECES = ("aad", "encrypt_more", "decrypt_more")

KERNELS = (
    (GcmKernel(128, "sse", "karatsuba", "shift-xor", 4, streams=True, wipe=True), "win64"),
    (GcmKernel(192, "avx", "winograd", "clmul1", 3, streams=True), "sysv"),
    (GcmKernel(256, "avx2", "winograd", "clmul1", 4, streams=True, order="natural"), "win64"),
    (GcmKernel(128, "avx512vl", "k", "clmul1", 2, streams=True, messages=False), "sysv"),
    (GcmKernel(256, "avx512", "winograd", "clmul1", 4, streams=True, wipe=True), "sysv"),
)


@pytest.mark.parametrize(
    ("kernel", "abi"), KERNELS, ids=lambda value: getattr(value, "name", value)
)
def test_pieces_are_proved_from_every_state(kernel: GcmKernel, abi: str) -> None:
    proof = proved(kernel, text_of(kernel, abi), *PIECES, abi=abi)
    assert proof.refutation is None, str(proof.refutation)
    wanted = {*THEOREMS, *(["wipe"] if kernel.wipe else [])}
    for name in PIECES:
        found = [t for t in proof.theorems if t.symbol.endswith(name)]
        assert {theorem.what for theorem in found} == wanted
        ways = {method.partition(", ")[2] for theorem in found if (method := theorem.method)}
        assert ways == ({""} if name == AAD else {"apart", "in place"})


TOLD = "^(function|unsupported): "
"""What the proof may say instead of a row's words: no certificate is accepted."""


def refused(function: str, old: str, new: str, nth: int = 0) -> str:
    proof = proved(AVX, changed(function, old, new, nth), function)
    assert isinstance(proof.refutation, Refutation), "it is proved"
    return f"{proof.refutation.category}: {proof.refutation}"


OF_AAD = {
    "a piece at the block's first byte": (
        "vpshufb xmm0, xmm0, [rax + 16]", "nop", "function: .*the state is wrong",
    ),
    "a full block is not multiplied": (
        "jne .store", "jmp .blocks", "function: .*the state is wrong",
    ),
    "places from 8 on are forgotten": (
        "and r8, 0x0f", "and r8, 0x07", "function: .*the state is wrong",
    ),
    "a piece that fills the block moves on by 16": (
        "lea rdx, [rdx + r9]", "lea rdx, [rdx + 16]", "memory: .*aad that end",
    ),
    "a byte behind the piece": (
        "vmovq xmm1, [rdx + r9 - 8]", "vmovq xmm1, [rdx + r9 - 7]", "function: .*the last",
    ),
    "a comparison in 32 bits": (
        "cmp rcx, rax", "cmp ecx, eax", "may wrap|the status is wrong|no end",
    ),
    "signed": ("ja .refused", "jg .refused", "the status is wrong|no end|depends"),
    "the most, less a byte": (
        "mov rax, 2305843009213693951", "mov rax, 2305843009213693950",
        "function: .*the status is wrong",
    ),
    "a byte too much": (
        "mov rax, 2305843009213693951", "mov rax, 2305843009213693952",
        "function: .*the status is wrong",
    ),
    "what just fits is refused": (
        "ja .refused", "jae .refused", "function: .*the status is wrong",
    ),
    "the length is not stored": (
        "mov [rsi + 64], rax", "", "function: .*AAD so far, in the state, is wrong",
    ),
    "the length is that of text": (
        "mov [rsi + 64], rax", "mov [rsi + 72], rax", "function: .*AAD so far",
    ),
    "AAD behind text": ("jne .misplaced", "", "function: .*the status is wrong"),
    "the last bytes change": (
        "mov r8, [rsi + 64]", "mov r8, [rsi + 64]\n mov [rsi + 88], rcx",
        "function: .*byte 88 of the state|something is written",
    ),
    "no bytes are a piece": ("je .done", "", "function: .*something is written"),
    "X where the counter is": (
        "vmovdqu [rsi], xmm", "vmovdqu [rsi + 16], xmm", "function: .*byte 16 of the state",
    ),
    "a branch on X": (
        "cmp r8, 0x00", "mov rax, [rsi]\n cmp rax, 0\n je .q\n.q:\n cmp r8, 0x00",
        "constant-time: ",
    ),
}  # fmt: skip
"""What is replaced by what in `aad`, and what the refusal says."""

OF_TEXT = {
    "the keystream from the block's first byte on": (
        "vpshufb xmm2, xmm2, [{table} + r10 + 16]", "nop",
        "function: .*the begun block's part of the output",
    ),
    "the keystream from a byte further on": (
        "[{table} + r10 + 16]", "[{table} + r10 + 17]", "function: .*the begun block's part",
    ),
    "a full block is not multiplied": (".full:", ".full:\n jmp .blocks", "the state is wrong|end"),
    "a full block is not multiplied if more follows": (
        ".full:", ".full:\n cmp r8, 0\n jne .blocks", "function: .*the state is wrong",
    ),
    "the counter is not stored": (
        "vmovdqu [rsi + 16], xmm", "vmovdqu [rsi + 32], xmm", "function: .*the counter block",
    ),
    "the counter goes on by one for two": (
        "NAME_blocks_2]", "NAME_one]", "function: .*block 3 of the output is wrong",
    ),
    "the keystream is not kept": (
        "vmovdqu [rsi + 48], xmm", "vmovdqu [rsi + 32], xmm", "function: .*keystream that is",
    ),
    "the keystream is kept of whole blocks too": (
        "and r8, -16", "and r8, -16\n vmovdqu [rsi + 48], xmm1",
        "function: .*the keystream that is kept",
    ),
    "places from 8 on are forgotten": (
        "and r10, 0x0f", "and r10, 0x07", "function: .*the begun block's part",
    ),
    "the phase stays": ("mov [rsi + 80], rax", "", "function: .*phase, in the state"),
    "AAD is not padded": (
        "and rax, 0x0f", "and rax, 0x00", "function: .*the state is wrong",
    ),
    "AAD is padded always": (
        "je .blocks", "", "the state is wrong|no state from which|depends|with an unknown",
    ),
    "AAD of 8 bytes is not padded": (
        "and rax, 0x0f", "and rax, 0x07", "function: .*the state is wrong",
    ),
    "text decides on AAD's end": ("[rsi + 64]", "[rsi + 72]", "function: .*the state is wrong"),
    "so far in 32 bits": (
        "mov r10, [rsi + 72]", "mov r10d, [rsi + 72]", "function: .*text so far",
    ),
    "the sum in 32 bits": (
        "lea r9, [r10 + r8]", "lea r9d, [r10 + r8]", "function: .*text so far",
    ),
    "a comparison in 32 bits": (
        "cmp r8, r9", "cmp r8d, r9d", "may wrap|the status is wrong|no end",
    ),
    "the most, and a byte": (
        "mov r9, 68719476704", "mov r9, 68719476705", "function: .*the status is wrong",
    ),
    "a phase of 3": ("cmp rax, 0x03", "cmp rax, 0x04", "function: .*the status is wrong"),
    "the length is not less": ("sub r8, r9", "", "memory: "),
    "in does not move on": (
        "lea rdx, [rdx + r9]", "", "function: .*block 1 of the output is wrong",
    ),
    "out does not move on": (
        "lea rcx, [rcx + r9]", "", "memory: .*output that are written already",
    ),
    "16 bytes go into a begun block": (
        ".filling_stored_8:", ".filling_stored_8:\n vmovdqu [rcx], xmm3", "memory: .*beyond it",
    ),
    "AAD is forgotten behind the loop": (
        "vmovdqu [rsi + 16], xmm",
        "mov rax, 0\n mov [rsi + 64], rax\n vmovdqu [rsi + 16], xmm",
        "function: .*AAD so far, in the state",
    ),
    "text counts twice behind the loop": (
        "vmovdqu [rsi + 16], xmm",
        "mov rax, [rsi + 72]\n add rax, 16\n mov [rsi + 72], rax\n vmovdqu [rsi + 16], xmm",
        "function: .*text so far, in the state",
    ),
    "what has come decides behind the loop": (
        "vmovdqu [rsi + 16], xmm",
        "mov rax, [rsi + 72]\n and rax, 15\n cmp rax, 3\n jne .q\n mov rax, 0\n"
        " mov [rsi + 64], rax\n.q:\n vmovdqu [rsi + 16], xmm",
        "with an unknown|in the state, is wrong",
    ),
    "X of the entry is added at the end": (
        ".store:", ".store:\n vpxor xmm0, xmm0, [rsi]", "the state is wrong|depends on",
    ),
    "wrong from 2^20 bytes on": (
        "mov [rsi + 72], r9",
        "mov [rsi + 72], r9\n cmp r8, 1048576\n jb .q\n mov qword [rsi + 72], 0\n.q:",
        "depends on the unknown|text so far",
    ),
    "wrong at place 13 if more than 3 come": (
        "cmp rax, 0x10",
        "cmp r10, 13\n jne .q\n cmp r8, 4\n jb .q\n vpxor xmm0, xmm0, xmm1\n.q:\n cmp rax, 0x10",
        "depends on the unknown|the state is wrong",
    ),
}  # fmt: skip
"""Likewise in both functions of text."""


@pytest.mark.parametrize("fault", OF_AAD)
def test_a_fault_in_aad_is_refused(fault: str) -> None:
    old, new, words = OF_AAD[fault]
    assert re.search(f"{words}|{TOLD}", said := refused(AAD, old, new)), said


@pytest.mark.parametrize("function", [ENCRYPT, DECRYPT])
@pytest.mark.parametrize("fault", OF_TEXT)
def test_a_fault_in_text_is_refused(fault: str, function: str) -> None:
    old, new, words = OF_TEXT[fault]
    assert re.search(f"{words}|{TOLD}", said := refused(function, old, new)), said


def test_a_kernel_of_streams_is_proved_whole() -> None:
    elf = assemble_text(find_nasm(), AVX.name, text_of(AVX), "elf64")
    proof = prove_object(elf, statement(AVX, AVX.name, "sysv"))
    assert proof.refutation is None, str(proof.refutation)
    assert [f.operation for f in proof.functions] == list(functions_of(AVX))


def test_what_was_refused_is_proved_where_it_is_right() -> None:
    assert proved(AVX, text_of(AVX), *PIECES).proved
    twins = (
        # As what is forgotten, or counts twice, behind the loop.
        (ENCRYPT, "mov rax, [rsi + 64]\n mov [rsi + 64], rax\n vmovdqu [rsi + 16], xmm"),
        (
            DECRYPT,
            "mov rax, [rsi + 72]\n add rax, 0\n mov [rsi + 72], rax\n vmovdqu [rsi + 16], xmm",
        ),
    )
    for function, new in twins:
        text = changed(function, "vmovdqu [rsi + 16], xmm", new)
        assert proved(AVX, text, function).proved


def test_in_place_a_piece_that_is_read_behind_its_store_is_refused() -> None:
    new = ".filling_stored_1:\n vpinsrb xmm1, xmm1, [rdx], 0"
    assert re.search(TOLD, said := refused(DECRYPT, new[:18], new)), said
