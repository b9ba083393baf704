"""Placement: jumps stay clear of the ends of 32-byte lines.

On Skylake and its kin up to Comet Lake (erratum SKX102; Intel, "Mitigations for Jump Conditional
Code Erratum", 2019) a jump that crosses or touches the end of a 32-byte line of code leaves the
cache of decoded instructions, with all that shares its line. A call of GHASH for one block is about
twenty instructions, so one such jump weighs there. Elsewhere padding is a few bytes of NOPs.

How long instructions are, the assembler says: the listing is assembled, padded, and assembled again
until every jump is in place. A jump fused with the comparison before it counts as one. The padding
of a jump inside a loop stands before the loop's head, where it runs once.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ghashgen.arch.core import Arch
from ghashgen.arch.decoder import Native
from ghashgen.arch.objects import ObjectCode, read_object
from ghashgen.arch.rows import Isa
from ghashgen.compiler.pipeline import Compiled
from ghashgen.cost.audit import Audit, audit
from ghashgen.ir.program import Block, Flow, Op, Program
from ghashgen.output.render import Listing, listing
from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import Tool, assemble_text

NOTE = "padding: a jump keeps off the end of a 32-byte line"
MOST_NOPS = 12
"""NOPs before the head of a loop."""

ROUNDS = 8
"""Assemblies before giving up: a padded jump may become a longer one."""


@dataclass(frozen=True)
class Placed:
    """A listing whose jumps are in place, its ELF object, and what was found in the bytes."""

    listing: Listing
    code: ObjectCode
    audit: Audit


def place(first: Listing, nasm: Tool) -> Placed:
    """Return the listing with padding where a jump would touch the end of a line, and its banner.

    Raises:
        GhashgenError: nasm fails, no padding settles, or a kernel that should wipe does not.
    """
    target = first.target
    as_elf = target if target.fmt.elf else replace(target, fmt=first.kernel.set.arch.default_format)
    compiled = dict(first.compiled)
    text = first if target.fmt.elf else listing(first.kernel, as_elf, compiled)
    for _ in range(ROUNDS):
        code = _assemble(text, nasm)
        padded = {
            name: _pad(
                item, first.kernel.set, _body(code, target.symbol(f"{first.kernel.name}_{name}"))
            )
            for name, item in compiled.items()
        }
        if padded == compiled:
            found = audit(first.kernel, target.symbol(first.kernel.name), code)
            if first.kernel.wipe and any(left.names for left in found.left.values()):
                raise GhashgenError(f"{first.kernel.name} does not wipe all", "report this kernel")
            return Placed(listing(first.kernel, target, compiled, found), code, found)
        compiled = padded
        text = listing(first.kernel, as_elf, compiled)
    raise GhashgenError(
        f"{first.kernel.name}: the padding of its jumps does not settle", "report this kernel"
    )


def _assemble(text: Listing, nasm: Tool) -> ObjectCode:
    return read_object(assemble_text(nasm, text.kernel.name, text.text, "elf64"))


def _body(code: ObjectCode, symbol: str) -> list[Native]:
    return code.between(symbol, f"{symbol}.end")


def _pad(item: Compiled, isa: Isa, instructions: Sequence[Native]) -> Compiled:
    """Return the function padded, by the lengths that its instructions have now."""
    program = item.function.program
    if len(program.ops) != len(instructions):
        raise ValueError(f"{len(program.ops)} operations became {len(instructions)} instructions")
    lengths = map(isa.arch.decoder.length, instructions)
    blocks = [[(op, next(lengths)) for op in block.ops] for block in program.blocks]
    if not _misplaced(blocks, isa):
        return item
    # Padding is only ever added: jumps then only grow longer, and the rounds come to an end.
    while found := _misplaced(blocks, isa):
        block, position, amount = found
        _insert(blocks, program, isa.arch, block, position, amount)
    placed = replace(
        program,
        blocks=tuple(
            replace(old, ops=tuple(op for op, _ in new))
            for old, new in zip(program.blocks, blocks, strict=True)
        ),
    )
    return replace(item, function=replace(item.function, program=placed))


_Sized = tuple[Op, int]
"""An operation and its length in bytes."""


def _misplaced(blocks: Sequence[Sequence[_Sized]], isa: Isa) -> tuple[int, int, int] | None:
    """Return (block, position, bytes to the next line) of the first jump that touches an end."""
    line, at = isa.arch.jump_line, 0
    if not line:
        return None
    for i, block in enumerate(blocks):
        for j, (op, length) in enumerate(block):
            flow = isa.rows[op.code].flow
            fused = flow is Flow.BRANCH and j > 0 and isa.rows[block[j - 1][0].code].fuses
            start = at - block[j - 1][1] if fused else at
            if flow is not Flow.NEXT and start // line != (at + length) // line:
                return i, j - fused, line - start % line
            at += length
    return None


def _insert(
    blocks: list[list[_Sized]],
    program: Program,
    arch: Arch,
    block: int,
    position: int,
    amount: int,
) -> None:
    """Insert padding before a jump, or before the head of its loop."""
    entries = [(replace(op, comment=NOTE), length) for op, length in arch.frame.pad(amount)]
    head = _loop_head(program.blocks, block)
    # Not for ever before a head: two jumps of one loop may want what excludes each other.
    if head is not None and sum(op.comment == NOTE for op, _ in blocks[head - 1]) < MOST_NOPS:
        blocks[head - 1].extend(entries)
    else:
        blocks[block][position:position] = entries


def _loop_head(blocks: Sequence[Block], block: int) -> int | None:
    """Return the first block of the loop that holds this one, None if none does."""
    if not blocks[block].depth:
        return None
    head = block
    while head and blocks[head - 1].depth >= blocks[block].depth:
        head -= 1
    return head or None
