"""Absorb any number of bytes into a state in a register: X continued over a message.

Whole groups of n blocks come first, with n products and one reduction each. The rest, m <= n blocks
of which the last may be partial, is one more group at the powers H^m … H^1 with one reduction. Its
loop walks the table's arrays from H^m towards H^1, a register of L blocks at a time, so the same
code uses the right powers for every m.

With `fold` "end" (papers/intel-2023, Figure 9), every lane has its own Horner accumulator while at
least two groups are left. Lane l of a register meets the same power as lane 0, so after a group
each lane is a factor H^-l ahead of its place. The last group's powers, one lower from lane to lane,
correct that.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.ir.builder import Builder, Value
from ghashgen.ir.program import VReg
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.hash.parts.ahead import Ahead
from ghashgen.kernels.hash.parts.group import Keys, add_group, add_lanes, group_keys, lane_keys
from ghashgen.kernels.hash.parts.interface import GROUP
from ghashgen.kernels.hash.parts.tail import add_tail


@dataclass(frozen=True)
class Message:
    """What is absorbed: `length` bytes at `source`. The code changes these registers.

    A `whole` message has no partial block.
    """

    b: Builder
    kernel: Kernel
    table: VReg
    source: VReg
    length: VReg
    whole: bool = False

    @property
    def group_bytes(self) -> int:
        """Bytes of a group."""
        return BLOCK_BYTES * self.kernel.blocks

    def advance(self) -> None:
        """Advance by one group."""
        b = self.b
        b.about("")
        b.assign(self.source, b.gpr("gpr_add", self.source, self.group_bytes, note="next group"))
        b.assign(self.length, b.gpr("gpr_sub", self.length, self.group_bytes))


def state_of(b: Builder, kernel: Kernel, value: Value) -> VReg:
    """Return a register for the state, as `absorb` needs it.

    With `fold` "end" it has one accumulator per lane; those above the first start as 0.
    """
    return b.variable(value, "X", lanes=kernel.lane_count if kernel.fold == "end" else 1)


def absorb(message: Message, X: VReg, done: str) -> VReg:
    """Record X continued over a message, zero-padded; return it. Ends at the label `done`."""
    b, kernel = message.b, message.kernel
    b.branch("below", message.length, message.group_bytes, "tail")
    b.label("groups")
    _GROUPS[kernel.fold, kernel.pipeline](message, X)
    if kernel.widest > kernel.lane_count:
        b.emit("clear_upper")
    b.label("tail")
    # The lanes are added up by now: a one-lane register meets one-lane keys.
    X = b.first_lane(X)
    if not (message.whole and kernel.blocks == 1):
        b.branch("equal", message.length, 0, done)
        table, source, length = message.table, message.source, message.length
        b.assign(X, add_tail(b, kernel, table, X, source, length, message.whole))
    b.label(done)
    b.about("")
    return X


def _fold_every_group(message: Message, X: VReg) -> None:
    b, kernel, table = message.b, message.kernel, message.table
    source, length = message.source, message.length
    keys: Keys = group_keys(b, kernel, table)
    with b.loop(GROUP):
        b.assign(X, add_group(b, kernel, table, X, source, keys))
        message.advance()
        b.branch("not_below", length, message.group_bytes, GROUP)


def _fold_at_the_end(message: Message, X: VReg) -> None:
    b, kernel, table = message.b, message.kernel, message.table
    source, length = message.source, message.length
    two_groups = 2 * message.group_bytes
    b.branch("below", length, two_groups, "last_group")
    with b.loop(GROUP):
        b.assign(X, add_lanes(b, kernel, table, X, source))
        message.advance()
        b.branch("not_below", length, two_groups, GROUP)
    b.label("last_group")
    b.assign(X, add_group(b, kernel, table, X, source, group_keys(b, kernel, table)))
    message.advance()


def _ahead(message: Message, X: VReg) -> None:
    """Each group prepares the next, so the last one has nothing to prepare and stands alone."""
    b, kernel, table = message.b, message.kernel, message.table
    source, length = message.source, message.length
    two_groups = 2 * message.group_bytes
    fold_now = kernel.fold == "group"
    keys = group_keys(b, kernel, table) if fold_now else lane_keys(kernel, table)
    ahead = Ahead(b, kernel, source, keys)
    b.branch("below", length, two_groups, "last_group")
    with b.loop(GROUP):
        given = ahead.given(prepare_next=True)
        if fold_now:
            b.assign(X, add_group(b, kernel, table, X, source, keys, given))
        else:
            b.assign(X, add_lanes(b, kernel, table, X, source, given))
        message.advance()
        b.branch("not_below", length, two_groups, GROUP)
    b.label("last_group")
    last = keys if fold_now else group_keys(b, kernel, table)
    b.assign(X, add_group(b, kernel, table, X, source, last, ahead.given(prepare_next=False)))
    message.advance()


_GROUPS: dict[tuple[str, str], Callable[[Message, VReg], None]] = {
    ("group", "none"): _fold_every_group,
    ("end", "none"): _fold_at_the_end,
    ("group", "ahead"): _ahead,
    ("end", "ahead"): _ahead,
}
"""Records whole groups, by when lanes are added up and by what a group prepares."""
