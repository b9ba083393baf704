"""What ends a message in pieces: `finish` writes its tag, `verify` compares it with one received.

    tag       X·H, if a block has begun; then (X + L)·H + E_K(J_0)
    finish    the tag; 96 zeros
    verify    0 if the first tag_len bytes are those received, 1 if not; 96 zeros either way

The comparison is the one condition of `verify` that a secret may decide; both ways are followed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.ops.forms import Form, variable
from ghashgen.verify.core.limits import DIFFERS, DONE, EVERY, REFUSED
from ghashgen.verify.core.refutation import Category, Refutation
from ghashgen.verify.core.term import Term
from ghashgen.verify.core.values import Affine, Number
from ghashgen.verify.engine.family import Buffer, Cell, Numbers, Parameter
from ghashgen.verify.engine.prover import Prover
from ghashgen.verify.gcm.comparing import LONGEST, PARAMETERS, TAG, given, may_be, tells_apart
from ghashgen.verify.gcm.stream import (
    ASSOCIATED,
    MISPLACED,
    STREAM_BYTES,
    TEXT_BEGUN,
    Streamed,
    check_cells,
)
from ghashgen.verify.gcm.table import LENGTHS, MASK
from ghashgen.verify.hash.entry import STATE, HashEntry
from ghashgen.verify.machine.machine import Machine
from ghashgen.verify.machine.regions import Access
from ghashgen.verify.machine.target import Abi

SIZES: tuple[Number, ...] = (*range(LONGEST + 2), Affine(1, 0, LONGEST + 2, EVERY, TAG))
"""All lengths of tags. Known ones come first, so that their faults are reported for what they are.
"""


class Ending(Streamed):
    """What finish and verify share."""

    def is_message(self) -> bool:
        """Return whether the state belongs to a message."""
        return self.held["phase"] in (ASSOCIATED, TEXT_BEGUN)

    def check_refused(
        self, prover: Prover[HashEntry], entry: HashEntry, status: int, what: str
    ) -> None:
        """Compare the status of a refused call, which must have no other effect.

        Raises:
            Refutation: it differs, or something was written.
        """
        prover.check_result(entry, status, f"the status of {what}")
        self.untouched(entry)

    def check_erased(self, prover: Prover[HashEntry], entry: HashEntry) -> None:
        """Require that the state is zero.

        Raises:
            Refutation: it is not.
        """
        zeros = [self.terms.form(0)] * (STREAM_BYTES // BLOCK_BYTES)
        check_cells(prover, entry, zeros)

    def tag_form(self, form: Form) -> Form:
        """Return the tag, in memory order, in the variables of a form."""
        algebra = self.naming.algebra
        last = self.held["length" if self.held["phase"] == TEXT_BEGUN else "aad_length"]
        begun = (last if isinstance(last, int) else last.offset) % BLOCK_BYTES
        blocks = 2 if begun else 1
        lengths, weights = self.lengths(), {STATE: 0}
        if isinstance(lengths, Term):
            weights[f"{LENGTHS}1"] = blocks - 1
        hashed = (form ^ variable(MASK)).moves(algebra.register, 8 * BLOCK_BYTES)
        grouped = self.naming.grouped(hashed, weights, weights)
        wanted = algebra.state({v: blocks - at for v, at in grouped.items()})
        if isinstance(lengths, int):
            wanted ^= algebra.multiple(lengths, 1)
        return wanted.moves(algebra.memory, 8 * BLOCK_BYTES) ^ variable(MASK)


class Finish(Ending):
    """finish: the tag of the message so far, and a state of zeros."""

    takes: ClassVar[tuple[str, ...]] = ("table", "stream", "tag")

    def every_parameter(self) -> dict[str, Parameter]:
        """Return all parameters by name."""
        return {**super().every_parameter(), "tag": Buffer(Access.WRITE, BLOCK_BYTES)}

    def every_cell(self) -> dict[str, Cell[HashEntry]]:
        """Return what each buffer holds on entry."""
        return {**super().every_cell(), "tag": lambda entry, index: None}

    def check(self, prover: Prover[HashEntry], entry: HashEntry) -> None:
        """Compare the status, the tag and the state.

        Raises:
            Refutation: one of them differs.
        """
        if not self.is_message():
            self.check_refused(prover, entry, MISPLACED, "what is no message")
            return
        prover.check_result(entry, DONE, "the status")
        lane = prover.cell(entry, "tag", "the tag")
        prover.compare(lane, self.tag_form(prover.form(lane, "the tag")), "the tag")
        self.check_erased(prover, entry)


@dataclass
class VerifyEntry(HashEntry):
    """An entry, and the answer about the tag."""

    answer: bool | None = None
    """Whether the tag is right, once that is known."""


class Verify(Ending):
    """verify: whether a tag is that of the message so far, and a state of zeros."""

    takes: ClassVar[tuple[str, ...]] = ("table", "stream", "tag", "tag_length")
    claimed = "every state, tags of every length"

    def every_parameter(self) -> dict[str, Parameter]:
        """Return all parameters by name."""
        return {**super().every_parameter(), **PARAMETERS}

    def every_cell(self) -> dict[str, Cell[HashEntry]]:
        """Return what each buffer holds on entry."""
        return {**super().every_cell(), "tag": given(self.terms)}

    def entry(self, machine: Machine, abi: Abi, numbers: dict[str, Number]) -> VerifyEntry:
        """Return the entry, without an answer yet."""
        super().entry(machine, abi, numbers)
        return VerifyEntry(machine, abi, numbers)

    def may_be_known(self, prover: Prover[HashEntry], entry: HashEntry, value: Term) -> bool:
        """Return whether a value is 0 if and only if the tag is the received one.

        Raises:
            Refutation: it depends on the tag, but in another way.
        """
        assert isinstance(entry, VerifyEntry)
        size = entry.numbers[TAG]
        if entry.answer is not None or not isinstance(size, int):
            return False
        if not may_be(size) or not self.is_message():
            what = "what is no message" if may_be(size) else f"a tag of {size} bytes"
            raise Refutation(Category.FUNCTION, f"{what} is not refused", at=self.terms.at)
        return tells_apart(self.terms, value, size, self.tag_form)

    def answered(self, prover: Prover[HashEntry], entry: HashEntry, zero: bool) -> None:
        """Note whether the tag is right."""
        assert isinstance(entry, VerifyEntry)
        entry.answer = zero

    def check(self, prover: Prover[HashEntry], entry: HashEntry) -> None:
        """Compare the status and the state.

        Raises:
            Refutation: one of them differs.
        """
        assert isinstance(entry, VerifyEntry)
        if not may_be(entry.numbers[TAG]):
            self.check_refused(prover, entry, REFUSED, "an invalid tag length")
            return
        if not self.is_message():
            self.check_refused(prover, entry, MISPLACED, "what is no message")
            return
        if entry.answer is None:
            raise Refutation(Category.FUNCTION, "nothing depends on whether the tag is right")
        status, what = (DONE, "is right") if entry.answer else (DIFFERS, "differs")
        prover.check_result(entry, status, f"the status of a tag that {what}")
        self.check_erased(prover, entry)

    def calls(self) -> Sequence[Numbers]:
        """Return the lengths of tags, including invalid ones."""
        return tuple({TAG: size} for size in SIZES)
