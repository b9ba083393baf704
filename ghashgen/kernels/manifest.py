"""MANIFEST.json: the machine-readable description of an output folder and its kernels.

An `Entry` describes an emitted kernel for everything that assembles, runs, chooses, reports or
vendors it. Unknown keys are ignored. Required keys are checked when a file is read, and a kernel's
axes are checked against its family's.
"""

import json
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from msgspec import UNSET, Struct, UnsetType, defstruct, to_builtins
from msgspec.structs import asdict, replace

from ghashgen import __version__
from ghashgen.kernels.axes import Axis
from ghashgen.kernels.core import Family, Point, Value
from ghashgen.kernels.families import DEFAULT, axes_of, families, fields_of
from ghashgen.kernels.target import OWN
from ghashgen.support.documents import Document, converted
from ghashgen.support.errors import GhashgenError
from ghashgen.support.wording import choose_one

NAME = "MANIFEST.json"
SCHEMA = 1


class TableEntry(Struct, frozen=True, kw_only=True):
    """The table that NAME_init fills; sizes and alignments in bytes."""

    bytes: int
    align: int
    """The alignment that callers must promise."""
    best_align: int = 0
    """The fastest alignment: no register of the group loop crosses a cache line."""
    top_power: int
    arrays: Mapping[str, int]
    cells: tuple[str, ...]


class Parts(Struct, frozen=True):
    """Memory of a parameter other than the table: its size, and what lies where, in bytes."""

    bytes: int
    offsets: Mapping[str, int]


class Left(Struct, frozen=True):
    """Where a function leaves secrets."""

    registers: tuple[str, ...]
    stack_bytes: int


class Counted(Struct, frozen=True):
    """Instructions of a piece of code, counted in its bytes."""

    instructions: int
    classes: Mapping[str, int]
    memory_operands: int


class Counts(Struct, frozen=True):
    """A kernel's counts; `group` is one turn of the group loop."""

    group: Counted
    single_block: Counted
    functions: Mapping[str, Counted]


class Object(Struct, frozen=True):
    """The assembled object: SHA-256 of .text before relocation, and the assembler."""

    text_sha256: str
    assembler: str


class Entry(Struct, frozen=True, kw_only=True):
    """An emitted kernel. Mappings are by function, including init, mul and update."""

    name: str
    axes: Mapping[str, Value]
    """The kernel's axes, and those of its target on which its symbols and text depend. Family and
    back end are stated if they are not the defaults. The values are as in the file; `kernel` checks
    that this version has such a kernel.
    """
    cpu_features: tuple[str, ...]
    symbols: Mapping[str, str]
    prototypes: Mapping[str, str] | UnsetType = UNSET
    """The functions in C. Version 0.3.0 and older do not state this."""
    table: TableEntry
    parts: Mapping[str, Parts] | UnsetType = UNSET
    """By parameter; absent if no parameter has parts."""
    stack_bytes: Mapping[str, int]
    spill_slots: Mapping[str, int]
    registers: Mapping[str, tuple[str, ...]]
    left: Mapping[str, Left] | UnsetType = UNSET
    """Version 0.1.0 does not state this."""
    counts: Counts
    code_bytes: Mapping[str, int]
    file: str
    """Path below the folder."""
    sha256: str
    """Hash of the file."""
    object: Object
    proved: bool | UnsetType = UNSET
    """False if no prover reads the bytes. For other kernels PROOFS.json says what is proved."""
    theorems: tuple[str, ...]
    """The identities that the kernel rests on."""
    regenerate: str
    """The command that emits it again."""

    @property
    def family(self) -> str:
        """The name of its family."""
        return str(self.axes.get("family", DEFAULT))

    @property
    def isa(self) -> str:
        """Its instruction set."""
        return str(self.axes["isa"]) if "isa" in self.axes else self.kernel.instruction_set.name

    @property
    def abi(self) -> str:
        """Its calling convention."""
        return str(self.axes["abi"])

    @property
    def syntax(self) -> str:
        """The syntax of its file."""
        return str(self.axes["syntax"])

    @property
    def backend(self) -> str:
        """What allocated its registers and encoded it."""
        return str(self.axes.get("backend", OWN))

    @property
    def kernel(self) -> Point:
        """The kernel with these axes; a paper's kernel has its own name.

        Raises:
            GhashgenError: this version has no kernel with these axes, or names it differently.
        """
        family = families()[self.family]
        names = [axis.name for axis in family.axes]
        kernel: Point = family.make(
            **{name: self.axes[name] for name in names if name in self.axes}
        )
        if kernel.name == self.name:
            return kernel
        own = axes_of(kernel)
        found: Iterable[Point] = family.catalogue()
        for each in found:
            if each.name == self.name and axes_of(each) == own:
                return each
        raise GhashgenError(
            f"this version calls the kernel with the axes of {self.name} {kernel.name}",
            "regenerate it",
        )

    @property
    def base(self) -> str:
        """What its symbols begin with: the folder's prefix and its name. If a host prescribes the
        symbols, its name alone.
        """
        bases = _bases(self.symbols)
        return bases[0] if len(bases) == 1 else self.name

    @property
    def prefix(self) -> str:
        """The prefix of the folder; mostly empty."""
        return self.base.removesuffix(self.name)

    def by(self, assembler: str) -> "Entry":
        """Return the entry with another assembler that makes the same bytes."""
        return replace(self, object=replace(self.object, assembler=assembler))


