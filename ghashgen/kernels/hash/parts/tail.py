"""The last m blocks, 1 <= m <= n, as one group with one reduction.

`key_at` walks the table's arrays: it starts at H^m and advances by a register's blocks at a time.
Blocks that do not fill a register are loaded as the ISA allows:

    AVX-512        all that is left in one register (`exact`); lanes past the end are zero, and so
                   are the keys that they meet, because zeros follow H^1 in the table
    two lanes      one block alone if there is one, then the partial one
    one lane       the partial one

The first register's products start the sums, so the sums need no zeroing. The state X joins only
this register, and is then zeroed.
"""

from collections.abc import Callable, Sequence

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.schemes import aggregate
from ghashgen.ir.builder import Builder, Value
from ghashgen.ir.program import Label, Mem, VReg
from ghashgen.kernels.bytes.exact import Exact, load_few, numbers_left
from ghashgen.kernels.bytes.load import load_partial
from ghashgen.kernels.hash.kernel import ENTRY_BYTES, Kernel
from ghashgen.kernels.hash.parts.interface import (
    BLOCK_LABEL,
    entries,
    finish_group,
    key_sum,
    load_block,
    to_register,
)
from ghashgen.kernels.memory import IN_TABLE


class Tail:
    """The loop-carried registers of the tail."""

    def __init__(
        self,
        b: Builder,
        kernel: Kernel,
        table: VReg,
        X: VReg,
        source: VReg,
        length: VReg,
        whole: bool = False,
        last: Callable[[], VReg] | None = None,
    ) -> None:
        self.b, self.kernel, self.X = b, kernel, X
        self.source, self.length, self.whole, self.last = source, length, whole, last
        self.table = table
        self.key_at = walk(b, kernel, table, length)
        # R_m is read while key_at still stands at H^m.
        R = key_sum(kernel, self.key_at, kernel.layout.top)
        self.R = None if R is None else b.load(R, "R_m: the key terms of H^m … H^1")
        names = kernel.multiplier.accumulators
        self.acc = {name: b.register(name, kernel.lane_count) for name in names}

    def clear(self) -> None:
        """Start the sums at 0."""
        for register in self.acc.values():
            self.b.emit("zero", register)

    def begin(self, A: VReg) -> None:
        """Start the sums with the products of the first register, which X joins."""
        self._sum(self.b.xor(A, self.X, "A = X + C"), {})
        self.b.emit("zero", self.X, note="X counts once")

    def load_last(self) -> VReg:
        """Return the bytes that do not fill a register, or the partial block, in memory order,
        zero-padded.
        """
        b, kernel = self.b, self.kernel
        if self.last is not None:
            return self.last()
        if not kernel.instruction_set.partial_registers:
            return load_partial(b, self.source, self.length, "padded")
        lanes = kernel.lane_count
        place, numbers = Mem(base=self.source), numbers_left(lanes, self.whole)
        return load_few(b, "last", place, self.length, numbers, lanes)

    def multiply(self, A: VReg, subject: str, keys: Sequence[Value] | None = None) -> None:
        """Add the products of a register that X may still have to join."""
        self.b.about(subject)
        self._sum(self.b.xor(A, self.X, "A = X + C; X counts once"), dict(self.acc), keys=keys)
        self.b.about("")

    def add(self, A: VReg, ahead: int = 0) -> None:
        """Add the products of a register at the powers `ahead` blocks after key_at."""
        self._sum(A, dict(self.acc), ahead)

    def _sum(
        self, A: VReg, acc: dict[str, Value], ahead: int = 0, keys: Sequence[Value] | None = None
    ) -> None:
        kernel = self.kernel
        key = keys or entries(kernel, self.key_at, kernel.layout.top - ahead)
        sums = aggregate.accumulate(self.b, kernel.multiplier, kernel.bit_order, acc, A, key)
        for name, register in self.acc.items():
            self.b.assign(register, sums[name])

    def advance(self, lanes: int) -> None:
        """Advance by `lanes` blocks."""
        b = self.b
        step = lanes * BLOCK_BYTES
        b.assign(self.key_at, b.gpr("gpr_add", self.key_at, step, note="the next powers"))
        b.assign(self.source, b.gpr("gpr_add", self.source, step, note="the next blocks"))
        b.assign(self.length, b.gpr("gpr_sub", self.length, step))


def add_tail(
    b: Builder,
    kernel: Kernel,
    table: VReg,
    X: VReg,
    source: VReg,
    length: VReg,
    whole: bool = False,
    last: Callable[[], VReg] | None = None,
) -> VReg:
    """Record the group of m = ⌈length/16⌉ blocks, 1 <= m <= n; return the new state.

    If the message is `whole`, no code for a partial block is recorded. `last` replaces
    `Tail.load_last` for a caller that has a better one.
    """
    tail = Tail(b, kernel, table, X, source, length, whole, last)
    filled = whole and kernel.lane_count == 1
    if kernel.blocks > kernel.lane_count:
        _whole_registers(tail, filled)
    else:
        tail.clear()
    if not filled:
        rest = _WHOLE if whole else _REST
        rest[kernel.instruction_set.partial_registers, kernel.lane_count](tail)
    b.label("reduce")
    b.about("reduce")
    return finish_group(b, kernel, tail.acc, tail.R)


