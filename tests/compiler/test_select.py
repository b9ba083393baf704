"""Selection: memory operands, exchanged sources, two-operand instructions."""

import pytest
from helpers.random_programs import CONSTANTS, programs
from helpers.row_machine import run
from hypothesis import given, settings

from ghashgen.arch.registry import isas
from ghashgen.arch.rows import Isa
from ghashgen.arch.x86_64.abi import SYSV
from ghashgen.compiler.hoist import hoist
from ghashgen.compiler.schedule import schedule
from ghashgen.compiler.select import select
from ghashgen.ir.builder import Builder, Value
from ghashgen.ir.program import Label, Mem, Program, RegClass, VReg
from ghashgen.kernels.families import functions_of
from ghashgen.kernels.hash.family import FAMILY
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.support.errors import GhashgenError

SSE, AVX = isas()["sse"], isas()["avx"]
both = pytest.mark.parametrize("isa", [SSE, AVX], ids=["sse", "avx"])
derandomized = settings(derandomize=True, max_examples=150, deadline=None, database=None)

ALIGNED = Mem(symbol="c0", align=16)
UNALIGNED = Mem(symbol="c1")
REGISTERS = {VReg(RegClass.GPR, 1): 0}
MEMORY = {("c0", 0): 0x11 << 64 | 0x7, ("c1", 0): 0x1D << 64 | 0x5}


def codes(program: Program) -> list[str]:
    return [op.code for op in program.ops]


def one_op(code: str, *operands: Value | int) -> Program:
    """A program that stores the result of one operation."""
    b = Builder("one", ("out",))
    out = b.gpr("gpr_copy", b.params[0])
    result = VReg(b.zero().cls, 99)
    b.emit(code, result, *operands)
    b.store(Mem(base=out, symbol="out"), result)
    return b.program()


@pytest.mark.parametrize(("a", "b"), [(ALIGNED, UNALIGNED), (UNALIGNED, ALIGNED)])
@pytest.mark.parametrize("halves", [0x00, 0x01, 0x10, 0x11])
@both
def test_the_halves_of_a_product_follow_their_operands(
    isa: Isa, halves: int, a: Mem, b: Mem
) -> None:
    program = one_op("clmul", a, b, halves)
    abstract = run(program, None, MEMORY, REGISTERS)
    assert run(select(program, isa), isa, MEMORY, REGISTERS) == abstract


@pytest.mark.parametrize("halves", [0x00, 0x01, 0x10, 0x11])
def test_a_memory_first_source_of_a_product_changes_places(halves: int) -> None:
    b = Builder("one", ("out",))
    x = b.load(UNALIGNED)
    b.emit("clmul", VReg(x.cls, 99), UNALIGNED, x, halves)
    _, product, _ = select(b.program(), AVX).ops
    swapped = (halves & 1) << 4 | halves >> 4
    assert product.operands == (VReg(x.cls, 99), x, UNALIGNED, swapped)


def test_legacy_instructions_take_aligned_memory_alone() -> None:
    b = Builder("one", ("out",))
    x = b.zero()
    b.xor(x, ALIGNED)
    b.xor(x, UNALIGNED)
    program = select(b.program(), SSE)
    assert codes(program) == [
        *("pxor.zero", "movdqa.copy", "pxor"),
        *("movdqu.load", "pxor", "ret"),
    ]
    assert program.ops[2].operands[1] == ALIGNED
    # The load makes the value that is overwritten, so that no copy is due.
    load, add = program.ops[3:5]
    assert load.operands[1] == UNALIGNED
    assert add.operands == (load.operands[0], x)


def test_an_unaligned_source_does_not_displace_the_register_it_is_added_to() -> None:
    b = Builder("one", ("out",))
    x = b.zero()
    b.emit("xor", x, UNALIGNED, x)
    program = select(b.program(), SSE)
    assert codes(program) == ["pxor.zero", "movdqu.load", "pxor", "ret"]
    assert program.ops[2].operands[0] == x


def test_vex_instructions_take_memory_of_any_alignment() -> None:
    b = Builder("one", ("out",))
    b.xor(b.zero(), UNALIGNED)
    assert codes(select(b.program(), AVX)) == ["vpxor.zero", "vpxor", "ret"]


@both
def test_every_memory_operand_of_the_catalogue_is_one_that_its_row_takes(isa: Isa) -> None:
    for multiply, reduce in (("k", "clmul1"), ("karatsuba", "shift-xor")):
        kernel = Kernel(isa.name, multiply, reduce, 4, segments=True)
        for function in functions_of(kernel).values():
            program = select(hoist(function.program(kernel), isa.vector_registers), isa)
            for op in program.ops:
                for spec, operand in zip(isa.rows[op.code].operands, op.operands, strict=True):
                    assert spec.accepts(operand), op


