"""The control-flow graph of one function, its loops, and the live registers at each address.

Liveness only decides which values a proof forgets at a cut. Forgetting is always sound: a mistake
here could make a proof fail, but never make it wrong.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from iced_x86 import (
    Code,
    EncodingKind,
    FlowControl,
    Instruction,
    InstructionInfoFactory,
    Mnemonic,
    OpAccess,
    OpKind,
    Register,
)

from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.machine.image import Image
from ghashgen.verify.machine.target import FLAGS, MASK, VECTOR
from ghashgen.verify.x86_64.decoding import decode
from ghashgen.verify.x86_64.machine import (
    RSP,
    gpr_index,
    is_mask,
    is_vector,
    mask_index,
    vector_index,
)

CLEARING = (Code.VEX_VZEROUPPER, Code.VEX_VZEROALL)

EVERYTHING = frozenset(range(FLAGS + 1))

READS = (
    OpAccess.READ, OpAccess.COND_READ, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE,
)  # fmt: skip


@dataclass(frozen=True)
class Use:
    """Registers that an instruction reads, and those that it always writes."""

    reads: frozenset[int]
    writes: frozenset[int]


@dataclass(frozen=True)
class Flow:
    """What the executor needs to know of a function's code."""

    instructions: dict[int, Instruction]
    cuts: frozenset[int]
    """Heads and exits of loops, targets of jumps over a loop, and `meetings`."""
    meetings: frozenset[int]
    """Other places where two paths meet, on request."""
    turned: Mapping[int, frozenset[int]]
    """Per cut, the registers that its loops write, including loops that are jumped over."""
    live: dict[int, frozenset[int]]
    written: frozenset[int]
    """Registers that any instruction writes."""
    upper_written: frozenset[int]
    """Vector registers whose bits above 127 any instruction writes."""
    loaded: Mapping[int, frozenset[int]]
    """Per instruction, the general registers that may hold data when it is reached: anything from
    memory except the frame, from a vector or mask register, or computed from these.
    """
    vector_writes: dict[int, tuple[int, ...]]
    """Per instruction, the vector registers that it writes."""


def register_number(register: Any) -> int | None:
    """Return the number of a register here, None if it has none."""
    if is_vector(register):
        return VECTOR + vector_index(register)
    if is_mask(register):
        return MASK + mask_index(register)
    try:
        return gpr_index(register)
    except Refutation:
        return None


def use_of(instruction: Instruction, factory: InstructionInfoFactory) -> Use:
    """Return the registers that an instruction uses."""
    reads: set[int] = set()
    writes: set[int] = set()
    if instruction.code in CLEARING:
        # Only zeros are written, and VZEROUPPER keeps the low halves.
        return Use(frozenset(), frozenset())
    for used in factory.info(instruction).used_registers():
        number = register_number(used.register)
        if number is None:
            continue
        if used.access in READS:
            reads.add(number)
        if used.access in (OpAccess.WRITE, OpAccess.READ_WRITE):
            writes.add(number)
    if instruction.rflags_read:
        reads.add(FLAGS)
    if instruction.rflags_modified:
        writes.add(FLAGS)
    return Use(frozenset(reads), frozenset(writes))


def _reached(successors: Mapping[int, tuple[int, ...] | None], address: int) -> set[int]:
    """Return the addresses that control can reach from one."""
    found, work = {address}, [address]
    while work:
        for following in successors.get(work.pop()) or ():
            if following not in found:
                found.add(following)
                work.append(following)
    return found


def _successors(instruction: Instruction) -> tuple[int, ...] | None:
    """Return the possible next addresses, None if the code does not show them."""
    kind = instruction.flow_control
    following, target = int(instruction.next_ip), int(instruction.near_branch_target)
    match kind:
        case FlowControl.NEXT:
            return (following,)
        case FlowControl.UNCONDITIONAL_BRANCH:
            return (target,)
        case FlowControl.CONDITIONAL_BRANCH:
            return (following, target)
        case FlowControl.CALL:
            return (target, following)
        case FlowControl.RETURN:
            return ()
    return None


