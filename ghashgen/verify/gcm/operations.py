"""What the functions of an AES-GCM kernel mean, one class per operation."""

from typing import TYPE_CHECKING, ClassVar

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.ops.forms import Form
from ghashgen.verify.core.refutation import Category, Refutation
from ghashgen.verify.core.term import CALLER, OPAQUE, Lane, Term, of_table, parts_first, parts_of
from ghashgen.verify.engine.prover import Prover
from ghashgen.verify.gcm.aad import Aad
from ghashgen.verify.gcm.cipher import encrypted, expanded
from ghashgen.verify.gcm.crypt import Decrypt, Encrypt
from ghashgen.verify.gcm.ending import Finish, Verify
from ghashgen.verify.gcm.meaning import GcmMeaning
from ghashgen.verify.gcm.more import DecryptMore, EncryptMore
from ghashgen.verify.gcm.opening import Open
from ghashgen.verify.gcm.sealing import Seal
from ghashgen.verify.gcm.starting import Start
from ghashgen.verify.gcm.table import KEY_LETTER
from ghashgen.verify.hash import operations as hashes
from ghashgen.verify.hash.entry import HashEntry

if TYPE_CHECKING:
    from ghashgen.verify.gcm.spec import GcmFunction, GcmSpec


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
        self._linear: dict[Term, bool] = {}
        """Whether no carry-less product is in a value."""

    def written(self, entry: HashEntry, vectors: tuple[int, ...]) -> None:
        """Name the hash subkey, and then its powers, as soon as they are computed."""
        m = entry.machine
        for k in vectors:
            m.vec[k] = tuple(self._named(lane) for lane in m.vec[k])

    def _named(self, lane: Lane) -> Lane:
        if of_table(lane):
            return self.naming.power(lane)
        # Only remaining functions of the key can be E_K(0).
        return self.terms.entry("subkey", 1) if self._is_subkey(lane) else lane

    def _is_subkey(self, lane: Lane) -> bool:
        if not isinstance(lane, Term) or lane.deps & (OPAQUE | CALLER):
            return False
        if lane not in self._subkeys:
            for term in parts_first(lane, self._linear):
                parts = parts_of(term)
                self._linear[term] = term.op != "clmul" and all(map(self._linear.get, parts))
            # Products of the wrong subkey have many terms, and are no powers.
            found = self._linear[lane] and self.terms.try_form(lane) == self.subkey
            self._subkeys[lane] = found
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


class Update(GcmMeaning, hashes.Update):
    """update: the state after AAD, or other data that is hashed unchanged, of any length."""


class Power(GcmMeaning, hashes.Power):
    """power: H^exponent."""


class Combine(GcmMeaning, hashes.Combine):
    """combine: state = state·factor + addend."""


OPERATIONS: dict[str, type[GcmMeaning]] = {
    "init": Init,
    "encrypt": Encrypt,
    "decrypt": Decrypt,
    "seal": Seal,
    "open": Open,
    "start": Start,
    "aad": Aad,
    "encrypt_more": EncryptMore,
    "decrypt_more": DecryptMore,
    "finish": Finish,
    "verify": Verify,
    "update": Update,
    "power": Power,
    "combine": Combine,
}
