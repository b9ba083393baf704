"""The phases of a message, proved from the last: text, AAD, IV; and refusals."""

import random
from collections.abc import Iterable, Sequence

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.verify.core.lengths import Claim
from ghashgen.verify.core.limits import EVERY, GREATEST_OTHER, GREATEST_TEXT
from ghashgen.verify.core.refutation import Category, Refutation
from ghashgen.verify.core.values import Affine, Number
from ghashgen.verify.engine.behind import Behind, run_numbers
from ghashgen.verify.engine.family import Numbers
from ghashgen.verify.engine.induction import Course, each, join, prove_longer
from ghashgen.verify.engine.plans import Shown
from ghashgen.verify.engine.prover import Prover, as_key
from ghashgen.verify.gcm.counter import IV_BYTES
from ghashgen.verify.gcm.message import Message
from ghashgen.verify.gcm.named import BEFORE, GREATEST, LEAST, SAMPLE, TAG_FIRST
from ghashgen.verify.hash.entry import HashEntry

OTHER_IVS = (2 * BLOCK_BYTES, 3 * BLOCK_BYTES, 4 * BLOCK_BYTES)
"""Bytes of IVs without 96 bits, before the proofs of text and AAD. The first differs from the other
lengths too, since equal totals cannot be told apart.
"""

_TEXT = Claim(1, GREATEST_TEXT, "length")


class TextCourse(Course):
    """An induction over the text, after some AAD."""

    def numbers(self, value: Number) -> Numbers:
        """Return all numbers for one length of the text."""
        before = next(length for length in BEFORE if length != value)
        return _behind_other_iv({**super().numbers(value), "aad_length": before})


class AadCourse(Course):
    """An induction over the AAD."""

    def numbers(self, value: Number) -> Numbers:
        """Return all numbers for one length of the AAD."""
        return _behind_other_iv(super().numbers(value))


def _behind_other_iv(numbers: Numbers) -> Numbers:
    """Return numbers with an IV of another length if they name none."""
    if "iv_length" in numbers:
        return numbers
    others = numbers.values()
    return {**numbers, "iv_length": next(n for n in OTHER_IVS if n not in others)}


