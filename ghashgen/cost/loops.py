"""Finds the loop bodies of a function in its bytes, independent of addresses and labels.

A loop is the shortest path, in instructions, from the target of a backward branch to a branch back
to that target. This is one pass of the steady state, without exits and without what a pass may skip
(powers that are made once, a counter that overflows). Calls, returns and computed jumps end a path.
The loop over whole groups is the one with the most carry-less products, and the shortest of these.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.arch.decoder import Decoder, Native
from ghashgen.arch.objects import ObjectCode, read_object
from ghashgen.ir.program import Flow
from ghashgen.support.errors import GhashgenError


@dataclass(frozen=True)
class Body:
    """One pass of a loop, in the order of execution, its branch back last."""

    head: int
    """Offset of the first instruction in .text."""
    instructions: tuple[Native, ...]
    decoder: Decoder

    @property
    def products(self) -> int:
        """Carry-less multiplications."""
        return list(map(self.decoder.audit_class, self.instructions)).count("clmul")


def _branches(decoder: Decoder, instruction: Native) -> bool:
    return _flow(decoder, instruction) in (Flow.BRANCH, Flow.JUMP)


def _flow(decoder: Decoder, instruction: Native) -> Flow:
    """Return where control goes; flow that no row can express ends a path like a return."""
    try:
        return decoder.flow(instruction)
    except ValueError:
        return Flow.RETURN


def _next(decoder: Decoder, instruction: Native) -> tuple[int, ...]:
    """Return where control may go within a function; the fall-through first."""
    flow = _flow(decoder, instruction)
    following = decoder.offset(instruction) + decoder.length(instruction)
    if flow is Flow.NEXT:
        return (following,)
    if flow is Flow.BRANCH:
        return following, decoder.target(instruction)
    return (decoder.target(instruction),) if flow is Flow.JUMP else ()


def _body(code: ObjectCode, head: int, low: int, high: int) -> Body | None:
    """Return the shortest path from `head` to a branch back to it, or None."""
    came: dict[int, int] = {head: -1}
    decoder = code.decoder
    reached = deque([head])
    while reached:
        at = reached.popleft()
        instruction = code.instructions[at]
        if _branches(decoder, instruction) and decoder.target(instruction) == head:
            path = []
            while at >= 0:
                path.append(code.instructions[at])
                at = came[at]
            return Body(head, tuple(reversed(path)), decoder)
        for following in _next(decoder, instruction):
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
    code = read_object(data)
    decoder, inside = code.decoder, code.function(symbol)
    low, high = code.functions[symbol]
    branches = [
        (decoder.offset(instruction), decoder.target(instruction))
        for instruction in inside
        if _branches(decoder, instruction)
    ]
    heads = {target for at, target in branches if low <= target <= at}
    found = (_body(code, head, low, high) for head in sorted(heads))
    return tuple(body for body in found if body is not None)


def largest(bodies: Sequence[Body], what: str) -> Body:
    """Return the loop with the most carry-less products, and the shortest of these.

    Raises:
        GhashgenError: no loop has one.
    """
    best = max(
        bodies, key=lambda body: (body.products, -len(body.instructions), -body.head), default=None
    )
    if best is None or not best.products:
        raise GhashgenError(
            f"{what} has no loop with a carry-less product", "name the function that holds the loop"
        )
    return best


def blocks(body: Body) -> int:
    """Return the blocks of one pass: the only step of pointers and lengths, divided by 16 bytes.

    Raises:
        GhashgenError: registers move by several distances, or not by whole blocks.
    """
    steps = sorted(
        {
            step
            for step in map(body.decoder.steps, body.instructions)
            if step and step % BLOCK_BYTES == 0
        }
    )
    if len(steps) != 1:
        said = " and ".join(map(str, steps)) or "no multiple of 16"
        raise GhashgenError(
            f"the number of blocks in a pass is unclear: registers move by {said} bytes",
            "give --blocks",
        )
    return steps[0] // BLOCK_BYTES
