"""Kernels with columns: the interleaved split of a message, proved, and refused where it is not."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.compiling import emitted_text
from helpers.cpus import AS_FOUND, too_little
from helpers.emulating import needs_bochs
from helpers.planting import put
from helpers.verify_objects import assembled

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.field.ghash import ghash_padded
from ghashgen.check.attack import leaks, trial
from ghashgen.check.proofs import statement
from ghashgen.check.validation.hash import validate_one
from ghashgen.check.validation.placements import in_rows, lengths
from ghashgen.check.validation.runners import native
from ghashgen.check.validation.segments import power_of
from ghashgen.kernels.families import functions_of
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import runnable, target
from ghashgen.run.built import build
from ghashgen.support.errors import GhashgenError
from ghashgen.support.paths import project_root
from ghashgen.verify.core.refutation import Category
from ghashgen.verify.prove import Proof, prove_object

KERNEL = Kernel("avx", "winograd", "clmul1", 4, segments=True, columns=2)
WIDE = Kernel("avx512", "winograd", "clmul1", 8, segments=True, columns=4)
NEEDS = ("avx", "pclmulqdq")


def proof(kernel: Kernel, source: str, abi: str = "sysv", row: int | None = None) -> Proof:
    spec = statement(kernel, kernel.name, abi)
    (column,) = (f for f in spec.functions if f.operation == "column")
    if row is not None:
        column = replace(column, length_multiple=row)
    return prove_object(assembled(source), replace(spec, functions=(column,)))


def test_only_kernels_with_columns_export_the_function() -> None:
    assert "column" in functions_of(KERNEL)
    assert "column" not in functions_of(replace(KERNEL, columns=1))
    assert KERNEL.name == "ghash_avx_winograd_clmul1_x4_segments_columns2"


def test_columns_without_powers_are_refused() -> None:
    with pytest.raises(GhashgenError, match="does not export power"):
        replace(KERNEL, segments=False)


def test_numbers_of_columns_that_nobody_emits_are_refused() -> None:
    with pytest.raises(GhashgenError, match="unknown columns '3'"):
        replace(KERNEL, columns=3)


@pytest.mark.parametrize(
    "kernel",
    [
        *(replace(KERNEL, isa=isa) for isa in ("sse", "avx2", "avx512vl", "avx512")),
        *(replace(KERNEL, columns=n) for n in (2, 4, 8)),
        replace(WIDE, fold="end", wipe=True),
        replace(WIDE, blocks=7, order="natural"),
        replace(WIDE, powers="registers", pipeline="ahead"),
        replace(KERNEL, multiply="k", op="polyval", blocks=1),
        replace(KERNEL, multiply="schoolbook", reduce="clmul2", swap="stack", wipe=True),
    ],
    ids=lambda kernel: kernel.name,
)
@pytest.mark.parametrize("abi", ["sysv", "win64"])
def test_a_column_is_proved_for_every_number_of_rows(kernel: Kernel, abi: str) -> None:
    found = proof(kernel, emitted_text(kernel, runnable(abi)), abi)
    assert found.refutation is None
    whats = {t.what for t in found.theorems}
    assert {"function", "memory", "constant-time", "abi"} <= whats
    assert ("wipe" in whats) is kernel.wipe
    row = BLOCK_BYTES * kernel.columns
    assert {t.lengths for t in found.theorems} == {f"0..{(1 << 62) - 1}, multiples of {row}"}


@pytest.mark.parametrize("row", [64, 128])
def test_rows_of_another_length_are_another_statement(row: int) -> None:
    """The kernel steps by 32 bytes: where rows are longer it reads what stands between."""
    found = proof(KERNEL, emitted_text(KERNEL, target()), row=row).refutation
    assert found is not None
    assert found.category is Category.MEMORY
    assert "which has no initial content" in str(found)


def test_rows_that_are_no_rows_make_no_statement() -> None:
    with pytest.raises(GhashgenError, match="32 or 64 or 128"):
        proof(KERNEL, emitted_text(KERNEL, target()), row=48)


def parts(source: str, kernel: Kernel) -> tuple[str, str, str]:
    """Split a listing around the function."""
    start = source.index(f"{kernel.name}_column:\n")
    end = source.index("\n.end:", start)
    return source[:start], source[start:end], source[end:]


FAULTS: dict[str, tuple[Kernel, Callable[[str], str], Category]] = {
    "the block between": (KERNEL, put(("[rdx + 32]", "[rdx + 16]")), Category.MEMORY),
    "a row taken twice": (KERNEL, put(("[rdx + 32]", "[rdx + 64]")), Category.FUNCTION),
    "a row of a wide register left out": (
        WIDE, put(("[rdx + 448]", "[rdx + 384]")), Category.FUNCTION),
    "32 bytes at once": (
        WIDE, put(("vmovdqu64   xmm3, [rdx + 256]", "vmovdqu64   ymm3, [rdx + 256]")),
        Category.MEMORY),
    "a group too few": (KERNEL, put(("add         rdx, 0x80", "add rdx, 96")), Category.FUNCTION),
    "the last row beyond the end": (KERNEL, put(("cmp         rcx, 0x80\n    jae", "cmp rcx, 96\n"
                                                 "    jae")), Category.MEMORY),
    "the tail's row": (KERNEL, put(("add         rdx, 0x20", "add rdx, 0x40")), Category.MEMORY),
    "the tail's powers": (KERNEL, put(("add         rdi, 0x10", "add rdi, 0")),
                          Category.FUNCTION),
    "the state twice": (KERNEL, put(("vpxor       xmm2, xmm2, xmm2", "nop")), Category.FUNCTION),
    "a branch on a block": (KERNEL, put(("    endbr64", "    endbr64\n    cmp rcx, 32\n"
                                         "    jb .thence\n    cmp qword [rdx], 0\n"
                                         "    je .thence\n.thence:")), Category.CONSTANT_TIME),
    "the message written": (KERNEL, put(("vmovdqu     [rsi]", "vmovdqu     [rdx - 32]")),
                            Category.MEMORY),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_a_planted_fault_is_refused(name: str) -> None:
    kernel, change, category = FAULTS[name]
    before, lines, after = parts(emitted_text(kernel, target()), kernel)
    refutation = proof(kernel, before + change(lines) + after).refutation
    assert refutation is not None
    assert refutation.category is category, str(refutation)


@pytest.mark.cpu
@pytest.mark.parametrize("kernel", [KERNEL, WIDE], ids=["avx", "avx512"])
def test_columns_run_right_beside_guard_pages(
    tmp_path: Path, harness_folder: Path, kernel: Kernel, as_cpu: str
) -> None:
    (built,) = build((kernel,), target(), project_root() / "generated", tmp_path)
    runner = native([built], harness_folder)
    if too_little(as_cpu, built.harness_kernel.needs, lambda: runner.check(built)):
        return
    found = validate_one(runner, built, BLOCK_BYTES * (2 * kernel.blocks + 2))
    assert found.failures == ()


@pytest.mark.cpu
def test_a_wrong_column_would_be_noticed(tmp_path: Path, harness_folder: Path, as_cpu: str) -> None:
    (built,) = build((KERNEL,), target(), project_root() / "generated", tmp_path)
    before, lines, after = parts(emitted_text(KERNEL, target()), KERNEL)
    built.obj.unlink()
    built.obj.write_bytes(assembled(before + put(("[rdx + 32]", "[rdx + 16]"))(lines) + after))
    runner = native([built], harness_folder)
    if too_little(as_cpu, NEEDS, lambda: runner.check(built)):
        return
    found = validate_one(runner, built, BLOCK_BYTES * (2 * KERNEL.blocks + 2))
    assert found.failures
    assert all(failure.startswith("column of") for failure in found.failures)


def test_columns_come_together_in_their_last_row() -> None:
    """The hash of all rows is that of one: what is left of each column, in the last row's place."""
    h, n, rows = bytes(range(1, 17)), 4, 5
    x = bytes(range(100, 116))
    message = bytes(11 * k & 0xFF for k in range(BLOCK_BYTES * n * rows))
    cells = [message[at : at + BLOCK_BYTES] for at in range(0, len(message), BLOCK_BYTES)]
    step = power_of(h, n, "ghash")
    last = b""
    for t in range(n):
        column = b"".join(cells[t : n * (rows - 1) : n])
        y = ghash_padded(step, x if t == 0 else bytes(BLOCK_BYTES), column)
        last += bytes(a ^ b for a, b in zip(y, cells[n * (rows - 1) + t], strict=True))
    assert ghash_padded(h, bytes(BLOCK_BYTES), last) == ghash_padded(h, x, message)