def flow_of(image: Image, entry: int, saved: frozenset[int], meetings: bool = False) -> Flow:
    """Explore the code from an entry. `saved` are the registers that the callee must preserve.

    With `meetings`, runs can be cut wherever two paths meet without skipping a loop.
    """
    instructions: dict[int, Instruction] = {}
    successors: dict[int, tuple[int, ...] | None] = {}
    work = [entry]
    while work:
        address = work.pop()
        if address in instructions:
            continue
        try:
            instruction = decode(image, address)
        except Refutation:
            # Reported if control gets there.
            continue
        instructions[address] = instruction
        successors[address] = _successors(instruction)
        work.extend(successors[address] or ())
    jumps = (FlowControl.CONDITIONAL_BRANCH, FlowControl.UNCONDITIONAL_BRANCH)
    leaps = [
        (address, int(instruction.near_branch_target), int(instruction.next_ip))
        for address, instruction in instructions.items()
        if instruction.flow_control in jumps
    ]
    loops = [(target, address, after) for address, target, after in leaps if target <= address]
    factory = InstructionInfoFactory()
    uses = {address: use_of(i, factory) for address, i in instructions.items()}
    turned: dict[int, frozenset[int]] = {}
    for head, last, after in loops:
        inside = (use.writes for address, use in uses.items() if head <= address <= last)
        written = frozenset().union(*inside)
        # Where paths around a loop meet those out of it.
        skipping = {target for address, target, _ in leaps if address < head and last < target}
        skips = sorted(skipping & _reached(successors, after)) if skipping else ()
        for cut in (head, after, *skips):
            if cut in instructions:
                turned[cut] = turned.get(cut, frozenset()) | written
    ways = Counter(target for after in successors.values() for target in after or ())
    met = {t for at, t, _ in leaps if meetings and at < t and ways[t] > 1} & set(instructions)
    met -= set(turned)
    calls = [i for i in instructions.values() if i.flow_control == FlowControl.CALL]
    behind = tuple({int(i.next_ip) for i in calls} & set(instructions))
    return Flow(
        instructions,
        frozenset(turned) | met,
        frozenset(met),
        turned,
        _liveness(successors, uses, saved | {RSP}, behind),
        frozenset().union(*(u.writes for u in uses.values())),
        frozenset(
            number
            for address, instruction in instructions.items()
            if instruction.encoding != EncodingKind.LEGACY
            for number in uses[address].writes
            if VECTOR <= number < MASK
        ),
        _loaded(instructions, successors, uses),
        {
            address: tuple(sorted(n - VECTOR for n in u.writes if VECTOR <= n < MASK))
            for address, u in uses.items()
        },
    )


def _loads(instruction: Instruction, use: Use) -> bool:
    """Return whether an instruction writes data from memory (except the frame) or from lanes."""
    if instruction.mnemonic == Mnemonic.LEA:
        return False
    frame = instruction.memory_base in (Register.RSP, Register.NONE, Register.RIP)
    kinds = (instruction.op_kind(k) for k in range(1, instruction.op_count))
    from_memory = not frame and any(kind == OpKind.MEMORY for kind in kinds)
    return from_memory or any(VECTOR <= number < FLAGS for number in use.reads)


def _loaded(
    instructions: Mapping[int, Instruction],
    successors: Mapping[int, tuple[int, ...] | None],
    uses: Mapping[int, Use],
) -> dict[int, frozenset[int]]:
    before: dict[int, frozenset[int]] = {address: frozenset() for address in instructions}
    work = sorted(instructions, reverse=True)
    while work:
        address = work.pop()
        use, held = uses[address], before[address]
        after = held - use.writes
        if _loads(instructions[address], use) or use.reads & held:
            after |= {number for number in use.writes if number < VECTOR and number != RSP}
        for following in successors[address] or ():
            if following in before and not after <= before[following]:
                before[following] |= after
                work.append(following)
    return before


def _liveness(
    successors: dict[int, tuple[int, ...] | None],
    uses: dict[int, Use],
    at_return: frozenset[int],
    behind: tuple[int, ...],
) -> dict[int, frozenset[int]]:
    """Return the live registers at each address; a RET goes after any call, or out."""
    live: dict[int, frozenset[int]] = {address: frozenset() for address in successors}
    order = sorted(successors, reverse=True)
    changed = True
    while changed:
        changed = False
        for address in order:
            following = successors[address]
            if following is None:
                after = EVERYTHING
            elif not following:
                after = at_return.union(*(live[site] for site in behind))
            else:
                after = frozenset().union(*(live.get(n, EVERYTHING) for n in following))
            use = uses[address]
            before = use.reads | (after - use.writes)
            if before != live[address]:
                live[address] = before
                changed = True
    return live
