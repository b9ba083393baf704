"""Fusing of additions: a + b + c in one instruction, never with an operand that has changed."""

from ghashgen.arch.registry import isas
from ghashgen.compiler.fuse import fuse
from ghashgen.ir.builder import Builder, Value
from ghashgen.ir.program import Mem, Op, Program, VReg

WIDE, NARROW = isas()["avx512"], isas()["avx"]


def codes(program: Program) -> list[str]:
    return [op.code for op in program.ops if op.code != "return"]


def builder() -> tuple[Builder, VReg, VReg, Mem]:
    b = Builder("fuse", ("in",))
    memory = Mem(base=b.params[0], disp=64)
    return b, b.load(Mem(base=b.params[0])), b.load(Mem(base=b.params[0], disp=16)), memory


def sources(op: Op) -> set[Value]:
    return {x for x in op.operands[1:] if isinstance(x, VReg | Mem)}


def test_two_additions_become_one() -> None:
    b, x, y, memory = builder()
    b.store(memory, b.xor(b.xor(x, y), memory))
    fused = fuse(b.program(), WIDE)
    assert codes(fused) == ["load", "load", "xor3", "store"]
    assert sources(fused.ops[2]) == {x, y, memory}


def test_an_isa_without_it_is_left_alone() -> None:
    b, x, y, memory = builder()
    b.store(memory, b.xor(b.xor(x, y), memory))
    program = b.program()
    assert fuse(program, NARROW) is program


def test_a_sum_that_is_used_again_stays() -> None:
    b, x, y, memory = builder()
    total = b.xor(x, y)
    b.store(memory, b.xor(total, x))
    b.store(memory, total)
    assert "xor3" not in codes(fuse(b.program(), WIDE))


def test_an_operand_that_changes_in_between_keeps_them_apart() -> None:
    b, x, y, memory = builder()
    total = b.xor(x, y)
    b.assign(y, b.swap64(y))
    b.store(memory, b.xor(total, x))
    assert "xor3" not in codes(fuse(b.program(), WIDE))


def test_memory_that_is_stored_to_in_between_keeps_them_apart() -> None:
    b, x, y, memory = builder()
    total = b.xor(x, memory)
    b.store(memory, y)
    b.store(memory, b.xor(total, y))
    assert "xor3" not in codes(fuse(b.program(), WIDE))


def test_any_kind_of_store_keeps_them_apart() -> None:
    b, x, y, memory = builder()
    total = b.xor(x, memory)
    b.emit("store_high", memory, y)
    b.store(memory, b.xor(total, y))
    assert "xor3" not in codes(fuse(b.program(), WIDE))


def test_one_instruction_reads_memory_once() -> None:
    b, x, _, memory = builder()
    total = b.xor(x, memory)
    b.store(memory, b.xor(total, Mem(base=b.params[0], disp=32)))
    assert "xor3" not in codes(fuse(b.program(), WIDE))


def test_another_block_is_another_matter() -> None:
    b, x, y, memory = builder()
    total = b.xor(x, y)
    b.label("next")
    b.store(memory, b.xor(total, memory))
    assert "xor3" not in codes(fuse(b.program(), WIDE))
