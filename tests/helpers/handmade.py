"""Small functions in nasm with certificates by hand, for tests of the rules.

A certificate names labels of the text; what it says of the stack and of saved registers is filled
in: nothing has been pushed, and they hold what the caller left.
"""

import io
from typing import Any

from elftools.elf.elffile import ELFFile

from ghashgen.algebra.field.bitorder import Order
from ghashgen.verify.checking import Way, check_object
from ghashgen.verify.statements.hash import FunctionSpec, KernelSpec
from helpers.attack_objects import FOLDER
from helpers.verify_objects import assembled

NAME = "handmade"

KEPT: dict[str, Any] = {r: ["@", r] for r in ("rbx", "rbp", "r12", "r13", "r14", "r15")}

BUFFERS: dict[str, Any] = {"rdi": ["p", "state", "0"], "rsi": ["p", "table", "0"]}
"""Where mul finds its state and its table."""


def object_of(lines: str) -> bytes:
    """Return the object of a function that may use the macros of mul.inc."""
    head = (FOLDER / "mul.inc").read_text() + "section .rodata align=16\nCONSTANTS\n"
    return assembled(f"{head}section .text\nglobal {NAME}\n{NAME}:\n{lines}\n")


def stated(operation: str, *parameters: str, **more: Any) -> KernelSpec:
    """Return the statement of one function, with H as the only entry of its table."""
    function = FunctionSpec(operation, NAME, parameters)
    return KernelSpec(NAME, "sysv", Order.REFLECTED, 1, (("B", 1),), 16, (function,), **more)


MUL = stated("mul", "state", "table")
UPDATE = stated("update", "state", "table", "input", "length")


def assertion(at: str, places: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return an assertion at a label: nothing is said that is not given."""
    more = {"from": fields.pop("ways", {"entry": [{}]})}
    every = {
        "at": at, "unknowns": {}, "among": {}, "facts": [], "ghosts": {}, "flags": "secret",
        "dirty": False, "level": 0, "falls": "0",
        "places": {"rsp": ["p", "stack", "0"], **KEPT, **places},
    }  # fmt: skip
    return {**every, **fields, **more}


def check(lines: str, spec: KernelSpec, **assertions: dict[str, Any]) -> tuple[Way, ...]:
    """Check a function by its certificate.

    Raises:
        Refutation: it is refused.
    """
    obj = object_of(lines)
    symbols = ELFFile(io.BytesIO(obj)).get_section_by_name(".symtab").iter_symbols()
    at = {symbol.name: symbol["st_value"] for symbol in symbols}
    placed = {
        name: {**one, "at": at[f"{NAME}.{one['at']}"] - at[NAME]}
        for name, one in assertions.items()
    }
    functions = {NAME: {"assertions": placed}}
    return check_object(obj, spec, {"schema": 1, "functions": functions})
