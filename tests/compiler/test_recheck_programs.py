"""The re-check on programs written by hand and at random: flow, widths, places, any fault."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from helpers.allocations import AVX, both, early_branch, positions, xmm
from helpers.compiling import ISAS, PAIRS, allocated
from helpers.random_programs import CONSTANTS, programs
from helpers.row_machine import Memory, mutate, run
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from ghashgen.arch.registry import isas
from ghashgen.arch.rows import Isa
from ghashgen.arch.x86_64.abi import SYSV, WIN64
from ghashgen.compiler.allocate import Allocation, allocate
from ghashgen.compiler.recheck import AllocationError, recheck
from ghashgen.compiler.select import select
from ghashgen.ir.builder import Builder
from ghashgen.ir.program import Block, Mem, Op, Operand, PReg, Program, RegClass, Slot, VReg
from ghashgen.kernels.hash.kernel import Kernel


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (PReg(RegClass.VEC, 16), "not the function's"),
        (PReg(RegClass.GPR, 0), "writes r0"),
        (Slot(0), "cannot use"),
    ],
)
def test_a_result_in_a_forbidden_place_is_refused(change: Operand, words: str) -> None:
    b = Builder("place", ("in",))
    b.load(Mem(base=b.params[0]))
    selected = select(b.program(), AVX)
    found = allocate(selected, AVX, SYSV)
    wrong = mutate(found.program, 0, lambda op: [replace(op, operands=(change, *op.operands[1:]))])
    with pytest.raises(AllocationError, match=words):
        recheck(selected, wrong, 1, AVX, SYSV)


def test_an_address_with_one_more_register_is_refused() -> None:
    """Of a constant, which the selected program addresses by its name alone."""
    b = Builder("address", ("in",))
    b.store(Mem(base=b.params[0]), b.load(Mem(symbol="c0", align=16)))
    selected = select(b.program(), AVX)
    found = allocate(selected, AVX, SYSV)
    recheck(selected, found.program, found.slots, AVX, SYSV)
    (at,) = positions(found.program, lambda op: Mem(symbol="c0", align=16) in op.operands)
    for wrong in (
        Mem(base=PReg(RegClass.GPR, 7), symbol="c0", align=16),
        Mem(index=PReg(RegClass.GPR, 7), symbol="c0", align=16),
    ):
        changed = mutate(found.program, at, lambda op, wrong=wrong: [op.on(op.operands[0], wrong)])
        with pytest.raises(AllocationError, match="changed its address"):
            recheck(selected, changed, found.slots, AVX, SYSV)


def test_the_stack_pointer_may_not_be_written() -> None:
    b = Builder("stack", ("in",))
    b.gpr("gpr_const", 1)
    selected = select(b.program(), AVX)
    found = allocate(selected, AVX, SYSV)
    wrong = mutate(
        found.program,
        0,
        lambda op: [replace(op, operands=(PReg(RegClass.GPR, 4), *op.operands[1:]))],
    )
    with pytest.raises(AllocationError, match="not the function's"):
        recheck(selected, wrong, 0, AVX, SYSV)


def test_a_fault_on_one_path_of_a_loop_is_refused() -> None:
    """What the loop carries is right on entry and wrong on the way back."""
    b = Builder("loop", ("in", "count"))
    source, count = b.params
    acc, kept = b.load(Mem(base=source)), b.load(Mem(base=source, disp=16))
    with b.loop("again"):
        b.assign(acc, b.xor(acc, kept))
        b.assign(count, b.gpr("gpr_sub", count, 1))
        b.branch("not_below", count, 1, "again")
    b.store(Mem(base=source), acc)
    selected = select(b.program(), AVX)
    found = allocate(selected, AVX, SYSV)
    recheck(selected, found.program, found.slots, AVX, SYSV)
    (at,) = positions(found.program, lambda op: op.code == "vpxor")
    kept_in = found.program.ops[at].operands[2]
    wrong = mutate(
        found.program, at, lambda op: [op, Op("vmovdqu.load", (kept_in, Slot(0)), origin=-1)]
    )
    with pytest.raises(AllocationError, match="which does not hold it"):
        recheck(selected, wrong, 1, AVX, SYSV)


def test_a_register_lost_before_an_early_branch_is_refused() -> None:
    """The target needs x as it was at the branch, not as the rest of the block makes it."""
    program, x, y = early_branch()
    selected = select(program, AVX)
    found = allocate(selected, AVX, SYSV)
    recheck(selected, found.program, found.slots, AVX, SYSV)
    homes = {x: xmm(0), y: xmm(0)}
    placed = _by_hand(selected, homes)
    with pytest.raises(AllocationError, match="which does not hold it"):
        recheck(selected, placed, 0, AVX, SYSV)


def narrowing() -> tuple[Builder, VReg, VReg]:
    """A register of four lanes, and a copy of its first lane."""
    b = Builder("narrow", ("in",), 4)
    wide = b.load(Mem(base=b.params[0]), lanes=4)
    return b, wide, b.first_lane(wide)


def placed_together(b: Builder, isa: Isa) -> tuple[Program, Program]:
    """The program as selected, and with its vector registers in xmm0 and the copy gone."""
    selected = select(b.program(), isa)
    vectors = {x for op in selected.ops for x in op.operands if isinstance(x, VReg)}
    placed = _by_hand(selected, {x: xmm(0) for x in vectors if x.cls is RegClass.VEC})
    blocks = tuple(
        replace(block, ops=tuple(op for op in block.ops if not isa.rows[op.code].copy))
        for block in placed.blocks
    )
    return selected, replace(placed, blocks=blocks)


def test_a_vanished_copy_that_was_to_cut_off_lanes_is_refused() -> None:
    isa = isas()["avx512"]
    b, _, first = narrowing()
    b.store(Mem(base=b.params[0]), b.xor(first, Mem(base=b.params[0], align=64)))
    recheck(*placed_together(b, isa), 0, isa, SYSV)

    b, _, first = narrowing()
    b.emit("store", Mem(base=b.params[0]), first)
    selected, placed = placed_together(b, isa)
    wide = replace(selected, blocks=tuple(map(_widened, selected.blocks)))
    with pytest.raises(AllocationError, match="reads lanes that were cut off"):
        recheck(wide, replace(placed, blocks=tuple(map(_widened, placed.blocks))), 0, isa, SYSV)


def _widened(block: Block) -> Block:
    ops = tuple(replace(op, width=512) if "store" in op.code else op for op in block.ops)
    return replace(block, ops=ops)


def test_a_reload_narrower_than_its_value_is_refused() -> None:
    """A slot of 16 bytes cannot bring back what a ymm register held."""
    b = Builder("narrow", ("in",), 2)
    wide = b.load(Mem(base=b.params[0]), lanes=2)
    b.store(Mem(base=b.params[0], disp=32), wide)
    selected = select(b.program(), AVX)
    placed = _by_hand(selected, {wide: xmm(0)})
    recheck(selected, placed, 0, AVX, SYSV)
    (load,), (store,) = AVX.lower["load_aligned"], AVX.lower["store"]
    there_and_back = [Op(store.row, (Slot(0), xmm(0))), Op(load.row, (xmm(0), Slot(0)))]
    spilled = mutate(placed, 0, lambda op: [op, *there_and_back])
    with pytest.raises(AllocationError, match="which does not hold it"):
        recheck(selected, spilled, 1, AVX, SYSV)


def test_the_buffer_of_a_program_is_no_spill_slot() -> None:
    kernel = Kernel("avx", "k", "clmul1", 8, swap="stack")
    compiled, found, isa = allocated(kernel, "update", SYSV, 16)
    assert found.program.slots
    (store,) = isa.lower["store"]
    wrong = mutate(found.program, 0, lambda op: [Op(store.row, (Slot(0), xmm(0))), op])
    with pytest.raises(AllocationError, match="not the function's"):
        recheck(compiled.selected, wrong, found.slots, isa, SYSV)


def _by_hand(selected: Program, homes: dict[VReg, PReg]) -> Program:
    """Put the vector registers in the given places, others in xmm1; parameters where they come."""
    general = dict(zip(selected.params, SYSV.params, strict=False))

    def place(operand: Operand) -> Operand:
        if isinstance(operand, VReg):
            if operand.cls is RegClass.GPR:
                return PReg(RegClass.GPR, general[operand])
            return homes.get(operand, xmm(1))
        if isinstance(operand, Mem) and isinstance(operand.base, VReg):
            return replace(operand, base=PReg(RegClass.GPR, general[operand.base]))
        return operand

    blocks = tuple(
        replace(
            block,
            ops=tuple(replace(op, operands=tuple(map(place, op.operands))) for op in block.ops),
        )
        for block in selected.blocks
    )
    return replace(selected, blocks=blocks)


def mutants(found: Allocation, isa: Isa, draw: Callable[[int], int]) -> Iterator[Program]:
    """Programs with one operand, or one instruction, changed at random."""
    ops = found.program.ops
    for _ in range(12):
        at = draw(len(ops))
        op = ops[at]
        places = [i for i, x in enumerate(op.operands) if isinstance(x, PReg | Slot)]
        kind = draw(4)
        if kind == 0 or not places:
            yield mutate(found.program, at, lambda op: [])
        elif kind == 1:
            yield mutate(found.program, at, lambda op: [op, op])
        else:
            index = places[draw(len(places))]
            fresh: Operand = xmm(draw(4))
            if isinstance(op.operands[index], Slot):
                fresh = Slot(draw(found.slots))
            operands = (*op.operands[:index], fresh, *op.operands[index + 1 :])
            yield mutate(
                found.program, at, lambda op, operands=operands: [replace(op, operands=operands)]
            )


@given(programs(), st.randoms(use_true_random=False))
@settings(derandomize=True, max_examples=60, deadline=None, database=None, phases=(Phase.generate,))
@both
def test_what_is_accepted_computes_the_same(
    isa: Isa, program: Program, random: st.DataObject
) -> None:
    """The property that makes the re-check worth having, on random programs with random faults."""
    selected = select(program, isa)
    found = allocate(selected, isa, SYSV, 4)
    wanted = run(program, None, CONSTANTS)
    for mutant in mutants(found, isa, random.randrange):
        try:
            recheck(selected, mutant, found.slots, isa, SYSV)
        except AllocationError:
            continue
        assert run(mutant, isa, CONSTANTS) == wanted


def test_most_random_faults_matter() -> None:
    """The property above is no empty one: random faults do change what a program computes."""
    import random

    source = random.Random(1)
    changed = 0
    b = Builder("one", ("in", "out"))
    x, y = b.load(Mem(symbol="c0", align=16)), b.load(Mem(symbol="c1", align=16))
    b.store(Mem(base=b.params[1], symbol="out"), b.join_low(b.clmul(x, y, (0, 1)), x))
    program = b.program()
    found = allocate(select(program, AVX), AVX, SYSV, 4)
    wanted = run(program, None, CONSTANTS)
    for mutant in mutants(found, AVX, source.randrange):
        changed += _outcome(mutant) != wanted
    assert changed > 4


def _outcome(program: Program) -> Memory | None:
    try:
        return run(program, AVX, CONSTANTS)
    except (KeyError, AssertionError):
        return None


@pytest.mark.parametrize("abi", [SYSV, WIN64], ids=lambda abi: abi.name)
@pytest.mark.parametrize(("multiply", "reduce"), PAIRS)
@pytest.mark.parametrize("isa", ISAS)
def test_right_allocations_are_accepted(isa: str, multiply: str, reduce: str, abi: object) -> None:
    """`allocated` re-checks; the pipeline does so for every kernel of the catalogue, too."""
    found = [
        allocated(Kernel(isa, multiply, reduce, blocks), function, abi, limit)[1]
        for blocks, limit in ((1, 16), (3, 9))
        for function in ("init", "mul", "update")
    ]
    assert len(found) == 6
