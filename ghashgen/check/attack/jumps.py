"""Every jump of an object with another condition or target, and new jumps over its instructions.

Jumps first get distances of 32 bits. So each reaches each instruction, no change moves an address,
and a certificate of the object fits its mutants.
"""

import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from iced_x86 import FlowControl, Instruction

from ghashgen.arch.elf import read_elf
from ghashgen.check.attack.elf import CODE, Line, ObjectFile
from ghashgen.check.attack.scratches import SCRATCHES

_FLOWS = (FlowControl.UNCONDITIONAL_BRANCH, FlowControl.CONDITIONAL_BRANCH)
_CONDITIONS, _DISTANCE = 16, 4
_JCC, _JMP, _NOP = 0x80, b"\xe9", b"\x90"
_NEAR = 2
"""How many instructions before and behind a jump and its target become its target."""
_FARTHEST = 24
"""Instructions that a new jump leaves out, at most."""
_APART = 64
"""Alignment of code that is put behind other code."""
_OTHERS = ("filled with NOPs", "written over another", "bytes exchanged", "bit of an immediate")
"""Other kinds of fault that move no address."""


@dataclass(frozen=True)
class Change:
    """Other bytes for some instructions."""

    what: str
    at: int
    content: bytes

    def made(self, obj: ObjectFile) -> ObjectFile:
        """Return the object with this change."""
        return obj.patched(obj.place(CODE).start + self.at, self.content)


@dataclass(frozen=True)
class Jumping:
    """An object whose jumps all have 32-bit distances, and where its functions begin."""

    obj: ObjectFile
    starts: Mapping[str, int]

    @cached_property
    def index(self) -> Mapping[int, int]:
        """The number of each instruction by its offset."""
        return {line.at: k for k, line in enumerate(self.obj.lines)}

    @cached_property
    def jumps(self) -> Sequence[Line]:
        """Its jumps."""
        every = (line for line in self.obj.lines if line.relocation is None)
        return [line for line in every if line.instruction.flow_control in _FLOWS]

    @cached_property
    def reached(self) -> Mapping[str, frozenset[int]]:
        """The offsets of the instructions that each function may come to."""
        return {name: self._reached(start) for name, start in self.starts.items()}

    def _reached(self, start: int) -> frozenset[int]:
        found, left = set[int](), [start]
        while left:
            at = left.pop()
            if at in found or at not in self.index:
                continue
            found.add(at)
            i = self.obj.lines[self.index[at]].instruction
            if i.flow_control in _FLOWS:
                left.append(int(i.near_branch64))
            if i.flow_control in (FlowControl.NEXT, FlowControl.CONDITIONAL_BRANCH):
                left.append(int(i.next_ip))
        return frozenset(found)

    def changed(self, change: Change) -> frozenset[int]:
        """Return the offsets of the instructions that a change reaches into."""
        return frozenset(
            line.at
            for line in self.obj.lines
            if line.at < change.at + len(change.content) and line.instruction.next_ip > change.at
        )

    def touched(self, change: Change) -> list[str]:
        """Return the functions that may come to changed instructions."""
        changed = self.changed(change)
        return [name for name, every in self.reached.items() if changed & every]

    def changes(self) -> Iterator[Change]:
        """Yield every change of one jump: other conditions, always, never, and other targets.

        These are the labels and beginnings of the functions that come to the jump, and a few
        instructions beside the jump and its target.
        """
        labels = {_target(line) for line in self.jumps} | {*self.starts.values()}
        for line in self.jumps:
            yield from self._conditions(line)
            own = {at for every in self.reached.values() if line.at in every for at in every}
            beside = (*self._near(line.at), *self._near(_target(line)))
            for target in sorted({*(labels & own), *beside} - {_target(line)}):
                at = int(line.instruction.next_ip)
                distance = _distance(target - at)
                yield Change(f"{_said(line)} -> {target:#x}", at - _DISTANCE, distance)

    def _near(self, at: int) -> list[int]:
        k, lines = self.index[at], self.obj.lines
        return [line.at for line in lines[max(0, k - _NEAR) : k + _NEAR + 1]]

    def _conditions(self, line: Line) -> Iterator[Change]:
        i = line.instruction
        yield Change(f"{_said(line)} never", line.at, _NOP * i.len)
        if i.flow_control != FlowControl.CONDITIONAL_BRANCH:
            return
        code = self.obj.code[line.at : i.next_ip]
        yield Change(f"{_said(line)} always", line.at, _NOP + _JMP + code[-_DISTANCE:])
        for other in range(_JCC, _JCC + _CONDITIONS):
            if other != code[1]:
                said = f"{_said(line)} by condition {other - _JCC}"
                yield Change(said, line.at + 1, bytes([other]))

    def drawn(self, rng: random.Random) -> Change:
        """Return a new jump over instructions or to a label, or a fault of another kind."""
        if rng.random() < 0.5:
            return self._planted(rng)
        while True:
            made = SCRATCHES[rng.choice(_OTHERS)](self.obj, rng)
            if made is not None and made[1].code != self.obj.code:
                pairs = enumerate(zip(made[1].code, self.obj.code, strict=True))
                other = [k for k, (a, b) in pairs if a != b]
                return Change(made[0], other[0], made[1].code[other[0] : other[-1] + 1])

    def _planted(self, rng: random.Random) -> Change:
        lines, size = self.obj.lines, len(_JMP) + _DISTANCE
        while True:
            first = rng.randrange(len(lines))
            start = lines[first].at
            past = next((k for k, x in enumerate(lines) if x.at >= start + size), len(lines))
            if past == len(lines) or any(x.relocation for x in lines[first:past]):
                continue
            beyond = lines[min(len(lines) - 1, past + rng.randrange(_FARTHEST))].at
            target = rng.choice((beyond, _target(rng.choice(self.jumps))))
            rest = _NOP * (lines[past].at - start - size)
            content = _JMP + _distance(target - start - size) + rest
            return Change(f"{_said(lines[first])} -> jmp {target:#x}", start, content)


def jumping(data: bytes, functions: Collection[str]) -> Jumping:
    """Return an object's code with jumps of 32-bit distances, and where some functions begin in it.

    Raises:
        GhashgenError: it cannot be encoded so.
    """
    obj = ObjectFile(data)
    lines = [replace(line, instruction=_far(line)) for line in obj.lines]
    made = obj.with_code(lines, fitted=False)
    values = {symbol.name: symbol.value for symbol in read_elf(made.data).symbols}
    return Jumping(made, {name: values[name] for name in functions})


def _far(line: Line) -> Instruction:
    i = line.instruction.copy()
    if i.flow_control in _FLOWS:
        i.as_near_branch()
    return i


def together(right: Jumping, changes: Mapping[str, Sequence[Change]]) -> ObjectFile:
    """Return a right object in which some functions have changes, each in code of its own."""
    by = -(-len(right.obj.code) // _APART) * _APART
    code, relocations = right.obj.code, [*right.obj.relocations]
    moved = dict[int, int]()
    for number, (name, some) in enumerate(changes.items(), 1):
        mutant = right.obj
        for change in some:
            mutant = change.made(mutant)
        code = code.ljust(number * by, _NOP) + mutant.code
        relocations += (replace(r, offset=r.offset + number * by) for r in mutant.relocations)
        moved[right.starts[name]] = number * by
    return right.obj.with_more(code, relocations, moved)


def _target(line: Line) -> int:
    return int(line.instruction.near_branch64)


def _distance(number: int) -> bytes:
    return number.to_bytes(_DISTANCE, "little", signed=True)


def _said(line: Line) -> str:
    return f"{line.at:#x} {line.instruction}"
