"""Verdicts on kernels, and how they are kept from one run to the next, in build/proofs.

A verdict is a function of the object's bytes, of the statement, and of what it rests on: the
prover's sources, and the versions of the packages that it reads bytes with and of Python. The file
is named by a hash of all of these, and sealed as a verdict on all of these
(`ghashgen.support.sealed`): one that does not have the seal that belongs to it is not read, and
what it was about is proved again.
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
from ghashgen.verify.engine.family import Statement
from ghashgen.verify.prove import FunctionProof

PACKAGE = Path(__file__).parent.parent

FILES = (
    "__init__.py",
    "algebra/__init__.py",
    "check/proofs.py",
    "check/verdicts.py",
    "support/__init__.py",
    "support/errors.py",
)
"""What a verdict rests on beside the folders: what the prover imports, what makes and keeps one."""

FOLDERS = ("algebra/field", "algebra/ops", "check/claims", "verify")

READERS = ("iced-x86", "capstone", "pyelftools")
"""The packages that read an object's bytes for the prover."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was found of one kernel: `verify.prove.Proof` as a file has it."""

    kernel: str
    code_sha256: str
    """Of the sections of the object, relocated, and of its symbols (`verify.prove.code_sha256`)."""
    proved: bool
    refutation: Mapping[str, Any] | None
    functions: tuple[FunctionProof, ...]
    seconds: float
    text_sha256: str
    """Of the object's code before relocation, as MANIFEST.json has it."""
    report: str = ""
    """The proof in words; not recorded."""


def sources() -> list[Path]:
    """Return the files of this package that a verdict rests on."""
    within = [path for name in FOLDERS for path in (PACKAGE / name).rglob("*") if path.is_file()]
    return sorted([*(PACKAGE / name for name in FILES), *(p for p in within if p.suffix != ".pyc")])


def sources_sha256() -> str:
    """Return the hash of these files and of their names."""
    digest = hashlib.sha256()
    for path in sources():
        data = path.read_bytes()
        digest.update(f"{path.relative_to(PACKAGE)} {len(data)}\n".encode())
        digest.update(data)
    return digest.hexdigest()


def versions() -> dict[str, str]:
    """Return the versions of what a verdict rests on outside this package."""
    return {
        **{name: version(name) for name in READERS},
        # LIBCAPSTONE_PATH can name another library than the package brings.
        "capstone library": ".".join(str(number) for number in capstone.cs_version()),
        "python": f"{platform.python_implementation()} {sys.version}",
        # With -O the prover's assertions are not there.
        "optimize": str(sys.flags.optimize),
    }


def foundation() -> str:
    """Return in one text what every verdict made now rests on."""
    return json.dumps({"sources": sources_sha256(), "versions": versions()}, sort_keys=True)


@dataclass(frozen=True)
class Store:
    """Verdicts in a folder, sealed."""

    folder: Path
    seal: Seal
    foundation: str

    def _about(self, obj: bytes, spec: Statement) -> str:
        return f"verdict on {sha256(obj)} as {spec!r} by {self.foundation}"

    def path(self, obj: bytes, spec: Statement) -> Path:
        """Return the file of the verdict on an object: its seal in one line, then JSON."""
        return self.folder / f"{sha256(self._about(obj, spec).encode())}.verdict"

    def find(self, obj: bytes, spec: Statement) -> Verdict | None:
        """Return the verdict that is kept; None if there is none, or none that can be believed."""
        try:
            seal, _, content = self.path(obj, spec).read_bytes().partition(b"\n")
        except OSError:
            return None
        # Nothing is parsed before it is known to be ours.
        if not self.seal.fits(seal, self._about(obj, spec), content):
            return None
        return msgspec.json.decode(content, type=Verdict)

    def keep(self, obj: bytes, spec: Statement, verdict: Verdict) -> None:
        """Keep a verdict, where there is a key to seal it with.

        Raises:
            GhashgenError: it cannot be written.
        """
        if self.seal.key:
            content = msgspec.json.encode(verdict)
            seal = self.seal.of(self._about(obj, spec), content)
            write_whole(self.path(obj, spec), seal + b"\n" + content)
