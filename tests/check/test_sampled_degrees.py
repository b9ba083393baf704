"""Degrees of decoded bytes: of pieces of code, what has none, and derivatives that vanish."""

import itertools
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.cpus import AS_FOUND
from helpers.emulating import needs_emulator
from helpers.sampling import NARROW, subject_of_kernel, text_of

from ghashgen.check.sampled import points
from ghashgen.check.sampled.control import Refused
from ghashgen.check.sampled.subject import Function, plan
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.run.emulate import Buffer, Call, Emulator
from ghashgen.run.emulate.image import load_object

pytestmark = needs_emulator


# -- degrees -------------------------------------------------------------------------------------


def _plan(object_of: Callable[[str], bytes], folder: Path, body: str) -> int | None:
    obj = folder / f"piece-{abs(hash(body))}.o"
    obj.write_bytes(object_of(f"section .text\nglobal k_mul\nk_mul:\n{body}\n"))
    subject = replace(
        subject_of_kernel(NARROW), obj=obj, functions={"mul": Function("k_mul", ("table", "state"))}
    )
    return plan(subject).mul


LOAD = "movdqu xmm0, [rsi]\nmovdqu xmm1, [rdi]\n"
STORE = "movdqu [rsi], xmm0\nret"
DEGREES = {
    "pxor xmm0, xmm1": 2,
    "pclmulqdq xmm0, xmm1, 0\npclmulqdq xmm0, xmm1, 0": 3,
    "pclmulqdq xmm0, xmm0, 0x10\npclmulqdq xmm0, xmm0, 0x10": 4,
    "pclmulqdq xmm0, xmm1, 0\npxor xmm1, xmm1\npclmulqdq xmm0, xmm1, 0": 2,
    "movdqu [rsp - 24], xmm1\npclmulqdq xmm0, [rsp - 24], 0\npclmulqdq xmm0, xmm1, 0": 3,
    "vpternlogq xmm0, xmm1, [rdi + 16], 0x80": 3,
    "vpternlogq xmm0, xmm1, [rdi + 16], 0x96": 2,
    "vpternlogq xmm0, xmm1, [rdi + 16], 0xca": 2,
    "vmovdqu xmm0, [rsi]\nvpermq ymm0, ymm0, 0x4e\npclmulqdq xmm0, xmm1, 0": 2,
    "mov eax, 3\nkmovq k1, rax\nvmovdqu8 xmm0{k1}{z}, [rsi]\npclmulqdq xmm0, xmm0, 0": 2,
    "mov eax, 3\nkmovq k1, rax\npclmulqdq xmm0, xmm1, 0\nvmovdqu8 xmm0{k1}, [rsi]": 2,
    "vpternlogq xmm0, xmm0, xmm9, 0xff\npclmulqdq xmm0, xmm1, 0": 2,
    "mov rax, [rsi]\nmovq xmm0, rax\npand xmm0, xmm1\npand xmm0, xmm1": 3,
    "push rbx\nmov rbx, 3\n.l: pclmulqdq xmm0, xmm1, 0\ndec rbx\njnz .l\npop rbx": 4,
}
"""Pieces, and their degree; 2 at least, that of the right result."""


@pytest.mark.parametrize("body", DEGREES)
def test_degree_of_a_piece(object_of: Callable[[str], bytes], folder: Path, body: str) -> None:
    assert _plan(object_of, folder, LOAD + body + "\n" + STORE) == DEGREES[body]


