"""Streams woven into one order: evenly, with few registers, and replayed."""

from dataclasses import replace
from functools import cache

import pytest

from ghashgen.arch.registry import isas
from ghashgen.arch.x86_64.abi import SYSV
from ghashgen.compiler.allocate import allocate
from ghashgen.compiler.hoist import hoist
from ghashgen.compiler.liveness import liveness
from ghashgen.compiler.pipeline import PASSES, compile_kernel, compile_programs
from ghashgen.compiler.schedule.replay import ScheduleError
from ghashgen.compiler.schedule.weave import rewoven, weave
from ghashgen.ir.builder import Builder, Value
from ghashgen.ir.program import CODES, Mem, Op, Program, RegClass
from ghashgen.kernels.families import functions_of
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.hash.kernel import Kernel


def two_streams(first: int = 4, second: int = 8) -> Program:
    """`first` links of one chain of shifts, then `second` of another."""
    b = Builder("f", ("p",))
    (p,) = b.params
    ends = []
    for name, count, at in (("a", first, 0), ("b", second, 16)):
        with b.stream(name):
            value = b.load(Mem(base=p, disp=at))
            for _ in range(count - 1):
                value = b.shl64(value, 1, name)
            ends.append(value)
    b.store(Mem(base=p, disp=32), b.xor(*ends))
    return b.program()


def streams(program: Program) -> str:
    return "".join(op.stream.name if op.stream else "." for op in program.blocks[0].ops)


def test_streams_are_spread_evenly_and_what_is_in_none_stays_behind_them() -> None:
    before = two_streams()
    after = weave(before, 1)
    assert streams(before) == "aaaabbbbbbbb..."
    assert streams(after) == "babbabbabbab..."
    rewoven(before, after, 1)


def test_a_program_without_streams_is_as_it_was() -> None:
    for compiled in compile_kernel(Kernel("avx", "k", "clmul1", 4), SYSV).values():
        assert compiled.programs["weave"] is compiled.programs["fuse"]


def test_an_operation_waits_for_another_streams_and_those_behind_it_too() -> None:
    b = Builder("f", ("p",))
    (p,) = b.params
    with b.stream("a"):
        value = b.load(Mem(base=p))
        for _ in range(3):
            value = b.shl64(value, 1)
    with b.stream("b"):
        # The first of this stream reads what the last of the other makes.
        for at in range(3):
            b.store(Mem(base=p, disp=16 * at), value)
    assert streams(weave(b.program(), 1)) == "aaaabbb."


def test_a_wrong_order_is_refused() -> None:
    before = two_streams()
    after = weave(before, 1)
    ops = list(after.blocks[0].ops)
    ops[0], ops[2] = ops[2], ops[0]
    wrong = replace(after, blocks=(replace(after.blocks[0], ops=tuple(ops)),))
    with pytest.raises(ScheduleError, match="other operands than as written"):
        rewoven(before, wrong, 1)
    lost = replace(after, blocks=(replace(after.blocks[0], ops=tuple(ops[1:])),))
    with pytest.raises(ScheduleError, match="lost operation"):
        rewoven(before, lost, 1)


@pytest.mark.parametrize(("lean", "live"), [(True, 3), (False, 13)])
def test_a_stream_keeps_no_operand_waiting_unless_it_is_to_stay(lean: bool, live: int) -> None:
    # Products first and their sums at last, as written: twelve live; one sum at a time: two.
    b = Builder("f", ("p",))
    (p,) = b.params
    with b.stream("a", lean=lean):
        products = [b.load(Mem(base=p, disp=16 * i)) for i in range(12)]
        total: Value = products[0]
        for product in products[1:]:
            total = b.xor(total, product)
    with b.stream("b"):
        other = b.load(Mem(base=p, disp=256))
    b.store(Mem(base=p), b.xor(total, other))
    assert (most(b.program()), most(weave(b.program(), 1))) == (12, live)


def test_stores_of_text_wait_for_no_load_of_the_table() -> None:
    # What is written of a group is written while GHASH still reads its powers.
    kernel = GcmKernel(128, "avx512", "winograd", "clmul1", 32)
    ops = loop_of(kernel)
    last_power = max(i for i, op in enumerate(ops) if reads_powers(op))
    stores = [i for i, op in enumerate(ops) if "AES: written" in op.comment]
    assert sum(i < last_power for i in stores) >= len(stores) // 2


UNTIL_WOVEN = PASSES[: [step.name for step in PASSES].index("weave") + 1]


@cache
def loop_of(kernel: GcmKernel, name: str = "encrypt") -> tuple[Op, ...]:
    """The group loop of a function, woven; compiled once, and no further."""
    programs = {name: functions_of(kernel)[name].program(kernel)}
    found = compile_programs(programs, kernel, SYSV, passes=UNTIL_WOVEN)
    program = found[name].programs["weave"]
    return next(block.ops for block in program.blocks if block.label == "group")


def reads_powers(op: Op) -> bool:
    return any(isinstance(x, Mem) and x.within == "table" for x in op.operands)


