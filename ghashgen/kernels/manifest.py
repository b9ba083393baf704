"""MANIFEST.json: the machine-readable contract of an output folder."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ghashgen import __version__
from ghashgen.support.errors import GhashgenError

NAME = "MANIFEST.json"
SCHEMA = 1

Entry = dict[str, Any]


def dump(entries: Iterable[Entry], companions: Mapping[str, str]) -> str:
    """Return the manifest's text, entries sorted by name.

    `companions` are the files that are no kernels, with their SHA-256.
    """
    body = {
        "schema": SCHEMA,
        "generator": f"ghashgen {__version__}",
        "licence": "MIT OR CC0-1.0",
        "companions": dict(sorted(companions.items())),
        "kernels": sorted(entries, key=lambda entry: str(entry["name"])),
    }
    return json.dumps(body, indent=1, ensure_ascii=False) + "\n"


def load(folder: Path) -> dict[str, Entry]:
    """Return the entries of a folder's manifest by name; empty if it has none.

    Raises:
        GhashgenError: the manifest cannot be read.
    """
    return {entry["name"]: entry for entry in _read(folder)["kernels"]}


def companions(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of the files that were emitted beside a folder's kernels, by name.

    Raises:
        GhashgenError: the manifest cannot be read.
    """
    return dict(_read(folder).get("companions", {}))


def _read(folder: Path) -> dict[str, Any]:
    path = folder / NAME
    if not path.exists():
        return {"kernels": []}
    try:
        body: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if body["schema"] != SCHEMA:
            raise GhashgenError(
                f"{path} has schema {body['schema']}, this version writes {SCHEMA}",
                "regenerate into an empty folder",
            )
        _ = dict(body.get("companions", {}))
        for entry in body["kernels"]:
            # What the generator itself relies on when it meets an older output.
            _ = entry["name"], entry["file"], entry["sha256"], entry["object"]["text_sha256"]
            _ = entry["symbols"]["init"]
            # Earlier versions stated one alignment, the best, as the one that is needed.
            entry["table"].setdefault("best_align", entry["table"]["align"])
            _ = entry["axes"]["abi"], entry["cpu_features"], entry["object"]["assembler"]
            if not (folder / entry["file"]).resolve().is_relative_to(folder.resolve()):
                raise ValueError(f"{entry['file']} lies outside the folder")
        return body
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise GhashgenError(
            f"{path} is not a manifest: {error}", "restore it, or delete the folder and regenerate"
        ) from None


def same(found: str, wanted: str) -> bool:
    """Whether two manifests say the same, the assembler's version aside.

    Another nasm may emit the same bytes: their hash decides, not the version that made them.
    """
    try:
        return bool(_without_assembler(found) == _without_assembler(wanted))
    except (ValueError, KeyError, TypeError):
        return False


def _without_assembler(text: str) -> Any:
    body = json.loads(text)
    for entry in body["kernels"]:
        entry["object"].pop("assembler")
    return body
