"""Four blocks in one register, a lane for each message; and sums of lanes by transposition."""

from collections.abc import Callable, Sequence

from ghashgen.ir.builder import Builder, Value
from ghashgen.ir.program import Mem, VReg

LOW, HIGH = 0x44, 0xEE
"""The lower, or the upper, two lanes of either operand."""

EVEN, ODD = 0x88, 0xDD
"""Lanes 0 and 2, or 1 and 3, of either operand."""


def picked(b: Builder, one: VReg, two: VReg, lanes: int, note: str = "") -> VReg:
    """Record two lanes of `one` below two lanes of `two`."""
    out = b.register("", 4)
    b.emit("pick_lanes", out, one, two, lanes, note=note)
    return out


def quad(b: Builder, blocks: Sequence[Value], note: str = "") -> VReg:
    """Record four blocks as the lanes of a register."""
    low, high = (
        b.insert_lane(_two_lanes(b, one), 1, two if isinstance(two, Mem) else b.first_lane(two), 2)
        for one, two in (blocks[:2], blocks[2:])
    )
    return picked(b, low, high, LOW, note)


def _two_lanes(b: Builder, block: Value) -> VReg:
    return b.load(block) if isinstance(block, Mem) else b.first_lanes(block, 2)


def half_sums(b: Builder, one: VReg, two: VReg) -> VReg:
    """Record two sums of half the lanes of `one`, then two of `two`."""
    return b.xor(picked(b, one, two, LOW), picked(b, one, two, HIGH), "add up lanes")


def quarter_sums(b: Builder, one: VReg, two: VReg) -> VReg:
    """Record the sums of all lanes of four registers, from two results of `half_sums`."""
    return b.xor(picked(b, one, two, EVEN), picked(b, one, two, ODD), "add up lanes")


def store_lanes(b: Builder, place: Callable[[int], Mem], value: VReg) -> None:
    """Record the store of each lane at its place."""
    b.store(place(0), b.first_lane(value), "lane 0")
    for lane in range(1, 4):
        b.emit("store_lane", place(lane), value, lane, note=f"lane {lane}")
