"""Which registers are live where, by backward data flow over the blocks.

It works for every stage: a table says what each code reads and writes and where control goes,
`ir.program.CODES` for abstract operations and `Isa.rows` for instructions. A set of registers is an
integer with one bit for each register, so a data-flow step on a thousand registers is three integer
operations.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from ghashgen.arch.rows import Row
from ghashgen.ir.program import Block, Code, Flow, Label, Op, Program, Reg

Facts = Mapping[str, Code] | Mapping[str, Row]
"""What each code of a stage does."""

_LEAVES = (Flow.JUMP, Flow.RETURN)


def positions(blocks: Sequence[Block]) -> dict[str, int]:
    """Return the index of every block by its label."""
    return {block.label: i for i, block in enumerate(blocks)}


def targets(op: Op) -> list[str]:
    """Return the labels to which an operation may branch; a block may branch before its end.

    A label is always an operation's last operand: `arch.rows.Row` and `ir.program.Code` enforce it.
    """
    last = op.operands[-1] if op.operands else None
    return [last.name] if isinstance(last, Label) and not last.of else []


def falls_through(blocks: Sequence[Block], index: int, facts: Facts) -> bool:
    """Whether control may run from the end of block `index` into the next one."""
    ops = blocks[index].ops
    return not (ops and facts[ops[-1].code].flow in _LEAVES) and index + 1 < len(blocks)


def bits_of(mask: int) -> Iterator[int]:
    """Yield the positions of the bits that are set, from the lowest."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


class RegisterSet(Set[Reg]):
    """A set of registers as bits: bit k stands for the register numbered k."""

    __slots__ = ("_numbers", "bits")

    def __init__(self, numbers: Mapping[Reg, int], bits: int) -> None:
        self._numbers = numbers
        self.bits = bits

    def __contains__(self, reg: object) -> bool:
        number = self._numbers.get(reg, -1)  # type: ignore[call-overload]
        return bool(number >= 0 and self.bits >> number & 1)

    def __iter__(self) -> Iterator[Reg]:
        registers = tuple(self._numbers)
        return (registers[number] for number in bits_of(self.bits))

    def __len__(self) -> int:
        return self.bits.bit_count()

    @classmethod
    def _from_iterable(cls, it: Iterable[Reg]) -> frozenset[Reg]:  # type: ignore[override]
        return frozenset(it)


@dataclass(frozen=True)
class Liveness:
    """For every block, the registers live after each of its operations, and at its start."""

    after: tuple[tuple[RegisterSet, ...], ...]
    at_start: tuple[RegisterSet, ...]
    numbers: Mapping[Reg, int]
    """The bit of every register, in order of first appearance."""
    writes: tuple[tuple[tuple[Reg, ...], ...], ...]
    """For every block, the registers that each of its operations writes."""


def liveness(program: Program, facts: Facts) -> Liveness:
    """Return what is live where."""
    blocks = program.blocks
    at = positions(blocks)
    numbers: dict[Reg, int] = {}

    def mask(registers: Iterable[Reg]) -> int:
        bits = 0
        for reg in registers:
            bits |= 1 << numbers.setdefault(reg, len(numbers))
        return bits

    mask(program.params)
    # Constant during the iteration: (blocks branched to, reads, writes), last op first.
    steps = []
    written: list[list[tuple[Reg, ...]]] = []
    for block in blocks:
        forward = []
        written.append([])
        for op in block.ops:
            reads, writes = facts[op.code].effects(op)
            written[-1].append(writes)
            forward.append(([at[name] for name in targets(op)], mask(reads), ~mask(writes)))
        steps.append(forward[::-1])
    start = [0] * len(blocks)
    after: list[list[int]] = [[] for _ in blocks]
    changed = True
    while changed:
        changed = False
        for i in reversed(range(len(blocks))):
            live = start[i + 1] if falls_through(blocks, i, facts) else 0
            points = []
            for leaving, read, kept in steps[i]:
                for to in leaving:
                    live |= start[to]
                points.append(live)
                live = live & kept | read
            after[i] = points
            if live != start[i]:
                start[i], changed = live, True
    return Liveness(
        tuple(tuple(RegisterSet(numbers, live) for live in reversed(points)) for points in after),
        tuple(RegisterSet(numbers, live) for live in start),
        numbers,
        tuple(map(tuple, written)),
    )
