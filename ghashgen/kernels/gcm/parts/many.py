"""Many messages in one call: groups of four side by side (`fours`), any other one by itself.

Four neighbours make a group if each has an IV of 12 bytes, 1 to 16 bytes of AAD, and text of as
many rows as the others, within the powers of the table.
"""

from collections.abc import Callable

from ghashgen.ir.builder import Builder
from ghashgen.ir.program import Label, RegClass, Slot, VReg
from ghashgen.kernels.gcm.kernel import MESSAGES_AT_ONCE, GcmKernel
from ghashgen.kernels.gcm.parts.alike import Alike
from ghashgen.kernels.gcm.parts.fours import ALL, LANES, MASKS, ROW_BYTES, Fours
from ghashgen.kernels.gcm.parts.records import RECORD_BYTES, read
from ghashgen.kernels.gcm.parts.start import IV_BYTES

RECORD, LEFT = Slot(1), Slot(2)
"""Stack slots: the next record, and the number of records that are left."""

SLOTS = 3 + len(MASKS)


def most_rows(kernel: GcmKernel) -> int:
    """Return the rows of the longest message in a group: its powers are in the table."""
    return (kernel.layout.top - 2) // LANES


def put(b: Builder, slot: Slot, value: VReg) -> None:
    """Record the store of a general register in a slot."""
    b.emit("gpr_store64", slot, value)


def take(b: Builder, slot: Slot) -> VReg:
    """Record the load of a general register from a slot."""
    return b.gpr("gpr_load64", slot)


def record_many(
    b: Builder, kernel: GcmKernel, one: Callable[[VReg], None], encrypts: bool
) -> None:
    """Record the whole function. `one` records a message by itself, given its record."""
    context, record, left = b.params
    fours, alike = (kind(b, kernel, context, encrypts) for kind in (Fours, Alike))
    rows = b.register("rows", cls=RegClass.GPR)
    four = MESSAGES_AT_ONCE

    def step() -> None:
        group = RECORD_BYTES * four
        b.assign(record, b.gpr("gpr_add", record, group, note="the next group"))
        put(b, LEFT, b.gpr("gpr_sub", take(b, LEFT), four))

    put(b, LEFT, left)
    b.label("next")
    left = take(b, LEFT)
    b.branch("equal", left, 0, "done")
    b.branch("below", left, four, "one")
    with b.part("first"):
        _rows_of_group(b, kernel, record, rows, encrypts)
        b.emit("jump", Label("fits"))
        b.label("no")
    b.emit("jump", Label("one"))
    b.label("first_fits")
    b.branch("not_below", rows, 2, "long")
    with b.part("alike"):
        alike.shape(record, "no")
    _alike(b, alike, record, step)
    b.emit("jump", Label("next"))
    b.label("alike_no")
    b.label("long")
    with b.part("long"):
        _masks(b, fours, record, rows)
    with fours.stream("begun", 0.0, 1.0):
        fours.begun(record)
    with fours.stream("cipher", 0.0, 1.0):
        fours.started(record)
        fours.completed(record)
    step()
    b.emit("jump", Label("more"))
    with b.loop("rows"):
        with fours.stream("hash", 0.0, 0.9):
            fours.finished(record, -four, only=False)
        with fours.stream("begun", 0.5, 1.0):
            fours.begun(record)
        with fours.stream("cipher", 0.0, 1.0):
            fours.started(record)
            fours.completed(record)
        step()
        b.label("more")
        fours.cleared()
        b.branch("below", rows, 2, "again")
        _more_rows(b, fours, record, rows)
        b.label("again")
        with b.part("rows"):
            b.branch("below", take(b, LEFT), four, "no")
            _rows_of_group(b, kernel, record, rows, encrypts)
            _masks(b, fours, record, rows)
        b.emit("jump", Label("rows"))
    b.label("rows_no")
    fours.finished(record, -four, only=False)
    b.emit("jump", Label("next"))
    b.label("one")
    put(b, RECORD, record)
    one(record)
    b.assign(record, b.gpr("gpr_add", take(b, RECORD), RECORD_BYTES, note="the next message"))
    put(b, LEFT, b.gpr("gpr_sub", take(b, LEFT), 1))
    b.emit("jump", Label("next"))
    b.label("done")
    b.buffer(SLOTS)


