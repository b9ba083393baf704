"""The control-flow graph of one function, its loops, and the live registers at each address."""

from collections.abc import Mapping
from dataclasses import dataclass

from iced_x86 import FlowControl, Instruction, InstructionInfoFactory

from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.x86_64.abi import Abi
from ghashgen.verify.x86_64.decoding import decode
from ghashgen.verify.x86_64.elf import Image
from ghashgen.verify.x86_64.machine import RSP
from ghashgen.verify.x86_64.uses import FLAGS, VECTOR, Use, use_of

EVERYTHING = frozenset(range(FLAGS + 1))


@dataclass(frozen=True)
class Flow:
    """What the search needs to know of a function's code."""

    instructions: dict[int, Instruction]
    cuts: frozenset[int]
    """Heads and exits of loops, and targets of jumps over a loop."""
    live: dict[int, frozenset[int]]
    """Per instruction, the registers whose values may still be read."""


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


def flow_of(image: Image, entry: int, abi: Abi) -> Flow:
    """Explore the code from an entry."""
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
    cuts: set[int] = set()
    for last, head, after in leaps:
        if head > last:
            continue
        # Where paths around a loop meet those out of it.
        skipping = {target for address, target, _ in leaps if address < head and last < target}
        cuts |= {head, after} | (skipping & _reached(successors, after) if skipping else set())
    factory = InstructionInfoFactory()
    uses = {address: use_of(i, factory) for address, i in instructions.items()}
    calls = [i for i in instructions.values() if i.flow_control == FlowControl.CALL]
    behind = tuple({int(i.next_ip) for i in calls} & set(instructions))
    saved = {*abi.saved, *(VECTOR + k for k in abi.saved_vectors), RSP}
    live = _liveness(successors, uses, frozenset(saved), behind)
    return Flow(instructions, frozenset(cuts & set(instructions)), live)


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