@pytest.mark.parametrize(
    ("isa", "blocks", "roundkeys", "loads"),
    [
        # 32 registers, less a group of 8, GHASH's 10 and the counters: 13 of 15 round keys. To
        # encrypt, ciphertext stays in registers: fewer hold keys, and each half of a group loads.
        # Where counters of four registers are made at once, the loop needs no k_0.
        ("avx512", 32, "registers", {"encrypt": 8, "decrypt": 2}),
        ("avx512", 48, "registers", {"encrypt": 20, "decrypt": 7}),
        ("avx512", 16, "registers", {"encrypt": 0, "decrypt": 0}),
        ("avx512", 32, "memory", {"encrypt": 28, "decrypt": 14}),
        ("avx", 8, "registers", {"encrypt": 15, "decrypt": 15}),
    ],
)
def test_the_loop_loads_the_round_keys_that_no_register_holds(
    isa: str, blocks: int, roundkeys: str, loads: dict[str, int]
) -> None:
    kernel = GcmKernel(256, isa, "winograd", "clmul1", blocks, roundkeys=roundkeys)
    for name in loads:
        found = [op for op in loop_of(kernel, name) if op.comment.startswith("AES: k_")]
        assert len([op for op in found if op.code.startswith("load")]) == loads[name]


def test_a_kernel_that_does_not_stitch_has_one_after_the_other() -> None:
    kernel = GcmKernel(128, "avx", "winograd", "clmul1", 8, stitch=False)
    assert kernel.name == "gcm128_avx_winograd_clmul1_x8_apart"
    for name, first in (("encrypt", True), ("decrypt", False)):
        aes = [op.comment.startswith("AES") for op in loop_of(kernel, name)]
        changes = [aes[i] for i in range(len(aes)) if i == 0 or aes[i] != aes[i - 1]]
        assert changes[0] is first
        assert changes[1] is not first
        # Then only pointers, the length and the branch follow.
        assert not any(changes[2:])


def most(program: Program) -> int:
    """The most vector registers that live at a time."""
    live = liveness(program, CODES)
    return max(sum(reg.cls is RegClass.VEC for reg in at) for each in live.after for at in each)


def loop_with(constants: int, live: int) -> Program:
    """A loop that keeps `live` values and reads so many constants, the first one most often."""
    b = Builder("f", ("p", "n"))
    p, n = b.params
    kept = [b.variable(b.load(Mem(base=p, disp=16 * i)), f"v{i}") for i in range(live)]
    with b.loop("again"):
        for i in range(constants):
            for _ in range(constants - i):
                b.assign(kept[0], b.xor(kept[0], b.const(i, f"c{i}")))
        b.assign(n, b.gpr("gpr_sub", n, 1))
        b.branch("not_below", n, 1, "again")
    for i, value in enumerate(kept):
        b.store(Mem(base=p, disp=16 * i), value)
    return b.program()


@pytest.mark.parametrize(("live", "hoisted"), [(12, 3), (14, 2), (15, 1), (16, 0)])
def test_the_constants_that_are_read_most_get_the_registers_that_are_left(
    live: int, hoisted: int
) -> None:
    found = hoist(loop_with(3, live), 16)
    loaded = [op.comment for op in found.blocks[0].ops if op.comment.startswith("c")]
    assert loaded == [f"c{i}" for i in range(hoisted)]
    assert most(found) == live + hoisted


@pytest.mark.parametrize("isa", ["sse", "avx", "avx2", "avx512vl", "avx512"])
def test_the_loops_of_the_largest_groups_need_no_stack(isa: str) -> None:
    machine = isas()[isa]
    blocks = machine.lanes * min(machine.vector_registers // 2, 12)
    kernel = GcmKernel(256, isa, "winograd", "clmul1", blocks, messages=False)
    found = compile_kernel(kernel, SYSV)
    # init has no loop, and keeps powers at hand while it fills the table.
    for name in found.keys() - {"init"}:
        allocation = found[name].allocation
        assert allocation.spill_ops == allocation.slots == 0, name


def test_an_order_of_colouring_that_fits_more_is_tried_before_the_stack() -> None:
    kernel = GcmKernel(128, "sse", "winograd", "clmul1", 8, messages=False)
    item = compile_kernel(kernel, SYSV)["encrypt"]
    assert not item.allocation.easy
    assert item.allocation.slots == 0
    easily = allocate(item.selected, kernel.instruction_set, SYSV, easily=True)
    assert easily.slots > 0


def test_registers_that_nearly_suffice_cost_few_slots() -> None:
    kernel = GcmKernel(128, "avx2", "winograd", "clmul1", 16, messages=False)
    program = {"encrypt": functions_of(kernel)["encrypt"].program(kernel)}
    found = compile_programs(program, kernel, SYSV, vectors=15)["encrypt"].allocation
    assert 0 < found.slots < 40


def test_behind_a_loop_where_registers_are_few_constants_stay_in_memory() -> None:
    b = Builder("f", ("p", "n"))
    p, n = b.params
    kept = b.variable(b.load(Mem(base=p)), "kept")
    with b.loop("again"):
        b.assign(kept, b.xor(kept, b.const(1, "one")))
        b.assign(n, b.gpr("gpr_sub", n, 1))
        b.branch("not_below", n, 1, "again")
    b.assign(kept, b.xor(kept, b.const(1, "one"), "roomy"))
    b.branch("equal", n, 0, "end")
    b.label("full")
    values = [b.load(Mem(base=p, disp=16 * i)) for i in range(15)]
    for i, value in enumerate(values):
        b.store(Mem(base=p, disp=16 * i), value)
    b.assign(kept, b.xor(kept, b.const(1, "one"), "crowded"))
    b.label("end")
    b.store(Mem(base=p), kept)
    found = hoist(b.program(), 16)
    reads = {op.comment: any(isinstance(x, Mem) for x in op.operands) for op in found.ops}
    assert reads["roomy"] is False
    assert reads["crowded"] is True
    assert most(found) == 16