def _rows_of_group(
    b: Builder, kernel: GcmKernel, record: VReg, rows: VReg, encrypts: bool
) -> None:
    """Record the number of rows of the next four messages; go to `no` if they make no group."""
    for i in ALL:
        b.branch("not_equal", read(b, record, "iv_len", i), IV_BYTES, "no")
        aad = b.gpr("gpr_sub", read(b, record, "aad_len", i), 1)
        b.branch("not_below", aad, 16, "no")
        if not encrypts:
            b.branch("not_equal", read(b, record, "tag_len", i), 16, "no")
    first = b.gpr("gpr_sub", read(b, record, "len"), 1)
    b.branch("not_below", first, ROW_BYTES * most_rows(kernel), "no")
    for i in ALL[1:]:
        other = b.gpr("gpr_sub", read(b, record, "len", i), 1)
        b.branch("not_below", b.gpr("gpr_xor", other, first), ROW_BYTES, "no")
    b.assign(rows, b.gpr("gpr_add", b.gpr("gpr_shr", first, 6), 1, note="rows"))


def _alike(b: Builder, alike: Alike, record: VReg, step: Callable[[], None]) -> None:
    """Record groups of one shape: one in its first rounds, one in its last, one hashed."""
    four = MESSAGES_AT_ONCE

    def cipher(more: bool) -> None:
        with alike.stream("begun", 0.4, 1.0):
            alike.begun(record)
        with alike.stream("cipher", 0.0, 1.0):
            alike.completed(record)
        if more:
            with alike.stream("start", 0.0, 1.0):
                alike.started(record, four)

    def hashed() -> None:
        with alike.stream("hash", 0.0, 0.8):
            alike.finished(record, -four, only=True)

    alike.started(record)
    with b.part("second"):
        b.branch("below", take(b, LEFT), 2 * four, "no")
        alike.like(record, four, "no")
    cipher(more=True)
    step()
    with b.loop("group"):
        b.branch("below", take(b, LEFT), 2 * four, "no_more")
        alike.like(record, four, "no_more")
        hashed()
        cipher(more=True)
        step()
        b.emit("jump", Label("group"))
    b.label("no_more")
    hashed()
    cipher(more=False)
    b.emit("jump", Label("last"))
    b.label("second_no")
    cipher(more=False)
    b.label("last")
    alike.finished(record, 0, only=True)
    step()


def _masks(b: Builder, fours: Fours, record: VReg, rows: VReg) -> None:
    """Record which bytes the first rows have, and put aside those of the last rows."""
    ones = b.gpr("gpr_const64", -1)
    for i in ALL:
        last = b.gpr("gpr_and", b.gpr("gpr_sub", read(b, record, "len", i), 1), ROW_BYTES - 1)
        some = b.gpr("gpr_low", ones, b.gpr("gpr_add", last, 1), note="bytes of the last row")
        put(b, MASKS[i], some)
        b.emit("mask", fours.present[i], some)
    b.branch("below", rows, 2, "one_row")
    for present in fours.present:
        b.emit("mask", present, ones)
    b.label("one_row")


def _more_rows(b: Builder, fours: Fours, record: VReg, rows: VReg) -> None:
    """Record the rows after the first one, of the group before `record`."""
    put(b, RECORD, record)
    fours.more_rows(record, -MESSAGES_AT_ONCE)
    b.label("row")
    b.assign(rows, b.gpr("gpr_sub", rows, 1))
    b.branch("not_equal", rows, 1, "whole")
    for present, slot in zip(fours.present, MASKS, strict=True):
        b.emit("load_mask", present, slot)
    b.label("whole")
    with fours.stream("hash", 0.0, 0.9):
        fours.row_hashed()
    with fours.stream("cipher", 0.0, 1.0):
        fours.next_row()
    b.branch("not_below", rows, 2, "row")
    b.assign(record, take(b, RECORD))
