"""Finds in PeachPy's bytes which register it chose for each virtual register.

PeachPy's own tables are not used. Its instructions come in the order of the selected program, and
each names physical registers where the program has virtual ones. The result is checked twice:
`compiler.recheck` replays it, and `emit.hold` compares instructions.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType

from ghashgen.arch.x86_64.registers import REGISTERS
from ghashgen.ir.program import Mem, Operand, PReg, Program, VReg
from ghashgen.output.peachpy.instructions import Item
from ghashgen.support.errors import GhashgenError

_REMEDY = "report this kernel, and the version of PeachPy"


@cache
def _numbers() -> Mapping[str, PReg]:
    """Return physical registers by the names of all their parts."""
    return MappingProxyType(
        {
            name: PReg(cls, number)
            for cls, file in REGISTERS.items()
            for names in file.parts.values()
            for number, name in enumerate(names)
        }
    )


def homes(selected: Program, items: Sequence[Item]) -> dict[VReg, PReg]:
    """Return the physical register of each virtual one.

    `items` are PeachPy's instructions without its prologue and epilogues.

    Raises:
        GhashgenError: the instructions do not correspond one to one to the program's, or a virtual
            register is in two places.
    """
    if len(items) != len(selected.ops):
        raise GhashgenError(
            f"{selected.name}: PeachPy made {len(items)} instructions of {len(selected.ops)}",
            _REMEDY,
        )
    found: dict[VReg, PReg] = {}
    either: list[tuple[Mem, tuple[str, str]]] = []
    for op, item in zip(selected.ops, items, strict=True):
        if len(op.operands) != len(item.registers):
            raise GhashgenError(f"{selected.name}: PeachPy made {item.shape} of {op}", _REMEDY)
        for operand, name in zip(op.operands, item.registers, strict=True):
            if not isinstance(operand, Mem):
                _put(selected, found, operand, name)
            elif operand.index is None or operand.scale != 1:
                _address(selected, found, operand, item.address)
            else:
                either.append((operand, item.address))
    # At scale 1 an encoder may exchange base and index; other uses of these registers decide.
    while either:
        ways = [(memory, _ways(found, memory, names)) for memory, names in either]
        sure = [(memory, way) for memory, way in ways if len(way) == 1] or ways[:1]
        for memory, way in sure:
            _address(selected, found, memory, way[0])
        settled = [memory for memory, _ in sure]
        either = [pair for pair in either if pair[0] not in settled]
    return found


def _ways(found: Mapping[VReg, PReg], memory: Mem, names: tuple[str, str]) -> list[tuple[str, str]]:
    """Return the orders of an address's two registers that agree with what is known."""

    def agrees(way: tuple[str, str]) -> bool:
        return all(
            not isinstance(reg, VReg) or found.get(reg) in (None, _numbers().get(name))
            for reg, name in zip((memory.base, memory.index), way, strict=True)
        )

    return [way for way in (names, names[::-1]) if agrees(way)] or [names]


def _address(
    selected: Program, found: dict[VReg, PReg], memory: Mem, names: tuple[str, str]
) -> None:
    if memory.symbol is None:
        for reg, name in zip((memory.base, memory.index), names, strict=True):
            _put(selected, found, reg, name)


def _put(selected: Program, found: dict[VReg, PReg], operand: Operand | None, name: str) -> None:
    """Record that a virtual register is in the register of this name."""
    if not isinstance(operand, VReg):
        return
    place = _numbers().get(name)
    if place is None or place.cls is not operand.cls or found.setdefault(operand, place) != place:
        raise GhashgenError(
            f"{selected.name}: PeachPy has {operand} in {name or 'no register'}"
            + (f" and in {found[operand]}" if operand in found else ""),
            _REMEDY,
        )