BEYOND_A_GROUP: dict[str, Callable[[str], str]] = {
    "the second group": put(("add         rdx, 0x80", "add rdx, 96")),
    "the rows that are left": put(("add         rdx, 0x20", "add rdx, 0x40")),
}


@needs_bochs
@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize("name", sorted(BEYOND_A_GROUP))
def test_a_column_wrong_behind_some_rows_is_seen_when_run(tmp_path: Path, name: str) -> None:
    """What the attack runs of an accepted object reaches several groups, and rows behind them."""
    (built,) = build((KERNEL,), target(), project_root() / "generated", tmp_path)
    before, lines, after = parts(emitted_text(KERNEL, target()), KERNEL)
    wrong = assembled(before + BEYOND_A_GROUP[name](lines) + after)
    ran = trial.run(wrong, built, tmp_path, "1")
    assert "column" in ran.wrong
    ran = trial.run(built.obj.read_bytes(), built, tmp_path, "1")
    assert (ran.wrong, ran.not_run) == ("", "")


def test_columns_are_put_at_every_place_in_groups_of_rows() -> None:
    """Lengths in rows: in bytes of a message, eight columns would never fill a group."""
    kernel = replace(KERNEL, columns=8)
    row, column = BLOCK_BYTES * 8, functions_of(kernel)["column"]
    assert column.length_multiple(kernel) == row
    found = in_rows(lengths(kernel.blocks), column.length_multiple(kernel))
    assert {n // row for n in found} >= {0, 1, 3, 4, 5, 7, 8, 14}
    assert {n % row for n in found} == {0}
    assert in_rows(lengths(4), 1) == lengths(4)
    assert max(n for _, numbers in leaks._numbers(column, kernel) for n in numbers.values()) == (
        14 * row
    )
