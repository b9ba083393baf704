"""Stored orders of loop bodies, found by a solver once and applied without one.

One file of `arch/x86_64/uarch/solved/` a kernel: the order, what it was solved for, and the hash of
the body as selected. A body that has changed since is refused; `replay` checks the
order like any other.
"""

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from ghashgen.arch.registry import DEFAULT, folder_of
from ghashgen.ir.program import Block, Label, Mem, Op, Operand, Program, Reg
from ghashgen.support.errors import GhashgenError

SCHEMA = 1


@dataclass(frozen=True)
class Solution:
    """A solved loop body."""

    kernel: str
    schedule: str
    function: str
    block: str
    body: str
    """`body_hash` of the block as selected."""
    order: tuple[int, ...]
    """Positions as written, of the whole block."""
    cycles: int
    """A turn in the solver's model: in order, without a window."""
    least: int
    """No order of this body takes fewer cycles in that model; equal if it is proved the best."""
    solver: str


def folder() -> Path:
    """Return the folder of the stored solutions."""
    return folder_of(DEFAULT) / "uarch" / "solved"


def body_hash(block: Block) -> str:
    """Return the hash of a block's operations, registers numbered as they appear."""
    numbers: dict[Reg, int] = {}

    def number(reg: Reg | None) -> str:
        return "-" if reg is None else f"{reg.cls}{numbers.setdefault(reg, len(numbers))}"

    def text(operand: Operand) -> str:
        if isinstance(operand, Mem):
            registers = f"{number(operand.base)} {number(operand.index)} {operand.scale}"
            return f"[{registers} {operand.disp} {operand.symbol}]"
        if isinstance(operand, int):
            return str(operand)
        if isinstance(operand, Label):
            return operand.name
        return (
            number(operand)
            if isinstance(operand, Reg)
            else f"{type(operand).__name__.lower()} {operand.index}"
        )

    def line(op: Op) -> str:
        return f"{op.code} {op.width} {', '.join(map(text, op.operands))}"

    return hashlib.sha256("\n".join(map(line, block.ops)).encode()).hexdigest()


def find(kernel: str) -> Solution:
    """Return the stored solution of a kernel.

    Raises:
        GhashgenError: there is none, or its file is damaged.
    """
    path = folder() / f"{kernel}.json"
    if not path.exists():
        raise GhashgenError(
            f"no solved schedule is stored for {kernel}",
            "choose the schedule without -solved, or solve it: ghashgen solve",
        )
    return read(path.read_text(encoding="utf-8"), path.name)


def read(text: str, where: str) -> Solution:
    """Parse a stored solution; `where` names it in refusals."""
    try:
        data = json.loads(text)
        if data.pop("schema") != SCHEMA:
            raise ValueError("another schema")
        found = Solution(**{**data, "order": tuple(data["order"])})
        if sorted(found.order) != list(range(len(found.order))):
            raise ValueError("the order is no permutation")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise GhashgenError(
            f"uarch/solved/{where} is damaged: {error}",
            "solve it again: ghashgen solve",
        ) from None
    return found


def dump(solution: Solution) -> str:
    """Return the text of a solution's file."""
    data = {"schema": SCHEMA, **asdict(solution), "order": list(solution.order)}
    return json.dumps(data, indent=1).replace(",\n  ", ", ") + "\n"


def apply(program: Program, solution: Solution) -> Program:
    """Return the program with the solved block in its order.

    Raises:
        GhashgenError: the block is not the one that was solved.
    """
    index = next((i for i, b in enumerate(program.blocks) if b.label == solution.block), None)
    block = program.blocks[index] if index is not None else None
    if index is None or block is None or body_hash(block) != solution.body:
        raise GhashgenError(
            f"the loop body of {solution.kernel} has changed since it was solved",
            "solve it again: ghashgen solve",
        )
    ordered = replace(block, ops=tuple(block.ops[i] for i in solution.order))
    blocks = (*program.blocks[:index], ordered, *program.blocks[index + 1 :])
    return replace(program, blocks=blocks)
