"""Hashes everything that emitted files depend on, to tell whether this version would emit the
same.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ghashgen import __version__
from ghashgen.arch.registry import arches
from ghashgen.support.paths import project_root

PACKAGE = Path(__file__).parent.parent

ROOMS = (
    "support", "algebra", "ir", "arch", "kernels", "cost", "compiler", "records", "choice",
    "output",
)  # fmt: skip
"""The packages that an emitted file may depend on: `output` and those below it."""

LICENCE = "LICENSE"


@dataclass(frozen=True)
class Maker:
    """A version of this program, exact enough to tell whether it makes the same files."""

    version: str
    sources: str
    """SHA-256 of everything that emitted files depend on."""
    prover: str
    """SHA-256 of everything in this package that a proof depends on."""


def _files() -> Iterator[tuple[str, Path]]:
    """Yield each file and a name that is the same in a clone and installed."""
    for room in ROOMS:
        for path in (PACKAGE / room).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path.relative_to(PACKAGE).as_posix(), path
    root = project_root()
    beside = [*(root / "templates").rglob("*.j2"), *(root / "docs" / "bench").rglob("*.json")]
    able = [arch for arch in arches().values() if arch.detection]
    detection = [root / "harness" / arch.name / arch.detection for arch in able]
    for path in (*beside, *detection, root / LICENCE):
        yield f"/{path.relative_to(root).as_posix()}", path


@cache
def sources_sha256() -> str:
    """Return the hash of the files that emitted files depend on, with their names."""
    digest = hashlib.sha256()
    for name, path in sorted(_files()):
        data = path.read_bytes()
        digest.update(f"{name} {len(data)}\n".encode())
        digest.update(data)
    return digest.hexdigest()


def maker(prover: str) -> Maker:
    """Return this version; `prover` is the hash of what its proofs depend on."""
    return Maker(__version__, sources_sha256(), prover)
