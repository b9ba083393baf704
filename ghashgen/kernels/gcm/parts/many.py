"""Many messages in one call: groups of four side by side (`fours`), any other one by itself.

In registers of four lanes, four neighbours make a group if each has an IV of 12 bytes, at most 16
bytes of AAD, and text of as many rows as the others, within the powers of the table. In narrower
ones (`columns`) they must have the same lengths, too, but for some in two lanes (`unlike`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.ir.builder import Builder
from ghashgen.ir.program import Label, RegClass, Slot, VReg
from ghashgen.kernels.gcm.kernel import MESSAGES_AT_ONCE, MOST_OF_MANY, GcmKernel
from ghashgen.kernels.gcm.parts.alike import Alike, AlikeBlocks, AlikeRows
from ghashgen.kernels.gcm.parts.apart import groups_apart
from ghashgen.kernels.gcm.parts.columns import Columns
from ghashgen.kernels.gcm.parts.fours import MASKS, Fours, rows_of_group
from ghashgen.kernels.gcm.parts.mixed import mixed_group
from ghashgen.kernels.gcm.parts.neighbours import groups_of_neighbours
from ghashgen.kernels.gcm.parts.plan import choose
from ghashgen.kernels.gcm.parts.records import RECORD_BYTES, read
from ghashgen.kernels.gcm.parts.unlike import unlike_group

RECORD, LEFT, ROWS = (Slot(i) for i in range(1 + len(MASKS), 4 + len(MASKS)))
"""Stack slots: the next record, the number of records that are left, and a group's rows."""

SLOTS = 4 + len(MASKS)


def put(b: Builder, slot: Slot, value: VReg) -> None:
    """Record the store of a general register in a slot."""
    b.emit("gpr_store64", slot, value)


def take(b: Builder, slot: Slot) -> VReg:
    """Record the load of a general register from a slot."""
    return b.gpr("gpr_load64", slot)


def record_many(b: Builder, kernel: GcmKernel, one: Callable[[VReg], None], encrypts: bool) -> None:
    """Record the whole function. `one` records a message by itself, given its record."""
    _, record, left = b.params
    put(b, LEFT, left)
    b.label("next")
    left = take(b, LEFT)
    b.branch("equal", left, 0, "done")
    slots = SLOTS
    if kernel.groups and kernel.lane_count < MESSAGES_AT_ONCE:
        slots = _columns(b, kernel, record, encrypts)
    elif kernel.groups:
        _groups(b, kernel, record, left, encrypts)
    elif kernel.alike and kernel.lane_count < MESSAGES_AT_ONCE:
        slots = groups_of_neighbours(b, kernel, record, LEFT, encrypts, SLOTS)
        if kernel.lane_count > 1:
            slots = unlike_group(b, kernel, record, LEFT, encrypts, slots)
    elif kernel.alike:
        groups_apart(b, kernel, record, LEFT, encrypts)
        mixed_group(b, kernel, record, LEFT, encrypts)
    b.label("one")
    put(b, RECORD, record)
    one(record)
    b.assign(record, b.gpr("gpr_add", take(b, RECORD), RECORD_BYTES, note="the next message"))
    put(b, LEFT, b.gpr("gpr_sub", take(b, LEFT), 1))
    b.emit("jump", Label("next"))
    b.label("done")
    b.buffer(slots)


def _groups(b: Builder, kernel: GcmKernel, record: VReg, left: VReg, encrypts: bool) -> None:
    """Record all groups; go to `one` for a message that begins none."""
    rows = b.register("rows", cls=RegClass.GPR)
    b.branch("below", left, MESSAGES_AT_ONCE, "one")
    rows_of_group(b, kernel, record, rows, encrypts, "one")
    kinds = (
        ("block", AlikeBlocks, 11, True),
        ("alike", Alike, 8, True),
        ("rows", AlikeRows, 0, False),
        ("mixed", Fours, 0, False),
    )
    b.branch("not_below", rows, 2, "rows")
    b.branch("not_below", read(b, record, "len"), BLOCK_BYTES + 1, "alike")
    for name, kind, held, only in kinds:
        b.label(name)
        with b.part(name):
            fours = kind(b, kernel, b.params[0], encrypts)
            groups = _Groups(b, fours, record, rows, held, only)
            groups.record("other")
        b.emit("jump", Label("next"))
        if kind is not Fours:
            b.label(f"{name}_other")
            b.emit("jump", Label("mixed"))