REFUSED = {
    "mov rax, [rsi]\ntest rax, rax\njz .a\npxor xmm0, xmm1\n.a:": "depends on data",
    "mov rax, [rsi]\nand eax, 15\nmovdqu xmm0, [rdi + rax]": "depends on data",
    "movq rax, xmm0\nadd rax, 1\nmovq xmm0, rax": "depends on data",
    "pshufb xmm1, xmm0": "order that depends on data",
    "psllq xmm1, xmm0": "count that depends on data",
    "vmovdqu ymm1, [rdi]\nvpermq ymm0, ymm1, ymm1": "order that depends on data",
    "vzeroall": "not on the list",
    "rdtsc": "not on the list",
    "cld": "not on the list",
    "hlt": "",
    "syscall": "not on the list",
    "retf": "not on the list",
    "iretq": "not on the list",
    "ret 8": "not on the list",
    "lock add rax, 1": "",
    "pmovmskb eax, xmm0": "not on the list",
    "maskmovdqu xmm0, xmm1": "",
    "rep movsb": "",
    "jrcxz .a\n.a:": "not on the list",
    "mov rax, [fs:0]": "another segment",
    "movdqu xmm0, [esi]": "fewer than 64 bits",
    "paddq xmm0, xmm1": "not on the list",
    "vpcmpeqb xmm0, xmm0, xmm1": "not on the list",
    "vpgatherqq xmm0, [rdi + xmm1], xmm2": "",
    "pxor xmm0, xmm9": "what the caller left",
    "pxor xmm0, [rsp - 32]": "what the caller left",
    "movq xmm0, rbx": "what the caller left",
    "kmovq k1, rax\nvmovdqu8 xmm0{k2}{z}, [rdi]": "depends on data",
    "movdqu xmm0, [rdi + 4096]": "outside of the buffers",
    "movdqu [rdi], xmm0": "outside of state and stack",
    "add qword [rsp - 8], 1": "memory as an operand",
    "cmp al, 3": "fewer than 32 bits",
    "db 0x66\njmp .a\n.a:": "operand-size prefix",
    "mov rax, [rsp]\ndec rax\njmp rax": "",
    "pop rax\ndec rax\npush rax": "leaves the code",
    "shl rcx, 1\njc .a\n.a:": "depends on data",
    "shl rcx, 1\njo .a\n.a:": "depends on data",
    "jz .a\n.a:": "depends on data",
    "js .a\n.a:": "depends on data",
    ".l: jmp .l": "does not return",
}


@pytest.mark.parametrize("body", REFUSED)
def test_what_has_no_degree_is_refused(
    object_of: Callable[[str], bytes], folder: Path, body: str
) -> None:
    with pytest.raises(Refused) as refusal:
        _plan(object_of, folder, LOAD + body + "\n" + STORE)
    assert REFUSED[body] in str(refusal.value)


HELD = (
    (Kernel("avx", "k", "clmul1", 1), "mul", 0),
    (Kernel("avx", "winograd", "clmul1", 2), "update", 40),
    (Kernel("avx512", "winograd", "clmul1", 4), "update", 64),
    (Kernel("avx512vl", "karatsuba", "clmul2", 2, order="natural"), "update", 40),
)


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize(("kernel", "name", "length"), HELD, ids=lambda v: getattr(v, "name", v))
def test_derivatives_beyond_the_degree_vanish(
    kernel: Kernel,
    name: str,
    length: int,
    object_of: Callable[[str], bytes],
    emulator: Emulator,
    folder: Path,
) -> None:
    """The sum over a cube of d + 1 directions is 0 for a polynomial of degree d, and over one of d
    not: the bound of a right kernel's result, which is its structure's degree, is no fiction."""
    obj = folder / f"{kernel.name}.o"
    obj.write_bytes(object_of(text_of(kernel)))
    subject = replace(subject_of_kernel(kernel), obj=obj)
    degree = subject.structure.degree(length) if name == "update" else 2
    degrees = plan(subject)
    assert degree <= (degrees.update[length] if name == "update" else degrees.mul or 0)
    rng = random.Random(8)
    powers, size = max(kernel.blocks, subject.top), 16 + length
    image = load_object(obj)

    def results(directions: int) -> int:
        start, *ways = [rng.randbytes(size + 16 * powers) for _ in range(directions + 1)]
        calls = []
        for chosen in itertools.product((0, 1), repeat=directions):
            value = int.from_bytes(start, "little")
            for use, way in zip(chosen, ways, strict=True):
                value ^= int.from_bytes(way, "little") * use
            at = value.to_bytes(len(start), "little")
            H = [at[size + 16 * i : size + 16 * (i + 1)] for i in range(powers)]
            table = b"".join(points.table(subject.cells, H, subject.order, "ghash"))
            buffers = [Buffer("table", table), Buffer("x", at[:16], writable=True)]
            arguments: tuple[int | str, ...] = ("table", "x")
            if name == "update":
                buffers.append(Buffer("in", at[16:size]))
                arguments = ("table", "x", "in", length)
            calls.append(Call(arguments, tuple(buffers)))
        total = 0
        for answer in emulator.call_many(image, f"{kernel.name}_{name}", calls):
            assert answer.outcome.ok, answer.outcome.text
            total ^= int.from_bytes(answer.buffers["x"], "little")
        return total

    assert results(degree + 1) == 0
    assert results(degree) != 0
