"""Reads from a TOML file what a kernel claims that this package did not emit:

    name = "example"
    family = "hash"              # the default; or "gcm", "ctr", "given"
    abi = "sysv"                 # or "win64"
    order = "reflected"          # or "natural"
    blocks = 4                   # blocks absorbed by one turn of the main loop
    table_bytes = 64
    table_align = 16
    cells = ["B1", "B2", "B3", "B4"]   # or: entries = ["B"], B1 to B`blocks`
    wipe = false
    op = "ghash"                 # or "polyval"
    [functions.update]
    symbol = "example_update"
    parameters = ["table", "state", "input", "length"]
    length_multiple = 1          # 16: whole blocks only
    length_unit = 1              # 16: the length counts blocks

Each family has its own keys (`ghashgen.check.claims`): "gcm" and "ctr" need key_bits, and "key0" …
among their cells, and have neither op nor entries; "ctr" has no order; "gcm" may have untouched and
any_tag; "given" has the place of the number of rounds. Only the form is checked here; the statement
itself checks the meaning. The prover does not read files.
"""

from dataclasses import fields
from enum import Enum
from pathlib import Path
from typing import Any

from msgspec import Struct

from ghashgen.check.claims.registry import claims, claims_of
from ghashgen.support.documents import Document
from ghashgen.support.errors import GhashgenError
from ghashgen.verify.meaning.algebra import ZERO

_UNLIKE, _REMEDY = "is no statement", "see docs/proof.md for an example"


class _Family(Struct, frozen=True):
    """The part of a file that decides which keys it has."""

    family: str = "hash"


_FAMILY = Document(_Family, _UNLIKE, _REMEDY)


def load_spec(path: Path) -> Any:
    """Read a statement from a TOML file, in its family's type.

    Raises:
        GhashgenError: the file is not TOML, or a key is missing, unknown or invalid.
    """
    content = _FAMILY.content_of(path)
    try:
        claims = claims_of(_FAMILY.parse(content, str(path), toml=True).family)
        file = Document(claims.file, _UNLIKE, _REMEDY)
        return claims.stated(file.parse(content, str(path), toml=True))
    except GhashgenError as refusal:
        if refusal.cause.startswith(str(path)):
            raise
        raise GhashgenError(f"{path}: {refusal.cause}", refusal.remedy) from None


def statement_text(stated: Any) -> str:
    """Return a statement as a file that `load_spec` reads; its fields are the keys."""
    family = next(found.family for found in claims().values() if type(stated) is found.kind)
    lines = [f'family = "{family}"']
    for field in fields(stated):
        value = getattr(stated, field.name)
        if field.name == "cells":
            value = tuple(map(_cell, value))
        # A file states a key of any size by its cells.
        if field.name not in ("functions", "sized"):
            lines.append(f"{field.name} = {_toml(value)}")
    for function in stated.functions:
        lines.append(f"[functions.{function.operation}]")
        names = (field.name for field in fields(function) if field.name != "operation")
        lines += [f"{name} = {_toml(getattr(function, name))}" for name in names]
    return "".join(f"{line}\n" for line in lines)


def _toml(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case Enum():
            return _toml(value.value)
        case tuple():
            return f"[{', '.join(map(_toml, value))}]"
        case str():
            return f'"{value}"'
    return str(value)


def _cell(cell: tuple[str, int] | None) -> str:
    if cell is None:
        return "-"
    kind, number = cell
    letter, slash, step = kind.partition("/")
    return kind if kind == ZERO else f"{letter}{number}{slash}{step}"
