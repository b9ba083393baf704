"""recheck: verifies by replay that the allocated program computes what the selected one does.

It is independent of the allocator and uses neither liveness nor interference. `pairing` matches
each allocated instruction with its origin in the selected program. The replay keeps, for every
physical register and stack slot, the set of virtual registers whose current value it is known to
hold. Every register that an instruction reads must hold the virtual register that its origin reads.
At joins the sets intersect; a branch passes on what holds where it stands, not at the end of its
block.

The replay also knows how many bits of a vector register may be set. A reload narrower than its
value does not count, and if a copy that should cut off upper lanes has vanished, nothing may read
these lanes.
"""

from dataclasses import dataclass

from ghashgen.arch.core import Abi
from ghashgen.arch.rows import Isa
from ghashgen.compiler.liveness import falls_through, positions
from ghashgen.compiler.pairing import (
    AllocationError,
    Instruction,
    Move,
    Pairing,
    Place,
    Sets,
    Step,
    Vanished,
    show,
)
from ghashgen.ir.program import Argument, PReg, Program, RegClass, Slot

__all__ = ["AllocationError", "recheck"]

_ALL = 1 << 30


@dataclass(frozen=True)
class _State:
    """What is known at one point; the walk may change the tables.

    Virtual registers and places are numbers; a set of virtual registers is an integer with the bits
    of these numbers.
    """

    holds: dict[int, int]
    """For each place, the virtual registers whose value it holds."""
    bits: dict[int, int]
    """Bits of a virtual vector register from this one on are zero."""
    valid: dict[int, int]
    """From this bit on, the places that hold a virtual register may differ from it."""

    def copy(self) -> "_State":
        return _State(dict(self.holds), dict(self.bits), dict(self.valid))

    def fits(self, reg: int, width: int) -> bool:
        """Return whether a move of this many bits loses nothing of a register."""
        bits = self.bits.get(reg, 0)
        return min(bits, self.valid.get(reg, bits)) <= width

    def join(self, other: "_State") -> "_State":
        both = self.holds.keys() & other.holds.keys()
        a, b, c, d = self.bits, other.bits, self.valid, other.valid
        return _State(
            {place: self.holds[place] & other.holds[place] for place in both},
            a if a == b else {reg: max(a.get(reg, 0), b.get(reg, 0)) for reg in {**a, **b}},
            c if c == d else {reg: min(c.get(reg, _ALL), d.get(reg, _ALL)) for reg in {**c, **d}},
        )


def recheck(selected: Program, allocated: Program, slots: int, isa: Isa, abi: Abi) -> None:
    """Verify an allocation whose frame has `slots` spill slots.

    Raises:
        AllocationError: names an instruction that corresponds to none, or that reads the wrong
            register.
    """
    writable: list[Place] = [PReg(RegClass.VEC, number) for number in range(isa.vector_registers)]
    writable += [PReg(RegClass.GPR, number) for number in (*abi.volatile, *abi.saved)]
    writable += [PReg(RegClass.MASK, number) for number in range(1, isa.mask_registers)]
    # The first slots are a buffer of the program's own.
    writable += [Slot(index) for index in range(selected.slots, slots)]
    if [block.label for block in selected.blocks] != [block.label for block in allocated.blocks]:
        raise AllocationError(f"{allocated.name}: blocks differ")
    pairing = Pairing(allocated.name, isa, frozenset(writable))
    entry = _State({}, {}, {})
    places: list[Place] = [PReg(RegClass.GPR, number) for number in abi.params]
    places += [Argument(index) for index in range(len(selected.params) - len(places))]
    for place, param in zip(places, selected.params, strict=False):
        entry.holds[pairing.number(place)] = 1 << pairing.number(param)
    paired = zip(selected.blocks, allocated.blocks, strict=True)
    steps = [pairing.block(*pair) for pair in paired]
    at = positions(allocated.blocks)
    states = {0: entry}
    pending = {0}
    while pending:
        # In layout order most joins are complete before the following block is walked.
        index = min(pending)
        pending.remove(index)
        end, branches = _walk(allocated.name, steps[index], states[index])
        leaving = [(at[label], state) for label, state in branches]
        if falls_through(allocated.blocks, index, isa.rows):
            leaving.append((index + 1, end))
        for following, state in leaving:
            known = states.get(following)
            joined = state if known is None else known.join(state)
            if joined != known:
                states[following] = joined
                pending.add(following)


def _walk(name: str, steps: list[Step], start: _State) -> tuple[_State, list[tuple[str, _State]]]:
    """Replay one block; return what is known at its end and at each branch."""
    state = start.copy()
    branches: list[tuple[str, _State]] = []
    for step in steps:
        if isinstance(step, Instruction):
            _instruction(name, state, step)
            branches += [(label, state.copy()) for label in step.branches]
        elif isinstance(step, Vanished):
            _vanished(state, step)
        else:
            _move(state, step)
    return state, branches


def _instruction(name: str, state: _State, step: Instruction) -> None:
    holds, valid = state.holds, state.valid
    for reg, place, virtual, actual in step.required:
        if not holds.get(place, 0) >> reg & 1:
            raise AllocationError(
                f"{name}: {show(step.selected)} reads {virtual} from {actual}, "
                "which does not hold it"
            )
    if valid:
        for reg, width in step.lanes:
            if valid.get(reg, _ALL) < width:
                raise AllocationError(
                    f"{name}: {show(step.selected)} reads lanes that were cut off"
                )
    source = step.sets.source
    for reg, place in step.writes:
        bit = 1 << reg
        for other, values in holds.items():
            if values & bit:
                holds[other] = values ^ bit
        if source >= 0 and state.fits(source, step.width):
            bit |= 1 << source
        holds[place] = bit
    _set_bits(state, step.sets)


def _vanished(state: _State, step: Vanished) -> None:
    """Apply a dropped copy: the target is now exactly where the source is."""
    holds = state.holds
    target, source = 1 << step.target, 1 << step.source
    cuts = not state.fits(step.source, step.width)
    for place, values in holds.items():
        if values & source:
            holds[place] = values | target
        elif values & target:
            holds[place] = values ^ target
    _set_bits(state, step.sets)
    if cuts:
        state.valid[step.target] = step.width


def _move(state: _State, step: Move) -> None:
    """Apply a move: the target holds whatever the source holds that the move does not truncate."""
    values = left = state.holds.get(step.source, 0)
    while left:
        low = left & -left
        left ^= low
        if not state.fits(low.bit_length() - 1, step.width):
            values ^= low
    state.holds[step.target] = values


def _set_bits(state: _State, sets: Sets) -> None:
    """Apply writes, which zero everything above their width; a copy keeps its source's bits."""
    for reg, width in sets.written:
        state.bits[reg] = width
        state.valid.pop(reg, None)
        if sets.source >= 0:
            state.bits[reg] = min(width, state.bits.get(sets.source, width))
            if state.valid.get(sets.source, _ALL) < width:
                state.valid[reg] = state.valid[sets.source]