def _whole_registers(tail: Tail, filled: bool) -> None:
    """Take whole registers while there are any; fall through with something left.

    If only whole registers can occur, there is at least one, and nothing is left.
    """
    b, kernel, lanes = tail.b, tail.kernel, tail.kernel.lane_count
    step = lanes * BLOCK_BYTES
    if not filled:
        b.branch("not_below", tail.length, step, "first")
        tail.clear()
        b.emit("jump", Label("rest"))
        b.label("first")
    b.about("C·H^m")
    tail.begin(load_block(b, kernel, tail.source, lanes=lanes))
    b.about("")
    tail.advance(lanes)
    if kernel.blocks >= 2 * lanes:
        b.branch("below", tail.length, step, "after_block")
        with b.loop(BLOCK_LABEL):
            b.about("C·H^i")
            tail.add(load_block(b, kernel, tail.source, lanes=lanes))
            b.about("")
            tail.advance(lanes)
            b.branch("not_below", tail.length, step, BLOCK_LABEL)
    if not filled:
        b.branch("equal", tail.length, 0, "reduce")
        b.label("rest")


def _register(tail: Tail) -> None:
    """Take the rest, 1 to 16·L - 1 bytes, in one register."""
    b, kernel, numbers = tail.b, tail.kernel, numbers_left(tail.kernel.lane_count, tail.whole)
    A = to_register(b, kernel, tail.load_last(), "C")
    keys = None if kernel.padded else powers_left(b, kernel, tail.table, tail.length, numbers)
    tail.multiply(A, "C·H^i", keys)


def _single(tail: Tail) -> None:
    """Take a partial block, 1 to 15 bytes."""
    tail.multiply(to_register(tail.b, tail.kernel, tail.load_last(), "C_last"), "C·H")


def _pair(tail: Tail) -> None:
    """Take at most one whole block and one partial one, 1 to 31 bytes."""
    b, kernel = tail.b, tail.kernel
    b.branch("below", tail.length, BLOCK_BYTES, "under16")
    tail.multiply(load_block(b, kernel, tail.source), "C·H^i")
    b.emit("zero", tail.X)
    tail.advance(1)
    b.branch("equal", tail.length, 0, "reduce")
    b.label("under16")
    _single(tail)


def _block(tail: Tail) -> None:
    """Take one whole block."""
    tail.multiply(load_block(tail.b, tail.kernel, tail.source), "C·H^i")


_REST: dict[tuple[bool, int], Callable[[Tail], None]] = {
    (True, 2): _register,
    (True, 4): _register,
    (False, 2): _pair,
    (False, 1): _single,
}
"""Loads the blocks that do not fill a register, by (registers partly filled, lanes)."""

_WHOLE: dict[tuple[bool, int], Callable[[Tail], None]] = {
    (True, 2): _register,
    (True, 4): _register,
    (False, 2): _block,
}
"""The same for texts without a partial block."""


def walk(b: Builder, kernel: Kernel, table: VReg, length: VReg) -> VReg:
    """Return the address of H^m in the first array; the others lie at fixed distances from it."""
    rounded = b.gpr("gpr_and", b.gpr("gpr_address", Mem(base=length, disp=15)), -BLOCK_BYTES)
    start = b.gpr("gpr_address", Mem(base=table, disp=ENTRY_BYTES * kernel.layout.top))
    return b.gpr("gpr_minus", start, rounded, note="H^m")


def powers_left(b: Builder, kernel: Kernel, table: VReg, left: VReg, numbers: range) -> list[Value]:
    """Return the entries of H^m … H^1 for a last register of `left` bytes, one of `numbers`. Lanes
    behind them are zero.
    """
    rounded = b.gpr("gpr_and", b.gpr("gpr_address", Mem(base=left, disp=15)), -BLOCK_BYTES)
    at = b.gpr("gpr_minus", table, rounded, note="the last powers")
    places = [
        Mem(base=at, disp=place.disp + BLOCK_BYTES, align=ENTRY_BYTES, within=IN_TABLE)
        for place in entries(kernel, table, 1)
        if isinstance(place, Mem)
    ]
    if kernel.padded:
        return list(places)
    whole = range(BLOCK_BYTES, -(-numbers[-1] // BLOCK_BYTES) * BLOCK_BYTES + 1, BLOCK_BYTES)
    exact = Exact.of(b, rounded, whole, kernel.lane_count)
    return [exact.load(f"powers_{i}", place) for i, place in enumerate(places)]
