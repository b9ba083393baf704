"""What open means: the message of a tag that is right, or nothing (SP 800-38D, section 7.2).

    tag' = the tag of the IV, the AAD and the ciphertext (`message`)
    0, the text               if the first tag_len bytes of tag' are those given
    1, zeros as far as out    if they are not

Whether they are is the one condition that a secret may decide; each way is followed. The text has
been compared by then; where the tags differ, `out` is written once more, from its beginning, and
has to be zero to its end. That is an induction of its own over the length of the text, which is any
by then. Tags have 4, 8 or 12 to 16 bytes: up to the comparison, any of these.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.verify.core.lengths import Claim
from ghashgen.verify.core.refutation import Category, Refutation, unsupported
from ghashgen.verify.core.term import Term
from ghashgen.verify.core.values import Affine, Number, Pointer, Value
from ghashgen.verify.engine.cut import put_in_place
from ghashgen.verify.engine.family import Buffer, Cell, Kept, Numbers, Parameter
from ghashgen.verify.engine.induction import Course, prove_longer
from ghashgen.verify.engine.prover import Prover
from ghashgen.verify.gcm.comparing import PARAMETERS, TAG, TAGS, given, may_be, tells_apart
from ghashgen.verify.gcm.crypt import GREATEST_TEXT, Decrypt
from ghashgen.verify.gcm.message import Message
from ghashgen.verify.gcm.named import DIFFERS, DONE, EVERY, MessageEntry
from ghashgen.verify.hash.entry import HashEntry
from ghashgen.verify.x86_64.abi import Abi
from ghashgen.verify.x86_64.machine import Machine
from ghashgen.verify.x86_64.memory import Access, Region

if TYPE_CHECKING:
    from ghashgen.verify.gcm.spec import GcmFunction, GcmSpec

ANY_TAG = Affine(1, 0, min(TAGS), max(TAGS), f"{TAG} in all")
"""What stands for one of them at a cut."""

WHOLE, ALL = "the whole output", "length in all"
"""The output from its beginning, which is a buffer of its own, and its length."""


class Open(Message, Decrypt):
    """open: the text decrypted if the tag is right, zeros if not."""

    takes: ClassVar[tuple[str, ...]] = (
        "table", "iv", "iv_length", "aad", "aad_length", "input", "length", "output", "tag",
        "tag_length",
    )  # fmt: skip

    def __init__(self, spec: "GcmSpec", function: "GcmFunction", cutting: bool) -> None:
        super().__init__(spec, function, cutting)
        self.parameters = {**self.parameters, WHOLE: Buffer(Access.OUTPUT, ALL)}

    def every_parameter(self) -> dict[str, Parameter]:
        """Return what the parameters of functions are, by name."""
        return {**super().every_parameter(), **PARAMETERS}

    def every_cell(self) -> dict[str, Cell[HashEntry]]:
        """Return what each buffer holds on entry."""
        return {**super().every_cell(), "tag": given(self.terms)}

    def entry(self, machine: Machine, abi: Abi, numbers: dict[str, Number]) -> MessageEntry:
        """Return the entry: nothing can be written from the output's beginning yet."""
        memory = machine.memory
        memory.regions[WHOLE] = Region(WHOLE, 0, 0, Access.OUTPUT, lambda index: None)
        memory.written[WHOLE] = {}
        return super().entry(machine, abi, numbers)

    def steady(self, entry: MessageEntry) -> dict[str, Mapping[Value, Value]]:
        """Return totals, and the beginning of the output."""
        out = super().steady(entry)
        # Behind a cut that has left some text behind, the output begins elsewhere.
        if "length" in out and entry.numbers["length"] == entry.totals["length"]:
            out["length"] = {**out["length"], Pointer(self.out, 0): Pointer(WHOLE, 0)}
        return out

    def carried(self, entry: HashEntry, lanes: list[Term]) -> Kept | None:
        """Return what is kept, zeros behind what has been cleared."""
        assert isinstance(entry, MessageEntry)
        if entry.answer is not None:
            return self._cleared(entry, lanes)
        kept = super().carried(entry, lanes)
        if kept is not None:
            self._forget_tag(entry)
        return kept

    def _cleared(self, entry: MessageEntry, lanes: list[Term]) -> Kept | None:
        written = entry.machine.memory.written[WHOLE]
        done = len(written)
        if lanes or ALL not in entry.numbers or not _zero(written, range(done)):
            return None
        return Kept({}, done={ALL: done})

    def _forget_tag(self, entry: MessageEntry) -> None:
        """Let the length of the tag be any that there may be."""
        total = entry.totals[TAG]
        if TAG in entry.held or not isinstance(total, Affine) or not may_be(total):
            return
        m = entry.machine
        entry.held |= {TAG}
        entry.numbers[TAG] = m.memory.regions["tag"].size = ANY_TAG
        put_in_place(m, {total: ANY_TAG}, entry.live)

    def cases(self, entry: HashEntry) -> tuple[str, Sequence[Number]] | None:
        """Return the lengths of tags, once the text is done."""
        assert isinstance(entry, MessageEntry)
        length = entry.numbers["length"]
        done = length == len(entry.machine.memory.written[self.out])
        # On a straight path no total of the text is any. Where there is no text that is told from
        # one not begun by the state: there it waits for its last product with the text.
        straight = "aad_length" in entry.held and (length != 0 or any(entry.weights.values()))
        if done and TAG in entry.held and (straight or "length" in entry.held):
            return ANY_TAG.unknown, TAGS
        return None

    def may_be_known(self, prover: Prover[HashEntry], entry: HashEntry, value: Term) -> bool:
        """Return whether a value is 0 if and only if the tag is the one that was given."""
        assert isinstance(entry, MessageEntry)
        size = entry.numbers[TAG]
        if entry.answer is not None or not isinstance(size, int):
            return False
        return tells_apart(self.terms, value, size, lambda form: self.tag_form(entry, form))

    def answered(self, prover: Prover[HashEntry], entry: HashEntry, zero: bool) -> None:
        """Note whether the tag is right. If it is not, the output is written anew."""
        assert isinstance(entry, MessageEntry)
        entry.answer = zero
        self.check_text(prover, entry)
        if zero:
            return
        memory = entry.machine.memory
        if self.cutting:
            self._from_the_beginning(entry)
        memory.written[self.out] = {}

    def _from_the_beginning(self, entry: MessageEntry) -> None:
        """Let the output, all of which has been compared, be one of any length, under one name.

        Raises:
            Refutation: nobody knows any more where it began.
        """
        m = entry.machine
        if "length" not in entry.held:
            values = self.steady(entry).get("length", {})
            if entry.numbers["length"] != entry.totals["length"]:
                raise unsupported("an output of which some is left, where the tags are compared")
            put_in_place(m, values, range(len(m.gpr)))
            if not values:
                return
            entry.held |= {"length"}
        # Nothing can be done to it any more under the name that it had.
        entry.numbers["length"] = m.memory.regions[self.out].size = 0
        entry.numbers[ALL] = m.memory.regions[WHOLE].size = self.any_length["length"]

    def continued(self, prover: Prover[HashEntry], entry: HashEntry) -> bool:
        """Prove that all of the output is zero, whatever its length, where the tags differ."""
        if ALL not in entry.numbers or entry.judged:
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
            return
        prover.check_result(entry, DIFFERS, "the status of a tag that differs")
        out, name = (WHOLE, ALL) if ALL in entry.numbers else (self.out, "length")
        size = entry.numbers[name]
        if not isinstance(size, int):
            raise unsupported("an output that is cleared, and how much of it is not known")
        if not _zero(entry.machine.memory.written[out], range(size)):
            raise Refutation(
                Category.FUNCTION, "the output is not zero to its end, though the tag differs"
            )

    def tags(self) -> Sequence[Numbers]:
        """Return the lengths of tags: from 12 on at once. No other number is one of these."""
        return tuple(
            {TAG: Affine(1, 0, low, high, TAG)} for low, high in ((12, 16), (4, 4), (8, 8))
        )

    def tag_of(self, k: int) -> Numbers:
        """Return the length of a tag for message k of the second line."""
        return {TAG: TAGS[k % len(TAGS)]}

    def tags_refused(self) -> Sequence[Numbers]:
        """Return those that are refused."""
        ranges = ((0, 3), (5, 7), (9, 11), (17, EVERY))
        return tuple({TAG: Affine(1, 0, low, high, TAG)} for low, high in ranges)

    def refused(self, entry: MessageEntry) -> bool:
        """Return whether a length is none that there may be."""
        return super().refused(entry) or not (TAG in entry.held or may_be(entry.totals[TAG]))


def _zero(written: Mapping[int, tuple[Value, int]], places: range) -> bool:
    for k in places:
        value, at = written.get(k, (1, 0))
        if not isinstance(value, int) or value >> 8 * at & 0xFF:
            return False
    return True
