"""Trials of GHASH and POLYVAL functions with answers from the field alone.

They apply to any object: update and column at every length up to two groups, a block and a part,
and at the lengths of `turns`; init's stated cells; products, powers and sums.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from ghashgen.algebra.field.bitorder import (
    BLOCK_BYTES,
    Order,
    block_from_element,
    byte_reverse,
    element_from_block,
)
from ghashgen.algebra.field.gf128 import X, mul
from ghashgen.algebra.field.ghash import multiply_blocks
from ghashgen.algebra.field.polyval import dot
from ghashgen.check.sampled import points
from ghashgen.check.sampled.cells import FREE, Cell
from ghashgen.check.validation.cases import SEED, ZERO, edge_blocks, tail_bound, xor
from ghashgen.check.validation.columns import spread
from ghashgen.check.validation.segments import EXPONENTS, power_of
from ghashgen.check.validation.trials import INIT, Part, Trial
from ghashgen.check.validation.turns import lengths, on_both_sides
from ghashgen.kernels.hash.parts.params import TABLE
from ghashgen.run.callee import Exported

PRODUCTS, KEYS = 32, 8
"""Number of products of arbitrary blocks; number of keys whose tables are compared."""

SELDOM = 8
"""If calls are slow, one in this many exponents is run; of short lengths, one in this many and all
modulo 16.
"""


@dataclass(frozen=True)
class Hash:
    """What an object hashes with, and how it is run."""

    op: str
    order: Order
    blocks: int
    cells: Sequence[Cell]
    few: bool


def product(op: str, x: bytes, h: bytes) -> bytes:
    """Return the result of NAME_mul for the state x: the field's product for GHASH or POLYVAL."""
    return multiply_blocks(x, h) if op == "ghash" else dot(x, h)


def states(op: str, h: bytes, x: bytes, data: bytes, lengths: Sequence[int]) -> Iterator[bytes]:
    """Yield the states after the first bytes of data, for ascending lengths."""
    at = 0
    for length in lengths:
        while at + BLOCK_BYTES <= length:
            x = product(op, xor(x, data[at : at + BLOCK_BYTES]), h)
            at += BLOCK_BYTES
        rest = data[at:length]
        yield product(op, xor(x, rest.ljust(BLOCK_BYTES, b"\0")), h) if rest else x


def table(cells: Sequence[Cell], order: Order, op: str, h: bytes) -> list[bytes]:
    """Return the cells of a subkey's table; b"" if nothing is stated."""
    H = element_from_block(h) if op == "ghash" else mul(element_from_block(byte_reverse(h)), X)
    powers = [H]
    for _ in range(max((cell.power for cell in cells), default=0)):
        powers.append(mul(powers[-1], H))
    return points.table(cells, [block_from_element(power) for power in powers], order, op)


@lru_cache(maxsize=16)
def _hashed(op: str, sizes: tuple[int, ...], seed: int) -> tuple[bytes, bytes, bytes, list[bytes]]:
    """Return a subkey, a state, a message and its hashes at these lengths."""
    rng = random.Random(SEED + seed)
    h, x, data = (rng.randbytes(n) for n in (BLOCK_BYTES, BLOCK_BYTES, sizes[-1]))
    return h, x, data, list(states(op, h, x, data, sizes))


def _near(asked: Hash, step: int) -> Sequence[int]:
    every = range(0, tail_bound(asked.blocks) + 1, step)
    if not asked.few:
        return every
    return sorted({*every[:: SELDOM + 1], *every[: 2 * BLOCK_BYTES + 2]})


def _updates(asked: Hash, own: Exported, sizes: Sequence[int]) -> Iterator[Trial]:
    h, x, data, right = _hashed(asked.op, tuple(sizes), asked.blocks)
    for length, after in zip(sizes, right, strict=True):
        given = {"x": x, "in": data[:length]}
        yield Trial(own.function.name, f"{length} bytes", h, given, [Part("x", after)])


def _columns(asked: Hash, own: Exported, sizes: Sequence[int]) -> Iterator[Trial]:
    """Yield messages in rows whose first column has these lengths."""
    garbage, columns = random.Random(SEED + 7), own.stride // BLOCK_BYTES
    for trial in _updates(asked, own, sizes):
        blocks = trial.given["in"]
        assert isinstance(blocks, bytes)
        given = {**trial.given, "in": spread(blocks, columns, garbage)}
        yield replace(trial, what=f"{trial.what} in rows of {columns} blocks", given=given)


def _step(own: Exported) -> int:
    """Return the unit of lengths in bytes; a column's lengths count its own blocks."""
    return BLOCK_BYTES if own.function.name == "column" else own.multiple


def _at(asked: Hash, own: Exported, sizes: Sequence[int]) -> Iterator[Trial]:
    """Yield the trials of update or column at these lengths."""
    make = _columns if own.function.name == "column" else _updates
    yield from on_both_sides(make(asked, own, sizes), asked.few)


def turned(asked: Hash, own: Exported) -> Iterator[Trial]:
    """Yield the trials of update or column at many turns of its loop."""
    sizes = lengths(asked.blocks, asked.few, multiple=_step(own))
    yield from _at(asked, own, sizes)


def _short(asked: Hash, own: Exported) -> Iterator[Trial]:
    """Yield the trials of update or column around two groups, then those of many turns."""
    yield from _at(asked, own, _near(asked, _step(own)))
    yield from turned(asked, own)


def _tables(asked: Hash, own: Exported) -> Iterator[Trial]:
    rng = random.Random(SEED + 5)
    for h in edge_blocks(rng, KEYS):
        held = table(asked.cells, asked.order, asked.op, h)
        cells = enumerate(zip(asked.cells, held, strict=True))
        parts = [Part(TABLE.name, b, BLOCK_BYTES * k) for k, (c, b) in cells if c.kind != FREE]
        yield Trial(INIT, f"subkey {h.hex()}", h, {"h": h}, parts)


def _products(asked: Hash, own: Exported) -> Iterator[Trial]:
    rng = random.Random(SEED + 1)
    for x in edge_blocks(rng, PRODUCTS):
        h = rng.randbytes(BLOCK_BYTES)
        yield Trial("mul", x.hex(), h, {"x": x}, [Part("x", product(asked.op, x, h))])


def _powers(asked: Hash, own: Exported) -> Iterator[Trial]:
    rng = random.Random(SEED + 6)
    exponents = [*EXPONENTS, *(rng.getrandbits(64) for _ in range(32))]
    for m in exponents[:: SELDOM if asked.few else 1]:
        h = rng.randbytes(BLOCK_BYTES)
        yield Trial("power", f"H^{m}", h, {"m": m}, [Part("y", power_of(h, m, asked.op))])


def _sums(asked: Hash, own: Exported) -> Iterator[Trial]:
    rng = random.Random(SEED + 8)
    for x in edge_blocks(rng, PRODUCTS):
        y, p = rng.choice((ZERO, rng.randbytes(16))), rng.choice((ZERO, rng.randbytes(16)))
        right = [Part("x", xor(product(asked.op, x, p), y))]
        yield Trial("combine", "any blocks", ZERO, {"x": x, "y": y, "p": p}, right)


SUITES: Mapping[str, Callable[[Hash, Exported], Iterator[Trial]]] = {
    "init": _tables,
    "mul": _products,
    "update": _short,
    "power": _powers,
    "combine": _sums,
    "column": _short,
}
"""(what it hashes with, the function) → its trials."""
