"""AES over an uninterpreted S-box: one column of a round, and what the prover tells apart."""

from collections.abc import Iterator
from dataclasses import dataclass

from ghashgen.algebra.field import aes
from ghashgen.algebra.ops.forms import VAR_BITS, Form
from ghashgen.lab.figures.svg import LARGE, SMALL, WIDTH, arrow, box, document, path, text
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.meaning.cipher import boxes, encrypted

KEY_BYTES, BYTES, COLUMN = 16, 16, 4
"""Bytes of the drawn key, of a state, and of a column of it."""

LEFT, GAP, TALL = 14, 12, 34


@dataclass(frozen=True)
class Drawn:
    """What the prover makes of AES over an unknown function of a byte."""

    values: int
    """Values of the function that a block needs."""
    sources: tuple[tuple[int, ...], ...]
    """Per byte of the second state's first column, the values of the first round in its forms."""
    equal: tuple[tuple[str, int], ...]
    """Ways to compute E_K(J) + P, and how many of the 128 bits equal those of FIPS 197."""


def drawn() -> Drawn:
    """Return the figure's values, computed with the prover's own cipher and naming."""
    box = boxes()
    terms = Terms(lambda name, number: Form(VAR_BITS, 0, {}), kinds=(box.kind,))
    block, text = terms.variable("J"), terms.variable("P")
    keys = [terms.variable(f"K{i}") for i in range(aes.ROUNDS[KEY_BYTES] + 1)]
    wanted = terms.form(terms.xor(encrypted(terms, block, keys), text))
    values, arguments = len(box.numbers), list(box.numbers)
    sources = [_bytes(dict(arguments[BYTES + k][1])[f"{box.letter}{0}"]) for k in range(COLUMN)]
    early = encrypted(terms, block, [*keys[:-1], terms.xor(keys[-1], text)])
    swapped = encrypted(terms, block, [keys[0], keys[2], keys[1], *keys[3:]])
    short = encrypted(terms, block, [*keys[:-2], keys[-1]])
    ways = (
        ("P added to the last round key beforehand", early),
        ("round keys 1 and 2 exchanged", terms.xor(swapped, text)),
        ("one round left out", terms.xor(short, text)),
    )
    equal = tuple((name, _equal(terms.form(lane), wanted)) for name, lane in ways)
    return Drawn(values, tuple(sources), equal)


def _bytes(packed: int) -> tuple[int, ...]:
    """Return which bytes of a variable occur in the rows of a byte."""
    rows = [packed >> VAR_BITS * k & (1 << VAR_BITS) - 1 for k in range(8)]
    return tuple(sorted({u // 8 for row in rows for u in range(VAR_BITS) if row >> u & 1}))


def _equal(a: Form, b: Form) -> int:
    """Return how many bits have the same polynomial in two forms of degree 1."""
    names = a.linear.keys() | b.linear.keys()
    apart = [a.linear.get(name, 0) ^ b.linear.get(name, 0) for name in names]
    return sum(
        not any(rows >> VAR_BITS * k & (1 << VAR_BITS) - 1 for rows in apart)
        and not (a.constant ^ b.constant) >> k & 1
        for k in range(VAR_BITS)
    )


def degree() -> int:
    """Return the degree of the S-box of AES: that of its bits as polynomials in 8 bits."""
    rows = list(aes.s_box())
    for bit in range(8):
        rows = [row ^ rows[i ^ 1 << bit] if i >> bit & 1 else row for i, row in enumerate(rows)]
    return max(i.bit_count() for i, row in enumerate(rows) if row)


def draw() -> str:
    """Return the figure."""
    found = drawn()
    return document(
        "A byte of the state goes into an unknown function s, and its value gets a fresh name. "
        "The rest of a round is linear in these names, so every form keeps degree 1, and a wrong "
        "round key or a missing round makes other forms.",
        488,
        _parts(found),
    )


def _row(y: float, names: list[str], colour: str) -> Iterator[str]:
    wide = (WIDTH - 2 * LEFT - (COLUMN - 1) * GAP) / COLUMN
    for i, name in enumerate(names):
        yield box(LEFT + i * (wide + GAP), y, wide, TALL, name, colour)


def _parts(found: Drawn) -> Iterator[str]:
    rounds, inside = aes.ROUNDS[KEY_BYTES], found.sources[0]
    centres = [LEFT + (i + 0.5) * (WIDTH - 2 * LEFT + GAP) / COLUMN - GAP / 2 for i in range(4)]
    yield text(LEFT, 26, "AES over an unknown function s of a byte", size=LARGE, style="bold")
    yield text(LEFT, 46, "One column of a round; each byte is eight linear forms", "muted",
               size=SMALL)  # fmt: skip
    yield from _row(60, [f"byte {n}" for n in inside], "pale-grey")
    for x in centres:
        yield arrow([(x, 94), (x, 124)])
        yield text(x + 10, 114, "s", "muted", size=SMALL)
    yield from _row(124, [f"S{n}" for n in inside], "pale-green")
    yield text(LEFT, 178, "fresh names: equal bytes get equal names, others get new ones", "muted",
               size=SMALL)  # fmt: skip
    yield arrow([(WIDTH / 2, 186), (WIDTH / 2, 206)])
    yield box(LEFT, 206, WIDTH - 2 * LEFT, TALL, "ShiftRows, MixColumns, + round key: linear",
              "pale-blue")  # fmt: skip
    for x in centres:
        yield arrow([(x, 240), (x, 262)])
    yield from _row(262, [f"byte {n}" for n in range(COLUMN)], "pale-grey")
    names = ", ".join(f"S{n}" for n in inside)
    yield text(LEFT, 316, f"each linear in {names} and a byte of the key", "muted", size=SMALL)
    yield text(LEFT, 334, f"{rounds} rounds: {found.values} names, degree 1 throughout; "
               f"the real S-box: degree {degree()}", "muted", size=SMALL)  # fmt: skip
    yield path([(LEFT, 352), (WIDTH - LEFT, 352)], "line")
    yield text(LEFT, 376, "Compared with FIPS 197 over the same s", style="bold")
    for i, (name, bits) in enumerate(found.equal):
        y = 388 + 32 * i
        right = bits == VAR_BITS
        yield text(LEFT, y + 19, name, size=SMALL)
        yield box(WIDTH - LEFT - 190, y, 190, 28,
                  f"{bits} of {VAR_BITS} bits equal: {'right' if right else 'refused'}",
                  "pale-green" if right else "pale-vermilion", SMALL)  # fmt: skip
