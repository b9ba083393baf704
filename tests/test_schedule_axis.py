"""The axis `schedule`: names, refusals, stored orders, the solver, and the model beneath."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from compiling import Job, assembled
from hypothesis import given, settings
from hypothesis import strategies as st

from ghashgen.arch.x86_64.abi import SYSV
from ghashgen.arch.x86_64.uarch import uarch, uarches
from ghashgen.arch.x86_64.uarch.forms import form_of
from ghashgen.arch.x86_64.uarch.schedules import SOLVED as MARK
from ghashgen.arch.x86_64.uarch.schedules import schedules
from ghashgen.cli.verbs.generate import COMMAND as GENERATE
from ghashgen.cli.verbs.solve import COMMAND as SOLVE
from ghashgen.compiler.liveness import liveness
from ghashgen.compiler.pipeline import compile_kernel, in_rows
from ghashgen.compiler.schedule import all_regions, region_graph
from ghashgen.compiler.schedule.costs import form, single
from ghashgen.compiler.schedule.replay import replay
from ghashgen.compiler.schedule.solutions import apply, body_hash, dump, find, folder, read
from ghashgen.compiler.schedule.solver import floor, solve
from ghashgen.cost.audit import loop
from ghashgen.cost.decoded import work_of
from ghashgen.cost.simulate import Calendar, Uops, Work, estimate, least, simulate
from ghashgen.ir.program import Program
from ghashgen.kernels.hash.catalogue import Choice, choose, scheduled, solved
from ghashgen.kernels.hash.exported import functions
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.support.errors import GhashgenError
from ghashgen.support.extras import command, require
from ghashgen.support.toolchain import find_nasm

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
    solved = replace(AVX4, schedule="skylake-avx512-solved", wipe=True)
    assert solved.name == "ghash_avx_winograd_clmul1_x4_wipe_skxopt"
    assert len({table.suffix for table in uarches().values()}) == len(uarches())
    assert schedules()[0] == "written"
    assert set(schedules()[1:]) == set(uarches()) | {name + MARK for name in uarches()}


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


def test_a_solved_schedule_without_a_stored_order_is_refused() -> None:
    kernel = Kernel("avx", "k", "clmul1", 5, schedule="zen4-solved")
    with pytest.raises(GhashgenError, match=f"no solved schedule is stored for {kernel.name}"):
        compile_kernel(kernel, SYSV)
    done = CliRunner().invoke(SOLVE, ["--name", scheduled()[0].name])
    assert isinstance(done.exception, GhashgenError)
    assert "has no solved schedule" in done.exception.cause


def test_the_banner_says_how_it_was_scheduled_and_the_command_makes_it_again() -> None:
    (kernel,) = solved()
    words = ["--isa", kernel.isa, "--multiply", kernel.multiply, "--blocks", str(kernel.blocks)]
    done = CliRunner().invoke(GENERATE, [*words, "--schedule", kernel.schedule, "--out", "-"])
    assert done.exit_code == 0
    head, command, *rest = done.output.splitlines()
    assert kernel.name in head
    again = Choice(isa=("avx",), multiply=("winograd",), schedule=(kernel.schedule,))
    assert choose(again) == solved()
    assert f"--schedule {kernel.schedule}" in command
    assert any(line.startswith(f"; schedule   {kernel.schedule}: ") for line in rest)


def rows_of(kernel: Kernel) -> Program:
    return in_rows(functions()["update"].program(kernel), kernel)


@pytest.mark.parametrize("kernel", solved(), ids=lambda kernel: kernel.name)
def test_stored_orders_fit_their_bodies_and_are_replayed(kernel: Kernel) -> None:
    solution = find(kernel.name)
    assert (solution.kernel, solution.schedule) == (kernel.name, kernel.schedule)
    program = rows_of(kernel)
    replay(program, apply(program, solution), kernel.set)
    compiled = compile_kernel(kernel, SYSV)["update"]
    (at,) = (i for i, b in enumerate(program.blocks) if b.label == solution.block)
    ops = program.blocks[at].ops
    assert compiled.selected.blocks[at].ops == tuple(ops[i] for i in solution.order)
    assert compiled.order.startswith("list order") or "loop solved" in compiled.order


def test_every_stored_order_belongs_to_a_kernel_of_the_catalogue() -> None:
    assert sorted(path.stem for path in folder().iterdir()) == sorted(k.name for k in solved())


def test_a_solution_of_another_body_is_stale() -> None:
    (kernel,) = solved()
    program, solution = rows_of(kernel), find(kernel.name)
    with pytest.raises(GhashgenError, match="has changed since it was solved") as refusal:
        apply(program, replace(solution, body="0" * 64))
    assert "ghashgen solve" in refusal.value.remedy
    other = rows_of(replace(kernel, blocks=kernel.blocks + 1))
    with pytest.raises(GhashgenError, match="has changed since it was solved"):
        apply(other, solution)


def test_a_body_has_one_hash_whatever_its_registers_numbers() -> None:
    program = rows_of(AVX4)
    block = next(b for b in program.blocks if b.label == "group")
    other = in_rows(functions()["update"].program(replace(AVX4, wipe=True)), AVX4)
    assert body_hash(block) == body_hash(next(b for b in other.blocks if b.label == "group"))
    shorter = replace(block, ops=block.ops[1:])
    assert body_hash(shorter) != body_hash(block)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: {**data, "order": data["order"][1:]},
        lambda data: {**data, "order": [0, *data["order"][1:]]},
        lambda data: {**data, "schema": 0},
        lambda data: {k: v for k, v in data.items() if k != "body"},
        lambda data: [],
    ],
)
def test_a_damaged_solution_is_refused(change: object) -> None:
    text = dump(find(solved()[0].name))
    assert dump(read(text, "good.json")) == text
    assert callable(change)
    with pytest.raises(GhashgenError, match=r"uarch/solved/bad.json is damaged"):
        read(json.dumps(change(json.loads(text))), "bad.json")


def test_the_solver_proves_a_small_body_best() -> None:
    pytest.importorskip("ortools", reason="ortools is not installed")
    kernel = replace(AVX4, blocks=2)
    program = rows_of(kernel)
    region = next(r for r in all_regions(program, kernel.set) if r.loops)
    live = liveness(program, kernel.set.rows)
    ties = region_graph(program, region, kernel.set, live)
    items = [single(op, kernel.set.rows, SKX) for op in ties.ops]
    found = solve(ties, items, SKX, 16, 5)
    again = solve(ties, items, SKX, 16, 5)
    assert found == again
    assert found.cycles == found.least >= floor(ties, items, SKX)
    ran = estimate([items[i] for i in found.order], SKX, True)
    assert ran.in_order <= found.cycles


def test_a_missing_solver_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    require.cache_clear()
    monkeypatch.setitem(sys.modules, "ortools", None)
    done = CliRunner().invoke(SOLVE, [])
    assert isinstance(done.exception, GhashgenError)
    assert done.exception.cause.startswith("ortools, needed for ")
    assert done.exception.remedy == f"run: {command('solve')}"


@pytest.mark.parametrize("kernel", FORMS, ids=lambda kernel: kernel.name)
def test_forms_before_assembly_are_those_of_the_decoder(kernel: Kernel, tmp_path: Path) -> None:
    made = assembled(find_nasm(), Job(kernel))
    wanted = [form_of(i) for i in made.code.instructions.values() if not i.is_invalid]
    padding = ("nop", "int3", "ud2")
    wanted = [name for name in wanted if not name.startswith(padding)]
    rows = kernel.set.rows
    compiled = compile_kernel(kernel, SYSV)
    ops = [op for item in compiled.values() for op in item.function.program.ops]
    assert [form(op, rows[op.code]) for op in ops] == wanted


def test_decoded_and_selected_code_cost_the_same_in_the_model() -> None:
    """One adapter reads operations, the other bytes; spill-free code must agree."""
    made = assembled(find_nasm(), Job(AVX4))
    decoded = work_of(loop(made.code, f"{made.symbol}_update.group"), SKX)
    compiled = compile_kernel(AVX4, SYSV)["update"]
    rows = AVX4.set.rows
    block = next(b for b in compiled.function.program.blocks if b.label == "group")
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
