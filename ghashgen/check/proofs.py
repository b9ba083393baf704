"""Proves built kernels from their bytes, in parallel; `ghashgen.check.verdicts` caches the
verdicts, and `ghashgen.check.kept` keeps the certificates.

`ghashgen.check.ledger` knows what is recorded and what must be proved.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ghashgen.arch.objects import read_object
from ghashgen.check.claims.core import Emitted
from ghashgen.check.claims.registry import claims_of
from ghashgen.check.kept import Kept, Shelf
from ghashgen.check.verdicts import Store, Verdict, foundation
from ghashgen.kernels.core import Point
from ghashgen.output.artefact import sha256
from ghashgen.run.built import Built
from ghashgen.support.errors import GhashgenError
from ghashgen.support.parallel import run
from ghashgen.support.sealed import user_seal
from ghashgen.verify.difference import explain
from ghashgen.verify.prove import prove_object
from ghashgen.verify.report import refutation_data, report
from ghashgen.verify.search.certified import Certified, Searching, names_of
from ghashgen.verify.statements.core import Statement, sizes_of


def require_provable(kernels: Iterable[Point]) -> None:
    """Refuse kernels of which the prover has no statement.

    Raises:
        GhashgenError: names the first of them.
    """
    for kernel in kernels:
        statement(kernel, kernel.name, kernel.instruction_set.arch.default_abi.name)


def statement(kernel: Point, symbol: str, abi: str, table_align: int = 0) -> Any:
    """Return what a kernel claims, in its family's type of statement.

    `symbol` begins the names of its functions. Callers promise a table aligned to `table_align`
    bytes; 0 means what the instructions need.

    Raises:
        GhashgenError: the prover does not know the kernel's family or architecture, or has no
            statement for a function that it exports.
    """
    arch = kernel.instruction_set.arch
    if not arch.proved:
        raise GhashgenError(
            f"{kernel.name} is for {arch.title}, which the prover does not read",
            f"run it: ghashgen validate --isa {kernel.instruction_set.name}",
        )
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


@dataclass(frozen=True)
class _Proving:
    """How kernels are proved: by kept certificates alone, or by searching what is not kept."""

    store: Store
    kept: Kept
    like: Shelf
    """What this run has found."""
    check: bool
    fresh: bool


def _prove(how: _Proving, task: _Task) -> Verdict:
    given: Mapping[str, object] = {}
    if names_of(task.spec) and not how.fresh:
        with nullcontext() if how.check else suppress(GhashgenError):
            given = how.kept.read(task.built)
    searching = Searching.NOWHERE if how.check else Searching.WHERE_REFUSED
    certified = Certified(given, searching, like=how.like)
    proof = prove_object(task.obj, task.spec, certified.search)
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
        refutation=refutation_data(proof.refutation),
        functions=proof.functions,
        seconds=proof.seconds,
        text_sha256=sha256(read_object(task.obj).code),
        report=report(proof),
    )
    # The worker stores it, so that an interrupt loses only unfinished proofs.
    if not how.check:
        if verdict.proved and certified.searched:
            how.kept.keep(task.built, certified.found)
        how.store.keep(task.obj, task.spec, verdict)
    return verdict


def prove(
    kernels: Sequence[Built[Point]],
    folder: Path,
    certificates: Path,
    on_done: Callable[[Built[Any]], None] = lambda built: None,
    fresh: bool = False,
    check: bool = False,
) -> Proved:
    """Return the verdict on each kernel, proving in parallel what `folder` does not hold.

    Certificates are kept in their own folder, and used again as long as they are accepted. `fresh`
    ignores both folders and proves all kernels. `check` ignores `folder`, and searches nothing.

    Raises:
        GhashgenError: `check`, and there are no certificates of a kernel; or what is proved cannot
            be kept.
    """
    store, kept = Store(folder, user_seal(), foundation()), Kept(certificates)
    tasks = [_task(built) for built in kernels]
    if check:
        _require_kept(kept, tasks)
    found = [None if fresh or check else store.find(task.obj, task.spec) for task in tasks]
    todo = []
    disbelieved = []
    for k, (task, verdict) in enumerate(zip(tasks, found, strict=True)):
        looked = verdict is None and store.seal.key and not (fresh or check)
        if looked and store.path(task.obj, task.spec).exists():
            disbelieved.append(task.built.kernel.name)
        if verdict is not None and (not verdict.proved or _has_certificates(kept, task)):
            on_done(task.built)
        else:
            todo.append(k)
    todo.sort(key=lambda k: _order(tasks[k]))
    with TemporaryDirectory() as like:
        work = partial(_prove, _Proving(store, kept, Shelf(Path(like)), check, fresh))
        left = [tasks[k] for k in todo]
        made = run(work, left, lambda task: on_done(task.built), spread=True)
    for k, verdict in zip(todo, made, strict=True):
        found[k] = verdict
    verdicts = [verdict for verdict in found if verdict is not None]
    reused = len(tasks) - len(todo)
    return Proved(verdicts, reused, tuple(disbelieved), store.seal.why)


def _order(task: _Task) -> tuple[int, int]:
    """Order tasks: late those like others, by a longer key or a wipe; else the longest first.

    Kernels for keys of every size are like no others, and take longest.
    """
    several = bool(sizes_of(task.spec))
    return 0 if several else task.built.key_bytes + task.spec.wipe, -len(task.obj)


def _has_certificates(kept: Kept, task: _Task) -> bool:
    return not names_of(task.spec) or kept.path(task.built).exists()


def _require_kept(kept: Kept, tasks: Iterable[_Task]) -> None:
    missing = [task.built.kernel.name for task in tasks if not _has_certificates(kept, task)]
    if missing:
        more = f" and {len(missing) - 1} more kernels" if missing[1:] else ""
        raise GhashgenError(
            f"{kept.folder} has no certificates of {missing[0]}{more}",
            "run ghashgen prove, which searches and keeps them",
        )
