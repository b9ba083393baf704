"""A kernel's name, its table, and the refusal of axes that make no sense together."""

import re
from dataclasses import replace
from typing import Any

import pytest

from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.selection import Choice, choose_of
from ghashgen.support.errors import GhashgenError

Axes = tuple[tuple[Any, ...], dict[str, Any]]


def axes(*values: Any, **more: Any) -> Axes:
    """What a kernel that cannot be made would be made of."""
    return values, more


@pytest.mark.parametrize(
    ("wanted", "cause", "remedy"),
    [
        (axes("mmx", "k", "clmul1", 1), "unknown isa 'mmx'", "avx, avx2"),
        (axes("avx", "toom", "clmul1", 1), "unknown multiply 'toom'", "karatsuba"),
        (axes("avx", "k", "barrett", 1), "unknown reduce 'barrett'", "clmul1"),
        (axes("avx", "k", "clmul1", 1, "big"), "unknown order 'big'", "reflected"),
        (axes("avx", "k", "clmul1", 1, op="gmac"), "unknown op 'gmac'", "polyval"),
        (axes("avx", "k", "clmul1", 1, fold="never"), "unknown fold 'never'", "group, end"),
        (axes("avx", "k", "clmul1", 1, swap="twice"), "unknown swap 'twice'", "stack"),
        (axes("avx", "k", "clmul1", 1, powers="disk"), "unknown powers 'disk'", "memory"),
        (axes("avx", "k", "clmul1", 0), "blocks must be 1 to 48, not 0", "in that range"),
        (axes("avx", "k", "clmul1", 49), "blocks must be 1 to 48, not 49", "in that range"),
        (axes("avx", "k", "clmul1", -1), "blocks must be 1 to 48, not -1", "in that range"),
        (
            axes("avx", "k", "clmul2", 1),
            "reduce 'clmul2' takes a 256-bit product, but multiply 'k' makes a 192-bit one",
            "choose reduce clmul1",
        ),
        (
            axes("sse", "schoolbook", "clmul1", 1),
            "reduce 'clmul1' takes a 192-bit product",
            "choose reduce clmul2 or clmul3 or shift-xor",
        ),
        (
            axes("avx", "k", "clmul1", 1, "natural"),
            "order 'natural' needs GFNI to reverse the bits of a byte, which isa 'avx' lacks",
            "choose order reflected",
        ),
        (axes("sse", "k", "clmul1", 1, "natural"), "isa 'sse' lacks", "reflected"),
        (
            axes("avx512", "schoolbook", "clmul3", 4, "natural"),
            "reduce 'clmul3' exists only for order 'reflected'",
            "choose another reduce or order",
        ),
        (
            axes("avx2", "k", "clmul1", 4, "natural", op="polyval"),
            "op 'polyval' reads blocks as reflected registers",
            "choose order reflected",
        ),
        (axes("avx", "k", "clmul1", 4, fold="end"), "isa 'avx' has one", "choose fold group"),
        (
            axes("avx512", "k", "clmul1", 6, fold="end"),
            "6 blocks do not fill 4 lanes",
            "choose a multiple of 4",
        ),
        (axes("sse", "k", "clmul1", 8, swap="stack"), "which isa 'sse' cannot use", "isa avx"),
        (
            axes("avx", "k", "clmul1", 8, swap="stack", op="polyval"),
            "op 'polyval' swaps no bytes",
            "choose swap register",
        ),
        (
            axes("avx", "k", "clmul1", 8, powers="registers"),
            "powers 'registers' would take 16 of 16 vector registers",
            "choose powers memory, or at most 3 blocks",
        ),
    ],
)
def test_a_refusal_names_the_axis_the_reason_and_the_remedy(
    wanted: Axes, cause: str, remedy: str
) -> None:
    with pytest.raises(GhashgenError) as refusal:
        Kernel(*wanted[0], **wanted[1])
    assert cause in refusal.value.cause
    assert remedy in refusal.value.remedy
    assert "\n" not in str(refusal.value)


def test_a_kernel_that_is_changed_is_checked_again() -> None:
    with pytest.raises(GhashgenError, match="takes a 256-bit product"):
        replace(Kernel("avx", "k", "clmul1", 1), reduce="clmul2")


def test_the_command_line_and_the_value_refuse_in_the_same_words() -> None:
    with pytest.raises(GhashgenError) as value:
        Kernel("avx", "k", "clmul2", 1)
    chosen = Choice(isa=("avx",), multiply=("k",), reduce=("clmul2",), blocks=(1,))
    with pytest.raises(GhashgenError) as line:
        choose_of(Kernel, chosen)
    assert str(line.value) == str(value.value)


@pytest.mark.parametrize("blocks", [1, 2, 3, 7, 47, 48])
def test_any_size_up_to_48_is_allowed(blocks: int) -> None:
    kernel = Kernel("avx", "winograd", "clmul1", blocks)
    assert kernel.blocks == blocks


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        (Kernel("avx", "k", "clmul1", 4), "ghash_avx_k_clmul1_x4"),
        (Kernel("sse", "schoolbook", "shift-xor", 1), "ghash_sse_schoolbook_shiftxor_x1"),
        (
            Kernel("avx512", "k", "clmul1", 16, "natural", True, fold="end"),
            "ghash_avx512_k_clmul1_x16_natural_lanes_wipe",
        ),
        (Kernel("avx", "k", "clmul1", 8, op="polyval"), "polyval_avx_k_clmul1_x8"),
        (Kernel("avx", "k", "clmul1", 1, alias="mine"), "mine"),
    ],
)
def test_a_name_follows_from_the_axes(kernel: Kernel, name: str) -> None:
    assert kernel.name == name
    assert re.fullmatch(r"[a-z][a-z0-9_]*", kernel.name)


@pytest.mark.parametrize(
    "kernel",
    [
        Kernel("avx", "winograd", "clmul1", 6),
        Kernel("avx2", "k", "clmul1", 5),
        Kernel("avx512", "winograd", "clmul1", 10),
        Kernel("avx512", "k", "clmul1", 8, fold="end"),
    ],
    ids=lambda kernel: kernel.name,
)
def test_the_table_holds_every_power_of_every_entry_once(kernel: Kernel) -> None:
    layout = kernel.layout
    assert kernel.table_bytes == 16 * len(layout.cells)
    assert kernel.best_align == 16 * kernel.lane_count
    assert layout.top % kernel.lane_count == 0
    assert layout.top >= kernel.blocks
    multiplier = kernel.multiplier
    for entry in (*multiplier.entries, "R") if multiplier.key_term else multiplier.entries:
        for power in range(1, layout.top + 1):
            at = layout.offset(entry, power)
            assert at % 16 == 0
            assert layout.cells[at // 16] == f"{entry}{power}"
    assert len(set(layout.arrays.values())) == len(layout.arrays)
