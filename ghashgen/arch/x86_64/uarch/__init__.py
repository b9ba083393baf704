"""Microarchitectures of x86-64, one TOML file for each, named after it with _ for -."""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from ghashgen.arch.uarch import Label, Uarch
from ghashgen.support.errors import GhashgenError
from ghashgen.support.lazy import Lazy


@cache
def _texts() -> Mapping[str, str]:
    """Return the text of every table by its name, sorted by name."""
    files = Path(__file__).parent.glob("*.toml")
    texts = {file.stem.replace("_", "-"): file.read_text(encoding="utf-8") for file in files}
    return MappingProxyType(dict(sorted(texts.items())))


def _where(name: str) -> str:
    return f"uarch/{name.replace('-', '_')}.toml"


def _read(name: str) -> Uarch:
    # Imported late: it needs iced, and names and labels are known without it.
    from ghashgen.arch.x86_64.uarch.table import parse

    table = parse(_texts()[name], _where(name))
    if table.name != name:
        raise GhashgenError(
            f"{_where(name)} has the table of {table.name!r}",
            f"rename the file to {_where(table.name)}, or the table",
        )
    return table


@cache
def uarches() -> Mapping[str, Uarch]:
    """Return every microarchitecture by name, sorted by name; a table is read when asked for."""
    return Lazy(tuple(_texts()), _read)


@cache
def labels() -> Mapping[str, Label]:
    """Return the label of every microarchitecture by name, from the head of its table alone.

    Reading every row of every table takes longer than making a kernel.
    """
    return MappingProxyType({name: _label(text) for name, text in _texts().items()})


def _label(text: str) -> Label:
    head = tomllib.loads(text.partition("\n[")[0])
    return Label(head["suffix"], frozenset(head["features"]))
