"""Random points for an object that this project did not emit, given its statement.

A few lines of C put the arguments in the object's order. Its statement does not say how it groups
blocks: `STRUCTURES` are tried at a few points, and the one that agrees is run at all points. This
choice needs no trust: every structure is GHASH if H_i = H^i, so agreeing with any of them at
independent powers is enough.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from queue import Queue

from ghashgen.check.sampled import runs
from ghashgen.check.sampled.points import Structure
from ghashgen.check.sampled.subject import BITS, SEED, Plan, Sampled, Subject, plan
from ghashgen.kernels.hash.family import FAMILY
from ghashgen.run.emulate import Emulator
from ghashgen.run.emulate.needed import needed
from ghashgen.run.harness import Harness, build
from ghashgen.run.table import HarnessKernel
from ghashgen.support.errors import GhashgenError
from ghashgen.support.programs import digest
from ghashgen.support.toolchain import compile_c, find_cc, link

_TRIAL_BITS = 8
"""Strength of a trial: enough that a structure that does not fit disagrees."""

_LANES = (1, 2, 4)


def structures(blocks: int) -> Iterator[Structure]:
    """Yield the structures to try for an object with this many blocks in a turn of its loop."""
    halves = tuple(1 << k for k in range(blocks.bit_length() - 1, -1, -1) if 1 << k < blocks)
    rests: list[tuple[int, ...]] = [(), (1,), halves]
    for rest in dict.fromkeys(rests):
        yield Structure(blocks, 1, rest)
    for lanes in _LANES[1:]:
        if blocks % lanes == 0:
            yield Structure(blocks, lanes)


def _shim(subject: Subject, name: str) -> str:
    """Return C that gives an object's functions the harness's interface."""
    convention = "__attribute__((ms_abi)) " if subject.abi == "win64" else ""
    lines = ["#include <stddef.h>", "#include <stdint.h>", ""]
    for operation, function in subject.functions.items():
        ours = FAMILY.functions()[operation]
        if not re.fullmatch(r"[A-Za-z_]\w*", function.symbol):
            raise GhashgenError(f"{function.symbol!r} is not a symbol that C can name", "rename it")
        by_role = {param.role: param for param in ours.params}
        theirs = [by_role[role] for role in function.parameters]
        given = ", ".join(param.declaration for param in theirs)
        values = ", ".join(
            f"{param.name} / {function.unit}" if param.role == "length" else param.name
            for param in theirs
        )
        lines += [
            f"extern {convention}void {function.symbol}({given});",
            f"{ours.prototype(f'{name}_{operation}')}",
            "{",
            f"    {function.symbol}({values});",
            "}",
            "",
        ]
    return "\n".join(lines)


def _harness(subject: Subject, name: str, table_align: int, folder: Path) -> Harness:
    """Return a harness with the object under our own name."""
    cc = find_cc()
    folder.mkdir(parents=True, exist_ok=True)
    text = _shim(subject, name)
    stem = folder / f"shim-{digest([text], [subject.obj.read_bytes()])}"
    source, shim, joined = (stem.with_suffix(suffix) for suffix in (".c", ".shim.o", ".o"))
    source.write_text(text, encoding="utf-8")
    compile_c(cc, source, shim, flags=("-std=gnu11", "-O2", "-fPIE"), include=())
    link(cc, [shim, subject.obj], joined, flags=("-r", "-nostdlib"))
    kernel = HarnessKernel.of_stranger(
        name,
        joined,
        needed(subject.obj),
        abi="sysv",
        blocks=subject.structure.blocks,
        table_bytes=max(subject.table_bytes, 1),
        table_align=min(table_align, 2048),
        op=subject.op,
        functions=tuple(subject.functions),
    )
    return build([kernel], folder)


def run(
    subject: Subject,
    table_align: int,
    folder: Path,
    groups: Sequence[int] = (),
    emulate: bool = False,
    seed: str = SEED,
) -> tuple[Sampled, Structure]:
    """Run those of update, mul and combine that the object has at random points.

    `groups` are its group sizes in blocks, the largest first; by default `structures` are tried.
    Return the result and the structure found.

    Raises:
        GhashgenError: the code has no known degree (see `degrees`), no structure fits, or the
        object
            cannot be linked.
    """
    if not subject.functions:
        raise GhashgenError("none of update, mul and combine is stated", "nothing can be run")
    subject = replace(subject, name="stranger_" + re.sub(r"\W", "_", subject.name))
    tried = [Structure(groups[0], 1, tuple(groups[1:]))] if groups else None
    candidates = tried or list(structures(subject.structure.blocks))
    harness = _harness(subject, subject.name, table_align, folder)
    with ExitStack() as stack:
        free: Queue[Emulator] | None = None
        present = harness.features()
        if emulate or not all(present[name] for name in needed(subject.obj)):
            free = Queue()
            free.put(stack.enter_context(Emulator()))

        def attempt(fitted: Subject, degrees: Plan, trial: bool) -> Sampled:
            if free is not None:
                count = (lambda degree: 1) if trial else None
                return runs.emulated(harness, free, fitted, degrees, seed, count)
            bits = _TRIAL_BITS if trial else BITS
            return runs.natively(harness, [fitted], [degrees], seed, bits)[0]

        wrong: list[str] = []
        for structure in candidates:
            fitted = replace(subject, structure=structure)
            degrees = plan(fitted)
            trial = attempt(fitted, degrees, trial=True)
            if trial.ok:
                return attempt(fitted, degrees, trial=False), structure
            wrong.append(f"{structure.text}: {trial.failures[0]}")
    raise GhashgenError(
        "at random points with independent powers it agrees with none of the structures known "
        f"here; {'; '.join(wrong)}",
        "do not use it, or state its groups: --groups 8,4,1",
    )