def test_a_memory_first_source_that_may_not_change_places_is_loaded() -> None:
    b = Builder("one", ("out",))
    b.join_low(ALIGNED, b.zero())
    program = select(b.program(), AVX)
    assert codes(program) == ["vpxor.zero", "vmovdqu.load", "vpunpcklqdq", "ret"]
    assert program.ops[1].operands[1] == ALIGNED


def test_the_overwritten_source_is_one_that_dies() -> None:
    b = Builder("one", ("out",))
    x, y = b.load(ALIGNED), b.load(UNALIGNED)
    b.xor(x, y)
    b.store(Mem(base=b.params[0]), x)
    copy = select(b.program(), SSE).ops[2]
    assert copy.code == "movdqa.copy"
    assert copy.operands[1] == y


@pytest.mark.parametrize("code", ["xor", "join_high", "shl64_by", "shuffle_bytes", "clmul"])
@both
def test_a_result_that_is_also_the_second_source_is_not_lost(isa: Isa, code: str) -> None:
    b = Builder("one", ("out",))
    x, y = b.load(ALIGNED), b.load(UNALIGNED)
    immediate = (0x11,) if code == "clmul" else ()
    b.emit(code, x, y, x, *immediate)
    b.store(Mem(base=b.params[0], symbol="out"), x)
    program = b.program()
    abstract = run(program, None, MEMORY, REGISTERS)
    assert run(select(program, isa), isa, MEMORY, REGISTERS) == abstract


@given(programs())
@derandomized
@both
def test_selected_programs_compute_the_same(isa: Isa, program: Program) -> None:
    assert run(select(program, isa), isa, CONSTANTS) == run(program, None, CONSTANTS)


@both
def test_comments_stand_on_the_instruction_that_computes(isa: Isa) -> None:
    b = Builder("one", ("out",))
    x = b.load(ALIGNED)
    b.about("C1·H")
    b.store(Mem(base=b.params[0]), b.xor(x, b.swap64(x, "swap"), "A + A~"))
    commented = [op for op in select(b.program(), isa).ops if op.comment == "C1·H: A + A~"]
    assert [isa.rows[op.code].audit_class for op in commented] == ["xor"]


@both
def test_origins_number_the_selected_program(isa: Isa) -> None:
    program = select(
        hoist(FAMILY.functions()["update"].program(Kernel(isa.name, "k", "clmul1", 2)), 16), isa
    )
    assert [op.origin for op in program.ops] == list(range(len(program.ops)))


def test_an_operation_that_the_isa_lacks_is_refused_by_name() -> None:
    b = Builder("one", ("out",))
    b.reverse_bits(b.zero(), ALIGNED)
    with pytest.raises(GhashgenError, match="isa 'avx' cannot do reverse_bits"):
        select(b.program(), AVX)


def test_hoisting_takes_the_constants_of_loops_alone() -> None:
    b = Builder("one", ("out", "count"))
    first = b.load(b.const(1, "before"))
    with b.loop("loop"):
        b.assign(first, b.xor(first, b.const(2, "inside")))
        b.branch("not_below", b.params[1], 1, "loop")
    b.store(Mem(base=b.params[0]), first)
    entry, loop, _ = hoist(b.program(), 16).blocks
    loads = [op.operands[1] for op in entry.ops if op.code.startswith("load")]
    assert [m.symbol for m in loads if isinstance(m, Mem)] == ["inside", "before"]
    assert not [x for op in loop.ops for x in op.operands if isinstance(x, Mem)]


def test_hoisting_needs_no_path_through_a_block_that_nothing_reaches() -> None:
    b = Builder("one", ("out", "count"))
    x = b.load(ALIGNED)
    b.emit("jump", Label("loop"))
    b.label("unreached")
    with b.loop("loop"):
        b.assign(x, b.xor(x, b.const(2, "inside")))
        b.branch("not_below", b.params[1], 1, "loop")
    b.store(Mem(base=b.params[0]), x)
    entry, _, loop, _ = hoist(b.program(), 16).blocks
    assert [op.comment for op in entry.ops][:1] == ["inside"]
    assert not [x for op in loop.ops for x in op.operands if isinstance(x, Mem)]


def test_the_schedule_as_written_changes_nothing() -> None:
    program = select(FAMILY.functions()["mul"].program(Kernel("avx", "k", "clmul1", 1)), AVX)
    assert schedule(program, AVX, SYSV).program is program
    with pytest.raises(GhashgenError, match="unknown schedule 'random'"):
        schedule(program, AVX, SYSV, "random")


def test_a_recorded_operation_with_the_wrong_operands_is_refused() -> None:
    b = Builder("one", ("out",))
    with pytest.raises(ValueError, match="xor takes 3 operands"):
        b.emit("xor", b.zero())
    b.const(1, "one")
    with pytest.raises(ValueError, match="two values"):
        b.const(2, "one")
