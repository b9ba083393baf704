"""Columns of a message in rows: cases for kernels that export column.

A case of update whose chunks are whole blocks is also a case of column: its blocks become the first
of each row, followed by garbage that must not count. The expected state is the case's, from pyca.
"""

import random
from collections.abc import Iterable, Iterator, Sequence

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.check.validation.cases import SEED, Case
from ghashgen.check.validation.runners import Runner
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.run.built import Built


def spread(blocks: bytes, columns: int, garbage: random.Random) -> bytes:
    """Return whole rows of `columns` blocks, with these blocks as the first column."""
    rows = (blocks[at : at + BLOCK_BYTES] for at in range(0, len(blocks), BLOCK_BYTES))
    between = BLOCK_BYTES * (columns - 1)
    return b"".join(block + garbage.randbytes(between) for block in rows)


def rows(cases: Iterable[Case], columns: int) -> Iterator[tuple[Case, tuple[bytes, ...]]]:
    """Yield the cases of whole blocks, each with its chunks in rows."""
    garbage = random.Random(SEED + 7)
    for case in cases:
        if all(len(chunk) % BLOCK_BYTES == 0 for chunk in case.vector.chunks):
            yield case, tuple(spread(chunk, columns, garbage) for chunk in case.vector.chunks)


def faults(
    runner: Runner, built: Built[Kernel], cases: Sequence[tuple[Case, tuple[bytes, ...]]]
) -> Iterator[str]:
    """Hash the first column of messages in rows, chunk by chunk; yield what is wrong."""
    keys = list(dict.fromkeys(case.vector.h for case, _ in cases))
    filled = runner.calls(built, "init", [{"h": h} for h in keys])
    tables = {h: answer["table"] for h, answer in zip(keys, filled, strict=True)}
    states = [case.vector.x for case, _ in cases]
    for turn in range(max(len(chunks) for _, chunks in cases)):
        active = [i for i, (_, chunks) in enumerate(cases) if turn < len(chunks)]
        answers = runner.calls(
            built,
            "column",
            [
                {"table": tables[cases[i][0].vector.h], "x": states[i], "in": cases[i][1][turn]}
                for i in active
            ],
        )
        for i, answer in zip(active, answers, strict=True):
            states[i] = answer["x"]
    for (case, _), state in zip(cases, states, strict=True):
        if not case.accepts(state):
            yield f"column of {case.what}: got {state.hex()}, expected {case.expected.hex()}"
