"""Reads the table of a microarchitecture: execution ports and latencies, every row with its source.

For each form of instruction (`forms`), a file states the uops on each set of ports, the fused uops
that the front end issues, and the latency. What no source says is left out and read as "no data";
nothing is guessed. If sources disagree, `doubt` says so. `bound` turns a loop body and such a table
into a lower bound on its cycles.
"""

import re
from types import MappingProxyType

from msgspec import Struct

from ghashgen.arch.uarch import Cost, Fusion, Latency, Uarch, Uops
from ghashgen.arch.x86_64.cpuid import BASELINE, feature_names
from ghashgen.arch.x86_64.decoder import DECODER
from ghashgen.arch.x86_64.forms import known
from ghashgen.support.documents import Document
from ghashgen.support.errors import GhashgenError

_UOPS = re.compile(r"([1-9]\d*)\*([A-Za-z]+?)(\d[0-9A-F]*)")
_CYCLES = re.compile(r"(<=)?(\d+)")


class _Priced(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The keys of every row."""

    uops: str | None = None
    fused: int
    source: tuple[str, ...]
    doubt: str = ""


class _Row(_Priced, frozen=True, forbid_unknown_fields=True, kw_only=True):
    forms: tuple[str, ...]
    latency: int | str | None = None
    load_latency: int | str | None = None


class _Fusion(_Priced, frozen=True, forbid_unknown_fields=True, kw_only=True):
    first: tuple[str, ...]
    second: tuple[str, ...]


class _Table(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A whole file."""

    name: str
    title: str
    aliases: tuple[str, ...]
    suffix: str
    llvm: str
    llvm_resources: str
    ports: tuple[str, ...]
    issue: int
    issue_source: tuple[str, ...]
    window: int
    window_source: tuple[str, ...]
    closed_by_512: tuple[str, ...]
    closed_source: tuple[str, ...]
    features: tuple[str, ...]
    features_source: tuple[str, ...]
    sources: dict[str, str]
    row: tuple[_Row, ...] = ()
    fusion: tuple[_Fusion, ...] = ()


_FILE = Document(_Table, "is no table of a core", "mend the table")


class _Reader:
    """Reads the table of one microarchitecture; every refusal names its file."""

    def __init__(self, where: str, table: _Table) -> None:
        self.where = where
        self.table = table

    def refuse(self, what: str) -> GhashgenError:
        return _FILE.refuse(self.where, what)

    def once(self, values: tuple[str, ...], key: str, what: str) -> tuple[str, ...]:
        if len(set(values)) != len(values):
            raise self.refuse(f"{what}: {key!r} names something twice")
        return values

    def cited(self, values: tuple[str, ...], what: str) -> tuple[str, ...]:
        """Return source keys, each of which must be in `[sources]`."""
        missing = [value for value in values if value not in self.table.sources]
        if missing or not values:
            raise self.refuse(f"{what}: source {(missing or ['(none)'])[0]} is not in [sources]")
        return self.once(values, "source", what)

    def uops(self, text: str, what: str) -> tuple[Uops, ...]:
        out = []
        for part in text.split("+") if text else []:
            match = _UOPS.fullmatch(part.strip())
            if match is None:
                raise self.refuse(f"{what}: uops {text!r} are not of the form 1*p05 + 2*p5")
            ports = frozenset(f"{match[2]}{digit}" for digit in match[3])
            unknown = sorted(ports - set(self.table.ports))
            if unknown:
                raise self.refuse(f"{what}: uops {text!r} use the unknown port {unknown[0]}")
            out.append(Uops(int(match[1]), ports))
        return tuple(out)

    def latency(self, stated: int | str | None, what: str) -> Latency | None:
        if stated is None:
            return None
        match = _CYCLES.fullmatch(str(stated))
        if match is None:
            raise self.refuse(f"{what}: latency {stated!r} is neither cycles nor '<=cycles'")
        return Latency(int(match[2]), not match[1])

    def cost(self, row: _Row | _Fusion, form: str) -> Cost:
        latencies = (row.latency, row.load_latency) if isinstance(row, _Row) else (None, None)
        latency, load_latency = (self.latency(stated, form) for stated in latencies)
        return Cost(
            form=form,
            uops=None if row.uops is None else self.uops(row.uops, form),
            fused=row.fused,
            latency=latency,
            load_latency=load_latency,
            sources=self.cited(row.source, form),
            doubt=row.doubt,
        )

    def costs(self) -> dict[str, Cost]:
        out: dict[str, Cost] = {}
        for row in self.table.row:
            for form in row.forms:
                if form not in known(form.partition(" ")[0]):
                    raise self.refuse(f"no instruction has the form {form!r}")
                if form in out:
                    raise self.refuse(f"two rows for {form!r}")
                out[form] = self.cost(row, form)
        return out

    def fusions(self) -> tuple[Fusion, ...]:
        out = []
        for row in self.table.fusion:
            what = f"fusion of {', '.join(row.first)}"
            for key, names in (("first", row.first), ("second", row.second)):
                for name in self.once(names, key, what):
                    if not known(name):
                        raise self.refuse(f"{what}: no instruction is called {name!r}")
            cost = self.cost(row, what)
            out.append(Fusion(frozenset(row.first), frozenset(row.second), cost))
        return tuple(out)

    def uarch(self) -> Uarch:
        table, what = self.table, "the head"
        for key in ("aliases", "ports", "closed_by_512", "features"):
            self.once(getattr(table, key), key, what)
        for key in ("issue_source", "window_source", "closed_source", "features_source"):
            self.cited(getattr(table, key), what)
        closed = frozenset(table.closed_by_512)
        if not closed <= set(table.ports):
            raise self.refuse("closed_by_512 names a port that is not in ports")
        unknown = sorted(set(table.features) - set(feature_names().values()))
        if unknown:
            raise self.refuse(f"unknown CPU feature {unknown[0]}")
        return Uarch(
            name=table.name,
            title=table.title,
            aliases=table.aliases,
            suffix=table.suffix,
            llvm=table.llvm,
            llvm_resources=table.llvm_resources,
            ports=table.ports,
            issue=table.issue,
            window=table.window,
            closed_by_512=closed,
            features=frozenset(table.features),
            always=BASELINE,
            decoder=DECODER,
            sources=MappingProxyType(table.sources),
            costs=MappingProxyType(self.costs()),
            fusions=self.fusions(),
        )


def parse(text: str, where: str) -> Uarch:
    """Parse and check the table of a microarchitecture; `where` names it in refusals.

    Raises:
        GhashgenError: the text is not TOML, a key is missing or unknown, no instruction has a form,
            two rows have the same form, or a port or a source is not declared.
    """
    return _Reader(where, _FILE.parse(text, where, toml=True)).uarch()
