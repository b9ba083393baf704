"""The tag (SP 800-38D, 7.1, steps 5 and 6): (X + the block of lengths)·H + E_K(J_0)."""

from collections.abc import Callable
from dataclasses import dataclass

from ghashgen.algebra.ops.forms import Form, variable
from ghashgen.verify.core.term import Lane
from ghashgen.verify.meaning.buffers import Left
from ghashgen.verify.meaning.hashing import Hashing
from ghashgen.verify.meaning.lengths import Lengths
from ghashgen.verify.rules.state import State

TAG_LENGTH = "tag_length"
"""The number of bytes of a tag that is given."""

RIGHT_TAG = "right tag"
"""The ghost that says which variable is the tag, where an assertion has a name for it."""


@dataclass(frozen=True)
class Tag:
    """A message's tag, of what is hashed and the mask E_K(J_0)."""

    lengths: Lengths
    hashing: Hashing
    mask: Callable[[State], Form]

    def left(self, state: State) -> Left:
        """Return that it is in its buffer."""
        sum_, constant = self.lengths.ended(self.hashing, state)
        memory = self.lengths.names.algebra.memory
        return Left(
            "tag", 0, "the tag", sum_, lambda: constant.moves(memory, 128) ^ self.mask(state)
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
