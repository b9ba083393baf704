"""The meaning of `start`, which begins a message in pieces: from an IV to a state.

    J_0                     as for any message (`named`)
    X, keystream            zeros
    the counter block       inc32(J_0)
    E_K(J_0)
    lengths, phase          0, 0, 1

It is a message of which only the IV has come, so the IV's phase of `seal` and `open` applies. Only
the loop over the IV is cut. The straight code after it runs from each state that the loop may end
in. Nothing of the state can be read before it is written.
"""

from collections.abc import Iterable
from typing import ClassVar

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.ops.forms import variable
from ghashgen.verify.core.lengths import Claim
from ghashgen.verify.core.limits import DONE, EVERY, GREATEST_OTHER
from ghashgen.verify.core.term import Term
from ghashgen.verify.core.values import Affine, Number
from ghashgen.verify.engine.family import Buffer, Cell, Kept, Parameter
from ghashgen.verify.engine.induction import Course
from ghashgen.verify.engine.plans import Shown, every_length
from ghashgen.verify.engine.prover import Prover
from ghashgen.verify.gcm.counter import counter_block
from ghashgen.verify.gcm.message import Message
from ghashgen.verify.gcm.named import MessageEntry
from ghashgen.verify.gcm.stream import ASSOCIATED, STREAM_BYTES, check_cells
from ghashgen.verify.gcm.table import MASK
from ghashgen.verify.hash.entry import HashEntry
from ghashgen.verify.machine.machine import Machine
from ghashgen.verify.machine.regions import Access
from ghashgen.verify.machine.target import Abi

LENGTH = "iv_length"

NO_MORE: dict[str, Number] = {"aad_length": 0, "length": 0}
"""The lengths beside the IV's."""


class Start(Message):
    """start: the state of a message under an IV."""

    takes: ClassVar[tuple[str, ...]] = ("table", "stream", "iv", LENGTH)

    def every_parameter(self) -> dict[str, Parameter]:
        """Return all parameters by name."""
        return {**super().every_parameter(), "stream": Buffer(Access.WRITE, STREAM_BYTES)}

    def every_cell(self) -> dict[str, Cell[HashEntry]]:
        """Return what each buffer holds on entry."""
        return {**super().every_cell(), "stream": lambda entry, index: None}

    def entry(self, machine: Machine, abi: Abi, numbers: dict[str, Number]) -> MessageEntry:
        """Return the entry: neither AAD nor text comes."""
        return super().entry(machine, abi, {**numbers, **NO_MORE})

    def carried(self, entry: HashEntry, lanes: list[Term]) -> Kept | None:
        """Return what is kept while an IV is hashed."""
        assert isinstance(entry, MessageEntry)
        return None if entry.begun or not entry.hashed else super().carried(entry, lanes)

    def check_message(self, prover: Prover[HashEntry], entry: MessageEntry) -> None:
        """Compare the status and the state.

        Raises:
            Refutation: one of them differs.
        """
        prover.check_result(entry, DONE, "the status")
        terms, zeros = self.terms, self.terms.form(0)
        counter, phase = terms.form(counter_block(terms, 0)), terms.form(ASSOCIATED)
        check_cells(prover, entry, (zeros, counter, variable(MASK), zeros, zeros, phase))

    def prove(self, prover: Prover[HashEntry], lengths: Iterable[int] | None) -> Shown:
        """Prove it for IVs of every length, whatever lengths are chosen.

        Raises:
            Refutation: it does not hold.
        """
        prover.prove({LENGTH: Affine(1, 0, GREATEST_OTHER + 1, EVERY, LENGTH)})
        course = Course(Claim(1, GREATEST_OTHER, LENGTH), BLOCK_BYTES)
        shown = every_length(prover, course, range(3 * BLOCK_BYTES))
        parts = tuple((f"{words} of the IV", method) for words, method in shown.parts)
        return Shown(parts, shown.behind)