def _columns(b: Builder, kernel: GcmKernel, record: VReg, encrypts: bool) -> int:
    """Record all groups in narrow registers; go to `one` for a message that begins none.

    Returns the number of stack slots in use.
    """
    rows = b.register("rows", cls=RegClass.GPR)
    length, most = read(b, record, "len"), MOST_OF_MANY[kernel.lane_count]
    b.branch("below", length, BLOCK_BYTES, "one")
    b.branch("not_below", length, BLOCK_BYTES * most + 1, "one")
    kinds = [Columns(b, kernel, b.params[0], encrypts, m, SLOTS) for m in range(1, most + 1)]

    def groups(kind: Columns) -> None:
        with b.part(f"alike_{kind.blocks}"):
            b.branch("below", take(b, LEFT), kind.count, "other")
            _Groups(b, kind, record, rows, 0, True).record("other")
        b.emit("jump", Label("next"))
        b.label(f"alike_{kind.blocks}_other")
        b.emit("jump", Label("one"))

    cases = {BLOCK_BYTES * (kind.blocks - 1) + 1: partial(groups, kind) for kind in kinds}
    choose(b, length, cases, lambda least: f"over_{least // BLOCK_BYTES}", lambda n: n // 2)
    return max(kind.end for kind in kinds)


@dataclass
class _Groups:
    """Groups, one after another, as long as they fit together."""

    b: Builder
    fours: Fours | Columns
    record_at: VReg
    rows: VReg
    held: int
    """Round keys in registers."""
    only: bool
    """Whether each message has a single row."""

    def record(self, other: str) -> None:
        """Record the groups from `record_at` on; go to `other` if the first does not fit."""
        b, fours, only = self.b, self.fours, self.only
        fours.shape(self.record_at, self.rows, other)
        fours.load_constants(self.held)
        self._row(hashed=False)
        b.emit("jump", Label("more"))
        with b.loop("group"):
            self._row(hashed=True)
            b.label("more")
            self._step()
            if not only:
                assert isinstance(fours, Fours)
                fours.cleared()
                b.branch("below", self.rows, 2, "again")
                self._more_rows()
                b.label("again")
            b.branch("below", take(b, LEFT), fours.count, "no")
            fours.fits(self.record_at, self.rows, "no")
            b.emit("jump", Label("group"))
        b.label("no")
        with b.part("last"):
            fours.finished(self.record_at, -fours.count, only)
            fours.judged(self.record_at, -fours.count)

    def _row(self, hashed: bool) -> None:
        """Record the first row of a group, beside the hash of the last row before."""
        fours, record = self.fours, self.record_at
        if hashed:
            with fours.stream("hash", 0.0, 0.85):
                fours.finished(record, -fours.count, self.only)
        if isinstance(fours, Fours):
            with fours.stream("begun", 0.5, 1.0):
                fours.begun(record)
        with fours.stream("cipher", 0.0, 1.0):
            fours.first_row(record)
        if hashed:
            fours.judged(record, -fours.count)

    def _step(self) -> None:
        b, count = self.b, self.fours.count
        step = RECORD_BYTES * count
        b.assign(self.record_at, b.gpr("gpr_add", self.record_at, step, note="the next group"))
        put(b, LEFT, b.gpr("gpr_sub", take(b, LEFT), count))

    def _more_rows(self) -> None:
        """Record the rows after the first one, of the group before `record_at`."""
        b, fours, rows = self.b, self.fours, self.rows
        assert isinstance(fours, Fours)
        put(b, RECORD, self.record_at)
        put(b, ROWS, rows)
        fours.more_rows(self.record_at, -MESSAGES_AT_ONCE)
        b.label("row")
        b.assign(rows, b.gpr("gpr_sub", rows, 1))
        b.branch("not_equal", rows, 1, "whole")
        fours.last_masks()
        b.label("whole")
        with fours.stream("hash", 0.0, 0.9):
            fours.row_hashed()
        with fours.stream("cipher", 0.0, 1.0):
            fours.next_row()
        b.branch("not_below", rows, 2, "row")
        b.assign(self.record_at, take(b, RECORD))
        b.assign(rows, take(b, ROWS))
