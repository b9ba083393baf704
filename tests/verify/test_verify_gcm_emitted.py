"""The proof of emitted AES-GCM kernels: key set-up in every set, whole kernels, planted faults."""

import pytest
from helpers.gcm_proving import WHOLE, proved, text_of

from ghashgen.check.proofs import statement
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.verify.core.refutation import Category
from ghashgen.verify.prove import THEOREMS, Proof

SETS = {"sse": 4, "avx": 4, "avx2": 8, "avx512": 16}
"""Instruction set -> blocks of a group."""


@pytest.mark.parametrize("isa", SETS)
@pytest.mark.parametrize("key", [128, 192, 256])
@pytest.mark.parametrize("abi", ["sysv", "win64"])
def test_key_set_up_is_proved(isa: str, key: int, abi: str) -> None:
    wipe = key != 192
    kernel = GcmKernel(key, isa, "winograd", "clmul1", SETS[isa], wipe=wipe, messages=False)
    proof = proved(kernel, text_of(kernel, abi), "init", abi=abi)
    assert proof.refutation is None, str(proof.refutation)
    assert {t.what for t in proof.theorems} == {*THEOREMS, *(["wipe"] if wipe else [])}


def test_a_kernel_is_proved_whole() -> None:
    operations = ("init", "encrypt", "decrypt")
    assert tuple(f.operation for f in statement(WHOLE, WHOLE.name, "sysv").functions) == operations
    proof = proved(WHOLE, text_of(WHOLE), *operations)
    assert proof.refutation is None, str(proof.refutation)


def faulty(mark: str, old: str, new: str, operation: str) -> Proof:
    """Prove a function in which the first text behind its label is another."""
    head, label, tail = text_of(WHOLE).partition(f"\n{WHOLE.name}_{mark}:\n")
    assert old in tail
    return proved(WHOLE, head + label + tail.replace(old, new, 1), operation)


PLANTED = [
    ("init", "vaesenclast ", "vaesenc ", "round key 1 is wrong"),
    ("init", "[rdi + 80]", "[rdi + 96]", "round key 1 is not written"),
    ("init", "[rax + 128] ; + Rcon", "[rax + 96] ; + Rcon", "round key 9 is wrong"),
    ("init", "vaesenc ", "vaesenclast ", "no value is E_K(0)"),
    ("encrypt", "vaesenc ", "vaesenclast ", "the output at 0 is wrong"),
    ("encrypt", "[rdi + 112]", "[rdi + 128]", "the output at 0 is wrong"),
    ("encrypt", "vpaddd ", "vpaddq ", "the output at 16 is wrong"),
    ("encrypt", "vaesenclast ", "vaesenc ", "the output at 0 is wrong"),
    ("decrypt", "[rdi + 80]", "[rdi + 64]", "the output at 0 is wrong"),
    ("decrypt", "vaesenclast ", "vaesenc ", "the output at 0 is wrong"),
]
"""Function, a text in it, what stands at its first place instead, and words of the refusal."""


@pytest.mark.parametrize(("operation", "old", "new", "said"), PLANTED)
def test_a_planted_fault_is_refused(operation: str, old: str, new: str, said: str) -> None:
    head, label, tail = text_of(WHOLE).partition(f"\n{WHOLE.name}_{operation}:\n")
    assert old in tail
    proof = proved(WHOLE, head + label + tail.replace(old, new, 1), operation)
    assert proof.refutation is not None
    assert proof.refutation.category is Category.FUNCTION
    assert said in str(proof.refutation), str(proof.refutation)
