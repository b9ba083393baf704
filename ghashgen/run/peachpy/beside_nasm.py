"""Compares PeachPy's bytes with nasm's: the same instructions, apart from register numbers.

Instructions are compared by shape, without registers (`output.peachpy.instructions`).

`differences` requires equal multisets of shapes, in the same order and with the same branch
targets. It leaves out exactly the following, and checks each:

1. nasm's function begins with ENDBR64; PeachPy does not know this instruction.
2. PeachPy writes VZEROUPPER before each RET; nasm's kernels never do (with only VEX.128 none is
   needed).
3. Callee-saved registers are pushed on entry and popped, in reverse, before each RET: the
   allocators choose different registers. Every such register must be callee-saved.
4. Register-to-register copies (MOV r64, VMOVDQA xmm): this tool's allocator coalesces them, PeachPy
   does not. PeachPy must have exactly those of the selected program, nasm's code no more.
5. NOPs of nasm's function: padding that keeps jumps off the ends of lines of code.

Padding between functions belongs to neither.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.ir.program import Program
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import Target
from ghashgen.output.artefact import make
from ghashgen.output.peachpy.instructions import (
    ENDBR64,
    UNKNOWN,
    VZEROUPPER,
    Encoded,
    Item,
    Shape,
    body,
    decode,
    flow,
    functions_in,
)
from ghashgen.support.toolchain import assemble_text

COPIES: Mapping[Shape, str] = {
    ("mov", ("r64", "r64")): "mov",
    ("vmovdqa", ("x128", "x128")): "vmovdqa",
}
"""Shapes of copies, and the mnemonic of the ISA's row."""


def multiset(code: bytes, constants: Mapping[int, bytes] | None = None) -> Counter[Shape]:
    """Count the shapes of a function's instructions, all of them."""
    return Counter(item.shape for item in decode(Encoded("", code, constants or {})))


def assembled(kernel: Kernel) -> dict[str, Encoded]:
    """Return the kernel's functions as nasm assembles the emitted file, by name.

    Raises:
        GhashgenError: nasm is missing or fails.
    """
    nasm = find_nasm()
    made = make(kernel, Target(), nasm)
    data = assemble_text(nasm, kernel.name, made.text, "elf64")
    return functions_in(data, {function.name: function.symbol for function in made.functions})


def _flow(items: Sequence[Item]) -> list[tuple[Shape, int | None]]:
    """Return `flow` without copies."""
    return flow([item for item in items if item.shape not in COPIES])


def _copies(items: Sequence[Item]) -> Counter[str]:
    return Counter(COPIES[item.shape] for item in items if item.shape in COPIES)


def _show(shape: Shape) -> str:
    return f"{shape[0]} {', '.join(shape[1])}".rstrip()


def differences(nasm: Encoded, peachpy: Encoded, selected: Program, kernel: Kernel) -> list[str]:
    """Return how two encodings of the selected program differ, one line each; [] if they agree."""
    placed = decode(nasm)
    ours, faults = body([item for item in placed if item.shape[0] != "nop"], (ENDBR64,), ())
    theirs, more = body(decode(peachpy), (), (VZEROUPPER,))
    lines = [f"nasm's code {fault}" for fault in faults]
    lines += [f"PeachPy's code {fault}" for fault in more]
    for who, items in (("nasm", ours), ("PeachPy", theirs)):
        if any(f"[{UNKNOWN}]" in operand for item in items for operand in item.shape[1]):
            lines.append(f"{who}'s code reads a constant that no relocation names")
    rows = kernel.instruction_set.rows
    asked = Counter(rows[op.code].mnemonic for op in selected.ops if rows[op.code].copy)
    if _copies(theirs) != asked:
        lines.append(f"PeachPy has copies {dict(_copies(theirs))}, the program {dict(asked)}")
    if not _copies(ours) <= asked:
        lines.append(f"nasm has copies {dict(_copies(ours))}, the program {dict(asked)}")
    a, b = _flow(ours), _flow(theirs)
    counts = [Counter(shape for shape, _ in flow) for flow in (a, b)]
    lines += [f"{n}x only from nasm: {_show(s)}" for s, n in (counts[0] - counts[1]).items()]
    lines += [f"{n}x only from PeachPy: {_show(s)}" for s, n in (counts[1] - counts[0]).items()]
    if not lines and a != b:
        at = next(i for i, pair in enumerate(zip(a, b, strict=True)) if pair[0] != pair[1])
        lines.append(f"order or branch target differs at {at}: {_show(a[at][0])}")
    return [f"{kernel.name} {nasm.name}: {line}" for line in lines]
