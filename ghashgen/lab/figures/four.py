"""A group of four messages in one call: which register holds what, and one reduction for all."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ghashgen.algebra.schemes.registry import multiplies, reduces
from ghashgen.kernels.aes.cipher import ROUNDS
from ghashgen.kernels.manifest import Entry
from ghashgen.lab.figures.lanes import COLOURS
from ghashgen.lab.figures.svg import LARGE, SMALL, WIDTH, arrow, box, document, rect, text
from ghashgen.support.errors import GhashgenError

KERNEL = "gcm128_avx512_k_clmul1_x16_alike"
"""The drawn kernel; its instructions are counted in its file."""

MARGIN, TOP, TALL, GAP, EDGE = 14, 66, 28, 14, 3
LANES = len(COLOURS)
"""Lanes of a register, messages of a group, and blocks of each drawn message."""

WIDE = (WIDTH - 2 * MARGIN - (LANES - 1) * GAP) / LANES


def counts(source: str) -> Mapping[tuple[str, str], int]:
    """Return what a turn of the drawn loop has, by mnemonic and kind of register."""
    function = source.partition(f"\n{KERNEL}_seal_many:\n")[2]
    code = function.partition("\n.alike_group:\n")[2].partition("\n.alike_after_group:\n")[0]
    return Counter(re.findall(r"^ +(vpclmul|vaesenc)\w* +([xz])mm", code, re.MULTILINE))


def draw(entry: Entry, source: str) -> str:
    """Return the figure of a group that seals four messages of four blocks.

    Raises:
        GhashgenError: the file has other instructions than are drawn.
    """
    each = multiplies()[str(entry.axes["multiply"])].budget.block["clmul"]
    once = reduces()[str(entry.axes["reduce"])].budget.group["clmul"]
    rounds = ROUNDS[int(entry.axes["key"])]
    wide = (LANES + 1) * each + once
    drawn = {("vpclmul", "z"): wide, ("vpclmul", "x"): each, ("vaesenc", "z"): (LANES + 1) * rounds}
    if counts(source) != drawn:
        raise GhashgenError(f"{entry.name} has other instructions than drawn", "draw it again")
    said = (
        f"AES: {LANES + 1} registers × {rounds} rounds = {(LANES + 1) * rounds} instructions",
        f"GHASH: texts {LANES} × {each} + AAD {each} + reduction {once} = {wide} products in four "
        "lanes,",
        f"and {each} in one lane for the lengths, which are the same for all four",
        "AES of the next four messages runs beside this GHASH.",
    )
    return document(
        "Four messages side by side: J_0, AAD, sums and tags are lanes of shared registers, each "
        "text has a register, and one reduction serves all four.",
        TOP + 467,
        _parts(said),
    )


def _parts(said: Sequence[str]) -> Iterator[str]:
    yield text(MARGIN, 26, "Four messages, one reduction", size=LARGE, style="bold")
    legend = "A frame is a register of four lanes, a colour is a message of 64 bytes."
    yield text(MARGIN, 46, legend, "muted", size=SMALL)
    for i in range(LANES):
        yield text(_middle(i), TOP + 8, f"message {i}", "muted", "middle", SMALL)
    y = TOP + 44
    yield from _shared(y, "AES: the counter blocks J_0", "E_K(J_0)")
    y += 62
    yield _said(y, "AES: the texts, a register each; below, the powers that GHASH takes")
    small = (WIDE - (LANES - 1) * EDGE) / LANES
    for i in range(LANES):
        yield _frame(_left(i), y, WIDE)
        for j in range(LANES):
            x = _left(i) + j * (small + EDGE)
            yield box(x, y, small, TALL, f"C{j + 1}", COLOURS[i], SMALL)
        powers = f"× H^{LANES + 1} … H^2"
        yield text(_middle(i), y + TALL + 20, powers, "muted", "middle", SMALL)
    y += 82
    yield from _shared(y, f"GHASH: AAD, every lane × H^{LANES + 2}", "AAD")
    y += 62
    yield from _shared(
        y, "GHASH: the sums, with lengths × H; the lanes of each text are added up", "sum"
    )
    for i in range(LANES):
        yield arrow([(_middle(i), y + TALL + EDGE), (_middle(i), y + TALL + 18)])
    y += TALL + 18
    yield box(MARGIN, y, WIDTH - 2 * MARGIN, TALL, "one reduction for all four, then + E_K(J_0)",
              "pale-grey")  # fmt: skip
    for i in range(LANES):
        yield arrow([(_middle(i), y + TALL), (_middle(i), y + TALL + 18 - EDGE)])
    y += TALL + 18
    yield from _shared(y, "", "tag")
    for line in said:
        y += 19
        yield text(MARGIN, y + TALL + 10, line, "muted", size=SMALL)


def _left(message: int) -> float:
    return MARGIN + message * (WIDE + GAP)


def _middle(message: int) -> float:
    return _left(message) + WIDE / 2


def _said(y: float, words: str) -> str:
    return text(MARGIN, y - 9, words, size=SMALL)


def _frame(x: float, y: float, wide: float) -> str:
    return rect(x - EDGE, y - EDGE, wide + 2 * EDGE, TALL + 2 * EDGE, "line", 5)


def _shared(y: float, words: str, cell: str) -> Iterator[str]:
    """Yield a register with a lane for each message."""
    if words:
        yield _said(y, words)
    yield _frame(MARGIN, y, WIDTH - 2 * MARGIN)
    for i, colour in enumerate(COLOURS):
        yield box(_left(i), y, WIDE, TALL, cell, colour, SMALL)
