"""Microarchitectures: execution ports and latencies, one TOML file each, every row with its source.

A file states, for forms of instructions (`forms`), the uops of each on which ports, the fused uops
that the front end issues, and the latency. What no source says is absent and read as "no data":
nothing is guessed. Where sources disagree the row says so in `doubt`. `bound` turns a loop body
and such a table into a lower bound on its cycles.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ghashgen.arch.uarch import Cost, Fusion, Latency, Uarch, Uops
from ghashgen.arch.x86_64.cpuid import BASELINE, feature_names
from ghashgen.arch.x86_64.decoder import DECODER
from ghashgen.arch.x86_64.forms import known
from ghashgen.support.errors import GhashgenError

_UOPS = re.compile(r"([1-9]\d*)\*([A-Za-z]+?)(\d[0-9A-F]*)")
_CYCLES = re.compile(r"(<=)?(\d+)")


class _Reader:
    """Reads the parsed file of one microarchitecture, naming it in every refusal."""

    def __init__(self, where: str, data: dict[str, Any]) -> None:
        self.where = where
        self.data = data

    def refuse(self, what: str) -> GhashgenError:
        return GhashgenError(f"{self.where}: {what}", "mend the table")

    def field(self, table: Mapping[str, Any], key: str, kind: type, what: str) -> Any:
        value = table.get(key)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise self.refuse(f"{what}: {key!r} must be given, as {kind.__name__}")
        return value

    def names(self, table: Mapping[str, Any], key: str, what: str) -> tuple[str, ...]:
        values = self.field(table, key, list, what)
        if not all(isinstance(value, str) for value in values):
            raise self.refuse(f"{what}: {key!r} must hold strings")
        if len(set(values)) != len(values):
            raise self.refuse(f"{what}: {key!r} names something twice")
        return tuple(values)

    def only(self, table: Mapping[str, Any], keys: Sequence[str], what: str) -> None:
        unknown = sorted(table.keys() - set(keys))
        if unknown:
            raise self.refuse(f"{what}: unknown key {unknown[0]!r}")

    def cited(self, table: Mapping[str, Any], key: str, what: str) -> tuple[str, ...]:
        """Return source keys, each of which `[sources]` must explain."""
        values = self.names(table, key, what)
        missing = [value for value in values if value not in self.data["sources"]]
        if missing or not values:
            raise self.refuse(f"{what}: source {(missing or ['(none)'])[0]} is not in [sources]")
        return values

    def uops(self, text: str, what: str) -> tuple[Uops, ...]:
        out = []
        for part in text.split("+") if text else []:
            match = _UOPS.fullmatch(part.strip())
            if match is None:
                raise self.refuse(f"{what}: uops {text!r} are not of the form 1*p05 + 2*p5")
            ports = frozenset(f"{match[2]}{digit}" for digit in match[3])
            unknown = sorted(ports - set(self.data["ports"]))
            if unknown:
                raise self.refuse(f"{what}: uops {text!r} use the unknown port {unknown[0]}")
            out.append(Uops(int(match[1]), ports))
        return tuple(out)

    def latency(self, row: Mapping[str, Any], key: str, what: str) -> Latency | None:
        if key not in row:
            return None
        match = _CYCLES.fullmatch(str(row[key]))
        if match is None:
            raise self.refuse(f"{what}: {key} {row[key]!r} is neither cycles nor '<=cycles'")
        return Latency(int(match[2]), not match[1])

    def cost(self, row: Mapping[str, Any], form: str) -> Cost:
        return Cost(
            form=form,
            uops=self.uops(self.field(row, "uops", str, form), form) if "uops" in row else None,
            fused=self.field(row, "fused", int, form),
            latency=self.latency(row, "latency", form),
            load_latency=self.latency(row, "load_latency", form),
            sources=self.cited(row, "source", form),
            doubt=str(row.get("doubt", "")),
        )

    def costs(self) -> dict[str, Cost]:
        out: dict[str, Cost] = {}
        for row in self.data.get("row", []):
            forms = self.names(row, "forms", "a row")
            what = forms[0] if forms else "a row without forms"
            self.only(
                row,
                ("forms", "uops", "fused", "latency", "load_latency", "source", "doubt"),
                what,
            )
            for form in forms:
                if form not in known(form.partition(" ")[0]):
                    raise self.refuse(f"no instruction has the form {form!r}")
                if form in out:
                    raise self.refuse(f"two rows for {form!r}")
                out[form] = self.cost(row, form)
        return out

    def fusions(self) -> tuple[Fusion, ...]:
        out = []
        for row in self.data.get("fusion", []):
            first = self.names(row, "first", "a fusion")
            second = self.names(row, "second", "a fusion")
            what = f"fusion of {', '.join(first)}"
            self.only(row, ("first", "second", "uops", "fused", "source", "doubt"), what)
            for name in (*first, *second):
                if not known(name):
                    raise self.refuse(f"{what}: no instruction is called {name!r}")
            out.append(Fusion(frozenset(first), frozenset(second), self.cost(row, what)))
        return tuple(out)

    def uarch(self) -> Uarch:
        data, what = self.data, "the head"
        lists = ("aliases", "ports", "closed_by_512", "features")
        cited = ("issue_source", "window_source", "closed_source", "features_source")
        texts = ("name", "title", "suffix", "llvm", "llvm_resources")
        numbers = ("issue", "window")
        self.only(data, (*texts, *lists, *cited, *numbers, "sources", "row", "fusion"), what)
        self.field(data, "sources", dict, what)
        named = {key: self.names(data, key, what) for key in lists}
        for key in cited:
            self.cited(data, key, what)
        closed = frozenset(named["closed_by_512"])
        if not closed <= set(named["ports"]):
            raise self.refuse("closed_by_512 names a port that is not in ports")
        unknown = sorted(set(named["features"]) - set(feature_names().values()))
        if unknown:
            raise self.refuse(f"unknown CPU feature {unknown[0]}")
        return Uarch(
            **{key: self.field(data, key, str, what) for key in texts},
            aliases=named["aliases"],
            ports=named["ports"],
            **{key: self.field(data, key, int, what) for key in numbers},
            closed_by_512=closed,
            features=frozenset(named["features"]),
            always=BASELINE,
            decoder=DECODER,
            sources=MappingProxyType(dict(data["sources"])),
            costs=MappingProxyType(self.costs()),
            fusions=self.fusions(),
        )


def parse(text: str, where: str) -> Uarch:
    """Parse and check the table of a microarchitecture; `where` names it in refusals.

    Raises:
        GhashgenError: the text is no TOML, a key is missing or unknown, a form belongs to no
            instruction, two rows have one form, or a port or a source is not declared.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise GhashgenError(f"{where}: not TOML: {error}", "mend the table") from None
    return _Reader(where, data).uarch()


@cache
def uarches() -> Mapping[str, Uarch]:
    """Return every microarchitecture by name, sorted by name."""
    files = sorted(Path(__file__).parent.glob("*.toml"))
    tables = [parse(file.read_text(encoding="utf-8"), f"uarch/{file.name}") for file in files]
    return MappingProxyType({table.name: table for table in sorted(tables, key=lambda t: t.name)})
