"""What additions to the code still lack before every verb takes them, and where it goes.

Nothing here is an error: a verb refuses what it cannot do. This lists everything at once.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from ghashgen.algebra.ops.protocol import Ops
from ghashgen.algebra.schemes.registry import multiplies
from ghashgen.arch.registry import DEFAULT, isas, uarches
from ghashgen.arch.rows import Row
from ghashgen.arch.x86_64.cpuid import iced_name
from ghashgen.arch.x86_64.forms import mnemonic_of, of_row
from ghashgen.check.ledger import EXPECTED, functions_listed, some
from ghashgen.check.sampled.cells import KEY_TERM, LINEAR
from ghashgen.check.sampled.rules import knows
from ghashgen.kernels.facets import FACETS
from ghashgen.kernels.families import families, family_of, functions_of
from ghashgen.kernels.selection import catalogue
from ghashgen.support.paths import project_root
from ghashgen.verify.meaning.algebra import KINDS
from ghashgen.verify.x86_64.rows.table import rows

FRAME = ("push", "pop", "endbr64", "xor.zero")
"""Rows that no lowering names, because frames use them."""


@dataclass(frozen=True)
class Lack:
    """One thing that an addition lacks."""

    addition: str
    lacks: str
    place: str
    """The file that takes it, or what to do."""


def lacks() -> list[Lack]:
    """Return what instructions, cores, schemes, functions, families and kernels lack."""
    return [*_instructions(), *_cores(), *_schemes(), *_families(), *_kernels()]


def _rows() -> dict[str, Row]:
    """Return the x86-64 rows by key; the sets may differ in features and widths."""
    return {key: row for isa in isas(DEFAULT).values() for key, row in isa.written.items()}


def _lowered() -> dict[str, set[str]]:
    """Return the operations that are lowered to each row, by the row's key."""
    out: dict[str, set[str]] = {}
    for isa in isas(DEFAULT).values():
        for code, steps in isa.lower.items():
            for step in steps:
                out.setdefault(step.row, set()).add(code.partition("@")[0])
    return out


def _instructions() -> Iterator[Lack]:
    lowered = _lowered()
    proved = set(map(mnemonic_of, rows()))
    for key, row in _rows().items():
        what = f"instruction {key}"
        if key not in lowered and key not in FRAME:
            yield Lack(what, "a lowering", "the file of its set in ghashgen/arch/x86_64/sets/")
        if row.mnemonic not in proved:
            yield Lack(what, "a row of the prover", "ghashgen/verify/x86_64/rows/, and doit.toml")
        if any(hasattr(Ops, code) for code in lowered.get(key, ())) and not knows(row.mnemonic):
            yield Lack(what, "its degree, for random points", "ghashgen/check/sampled/rules.py")


def _cores() -> Iterator[Lack]:
    """Yield the forms that a core has and its table does not."""
    for name, core in uarches().items():
        forms = {
            form
            for isa in isas(DEFAULT).values()
            for row in isa.written.values()
            if not core.without(map(iced_name, row.features))
            for form in of_row(row)
        }
        if missing := sorted(forms - core.costs.keys()):
            place = f"ghashgen/arch/x86_64/uarch/{name.replace('-', '_')}.toml, if a source has it"
            yield Lack(f"core {name}", f"uops and latency of {'; '.join(missing)}", place)


def _schemes() -> Iterator[Lack]:
    for name, scheme in multiplies().items():
        for entry in scheme.entries:
            what = f"multiply scheme {name}"
            if entry not in KINDS:
                place = "CELLS in ghashgen/verify/meaning/algebra.py"
                yield Lack(what, f"the meaning of table entry {entry}, to be proved", place)
            if entry not in (*LINEAR, KEY_TERM):
                place = "LINEAR in ghashgen/check/sampled/cells.py"
                yield Lack(what, f"the value of table entry {entry}, to be validated", place)


def _families() -> Iterator[Lack]:
    for name, family in families().items():
        for facet, wanted in FACETS.items():
            if facet in family.facets:
                continue
            place = f"facets of its FAMILY, for {wanted.verb}"
            yield Lack(f"family {name}", f"{facet}: {wanted.content}", place)
        for function in family.functions().values():
            if not function.statement:
                yield Lack(f"function {name} {function.name}", "a statement", "its `statement=`")


def _kernels() -> Iterator[Lack]:
    listed = functions_listed(project_root() / EXPECTED)
    lacking = [
        kernel.name
        for kernel in catalogue()
        if "claims" in family_of(kernel).facets
        and functions_of(kernel).keys() - listed.get(kernel.name, set())
    ]
    if lacking:
        yield Lack(some(lacking), "what must be proved", f"{EXPECTED}, by the lines of `prove`")
