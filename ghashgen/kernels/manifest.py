"""MANIFEST.json: the machine-readable contract of an output folder, and a kernel as it is there.

An `Entry` describes an emitted kernel for all who assemble, run, choose, report or vendor it. Keys
that this version does not know are passed over; those it needs are checked when a file is read.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from msgspec import UNSET, Struct, UnsetType, to_builtins
from msgspec.structs import replace

from ghashgen import __version__
from ghashgen.kernels.hash.kernel import Kernel, KernelAxes
from ghashgen.kernels.target import OWN
from ghashgen.support.documents import Document

NAME = "MANIFEST.json"
SCHEMA = 1
_UNSTATED = ("backend", OWN)


@dataclass(frozen=True)
class Axes(KernelAxes):
    """A kernel's axes, and those of its target that its symbols and text depend on.

    They are as the file states them: `Entry.kernel` says whether this version has such a kernel.
    """

    abi: str = "sysv"
    syntax: str = "nasm"
    backend: str = OWN
    """Stated only where it is another."""


class TableEntry(Struct, frozen=True, kw_only=True):
    """The table that NAME_init fills; sizes and alignments in bytes."""

    bytes: int
    align: int
    """What callers must promise."""
    best_align: int = 0
    """What serves speed: no register of the group loop crosses a line."""
    top_power: int
    arrays: Mapping[str, int]
    cells: tuple[str, ...]


class Left(Struct, frozen=True):
    """Where a function leaves secrets behind."""

    registers: tuple[str, ...]
    stack_bytes: int


class Counted(Struct, frozen=True):
    """Instructions of a piece of code, counted in its bytes."""

    instructions: int
    classes: Mapping[str, int]
    memory_operands: int


class Counts(Struct, frozen=True):
    """What was counted of a kernel; `group` is one turn of the group loop."""

    group: Counted
    single_block: Counted
    functions: Mapping[str, Counted]


class Object(Struct, frozen=True):
    """The assembled object: SHA-256 of .text before relocation, and who assembled it."""

    text_sha256: str
    assembler: str


class Entry(Struct, frozen=True, kw_only=True):
    """An emitted kernel. Mappings are by function, init, mul and update among them."""

    name: str
    axes: Axes
    cpu_features: tuple[str, ...]
    symbols: Mapping[str, str]
    table: TableEntry
    stack_bytes: Mapping[str, int]
    spill_slots: Mapping[str, int]
    registers: Mapping[str, tuple[str, ...]]
    left: Mapping[str, Left] | UnsetType = UNSET
    """Not stated by version 0.1.0."""
    counts: Counts
    code_bytes: Mapping[str, int]
    file: str
    """Path below the folder."""
    sha256: str
    """Of the file."""
    object: Object
    proved: bool | UnsetType = UNSET
    """False where no prover reads the bytes; of other kernels PROOFS.json says what is proved."""
    theorems: tuple[str, ...]
    """The identities that it rests on."""
    regenerate: str
    """The command that emits it again."""

    @property
    def kernel(self) -> Kernel:
        """The kernel of these axes, by its name here: a paper's kernels have one of their own.

        Raises:
            GhashgenError: this version has no kernel of these axes.
        """
        axes = {field.name: getattr(self.axes, field.name) for field in fields(Kernel)}
        kernel = Kernel(**axes)
        return kernel if kernel.name == self.name else Kernel(**{**axes, "alias": self.name})

    @property
    def base(self) -> str:
        """What its symbols begin with: the prefix of the folder, and its name."""
        return self.symbols["init"].removesuffix("_init")

    @property
    def prefix(self) -> str:
        """The prefix of the folder; mostly empty."""
        return self.base.removesuffix(self.name)

    def by(self, assembler: str) -> "Entry":
        """Return the entry with another assembler named, that makes the same bytes."""
        return replace(self, object=replace(self.object, assembler=assembler))


class Manifest(Struct, frozen=True):
    """A whole file; `companions` are the files that are no kernels, with their SHA-256."""

    schema: int
    kernels: tuple[Entry, ...]
    generator: str = "ghashgen"
    licence: str = ""
    companions: Mapping[str, str] = {}


_FILE = Document(
    Manifest, "is not a manifest", "restore it, or delete the folder and regenerate", SCHEMA
)


def axes_in(kernel: Kernel, abi: str, syntax: str, backend: str = OWN) -> Axes:
    """Return a kernel's axes as an entry has them: without a name of its own, with its target's."""
    own = {field.name: getattr(kernel, field.name) for field in fields(Kernel)}
    return Axes(**{**own, "alias": ""}, abi=abi, syntax=syntax, backend=backend)


def axes_of(entry: Entry) -> dict[str, Any]:
    """Return the axes by name, as the file has them."""
    return {
        field.name: getattr(entry.axes, field.name)
        for field in fields(Axes)
        if field.name != "alias" and (field.name, getattr(entry.axes, field.name)) != _UNSTATED
    }


def dump(entries: Iterable[Entry], companions: Mapping[str, str]) -> str:
    """Return the manifest's text, entries sorted by name.

    `companions` are the files that are no kernels, with their SHA-256.
    """
    body = {
        "schema": SCHEMA,
        "generator": f"ghashgen {__version__}",
        "licence": "MIT OR CC0-1.0",
        "companions": dict(sorted(companions.items())),
        "kernels": [_plain(entry) for entry in sorted(entries, key=lambda entry: entry.name)],
    }
    return json.dumps(body, indent=1, ensure_ascii=False) + "\n"


def read(folder: Path) -> Manifest | None:
    """Return a folder's manifest, None if it has none.

    Raises:
        GhashgenError: the manifest cannot be read.
    """
    path = folder / NAME
    if not path.exists():
        return None
    found = _FILE.read(path)
    for i, entry in enumerate(found.kernels):
        if not (folder / entry.file).resolve().is_relative_to(folder.resolve()):
            raise _FILE.refuse(path, f"kernels[{i}].file: {entry.file} lies outside the folder")
        if "init" not in entry.symbols:
            raise _FILE.refuse(path, f"kernels[{i}].symbols: lacks 'init'")
    return replace(found, kernels=tuple(map(_as_now, found.kernels)))


def load(folder: Path) -> dict[str, Entry]:
    """Return the entries of a folder's manifest by name; empty if it has none.

    Raises:
        GhashgenError: the manifest cannot be read.
    """
    found = read(folder)
    return {entry.name: entry for entry in found.kernels} if found else {}


def companions(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of the files that were emitted beside a folder's kernels, by name.

    Raises:
        GhashgenError: the manifest cannot be read.
    """
    found = read(folder)
    return dict(found.companions) if found else {}


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


def _as_now(entry: Entry) -> Entry:
    """Version 0.1.0 stated one alignment, the best, as the one that is needed."""
    if entry.table.best_align:
        return entry
    return replace(entry, table=replace(entry.table, best_align=entry.table.align))


def _plain(entry: Entry) -> dict[str, Any]:
    plain: dict[str, Any] = to_builtins(entry)
    return {**plain, "axes": axes_of(entry)}
