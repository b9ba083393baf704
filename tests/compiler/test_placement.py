"""Jumps keep off the ends of 32-byte lines, in the bytes of emitted kernels."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from helpers.compiling import Assembled, emitted_text
from iced_x86 import Decoder, FlowControl, Instruction

from ghashgen.arch.objects import read_object
from ghashgen.arch.registry import syntaxes
from ghashgen.arch.syntax import Names
from ghashgen.arch.x86_64 import ARCH
from ghashgen.arch.x86_64.abi import SYSV
from ghashgen.arch.x86_64.jumps import JUMPS
from ghashgen.arch.x86_64.nops import NOPS
from ghashgen.compiler.frame import Function
from ghashgen.compiler.liveness import targets
from ghashgen.compiler.pipeline import Compiled, Measure, compile_kernel
from ghashgen.compiler.place import PAD, place
from ghashgen.ir.program import Directive, Flow, Label, Line, Op
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import Target, target
from ghashgen.output.artefact import finish
from ghashgen.output.render import draft
from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import Tool, assemble_text

KERNEL = Kernel("avx", "winograd", "clmul1", 8)
ISA = KERNEL.instruction_set
NAMES = Names("", "", ARCH.default_format)
mnemonic = ARCH.decoder.mnemonic


def misplaced(instructions: Sequence[Instruction]) -> list[str]:
    """Return jumps that cross or touch the end of a line, with what fuses with them."""
    found = []
    for before, jump in pairwise(instructions):
        if jump.flow_control == FlowControl.NEXT:
            continue
        fused = jump.is_jcc_short_or_near and mnemonic(before) in ("cmp", "test", "add", "sub")
        start = before.ip if fused else jump.ip
        if start // JUMPS.line != jump.next_ip // JUMPS.line:
            found.append(f"{jump.ip:#x} {jump}")
    return found


def unplaced() -> Mapping[str, Function]:
    return {name: item.function for name, item in compile_kernel(KERNEL, SYSV).items()}


def measured(nasm: Tool) -> dict[str, tuple[int, ...]]:
    """Bytes of each operation as nasm makes them without padding."""
    text = draft(KERNEL, Target(), unplaced())
    code = read_object(assemble_text(nasm, KERNEL.name, text, "elf64"))
    return {
        name: tuple(i.len for i in code.function(f"{KERNEL.name}_{name}")) for name in unplaced()
    }


def test_the_check_sees_jumps_that_are_not_in_place(nasm: Tool) -> None:
    text = draft(KERNEL, Target(), unplaced())
    code = read_object(assemble_text(nasm, KERNEL.name, text, "elf64"))
    assert misplaced(list(code.instructions.values()))


def test_emitted_kernels_have_every_jump_in_place(shipped: Mapping[str, Assembled]) -> None:
    seen = set()
    for item in shipped.values():
        for name in ("init", "mul", "update"):
            symbol = f"{item.symbol}_{name}"
            assert item.code.symbols[symbol] % JUMPS.line == 0
            assert misplaced(item.code.function(symbol)) == []
        seen.add(item.kernel.isa)
    assert {"sse", "avx", "avx2", "avx512vl", "avx512"} <= seen


def is_pad(line: Line) -> bool:
    return isinstance(line, Directive) and line.code == PAD


def test_placing_adds_padding_alone_and_none_inside_a_loop(nasm: Tool) -> None:
    added = 0
    for name, before in unplaced().items():
        placed = place(before, ISA, measured(nasm)[name])
        assert tuple(line for line in placed.lines if not is_pad(line)) == before.lines
        depth = 0
        for line in placed.lines:
            if isinstance(line, Directive) and line.code == "label":
                depth = line.numbers()[0]
            # What stands before a head is the end of the block above it.
            assert not (is_pad(line) and depth > 1)
        added += sum(map(is_pad, placed.lines))
        assert len(placed.lengths) == len(before.ops) + sum(map(is_pad, placed.lines))
    assert added


def test_placing_does_not_depend_on_the_container() -> None:
    def body(text: str) -> list[str]:
        code = text.partition("section .text")[2]
        lines = [line.split(";")[0].strip() for line in code.splitlines()]
        return [line for line in lines if line.startswith(("v", "db", "cmp", "j"))]

    texts = (emitted_text(KERNEL, target(fmt=fmt)) for fmt in ("elf64", "macho64"))
    elf, macho = map(body, texts)
    assert elf == macho


def test_padding_that_never_settles_is_refused(nasm: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ghashgen.compiler.place.ROUNDS", 1)
    measure = lambda functions: measured(nasm)  # noqa: E731
    with pytest.raises(GhashgenError, match="does not settle"):
        compile_kernel(KERNEL, SYSV, measure=measure)


def test_lengths_of_other_operations_are_refused(nasm: Tool) -> None:
    function, lengths = unplaced()["update"], measured(nasm)["update"]
    with pytest.raises(ValueError, match="operations became"):
        place(function, ISA, lengths[:-1])
    jump = next(i for i, op in enumerate(function.ops) if targets(op))
    wrong = {JUMPS.short: 6}.get(lengths[jump], JUMPS.short)
    with pytest.raises(ValueError, match=" bytes, not "):
        place(function, ISA, (*lengths[:jump], wrong, *lengths[jump + 1 :]))


def test_an_object_whose_instructions_have_other_lengths_is_refused(nasm: Tool) -> None:
    def compiling(measure: Measure) -> Mapping[str, Compiled]:
        def wrong(functions: Mapping[str, Function]) -> dict[str, tuple[int, ...]]:
            # The first instruction is no jump: nothing in the placement itself can notice.
            return {name: (found[0] + 1, *found[1:]) for name, found in measure(functions).items()}

        return compile_kernel(KERNEL, SYSV, 0, wrong)

    with pytest.raises(GhashgenError, match="instruction lengths changed after placement"):
        finish(KERNEL, Target(), nasm, compiling)


@pytest.mark.parametrize("distance", [126, 127, 128, 129, 130])
def test_jumps_are_as_long_as_assemblers_make_them(distance: int, nasm: Tool) -> None:
    """A jump grows for what lies between, forward and back, and one that grew makes others grow."""

    def nops(count: int) -> tuple[Line, ...]:
        return tuple(Op("neg") for _ in range(count))  # one byte each, below

    lines: tuple[Line, ...] = (
        Op("je", (Label("a"),)),
        *nops(distance - 4),
        Op("jmp", (Label("b"),)),
        Op("jne", (Label("a"),)),
        Directive("label", (Label("a"), 0)),
        *nops(distance - 2),
        Op("jb", (Label("a"),)),
        Directive("label", (Label("b"), 0)),
        Op("ret"),
    )
    text = []
    for line in lines:
        if isinstance(line, Directive):
            text.append(f".{line.label()}:")
        elif targets(line):
            text.append(f"  {line.code} .{targets(line)[0]}")
        else:
            text.append("  ret" if line.code == "ret" else "  nop")
    body = "\n".join(["section .text", "global f", "f:", *text, ""])
    code = read_object(assemble_text(nasm, "f", body, "elf64"))
    lengths = [i.len for i in code.function("f")]
    function = Function(lines, 0, 0, 0, (), (), ())
    assert len(place(function, ISA, lengths).ops) == len(lengths)


@pytest.mark.parametrize("length", sorted(NOPS))
def test_nops_are_one_instruction_of_their_length(length: int) -> None:
    (instruction,) = Decoder(64, bytes.fromhex(NOPS[length]))
    assert (mnemonic(instruction), len(instruction)) == ("nop", length)


@pytest.mark.parametrize("syntax", sorted(syntaxes()))
def test_every_syntax_writes_padding_as_bytes(syntax: str) -> None:
    where = target(syntax=syntax)
    (line,) = where.syntax.directive(Directive(PAD, (3,)), Names("f", "k", where.fmt))
    assert line.split(maxsplit=1)[1] == "0x0f, 0x1f, 0x00"


@pytest.mark.parametrize("room", [0, 1, 3])
def test_a_jump_that_would_keep_itself_long_says_that_it_is_short(room: int) -> None:
    """NASM stopped at a long jump whose own length put its target out of reach."""
    growth = JUMPS.near[Flow.JUMP] - JUMPS.short
    between = JUMPS.reach[-1] - growth + room
    jump, label = Op("jmp", (Label("on"),)), Directive("label", (Label("on"), 0))
    lines: list[Line] = [jump, *[Op("vzeroupper")] * between, label]
    function = replace(unplaced()["mul"], lines=tuple(lines))
    for length in (JUMPS.short, JUMPS.near[Flow.JUMP])[: 1 + bool(room)]:
        done = place(function, ISA, (length, *[1] * between))
        assert done.ops[0].operands == (Label("on", bool(room)),)
        assert done.lengths[0] == JUMPS.short
    text = syntaxes()["nasm"].instruction(done.ops[0], ISA.rows["jmp"], NAMES).split()
    assert text == ["jmp", *["short"] * bool(room), ".on"]


def test_jumps_that_would_keep_each_other_long_say_that_they_are_short() -> None:
    """NASM stopped at two long jumps, each of which would let the other be short."""
    lines: list[Line] = [Directive("label", (Label("back"), 0)), *[Op("vzeroupper")] * 2]
    lines += [Op("jmp", (Label("on"),)), *[Op("vzeroupper")] * 121, Op("jmp", (Label("back"),))]
    function = replace(unplaced()["mul"], lines=(*lines, Directive("label", (Label("on"), 0))))
    near = JUMPS.near[Flow.JUMP]
    for length in (JUMPS.short, near):
        done = place(function, ISA, (1, 1, length, *[1] * 121, length))
        jumps = [(op, n) for op, n in zip(done.ops, done.lengths, strict=True) if op.code == "jmp"]
        assert jumps == [
            (Op("jmp", (Label("on", True),)), JUMPS.short),
            (Op("jmp", (Label("back", True),)), JUMPS.short),
        ]
