"""Columns of a message in rows: cases for kernels that export column.

A case of update whose chunks are whole blocks is one of column, too: its blocks become the first of
rows, and what stands between is garbage that must not count. The state is that of the case, pyca's.
"""

import random
from collections.abc import Iterable, Iterator

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.check.validation.cases import SEED, Case


def spread(blocks: bytes, columns: int, garbage: random.Random) -> bytes:
    """Return whole rows of so many blocks, of which these blocks are the first column."""
    rows = (blocks[at : at + BLOCK_BYTES] for at in range(0, len(blocks), BLOCK_BYTES))
    between = BLOCK_BYTES * (columns - 1)
    return b"".join(block + garbage.randbytes(between) for block in rows)


def rows(cases: Iterable[Case], columns: int) -> Iterator[tuple[Case, tuple[bytes, ...]]]:
    """Yield the cases of whole blocks, each with its chunks in rows."""
    garbage = random.Random(SEED + 7)
    for case in cases:
        if all(len(chunk) % BLOCK_BYTES == 0 for chunk in case.vector.chunks):
            yield case, tuple(spread(chunk, columns, garbage) for chunk in case.vector.chunks)
