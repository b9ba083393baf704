"""Certificates that are kept in build/certificates: one document for each code and convention.

It is filed by the hash of the code, and names functions as their kernel does: so any kernel of the
same code finds it, whatever its prefix. `ghashgen prove` writes it, `ghashgen prove --check` reads
it. It needs no seal: the rules decide about certificates, whoever wrote them.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ghashgen.arch.objects import read_object
from ghashgen.output.artefact import sha256
from ghashgen.run.built import Built
from ghashgen.support.errors import GhashgenError
from ghashgen.support.files import write_whole
from ghashgen.verify.checking import by_name
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.search.certified import text_of


@dataclass(frozen=True)
class Kept:
    """A folder of certificates."""

    folder: Path

    def path(self, built: Built[Any]) -> Path:
        """Return the document of a kernel's certificates."""
        code = sha256(read_object(built.obj.read_bytes()).code)
        return self.folder / built.abi / f"{code}.json"

    def read(self, built: Built[Any]) -> Mapping[str, object]:
        """Return a kernel's certificates by their names.

        Raises:
            GhashgenError: there is no such document.
        """
        found = read(self.path(built), f"run ghashgen prove --name {built.kernel.name}")
        return {built.exported[name].symbol: certificate for name, certificate in found.items()}

    def keep(self, built: Built[Any], certificates: Mapping[str, object]) -> None:
        """Write a kernel's certificates.

        Raises:
            GhashgenError: they cannot be written.
        """
        names = {own.symbol: name for name, own in built.exported.items()}
        named = {names[symbol]: certificate for symbol, certificate in certificates.items()}
        write_whole(self.path(built), text_of(named))


@dataclass(frozen=True)
class Shelf:
    """A folder of JSON by names, in which several processes put what they have."""

    folder: Path

    def get(self, name: str) -> Any:
        """Return the data of a name; None: there is none."""
        path = self.folder / f"{name}.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None

    def put(self, name: str, data: object) -> None:
        """Write the data of a name.

        Raises:
            GhashgenError: it cannot be written.
        """
        write_whole(self.folder / f"{name}.json", json.dumps(data))


def read(path: Path, remedy: str) -> Mapping[str, object]:
    """Return the certificates of a document by their names.

    Raises:
        GhashgenError: there is no such document, or a key occurs twice in it.
    """
    try:
        text = path.read_text(encoding="utf-8")
        return by_name(json.loads(text, object_pairs_hook=_without_repeats))
    except (OSError, ValueError, RecursionError, Refutation) as error:
        what = error.strerror if isinstance(error, OSError) else error
        raise GhashgenError(f"{path} has no certificates: {what}", remedy) from None


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len(found := dict(pairs)) < len(pairs):
        raise ValueError("a key occurs twice")
    return found
