"""Resume a run where it stands: with a value for an unknown, or after an answer."""

import copy
from dataclasses import replace

from ghashgen.verify.core.values import UNKNOWN, Affine, Linear, Number, Pointer, Value
from ghashgen.verify.engine.cut import with_numbers
from ghashgen.verify.engine.entry import Content
from ghashgen.verify.engine.family import E
from ghashgen.verify.machine.convention import floor_of
from ghashgen.verify.machine.machine import Machine


def copied(entry: E, unknown: str = "", number: Number = 0) -> E:
    """Return a copy of a run, with `number` in the place of an unknown everywhere.

    The two are independent afterwards.
    """

    def changed(value: Value) -> Value:
        if not isinstance(value, Affine | Pointer):
            return value
        found = with_numbers(value, unknown, lambda a: within(a, number))
        assert isinstance(found, int | Affine | Pointer)
        return found

    def as_number(value: int | UNKNOWN) -> Number:
        assert not isinstance(value, Linear)
        found = changed(value)
        assert isinstance(found, int | Affine)
        return found

    old = entry.machine
    memory = copy.copy(old.memory)
    out = copy.copy(entry)
    memory.regions = {
        name: replace(
            region,
            size=as_number(region.size),
            cell=region.cell.of(out) if isinstance(region.cell, Content) else region.cell,
        )
        for name, region in old.memory.regions.items()
    }
    memory.written = {}
    for name, content in old.memory.written.items():
        # Bytes of one stored value stay one object.
        same: dict[int, Value] = {}
        memory.written[name] = {
            offset: (same.setdefault(id(value), changed(value)), k)
            for offset, (value, k) in content.items()
        }
    memory.returns = list(old.memory.returns)
    machine = Machine(old.terms, memory, map(changed, old.gpr), old.vec, map(changed, old.mask))
    machine.flags, machine.upper_dirty = old.flags, old.upper_dirty
    machine.red_zone = old.red_zone
    memory.floor = floor_of(machine)
    out.machine = machine
    out.numbers = {name: as_number(value) for name, value in entry.numbers.items()}
    return out


def within(a: Affine, number: Number) -> Number:
    """Return a number that is affine in an unknown, for the value `number` of the unknown."""
    if isinstance(number, int):
        return a.at(number)
    return Affine(
        a.scale * number.scale,
        a.scale * number.offset + a.offset,
        number.low,
        number.high,
        number.unknown,
    )
