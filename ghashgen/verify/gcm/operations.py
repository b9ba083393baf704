"""What the functions of an AES-GCM kernel mean, one operation a class."""

from typing import TYPE_CHECKING, ClassVar

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.ops.forms import Form
from ghashgen.verify.core.refutation import Category, Refutation
from ghashgen.verify.core.term import CALLER, OPAQUE, Lane, Term
from ghashgen.verify.engine.family import Buffer, Cell, Parameter
from ghashgen.verify.engine.prover import Prover
from ghashgen.verify.gcm.cipher import encrypted, expanded
from ghashgen.verify.gcm.table import KEY_LETTER, ROUND_KEY, GcmAlgebra, naming
from ghashgen.verify.hash import operations as hashes
from ghashgen.verify.hash.entry import HashEntry
from ghashgen.verify.hash.naming import Naming
from ghashgen.verify.x86_64.memory import Access

if TYPE_CHECKING:
    from ghashgen.verify.gcm.spec import GcmFunction, GcmSpec


class GcmMeaning(hashes.HashMeaning):
    """What is common to all operations: what is so of a hash, with round keys in the table."""

    def __init__(self, spec: "GcmSpec", function: "GcmFunction", cutting: bool) -> None:
        self.gcm = spec
        super().__init__(spec.hash, function, cutting)

    def names(self) -> Naming:
        """Return an empty pool of terms, and what recognises values in it."""
        return naming(GcmAlgebra(self.spec.order, self.spec.op))

    def every_parameter(self) -> dict[str, Parameter]:
        """Return what the parameters of functions are, by name."""
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


class Init(GcmMeaning, hashes.Init):
    """init: the round keys of a key, and the table of the hash subkey H = E_K(0)."""

    takes: ClassVar[tuple[str, ...]] = ("table", "key")

    def __init__(self, spec: "GcmSpec", function: "GcmFunction", cutting: bool) -> None:
        super().__init__(spec, function, cutting)
        terms, lanes = self.terms, -(-spec.key_bytes // BLOCK_BYTES)
        key = [terms.variable(f"{KEY_LETTER}{k + 1}") for k in range(lanes)]
        self.round_keys = expanded(terms, key, spec.key_bytes)
        self.subkey: Form = terms.form(encrypted(terms, 0, self.round_keys))
        self._subkeys: dict[Term, bool] = {}
        """Whether a value is the hash subkey."""

    def written(self, entry: HashEntry, vectors: tuple[int, ...]) -> None:
        """Name the hash subkey, and then its powers, as soon as they are computed."""
        m = entry.machine
        for k in vectors:
            m.vec[k] = tuple(
                self.terms.entry("subkey", 1) if self._is_subkey(lane) else lane
                for lane in m.vec[k]
            )
        super().written(entry, vectors)

    def _is_subkey(self, lane: Lane) -> bool:
        if not isinstance(lane, Term) or lane.deps & (OPAQUE | CALLER):
            return False
        if lane not in self._subkeys:
            self._subkeys[lane] = self.terms.try_form(lane) == self.subkey
        return self._subkeys[lane]

    def check(self, prover: Prover[HashEntry], entry: HashEntry) -> None:
        """Compare every round key, E_K(0) and every other cell of the table with its definition.

        Raises:
            Refutation: they differ.
        """
        for index, number in self.gcm.round_keys.items():
            wanted = self.terms.form(self.round_keys[number])
            prover.check_cell(entry, "table", wanted, f"round key {number}", index)
        if any(self.spec.cells) and not any(self._subkeys.values()):
            raise Refutation(
                Category.FUNCTION,
                f"the hash subkey is wrong: no value is E_K(0), {self.gcm.rounds} rounds of AES "
                "of a block of zeros under the round keys",
            )
        super().check(prover, entry)


OPERATIONS: dict[str, type[GcmMeaning]] = {"init": Init}
