"""Liveness, interference and allocation: few registers give slower programs, never wrong ones."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from helpers.allocations import both, early_branch
from helpers.compiling import BUFFERED, ISAS, PAIRS, SPILLED, Assembled, Job, allocated
from helpers.cpus import too_little
from helpers.random_programs import CONSTANTS, programs
from helpers.row_machine import run
from hypothesis import Phase, given, settings

from ghashgen.arch.core import Abi
from ghashgen.arch.registry import isas
from ghashgen.arch.rows import Isa
from ghashgen.arch.x86_64.abi import SYSV, WIN64
from ghashgen.compiler.allocate import allocate
from ghashgen.compiler.interference import Interference
from ghashgen.compiler.liveness import Facts, liveness
from ghashgen.compiler.recheck import recheck
from ghashgen.compiler.select import select
from ghashgen.ir.builder import Builder
from ghashgen.ir.program import CODES, Label, Mem, PReg, Program, Reg, RegClass, Slot, VReg
from ghashgen.kernels.hash.family import FAMILY
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.run.harness import Harness
from ghashgen.support.errors import GhashgenError


def used_before_set(program: Program, facts: Facts) -> frozenset[Reg]:
    """Registers that some path reads before writing; only parameters may be among them."""
    return frozenset(liveness(program, facts).at_start[0]) - frozenset[Reg](program.params)


derandomized = settings(
    derandomize=True,
    max_examples=40,
    deadline=None,
    database=None,
    phases=(Phase.generate,),  # shrinking a compiler fault takes minutes
)

MEMORY = {("input", 0): 3, ("input", 16): 5, ("input", 32): 17, ("input", 48): 257}


def vectors(registers: frozenset[object]) -> set[str]:
    return {reg.name for reg in registers if isinstance(reg, VReg) and reg.cls is RegClass.VEC}


def loop_program() -> tuple[Program, VReg, VReg]:
    """An accumulator carried by a loop, and a value set before it and read after it."""
    b = Builder("loop", ("in", "count"))
    source, count = b.params
    acc = b.zero("acc")
    late = b.variable(b.load(Mem(base=source)), "late")
    with b.loop("again"):
        b.assign(acc, b.xor(acc, Mem(base=source, disp=16)))
        b.assign(count, b.gpr("gpr_sub", count, 1))
        b.branch("not_below", count, 1, "again")
    b.store(Mem(base=source, symbol="out"), b.xor(acc, late))
    return b.program(), acc, late


def test_liveness_goes_around_a_loop() -> None:
    program, acc, late = loop_program()
    live = liveness(program, CODES)
    labels = [block.label for block in program.blocks]
    at_head = live.at_start[labels.index("again")]
    assert vectors(at_head) == {"acc", "late"}
    assert set(program.params) <= at_head
    assert vectors(live.after[labels.index("again")][-1]) == {"acc", "late"}
    assert vectors(live.at_start[labels.index("after_again")]) == {"acc", "late"}
    assert {acc, late}.isdisjoint(live.at_start[0])


def test_liveness_counts_a_branch_where_it_stands() -> None:
    program = early_branch()[0]
    live = liveness(program, CODES)
    branch = next(i for i, op in enumerate(program.blocks[0].ops) if op.code == "branch_below")
    assert "x" in vectors(live.after[0][branch - 1])
    assert "x" not in vectors(live.after[0][branch + 1])


def test_what_is_read_before_it_is_set_is_found() -> None:
    program, _, _ = loop_program()
    assert used_before_set(program, CODES) == frozenset()
    b = Builder("bad", ("in",))
    unset = VReg(RegClass.VEC, 77)
    b.store(Mem(base=b.params[0]), unset)
    assert used_before_set(b.program(), CODES) == {unset}


@pytest.mark.parametrize("function", FAMILY.functions())
@pytest.mark.parametrize("isa", ISAS)
def test_no_function_reads_a_register_that_was_not_set(isa: str, function: str) -> None:
    for multiply, reduce in PAIRS:
        for blocks in (1, 6):
            kernel = Kernel(isa, multiply, reduce, blocks)
            program = select(FAMILY.functions()[function].program(kernel), kernel.instruction_set)
            assert used_before_set(program, kernel.instruction_set.rows) == frozenset()


def test_a_copy_alone_does_not_make_two_registers_interfere() -> None:
    b = Builder("copies", ("in",))
    x = b.load(Mem(base=b.params[0]))
    same, other = b.variable(x, "same"), b.variable(x, "other")
    b.assign(other, b.swap64(other))
    b.store(Mem(base=b.params[0]), b.xor(b.xor(x, same), other))
    graph = Interference(select(b.program(), isas()["avx"]), isas()["avx"])
    assert same not in graph.neighbours(x)
    assert other in graph.neighbours(x)
    graph.merge(x, same)
    assert graph.find(same) == x
    assert graph.members(x) == [x, same]
    assert other in graph.neighbours(same)


@pytest.mark.parametrize("abi", [SYSV, WIN64], ids=lambda abi: abi.name)
@both
def test_loops_and_early_branches_compute_the_same(isa: Isa, abi: Abi) -> None:
    for program in (loop_program()[0], early_branch()[0]):
        selected = select(program, isa)
        for limit in (2, 3, 16):
            found = allocate(selected, isa, abi, limit)
            recheck(selected, found.program, found.slots, isa, abi)
            for count in (1, 2, 5):
                values = dict(zip(program.params, (0, count), strict=True))
                homes = {
                    PReg(RegClass.GPR, number): value
                    for number, value in zip(abi.params, (0, count), strict=False)
                }
                wanted = run(program, None, MEMORY, values)
                assert run(found.program, isa, MEMORY, homes) == wanted


@given(programs(length=24))
@derandomized
@both
def test_allocated_programs_compute_the_same(isa: Isa, program: Program) -> None:
    selected = select(program, isa)
    wanted = run(program, None, CONSTANTS)
    for limit in (3, 5, 16):
        found = allocate(selected, isa, SYSV, limit)
        recheck(selected, found.program, found.slots, isa, SYSV)
        assert run(found.program, isa, CONSTANTS) == wanted
        used = [x for op in found.program.ops for x in op.operands if isinstance(x, PReg)]
        assert all(reg.index < limit for reg in used if reg.cls is RegClass.VEC)


@both
def test_allocation_is_the_same_every_time(isa: Isa) -> None:
    selected = select(
        FAMILY.functions()["update"].program(Kernel(isa.name, "winograd", "clmul1", 6)), isa
    )
    assert allocate(selected, isa, SYSV, 7) == allocate(selected, isa, SYSV, 7)


@pytest.mark.parametrize("function", ["init", "mul", "update"])
@both
def test_spills_are_counted(isa: Isa, function: str) -> None:
    spilled = 0
    for limit in (4, 6):
        kernel = Kernel(isa.name, "karatsuba", "shift-xor", 6)
        compiled, found, _ = allocated(kernel, function, SYSV, limit)
        slots = {x.index for op in found.program.ops for x in op.operands if isinstance(x, Slot)}
        moves = [op for op in found.program.ops if op.comment in ("spill", "reload")]
        assert slots == set(range(found.slots))
        assert len(moves) == found.spill_ops
        assert compiled.function.spill_slots == found.slots
        assert compiled.function.stack_bytes >= 16 * found.slots
        spilled += found.slots
    assert spilled or function == "mul"


def test_the_catalogue_spills_nothing_in_its_loops(shipped: Mapping[str, Assembled]) -> None:
    for item in shipped.values():
        group = item.text.partition(".group:")[2].partition(".tail:")[0]
        assert group
        assert "; reload" not in group
        assert "; spill" not in group


@pytest.mark.cpu
@pytest.mark.parametrize(
    "job", [*SPILLED, *BUFFERED], ids=lambda job: f"{job.prefix}{job.kernel.name}"
)
def test_spilled_kernels_are_right(
    job: Job, variants: Mapping[Job, Assembled], harness: Harness, as_cpu: str
) -> None:
    item = variants[job]
    assert any(function.spill_slots for function in item.functions)
    if too_little(as_cpu, item.features, lambda: harness.check(item.symbol)):
        return
    report = harness.check(item.symbol)
    assert report.ok, report


@pytest.mark.parametrize("isa", ["avx2", "avx512vl", "avx512"])
def test_wide_kernels_spill_whole_registers(isa: str) -> None:
    """Accepted by the re-check, which knows the width of every value."""
    kernel = Kernel(isa, "karatsuba", "clmul2", 16)
    _, found, _ = allocated(kernel, "update", SYSV, 9)
    assert found.slots
    moves = [op for op in found.program.ops if op.comment in ("spill", "reload")]
    assert {op.width for op in moves} == {128 * kernel.lane_count}


def test_what_is_wider_than_a_slot_stays_in_a_register() -> None:
    kernel = Kernel("avx", "k", "clmul1", 8, swap="stack")
    compiled, found, isa = allocated(kernel, "update", SYSV, 6)
    assert found.slots > found.program.slots > 0
    wide = {
        reg
        for op in compiled.selected.ops
        for reg, width in isa.rows[op.code].widths(op)
        if width > 128
    }
    assert wide
    assert not any(op.width > 128 and op.origin < 0 for op in found.program.ops)
    with pytest.raises(GhashgenError, match="needs more registers than there are"):
        allocate(wide_pressure(), isa, SYSV, 2)


def wide_pressure() -> Program:
    """Three 256-bit values that live at the same time."""
    b = Builder("wide", ("in",), 2)
    values = [b.load(Mem(base=b.params[0], disp=32 * i), lanes=2) for i in range(3)]
    for i, value in enumerate(values):
        b.store(Mem(base=b.params[0], disp=32 * i), value)
    return select(b.program(), isas()["avx"])


def test_too_few_general_registers_are_refused() -> None:
    b = Builder("many", ("in",))
    kept = [b.gpr("gpr_address", Mem(base=b.params[0], disp=i)) for i in range(20)]
    for reg in kept:
        b.store(Mem(base=reg), b.zero())
    program = select(b.program(), isas()["avx"])
    with pytest.raises(GhashgenError, match="many: there are too few general registers"):
        allocate(program, isas()["avx"], SYSV)


def test_an_instruction_with_too_many_registers_is_refused() -> None:
    avx = isas()["avx"]
    from_registers = replace(avx.rows["vpxor"], signature="w:x r:x r:x")
    isa = replace(avx, rows={**avx.rows, "vpxor": from_registers})
    b = Builder("wide", ("in",))
    x, y = b.load(Mem(base=b.params[0])), b.load(Mem(base=b.params[0], disp=16))
    b.store(Mem(base=b.params[0]), b.xor(b.xor(x, y), b.xor(y, x)))
    program = select(b.program(), isa)
    assert allocate(program, isa, SYSV, 2).slots
    with pytest.raises(GhashgenError, match="needs more registers than there are"):
        allocate(program, isa, SYSV, 1)


def test_parameters_arrive_in_the_registers_of_the_convention() -> None:
    b = Builder("params", ("p", "q", "r", "s"))
    for param in b.params:
        b.store(Mem(base=param), b.zero())
    selected = select(b.program(), isas()["avx"])
    for abi in (SYSV, WIN64):
        found = allocate(selected, isas()["avx"], abi)
        bases = [x.base for op in found.program.ops for x in op.operands if isinstance(x, Mem)]
        assert bases == [PReg(RegClass.GPR, number) for number in abi.params[:4]]


def test_a_jump_reads_no_register() -> None:
    b = Builder("jump", ("p",))
    b.emit("jump", Label("end"))
    b.label("end")
    selected = select(b.program(), isas()["avx"])
    assert liveness(selected, isas()["avx"].rows).at_start[0] == frozenset()
