"""The tag (SP 800-38D, 7.1, steps 5 and 6): (X + the block of lengths)·H + E_K(J_0)."""

from collections.abc import Callable
from dataclasses import dataclass

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.ops.forms import Form, variable
from ghashgen.verify.core.numbers import Number
from ghashgen.verify.core.refutation import Category, Refutation
from ghashgen.verify.core.term import Lane
from ghashgen.verify.gcm.table import GIVEN
from ghashgen.verify.meaning.function import Buffer, Function
from ghashgen.verify.meaning.lengths import Ended, Lengths
from ghashgen.verify.rules.state import State
from ghashgen.verify.x86_64.memory import Memory
from ghashgen.verify.x86_64.regions import Access

TAG_LENGTH = "tag_length"
"""The number of bytes of a tag that is given."""

RIGHT_TAG = "right tag"
"""The ghost that says which variable is the tag, where an assertion has a name for it."""


@dataclass
class Tag:
    """A message's tag, of what is hashed and the mask E_K(J_0)."""

    lengths: Lengths
    hashing: Ended
    mask: Callable[[State], Form]

    def buffer(self, given: bool) -> Buffer:
        """Return the buffer of a tag that is given, or of one that is to be written."""
        terms = self.lengths.names.terms

        def content(memory: Memory, at: Number) -> Lane | None:
            return terms.variable(GIVEN) if given and at == 0 else None

        return Buffer(
            Access.READ if given else Access.WRITE, TAG_LENGTH if given else BLOCK_BYTES, content
        )

    def form(self, state: State, form: Form) -> Form | None:
        """Return its polynomials, in the values that a form has; None: in none of them."""
        if RIGHT_TAG in state.ghosts:
            return variable(str(state.ghosts[RIGHT_TAG]))
        register = self.lengths.sum_in(form, self.hashing, state)
        memory = self.lengths.names.algebra.memory
        return None if register is None else register.moves(memory, 128) ^ self.mask(state)

    def is_right(self, state: State, lane: Lane) -> bool:
        """Return whether a value is the tag, all 16 bytes of it, as it stands in memory."""
        form = self.lengths.names.terms.try_form(lane)
        return form is not None and form == self.form(state, form)

    def check(self, f: Function, state: State) -> None:
        """Compare what is written with it.

        Raises:
            Refutation: they differ.
        """
        found = f.form(f.cell(state, "tag", "the tag"), "the tag") ^ self.mask(state)
        register = self.lengths.names.algebra.register
        if not self.lengths.ends_form(found.moves(register, 128), self.hashing, state):
            raise Refutation(Category.FUNCTION, "the tag is wrong")
