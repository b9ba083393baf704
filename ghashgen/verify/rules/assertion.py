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
exactly of this form is refused: values by `ghashgen.verify.rules.values`, all else here.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

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


FIELDS = frozenset((
    "at", "unknowns", "among", "facts", "places", "ghosts", "flags", "dirty", "level", "falls",
    "from",
))  # fmt: skip
"""The fields of an assertion as data."""


def read_certificate(data: object) -> dict[str, Assertion]:
    """Return the assertions of a certificate by their names.

    Raises:
        Refutation: it is not of the form of one.
    """
    named = _mapping(_only(data, "a certificate", frozenset({"assertions"}))["assertions"])
    return {name: _assertion(name, one) for name, one in sorted(named.items())}


def _assertion(name: str, data: object) -> Assertion:
    if name == "entry":
        raise unsupported("an assertion that is called entry")
    found = _only(data, name, FIELDS)
    unknowns = {u: _range(u, r) for u, r in _mapping(found["unknowns"]).items()}
    among = {
        u: frozenset(map(_integer, _list(values))) for u, values in _mapping(found["among"]).items()
    }
    if among.keys() - unknowns.keys():
        raise unsupported(f"{name}: values of no unknown")
    places = _mapping(found["places"])
    memory = tuple((_bytes(p), v) for p, v in sorted(places.items()) if "+" in p)
    flags, dirty = found["flags"], found["dirty"]
    if flags not in ("secret", "public") or not isinstance(dirty, bool):
        raise unsupported(f"{name}: flags {flags!r}, dirty {dirty!r}")
    sources = {
        source: tuple({u: parse(n) for u, n in _mapping(one).items()} for one in _list(several))
        for source, several in _mapping(found["from"]).items()
    }
    out = Assertion(
        name,
        _integer(found["at"]),
        unknowns,
        among,
        tuple(parse(n) for n in _list(found["facts"])),
        {p: v for p, v in places.items() if "+" not in p},
        memory,
        _mapping(found["ghosts"]),
        flags == "public",
        dirty,
        _integer(found["level"]),
        parse(found["falls"]),
        sources,
    )
    for number in (*out.known, out.falls, *(place.offset for place, _ in memory)):
        require_known(number, unknowns, name)
    return out


def require_known(number: Number, unknowns: Mapping[str, object], where: str) -> None:
    """Refuse a number with an unknown that there is not."""
    for u, _ in parts(number)[1]:
        if u not in unknowns:
            raise unsupported(f"{where}: no unknown {u}")


def _bytes(text: str) -> Place:
    region, plus, rest = text.partition("+")
    offset, colon, size = rest.rpartition(":")
    if not (plus and colon and size.isdecimal() and 1 <= int(size) <= 16):
        raise unsupported(f"no place: {text}")
    return Place(text, "memory", bits=8 * int(size), region=region, offset=parse(offset))


def _range(name: str, data: object) -> tuple[int, int]:
    ends = [_integer(end) for end in _list(data)]
    # Names with digits are for the unknowns that come with a case (`Facts.residues`).
    if len(ends) != 2 or ends[0] > ends[1] or not re.fullmatch("[a-z][a-z_]*", name):
        raise unsupported(f"no range of an unknown: {name} {data!r}")
    return ends[0], ends[1]


def _integer(data: object) -> int:
    if not isinstance(data, int) or isinstance(data, bool):
        raise unsupported(f"no number: {data!r}")
    return data


def _list(data: object) -> list[object]:
    if not isinstance(data, list):
        raise unsupported(f"no list: {data!r}")
    return data


def _mapping(data: object) -> dict[str, object]:
    if not isinstance(data, dict) or not all(isinstance(key, str) for key in data):
        raise unsupported(f"no table: {data!r}")
    return data


def _only(data: object, what: str, names: frozenset[str]) -> dict[str, object]:
    found = _mapping(data)
    if found.keys() != names:
        odd = ", ".join(sorted(found.keys() ^ names))
        raise unsupported(f"{what}: {odd} missing or not known")
    return found
