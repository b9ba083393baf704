"""What the tests of proofs of AES-GCM share: emitted text, and the proof of some functions."""

from dataclasses import replace

from ghashgen.check.proofs import statement
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.target import runnable
from ghashgen.verify.difference import explain
from ghashgen.verify.prove import Proof, prove_object
from ghashgen.verify.statements.gcm import GcmSpec
from helpers.compiling import emitted_text, plain
from helpers.verify_objects import assembled

SMALL = GcmKernel(128, "avx", "winograd", "clmul1", 2)
"""The kernel whose whole messages faults are planted in."""

WHOLE = GcmKernel(128, "avx", "k", "clmul1", 2, messages=False)
"""A kernel of texts alone, small enough to be proved whole."""

AVX = GcmKernel(128, "avx", "winograd", "clmul1", 2, streams=True, messages=False)
"""The kernel whose messages in pieces faults are planted in."""


def text_of(kernel: GcmKernel, abi: str = "sysv") -> str:
    return plain(emitted_text(kernel, runnable(abi)))


def proved(kernel: GcmKernel, text: str, *operations: str, abi: str = "sysv") -> Proof:
    """The proof of some functions alone."""
    stated: GcmSpec = statement(kernel, kernel.name, abi)
    chosen = tuple(f for f in stated.functions if f.operation in operations)
    assert len(chosen) == len(operations)
    proof = prove_object(assembled(text), replace(stated, functions=chosen))
    explain(proof.refutation)
    return proof
