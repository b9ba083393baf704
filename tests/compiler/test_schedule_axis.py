"""The axis `schedule`: names, refusals, and the model beneath."""

from dataclasses import replace
from pathlib import Path

import pytest
from helpers.compiling import Job, assembled
from helpers.verbs import called
from hypothesis import given, settings
from hypothesis import strategies as st

from ghashgen.arch.registry import labels, uarch, uarches
from ghashgen.arch.schedules import schedules
from ghashgen.arch.x86_64.abi import SYSV
from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.arch.x86_64.forms import form_of
from ghashgen.compiler.pipeline import compile_kernel
from ghashgen.compiler.schedule.costs import form, single
from ghashgen.cost.audit import loop
from ghashgen.cost.critical import CriticalPath, critical_path
from ghashgen.cost.decoded import work_of
from ghashgen.cost.simulate import Calendar, Uops, Work, estimate, least, simulate
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.support.errors import GhashgenError

SKX = uarch("skylake-avx512")
AVX4 = Kernel("avx", "winograd", "clmul1", 4, schedule="skylake-avx512")
FORMS = (
    AVX4,
    Kernel("avx", "k", "clmul1", 8, swap="stack"),
    Kernel("sse", "karatsuba", "shift-xor", 4),
    Kernel("avx2", "schoolbook", "clmul2", 8, "natural"),
    Kernel("avx512", "winograd", "clmul1", 16, wipe=True),
    Kernel("avx512vl", "karatsuba", "clmul2", 4),
)


def test_names_end_in_the_suffix_of_the_table() -> None:
    assert AVX4.name == "ghash_avx_winograd_clmul1_x4_skx"
    assert replace(AVX4, schedule="written").name == "ghash_avx_winograd_clmul1_x4"
    assert replace(AVX4, wipe=True).name == "ghash_avx_winograd_clmul1_x4_wipe_skx"
    assert len({table.suffix for table in uarches().values()}) == len(uarches())
    assert {name: (label.suffix, label.features) for name, label in labels().items()} == {
        name: (table.suffix, table.features) for name, table in uarches().items()
    }
    assert schedules()[0] == "written"
    assert set(schedules()[1:]) == set(uarches())


@pytest.mark.parametrize(
    ("axes", "cause", "remedy"),
    [
        ({"schedule": "core2"}, "unknown schedule 'core2'", "skylake-avx512"),
        ({"isa": "avx2"}, "a CPU without VPCLMULQDQ, which isa 'avx2' needs", "another"),
    ],
)
def test_a_schedule_that_makes_no_sense_is_refused(
    axes: dict[str, str], cause: str, remedy: str
) -> None:
    with pytest.raises(GhashgenError, match=cause) as refusal:
        replace(AVX4, **axes)  # type: ignore[arg-type]
    assert remedy in refusal.value.remedy


def test_the_banner_says_how_it_was_scheduled_and_the_command_makes_it_again() -> None:
    words = ["--isa", AVX4.isa, "--multiply", AVX4.multiply, "--blocks", str(AVX4.blocks)]
    done = called("generate", *words, "--schedule", AVX4.schedule, "--out", "-")
    head, command, *rest = done.output.splitlines()
    assert AVX4.name in head
    assert f"--schedule {AVX4.schedule}" in command
    assert any(line.startswith(f"; schedule   {AVX4.schedule}: ") for line in rest)


@pytest.mark.parametrize("kernel", FORMS, ids=lambda kernel: kernel.name)
def test_forms_before_assembly_are_those_of_the_decoder(kernel: Kernel, tmp_path: Path) -> None:
    made = assembled(find_nasm(), Job(kernel))
    wanted = [form_of(i) for i in made.code.instructions.values() if not i.is_invalid]
    padding = ("nop", "int3", "ud2")
    wanted = [name for name in wanted if not name.startswith(padding)]
    rows = kernel.instruction_set.rows
    compiled = compile_kernel(kernel, SYSV)
    ops = [op for item in compiled.values() for op in item.function.ops]
    assert [form(op, rows[op.code]) for op in ops] == wanted


