"""fuse: merges two additions into one, a + b + c, if the ISA has it (VPTERNLOG).

An addition whose only use is another addition of the same block and width is merged into it. This
halves a chain of additions to an accumulator, and shortens the end of a reduction by one.
"""

from collections import Counter
from dataclasses import replace

from ghashgen.arch.rows import Isa
from ghashgen.ir.program import CODES, Block, Mem, Op, Operand, Program, Reg, Slot, VReg


def fuse(program: Program, isa: Isa) -> Program:
    """Return the program with pairs of additions fused, or unchanged if the ISA cannot."""
    if "xor3" not in isa.supported:
        return program
    effects = [CODES[op.code].effects(op) for op in program.ops]
    uses = Counter(reg for reads, _ in effects for reg in reads)
    written = Counter(reg for _, writes in effects for reg in writes)
    once = frozenset(reg for reg, count in uses.items() if count == 1 and written[reg] == 1)
    return replace(program, blocks=tuple(_block(block, once) for block in program.blocks))


def _block(block: Block, once: frozenset[Reg]) -> Block:
    out: dict[int, Op] = {}
    # Additions whose result has one use, still to come, and whose operands are unchanged.
    waiting: dict[Reg, int] = {}
    for position, original in enumerate(block.ops):
        op = original
        inner = _inner(op, waiting, out)
        if inner is not None:
            first = out.pop(waiting.pop(inner))
            rest: list[Operand] = [x for x in op.operands[1:] if x != inner]
            # The accumulator, which dies here, comes first: it is the operand to overwrite.
            sources = sorted((*first.operands[1:], *rest), key=lambda x: isinstance(x, Mem | Slot))
            op = replace(op, code="xor3", operands=(op.operands[0], *sources))
        out[position] = op
        _, writes = CODES[op.code].effects(op)
        stores = CODES[op.code].roles.startswith("m")
        for reg in [r for r, at in waiting.items() if _changed(out[at], writes, stores)]:
            del waiting[reg]
        if op.code == "xor" and op.operands[0] in once:
            assert isinstance(op.operands[0], VReg)
            waiting[op.operands[0]] = position
    return replace(block, ops=tuple(out[at] for at in sorted(out)))


def _changed(op: Op, writes: tuple[Reg, ...], stores: bool) -> bool:
    """Return whether an addition would read other values after these writes, or after a store."""
    return bool(set(CODES[op.code].effects(op)[0]) & set(writes)) or (stores and _memory(op) > 0)


def _memory(op: Op) -> int:
    return sum(isinstance(x, Mem | Slot) for x in op.operands)


def _inner(op: Op, waiting: dict[Reg, int], out: dict[int, Op]) -> Reg | None:
    """Return the source of an addition that can be merged into it."""
    if op.code != "xor":
        return None
    for source in op.operands[1:]:
        if isinstance(source, VReg) and source in waiting:
            first = out[waiting[source]]
            if first.width == op.width and _memory(first) + _memory(op) <= 1:
                return source
    return None
