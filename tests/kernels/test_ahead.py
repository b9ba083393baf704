"""Software pipelining: what is prepared ahead, at what cost, and that no byte beyond is read."""

from dataclasses import replace

import pytest
from helpers.compiling import Assembled, Job, assembled

from ghashgen.algebra.field.bitorder import Order
from ghashgen.algebra.ops.integers import IntegerOps
from ghashgen.algebra.schemes import aggregate
from ghashgen.algebra.schemes.registry import multiplies
from ghashgen.check.proofs import statement
from ghashgen.kernels.hash.functions import update
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.hash.parts.ahead import Part, plan
from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import Tool
from ghashgen.verify.prove import prove_object


def ahead(isa: str, multiply: str, reduce: str, blocks: int, **axes: str) -> Kernel:
    return Kernel(isa, multiply, reduce, blocks, pipeline="ahead", **axes)  # type: ignore[arg-type]


def spilled(item: Assembled) -> int:
    return next(f.spill_slots for f in item.functions if f.name == "update")


NARROW = [
    ahead("avx", "winograd", "clmul1", 8),
    ahead("avx", "k", "clmul1", 8),
    ahead("avx", "karatsuba", "clmul2", 3),
    ahead("avx", "schoolbook", "clmul2", 16),
    ahead("sse", "winograd", "clmul1", 8),
    ahead("sse", "schoolbook", "clmul2", 8),
]
WIDE = [
    ahead("avx2", "winograd", "clmul1", 16),
    ahead("avx2", "schoolbook", "clmul2", 16, fold="end"),
    ahead("avx512", "winograd", "clmul1", 16, powers="registers"),
    ahead("avx512vl", "k", "clmul1", 16, powers="registers"),
]


@pytest.mark.parametrize(
    ("kernel", "parts"),
    [
        # The first to be multiplied come first, and the one that meets the state stays a block.
        (NARROW[0], [Part(3, whole=True), Part(4, whole=False), Part(5, whole=False)]),
        (NARROW[1], [Part(k, whole=True) for k in (3, 4, 5, 6, 7)]),
        (NARROW[2], [Part(3, whole=True), Part(2, whole=True), Part(1, whole=False)]),
        (ahead("avx", "k", "clmul1", 1), [Part(1, whole=False)]),
        (
            ahead("avx512", "winograd", "clmul1", 16),
            [*(Part(k, whole=True) for k in (3, 4, 2)), Part(1, whole=False)],
        ),
        # Where lanes are added up at the end, the last group has other powers than the loop.
        (
            ahead("avx512", "winograd", "clmul1", 16, fold="end"),
            [Part(k, whole=False) for k in (3, 4, 2, 1)],
        ),
    ],
    ids=lambda value: value.name if isinstance(value, Kernel) else "",
)
def test_as_much_is_prepared_as_registers_are_free(kernel: Kernel, parts: list[Part]) -> None:
    assert list(plan(kernel)) == parts


@pytest.mark.parametrize("kernel", [*NARROW, *WIDE], ids=lambda kernel: kernel.name)
def test_nothing_is_spilled_for_it_and_a_group_costs_the_same(kernel: Kernel, nasm: Tool) -> None:
    plain, piped = (
        assembled(nasm, Job(k, "sysv", "")) for k in (replace(kernel, pipeline="none"), kernel)
    )
    assert spilled(piped) == spilled(plain) == 0
    work = ("clmul", "xor", "shuffle", "load", "store")
    groups = [{cls: item.audit.group.classes[cls] for cls in work} for item in (plain, piped)]
    assert groups[0] == groups[1]
    # Two-operand instructions may need a register copied.
    copies = piped.audit.group.instructions - plain.audit.group.instructions
    assert 0 <= copies <= (3 if kernel.isa == "sse" else 0)


@pytest.mark.parametrize(
    "kernel",
    [
        ahead("avx", "winograd", "clmul1", 4),
        ahead("avx", "k", "clmul1", 1),
        ahead("sse", "karatsuba", "clmul2", 3),
        ahead("sse", "winograd", "clmul1", 2, powers="registers"),
        ahead("avx", "winograd", "clmul1", 4, op="polyval"),
        ahead("avx2", "k", "clmul1", 5),
        ahead("avx2", "winograd", "clmul1", 4, fold="end"),
        ahead("avx512", "winograd", "clmul1", 6),
        ahead("avx512", "k", "clmul1", 8, order="natural"),
        replace(ahead("avx", "winograd", "clmul1", 2), wipe=True),
    ],
    ids=lambda kernel: kernel.name,
)
def test_a_pipelined_kernel_is_proved(kernel: Kernel, nasm: Tool) -> None:
    item = assembled(nasm, Job(kernel, "sysv", ""))
    assert prove_object(item.elf, statement(kernel, kernel.name, "sysv")).refutation is None


@pytest.mark.parametrize(
    ("axes", "cause", "remedy"),
    [
        ({"swap": "stack"}, "swap 'stack' in memory", "choose swap register, or pipeline none"),
        ({"pipeline": "far"}, "unknown pipeline 'far'", "none, ahead"),
        (
            {"powers": "registers", "blocks": 3},
            "pipeline 'ahead' finds no free register among 16",
            "choose powers memory",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(
    axes: dict[str, object], cause: str, remedy: str
) -> None:
    whole = {"blocks": 8, "pipeline": "ahead", **axes}
    with pytest.raises(GhashgenError) as refusal:
        Kernel("avx", "k", "clmul1", **whole)  # type: ignore[arg-type]
    assert cause in refusal.value.cause
    assert remedy in refusal.value.remedy


def test_the_axis_leaves_a_trace_in_the_name_alone_when_it_is_chosen() -> None:
    kernel = ahead("avx2", "k", "clmul1", 8, fold="end")
    assert kernel.name == "ghash_avx2_k_clmul1_x8_lanes_ahead"
    assert replace(kernel, pipeline="none").name == "ghash_avx2_k_clmul1_x8_lanes"


@pytest.mark.parametrize("multiply", multiplies().values(), ids=lambda scheme: scheme.name)
@pytest.mark.parametrize("order", list(Order))
def test_operands_made_ahead_give_the_products_of_the_block(multiply, order: Order) -> None:  # type: ignore[no-untyped-def]
    ops = IntegerOps()
    A, B = 0x0123456789ABCDEF << 64 | 0xFEDCBA9876543210, 0xA5A5 << 100 | 0x1357
    entries = multiply.derive(ops, B, order)
    operands = multiply.prepared(ops, A, entries, order)
    assert len(operands) == len(multiply.operands)
    assert operands[0] == A
    made = multiply.contributions(ops, operands, entries, order)
    assert made == multiply.products(ops, A, entries, order)


@pytest.mark.parametrize("n", range(1, 9))
def test_every_part_of_a_group_is_taken_once_and_the_state_last(n: int) -> None:
    order = aggregate.sequence(n)
    assert sorted(order) == list(range(1, n + 1))
    assert order[-1] == 1


def test_no_block_is_read_before_a_whole_group_is_known_to_be_there() -> None:
    """In the program: the loop's preparation lies between two tests of the length."""
    kernel = ahead("avx", "k", "clmul1", 4)
    blocks = {block.label: block for block in update.FUNCTION.program(kernel).blocks}
    group = [op for op in blocks["group"].ops if op.code.startswith("branch")]
    assert [op.operands[1] for op in group] == [2 * 4 * 16]
    before = [*blocks["more"].ops, *blocks["groups"].ops]
    tests = [op.operands[1] for op in before if op.code.startswith("branch")]
    assert tests == [4 * 16, 2 * 4 * 16]
