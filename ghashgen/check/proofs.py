"""Proves built kernels from their bytes, in parallel; `ghashgen.check.verdicts` caches the
verdicts.

`ghashgen.check.ledger` knows what is recorded and what must be proved.
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
    """Refuse kernels of an architecture that the prover does not read.

    Raises:
        GhashgenError: names the first of them.
    """
    for kernel in kernels:
        arch = kernel.instruction_set.arch
        if not arch.proved:
            raise GhashgenError(
                f"{kernel.name} is for {arch.title}, which the prover does not read",
                f"run it: ghashgen validate --isa {kernel.instruction_set.name}",
            )


def statement(kernel: Point, symbol: str, abi: str, table_align: int = 0) -> Any:
    """Return what a kernel claims, in its family's type of statement.

    `symbol` begins the names of its functions. Callers promise a table aligned to `table_align`
    bytes; 0 means what the instructions need.

    Raises:
        GhashgenError: the prover does not know the kernel's family or architecture, or has no
            statement for a function that it exports.
    """
    require_provable((kernel,))
    align = table_align or kernel.instruction_set.operand_align
    return claims_of(kernel.family).emitted(Emitted(kernel, symbol, abi, align))


@dataclass(frozen=True)
class Proved:
    """The verdicts on some kernels, in order, and where they come from."""

    verdicts: list[Verdict]
    reused: int
    """Number of verdicts from an earlier run."""
    disbelieved: tuple[str, ...]
    """Kernels whose cached verdict did not fit its seal."""
    unsealed: str
    """Why verdicts cannot be cached, or ""."""


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
            f"{proof.kernel} exports {', '.join(proof.unstated)}, which its statement lacks",
            "a kernel exports only functions that its family lists: correct `exports` there",
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
    # The worker stores it, so that an interrupt loses only unfinished proofs.
    store.keep(task.obj, task.spec, verdict)
    return verdict


def prove(
    kernels: Sequence[Built[Point]],
    folder: Path,
    on_done: Callable[[Built[Any]], None] = lambda built: None,
    fresh: bool = False,
) -> Proved:
    """Return the verdict on each kernel, proving in parallel what `folder` does not hold.

    `fresh` ignores the folder and proves all of them.
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
