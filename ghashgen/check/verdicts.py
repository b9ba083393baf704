"""Verdicts on kernels, and their cache in build/proofs.

A verdict depends on the object's bytes, the statement, the prover's sources, and the versions of
Python and the packages that read bytes. A hash of all of these names the file, and it is sealed as
a verdict on all of these (`ghashgen.support.sealed`). A file without the right seal is not read,
and its kernel is proved again.
"""

import hashlib
import json
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import capstone
import msgspec

from ghashgen.output.artefact import sha256
from ghashgen.support.files import write_whole
from ghashgen.support.sealed import Seal
from ghashgen.verify.statements.core import Statement
from ghashgen.verify.theorems import FunctionProof

PACKAGE = Path(__file__).parent.parent

FILES = (
    "__init__.py", "algebra/__init__.py", "check/proofs.py", "check/verdicts.py",
    "support/__init__.py", "support/errors.py",
)  # fmt: skip
"""Files that a verdict rests on besides the folders: the prover's other imports, and what makes and
keeps verdicts.
"""

FOLDERS = ("algebra/field", "algebra/ops", "check/claims", "verify")

READERS = ("iced-x86", "capstone")
"""The packages that read an object's bytes for the prover."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result for one kernel: `verify.prove.Proof` as stored in a file."""

    kernel: str
    code_sha256: str
    """Hash of the object's sections, relocated, and its symbols (`verify.prove.code_sha256`)."""
    proved: bool
    refutation: Mapping[str, Any] | None
    functions: tuple[FunctionProof, ...]
    text_sha256: str
    """Hash of the object's code before relocation, as in MANIFEST.json."""
    seconds: float = 0.0
    report: str = ""
    """The proof in words; not recorded, and neither is what it took."""


def sources() -> list[Path]:
    """Return the files of this package that a verdict rests on."""
    within = [path for name in FOLDERS for path in (PACKAGE / name).rglob("*") if path.is_file()]
    return sorted([*(PACKAGE / name for name in FILES), *(p for p in within if p.suffix != ".pyc")])


def sources_sha256() -> str:
    """Return the hash of these files and their names."""
    digest = hashlib.sha256()
    for path in sources():
        data = path.read_bytes()
        digest.update(f"{path.relative_to(PACKAGE)} {len(data)}\n".encode())
        digest.update(data)
    return digest.hexdigest()


def versions() -> dict[str, str]:
    """Return the versions of everything outside this package that a verdict rests on."""
    return {
        **{name: version(name) for name in READERS},
        # LIBCAPSTONE_PATH can replace the package's own library.
        "capstone library": ".".join(str(number) for number in capstone.cs_version()),
        "python": f"{platform.python_implementation()} {sys.version}",
        # -O removes the prover's assertions.
        "optimize": str(sys.flags.optimize),
    }


def foundation() -> str:
    """Return in one text what every new verdict rests on."""
    return json.dumps({"sources": sources_sha256(), "versions": versions()}, sort_keys=True)


@dataclass(frozen=True)
class Store:
    """A folder of sealed verdicts."""

    folder: Path
    seal: Seal
    foundation: str

    def _about(self, obj: bytes, spec: Statement) -> str:
        return f"verdict on {sha256(obj)} as {spec!r} by {self.foundation}"

    def path(self, obj: bytes, spec: Statement) -> Path:
        """Return the file of the verdict on an object: its seal in one line, then JSON."""
        return self.folder / f"{sha256(self._about(obj, spec).encode())}.verdict"

    def find(self, obj: bytes, spec: Statement) -> Verdict | None:
        """Return the cached verdict, or None if there is none or its seal does not fit."""
        try:
            seal, _, content = self.path(obj, spec).read_bytes().partition(b"\n")
        except OSError:
            return None
        # Parse nothing before it is known to be ours.
        if not self.seal.fits(seal, self._about(obj, spec), content):
            return None
        return msgspec.json.decode(content, type=Verdict)

    def keep(self, obj: bytes, spec: Statement, verdict: Verdict) -> None:
        """Cache a verdict, if there is a key to seal it with.

        Raises:
            GhashgenError: it cannot be written.
        """
        if self.seal.key:
            content = msgspec.json.encode(verdict)
            seal = self.seal.of(self._about(obj, spec), content)
            write_whole(self.path(obj, spec), seal + b"\n" + content)
