"""The abstract operations as rows, to order them before `select` has chosen instructions."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from ghashgen.arch.rows import MEMORY_BYTES, Row
from ghashgen.ir.program import CODES, Code

_KINDS = {"r": "r:v/mv", "i": "r:i", "l": "r:l"}
_MEMORY = {size: kind for kind, size in MEMORY_BYTES.items() if not kind.endswith("a")}


@dataclass(frozen=True)
class Abstract:
    """Replaces an instruction set; see `compiler.schedule.regions.Machine`."""

    rows: Mapping[str, Row]
    lanes: int


def _row(name: str, code: Code) -> Row:
    """Return an operation as a row that only says what it reads and writes."""
    memory = "addr" if name == "gpr_address" else _MEMORY[code.memory]
    stores = code.roles.startswith("m")
    kinds = {**_KINDS, "w": "w:v", "m": f"{'w' if stores else 'r'}:{memory}"}
    return Row(
        key=name,
        signature=" ".join(kinds[role] for role in code.roles),
        features=(),
        source=code.meaning,
        audit_class="other",
        copy=name in ("copy", "gpr_copy"),
        flags="",
        flow=code.flow,
    )


@cache
def _rows() -> Mapping[str, Row]:
    return MappingProxyType({name: _row(name, code) for name, code in CODES.items()})


def abstract(lanes: int) -> Abstract:
    """Return the abstract operations for registers with this many lanes."""
    return Abstract(_rows(), lanes)
