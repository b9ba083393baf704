"""Lists the theorems, and proves them in several processes."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from fnmatch import fnmatchcase
from functools import cache, partial
from multiprocessing import get_context

from ghashgen.algebra.identities import bridges, constants, horner, products, tables
from ghashgen.algebra.identities.core import IdentityFailure, Proof, Theorem
from ghashgen.algebra.schemes.aggregate import MAX_BLOCKS
from ghashgen.support.errors import GhashgenError

WORKERS = 2


def theorems(max_blocks: int = MAX_BLOCKS) -> tuple[Theorem, ...]:
    """Return every theorem in listing order; names are unique.

    Theorems about groups of blocks cover 1 … `max_blocks` blocks.
    """
    return (
        *bridges.theorems(),
        *constants.theorems(),
        *tables.theorems(),
        *horner.theorems(max_blocks),
        *products.theorems(max_blocks),
    )


def selected(pattern: str | None, max_blocks: int = MAX_BLOCKS) -> tuple[Theorem, ...]:
    """Return the theorems whose name matches a shell pattern or begins with it; None gives all.

    Raises GhashgenError if there are none.
    """
    every = theorems(max_blocks)
    if pattern is None:
        return every
    found = tuple(t for t in every if fnmatchcase(t.name, pattern) or t.name.startswith(pattern))
    if not found:
        families = sorted({theorem.name.split("-")[0] for theorem in every})
        raise GhashgenError(
            f"no theorem's name matches {pattern!r}", f"names begin with {', '.join(families)}"
        )
    return found


def prove(theorem: Theorem) -> Proof:
    """Prove one theorem; a Proof of a failed claim says why it failed.

    A scheme that raises, by DegreeError or an error of its author, is not proved either.
    """
    start = time.perf_counter()
    try:
        detail, ok = str(theorem.prove(0)), True
    except IdentityFailure as failure:
        detail, ok = str(failure), False
    except Exception as failure:
        detail, ok = f"{type(failure).__name__}: {failure}", False
    seconds = time.perf_counter() - start
    return Proof(theorem.name, theorem.statement, theorem.covers, seconds, ok, detail)


@cache
def _by_name(max_blocks: int) -> dict[str, Theorem]:
    return {theorem.name: theorem for theorem in theorems(max_blocks)}


def _prove_named(max_blocks: int, name: str) -> Proof:
    """Prove in a worker process, which rebuilds the list because theorems hold functions."""
    return prove(_by_name(max_blocks)[name])


def prove_all(
    pattern: str | None = None,
    progress: Callable[[Proof], None] | None = None,
    workers: int = WORKERS,
    max_blocks: int = MAX_BLOCKS,
) -> list[Proof]:
    """Prove the theorems that `pattern` selects, and return the proofs in their order.

    `progress` is called with each proof, in that order. With several workers, each is a new process
    that imports ghashgen; with one, everything runs in this process.

    Raises GhashgenError if no theorem is selected.
    """
    chosen = selected(pattern, max_blocks)
    proofs = []
    for proof in _proofs(chosen, min(workers, len(chosen)), max_blocks):
        proofs.append(proof)
        if progress is not None:
            progress(proof)
    return proofs


def _proofs(chosen: tuple[Theorem, ...], workers: int, max_blocks: int) -> Iterator[Proof]:
    if workers <= 1:
        yield from map(prove, chosen)
        return
    # A spawned process starts clean; a fork of a process with threads may inherit a held lock.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        names = [theorem.name for theorem in chosen]
        yield from pool.map(partial(_prove_named, max_blocks), names)
