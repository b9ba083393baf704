"""Jumps keep off the ends of 32-byte lines, in the bytes of emitted kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import pytest
from compiling import Assembled
from iced_x86 import Decoder, FlowControl, Instruction

from ghashgen.arch.objects import read_object
from ghashgen.arch.x86_64 import ARCH
from ghashgen.arch.x86_64.nops import NOPS
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import Target, target
from ghashgen.output.place import place
from ghashgen.output.render import listing, render
from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import Tool, assemble_text

LINE, NOP = ARCH.jump_line, "nop"
mnemonic = ARCH.decoder.mnemonic


KERNEL = Kernel("avx", "winograd", "clmul1", 8)


def misplaced(instructions: Sequence[Instruction]) -> list[str]:
    """Return jumps that cross or touch the end of a line, with what fuses with them."""
    found = []
    for before, jump in pairwise(instructions):
        if jump.flow_control == FlowControl.NEXT:
            continue
        fused = jump.is_jcc_short_or_near and mnemonic(before) in ("cmp", "test", "add", "sub")
        start = before.ip if fused else jump.ip
        if start // LINE != jump.next_ip // LINE:
            found.append(f"{jump.ip:#x} {jump}")
    return found


def test_the_check_sees_jumps_that_are_not_in_place(nasm: Tool) -> None:
    unplaced = render(KERNEL, Target())
    code = read_object(assemble_text(nasm, KERNEL.name, unplaced.text, "elf64"))
    assert misplaced([code.instructions[at] for at in sorted(code.instructions)])


def test_emitted_kernels_have_every_jump_in_place(shipped: Mapping[str, Assembled]) -> None:
    seen = set()
    for item in shipped.values():
        for name in ("init", "mul", "update"):
            symbol = f"{item.symbol}_{name}"
            assert item.code.symbols[symbol] % LINE == 0
            assert misplaced(item.code.between(symbol, f"{symbol}.end")) == []
        seen.add(item.kernel.isa)
    assert {"sse", "avx", "avx2", "avx512vl", "avx512"} <= seen


def test_placing_adds_nops_alone_and_none_inside_a_loop(nasm: Tool) -> None:
    first = render(KERNEL, Target())
    placed = place(first, nasm).listing
    added = 0
    for name, before in first.compiled.items():
        program = placed.compiled[name].function.program
        assert tuple(op for op in program.ops if op.code != NOP) == before.function.program.ops
        added += len(program.ops) - len(before.function.program.ops)
        assert not [op for block in program.blocks if block.depth for op in block.ops[:-2]
                    if op.code == NOP]  # fmt: skip
    assert added
    assert place(placed, nasm).listing.text == placed.text


def test_placing_does_not_depend_on_the_container(nasm: Tool) -> None:
    def body(text: str) -> list[str]:
        code = text.partition("section .text")[2]
        lines = [line.split(";")[0].strip() for line in code.splitlines()]
        return [line for line in lines if line.startswith(("v", "db", "cmp", "j"))]

    elf = place(render(KERNEL, Target()), nasm).listing
    macho = place(render(KERNEL, target(fmt="macho64")), nasm).listing
    assert body(elf.text) == body(macho.text)


def test_a_listing_that_never_settles_is_refused(
    nasm: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ghashgen.output.place.ROUNDS", 1)
    with pytest.raises(GhashgenError, match="does not settle"):
        place(render(KERNEL, Target()), nasm)


@pytest.mark.parametrize("length", sorted(NOPS))
def test_nops_are_one_instruction_of_their_length(length: int) -> None:
    (instruction,) = Decoder(64, bytes.fromhex(NOPS[length]))
    assert (mnemonic(instruction), len(instruction)) == ("nop", length)


def test_rendering_alone_places_nothing() -> None:
    first = render(KERNEL, Target())
    assert listing(first.kernel, first.target, first.compiled).text == first.text
    assert NOP not in {op.code for c in first.compiled.values() for op in c.function.program.ops}
