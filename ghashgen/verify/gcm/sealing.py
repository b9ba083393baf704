"""seal against SP 800-38D: the text encrypted, and its tag."""

from typing import ClassVar

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.verify.core.limits import DONE
from ghashgen.verify.core.term import RAW, Lane, Term
from ghashgen.verify.engine.family import Buffer, Cell, Parameter
from ghashgen.verify.engine.prover import Prover
from ghashgen.verify.gcm.crypt import Encrypt
from ghashgen.verify.gcm.named import MessageEntry
from ghashgen.verify.gcm.phases import Phases
from ghashgen.verify.hash.entry import HashEntry
from ghashgen.verify.hash.naming import PARTIAL
from ghashgen.verify.machine.regions import Access


class Seal(Phases, Encrypt):
    """seal: the text encrypted, and the tag."""

    takes: ClassVar[tuple[str, ...]] = (
        "table", "iv", "iv_length", "aad", "aad_length", "input", "length", "output", "tag",
    )  # fmt: skip

    def every_parameter(self) -> dict[str, Parameter]:
        """Return all parameters by name."""
        return {**super().every_parameter(), "tag": Buffer(Access.WRITE, BLOCK_BYTES)}

    def every_cell(self) -> dict[str, Cell[HashEntry]]:
        """Return what each buffer holds on entry."""
        return {**super().every_cell(), "tag": lambda entry, index: None}

    def _named(self, entry: HashEntry, lane: Lane) -> Lane:
        if not isinstance(lane, Term) or not lane.deps & RAW:
            return super()._named(entry, lane)
        # Another buffer's block may still consist of overlapping loads in memory.
        text = PARTIAL in self.naming.variables.of(lane)
        return self._padded(entry, lane, ("memory", "register") if text else ("register",))

    def check_message(self, prover: Prover[HashEntry], entry: MessageEntry) -> None:
        """Compare the status, the text and the tag."""
        prover.check_result(entry, DONE, "the status")
        self.check_text(prover, entry)
        self.check_tag(prover, entry)
