"""Generates each family's C dispatcher, which picks kernels at run time.

The harness compiles the same CPU detection, ``harness/x86_64/cpu_detect.h``. Only x86-64 has a
dispatcher: it identifies a CPU by CPUID's vendor and model, and all records are of x86-64 CPUs.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from textwrap import wrap
from typing import Any

from ghashgen.arch.features import HEADER, feature_table
from ghashgen.arch.registry import isas
from ghashgen.arch.x86_64 import ARCH
from ghashgen.choice.candidate import Candidate, candidates
from ghashgen.choice.choice import Chooser, Pick, Row
from ghashgen.choice.chosen import Chosen
from ghashgen.choice.cores import VENDOR_STRINGS, Host
from ghashgen.choice.families.registry import questions
from ghashgen.choice.given import rows_of
from ghashgen.choice.questions import Question
from ghashgen.kernels.core import Function, Table, Value
from ghashgen.kernels.families import DEFAULT, brought, facet_of, families
from ghashgen.kernels.manifest import Entry
from ghashgen.records.records import Record, folder_of, load_records
from ghashgen.support.errors import GhashgenError
from ghashgen.support.paths import project_root
from ghashgen.support.templates import environment

LIBRARY = "ghashgen"
"""Default prefix of the dispatchers' functions, macros, variables and files."""

_SUFFIXES = ("_dispatch.h", "_dispatch.c")


def names_of(family: str = DEFAULT) -> tuple[str, ...]:
    """Return the files of a family's dispatcher, without a prefix."""
    return tuple(f"{LIBRARY}{facet_of(family, 'dispatcher')}{suffix}" for suffix in _SUFFIXES)


def every_name() -> tuple[str, ...]:
    """Return the files of every family's dispatcher, without a prefix."""
    return tuple(name for family in brought("dispatcher") for name in names_of(family))


PORTABLE = {"gcm": "dispatch/portable.c.j2"}
"""By family: its functions in portable C."""

FEATURES = tuple(ARCH.features)
"""CPU features in the order of their bits."""

CONVENTIONS = tuple(ARCH.abis)
"""Calling conventions. A folder may hold kernels for both; a program calls those of its own
platform.
"""

FEATURE_BITS, HOST_BITS = 24, 7
"""Bits for the features and for the kind of CPU, in the one word that a process caches."""


@cache
def recorded(family: str = DEFAULT) -> tuple[Record, ...]:
    """Return the project's measurement records of a family."""
    return load_records(project_root() / folder_of(family))


def render_all(
    entries: Iterable[Entry],
    library: str = LIBRARY,
    chosen: Chosen | None = None,
    portable: bool = False,
) -> dict[str, str]:
    """Return the dispatcher files of every family among these kernels.

    Choices come from the project's records or from a chosen set; see `render_dispatch`.
    """
    entries, found = tuple(entries), dict[str, str]()
    for family in brought("dispatcher"):
        if any(entry.family == family for entry in entries):
            found |= render_dispatch(entries, library, recorded(family), chosen, family, portable)
    return found


