"""Proves built kernels from their bytes, in parallel, and keeps the verdicts.

A verdict is kept under build/proofs by the hash of the object's bytes, of the statement and of
every source that the verdict rests on, so that only what changed is proved anew. What is recorded,
and what must be proved, is the business of `ghashgen.ledger`.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from ghashgen.artefact import sha256
from ghashgen.built import Built
from ghashgen.field.bitorder import Order
from ghashgen.files import write_whole
from ghashgen.kernel import Kernel
from ghashgen.ledger import Verdict
from ghashgen.objects import read_object
from ghashgen.parallel import run
from ghashgen.verify.prove import prove_object, sources_sha256
from ghashgen.verify.spec import OPERATIONS, FunctionSpec, KernelSpec, parse_cell


def statement(kernel: Kernel, symbol: str, abi: str, table_align: int = 0) -> KernelSpec:
    """Return what a kernel claims to be.

    `symbol` begins the names of its functions; callers promise a table aligned to `table_align`
    bytes, 0 standing for what the instructions need.
    """
    return KernelSpec(
        name=kernel.name,
        abi=abi,
        order=Order(kernel.order),
        blocks=kernel.blocks,
        cells=tuple(parse_cell(text) for text in kernel.layout.cells),
        table_bytes=kernel.table_bytes,
        functions=tuple(
            FunctionSpec(operation, f"{symbol}_{operation}", parameters)
            for operation, parameters in OPERATIONS.items()
            if operation not in ("power", "combine") or kernel.segments
        ),
        table_align=table_align or kernel.set.operand_align,
        wipe=kernel.wipe,
        op=kernel.op,
    )


def _key(obj: bytes, spec: KernelSpec, sources: str) -> str:
    digest = hashlib.sha256(f"{sources} {spec!r} ".encode())
    digest.update(obj)
    return digest.hexdigest()


def _prove(folder: Path, sources: str, prefix: str, built: Built) -> Verdict:
    spec = statement(built.kernel, prefix + built.kernel.name, built.abi, built.table_align)
    obj = built.obj.read_bytes()
    return {**_verdict(folder, sources, obj, spec), "text_sha256": sha256(read_object(obj).code)}


def _verdict(folder: Path, sources: str, obj: bytes, spec: KernelSpec) -> Verdict:
    kept = folder / f"{_key(obj, spec, sources)}.json"
    if kept.exists():
        verdict: Verdict = json.loads(kept.read_text(encoding="utf-8"))
        return verdict
    proof = prove_object(obj, spec)
    verdict = {**proof.as_data(), "report": proof.report()}
    write_whole(kept, json.dumps(verdict))
    return verdict


def prove(
    kernels: Sequence[Built],
    folder: Path,
    prefix: str = "",
    on_done: Callable[[Built], None] = lambda built: None,
) -> list[Verdict]:
    """Return the verdict on each kernel, proving in parallel what `folder` does not hold."""
    return run(partial(_prove, folder, sources_sha256(), prefix), kernels, on_done, spread=True)