class Manifest(Struct, frozen=True):
    """A whole file; `companions` are the other files, with their SHA-256."""

    schema: int
    kernels: tuple[Entry, ...]
    generator: str = "ghashgen"
    licence: str = ""
    companions: Mapping[str, str] = {}


_FILE = Document(
    Manifest, "is not a manifest", "restore it, or delete the folder and regenerate", SCHEMA
)


def axes_in(kernel: Point, abi: str, syntax: str, backend: str = OWN) -> dict[str, Value]:
    """Return a kernel's axes as in an entry, with those of its target."""
    return _stated(kernel.family, axes_of(kernel), abi, syntax, backend)


def _bases(symbols: Mapping[str, str]) -> list[str]:
    """Return the symbols' beginnings before their functions' names; one text if it is a kernel."""
    return list({symbol.removesuffix(f"_{name}"): None for name, symbol in symbols.items()})


def _stated(
    family: str, own: Mapping[str, Value], abi: str, syntax: str, backend: str
) -> dict[str, Value]:
    out: dict[str, Value] = {"family": family} if family != DEFAULT else {}
    out |= {**own, "abi": abi, "syntax": syntax}
    return out if backend == OWN else {**out, "backend": backend}


def dump(entries: Iterable[Entry], companions: Mapping[str, str]) -> str:
    """Return the manifest's text, with entries sorted by name.

    `companions` are the files that are not kernels, with their SHA-256.
    """
    body = {
        "schema": SCHEMA,
        "generator": f"ghashgen {__version__}",
        "licence": "MIT OR CC0-1.0",
        "companions": dict(sorted(companions.items())),
    }
    kernels = (_lines(to_builtins(e)) for e in sorted(entries, key=lambda entry: entry.name))
    listed = ",\n".join(kernels)
    return f'{_lines(body)[:-2]},\n"kernels": [\n{listed}\n]\n}}\n'


def _lines(fields: Mapping[str, Any]) -> str:
    """Return an object with one line for each field."""
    lines = (f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in fields.items())
    return "{\n" + ",\n".join(lines) + "\n}"


def read(folder: Path) -> Manifest | None:
    """Return a folder's manifest, None if it has none.

    Raises:
        GhashgenError: the manifest cannot be read.
    """
    path = folder / NAME
    if not path.exists():
        return None
    found, inside = _read(path, _FILE.content_of(path), tuple(families())), folder.resolve()
    for i, entry in enumerate(found.kernels):
        if not (folder / entry.file).resolve().is_relative_to(inside):
            raise _FILE.refuse(path, f"kernels[{i}].file: {entry.file} lies outside the folder")
    return found


# The families are an argument, so that one that joins later is found.
@lru_cache(maxsize=16)
def _read(path: Path, data: bytes, known: tuple[str, ...]) -> Manifest:
    del known
    found = _FILE.parse(data, str(path))
    for i, entry in enumerate(found.kernels):
        # Each may also be a host's.
        if len(_bases(entry.symbols)) != 1 and _bases(entry.symbols) != [*entry.symbols.values()]:
            raise _FILE.refuse(path, f"kernels[{i}].symbols: not one name, and a function each")
    try:
        checked = [_checked(entry, f"kernels[{i}]") for i, entry in enumerate(found.kernels)]
    except ValueError as error:
        raise _FILE.refuse(path, str(error)) from None
    return replace(found, kernels=tuple(map(_as_now, checked)))


class _Where(Struct, frozen=True):
    """The axes that kernels of every family have in a file."""

    family: str = DEFAULT
    abi: str = "sysv"
    syntax: str = "nasm"
    backend: str = OWN


def _checked(entry: Entry, where: str) -> Entry:
    """Return an entry with its family's axes; missing ones get their defaults.

    Raises:
        ValueError: a required axis is missing, a value has another type, or the family is unknown.
    """
    at = converted(entry.axes, _Where, f"{where}.axes")
    if at.family not in families():
        raise ValueError(
            f"{where}.axes: no family {at.family!r} in this version; "
            + choose_one(at.family, families())
        )
    family = families()[at.family]
    own = asdict(converted(entry.axes, _own(family), f"{where}.axes"))
    untold = {axis.name: axis.default for axis in family.axes if not axis.always_told}
    own = {name: value for name, value in own.items() if untold.get(name) is not value}
    return replace(entry, axes=_stated(at.family, own, at.abi, at.syntax, at.backend))


@cache
def _own(family: Family[Any]) -> type[Struct]:
    """Return the type of a family's axes in a file, in the order of its kernels' fields."""
    by_name = {axis.name: axis for axis in family.axes}
    named = [by_name[name] for name in fields_of(family.make) if name in by_name]
    typed = [
        (axis.name, _type(axis)) if axis.default is None else (axis.name, _type(axis), axis.default)
        for axis in named
    ]
    return defstruct("_Own", typed, frozen=True, kw_only=True)


def _type(axis: Axis) -> type:
    return bool if axis.is_flag else int if axis.is_number else str


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
    """Return whether two manifests are equal, except for the assembler's version.

    Another nasm may emit the same bytes: their hash decides, not the version.
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
    """Return an entry of version 0.1.0 in today's form: its one alignment, the best, is the
    required one.
    """
    if entry.table.best_align:
        return entry
    return replace(entry, table=replace(entry.table, best_align=entry.table.align))
