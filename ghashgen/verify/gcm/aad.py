"""The meaning of a message's next piece of AAD: X absorbs the bytes, in the frame of `pieces`."""

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from ghashgen.verify.core.limits import GREATEST_OTHER
from ghashgen.verify.core.term import Lane
from ghashgen.verify.core.values import (
    Affine,
)
from ghashgen.verify.engine.family import Buffer, Cell, Count, Numbers, Parameter
from ghashgen.verify.engine.plans import Shown
from ghashgen.verify.engine.prover import Prover
from ghashgen.verify.gcm.begun import HELD, NO_MESSAGE, PieceCourse, misplaced, too_long
from ghashgen.verify.gcm.pieces import Piece
from ghashgen.verify.gcm.stream import (
    ASSOCIATED,
    TEXT_BEGUN,
    residues,
)
from ghashgen.verify.hash.entry import HashEntry, data_cell
from ghashgen.verify.machine.regions import Access


class Aad(Piece):
    """aad: X absorbs the bytes."""

    takes: ClassVar[tuple[str, ...]] = ("table", "stream", "aad", "aad_length")
    number = "aad_length"
    phases = (ASSOCIATED,)
    steps = False

    def every_parameter(self) -> dict[str, Parameter]:
        """Return all parameters by name."""
        aad = Buffer(Access.READ, self.number)
        return {**super().every_parameter(), "aad": aad, self.number: Count()}

    def every_cell(self) -> dict[str, Cell[HashEntry]]:
        """Return what each buffer holds on entry."""
        return {**super().every_cell(), "aad": self.input_cell}

    def next_cell(self, entry: HashEntry, index: int) -> Lane | None:
        """Return a block after the begun one."""
        return data_cell(entry, self.naming, index, self.number)

    def prove(self, prover: Prover[HashEntry], lengths: Iterable[int] | None) -> Shown:
        """Prove it for every piece, from every state.

        Raises:
            Refutation: it does not hold.
        """
        return self._every_length(prover, lengths, 0)

    def courses(self) -> Sequence[PieceCourse]:
        """Return the states that a piece may come to, by the bytes in the begun block."""
        held = HELD["aad_length"]
        return [
            self.course({held: begun, HELD["length"]: 0, HELD["phase"]: ASSOCIATED})
            for _, begun in residues(held, 0, GREATEST_OTHER)
        ]

    def refusals(self) -> Iterator[Numbers]:
        """Yield the numbers of calls that are refused."""
        state = {HELD["length"]: 0, HELD["phase"]: ASSOCIATED}
        yield too_long(state, self.number, Affine(1, 0, 0, GREATEST_OTHER, HELD["aad_length"]))
        yield from misplaced(self.number, (*NO_MESSAGE, TEXT_BEGUN))
