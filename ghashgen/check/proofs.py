"""Proves built kernels from their bytes, in parallel; `ghashgen.check.verdicts` keeps the verdicts.

What is recorded, and what must be proved, is the business of `ghashgen.check.ledger`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ghashgen.arch.objects import read_object
from ghashgen.check.claims.core import Emitted
from ghashgen.check.claims.registry import claims_of
from ghashgen.check.verdicts import Store, Verdict, foundation
from ghashgen.kernels.core import Point
from ghashgen.output.artefact import sha256
from ghashgen.run.built import Built
from ghashgen.support.errors import GhashgenError
from ghashgen.support.parallel import run
from ghashgen.support.sealed import user_seal
from ghashgen.verify.engine.family import Statement
from ghashgen.verify.hash.difference import explain
from ghashgen.verify.prove import prove_object


def require_provable(kernels: Iterable[Point]) -> None:
    """Refuse kernels of an architecture whose bytes the prover does not read.

    Raises:
        GhashgenError: names the first of them.
    """
    for kernel in kernels:
        arch = kernel.instruction_set.arch
        if not arch.proved:
            raise GhashgenError(
                f"{kernel.name} is for {arch.title}, whose bytes are not proved",
                f"run it: ghashgen validate --isa {kernel.instruction_set.name}",
            )


def statement(kernel: Point, symbol: str, abi: str, table_align: int = 0) -> Any:
    """Return what a kernel claims to be, of the type that its family has for it.

    `symbol` begins the names of its functions; callers promise a table aligned to `table_align`
    bytes, 0 standing for what the instructions need.

    Raises:
        GhashgenError: it exports a function that the prover has no statement for, or the prover
            does not know its family, or does not read the bytes of its architecture.
    """
    require_provable((kernel,))
    align = table_align or kernel.instruction_set.operand_align
    return claims_of(kernel.family).emitted(Emitted(kernel, symbol, abi, align))


@dataclass(frozen=True)
class Proved:
    """The verdicts on some kernels, in their order, and where they are from."""

    verdicts: list[Verdict]
    reused: int
    """How many were kept by an earlier run."""
    disbelieved: tuple[str, ...]
    """Kernels of which a verdict was kept that had not the seal that belongs to it."""
    unsealed: str
    """Why no verdict can be kept, if none can."""


@dataclass(frozen=True)
class _Task:
    built: Built[Point]
    obj: bytes
    spec: Statement


def _task(built: Built[Point]) -> _Task:
    spec = statement(built.kernel, built.symbol, built.abi, built.table_align)
    return _Task(built, built.obj.read_bytes(), spec)


def _prove(store: Store, task: _Task) -> Verdict:
    proof = prove_object(task.obj, task.spec)
    if proof.unstated:
        raise GhashgenError(
            f"{proof.kernel} exports {', '.join(proof.unstated)}, of which nothing is stated",
            "a function of a kernel is one that its family lists: mend `exports` there",
        )
    explain(proof.refutation)
    verdict = Verdict(
        kernel=proof.kernel,
        code_sha256=proof.code_sha256,
        proved=proof.proved,
        refutation=None if proof.refutation is None else proof.refutation.as_data(),
        functions=proof.functions,
        seconds=proof.seconds,
        text_sha256=sha256(read_object(task.obj).code),
        report=proof.report(),
    )
    # By the worker, so that an interrupt loses only what is not proved yet.
    store.keep(task.obj, task.spec, verdict)
    return verdict


def prove(
    kernels: Sequence[Built[Point]],
    folder: Path,
    on_done: Callable[[Built[Any]], None] = lambda built: None,
    fresh: bool = False,
) -> Proved:
    """Return the verdict on each kernel, proving in parallel what `folder` does not hold.

    `fresh` proves all of them, whatever it holds.
    """
    store = Store(folder, user_seal(), foundation())
    tasks = [_task(built) for built in kernels]
    found = [None if fresh else store.find(task.obj, task.spec) for task in tasks]
    todo = []
    disbelieved = []
    for task, verdict in zip(tasks, found, strict=True):
        if verdict is not None:
            on_done(task.built)
            continue
        todo.append(task)
        if store.seal.key and not fresh and store.path(task.obj, task.spec).exists():
            disbelieved.append(task.built.kernel.name)
    made = iter(run(partial(_prove, store), todo, lambda task: on_done(task.built), spread=True))
    verdicts = [next(made) if verdict is None else verdict for verdict in found]
    reused = len(tasks) - len(todo)
    return Proved(verdicts, reused, tuple(disbelieved), store.seal.why)
