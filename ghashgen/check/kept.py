"""Certificates that are kept in build/certificates: one document for each kernel and convention.

`ghashgen prove` writes them, and `ghashgen prove --check` reads them. They need no seal: the rules
decide about them, whoever wrote them.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
        return self.folder / built.abi / f"{built.symbol}.json"

    def read(self, built: Built[Any]) -> Mapping[str, object]:
        """Return a kernel's certificates by their names.

        Raises:
            GhashgenError: there is no such document.
        """
        return read(self.path(built), f"run ghashgen prove --name {built.kernel.name}")

    def keep(self, built: Built[Any], certificates: Mapping[str, object]) -> None:
        """Write a kernel's certificates.

        Raises:
            GhashgenError: they cannot be written.
        """
        write_whole(self.path(built), text_of(certificates))


def read(path: Path, remedy: str) -> Mapping[str, object]:
    """Return the certificates of a document by their names.

    Raises:
        GhashgenError: there is no such document.
    """
    try:
        return by_name(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, RecursionError, Refutation) as error:
        what = error.strerror if isinstance(error, OSError) else error
        raise GhashgenError(f"{path} has no certificates: {what}", remedy) from None
