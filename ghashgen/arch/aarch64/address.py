"""The addresses that an instruction can express, and operations that compute all others.

A load or store takes a base plus an offset that is a multiple of its size, up to 4095 of them; a
base plus an offset from -256 to 255; or a base plus an index (Arm ARM, DDI 0487, C1.3.3). A
constant of the file is within 4 GiB: ADRP computes its page, and the load has the offset in it.
"""

from dataclasses import replace

from ghashgen.arch.core import NewRegister
from ghashgen.arch.rows import MEMORY_BYTES
from ghashgen.ir.program import Mem, Op, Reg

_LARGEST = 4095
"""Largest 12-bit immediate."""
_UNSCALED = range(-256, 256)


def address(memory: Mem, kind: str, new: NewRegister) -> tuple[tuple[Op, ...], Mem]:
    """Return the operations that compute what the address cannot express, and the remaining
    address.

    Raises:
        ValueError: no kernel has such an address: a scaled index, or no base.
    """
    if memory.symbol is not None:
        page = new()
        return (Op("adrp", (page, memory)),), replace(memory, base=page)
    if memory.base is None or memory.scale != 1:
        raise ValueError(f"{memory} is no address of AArch64")
    if memory.index is not None:
        if not memory.disp and kind != "addr":
            return (), memory
        ops, base = _moved(memory.base, memory.disp, new)
        if kind != "addr":
            return ops, replace(memory, base=base, disp=0)
        both = new()
        return (*ops, Op("add", (both, base, memory.index))), Mem(base=both)
    if _says(kind, memory.disp):
        return (), memory
    ops, base = _moved(memory.base, memory.disp, new)
    return ops, replace(memory, base=base, disp=0)


def _says(kind: str, disp: int) -> bool:
    if kind == "addr":
        return 0 <= disp <= _LARGEST
    size = MEMORY_BYTES[kind]
    return disp in _UNSCALED or (disp % size == 0 and 0 <= disp <= _LARGEST * size)


def _moved(base: Reg, disp: int, new: NewRegister) -> tuple[tuple[Op, ...], Reg]:
    """Return the operations that add a displacement to a register, and the register with the
    sum.
    """
    code, left = ("sub.imm", -disp) if disp < 0 else ("add.imm", disp)
    ops = []
    while left:
        step = min(left, _LARGEST)
        moved = new()
        ops.append(Op(code, (moved, base, step)))
        base, left = moved, left - step
    return tuple(ops), base
