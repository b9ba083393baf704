"""The K trick: where the four products of A·B lie, and what remains above 128 bits to fold."""

from collections.abc import Iterator
from dataclasses import dataclass

from ghashgen.algebra.field.bitorder import Order
from ghashgen.algebra.ops.integers import IntegerOps
from ghashgen.algebra.ops.protocol import Halves
from ghashgen.algebra.schemes.core import Multiply, Reduce
from ghashgen.algebra.schemes.registry import multiplies, reduces
from ghashgen.lab.figures.svg import LARGE, SMALL, box, document, path, rect, text

SIDES = (("schoolbook", "clmul2"), ("k", "clmul1"))
"""The pairs shown: a multiply scheme and a reduction of its shape."""

PLACES = {"LO": 0, "MI": 1, "HI": 1}
"""Start of an accumulator in 64-bit words; HI of a wide product is two words higher."""

LEFT, WORD, TALL, GAP, TOP = 50, 112, 24, 5, 66


class _Named(IntegerOps):
    """Integers that record which products are computed."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def clmul(self, a: int, b: int, halves: Halves, note: str = "") -> int:
        """Record the product's name, and compute it."""
        self.notes.append(note)
        return super().clmul(a, b, halves, note)


@dataclass(frozen=True)
class Product:
    """A product of a scheme: its name, and the 64-bit word that it begins at."""

    name: str
    word: int


def products(scheme: Multiply) -> tuple[Product, ...]:
    """Return a scheme's products in natural bit order, from the lowest up."""
    ops = _Named()
    entries = scheme.derive(IntegerOps(), 1, Order.NATURAL)
    found = scheme.products(ops, 1, entries, Order.NATURAL)
    wide = scheme.shape.bits == 256
    made = [
        Product(note, 2 if wide and name == "HI" else PLACES[name])
        for (name, _), note in zip(found, ops.notes, strict=True)
    ]
    return tuple(sorted(made, key=lambda product: (product.word, product.name)))


def draw() -> str:
    """Return the figure."""
    parts: list[str] = [
        text(14, 26, "Fold the key once, not every product", size=LARGE, style="bold"),
        text(14, 46, "A bar is a product of two 64-bit halves, at its place in the sum.", "muted",
             size=SMALL),
    ]  # fmt: skip
    top = float(TOP)
    for multiply, reduce in SIDES:
        scheme, fold = multiplies()[multiply], reduces()[reduce]
        parts += _side(top, scheme, fold)
        top += 2 * 26 + (len(products(scheme)) + 1) * (TALL + GAP) + 34
    return document(
        "Schoolbook multiplication gives 256 bits and needs two folds; with K = B1·Q + B0·x^64, "
        "precomputed from the key, the sum has 192 bits and needs one.",
        top - 30,
        parts,
    )


def _side(top: float, scheme: Multiply, reduce: Reduce) -> Iterator[str]:
    words = scheme.shape.bits // 64
    each, once = scheme.budget.block["clmul"], reduce.budget.group["clmul"]
    head = "A·B" if words == 4 else "A0·B + A1·K,  K = B1·Q + B0·x^64"
    yield text(LEFT, top + 14, head, style="bold")
    bars = top + 26
    found = products(scheme)
    low = bars + len(found) * (TALL + GAP)
    for row, product in enumerate(found):
        x = LEFT + (4 - 2 - product.word) * WORD
        colour = "pale-blue" if "B" in product.name else "pale-green"
        y = bars + row * (TALL + GAP)
        yield rect(x + 1, y, 2 * WORD - 2, TALL, colour, 4)
        # In the right half, because the line at x^128 runs through the middle of some.
        yield text(x + 1.5 * WORD, y + 17, product.name, anchor="middle", size=SMALL)
    for word in range(words):
        x = LEFT + (3 - word) * WORD
        above = word >= 2
        name = "to fold" if above else "result"
        yield box(
            x + 1, low, WORD - 2, TALL, name, "pale-vermilion" if above else "pale-grey", SMALL
        )
    yield path([(LEFT + 2 * WORD, bars - 6), (LEFT + 2 * WORD, low + TALL + 4)], "ink", 1.5, "4 3")
    folds = f"{once} fold{'s' * (once > 1)}"
    said = f"x^128: {folds} above it; {each} + {once} = {each + once} products"
    yield text(LEFT + 2 * WORD, low + TALL + 20, said, "muted", "middle", SMALL)
