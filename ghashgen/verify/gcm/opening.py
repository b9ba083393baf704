"""The meaning of open: the message if the tag is right, or nothing (SP 800-38D, section 7.2).

    tag' = the tag of the IV, the AAD and the ciphertext (`message`)
    0, the text               if the first tag_len bytes of tag' are those received
    1, zeros over all of out  if they are not

tag' gets a name, O, as soon as it is computed. So what is computed from it and the received tag is
linear in both, and the same for every message.

The comparison is the one condition that a secret may decide; both ways are followed. The text has
been compared by then. If the tags differ, `out` is written again from its beginning, and must be
zero to its end. That is a separate induction over the length of the text, which is arbitrary by
then. Tags have 4, 8 or 12 to 16 bytes: up to the comparison, any of these.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.ops.forms import Form, variable
from ghashgen.verify.core.lengths import Claim
from ghashgen.verify.core.limits import DIFFERS, DONE, EVERY, GREATEST_TEXT, TAGS
from ghashgen.verify.core.refutation import Category, Refutation, unsupported
from ghashgen.verify.core.term import OPAQUE, RAW, Lane, Term
from ghashgen.verify.core.values import Affine, Number, Pointer, Value
from ghashgen.verify.engine.cut import of_length, put_in_place
from ghashgen.verify.engine.family import Buffer, Cell, Kept, Numbers, Parameter
from ghashgen.verify.engine.induction import Course, prove_longer
from ghashgen.verify.engine.prover import Prover
from ghashgen.verify.gcm.comparing import PARAMETERS, TAG, given, may_be, tells_apart
from ghashgen.verify.gcm.crypt import Decrypt
from ghashgen.verify.gcm.named import GREATEST, TAG_FIRST, MessageEntry, blocks_of
from ghashgen.verify.gcm.phases import Phases
from ghashgen.verify.gcm.table import GIVEN, MASK, RIGHT
from ghashgen.verify.hash.entry import HashEntry
from ghashgen.verify.machine.machine import Machine
from ghashgen.verify.machine.regions import Access, Region
from ghashgen.verify.machine.target import Abi

if TYPE_CHECKING:
    from ghashgen.verify.gcm.spec import GcmFunction, GcmSpec

ANY_TAG = Affine(1, 0, min(TAGS), max(TAGS), f"{TAG} in all")
"""What replaces a tag's length at a cut."""

WHOLE, ALL = "the whole output", "length in all"
"""The output from its beginning, as a separate buffer, and its length."""


