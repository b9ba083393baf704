"""What the emitter knows of each instruction, from instructions.toml: rows, and classes of audits.

rows("all", "sse")      the rows of an instruction set
class_of("vpxor x,x,x") the class of a form in decoded bytes, an instruction of the table or not
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from msgspec import Struct, field

from ghashgen.arch.rows import MEMORY_BYTES, RETURN_VALUE, UNSTATED, Row, parse_operands
from ghashgen.arch.uarch import is_memory
from ghashgen.ir.program import Flow
from ghashgen.support.documents import Document

_MANUAL = "Intel SDM vol. 2"


class Instruction(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One instruction, by the keys of the file."""

    audit_class: str = field(name="class")
    forms: str
    loads: bool = False
    stores: bool = False
    flags: str = UNSTATED
    flow: str = UNSTATED
    fuses: bool = False

    def class_with(self, has_memory: bool, writes_memory: bool) -> str:
        """Return the class, by whether an operand, or the first one, is in memory."""
        if has_memory and (self.stores if writes_memory else self.loads):
            return "store" if writes_memory else "load"
        return self.audit_class


class _Table(Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file."""

    needs: dict[str, str]
    instruction: dict[str, Instruction]
    others: dict[str, tuple[str, ...]]


_FILE = Document(_Table, "is no table of instructions", "mend the table")
_WHERE = Path(__file__).parent / "instructions.toml"


@cache
def _table() -> _Table:
    return _FILE.read(_WHERE)


def _row(name: str, instruction: Instruction, line: str) -> tuple[str, Row]:
    """Return who has a form, and its row."""
    body, _, needs = line.partition(" needs ")
    column, key, *operands = body.split()
    features = needs or _table().needs[column]
    signature = " ".join(operands)
    specs = parse_operands(signature)
    memory = [spec for spec in specs if set(spec.kinds) <= MEMORY_BYTES.keys()]
    return column, Row(
        key,
        signature,
        tuple(features.split()),
        f"{_MANUAL}, {name}",
        instruction.class_with(bool(memory), any(spec.role == "w" for spec in memory)),
        copy=key.endswith(".copy"),
        flags=instruction.flags,
        flow=instruction.flow if instruction.flow == UNSTATED else Flow(instruction.flow),
        fuses=instruction.fuses,
    )


@cache
def _rows() -> Mapping[str, Mapping[str, Row]]:
    """Return the rows by who has them and key.

    Raises:
        GhashgenError: a form is stated twice.
    """
    out: dict[str, dict[str, Row]] = {}
    for name, instruction in _table().instruction.items():
        for line in filter(None, map(str.strip, instruction.forms.splitlines())):
            column, row = _row(name, instruction, line)
            if out.setdefault(column, {}).setdefault(row.key, row) is not row:
                raise _FILE.refuse(_WHERE, f"two forms {row.key} for {column}")
    return out


def rows(*columns: str) -> dict[str, Row]:
    """Return the rows of an instruction set: those of all sets, and those of these columns."""
    out = {key: row for column in ("all", *columns) for key, row in _rows()[column].items()}
    return {**out, RETURN_VALUE.key: RETURN_VALUE}


@cache
def _by_mnemonic() -> Mapping[str, Instruction]:
    table = _table()
    return {
        line.split()[1].partition(".")[0]: instruction
        for instruction in table.instruction.values()
        for line in filter(None, map(str.strip, instruction.forms.splitlines()))
    }


def class_of(form: str) -> str:
    """Return the class of a form of `arch.x86_64.forms`."""
    name, _, operands = form.partition(" ")
    kinds = operands.split(",")
    return class_of_parts(name, any(map(is_memory, kinds)), is_memory(kinds[0]))


@cache
def class_of_parts(name: str, has_memory: bool, writes_memory: bool) -> str:
    """Return the class, by mnemonic and whether an operand, or the first one, is in memory."""
    known = _by_mnemonic().get(name) or _other(name.upper().removeprefix("V"))
    return known.class_with(has_memory, writes_memory)


def _other(bare: str) -> Instruction:
    """Return an instruction that the table has no entry for, as far as its name tells."""
    begun = {word for word, names in _table().others.items() if bare.startswith(names)}
    cls = next((word for word in ("clmul", "xor", "shuffle") if word in begun), "other")
    return Instruction(audit_class=cls, forms="", loads="loads" in begun, stores="stores" in begun)
