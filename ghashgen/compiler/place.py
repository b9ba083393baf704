"""place: keeps jumps off the ends of lines of code (`arch.core.Jumps`).

An assembler tells instruction lengths, once. A jump's length follows from positions: it is short
until its target is out of reach. An assembler that starts with long jumps may keep some long that
only their own lengths put out of reach; such jumps are marked short (`Label.short`). A jump fused
with the comparison before it counts as one instruction. Padding for a jump inside a loop goes
before the loop's head, where it runs once; padding for a return before the epilogue if the
convention asks for that.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ghashgen.arch.core import Jumps
from ghashgen.arch.rows import Isa, Row
from ghashgen.compiler.frame import Function
from ghashgen.compiler.liveness import targets
from ghashgen.ir.program import Directive, Flow, Label, Line, Op

PAD = "pad"
NOTE = "padding: a jump keeps off the end of a 32-byte line"
MOST_NOPS = 12
"""Most NOPs before the head of a loop."""

ROUNDS = 8
"""Rounds before giving up: a padded jump may become a longer one."""


@dataclass(frozen=True)
class _Sized:
    """A line and its length in bytes, 0 if it is neither instruction nor padding."""

    line: Line
    length: int = 0

    @property
    def emits(self) -> bool:
        return isinstance(self.line, Op) or self.line.code == PAD


def place(
    function: Function, isa: Isa, lengths: Sequence[int], plain_epilogues: bool = False
) -> Function:
    """Return the function with padding where a jump would touch the end of a line.

    `lengths` are the bytes of its operations, in order, from an assembly without padding.

    Raises:
        ValueError: the lengths do not fit these operations, or the padding does not settle.
    """
    if len(function.ops) != len(lengths):
        raise ValueError(f"{len(function.ops)} operations became {len(lengths)} instructions")
    jumps = isa.arch.jumps
    if jumps is None:
        return replace(function, lengths=tuple(lengths))
    found = iter(lengths)
    sized = [_Sized(line, next(found) if isinstance(line, Op) else 0) for line in function.lines]
    relaxed = _relaxed(sized, isa, jumps)
    for ours, theirs in zip(relaxed, sized, strict=True):
        if ours.length != theirs.length and not _says(ours.line):
            raise ValueError(f"{ours.line} has {theirs.length} bytes, not {ours.length}")
    for _ in range(ROUNDS):
        # Padding is only added, so jumps only grow and the rounds end.
        padded = list(relaxed)
        while misplaced := _misplaced(padded, isa, jumps):
            position, amount = misplaced
            if plain_epilogues:
                position = _before_epilogue(padded, position)
            _insert(padded, isa, position, amount)
        if padded == relaxed:
            return replace(
                function,
                lines=tuple(item.line for item in padded),
                lengths=tuple(item.length for item in padded if item.emits),
            )
        relaxed = _relaxed(padded, isa, jumps)
    raise ValueError("the padding of its jumps does not settle")


def filled(function: Function, isa: Isa) -> Function:
    """Return a placed function with the filling between it and the next."""
    gap = -sum(function.lengths) % isa.arch.entry_align
    return (
        replace(function, lines=(*function.lines, Directive("fill", (gap,)))) if gap else function
    )


def _row(line: Line, isa: Isa) -> Row | None:
    return isa.rows[line.code] if isinstance(line, Op) else None


def _relaxed(sized: Sequence[_Sized], isa: Isa, jumps: Jumps) -> list[_Sized]:
    """Return the lines with every jump as short as the others allow, and marked if it might stay
    long where all begin long.
    """
    targeted = {
        i: targets(item.line)[0]
        for i, item in enumerate(sized)
        if isinstance(item.line, Op) and targets(item.line)
    }
    near = {i: _near(sized[i].line, isa, jumps) for i in targeted}

    def away(lengths: Sequence[int]) -> Mapping[int, int]:
        """Return from where each jump ends to its target."""
        at, labels, ends = 0, {}, []
        for item, length in zip(sized, lengths, strict=True):
            if isinstance(item.line, Directive) and item.line.code == "label":
                labels[item.line.label()] = at
            at += length
            ends.append(at)
        return {i: labels[label] - ends[i] for i, label in targeted.items()}

    lengths = [jumps.short if i in targeted else item.length for i, item in enumerate(sized)]
    while grown := [
        i for i, far in away(lengths).items() if lengths[i] < near[i] and far not in jumps.reach
    ]:
        for i in grown:
            lengths[i] = near[i]
    kept = [near.get(i, item.length) for i, item in enumerate(sized)]
    while shrunk := [
        i
        for i, far in away(kept).items()
        if kept[i] == near[i] and far + near[i] - jumps.short in jumps.reach
    ]:
        for i in shrunk:
            kept[i] = jumps.short
    lines = [item.line for item in sized]
    for i, label in targeted.items():
        op = lines[i]
        assert isinstance(op, Op)
        lines[i] = op.on(*op.operands[:-1], Label(label, lengths[i] < kept[i]))
    return [_Sized(line, length) for line, length in zip(lines, lengths, strict=True)]


def _says(line: Line) -> bool:
    """Return whether a line is a jump marked with its length."""
    target = line.operands[-1] if line.operands else None
    return isinstance(target, Label) and target.short


def _near(line: Line, isa: Isa, jumps: Jumps) -> int:
    """Return the length in bytes of a jump that is not short."""
    flow = isa.rows[line.code].flow
    assert isinstance(flow, Flow)
    return jumps.near[flow]


def _misplaced(sized: Sequence[_Sized], isa: Isa, jumps: Jumps) -> tuple[int, int] | None:
    """Return (line, bytes to the next line of code) of the first jump that touches an end."""
    at = 0
    for i, item in enumerate(sized):
        row = _row(item.line, isa)
        if row is not None and row.flow is not Flow.NEXT:
            before = _row(sized[i - 1].line, isa) if i else None
            fused = row.flow is Flow.BRANCH and before is not None and before.fuses
            start = at - sized[i - 1].length if fused else at
            if start // jumps.line != (at + item.length) // jumps.line:
                return i - fused, jumps.line - start % jumps.line
        at += item.length
    return None


def _before_epilogue(sized: Sequence[_Sized], position: int) -> int:
    """Return where the epilogue begins that ends before this line, or this line."""
    while position > 1:
        line = sized[position - 1].line
        if not (isinstance(line, Directive) and line.code in ("popped", "shrunk")):
            break
        position -= 2
    return position


def _insert(sized: list[_Sized], isa: Isa, position: int, amount: int) -> None:
    """Insert padding before a jump, or before the head of its loop."""
    lengths = isa.arch.frame.pad(amount)
    entries = [_Sized(Directive(PAD, (n,), NOTE), n) for n in lengths]
    head = _loop_head(sized, position)
    # Limited, because two jumps of one loop may need contradictory padding.
    if head is not None and _pads_before(sized, head) < MOST_NOPS:
        position = head
    sized[position:position] = entries


def _is_label(item: _Sized) -> bool:
    return isinstance(item.line, Directive) and item.line.code == "label"


def _depth(item: _Sized) -> int:
    assert isinstance(item.line, Directive)
    return item.line.numbers()[0]


def _loop_head(sized: Sequence[_Sized], position: int) -> int | None:
    """Return the label that begins the loop around this line, or None."""
    labels = [i for i in range(position) if _is_label(sized[i])]
    if not labels or not _depth(sized[labels[-1]]):
        return None
    inside = _depth(sized[labels[-1]])
    head = labels.pop()
    while labels and _depth(sized[labels[-1]]) >= inside:
        head = labels.pop()
    return head


def _pads_before(sized: Sequence[_Sized], label: int) -> int:
    """Count the padding between the label before this one and this one."""
    count = 0
    for item in reversed(sized[:label]):
        if _is_label(item):
            break
        count += isinstance(item.line, Directive) and item.line.code == PAD
    return count