class Open(Phases, Decrypt):
    """open: the text decrypted if the tag is right, zeros if not."""

    takes: ClassVar[tuple[str, ...]] = (
        "table", "iv", "iv_length", "aad", "aad_length", "input", "length", "output", "tag",
        "tag_length",
    )  # fmt: skip

    def __init__(self, spec: "GcmSpec", function: "GcmFunction", cutting: bool) -> None:
        super().__init__(spec, function, cutting)
        self.parameters = {**self.parameters, WHOLE: Buffer(Access.OUTPUT, ALL)}
        self._tags: dict[tuple[object, ...], bool] = {}
        """Whether a lane is the tag, by it and by what the tag depends on."""

    def every_parameter(self) -> dict[str, Parameter]:
        """Return all parameters by name."""
        return {**super().every_parameter(), **PARAMETERS}

    def every_cell(self) -> dict[str, Cell[HashEntry]]:
        """Return what each buffer holds on entry."""
        return {**super().every_cell(), "tag": given(self.terms)}

    def entry(self, machine: Machine, abi: Abi, numbers: dict[str, Number]) -> MessageEntry:
        """Return the entry: the output's beginning cannot be written again yet."""
        memory = machine.memory
        memory.regions[WHOLE] = Region(WHOLE, 0, 0, Access.OUTPUT, lambda index: None)
        memory.written[WHOLE] = {}
        return super().entry(machine, abi, numbers)

    def _known(self, entry: MessageEntry, lane: Term, early: bool) -> Lane:
        found = super()._known(entry, lane, early)
        return self._named_tag(entry, found) if found is lane else found

    def _has_none(self, lane: Term, early: bool, begun: bool, hashed: bool) -> bool:
        return super()._has_none(lane, early, begun, hashed) and not self._may_be_tag(lane)

    def _may_be_tag(self, lane: Term) -> bool:
        names = self.naming.variables.of(lane)
        known = lane.op != "var" and not lane.deps & (RAW | OPAQUE)
        return known and MASK in names and GIVEN not in names

    def _named_tag(self, entry: MessageEntry, lane: Term) -> Lane:
        """Return O if the lane is the tag in memory order."""
        if entry.tagged or not self._may_be_tag(lane):
            return lane
        left = tuple(entry.numbers[name] for name in ("aad_length", "length"))
        if not all(isinstance(number, int) for number in left):
            return lane
        stage = (entry.begun, entry.hashed)
        key = (lane, left, tuple(entry.weights.items()), self._lengths(entry), *stage)
        if key not in self._tags:
            form = self.terms.try_form(lane)
            self._tags[key] = form is not None and form == self.tag_form(entry, form)
        return self.terms.variable(RIGHT) if self._tags[key] else lane

    def tag_form(self, entry: MessageEntry, form: Form) -> Form:
        """Return the tag, in the variables of a form: by its name, if it has one."""
        named = entry.tagged or RIGHT in form.linear
        return variable(RIGHT) if named else super().tag_form(entry, form)

    def steady(self, entry: MessageEntry) -> dict[str, Mapping[Value, Value]]:
        """Return totals, and the beginning of the output."""
        out = super().steady(entry)
        # After a cut that has consumed text, the output begins elsewhere.
        if "length" in out and entry.numbers["length"] == entry.totals["length"]:
            out["length"] = {**out["length"], Pointer(self.out, 0): Pointer(WHOLE, 0)}
        return out

    def carried(self, entry: HashEntry, lanes: list[Term]) -> Kept | None:
        """Return what is kept, with zeros after what has been cleared."""
        assert isinstance(entry, MessageEntry)
        if entry.answer is not None:
            return self._cleared(entry, lanes)
        if lanes == [self.terms.variable(RIGHT)]:
            return self._tagged(entry, lanes[0])
        if entry.tagged:
            return None
        kept = super().carried(entry, lanes)
        if kept is not None:
            self._forget_tag(entry)
        return kept

    def _tagged(self, entry: MessageEntry, tag: Term) -> Kept | None:
        """Keep only the tag: its message is finished, and may be any."""
        kept = Kept({tag: tag})
        if entry.tagged:
            return kept
        numbers = {name: entry.numbers[name] for name in GREATEST}
        length = numbers["length"]
        if self.refused(entry) or not isinstance(length, int):
            return None
        if not all(
            self._written_to(entry, j, min(BLOCK_BYTES, length - BLOCK_BYTES * (j - 1)))
            for j in range(1, blocks_of(length) + 1)
        ):
            return None
        if not self._from_the_beginning(entry):
            return None
        entry.machine.memory.written[self.out] = {}
        self._forget_tag(entry)
        entry.tagged, entry.weights = True, {}
        entry.held |= set(GREATEST)
        done = {name: n for name, n in numbers.items() if name != "length" and isinstance(n, int)}
        return replace(kept, done=done)

    def _cleared(self, entry: MessageEntry, lanes: list[Term]) -> Kept | None:
        written = entry.machine.memory.written[WHOLE]
        done = len(written)
        if lanes or ALL not in entry.numbers or not _zero(written, range(done)):
            return None
        return Kept({}, done={ALL: done})

    def _forget_tag(self, entry: MessageEntry) -> None:
        """Let the tag's length be any valid one."""
        total = entry.totals[TAG]
        if TAG in entry.held or not isinstance(total, Affine) or not may_be(total):
            return
        m = entry.machine
        entry.held |= {TAG}
        entry.numbers[TAG] = m.memory.regions["tag"].size = ANY_TAG
        put_in_place(m, {total: ANY_TAG}, entry.live)

    def cases(self, entry: HashEntry) -> tuple[str, Sequence[Number]] | None:
        """Return the lengths of tags, once the text is finished."""
        assert isinstance(entry, MessageEntry)
        if entry.numbers["length"] == 0 and {TAG, "length"} <= entry.held:
            return ANY_TAG.unknown, TAGS
        return None

    def may_be_known(self, prover: Prover[HashEntry], entry: HashEntry, value: Term) -> bool:
        """Return whether a value is 0 if and only if the tag is the received one."""
        assert isinstance(entry, MessageEntry)
        size = entry.numbers[TAG]
        if entry.answer is not None or not isinstance(size, int):
            return False
        return tells_apart(self.terms, value, size, lambda form: self.tag_form(entry, form))

    def answered(self, prover: Prover[HashEntry], entry: HashEntry, zero: bool) -> None:
        """Note whether the tag is right. If it is not, the output is written again."""
        assert isinstance(entry, MessageEntry)
        entry.answer = zero
        memory = entry.machine.memory
        left = entry.numbers["length"]
        entry.unwritten = zero and not memory.written[self.out] and left != 0
        if not entry.unwritten:
            self.check_text(prover, entry)
        if zero:
            # The text stays as it is.
            memory.regions[WHOLE].size = 0
            return
        if self.cutting and not entry.tagged:
            self._from_the_beginning(entry)
        memory.written[self.out] = {}

    def _from_the_beginning(self, entry: MessageEntry) -> bool:
        """Let the output, all of which has been compared, have any length, under one name.

        Returns whether it does.

        Raises:
            Refutation: its beginning is not known any more.
        """
        m = entry.machine
        if "length" not in entry.held:
            values = self.steady(entry).get("length", {})
            if entry.numbers["length"] != entry.totals["length"]:
                raise unsupported("output is left to write where the tags are compared")
            put_in_place(m, values, range(len(m.gpr)))
            if not values:
                return False
            entry.held |= {"length"}
        # It can no longer be written under its old name.
        entry.numbers["length"] = 0
        for name in of_length(self, "length"):
            m.memory.regions[name].size = 0
        entry.numbers[ALL] = m.memory.regions[WHOLE].size = self.any_length["length"]
        return True

    def continued(self, prover: Prover[HashEntry], entry: HashEntry) -> bool:
        """Prove that all of the output is zero, for any length, if the tags differ."""
        assert isinstance(entry, MessageEntry)
        if entry.answer is not False or ALL not in entry.numbers or entry.judged:
            return False
        course = Course(Claim(1, GREATEST_TEXT, ALL), BLOCK_BYTES)
        for length in range(3 * BLOCK_BYTES):
            prover.prove(course.numbers(length))
        prove_longer(prover, course)
        return True

    def check_message(self, prover: Prover[HashEntry], entry: MessageEntry) -> None:
        """Compare the status and the output.

        Raises:
            Refutation: they differ.
        """
        if entry.answer is None:
            raise Refutation(Category.FUNCTION, "nothing depends on whether the tag is right")
        if entry.answer:
            prover.check_result(entry, DONE, "the status of a tag that is right")
            if entry.unwritten:
                self.check_text(prover, entry)
                raise unsupported(TAG_FIRST)
            return
        prover.check_result(entry, DIFFERS, "the status of a tag that differs")
        out, name = (WHOLE, ALL) if ALL in entry.numbers else (self.out, "length")
        size = entry.numbers[name]
        if not isinstance(size, int):
            raise unsupported("an output that is cleared up to an unknown place")
        if not _zero(entry.machine.memory.written[out], range(size)):
            raise Refutation(
                Category.FUNCTION, "the output is not zero to its end, though the tag differs"
            )

    def tags(self) -> Sequence[Numbers]:
        """Return the lengths of tags, from 12 on together. No other number equals one of these."""
        return tuple(
            {TAG: Affine(1, 0, low, high, TAG)} for low, high in ((12, 16), (4, 4), (8, 8))
        )

    def tag_of(self, k: int) -> Numbers:
        """Return a tag length for message k of the second line."""
        return {TAG: TAGS[k % len(TAGS)]}

    def tags_refused(self) -> Sequence[Numbers]:
        """Return the invalid lengths."""
        ranges = ((0, 3), (5, 7), (9, 11), (17, EVERY))
        return tuple({TAG: Affine(1, 0, low, high, TAG)} for low, high in ranges)

    def refused(self, entry: MessageEntry) -> bool:
        """Return whether a length is invalid."""
        return super().refused(entry) or not (TAG in entry.held or may_be(entry.totals[TAG]))


def _zero(written: Mapping[int, tuple[Value, int]], places: range) -> bool:
    for k in places:
        value, at = written.get(k, (1, 0))
        if not isinstance(value, int) or value >> 8 * at & 0xFF:
            return False
    return True
