"""An `open` of AES-GCM by hand that checks its tag first: its object and its statement."""

from functools import cache

from ghashgen.algebra.field.bitorder import Order
from ghashgen.verify.statements.gcm import OPERATIONS, GcmFunction, GcmSpec, parse_cell
from helpers.verify_objects import ASM, assembled

OPEN = GcmFunction("open", "gcm_open", OPERATIONS["open"])

CELLS = ("B1", *(f"key{i}" for i in range(11)))

SPEC = GcmSpec(
    name="by hand",
    abi="sysv",
    key_bits=128,
    order=Order.REFLECTED,
    blocks=1,
    cells=tuple(map(parse_cell, CELLS)),
    table_bytes=16 * len(CELLS),
    functions=(OPEN,),
)

RIGHT = {"HASHED": "r9", "COMPARED": "16", "WRONG": "CLEAR"}
"""What the kernel leaves open; see its head."""


@cache
def data(**changes: str) -> bytes:
    """Return the object of the kernel, with other definitions."""
    head, _, _ = (ASM / "foreign.asm").read_text().partition("global foreign_init")
    defined = [f"%define {name} {value}" for name, value in (RIGHT | changes).items()]
    text = [*defined, head, (ASM / "gcm_open.asm").read_text()]
    return assembled(
        "\n".join([*text, "section .note.GNU-stack noalloc noexec nowrite progbits\n"])
    )
