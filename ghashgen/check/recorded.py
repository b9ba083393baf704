"""Proofs that PROOFS.json of this package records, taken for the same bytes instead of new ones.

A recorded proof counts for an object only if all of this holds; otherwise the object is proved:

- the record is the package's own, and has the hash of itself; of an installed package, also the
  hash in the list of files that its installer keeps;
- the statement to prove is the one that was recorded: the same kernel of the catalogue, functions,
  symbols, calling convention and table alignment;
- the object's sections, relocated, and its symbols have the recorded hash, and so has its code.
  Unwind tables and the labels that they need do not count: no proof reads them.
"""

from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any

from ghashgen.arch.objects import read_object
from ghashgen.arch.unwinding import is_label
from ghashgen.check import ledger, proofs
from ghashgen.check.verdicts import Verdict
from ghashgen.kernels.selection import catalogue
from ghashgen.kernels.target import Target, runnable
from ghashgen.run.built import Built
from ghashgen.support.errors import GhashgenError
from ghashgen.support.paths import GENERATED, in_clone, project_root
from ghashgen.verify.machine.image import Image, Kind
from ghashgen.verify.prove import code_sha256
from ghashgen.verify.x86_64.elf import load_image
from ghashgen.verify.x86_64.elf_kinds import UNWIND

_PACKAGE = "ghashgen"


@dataclass(frozen=True)
class Recorded:
    """The proofs that are on record."""

    verdicts: Mapping[str, Verdict]
    """By kernel."""
    sha256: str = ""
    """The hash of PROOFS.json."""
    why: str = ""
    """Why none of them counts, or ""."""


def recorded_target() -> Target:
    """Return the target whose kernels `ghashgen prove --write` records."""
    return runnable("sysv")


def read() -> Recorded:
    """Return the package's record; if it is not to be trusted, no proofs, and the reason."""
    path = project_root() / GENERATED / ledger.NAME
    try:
        verdicts = {verdict.kernel: verdict for verdict in ledger.load(path)}
        data = path.read_bytes()
    except (GhashgenError, OSError) as error:
        cause = error.cause if isinstance(error, GhashgenError) else f"{path}: {error.strerror}"
        return Recorded({}, "", cause)
    if not in_clone() and not _is_installed(path, data):
        return Recorded({}, "", f"{path} is not the file that was installed")
    return Recorded(verdicts, sha256(data).hexdigest())


def _is_installed(path: Path, data: bytes) -> bool:
    """Return whether the installer's list of files has this file, with the hash of these bytes."""
    try:
        listed = files(_PACKAGE) or ()
    except PackageNotFoundError:
        return False
    digest = urlsafe_b64encode(sha256(data).digest()).rstrip(b"=").decode()
    return any(
        file.hash is not None
        and (file.hash.mode, file.hash.value) == ("sha256", digest)
        and Path(str(file.locate())).resolve() == path.resolve()
        for file in listed
        if file.name == path.name
    )


def covering(record: Recorded, built: Built[Any]) -> Verdict | None:
    """Return the recorded proof of an object, or None if there is none of exactly this object."""
    kernel, verdict = built.kernel, record.verdicts.get(built.kernel.name)
    if verdict is None or not verdict.proved or kernel not in catalogue():
        return None
    where = recorded_target()
    claimed = proofs.statement(
        kernel, where.symbol(kernel.name), where.abi.name, where.table_align_of(kernel)
    )
    if claimed != proofs.statement(kernel, built.symbol, built.abi, built.table_align):
        return None
    stated = [(each.symbol, each.operation) for each in claimed.functions]
    if stated != [(each.symbol, each.operation) for each in verdict.functions]:
        return None
    data = built.obj.read_bytes()
    code = sha256(read_object(data).code).hexdigest()
    same = (code_sha256(_without_unwinding(load_image(data))), code) == (
        verdict.code_sha256,
        verdict.text_sha256,
    )
    return verdict if same else None


def _without_unwinding(image: Image) -> Image:
    """Return an object's image without unwind tables and without the labels that they need."""
    gone = [each for each in image.sections if (each.name, each.kind) == (UNWIND, Kind.UNUSED)]
    kept = {
        name: at
        for name, at in image.symbols.items()
        if name in image.exported
        or not (is_label(name) or any(0 <= at - s.address <= len(s.data) for s in gone))
    }
    sections = tuple(section for section in image.sections if section not in gone)
    return replace(image, sections=sections, symbols=kept)