def render_dispatch(
    entries: Iterable[Entry],
    library: str = LIBRARY,
    records: Sequence[Record] = (),
    chosen: Chosen | None = None,
    family: str = DEFAULT,
    portable: bool = False,
) -> dict[str, str]:
    """Return the files of a family's dispatcher, text by name, for exactly these kernels.

    The result is empty if none of the given kernels is of this family and for x86-64. `library`
    begins
    the names of the files and of everything that they define. The order of `entries` does not
    matter. `chosen` decides for the uses that it has sets for; `records` decide for all others.
    `portable` adds code for CPUs that can run no kernel, if the family has some.

    Raises:
        GhashgenError: a kernel needs a CPU feature that the detection does not know; the chosen set
            names no kernel, or mixes what is given.
    """
    entries, known_isas = tuple(entries), isas(ARCH.name)
    part = facet_of(family, "dispatcher")
    question = questions()[family]
    pool = [each for each in candidates(entries, family) if each.isa in known_isas]
    if entries and not pool:
        return {}
    known: tuple[Host, ...] = Chooser((), records).hosts
    if len(FEATURES) > FEATURE_BITS or len(known) >= 1 << HOST_BITS or len(known) > 32:
        raise GhashgenError(
            f"{len(FEATURES)} features and {len(known)} kinds of CPU do not fit into the "
            "dispatcher's word",
            "widen it in ghashgen/output/dispatcher.py and templates/dispatch/cpu.c.j2",
        )
    conventions = [
        _convention(question, [c for c in pool if c.abi == abi], abi, known, records, chosen)
        for abi in CONVENTIONS
        if any(c.abi == abi for c in pool)
    ]
    kernels = [kernel for one in conventions for kernel in one["kernels"]]
    rows = [row for one in conventions for row in one["rows"]]
    filled = {use.name for use in question.dispatched if use.fills}
    keys = [row for row in rows if row["use"] in filled]
    known_functions = _functions(family, pool)
    some = {n for n in known_functions if any(n not in kernel["symbols"] for kernel in kernels)}
    values = {
        "library": library + part,
        "base": library,
        "title": families()[family].title,
        "conventions": conventions,
        "features": FEATURES,
        "functions": known_functions,
        "types": list(dict.fromkeys(f.types for f in known_functions.values() if f.types)),
        "some": [name for name in known_functions if name in some],
        "calls": [
            _call(library + part, function, name in some)
            for name, function in known_functions.items()
            if name != "init" and (name not in some or function.returns or function.types)
        ],
        "absent": ABSENT if any(known_functions[name].returns for name in some) else None,
        "operations": question.values,
        "uses": question.dispatched,
        "folder": question.folder,
        "hosts": _hosts(known),
        "other": len(known) - 1,
        "feature_bits": FEATURE_BITS,
        "chosen": chosen is not None,
        "portable": portable and family in PORTABLE,
        "classes": max((len(row["classes"]) for row in rows), default=1),
        "slots": max((len(row["slots"]) for row in keys), default=1),
        "key_bytes": max((row["bytes"] for row in keys), default=1),
        "max_bytes": max((kernel["table_bytes"] for kernel in kernels), default=1),
        "max_align": max((kernel["table_align"] for kernel in kernels), default=1),
        "best_align": max((kernel["best_align"] for kernel in kernels), default=1),
        "detection": _detection(),
    }
    templates = {suffix: f"{LIBRARY}{part}{suffix}.j2" for suffix in _SUFFIXES}
    if values["portable"]:
        templates["_portable.c"] = PORTABLE[family]
    return {
        library + part + suffix: environment().get_template(template).render(values)
        for suffix, template in templates.items()
    }


ABSENT = -1
"""Status of a function that a key's kernel lacks. Kernels return no negative status."""


def _call(library: str, function: Function[Any], guarded: bool) -> dict[str, Any]:
    """Return the template data of a function that calls a key's kernel with its table."""
    rest = [param for param in function.params if not isinstance(param.size, Table)]
    said = [f"const struct {library}_key *key", *(param.declaration for param in rest)]
    ctype = function.returns.ctype if function.returns else "void"
    # Lines break only between parameters.
    text = f"{ctype} {library}_key_{function.name}(".replace(" ", "~") + ", ".join(
        param.replace(" ", "~") for param in said
    )
    lines = wrap(f"{text});", 98, subsequent_indent=" " * 4)
    named = ["key->ctx" if isinstance(p.size, Table) else p.name for p in function.params]
    return {
        "name": function.name,
        "prototype": "\n".join(lines).replace("~", " ")[:-1],
        "arguments": named,
        "returns": function.returns is not None,
        "guarded": guarded,
    }


def _detection() -> str:
    """Return the C code that detects features, with its table."""
    path = project_root() / "harness" / ARCH.name / ARCH.detection
    table = feature_table(ARCH.features)
    return path.read_text(encoding="utf-8").replace(f'#include "{HEADER}"\n', table)


