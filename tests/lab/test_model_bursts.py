"""Bursts by port tables: what a message executes, the lowest bound, goals and measurements."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from ghashgen.arch.x86_64 import ARCH
from ghashgen.cli.verbs import model as command
from ghashgen.cli.verbs.options import build_folder, default_out
from ghashgen.cost.histogram import Histogram, histogram
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.selection import Choice, choose_of
from ghashgen.kernels.target import target
from ghashgen.lab.model.bursts import FUNCTIONS, Work, bursts, works
from ghashgen.lab.model.page import burst_cells
from ghashgen.lab.model.rows import ours
from ghashgen.lab.standing import Standing
from ghashgen.records.core import BURST, Cell, Machine, Results, Run, Subject
from ghashgen.records.goals import Book, parse
from ghashgen.records.records import Record
from ghashgen.run.built import Built, build
from ghashgen.support.errors import GhashgenError

GROUP = 4
SEAL, OPEN = FUNCTIONS.values()


def built(name: str) -> Built[GcmKernel]:
    kernels = choose_of(GcmKernel, Choice(name=(name,)))
    (one,) = build(kernels, target("sysv"), default_out(), build_folder("obj"))
    return one


def _counted(body: Histogram) -> Counter[tuple[str, str]]:
    """Occurrences by mnemonic and kind of the first operand."""
    out: Counter[tuple[str, str]] = Counter()
    for form, number in body.forms.items():
        mnemonic, _, operands = form.partition(" ")
        out[mnemonic, operands[:1]] += number
    return out


def test_what_a_burst_executes_in_addition_is_what_its_groups_do() -> None:
    one = built("gcm128_avx512_k_clmul1_x16_alike")
    found = {(w.mode, w.size): w for w in works([one], (64,))}
    assert set(found) == {(SEAL, 64), (OPEN, 64)}
    for work in found.values():
        names = _counted(work.body)
        # For each of four texts and for E_K(J_0) of all four: ten rounds.
        assert names["vaesenc", "z"] == BURST // GROUP * 9 * 5
        assert names["vaesenclast", "z"] == BURST // GROUP * 5
        # Texts, AAD and the reduction in four lanes; the block of lengths in one.
        assert names["vpclmulqdq", "z"] == BURST // GROUP * (4 * 4 + 4 + 1)
        assert names["vpclmulqdq", "x"] == BURST // GROUP * 4
        assert work.key == 128
        assert {"AVX512F", "VAES"} <= set(work.features)


def test_code_that_fails_is_named() -> None:
    one = built("gcm128_avx512_k_clmul1_x16_alike")
    with pytest.raises(GhashgenError, match="fails in the emulator"):
        works([_with_a_short_context(one)], (64,))


def _with_a_short_context(one: Built[GcmKernel]) -> Built[GcmKernel]:
    class Short(Built[GcmKernel]):
        table_bytes = 64

    return Short(**vars(one))


def work(name: str, forms: dict[str, int], mode: str = SEAL, key: int = 128) -> Work:
    body = replace(histogram(ARCH.decoder, []), forms=forms)
    return Work(name, key, mode, 64, ("AVX512F", "VPCLMULQDQ"), body)


def test_the_kernel_with_the_lowest_bounds_of_each_key_and_length_is_taken() -> None:
    """Its functions stand together, also where another kernel's opens faster."""
    product = "vpclmulqdq z,z,z,i8"
    found = bursts(
        [
            work("slow", {product: 4 * BURST}),
            work("fast", {product: 2 * BURST}),
            work("slow", {product: BURST}, OPEN),
            work("fast", {product: 2 * BURST}, OPEN),
            work("longer", {product: 5 * BURST}, key=256),
        ],
        Book(),
        (),
    )
    assert "skylake-avx512" not in found
    shown = [(b.work.name, b.work.mode, b.cycles, b.goal, b.measured) for b in found["zen5"]]
    assert shown == [
        ("fast", SEAL, 4.0, None, None),
        ("fast", OPEN, 4.0, None, None),
        ("longer", SEAL, 10.0, None, None),
    ]


GOALS = """
[[goals]]
title = "Bursts"
features = []
core = "Zen 4"
[[goals.goal]]
modes = ["seal-burst"]
sizes = [64]
keys = [128, 256]
cycles = { 128 = 12 }
"""


def test_goals_and_measurements_of_this_core_stand_beside_the_bound() -> None:
    product = "vpclmulqdq z,z,z,i8"
    each = [work("own", {product: 4 * BURST}), work("own", {product: 5 * BURST}, OPEN)]
    cell = Cell("own", 64, SEAL, (Run(20.0, 1, 1, 1, 0),))
    machine = Machine("CPU (cpu family 25, model 17, stepping 1)", (), 3.0, "")
    subjects = {"own": Subject("own", "kernel", key=128)}
    record = Record("x", 1, "", Results(machine, subjects, (cell,), {}))
    standing = Standing(record, lambda size, mode, key: "own")
    found = bursts(each, parse(GOALS, "toy.toml"), [standing])
    assert list(burst_cells(found["zen4"])) == [
        ("own", "64", "8.0", "10.0", "CLMUL0", "12.0", "1.50", "20.0", "2.50")
    ]
    assert next(burst_cells(found["zen5"]))[5:] == ("", "", "", "")


def test_a_loop_that_branches_inside_is_left_out() -> None:
    where = target("sysv")
    names = "gcm_avx_winograd_clmul1_x8_compact", "gcm128_avx_winograd_clmul1_x8"
    found = ours([built(name) for name in names], where)
    assert [loop.name for loop in found] == [names[1]]


def test_without_the_emulator_bursts_are_left_out_and_the_command_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "missing", lambda extra: ("bochscpu-python",))
    kernels = choose_of(GcmKernel, Choice(name=("gcm128_avx512_k_clmul1_x16_alike",)))
    assert command.comparison_of(kernels).bursts == {}
    assert "bursts: left out, because bochscpu-python is not installed" in capsys.readouterr().err
