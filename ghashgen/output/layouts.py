"""Describes kernels as JSON, for programs that cannot read the C header.

Sizes and offsets are in bytes. docs/vendoring.md describes each key.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import UNSET, to_builtins

from ghashgen import __version__
from ghashgen.kernels.core import CELL_BYTES
from ghashgen.kernels.families import families
from ghashgen.kernels.manifest import Entry

SUFFIX = ".json"
"""Follows the name of the folder's library in the name of the file."""

SCHEMA = 1
"""Changes when a program that reads the file has to change."""


def dump(entries: Iterable[tuple[Entry, Mapping[str, str]]]) -> str:
    """Return the file's text. Each kernel has its paths in this folder by object format."""
    body = {
        "schema": SCHEMA,
        "generator": f"ghashgen {__version__}",
        "kernels": [_of(*each) for each in entries],
    }
    return json.dumps(body, indent=1, ensure_ascii=False) + "\n"


def _of(entry: Entry, files: Mapping[str, str]) -> Mapping[str, Any]:
    said = to_builtins(entry)
    table = said["table"]
    places = dict[str, int]()
    for number, cell in enumerate(table["cells"]):
        places.setdefault(cell, CELL_BYTES * number)
    own = {"bytes": table["bytes"], "align": table["align"], "best_align": table["best_align"]}
    prototypes = {} if entry.prototypes is UNSET else said["prototypes"]
    return {
        "name": entry.name,
        "files": dict(files),
        "abi": entry.abi,
        "cpu_features": said["cpu_features"],
        "functions": {
            name: {
                "symbol": symbol,
                "prototype": prototypes[name],
                "stack_bytes": entry.stack_bytes[name],
            }
            for name, symbol in entry.symbols.items()
        },
        "memory": {
            families()[entry.family].table: {**own, "offsets": places},
            **said.get("parts", {}),
        },
    }
