"""Plants faults in the bytes of kernels and asks the proof about each: the checker, checked.

A mutant that is refuted at a few telling lengths needs no more. One that is not is proved at every
length; if it passes, it is right for every input and so equivalent: a survivor, to be listed.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.check.proofs import statement
from ghashgen.run.built import Built
from ghashgen.support.parallel import run
from ghashgen.verify.hash.spec import FunctionSpec, KernelSpec
from ghashgen.verify.mutants import Mutant, mutants
from ghashgen.verify.prove import prove_image
from ghashgen.verify.x86_64.elf import Image, load_image

KERNELS = (
    *("ghash_sse_winograd_clmul1_x4", "ghash_sse_k_clmul1_x2", "ghash_sse_karatsuba_clmul2_x2"),
    *("ghash_avx_winograd_clmul1_x4", "ghash_avx_k_clmul1_x2", "ghash_avx_schoolbook_clmul3_x2"),
    *("ghash_avx_karatsuba_shiftxor_x2", "ghash_avx_winograd_clmul1_x8_stackswap"),
    *("ghash_avx2_winograd_clmul1_x4", "ghash_avx2_k_clmul1_x4_natural"),
    *("ghash_avx512_winograd_clmul1_x4", "ghash_avx512_k_clmul1_x8_natural"),
    *("ghash_avx512vl_winograd_clmul1_x2", "ghash_avx512vl_k_clmul1_x2"),
    *("ghash_avx_k_clmul1_x8_ahead", "polyval_avx_k_clmul1_x8"),
    "ghash_avx_winograd_clmul1_x16_wipe",
)
"""Kernels of every ISA, scheme, order and kind."""


@dataclass(frozen=True)
class Fate:
    """What became of one mutant."""

    kernel: str
    function: str
    kind: str
    change: str
    verdict: str
    """The category of the refutation, or "equivalent"."""


def telling_lengths(blocks: int) -> list[int]:
    """Return lengths in bytes on both sides of every boundary of the control flow."""
    group = blocks * BLOCK_BYTES
    around = (0, BLOCK_BYTES, group, group + BLOCK_BYTES, 2 * group)
    lengths = {base + extra for base in around for extra in (0, 3, 7, 13)}
    return sorted(lengths | {max(0, base - 1) for base in around})


def _verdict(image: Image, spec: KernelSpec, function: FunctionSpec) -> str:
    one = replace(spec, functions=(function,))
    if function.operation == "update":
        refutation = prove_image(image, one, telling_lengths(spec.blocks)).refutation
        if refutation is not None:
            return str(refutation.category)
    refutation = prove_image(image, one).refutation
    return "equivalent" if refutation is None else str(refutation.category)


def _planted(built: Built) -> list[tuple[KernelSpec, FunctionSpec, Mutant]]:
    """Return every mutant of one kernel."""
    spec = statement(built.kernel, built.kernel.name, built.abi, built.table_align)
    image = load_image(built.obj)
    return [
        (spec, function, mutant)
        for function in spec.functions
        for mutant in mutants(image, function.symbol)
    ]


def _places(built: Built) -> int:
    return len(_planted(built))


def shares(wanted: int, places: Sequence[int]) -> list[int]:
    """Return how many mutants each kernel gets: as evenly as their places allow, `wanted` in all.

    Fewer only if there are fewer places.
    """
    given = [0] * len(places)
    left = min(wanted, sum(places))
    while left:
        free = [at for at, room in enumerate(places) if given[at] < room]
        each = max(1, left // len(free))
        for at in free:
            more = min(each, places[at] - given[at], left)
            given[at] += more
            left -= more
    return given


def _fates(job: tuple[Built, int]) -> list[Fate]:
    """Return the fates of so many mutants of one kernel, spread evenly over its code."""
    built, wanted = job
    made = _planted(built) if wanted else []
    return [
        Fate(
            built.kernel.name,
            function.operation,
            mutant.kind,
            mutant.change,
            _verdict(mutant.image, spec, function),
        )
        for spec, function, mutant in (made[at * len(made) // wanted] for at in range(wanted))
    ]


def mutate(
    kernels: Sequence[Built], wanted: int, on_done: Callable[[Built], None]
) -> tuple[list[Fate], float]:
    """Return the fates of `wanted` mutants, of fewer if there are fewer, and the seconds taken."""
    start = time.perf_counter()
    jobs = list(zip(kernels, shares(wanted, run(_places, kernels, spread=True)), strict=True))
    found = run(_fates, jobs, lambda job: on_done(job[0]), spread=True)
    return [fate for fates in found for fate in fates], time.perf_counter() - start
