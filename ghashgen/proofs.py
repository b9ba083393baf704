"""Proves built kernels from their bytes, in parallel, and keeps the verdicts.

A verdict is kept under build/proofs by the hash of the object's bytes, of the statement and of
every source that the verdict rests on, so that only what changed is proved anew. PROOFS.json beside
the kernels lists what was proved; `EXPECTED` is the hand-kept list of what must be.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ghashgen.built import Built
from ghashgen.errors import GhashgenError
from ghashgen.field.bitorder import Order
from ghashgen.files import write_whole
from ghashgen.kernel import Kernel
from ghashgen.parallel import run
from ghashgen.verify.prove import prove_object, sources_sha256
from ghashgen.verify.spec import OPERATIONS, FunctionSpec, KernelSpec, parse_cell

NAME = "PROOFS.json"
EXPECTED = Path("docs") / "expected-theorems.txt"

Verdict = dict[str, Any]


def statement(kernel: Kernel, symbol: str, abi: str) -> KernelSpec:
    """Return what a kernel claims to be; `symbol` begins the names of its functions."""
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
        table_align=kernel.table_align,
        wipe=kernel.wipe,
        op=kernel.op,
    )


def _key(obj: bytes, spec: KernelSpec, sources: str) -> str:
    digest = hashlib.sha256(f"{sources} {spec!r} ".encode())
    digest.update(obj)
    return digest.hexdigest()


def _prove(folder: Path, sources: str, prefix: str, built: Built) -> Verdict:
    spec = statement(built.kernel, prefix + built.kernel.name, built.abi)
    obj = built.obj.read_bytes()
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


def dump(verdicts: Iterable[Verdict]) -> str:
    """Return the text of PROOFS.json; seconds are those of the run that proved."""
    kept = [{k: v for k, v in verdict.items() if k != "report"} for verdict in verdicts]
    body = {"proofs": sorted(kept, key=lambda verdict: str(verdict["kernel"]))}
    return json.dumps(body, indent=1, ensure_ascii=False) + "\n"


def theorems(verdicts: Iterable[Verdict]) -> set[str]:
    """Return what was proved, one line a kernel, function and theorem."""
    return {
        f"{verdict['kernel']} {function['operation']} {theorem['what']}"
        for verdict in verdicts
        if verdict["proved"]
        for function in verdict["functions"]
        for theorem in function["theorems"]
    }


def expected(path: Path) -> set[str]:
    """Read the hand-kept list: `kernel: function function … = theorem theorem …` a line.

    Raises:
        GhashgenError: the file is missing or a line has no meaning.
    """
    out: set[str] = set()
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise GhashgenError(f"{path}: {error.strerror}", "restore it from the repository") from None
    for number, line in enumerate(lines, 1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        kernel, colon, rest = text.partition(":")
        functions, equals, whats = rest.partition("=")
        if not (colon and equals and functions.split() and whats.split()):
            raise GhashgenError(f"{path}:{number}: {line!r}", "write kernel: functions = theorems")
        out |= {f"{kernel} {f} {what}" for f in functions.split() for what in whats.split()}
    return out


def missing(verdicts: Sequence[Verdict], path: Path) -> list[str]:
    """Return the expected theorems about these kernels that were not proved, sorted."""
    names = {str(verdict["kernel"]) for verdict in verdicts}
    wanted = {line for line in expected(path) if line.split()[0] in names}
    return sorted(wanted - theorems(verdicts))


def unlisted(kernels: Iterable[str], path: Path) -> list[str]:
    """Return the kernels that the hand-kept list does not name, sorted."""
    return sorted(set(kernels) - {line.split()[0] for line in expected(path)})