def _convention(
    question: Question,
    pool: Sequence[Candidate],
    abi: str,
    known: Sequence[Host],
    records: Sequence[Record],
    chosen: Chosen | None,
) -> dict[str, Any]:
    """Return the kernels and rows of one calling convention."""
    rows, taken = [], set()
    for value in question.values:
        own = [candidate for candidate in pool if candidate.given == value]
        if not own:
            continue
        chooser = Chooser(own, records)
        for use in question.dispatched:
            found = chooser.rows(use)
            if chosen is not None and chosen.knows(question.family, use.name):
                found = rows_of(
                    chosen, question.family, value, use, {c.name: c for c in own}, known
                )
            rows += [_row(value, use.name, row, known) for row in found]
            taken |= {pick.candidate for row in found for pick in row.picks}
    functions = _functions(question.family, pool)
    kernels = [_kernel(each, functions) for each in sorted(taken, key=lambda c: c.name)]
    return {"abi": abi, "kernels": kernels, "rows": rows}


def _functions(family: str, pool: Sequence[Candidate]) -> Mapping[str, Function[Any]]:
    """Return the functions that a family's dispatcher calls.

    Functions with types of their own are among them only if one of these kernels has them.
    """
    known = families()[family].functions()
    return {
        name: function
        for name, function in known.items()
        if not function.types or any(each.exports({name}) for each in pool)
    }


def _kernel(candidate: Candidate, functions: Iterable[str]) -> dict[str, Any]:
    return {
        "name": candidate.name,
        "given": candidate.given,
        "isa": candidate.isa,
        "base": candidate.entry.base,
        "table_bytes": candidate.table.bytes,
        "table_align": candidate.table.align,
        "best_align": candidate.table.best_align,
        "needs": _needs(candidate.needs, candidate.name, 9),
        "symbols": candidate.entry.symbols,
        "pointers": [candidate.entry.symbols.get(name, "NULL") for name in functions],
    }


def _needs(features: frozenset[str], name: str, indent: int) -> str:
    """Return the bits of some features as C, in lines that fit."""
    if unknown := sorted(features - set(FEATURES)):
        raise GhashgenError(
            f"kernel {name} needs {unknown[0]}, which the dispatcher cannot detect",
            "add it to ghashgen/arch/x86_64/features.py",
        )
    bits = " | ".join(f"F({feature.upper()})" for feature in FEATURES if feature in features)
    return ("\n" + " " * indent).join(wrap(bits, 96 - indent)) or "0"


def _row(given: Value, use: str, row: Row, known: Sequence[Host]) -> dict[str, Any]:
    slots, end = {}, 0
    for candidate in dict.fromkeys(pick.candidate for pick in row.picks):
        offset = -(-end // candidate.table.best_align) * candidate.table.best_align
        slots[candidate] = {"name": candidate.name, "offset": offset}
        end = offset + candidate.table.bytes
    return {
        "given": given,
        "use": use,
        "hosts": sum(1 << known.index(host) for host in row.hosts),
        "titles": [host.title for host in row.hosts],
        "needs": _needs(row.needs, row.picks[0].candidate.name, 8),
        "slots": list(slots.values()),
        "bytes": end,
        "classes": [
            {
                "up_to": pick.up_to,
                "fill_at": pick.fill_at,
                "name": pick.candidate.name,
                "slot": list(slots).index(pick.candidate),
                "basis": (row.basis or basis(pick)).replace("*/", ""),
            }
            for pick in row.picks
        ],
    }


def basis(pick: Pick) -> str:
    """Return in a few words what decided a class."""
    if pick.scores is None:
        return "convention"
    return f"{' and '.join(pick.scores.modes)} on {pick.scores.record.slug}"


def _hosts(known: Sequence[Host]) -> list[dict[str, Any]]:
    """Return how CPUID identifies each kind of CPU: single cores first, then whole vendors.

    The first row that fits is the CPU's kind.
    """
    rows = []
    for number, host in enumerate(known):
        words = VENDOR_STRINGS.get(host.vendor, "")
        for core in host.cores:
            rows.append(
                {
                    "number": number,
                    "title": core.title,
                    "vendor": words,
                    "family": core.family,
                    "models": (core.models[0], core.models[-1]),
                    "steppings": (core.steppings[0], core.steppings[-1]),
                }
            )
        if not host.cores and host.vendor:
            rows.append(
                {
                    "number": number,
                    "title": host.title,
                    "vendor": words,
                    "family": None,
                    "models": (0, 0xFF),
                    "steppings": (0, 0xF),
                }
            )
    return rows
