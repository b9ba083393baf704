"""Many messages in one call: groups of four side by side (`fours`), any other one by itself.

Groups need registers of four lanes. With narrower ones every message goes by itself. Four
neighbours make a group if each has an IV of 12 bytes, at most 16 bytes of AAD, and text of as many
rows as the others, within the powers of the table.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.ir.builder import Builder
from ghashgen.ir.program import Label, RegClass, Slot, VReg
from ghashgen.kernels.gcm.kernel import MESSAGES_AT_ONCE, GcmKernel
from ghashgen.kernels.gcm.parts.alike import Alike, AlikeBlocks
from ghashgen.kernels.gcm.parts.fours import ALL, MASKS, ROW_BYTES
from ghashgen.kernels.gcm.parts.records import RECORD_BYTES, read
from ghashgen.kernels.gcm.parts.start import IV_BYTES

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
    if kernel.groups:
        _groups(b, kernel, record, left, encrypts)
    b.label("one")
    put(b, RECORD, record)
    one(record)
    b.assign(record, b.gpr("gpr_add", take(b, RECORD), RECORD_BYTES, note="the next message"))
    put(b, LEFT, b.gpr("gpr_sub", take(b, LEFT), 1))
    b.emit("jump", Label("next"))
    b.label("done")
    b.buffer(SLOTS)


def _groups(b: Builder, kernel: GcmKernel, record: VReg, left: VReg, encrypts: bool) -> None:
    """Record groups of four messages alike; go to `one` for a message that begins none."""
    b.branch("below", left, MESSAGES_AT_ONCE, "one")
    length, aad_length = (b.register(word, cls=RegClass.GPR) for word in ("len", "aad_len"))
    for register, word in ((length, "len"), (aad_length, "aad_len")):
        b.assign(register, read(b, record, word))
    _alike(b, record, length, aad_length, encrypts, "one")
    b.branch("not_below", b.gpr("gpr_sub", aad_length, 1), BLOCK_BYTES, "one")
    b.branch("not_below", b.gpr("gpr_sub", length, 1), ROW_BYTES, "one")
    b.branch("not_below", length, BLOCK_BYTES + 1, "alike")
    for name, kind, held in (("block", AlikeBlocks, 11), ("alike", Alike, 8)):
        b.label(name)
        with b.part(name):
            fours = kind(b, kernel, b.params[0], encrypts)
            fours.shape(length, aad_length)
            fours.load_constants(held)
            b.emit("jump", Label("first"))
            with b.loop("group"):
                b.branch("below", take(b, LEFT), MESSAGES_AT_ONCE, "no")
                _alike(b, record, length, aad_length, encrypts, "no")
                b.label("first")
                fours.row_masks(length)
                fours.first_row(record)
                fours.begun(record, length, aad_length)
                fours.finished(record, 0, True)
                fours.judged(record, 0)
                group = RECORD_BYTES * MESSAGES_AT_ONCE
                b.assign(record, b.gpr("gpr_add", record, group, note="the next group"))
                put(b, LEFT, b.gpr("gpr_sub", take(b, LEFT), MESSAGES_AT_ONCE))
                b.emit("jump", Label("group"))
            b.label("no")
        b.emit("jump", Label("next"))


def _alike(
    b: Builder, record: VReg, length: VReg, aad_length: VReg, encrypts: bool, no: str
) -> None:
    """Record that four messages have these lengths, and usual IVs and tags; go to `no` if not."""
    for i in ALL:
        b.branch("not_equal", read(b, record, "iv_len", i), IV_BYTES, no)
        if not encrypts:
            b.branch("not_equal", read(b, record, "tag_len", i), BLOCK_BYTES, no)
        for word, register in (("len", length), ("aad_len", aad_length)):
            b.branch("not_equal", read(b, record, word, i), register, no)
