"""Counter blocks and the keystream (SP 800-38D, sections 6.2 and 6.5), as terms.

The counter block on entry is IV ‖ N, N its last 32 bits as a big-endian number: any number. Block j
of the text, from 1, meets E_K(IV ‖ N + j - 1 modulo 2^32). After a cut, blocks count from the new
position, and N is the number reached there: N before b blocks is N - b after them. So the counters
are unchanged, and their names do not depend on the number of blocks before.
"""

from collections.abc import Sequence

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.ops.forms import Form
from ghashgen.verify.core.term import CALLER, OPAQUE, RAW, Lane, NotPolynomialError, Term
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.core.variables import Variables, replaced
from ghashgen.verify.core.words import M32
from ghashgen.verify.gcm.cipher import encrypted
from ghashgen.verify.gcm.table import COUNTER, IV, TEXT
from ghashgen.verify.hash.naming import BLOCK

IV_BYTES = 12
COUNTER_BYTES = range(IV_BYTES, BLOCK_BYTES)
"""Where the number is in a counter block."""

_BIG_ENDIAN = (*[-1] * IV_BYTES, 3, 2, 1, 0)


def counter_block(terms: Terms, number: int) -> Lane:
    """Return IV ‖ N + number, as it is in memory."""
    iv = terms.keep(terms.variable(IV), (1 << 8 * IV_BYTES) - 1)
    word = terms.add_words(terms.keep(terms.variable(COUNTER), M32), number & M32)
    return terms.xor(iv, terms.bytes(word, _BIG_ENDIAN))


class Keystream:
    """The blocks E_K(IV ‖ N + j - 1), j from 1, for the round keys of a table."""

    def __init__(self, terms: Terms, keys: Sequence[Lane]) -> None:
        self._terms, self._keys = terms, keys
        self._forms: dict[int, Form] = {}

    def form(self, j: int) -> Form:
        """Return the polynomials of the keystream block of block j."""
        if j not in self._forms:
            block = encrypted(self._terms, counter_block(self._terms, j - 1), self._keys)
            self._forms[j] = self._terms.form(block)
        return self._forms[j]


class Position:
    """The same values, counted from a later position: what a cut keeps of them."""

    def __init__(self, terms: Terms, variables: Variables) -> None:
        self._terms, self._variables = terms, variables
        self._moved: dict[tuple[Term, int], Lane | None] = {}

    def after(self, term: Term, blocks: int, length: int) -> Lane | None:
        """Return a function of counters and blocks as one of those after `blocks` blocks.

        None if it depends on an earlier block, on one that is not whole in `length` bytes, or on
        anything else.
        """
        if term.deps & (RAW | OPAQUE | CALLER) or not self._ahead(term, blocks, length):
            return None
        key = (term, blocks)
        if key not in self._moved:
            self._moved[key] = self._rebuilt(term, blocks)
        return self._moved[key]

    def _ahead(self, term: Term, blocks: int, length: int) -> bool:
        for name in self._variables.of(term):
            if name in (IV, COUNTER):
                continue
            if name[0] not in (TEXT, BLOCK):
                return False
            if int(name[1:]) <= blocks or BLOCK_BYTES * int(name[1:]) > length:
                return False
        return True

    def _rebuilt(self, term: Term, blocks: int) -> Lane | None:
        terms = self._terms

        def variable(name: str) -> Lane:
            if name == IV:
                return terms.variable(IV)
            if name == COUNTER:
                return terms.add_words(terms.variable(COUNTER), -blocks & M32)
            return terms.variable(f"{name[0]}{int(name[1:]) - blocks}")

        try:
            plain = terms.plain(term)
            return replaced(terms, plain, variable) if isinstance(plain, Term) else plain
        except (ValueError, NotPolynomialError):
            return None
