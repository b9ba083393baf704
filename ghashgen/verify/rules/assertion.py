"""Assertions: complete symbolic states as plain data.

    certificate  {"assertions": {name: assertion}}
    assertion    {"at": offset of its address from the function's,
                  "unknowns": {unknown: [least, greatest]}, "among": {unknown: [value, …]},
                  "facts": [number that is not negative],
                  "places": {place: value}, "ghosts": {ghost: as its family says},
                  "flags": "secret" | "public", "dirty": whether upper halves may be in use,
                  "level": number, "falls": number,
                  "from": {source: [{unknown: number in the source's unknowns, or in those
                                     that cases have brought since}]}}
    number       "128*t+r-16"
    place        a register of the target, as rax, v0.0 .. v31.3 (128 bits), k0 .. k7; or
                 "region+number:bytes"
    value        "?" anything | "!" anything public, each an unknown of its own
                 | ["v", name] an unknown value, the same wherever it is named
                 | ["n", number] | ["p", region, number] | ["@", register] what the caller left
                 | ["c", "0x.."] a constant | ["t", ...] a term

A register that is not named is "?"; a byte that may have been written must be named. What is not
exactly of this form is refused: values by `ghashgen.verify.rules.values`, ghosts by their parts,
all else here.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, ValidationError, convert

from ghashgen.verify.core.linear import Facts
from ghashgen.verify.core.numbers import Number, parse, parts
from ghashgen.verify.core.refutation import unsupported
from ghashgen.verify.core.values import Value
from ghashgen.verify.machine.machine import Machine
from ghashgen.verify.machine.target import Target


@dataclass(frozen=True)
class Place:
    """Where a value is: one of the files of registers with index and lane, or bytes of a region."""

    name: str
    file: str
    index: int = 0
    lane: int = 0
    bits: int = 64
    region: str = ""
    offset: Number = 0

    def of(self, machine: Machine) -> Value:
        """Return what a machine has there, if it is a register."""
        held = getattr(machine, self.file)[self.index]
        value: Value = held[self.lane] if self.file == "vec" else held
        return value


@cache
def registers(target: Target) -> Mapping[str, Place]:
    """Return every register by its name in a certificate."""
    places = [Place(name, "gpr", k) for k, name in enumerate(target.general)]
    places += [
        Place(f"v{k}.{lane}", "vec", k, lane, 128)
        for k in range(len(target.vectors))
        for lane in range(target.lanes)
    ]
    places += [Place(name, "mask", k) for k, name in enumerate(target.masks)]
    return {place.name: place for place in places}


@dataclass(frozen=True)
class Assertion:
    """One complete symbolic state."""

    name: str
    at: int
    unknowns: Mapping[str, tuple[int, int]]
    among: Mapping[str, frozenset[int]]
    known: tuple[Number, ...]
    registers: Mapping[str, object]
    memory: tuple[tuple[Place, object], ...]
    ghosts: Mapping[str, object]
    public_flags: bool
    dirty: bool
    level: int
    falls: Number
    sources: Mapping[str, tuple[Mapping[str, Number], ...]]

    def facts(self) -> Facts:
        """Return what it says of its unknowns."""
        return Facts(dict(self.unknowns), (), self.among).with_not_negative(*self.known)


Unknown = Annotated[str, Meta(pattern=r"\A[a-z][a-z_]*\Z")]
"""Names with digits are for the unknowns that come with a case (`Facts.residues`)."""


class Stated(Struct, frozen=True, forbid_unknown_fields=True, rename={"sources": "from"}):
    """An assertion as data: these keys, all of them, with values of these types."""

    at: int
    unknowns: dict[Unknown, tuple[int, int]]
    among: dict[str, frozenset[int]]
    facts: list[str]
    places: dict[str, Any]
    ghosts: dict[str, Any]
    flags: Literal["secret", "public"]
    dirty: bool
    level: int
    falls: str
    sources: dict[str, list[dict[str, str]]]


class _Certificate(Struct, frozen=True, forbid_unknown_fields=True):
    """A certificate as data."""

    assertions: dict[str, Stated]


def read_certificate(data: object) -> dict[str, Assertion]:
    """Return the assertions of a certificate by their names.

    Raises:
        Refutation: it is not of the form of one.
    """
    try:
        named = convert(data, _Certificate).assertions
    except ValidationError as error:
        raise unsupported(f"no certificate: {error}") from None
    return {name: _assertion(name, one) for name, one in sorted(named.items())}


def _assertion(name: str, found: Stated) -> Assertion:
    memory = tuple((_bytes(p), v) for p, v in sorted(found.places.items()) if "+" in p)
    out = Assertion(
        name,
        found.at,
        found.unknowns,
        found.among,
        tuple(map(parse, found.facts)),
        {p: v for p, v in found.places.items() if "+" not in p},
        memory,
        found.ghosts,
        found.flags == "public",
        found.dirty,
        found.level,
        parse(found.falls),
        {
            source: tuple({u: parse(n) for u, n in one.items()} for one in several)
            for source, several in found.sources.items()
        },
    )
    empty = any(low > high for low, high in out.unknowns.values())
    if name == "entry" or empty or out.among.keys() - out.unknowns.keys():
        raise unsupported(f"{name}: called entry, an empty range, or values of no unknown")
    for number in (*out.known, out.falls, *(place.offset for place, _ in memory)):
        require_known(number, out.unknowns, name)
    return out


def require_known(number: Number, unknowns: Mapping[str, object], where: str) -> None:
    """Refuse a number with an unknown that there is not."""
    for u, _ in parts(number)[1]:
        if u not in unknowns:
            raise unsupported(f"{where}: no unknown {u}")


def _bytes(text: str) -> Place:
    match = re.fullmatch(r"([^+]*)\+(.*):([1-9]|1[0-6])", text)
    if match is None:
        raise unsupported(f"no place: {text}")
    region, offset, size = match.groups()
    return Place(text, "memory", bits=8 * int(size), region=region, offset=parse(offset))