class Phases(Message):
    """seal and open, phase by phase."""

    def tags(self) -> Sequence[Numbers]:
        """Return the lengths of tags, each proved alone or several together."""
        return ({},)

    def tag_of(self, k: int) -> Numbers:
        """Return a tag length for message k of the second line."""
        return {}

    def tags_refused(self) -> Sequence[Numbers]:
        """Return the invalid lengths."""
        return ()

    def _every_length(
        self, prover: Prover[HashEntry], lengths: Iterable[int] | None, parts: int
    ) -> Shown:
        """Prove it for every IV, AAD and text; what cannot be shown for all may be wrong for one.

        Raises:
            Refutation: of a single message, if one shows what is wrong.
        """
        if lengths is not None:
            return self._chosen(prover, sorted(set(lengths)))
        try:
            behind = self._every_message(prover)
        except Refutation as refutation:
            if refutation.category is not Category.UNSUPPORTED:
                raise
            known = refutation.numbers
            alone: Prover[HashEntry] = Prover(
                prover.image, prover.statement, prover.function, cutting=False
            )
            sample = self._sample(prover, BLOCK_BYTES * self.gcm.blocks)
            alike = [{**m, **{k: n for k, n in known.items() if k in m}} for m in sample]
            for numbers in (*alike, *sample[:2]):
                try:
                    alone.prove(numbers)
                except Refutation as one:
                    if one.category is not Category.UNSUPPORTED or one.message == TAG_FIRST:
                        raise one from None
            raise
        return Shown((("IV, AAD and text, every length of each", "induction"),), behind)

    def _chosen(self, prover: Prover[HashEntry], lengths: Sequence[int]) -> Shown:
        """Prove it for texts of some lengths; nothing is claimed of other messages."""
        for tag in self.tags():
            course = TextCourse(_TEXT, 1, {**tag, "iv_length": IV_BYTES})
            for length in lengths:
                prover.prove(course.numbers(length))
        words = f"{len(lengths)} chosen of text, an IV of 12 bytes, 16 or 32 of AAD"
        return Shown(((words, "execution"),))

    def _every_message(self, prover: Prover[HashEntry]) -> Behind:
        """Prove it phase by phase, from the last: what precedes may then be anything."""
        first, *more = self.tags()
        self._refusals(prover, first)
        group = BLOCK_BYTES * self.gcm.blocks
        executed = [*range(group + 2 * BLOCK_BYTES), 2 * group, 3 * group]
        text = TextCourse(_TEXT, group, {**first, "iv_length": IV_BYTES})
        any_text = self._course(prover, text, executed)
        numbers = {"length": any_text}
        any_aad = self._any_aad(prover, {**first, **numbers, "iv_length": IV_BYTES}, executed)
        numbers["aad_length"] = any_aad
        ivs = [
            Course(Claim(1, GREATEST_OTHER, "iv_length"), BLOCK_BYTES, {**tag, **numbers})
            for tag in (first, *more)
        ]
        try:
            self._any_iv(prover, ivs)
        except Refutation as refutation:
            if refutation.category is not Category.UNSUPPORTED:
                raise
            # A 96-bit IV has its own code, beside that for all others.
            self._course(prover, TextCourse(_TEXT, group, first), executed)
            self._course(prover, self._of_aad({**first, "length": any_text}), executed)
            self._any_iv(prover, ivs)
        return run_numbers(prover, "message", self._sample(prover, group))

    def _of_aad(self, others: Numbers) -> Course:
        group = BLOCK_BYTES * self.gcm.blocks
        return AadCourse(Claim(1, GREATEST_OTHER, "aad_length"), group, others)

    def _any_aad(
        self, prover: Prover[HashEntry], others: Numbers, executed: Iterable[int]
    ) -> Affine:
        """Prove it for any AAD; for some IV no state may lead into this proof."""
        course = self._of_aad(others)
        for length in executed:
            prover.prove(course.numbers(length))
        shown = prove_longer(prover, course)
        try:
            return join(prover, course, shown)
        except Refutation as refutation:
            if refutation.category is not Category.UNSUPPORTED:
                raise
            return each(prover, course, shown)

    def _any_iv(self, prover: Prover[HashEntry], courses: Iterable[Course]) -> None:
        for course in courses:
            for length in range(3 * BLOCK_BYTES):
                if as_key(course.numbers(length)) not in prover.proved:
                    prover.prove(course.numbers(length))
            prove_longer(prover, course)

    def _course(self, prover: Prover[HashEntry], course: Course, executed: Iterable[int]) -> Affine:
        for length in executed:
            prover.prove(course.numbers(length))
        return join(prover, course, prove_longer(prover, course))

    def _sample(self, prover: Prover[HashEntry], group: int) -> list[Numbers]:
        """Return the second line's messages: IVs of both kinds, random AAD and text."""
        drawn = random.Random(prover.function.symbol)
        most = 2 * group + 2 * BLOCK_BYTES
        out: list[Numbers] = []
        for k in range(SAMPLE):
            iv = IV_BYTES if k % 2 else drawn.randrange(1, 5 * BLOCK_BYTES)
            lengths = {"aad_length": drawn.randrange(most), "length": drawn.randrange(most)}
            out.append({**self.tag_of(k), "iv_length": iv, **lengths})
        return out

    def _refusals(self, prover: Prover[HashEntry], tag: Numbers) -> None:
        """Prove that lengths outside the standard's limits are refused."""
        anything: dict[str, Number] = {n: Affine(1, 0, 0, EVERY, n) for n in (*GREATEST, *tag)}
        right: dict[str, Number] = {
            number: Affine(1, 0, LEAST[number], most, number) for number, most in GREATEST.items()
        }
        prover.prove({**anything, "iv_length": 0})
        for k, (number, most) in enumerate(GREATEST.items()):
            before = dict(list(right.items())[:k])
            prover.prove({**anything, **before, number: Affine(1, 0, most + 1, EVERY, number)})
        for wrong in self.tags_refused():
            prover.prove({**right, **wrong})
