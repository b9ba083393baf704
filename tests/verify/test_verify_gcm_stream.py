"""The proof of what begins and ends a message in pieces: every set, both conventions, faults."""

import pytest
from helpers.gcm_proving import AVX, proved, text_of
from helpers.piece_faults import changed

from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.verify.core.refutation import Category
from ghashgen.verify.prove import THEOREMS

KERNELS = (
    GcmKernel(128, "sse", "karatsuba", "shift-xor", 4, streams=True, wipe=True),
    GcmKernel(192, "avx", "winograd", "clmul1", 8, streams=True),
    GcmKernel(256, "avx2", "winograd", "clmul1", 4, streams=True, order="natural"),
    GcmKernel(128, "avx512vl", "k", "clmul1", 2, streams=True, messages=False),
    GcmKernel(256, "avx512", "winograd", "clmul1", 16, streams=True, wipe=True),
)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("abi", ["sysv", "win64"])
@pytest.mark.parametrize("operation", ["start", "finish", "verify"])
def test_it_is_proved(kernel: GcmKernel, abi: str, operation: str) -> None:
    proof = proved(kernel, text_of(kernel, abi), operation, abi=abi)
    assert proof.refutation is None, str(proof.refutation)
    wanted = {*THEOREMS, *(["wipe"] if kernel.wipe else [])}
    assert {theorem.what for theorem in proof.theorems} == wanted


FAULTS = {
    "a begun block is not padded": ("and {gpr}, 0x0f", "and {gpr}, 0x00", "the tag"),
    "every block is begun": ("je .lengths", "", "the tag"),
    "AAD's length behind text": ("mov rcx, r8", "mov rcx, r9", "the tag"),
    "X is the mask": ("[rsi + 32]", "[rsi]", "the tag"),
    "the keystream is the mask": ("[rsi + 32]", "[rsi + 48]", "the tag"),
    "lengths in bytes": ("shl {gpr}, 0x03", "shl {gpr}, 0x00", "the tag"),
    "a phase of 3": ("cmp rax, 0x03", "cmp rax, 0x04", "status"),
    "a phase of 0": ("cmp rax, 0x00", "cmp rax, 0x05", "status"),
    "the counter is kept": ("vmovdqu [rsi + 16], xmm{n}", "", "byte 16 of the state"),
    "the numbers are kept": ("vmovdqu [rsi + 64], xmm{n}", "", "the state"),
    "the phase is kept": ("vmovdqu [rsi + 80], xmm{n}", "", "the state"),
    "0 where 3 is due": ("mov eax, 0x03", "mov eax, 0x00", "status"),
    "a tag of 8 bytes": ("vmovdqu [rdx], xmm{n}", "vmovq [rdx], xmm{n}", "the tag"),
}
"""What is replaced, and what the refusal says."""


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_refused(fault: str) -> None:
    old, new, words = FAULTS[fault]
    refutation = proved(AVX, changed("finish", old, new), "finish").refutation
    assert refutation is not None
    assert refutation.category is Category.FUNCTION, str(refutation)
    assert words in str(refutation)
