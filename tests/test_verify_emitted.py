"""The proof of emitted kernels that no other test proves: odd corners of the axes."""

import pytest

from ghashgen.check.proofs import statement
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import Target
from ghashgen.output.artefact import make
from ghashgen.support.toolchain import Tool, assemble_text
from ghashgen.verify.core.values import Affine
from ghashgen.verify.engine import induction
from ghashgen.verify.engine.induction import Course
from ghashgen.verify.hash.power import HashProver
from ghashgen.verify.prove import prove_object
from ghashgen.verify.uncovered import prove_function

# POLYVAL swaps no bytes, so Karatsuba's A0 + A1 is made of a partial block as it stands in memory.
CORNERS = [
    Kernel("avx", "karatsuba", "clmul2", 2, op="polyval"),
    Kernel("sse", "karatsuba", "shift-xor", 2, op="polyval"),
    Kernel("avx2", "karatsuba", "clmul2", 2, op="polyval"),
]


@pytest.mark.parametrize("kernel", CORNERS, ids=lambda kernel: kernel.name)
def test_a_corner_of_the_axes_is_proved(kernel: Kernel, nasm: Tool) -> None:
    made = make(kernel, Target(), nasm)
    elf = assemble_text(nasm, kernel.name, made.text, "elf64")
    proof = prove_object(elf, statement(kernel, kernel.name, "sysv"))
    assert proof.refutation is None, proof.report()


def test_a_wrong_sum_of_halves_of_a_partial_block_is_refused(nasm: Tool) -> None:
    kernel = CORNERS[0]
    text = make(kernel, Target(), nasm).text
    head, mark, tail = text.rpartition(".padded:")
    wrong = tail.replace("0x4e", "0xee", 1)
    assert wrong != tail
    elf = assemble_text(nasm, kernel.name, head + mark + wrong, "elf64")
    assert prove_object(elf, statement(kernel, kernel.name, "sysv")).refutation is not None


def test_lengths_below_the_base_are_proved_together_or_one_by_one(
    nasm: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = Kernel("avx512", "k", "clmul1", 4, fold="end")
    elf = assemble_text(nasm, kernel.name, make(kernel, Target(), nasm).text, "elf64")
    spec = statement(kernel, kernel.name, "sysv")
    verdicts: list[bool] = []
    reaches = induction._reaches_proved

    def noted(prover: HashProver, course: Course, length: Affine) -> bool:
        verdicts.append(reaches(prover, course, length))
        return verdicts[-1]

    monkeypatch.setattr(induction, "_reaches_proved", noted)
    together = prove_object(elf, spec, prove=prove_function)
    monkeypatch.setattr(induction, "_reaches_proved", lambda prover, course, length: False)
    alone = prove_object(elf, spec, prove=prove_function)
    assert any(verdicts)
    assert together.refutation is alone.refutation is None
    assert together.theorems == alone.theorems
    assert sum(f.instructions for f in together.functions) < sum(
        f.instructions for f in alone.functions
    )