def test_decoded_and_selected_code_cost_the_same_in_the_model() -> None:
    """One adapter reads operations, the other bytes; spill-free code must agree."""
    made = assembled(find_nasm(), Job(AVX4))
    decoded = work_of(loop(made.code, f"{made.symbol}_update"), SKX)
    compiled = compile_kernel(AVX4, SYSV)["update"]
    rows = AVX4.instruction_set.rows
    block = next(b for b in compiled.allocation.program.blocks if b.label == "group")
    before = [single(op, rows, SKX) for op in block.ops]
    assert [w.form for w in decoded[:-1]] == [w.form for w in before[:-2]]
    assert decoded[-1].form == f"{before[-2].form} + {before[-1].form}"
    for ours, theirs in zip(before[:-2], decoded[:-1], strict=True):
        assert len(set(ours.reads)) == len(set(theirs.reads)), ours.form
        assert len(ours.writes) == len(theirs.writes), ours.form
        assert len(ours.address) == len(theirs.address), ours.form


def work(form: str, writes: str, *reads: str) -> Work:
    return Work(form, reads, (writes,), (), SKX.costs[form])


CLMUL, XOR = "vpclmulqdq x,x,x,i8", "vpxor x,x,x"


def test_a_chain_takes_its_latencies_and_independent_products_a_port() -> None:
    chain = [work(CLMUL, "a", "a"), work(XOR, "a", "a")]
    assert estimate(chain, SKX, True).windowed == 7 + 1
    alone = [work(CLMUL, f"v{i}", "k") for i in range(6)]
    assert estimate(alone, SKX, True).windowed == 6
    assert estimate(alone, SKX, False).windowed == 5 + 7


def test_a_window_hides_a_chain_and_order_alone_does_not() -> None:
    chain = [work(CLMUL, "x", "y"), work(XOR, "z", "x")]
    free = [work(CLMUL, f"v{i}", "k") for i in range(4)]
    late, early = estimate([*free, *chain], SKX, True), estimate([*chain, *free], SKX, True)
    assert late.windowed == early.windowed == 5
    # The xor starts after 7 cycles, and the others then; or the other way round.
    assert (early.in_order, late.in_order) == (7 + 4, 4 + 7 + 1)
    apart = estimate([chain[0], *free, chain[1]], SKX, True)
    assert apart.in_order == 7 + 1


def test_the_critical_path_is_of_dependences_alone() -> None:
    state = [work(CLMUL, "x", "x"), work(XOR, "x", "x")]
    free = [work(CLMUL, f"v{i}", "k") for i in range(40)]
    assert critical_path([*free, *state]) == CriticalPath(carried=7 + 1, through=7 + 1)
    # Made anew in every turn: a chain as long, and nothing that a turn waits for.
    anew = [work(CLMUL, "x", "k"), work(XOR, "y", "x")]
    assert critical_path([*free, *anew]) == CriticalPath(carried=0, through=7 + 1)
    # A cycle of dependences over two turns counts by half.
    swapped = [work(CLMUL, "a", "b"), work(XOR, "b", "c"), work(XOR, "c", "a")]
    assert critical_path(swapped).carried == (7 + 1 + 1) / 2


def test_a_full_window_stops_the_front_end() -> None:
    items = [work(CLMUL, "x", "x"), *(work(XOR, f"v{i}", "k") for i in range(7))]
    assert simulate(items, SKX, 1, 1000)[-1] < simulate(items, SKX, 1, 1)[-1]


@given(st.lists(st.sampled_from((CLMUL, XOR, "vpshufb x,x,x")), min_size=1, max_size=12))
@settings(derandomize=True, max_examples=40, deadline=None, database=None)
def test_no_order_goes_below_the_port_bound(names: list[str]) -> None:
    items = [work(name, f"v{i}", "k") for i, name in enumerate(names)]
    found = estimate(items, SKX, True)
    assert found.in_order >= least(items, SKX)
    assert found.windowed >= least(items, SKX)


def test_a_port_runs_one_uop_a_cycle() -> None:
    calendar = Calendar(("p0", "p5"))
    five, both = Uops(1, frozenset(("p5",))), Uops(1, frozenset(("p0", "p5")))
    first = calendar.slots((both, five), 3)
    assert sorted(first) == [("p0", 3), ("p5", 3)]
    calendar.take(first)
    assert calendar.slots((five,), 3) == [("p5", 4)]
    assert calendar.bound((both,), 0, 3) == [("p0", 4)]
