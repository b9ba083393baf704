"""The re-check of an allocation: it catches planted faults, and accepts what is right."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from helpers.allocations import positions, xmm
from helpers.compiling import ISAS, allocated
from helpers.row_machine import mutate

from ghashgen.arch.rows import Isa
from ghashgen.arch.x86_64.abi import SYSV
from ghashgen.compiler.allocate import Allocation
from ghashgen.compiler.recheck import AllocationError, recheck
from ghashgen.ir.program import Mem, Op, Operand, PReg, Program, RegClass, Slot
from ghashgen.kernels.hash.kernel import Kernel

Change = Callable[[Op], list[Op]]


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
    found = set()
    for block in program.blocks:
        same: set[frozenset[Operand]] = {frozenset(op.operands) for op in block.ops[:1]}
        for op in block.ops:
            pair = frozenset(op.operands)
            if op.comment == "reload" and pair in same:
                found.add(id(op))
            written = {
                *isa.rows[op.code].effects(op)[1],
                *(op.operands[:1] if op.comment == "spill" else ()),
            }
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
    clobbered = 0
    for at, op in enumerate(found.program.ops):
        for reg in isa.rows[op.code].effects(op)[0]:
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
                            op, operands=tuple(xmm(b) if x == xmm(a) else x for x in op.operands)
                        )
                        for op in block.ops
                    ),
                )
                for block in found.program.blocks
            )
            with pytest.raises(AllocationError):
                recheck(selected, replace(found.program, blocks=blocks), found.slots, isa, SYSV)


def test_missing_blocks_are_refused(spilled: tuple[Program, Allocation, Isa]) -> None:
    selected, found, isa = spilled
    wrong = replace(found.program, blocks=found.program.blocks[:-1])
    with pytest.raises(AllocationError, match="blocks differ"):
        recheck(selected, wrong, found.slots, isa, SYSV)
