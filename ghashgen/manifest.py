"""MANIFEST.json: the machine-readable contract of an output folder."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ghashgen import __version__
from ghashgen.errors import GhashgenError

NAME = "MANIFEST.json"
SCHEMA = 1

Entry = dict[str, Any]


def dump(entries: Iterable[Entry]) -> str:
    """Return the manifest's text, entries sorted by name."""
    body = {
        "schema": SCHEMA,
        "generator": f"ghashgen {__version__}",
        "licence": "MIT OR CC0-1.0",
        "kernels": sorted(entries, key=lambda entry: str(entry["name"])),
    }
    return json.dumps(body, indent=1, ensure_ascii=False) + "\n"


def load(folder: Path) -> dict[str, Entry]:
    """Return the entries of a folder's manifest by name; empty if it has none.

    Raises:
        GhashgenError: the manifest cannot be read.
    """
    path = folder / NAME
    if not path.exists():
        return {}
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
        if body["schema"] != SCHEMA:
            raise GhashgenError(
                f"{path} has schema {body['schema']}, this version writes {SCHEMA}",
                "regenerate into an empty folder",
            )
        return {entry["name"]: entry for entry in body["kernels"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise GhashgenError(
            f"{path} is not a manifest: {error}", "restore it, or delete the folder and regenerate"
        ) from None


def comparable(text: str) -> Any:
    """Return a manifest's content without the assembler's version.

    Another nasm may emit the same bytes: their hash decides, not the version that made them.
    """
    body = json.loads(text)
    for entry in body["kernels"]:
        entry["object"].pop("assembler")
    return body
