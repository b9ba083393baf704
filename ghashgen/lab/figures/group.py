"""An aggregated group: n products against falling powers of H, one sum, one reduction."""

from collections.abc import Iterator

from ghashgen.algebra.schemes.registry import multiplies, reduces
from ghashgen.kernels.manifest import Entry
from ghashgen.lab.figures.svg import LARGE, NORMAL, SMALL, WIDTH, arrow, box, document, path, text
from ghashgen.support.errors import GhashgenError

KERNEL = "ghash_avx_k_clmul1_x8"
"""The drawn kernel; its counts come from its bytes, in MANIFEST.json."""

MARGIN, TOP, GAP, TALL = 14, 76, 6, 30


def draw(entry: Entry) -> str:
    """Return the figure of a kernel's group.

    Raises:
        GhashgenError: its loop has other products than its schemes say.
    """
    blocks = int(entry.axes["blocks"])
    each = multiplies()[str(entry.axes["multiply"])].budget.block["clmul"]
    once = reduces()[str(entry.axes["reduce"])].budget.group["clmul"]
    counted = entry.counts.group.classes["clmul"]
    if counted != blocks * each + once:
        raise GhashgenError(
            f"{entry.name} has {counted} products a group, its schemes {blocks} x {each} + {once}",
            "draw another kernel",
        )
    return document(
        f"A group of {blocks} blocks: {blocks} products, one sum and one reduction.",
        TOP + 246,
        _parts(blocks, each, once),
    )


def _parts(blocks: int, each: int, once: int) -> Iterator[str]:
    wide = (WIDTH - 2 * MARGIN - (blocks - 1) * GAP) / blocks
    yield text(MARGIN, 26, f"{blocks} blocks, one reduction", size=LARGE, style="bold")
    yield text(
        MARGIN, 46, f"X is the state so far; C1 to C{blocks} are the blocks.", "muted", size=SMALL
    )
    middle = TOP + 2 * TALL + 58
    for i in range(blocks):
        x = MARGIN + i * (wide + GAP)
        centre = x + wide / 2
        yield box(
            x, TOP, wide, TALL, f"X + C{i + 1}" if i == 0 else f"C{i + 1}", "pale-grey", SMALL
        )
        yield text(centre, TOP + TALL + 18, "×", "muted", "middle", NORMAL)
        power = blocks - i
        yield box(x, TOP + TALL + 24, wide, TALL, f"H^{power}" if power > 1 else "H", "pale-blue",
                  SMALL)  # fmt: skip
        yield path([(centre, TOP + 2 * TALL + 24), (centre, middle - 12)], "muted")
    yield path(
        [(MARGIN + wide / 2, middle - 12), (WIDTH - MARGIN - wide / 2, middle - 12)], "muted"
    )
    centre = WIDTH / 2
    yield arrow([(centre, middle - 12), (centre, middle + 12)])
    yield box(centre - 150, middle + 12, 300, TALL, "sum of the products, not reduced", "pale-grey")
    yield arrow([(centre, middle + 12 + TALL), (centre, middle + 30 + TALL)])
    yield box(
        centre - 150, middle + 30 + TALL, 300, TALL, "one reduction → the new X", "pale-vermilion"
    )
    alone, together = blocks * (each + once), blocks * each + once
    yield text(
        centre, middle + 30 + 2 * TALL + 28,
        f"{blocks} × {each} + {once} = {together} carry-less products; one by one, "
        f"{blocks} × ({each} + {once}) = {alone}",
        "muted", "middle", SMALL,
    )  # fmt: skip
