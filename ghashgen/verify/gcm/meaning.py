"""What all functions of an AES-GCM kernel share."""

from typing import TYPE_CHECKING

from ghashgen.verify.core.term import Lane
from ghashgen.verify.engine.family import Buffer, Cell, Parameter
from ghashgen.verify.gcm.table import KEY_LETTER, ROUND_KEY, GcmAlgebra, naming
from ghashgen.verify.hash import operations as hashes
from ghashgen.verify.hash.entry import HashEntry
from ghashgen.verify.hash.naming import Naming
from ghashgen.verify.machine.regions import Access

if TYPE_CHECKING:
    from ghashgen.verify.gcm.spec import GcmFunction, GcmSpec


class GcmMeaning(hashes.HashMeaning):
    """What all operations share: a hash's, with round keys in the table."""

    def __init__(self, spec: "GcmSpec", function: "GcmFunction", cutting: bool) -> None:
        self.gcm = spec
        super().__init__(spec.hash, function, cutting)

    def names(self) -> Naming:
        """Return an empty pool of terms, and what recognises values in it."""
        return naming(GcmAlgebra(self.spec.order, self.spec.op))

    def every_parameter(self) -> dict[str, Parameter]:
        """Return all parameters by name."""
        return {**super().every_parameter(), "key": Buffer(Access.READ, self.gcm.key_bytes)}

    def every_cell(self) -> dict[str, Cell[HashEntry]]:
        """Return what each buffer holds on entry."""
        known, terms, rounds = super().every_cell(), self.naming.terms, self.gcm.round_keys

        def table(entry: HashEntry, index: int) -> Lane | None:
            if index in rounds:
                return terms.entry(ROUND_KEY, rounds[index])
            return known["table"](entry, index)

        def key(entry: HashEntry, index: int) -> Lane | None:
            return terms.variable(f"{KEY_LETTER}{index + 1}")

        return {**known, "table": table, "key": key}
