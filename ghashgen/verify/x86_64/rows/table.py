"""All rows by instruction code. An instruction without a row is refused by its name."""

from functools import cache

from iced_x86 import Code, Instruction

from ghashgen.verify.core.refutation import Category, Refutation, unsupported
from ghashgen.verify.machine.machine import Step
from ghashgen.verify.x86_64.machine import Row
from ghashgen.verify.x86_64.rows import aes, flow, general, move, product, stack, vector, wide

MODULES = (general, product, stack, flow, vector, move, wide, aes)


@cache
def rows() -> dict[int, Row]:
    """Return the rows by iced's instruction code.

    Raises:
        ValueError: two rows claim one code.
    """
    table: dict[int, Row] = {}
    for module in MODULES:
        for row in module.ROWS:
            if row.code in table:
                raise ValueError(f"two rows for {code_name(row.code)}")
            table[row.code] = row
    return table


@cache
def _names() -> dict[int, str]:
    return {getattr(Code, name): name for name in dir(Code) if name[0].isupper()}


def code_name(code: int) -> str:
    """Return the name of an instruction form, for example VEX_VPXOR_XMM_XMM_XMMM128."""
    return _names().get(code, str(code))


def step_of(instruction: Instruction) -> Step:
    """Return the semantics of a decoded instruction.

    Raises:
        Refutation: no row covers it.
    """
    refused = flow.REFUSED.get(instruction.code)
    if refused is not None:
        raise Refutation(Category.ABI, refused, at=int(instruction.ip))
    row = rows().get(instruction.code)
    if row is None:
        raise unsupported(f"no row for {code_name(instruction.code)}", int(instruction.ip))
    if instruction.has_lock_prefix or instruction.has_segment_prefix:
        raise unsupported("a prefix without semantics here", int(instruction.ip))
    return row.build(instruction)
