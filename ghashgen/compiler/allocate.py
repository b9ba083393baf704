"""allocate: maps virtual registers to physical ones; spills to the stack if they do not suffice.

Copies are coalesced first: a copy vanishes if its two registers do not interfere. Then classes are
coloured in order of definition, each with the first free register; if that fails, in an order that
fits more. If it still fails, the failing class, or those that block it in one colour, are spilled,
whichever is cheaper. A spilled class lives in an aligned stack slot and is used from there if the
instruction can read memory; otherwise it is reloaded. The result is deterministic: no set is
iterated without sorting. `recheck` verifies it independently.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush

from ghashgen.arch.core import Abi
from ghashgen.arch.rows import Isa
from ghashgen.compiler.interference import Interference, meet
from ghashgen.ir.program import Block, Flow, Mem, Op, Operand, PReg, Program, RegClass, Slot, VReg
from ghashgen.support.errors import GhashgenError

MAX_SLOTS = 256


@dataclass(frozen=True)
class Allocation:
    """An allocated program, and the number of spill slots, each as wide as a register, in its
    frame.
    """

    program: Program
    slots: int
    spill_ops: int
    """Instructions that only move a spilled value."""
    easy: bool = True
    """Whether registers were taken in order of definition."""


def allocate(
    program: Program,
    isa: Isa,
    abi: Abi,
    vector_limit: int | None = None,
    max_slots: int = MAX_SLOTS,
    easily: bool = False,
) -> Allocation:
    """Return the program on physical registers.

    `vector_limit` is the number of vector registers to use (for tests), `max_slots` the number of
    values that may be spilled; `easily` allows only the colouring in order of definition.

    Raises:
        GhashgenError: the registers do not suffice.
    """
    pools = {
        RegClass.VEC: sorted(
            range(vector_limit or isa.vector_registers), key=lambda i: (i in abi.saved_vectors, i)
        ),
        RegClass.GPR: (*abi.volatile, *abi.saved),
        RegClass.MASK: range(1, isa.mask_registers),
    }
    fixed = dict(zip(program.params, abi.params, strict=False))
    given = _given(program, isa)
    pinned: frozenset[VReg] = frozenset()
    # A slot is as wide as the group loop's registers; wider values stay in registers.
    too_wide = frozenset(
        reg
        for op in program.ops
        if op.width > 128 * isa.lanes
        for reg, width in isa.rows[op.code].widths(op)
        if isinstance(reg, VReg) and width > 128 * isa.lanes
    )
    for slots in range(program.slots, program.slots + max_slots + 1):
        graph = Interference(program, isa)
        _coalesce(graph, fixed)
        wanted = {graph.find(reg): isa.arch.result for reg in given}
        colours, failed = _colour(graph, pools, fixed, wanted, graph.classes())
        easy = failed is None
        if not (easy or easily):
            colours, failed = _colour(graph, pools, fixed, wanted, _smallest_last(graph))
        if failed is None:
            homes = {reg: PReg(reg.cls, colours[graph.find(reg)]) for reg in graph.order}
            out = rewrite(program, isa, homes)
            moved = sum(1 for op in out.ops if op.origin < 0)
            return Allocation(out, slots, moved, easy)
        victim = _victim(program, graph, failed, colours, pinned | too_wide)
        program, fresh = _spill(program, isa, frozenset(graph.members(victim)), Slot(slots))
        pinned |= fresh
    raise GhashgenError(
        f"{program.name}: there are too few registers", "choose fewer blocks or a simpler variant"
    )


def _given(program: Program, isa: Isa) -> list[VReg]:
    """Return the registers whose values the function returns."""
    returns = [op for op in program.ops if isa.rows[op.code].flow is Flow.RETURN]
    return [reg for op in returns for reg in op.operands if isinstance(reg, VReg)]


def _coalesce(graph: Interference, fixed: Mapping[VReg, int]) -> None:
    anchored = set(fixed)
    for target, source in graph.copies:
        a, b = graph.find(target), graph.find(source)
        if a is b or graph.interfere(a, b):
            continue
        if b in anchored:
            if a in anchored:
                continue
            a, b = b, a
        graph.merge(a, b)


def _colour(
    graph: Interference,
    pools: Mapping[RegClass, Sequence[int]],
    fixed: Mapping[VReg, int],
    wanted: Mapping[VReg, int],
    order: Sequence[VReg],
) -> tuple[dict[VReg, int], VReg | None]:
    colours: dict[VReg, int] = dict(fixed)
    # (members, edges) of what has a colour already, by register file and colour.
    taken = {cls: dict.fromkeys(pool, (0, 0)) for cls, pool in pools.items()}

    def take(reg: VReg, colour: int, masks: tuple[int, int]) -> None:
        members, edges = taken[reg.cls].get(colour, (0, 0))
        taken[reg.cls][colour] = members | masks[0], edges | masks[1]

    for reg, colour in fixed.items():
        take(reg, colour, graph.masks(reg))
    for reg in order:
        if reg in colours:
            continue
        masks, others = graph.masks(reg), taken[reg.cls]
        first = (wanted[reg],) if reg in wanted else ()
        free = (c for c in (*first, *pools[reg.cls]) if not meet(masks, others[c]))
        found = next(free, None)
        if found is None:
            return colours, reg
        colours[reg] = found
        take(reg, found, masks)
    return colours, None


def _smallest_last(graph: Interference) -> list[VReg]:
    """Return the classes in an order in which each meets few of the earlier ones.

    The class with the fewest neighbours comes last, and so on recursively (Matula and Beck, 1983).
    Most functions do not need this and keep registers in the order of their use.
    """
    left = {reg: graph.neighbours(reg) for reg in graph.classes()}
    place = {reg: -i for i, reg in enumerate(left)}
    # A class is queued anew whenever it loses a neighbour; its earlier entries are then too high.
    queue = [(len(others), place[reg], reg) for reg, others in left.items()]
    heapify(queue)
    out: list[VReg] = []
    while queue:
        count, _, reg = heappop(queue)
        if reg not in left or len(left[reg]) != count:
            continue
        for other in left.pop(reg):
            left[other].discard(reg)
            heappush(queue, (len(left[other]), place[other], other))
        out.append(reg)
    return out[::-1]


def _victim(
    program: Program,
    graph: Interference,
    failed: VReg,
    colours: Mapping[VReg, int],
    pinned: frozenset[VReg],
) -> VReg:
    """Return the class to move to the stack for one that found no colour.

    The price of a class is its uses, weighted by loop depth. The cheapest choice goes: the failed
    class itself, or all that block it in one colour, of which first the one with most neighbours.
    """
    if failed.cls is not RegClass.VEC:
        raise GhashgenError(
            f"{program.name}: there are too few general registers", "choose a simpler variant"
        )
    price: dict[VReg, int] = {}
    for block in program.blocks:
        for op in block.ops:
            for operand in op.operands:
                if isinstance(operand, VReg):
                    home = graph.find(operand)
                    price[home] = price.get(home, 0) + 10**block.depth
    ways: dict[int, list[VReg]] = {-1: [failed]}
    for other in sorted(graph.neighbours(failed) & colours.keys()):
        ways.setdefault(colours[other], []).append(other)
    open_ = [
        way for way in ways.values() if not any(pinned & set(graph.members(reg)) for reg in way)
    ]
    if not open_:
        # Another of the colours' classes may be moved, which may then suffice.
        open_ = [
            [reg] for way in ways.values() for reg in way if not pinned & set(graph.members(reg))
        ]
    if not open_:
        raise GhashgenError(
            f"{program.name}: one instruction needs more registers than there are",
            "choose an ISA with more registers",
        )
    cheapest = min(open_, key=lambda way: (sum(price.get(reg, 0) for reg in way), way))
    return min(cheapest, key=lambda reg: (-len(graph.neighbours(reg)), reg))


def _spill(
    program: Program, isa: Isa, members: frozenset[VReg], slot: Slot
) -> tuple[Program, frozenset[VReg]]:
    """Move a class to a stack slot; return the program and the short-lived registers that it
    adds.
    """
    registers = [x for op in program.ops for x in op.operands if isinstance(x, VReg)]
    next_index = max(reg.index for reg in registers)
    fresh: list[VReg] = []
    (load,), (store,) = isa.lower["load_aligned"], isa.lower["store"]
    width = 128 * isa.lanes
    blocks = []
    for block in program.blocks:
        ops: list[Op] = []
        for op in block.ops:
            if isa.rows[op.code].copy and not members.isdisjoint(op.operands):
                ops.extend(_spilled_copy(op, members, slot, (load.row, store.row), width))
                continue
            operands: list[Operand] = []
            after: list[Op] = []
            temporary: VReg | None = None
            for spec, operand in zip(isa.rows[op.code].operands, op.operands, strict=True):
                if operand not in members:
                    operands.append(operand)
                elif spec.role == "r" and spec.accepts(slot):
                    operands.append(slot)
                else:
                    if temporary is None:
                        next_index += 1
                        temporary = VReg(RegClass.VEC, next_index, "spilled")
                        fresh.append(temporary)
                    if "r" in spec.role:
                        ops.append(Op(load.row, (temporary, slot), width, "reload"))
                    if "w" in spec.role:
                        after.append(Op(store.row, (slot, temporary), width, "spill"))
                    operands.append(temporary)
            ops.extend((op.on(*operands), *after))
        blocks.append(Block(block.label, tuple(ops), block.depth))
    return replace(program, blocks=tuple(blocks)), frozenset(fresh)


def _spilled_copy(
    op: Op, members: frozenset[VReg], slot: Slot, rows: tuple[str, str], width: int
) -> list[Op]:
    """Return the load or store that replaces a copy from or to a spilled register."""
    target, source = op.operands
    load, store = rows
    if target in members and source in members:
        return []
    if source in members:
        return [Op(load, (target, slot), width, "reload")]
    return [Op(store, (slot, source), width, "spill")]


def rewrite(program: Program, isa: Isa, homes: Mapping[VReg, PReg]) -> Program:
    """Insert physical registers and drop copies that became empty."""

    def move(operand: Operand) -> Operand:
        if isinstance(operand, VReg):
            return homes[operand]
        if isinstance(operand, Mem):
            base, index = (
                homes[r] if isinstance(r, VReg) else r for r in (operand.base, operand.index)
            )
            return replace(operand, base=base, index=index)
        return operand

    blocks = []
    for block in program.blocks:
        ops = [op.on(*map(move, op.operands)) for op in block.ops]
        kept = [
            op for op in ops if not (isa.rows[op.code].copy and op.operands[0] == op.operands[1])
        ]
        blocks.append(replace(block, ops=tuple(kept)))
    return replace(program, blocks=tuple(blocks))
