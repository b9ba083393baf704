"""Addresses that an instruction can say, and the operations that compute the others.

A load or store takes base + an offset that is a multiple of its size, up to 4095 of them, base +
an offset from -256 to 255, or base + index (Arm ARM, DDI 0487, C1.3.3). A constant of the file
stands within 4 GiB: ADRP gives its page, and the offset in the page stands in the load.
"""

from dataclasses import replace

from ghashgen.arch.core import NewRegister
from ghashgen.arch.rows import MEMORY_BYTES
from ghashgen.ir.program import Mem, Op, Reg

_LARGEST = 4095
"""Of an immediate of 12 bits."""
_UNSCALED = range(-256, 256)


def address(memory: Mem, kind: str, new: NewRegister) -> tuple[tuple[Op, ...], Mem]:
    """Return the operations that compute what the address cannot say, and the address left.

    Raises:
        ValueError: an address that no kernel has: an index times something, no base.
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
    """Return the operations that add a displacement to a register, and where the sum is."""
    code, left = ("sub.imm", -disp) if disp < 0 else ("add.imm", disp)
    ops = []
    while left:
        step = min(left, _LARGEST)
        moved = new()
        ops.append(Op(code, (moved, base, step)))
        base, left = moved, left - step
    return tuple(ops), base
