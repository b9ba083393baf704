"""Lanes: a Horner accumulator in each during the loop, other powers for the last group."""

import re
from collections.abc import Iterator, Sequence

from ghashgen.kernels.hash.kernel import LOOP, Kernel
from ghashgen.lab.figures.svg import LARGE, NORMAL, SMALL, WIDTH, arrow, box, document, text

KERNEL = "ghash_avx512_k_clmul1_x16_lanes"
"""The kernel whose table is drawn."""

MARGIN, TOP, TALL, GAP = 14, 104, 30, 5
COLOURS = ("pale-blue", "pale-green", "pale-vermilion", "pale-grey")


def powers(kernel: Kernel, array: str) -> list[list[int]]:
    """Return the powers of an array of the table: a row for each register, a column for each
    lane.
    """
    lanes, entry = kernel.lane_count, kernel.multiplier.entries[0]
    start = kernel.layout.arrays[entry + array] // 16
    cells = kernel.layout.cells[start : start + kernel.blocks]
    found = [int(re.sub(r"\D", "", cell)) for cell in cells]
    return [found[at : at + lanes] for at in range(0, len(found), lanes)]


def draw(kernel: Kernel) -> str:
    """Return the figure of a kernel that adds lanes at the end."""
    lanes = kernel.lane_count
    return document(
        f"{lanes} lanes: in the loop every lane has the same power of H, in the last group each "
        "its own, and then the lanes are added up and reduced.",
        _bottom(kernel) + 104,
        _parts(kernel),
    )


def _bottom(kernel: Kernel) -> float:
    return TOP + (kernel.blocks // kernel.lane_count) * (TALL + GAP)


def _parts(kernel: Kernel) -> Iterator[str]:
    lanes = kernel.lane_count
    half = (WIDTH - 3 * MARGIN) / 2
    yield text(MARGIN, 26, f"{lanes} lanes, {kernel.blocks} blocks a group", size=LARGE,
               style="bold")  # fmt: skip
    yield text(MARGIN, 46, "A row is a register; a cell is the power of H that meets its block.",
               "muted", size=SMALL)  # fmt: skip
    for at, head, array in (
        (MARGIN, "in the loop", LOOP),
        (2 * MARGIN + half, "in the last group", ""),
    ):
        yield text(at, TOP - 30, head, style="bold")
        yield from _grid(at, half, powers(kernel, array))
    bottom = _bottom(kernel)
    left, right = MARGIN + half / 2, 2 * MARGIN + half * 1.5
    yield text(left, bottom + 18, "each lane adds up its own column,", "muted", "middle", SMALL)
    yield text(left, bottom + 35, "and starts the next group with it", "muted", "middle", SMALL)
    yield arrow([(right, bottom), (right, bottom + 16)])
    yield box(right - half / 2, bottom + 16, half, TALL, "add up the lanes", "pale-grey", NORMAL)
    yield arrow([(right, bottom + 16 + TALL), (right, bottom + 32 + TALL)])
    yield box(
        right - half / 2, bottom + 32 + TALL, half, TALL, "one reduction → X", "pale-vermilion"
    )


def _grid(left: float, wide: float, rows: Sequence[Sequence[int]]) -> Iterator[str]:
    lanes = len(rows[0])
    cell = (wide - (lanes - 1) * GAP) / lanes
    for lane in range(lanes):
        x = left + lane * (cell + GAP)
        yield text(x + cell / 2, TOP - 8, f"lane {lane}", "muted", "middle", SMALL)
        for row, found in enumerate(rows):
            power = f"H^{found[lane]}" if found[lane] > 1 else "H"
            y = TOP + row * (TALL + GAP)
            yield box(x, y, cell, TALL, power, COLOURS[lane % len(COLOURS)], SMALL)
