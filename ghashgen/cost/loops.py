"""The loop bodies of a function, found in its bytes: no address and no label of one build.

A loop is the shortest path, in instructions, from the target of a backward branch to a branch back
to that target: one pass of the steady state, without the exits and without what a pass may skip
(powers that are made once, a counter that overflows). Calls, returns and computed jumps end a path.
Of all loops of a function the one with the most carry-less products, of several the shortest, is
that over whole groups.
"""

import io
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection
from iced_x86 import FlowControl, Instruction, OpKind, RegisterExt

from ghashgen.arch.x86_64.objects import ObjectCode, read_object
from ghashgen.cost.audit import classify, mnemonic
from ghashgen.support.errors import GhashgenError

BLOCK = 16
"""Bytes of a block."""


@dataclass(frozen=True)
class Body:
    """One pass of a loop, in the order of execution, its branch back last."""

    head: int
    """Offset of the first instruction in .text."""
    instructions: tuple[Instruction, ...]

    @property
    def products(self) -> int:
        """Carry-less multiplications."""
        return sum(classify(instruction) == "clmul" for instruction in self.instructions)


def _flow(instruction: Instruction) -> int:
    return int(instruction.flow_control)


def _branches(instruction: Instruction) -> bool:
    near = (OpKind.NEAR_BRANCH16, OpKind.NEAR_BRANCH32, OpKind.NEAR_BRANCH64)
    flows = (FlowControl.CONDITIONAL_BRANCH, FlowControl.UNCONDITIONAL_BRANCH)
    return _flow(instruction) in flows and instruction.op0_kind in near


def functions(data: bytes) -> Mapping[str, tuple[int, int]]:
    """Return (start, end) in .text of every global symbol of an ELF object.

    A symbol without a size ends where the next global one begins, or .text does.
    """
    elf = ELFFile(io.BytesIO(data))
    section, table = elf.get_section_by_name(".text"), elf.get_section_by_name(".symtab")
    if section is None or not isinstance(table, SymbolTableSection):
        raise GhashgenError("the object has no .text or no symbol table", "assemble it as elf64")
    text = elf.get_section_index(".text")
    found = {
        symbol.name: (int(symbol["st_value"]), int(symbol["st_size"]))
        for symbol in table.iter_symbols()
        if symbol["st_shndx"] == text and symbol["st_info"]["bind"] == "STB_GLOBAL"
    }
    ends = sorted({start for start, _ in found.values()})
    size = int(section["sh_size"])
    out = {}
    for name, (start, length) in found.items():
        following = next((end for end in ends if end > start), size)
        out[name] = (start, start + length if length else following)
    return out


def _next(instruction: Instruction) -> tuple[int, ...]:
    """Return where control may go within a function, what falls through first."""
    flow = _flow(instruction)
    if _branches(instruction):
        target = instruction.near_branch_target
        falls = () if flow == FlowControl.UNCONDITIONAL_BRANCH else (instruction.next_ip,)
        return (*falls, target)
    return (instruction.next_ip,) if flow == FlowControl.NEXT else ()


def _body(code: ObjectCode, head: int, low: int, high: int) -> Body | None:
    """Return the shortest path from `head` to a branch back to it; None where there is none."""
    came: dict[int, int] = {head: -1}
    reached = deque([head])
    while reached:
        at = reached.popleft()
        instruction = code.instructions[at]
        if _branches(instruction) and instruction.near_branch_target == head:
            path = []
            while at >= 0:
                path.append(code.instructions[at])
                at = came[at]
            return Body(head, tuple(reversed(path)))
        for following in _next(instruction):
            inside = low <= following < high and following in code.instructions
            if inside and following not in came:
                came[following] = at
                reached.append(following)
    return None


def loops(data: bytes, symbol: str) -> tuple[Body, ...]:
    """Return the loops of a function of an ELF64 object, in the order of their heads.

    Raises:
        GhashgenError: the object has no such global symbol, no .text or no symbol table.
    """
    code, known = read_object(data), functions(data)
    if symbol not in known:
        near = ", ".join(sorted(name for name in known if "ghash" in name.lower())) or "none"
        raise GhashgenError(
            f"the object has no global symbol {symbol!r} in .text", f"those with ghash: {near}"
        )
    low, high = known[symbol]
    inside = [code.instructions[at] for at in sorted(code.instructions) if low <= at < high]
    heads = {
        instruction.near_branch_target
        for instruction in inside
        if _branches(instruction) and low <= instruction.near_branch_target <= instruction.ip
    }
    found = (_body(code, head, low, high) for head in sorted(heads))
    return tuple(body for body in found if body is not None)


def largest(bodies: Sequence[Body], what: str) -> Body:
    """Return the loop with the most carry-less products, of several the shortest.

    Raises:
        GhashgenError: no loop has one.
    """
    best = max(
        bodies, key=lambda body: (body.products, -len(body.instructions), -body.head), default=None
    )
    if best is None or not best.products:
        raise GhashgenError(
            f"{what} has no loop with a carry-less product",
            "name the function that holds the loop",
        )
    return best


def _steps(body: Body) -> Iterator[int]:
    """Yield the bytes by which general registers move in one pass, without sign."""
    for instruction in body.instructions:
        if instruction.op0_kind != OpKind.REGISTER:
            continue
        register = instruction.op0_register
        if not RegisterExt.is_gpr64(register):
            continue
        name = mnemonic(instruction)
        if name in ("add", "sub") and instruction.op1_kind not in (OpKind.REGISTER, OpKind.MEMORY):
            step = instruction.immediate(1)
        elif name == "lea" and instruction.memory_base == register and not instruction.memory_index:
            step = instruction.memory_displacement
        else:
            continue
        yield abs(step - (1 << 64) if step >> 63 else step)


def blocks(body: Body) -> int:
    """Return the blocks of one pass: the one step of pointers and lengths, by 16 bytes.

    Raises:
        GhashgenError: registers move by no multiple of a block, or by several.
    """
    steps = sorted({step for step in _steps(body) if step and step % BLOCK == 0})
    if len(steps) != 1:
        said = " and ".join(map(str, steps)) or "no multiple of 16"
        raise GhashgenError(
            f"the blocks of a pass are not plain: registers move by {said} bytes",
            "give --blocks",
        )
    return steps[0] // BLOCK
