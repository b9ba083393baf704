"""What emitted files depend on, as one hash: whether this version would emit the same."""

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
    "support",
    "algebra",
    "ir",
    "arch",
    "kernels",
    "cost",
    "compiler",
    "records",
    "choice",
    "output",
)
"""The rooms that an emitted file may depend on: this one and those below it."""

LICENCE = "LICENSE"


@dataclass(frozen=True)
class Maker:
    """A version of this program, exactly enough to tell that it makes the same."""

    version: str
    sources: str
    """SHA-256 of all that emitted files depend on."""
    prover: str
    """SHA-256 of all that a proof depends on in this package."""


def _files() -> Iterator[tuple[str, Path]]:
    """Yield a name, alike in a clone and installed, and the file."""
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
    """Return the hash of what emitted files depend on, and of their names."""
    digest = hashlib.sha256()
    for name, path in sorted(_files()):
        data = path.read_bytes()
        digest.update(f"{name} {len(data)}\n".encode())
        digest.update(data)
    return digest.hexdigest()


def maker(prover: str) -> Maker:
    """Return this version; `prover` is the hash of what its proofs depend on."""
    return Maker(__version__, sources_sha256(), prover)
