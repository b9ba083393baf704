"""What functions leave behind, found in their bytes and compared with what the proof sees."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from helpers.compiling import Assembled
from helpers.verify_objects import assembled

from ghashgen.arch.objects import read_object
from ghashgen.arch.x86_64 import ARCH
from ghashgen.check.proofs import statement
from ghashgen.cost.audit import audit
from ghashgen.cost.left import Left, left_by
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import target
from ghashgen.output.artefact import make
from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import Tool, assemble_text
from ghashgen.verify.core.term import CALLER, OPAQUE, SECRET, Term, secret
from ghashgen.verify.machine.machine import Machine
from ghashgen.verify.machine.memory import STACK
from ghashgen.verify.prove import prove_object
from ghashgen.verify.rules import check
from ghashgen.verify.x86_64.machine import GPR_NAMES


def left(*lines: str) -> Left:
    text = "section .text\nglobal f\nf:\n" + "".join(f"{line}\n" for line in lines)
    body = read_object(assembled(text)).function("f")
    return left_by(ARCH, body, [ARCH.decoder.effect(instruction) for instruction in body])


SNIPPETS = (
    (("movdqu xmm3, [rdi]", "ret"), ("xmm3",), 0),
    (("movdqu xmm3, [rel f]", "ret"), (), 0),  # a constant
    (("mov rax, rdx", "add rax, 16", "ret"), (), 0),  # a length
    (("movzx eax, byte [rdi]", "ret"), ("rax",), 0),
    (("movzx r8d, byte [rdi]", "vmovq xmm1, r8", "xor r8d, r8d", "ret"), ("xmm1",), 0),
    (("movdqu xmm1, [rdi]", "movdqu xmm2, [rsi]", "pxor xmm1, xmm1", "ret"), ("xmm2",), 0),
    (("vmovdqu ymm1, [rdi]", "vpxor xmm1, xmm1, xmm1", "vzeroupper", "ret"), (), 0),
    (("vmovdqu ymm1, [rdi]", "vpaddd ymm2, ymm2, ymm1", "vzeroupper", "ret"), ("xmm1", "xmm2"), 0),
    (("vmovdqu64 zmm20, [rdi]", "vpxorq xmm20, xmm20, xmm20", "ret"), (), 0),
    # One path only.
    (("test rdx, rdx", "je .a", "movdqu xmm1, [rdi]", ".a: ret"), ("xmm1",), 0),
    (("movdqu xmm1, [rdi]", "test rdx, rdx", "je .a", "pxor xmm1, xmm1", ".a: ret"), ("xmm1",), 0),
    # Found in the second turn of the loop alone.
    ((".a: movdqa xmm2, xmm1", "movdqu xmm1, [rdi]", "sub rdx, 1", "jne .a", "pxor xmm1, xmm1",
      "ret"), ("xmm2",), 0),
    # The frame: stored there, and overwritten, and a register saved and restored.
    (("sub rsp, 40", "movdqu xmm1, [rdi]", "movdqu [rsp + 16], xmm1", "pxor xmm1, xmm1",
      "add rsp, 40", "ret"), (), 16),
    (("sub rsp, 40", "movdqu xmm1, [rdi]", "movdqu [rsp + 16], xmm1", "pxor xmm1, xmm1",
      "movdqu [rsp + 8], xmm1", "add rsp, 40", "ret"), (), 8),
    (("push rbx", "movzx ebx, byte [rdi]", "pop rbx", "ret"), (), 0),
    (("movzx ebx, byte [rdi]", "push rbx", "pop rcx", "xor ebx, ebx", "ret"), ("rcx",), 8),
    (("movzx eax, byte [rdi]", "mov al, 0", "ret"), ("rax",), 0),
    (("movzx eax, byte [rdi]", "cmp eax, 3", "mov eax, 0", "ret"), ("flags",), 0),
    (("kmovq k1, [rdi]", "ret"), ("k1",), 0),
    # A parameter on the stack is an address or a length; what it points to is secret.
    (("mov rax, [rsp + 8]", "movzx ecx, byte [rax]", "ret"), ("rcx",), 0),
)  # fmt: skip


@pytest.mark.parametrize(("lines", "registers", "stack"), SNIPPETS)
def test_secrets_are_followed(
    lines: tuple[str, ...], registers: tuple[str, ...], stack: int
) -> None:
    assert left(*lines) == Left(registers, stack)


@pytest.mark.parametrize(
    "lines",
    [
        ("mov rsp, rdi", "ret"),
        ("call f", "ret"),
        ("mov [rsp + 8], rax", "ret"),
        ("mov rax, [rsp + rcx - 8]", "ret"),
        ("test rdx, rdx", "je .a", "push rax", ".a: ret"),
    ],
)
def test_what_is_not_followed_is_refused(lines: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=r"follow|stack depths"):
        left(*lines)


def test_files_say_where_secrets_remain(shipped: Mapping[str, Assembled]) -> None:
    places = set()
    for item in shipped.values():
        text = item.text.splitlines()
        (wipe,) = (line for line in text if line.startswith("; wipe "))
        remain = {name for left in item.audit.left.values() for name in left.names}
        if item.kernel.wipe:
            assert not remain
            assert "zeroed" in wipe
            assert ";   no secret remains in registers or on the stack" in text
        else:
            for name in remain:
                number = name.removeprefix("xmm")
                assert name in wipe or (number != name and "xmm" in wipe), (item.symbol, name)
        places |= {"vector" if name.startswith("xmm") else name for name in remain}
    assert places == {"vector", "rax", "rdx", "r8", "stack"}


SEEN_BY_THE_PROOF = (
    Kernel("avx", "k", "clmul1", 2),
    Kernel("avx", "winograd", "clmul1", 4, swap="stack"),
    Kernel("avx", "winograd", "clmul1", 4, pipeline="ahead"),
    Kernel("sse", "karatsuba", "shift-xor", 2),
    Kernel("avx2", "winograd", "clmul1", 4),
    Kernel("avx512", "k", "clmul1", 4, op="polyval"),
    Kernel("avx512vl", "winograd", "clmul1", 2, segments=True),
    Kernel("avx2", "k", "clmul1", 4, wipe=True),
)


@pytest.mark.parametrize("kernel", SEEN_BY_THE_PROOF, ids=lambda kernel: kernel.name)
def test_the_proof_sees_secrets_in_these_places_and_no_others(
    kernel: Kernel, nasm: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Where loops are cut, the proof forgets registers that nobody reads again: secret for it.
    may: dict[str, set[str]] = defaultdict(set)
    does: dict[str, set[str]] = defaultdict(set)
    stack: dict[str, set[int]] = defaultdict(set)
    function = ""

    def known(value: object) -> bool:
        return isinstance(value, Term) and bool(value.deps & ~(CALLER | OPAQUE | SECRET))

    def holding(m: Machine, holds: Callable[[object], bool]) -> set[str]:
        found = {GPR_NAMES[k] for k, value in enumerate(m.gpr) if holds(value)}
        found |= {f"xmm{k}" for k, lanes in enumerate(m.vec) if any(map(holds, lanes))}
        found |= {f"k{k}" for k, value in enumerate(m.mask) if holds(value)}
        # Of flags the proof follows the secrecy alone: what they may hold, not what they do.
        return found | ({"flags"} if holds is secret and m.flags.secret else set())

    def note(m: Machine, returned: int) -> None:
        may[function] |= holding(m, secret)
        does[function] |= holding(m, known)
        frame = m.memory.written[STACK].items()
        stack[function] |= {offset for offset, (value, _) in frame if secret(value)}

    monkeypatch.setattr(check, "check_wiped", note)
    made = make(kernel, target(), nasm)
    elf = assemble_text(nasm, kernel.name, made.text, "elf64")
    spec = replace(statement(kernel, kernel.name, "sysv"), wipe=True)
    for one in spec.functions:
        function = one.operation
        proof = prove_object(elf, replace(spec, functions=(one,)))
        assert proof.refutation is None, str(proof.refutation)
        said = made.audit.left[function]
        assert does[function] <= set(said.registers) <= may[function], function
        assert len(stack[function]) == said.stack_bytes, function


def test_a_kernel_that_should_wipe_and_does_not_is_refused(
    nasm: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = Kernel("avx", "k", "clmul1", 2, wipe=True)
    make(kernel, target(), nasm)

    def forgetful(*_: Any) -> list[Any]:
        return []

    monkeypatch.setattr("ghashgen.compiler.frame.wiped", forgetful)
    with pytest.raises(GhashgenError, match="does not wipe all secrets"):
        make(kernel, target(), nasm)


def test_a_register_that_is_not_wiped_is_seen(nasm: Tool) -> None:
    kernel = Kernel("avx", "k", "clmul1", 2, wipe=True)
    text = make(kernel, target(), nasm).text
    wipes = [line for line in text.splitlines(keepends=True) if line.rstrip().endswith("; wipe")]
    for line in dict.fromkeys(wipes):
        code = read_object(assemble_text(nasm, kernel.name, text.replace(line, ""), "elf64"))
        remains = audit(kernel, kernel.name, code).left
        assert any(where.names for where in remains.values()), line
