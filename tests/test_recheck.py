"""The re-check of an allocation: it catches planted faults, and accepts what is right."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from compiling import ISAS, PAIRS, allocated
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from random_programs import CONSTANTS, programs
from row_machine import Memory, mutate, run

from ghashgen.abi import SYSV, WIN64
from ghashgen.builder import Builder
from ghashgen.ir import Block, Mem, Op, Operand, PReg, Program, RegClass, Slot, VReg
from ghashgen.isa.core import Isa
from ghashgen.isa.registry import isas
from ghashgen.kernel import Kernel
from ghashgen.passes.allocate import Allocation, allocate
from ghashgen.passes.liveness import row_effects
from ghashgen.passes.recheck import AllocationError, recheck
from ghashgen.passes.select import select

Change = Callable[[Op], list[Op]]
AVX = isas()["avx"]
both = pytest.mark.parametrize("isa", [isas()["avx"], isas()["sse"]], ids=["avx", "sse"])


def xmm(number: int) -> PReg:
    return PReg(RegClass.VEC, number)


@pytest.fixture(scope="module", params=ISAS)
def spilled(request: pytest.FixtureRequest) -> tuple[Program, Allocation, Isa]:
    """A real function with copies, reloads and spills: update on seven vector registers."""
    kernel = Kernel(request.param, "karatsuba", "clmul2", 3)
    compiled, found, isa = allocated(kernel, "update", SYSV, 7)
    assert found.slots
    return compiled.selected, found, isa


def other_register(operand: Operand) -> PReg:
    assert isinstance(operand, PReg)
    return xmm((operand.index + 1) % 7)


def positions(program: Program, wanted: Callable[[Op], bool]) -> list[int]:
    return [i for i, op in enumerate(program.ops) if wanted(op)]


def refuses_each(
    subject: tuple[Program, Allocation, Isa], wanted: Callable[[Op], bool], change: Change
) -> int:
    """Apply the change wherever it fits, one place at a time; each must be refused."""
    selected, found, isa = subject
    places = positions(found.program, wanted)
    for at in places:
        wrong = mutate(found.program, at, change)
        with pytest.raises(AllocationError):
            recheck(selected, wrong, found.slots, isa, SYSV)
    return len(places)


def held_already(program: Program, isa: Isa) -> set[int]:
    """Reloads, by id, of a value that the register has from an earlier move of the same block.

    One that begins a block may be such, too: that depends on the blocks before it.
    """
    effects = row_effects(isa.rows)
    found = set()
    for block in program.blocks:
        same: set[frozenset[Operand]] = {frozenset(op.operands) for op in block.ops[:1]}
        for op in block.ops:
            pair = frozenset(op.operands)
            if op.comment == "reload" and pair in same:
                found.add(id(op))
            written = {*effects(op)[1], *(op.operands[:1] if op.comment == "spill" else ())}
            same = {known for known in same if not known & written}
            if op.comment in ("spill", "reload"):
                same.add(pair)
    return found


def test_two_exchanged_registers_are_refused(spilled: tuple[Program, Allocation, Isa]) -> None:
    def exchange(op: Op) -> list[Op]:
        a, b, *rest = op.operands
        return [replace(op, operands=(b, a, *rest))]

    def two_registers(op: Op) -> bool:
        a, b = (*op.operands, None, None)[:2]
        both_read = not spilled[2].rows[op.code].key.endswith(".zero")
        return isinstance(a, PReg) and isinstance(b, PReg) and a != b and both_read

    assert refuses_each(spilled, two_registers, exchange) > 5


def test_a_dropped_instruction_is_refused(spilled: tuple[Program, Allocation, Isa]) -> None:
    isa = spilled[2]
    assert refuses_each(
        spilled, lambda op: op.origin >= 0 and not isa.rows[op.code].copy, lambda op: []
    )


def test_a_dropped_copy_is_refused(spilled: tuple[Program, Allocation, Isa]) -> None:
    isa = spilled[2]
    assert refuses_each(
        spilled, lambda op: op.origin >= 0 and isa.rows[op.code].copy, lambda op: []
    )


def test_a_dropped_reload_is_refused(spilled: tuple[Program, Allocation, Isa]) -> None:
    needed = [op for op in spilled[1].program.ops if op.comment == "reload"]
    already = held_already(spilled[1].program, spilled[2])
    assert len(already) < len(needed)
    assert refuses_each(
        spilled, lambda op: op.comment == "reload" and id(op) not in already, lambda op: []
    )


def test_a_dropped_spill_is_refused(spilled: tuple[Program, Allocation, Isa]) -> None:
    assert refuses_each(spilled, lambda op: op.comment == "spill", lambda op: [])


def test_a_wrong_slot_is_refused(spilled: tuple[Program, Allocation, Isa]) -> None:
    slots = spilled[1].slots

    def other(operand: Operand) -> Operand:
        return Slot((operand.index + 1) % slots) if isinstance(operand, Slot) else operand

    assert slots > 1
    assert refuses_each(
        spilled,
        lambda op: any(isinstance(x, Slot) for x in op.operands),
        lambda op: [replace(op, operands=tuple(map(other, op.operands)))],
    )


def test_a_slot_outside_the_frame_is_refused(spilled: tuple[Program, Allocation, Isa]) -> None:
    selected, found, isa = spilled
    with pytest.raises(AllocationError, match="not the function's"):
        recheck(selected, found.program, found.slots - 1, isa, SYSV)


def test_half_a_reload_is_refused(spilled: tuple[Program, Allocation, Isa]) -> None:
    (half,) = spilled[2].lower["load64"]
    assert refuses_each(
        spilled, lambda op: op.comment == "reload", lambda op: [replace(op, code=half.row)]
    )


def test_a_clobbered_live_register_is_refused(spilled: tuple[Program, Allocation, Isa]) -> None:
    """Before each instruction that reads a vector register, overwrite it from a slot."""
    selected, found, isa = spilled
    (load,) = isa.lower["load_aligned"]
    effects = row_effects(isa.rows)
    clobbered = 0
    for at, op in enumerate(found.program.ops):
        for reg in effects(op)[0]:
            if op.origin < 0 or reg.cls is not RegClass.VEC:
                continue
            clobber = Op(load.row, (reg, Slot(0)))
            wrong = mutate(found.program, at, lambda op, clobber=clobber: [clobber, op])
            before = found.program.ops[at - 1]
            if before.code == load.row and before.operands == clobber.operands:
                continue  # the reload of this very value, twice
            with pytest.raises(AllocationError):
                recheck(selected, wrong, found.slots, isa, SYSV)
            clobbered += 1
    assert clobbered > 20


def test_exchanged_neighbours_are_refused(spilled: tuple[Program, Allocation, Isa]) -> None:
    """Instructions are matched in order: another order is another program."""
    selected, found, isa = spilled
    for index, block in enumerate(found.program.blocks):
        for at in range(len(block.ops) - 1):
            first, second = block.ops[at : at + 2]
            if first.origin < 0 or second.origin < 0:
                continue
            ops = (*block.ops[:at], second, first, *block.ops[at + 2 :])
            blocks = list(found.program.blocks)
            blocks[index] = replace(block, ops=ops)
            with pytest.raises(AllocationError):
                recheck(
                    selected, replace(found.program, blocks=tuple(blocks)), found.slots, isa, SYSV
                )


def test_a_repeated_instruction_is_refused(spilled: tuple[Program, Allocation, Isa]) -> None:
    assert refuses_each(spilled, lambda op: op.origin >= 0, lambda op: [op, op])


def test_another_address_is_refused(spilled: tuple[Program, Allocation, Isa]) -> None:
    def moved(operand: Operand) -> Operand:
        return replace(operand, disp=operand.disp + 16) if isinstance(operand, Mem) else operand

    assert refuses_each(
        spilled,
        lambda op: any(isinstance(x, Mem) for x in op.operands),
        lambda op: [replace(op, operands=tuple(map(moved, op.operands)))],
    )


def test_another_immediate_or_width_is_refused(spilled: tuple[Program, Allocation, Isa]) -> None:
    def other(operand: Operand) -> Operand:
        return operand ^ 1 if isinstance(operand, int) else operand

    assert refuses_each(
        spilled,
        lambda op: any(isinstance(x, int) for x in op.operands),
        lambda op: [replace(op, operands=tuple(map(other, op.operands)))],
    )
    assert refuses_each(
        spilled, lambda op: op.origin >= 0, lambda op: [replace(op, width=2 * op.width)]
    )


def test_a_zeroing_idiom_on_two_registers_is_refused(
    spilled: tuple[Program, Allocation, Isa],
) -> None:
    assert refuses_each(
        spilled,
        lambda op: op.code.endswith("pxor.zero"),
        lambda op: [replace(op, operands=(*op.operands[:-1], other_register(op.operands[0])))],
    )


def test_merged_registers_are_refused(spilled: tuple[Program, Allocation, Isa]) -> None:
    """Every pair of vector registers, made one throughout, as a wrong coalescing would."""
    selected, found, isa = spilled
    for a in range(7):
        for b in range(a):
            blocks = tuple(
                replace(
                    block,
                    ops=tuple(
                        replace(
                            op,
                            operands=tuple(xmm(b) if x == xmm(a) else x for x in op.operands),
                        )
                        for op in block.ops
                    ),
                )
                for block in found.program.blocks
            )
            with pytest.raises(AllocationError):
                recheck(selected, replace(found.program, blocks=blocks), found.slots, isa, SYSV)


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


def test_missing_blocks_are_refused(spilled: tuple[Program, Allocation, Isa]) -> None:
    selected, found, isa = spilled
    wrong = replace(found.program, blocks=found.program.blocks[:-1])
    with pytest.raises(AllocationError, match="blocks differ"):
        recheck(selected, wrong, found.slots, isa, SYSV)


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
    b = Builder("early", ("in", "count"))
    source, count = b.params
    x = b.variable(b.load(Mem(base=source)), "x")
    y = b.load(Mem(base=source, disp=16))
    b.branch("below", count, 2, "out")
    b.assign(x, b.swap64(y))
    b.label("out")
    b.store(Mem(base=source, symbol="x"), x)
    selected = select(b.program(), AVX)
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
