"""Whether a tag is the one given: the one secret condition whose answer everybody may know.

A value is 0 exactly if the first bytes of two tags are the same, where the polynomials of its bits
are those of the differences, all of them and no others. It is one value, or several that an OR put
together. The answer is given once. By then the text is written and right, or none of it is written.
Where the tags differ it is to be written with zeros.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ghashgen.algebra.ops.forms import variable
from ghashgen.verify.core import limits
from ghashgen.verify.core.refutation import Category, Refutation, unsupported
from ghashgen.verify.core.term import Term
from ghashgen.verify.core.zeros import all_of, bits_of
from ghashgen.verify.meaning.hashing import size_of
from ghashgen.verify.meaning.letters import GIVEN
from ghashgen.verify.meaning.tag import RIGHT_TAG, TAG_LENGTH, Tag
from ghashgen.verify.meaning.text import ANSWER, DIFFERS, DONE, RIGHT, Text
from ghashgen.verify.rules.state import Arrival, State


@dataclass
class Answer:
    """The answer's ghost, and the question that it answers.

    Before the answer the ghost may be {"tag": name}: the right tag is the unknown value of this
    name, in memory order.
    """

    tag: Tag
    text: Text | None = None
    """What is written with it, if there is any."""
    sizes: tuple[int, ...] = limits.TAGS
    """Bytes of a tag that is compared."""
    keeps: bool = False
    """Whether the output stays as it was where the tags differ, instead of zeros."""
    name: str = ANSWER

    def begin(self) -> dict[str, Any]:
        """Return no ghost: nothing has been asked."""
        return {}

    def ghosts(self, data: object, unknowns: Mapping[str, object]) -> dict[str, Any]:
        """Return the ghost of an assertion: the answer, the right tag before it, or None.

        Raises:
            Refutation: it is something else.
        """
        match data:
            case None:
                return {}
            case "right" | "differs":
                return {ANSWER: data}
            case {"tag": str(name), **rest} if not rest:
                return {RIGHT_TAG: f"u{name}"}
        raise unsupported(f"no answer: {data!r}")

    def instance(self, arrival: Arrival) -> None:
        """Check that the answer is the same, or that a value is the right tag."""
        if arrival.state.ghosts.get(ANSWER) != arrival.to.get(ANSWER):
            raise unsupported(arrival.where + "another answer")
        name = arrival.to.get(RIGHT_TAG)
        if name is not None and not self.tag.is_right(arrival.state, arrival.value(name)):
            raise Refutation(Category.FUNCTION, arrival.where + "a value that is not the tag")

    def may_be_known(self, state: State, value: Term) -> bool:
        """Return whether a value is 0 if and only if the tag is the one given, and may be told.

        Raises:
            Refutation: part of the text is written, or it is wrong.
        """
        size = state.ghosts[TAG_LENGTH]
        if ANSWER in state.ghosts or not isinstance(size, int):
            return False
        if size not in self.sizes:
            raise Refutation(Category.FUNCTION, f"a tag of {size} bytes is not refused")
        terms = self.tag.lengths.names.terms
        leaves = all_of(value)
        forms = [form for leaf in leaves if (form := terms.try_form(leaf)) is not None]
        if len(forms) < len(leaves):
            return False
        largest = max(forms, key=lambda form: len(form.quadratic))
        right = self.tag.form(state, largest)
        if right is None:
            return False
        wanted = bits_of((right ^ variable(GIVEN)).mask((1 << 8 * size) - 1))
        if set().union(*map(bits_of, forms)) != wanted:
            return False
        if self.text is not None and self.text.begun(state):
            self.text.check_end(state)
        return True

    def status(self, state: State) -> int:
        """Return the status of the answer.

        Raises:
            Refutation: there was none.
        """
        if ANSWER not in state.ghosts:
            raise Refutation(Category.FUNCTION, "nothing depends on whether the tag is right")
        return limits.DONE if state.ghosts[ANSWER] == RIGHT else limits.DIFFERS

    def answered(self, state: State, zero: bool) -> None:
        """Note the answer: the text is done or still to be written, or is zeros from now on."""
        memory = state.memory
        state.ghosts[ANSWER] = RIGHT if zero else DIFFERS
        if self.text is None:
            return
        if self.keeps and not zero and self.text.begun(state):
            raise Refutation(Category.FUNCTION, "the output is written before the tag is known")
        out, done = self.text.out, zero and self.text.begun(state)
        memory.written[out] = {}
        state.ghosts[DONE] = size_of(memory, self.text.read.buffer) if done else 0
        memory.regions[out] = replace(memory.regions[out], done=state.ghosts[DONE])
