"""The proof of emitted kernels that no other test proves: odd corners of the axes."""

import pytest

from ghashgen.check.proofs import statement
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import Target
from ghashgen.output.artefact import make
from ghashgen.support.toolchain import Tool, assemble_text
from ghashgen.verify.prove import prove_object

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
    assert proof.refutation is None, str(proof.refutation)


def test_a_wrong_sum_of_halves_of_a_partial_block_is_refused(nasm: Tool) -> None:
    kernel = CORNERS[0]
    text = make(kernel, Target(), nasm).text
    head, mark, tail = text.rpartition(".padded:")
    wrong = tail.replace("0x4e", "0xee", 1)
    assert wrong != tail
    elf = assemble_text(nasm, kernel.name, head + mark + wrong, "elf64")
    assert prove_object(elf, statement(kernel, kernel.name, "sysv")).refutation is not None
