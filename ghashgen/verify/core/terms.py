"""Data values: 128-bit lanes as constants or as hash-consed terms over GF(2).

A lane is an int (a constant) or a `Term`. Terms are built from variables by five operations: sum,
linear map of bits, carry-less product of 64-bit halves, addition of constants to 32-bit words, and
reading a named table entry. Equal terms are one object, so a fact proved of one holds wherever it
occurs. Exact polynomials (`ghashgen.algebra.ops.forms.Form`) are computed on demand. A family of
kernels may add uninterpreted functions (`Terms.apply`).

Any other value (an AND of two unknowns, a caller's leftover, data from before a cut) is opaque: it
equals nothing, and so does what is computed from it. No operation makes a secret public.
"""

from collections.abc import Callable, Iterable

from ghashgen.algebra.field.gf2 import clmul
from ghashgen.algebra.ops.forms import Form, Moves, constant
from ghashgen.verify.core.kinds import BESIDE, EQUAL, KINDS, OR, SIMPLE, UNKNOWN, as_lane, reason_of
from ghashgen.verify.core.linear import Facts
from ghashgen.verify.core.moves import apply_moves, byte_moves, moved_mask, rows_present
from ghashgen.verify.core.term import (
    CALLER,
    DATA,
    MASK64,
    MASK128,
    NUMBERS,
    OPAQUE,
    RAW,
    SECRET,
    TABLE,
    Evaluated,
    Kind,
    Lane,
    NotPolynomialError,
    Term,
    deps_of,
    mask_of,
    parts_first,
    parts_of,
    rank,
    same_value,
)
from ghashgen.verify.core.values import Linear, UndecidedError
from ghashgen.verify.core.words import Words


class Terms:
    """The pool in which equal terms are one object, and the operations on lanes.

    `entry_form(name, number)` gives the polynomials of a table entry, as a family defines it.
    `kinds` are the family's own.

    Raises:
        ValueError: two kinds have the same name.
    """

    def __init__(self, entry_form: Callable[[str, int], Form], kinds: Iterable[Kind] = ()) -> None:
        self._pool: dict[tuple[object, ...], Term] = {}
        self.entry_form = entry_form
        self.kinds = {kind.name: kind for kind in KINDS}
        for kind in kinds:
            if kind.name in self.kinds:
                raise ValueError(f"two kinds of term of the name {kind.name}")
            self.kinds[kind.name] = kind
        self.words = Words()
        """The sums modulo 2^32 in the forms of this pool."""
        self.unknowns: set[str] = set()
        """The unknowns of which a number has its bits in a term; below, those of single terms."""
        self.unknowns_of: dict[Term, frozenset[str]] = {}
        self._simple: dict[Term, bool] = {}
        self._plain: dict[Term, Lane] = {}
        self._added: dict[tuple[Lane, Lane, int], Lane | None] = {}
        self.read: dict[int, tuple[object, Moves]] = {}
        """Linear maps of certificates: each as it was read, by its identity, and what it is. It is
        held here, so nothing else can have its identity, and nobody changes it."""
        self.at = 0  # The address of the instruction being executed.
        self.settle: Callable[[Term], Lane] = lambda term: term
        """Called with what depends on a partial block (RAW) and enters a sum with a state or a
        product: it may return an equal value under a name."""
        self.factors: Callable[[Lane, Lane], tuple[Lane, Lane]] = lambda a, b: (a, b)
        """Likewise with the factors of a product."""
        self.name: Callable[[Lane], Lane] = lambda lane: lane
        """Likewise with what enters a family's function, or an addition of words."""

    def _make(self, op: str, args: tuple[object, ...], mask: int, deps: int = 0) -> Term:
        """Return the one term of this definition. It depends on its parts and on `deps`."""
        key = (op, *args)
        term = self._pool.get(key)
        if term is None:
            deps |= deps_of(*args)
            if mask >> 128:
                raise AssertionError(f"{op}: more than 128 bits")
            term = Term(op, args, mask, deps, self.at)
            term.serial = len(self._pool)
            self._pool[key] = term
        elif deps & ~term.deps:
            raise AssertionError(f"{term} under one name with other dependences")
        return term

    def clear(self) -> None:
        """Forget every term."""
        for term in self._pool.values():
            term.form = None
        for known in (self._pool, self._simple, self._plain, self._added, self.unknowns_of):
            known.clear()
        self.words.clear()

    def variable(self, name: str, deps: int = 0) -> Term:
        """Return 128 fresh secret bits with this name: of data, unless it is known otherwise."""
        return self._make("var", (name,), MASK128, (deps or DATA) | SECRET)

    def number(self, value: Linear, facts: Facts) -> Term:
        """Return the 64 bits of a public number with unknowns; equal numbers have equal bits."""
        if not facts.fits(value, 64):
            raise UndecidedError("the bits of a number that may wrap around")
        self.unknowns.update(u for u, _ in value.k)
        return self._make("number", (value,), MASK64, NUMBERS | SECRET)

    def entry(self, name: str, number: int) -> Term:
        """Return a table entry by name and number."""
        return self._make("entry", (name, number), MASK128, TABLE | SECRET)

    def caller(self, name: str, bits: int = 128) -> Term:
        """Return what the caller left in the place `name` of `bits` bits."""
        return self._make("caller", (name,), (1 << bits) - 1, CALLER)

    def caller_apart(self, name: str, bits: int) -> Term:
        """Return 128 bits that the caller left, of which the lowest `bits` are a value apart."""
        low = self.caller(f"{name}, low", bits)
        high = self._make("caller", (f"{name}, high",), MASK128 ^ low.mask, CALLER)
        return self._make("xor", (high, low), MASK128)

    def lost(self, reason: str, secret: bool, bits: int = 128) -> Term:
        """Return `bits` bits of which only the reason is known, and whether they may be secret."""
        return self._opaque(reason, self.at, (1 << bits) - 1, SECRET | DATA if secret else CALLER)

    def opaque(self, reason: str, *sources: object, mask: int = MASK128) -> Term:
        """Return an unknown value of sources: a secret if one of them is, or if none is a term."""
        return self._opaque(reason, self.at, mask, deps_of(*sources) or SECRET | DATA)

    def _opaque(self, reason: str, at: int, mask: int, deps: int) -> Term:
        term = self._make("opaque", (reason, at, mask, deps | OPAQUE), mask, deps | OPAQUE)
        term.at = at
        return term

    def _spoiled(self, reason: str, mask: int, *lanes: Lane) -> Term | None:
        """Return `_spoil`'s result if a lane is opaque or the caller's, else None."""
        return self._spoil(reason, mask, *lanes) if deps_of(*lanes) & (OPAQUE | CALLER) else None

    def _spoil(self, reason: str, mask: int, *lanes: Lane) -> Term:
        """Return the opaque result of an operation on an opaque or a caller's value."""
        deps = deps_of(*lanes)
        for lane in lanes:
            if isinstance(lane, Term) and lane.op != "caller" and (why := reason_of(lane)):
                return self._opaque(why, lane.at, mask, deps)
        more = "with" if deps & SECRET else "of"
        return self._opaque(f"{reason} {more} what the caller left", self.at, mask, deps)

    def xor(self, a: Lane, b: Lane, settled: bool = True) -> Lane:
        """Return a + b. `settled` says whether to ask `settle` (bytes in memory are no sum)."""
        if isinstance(a, int):
            if isinstance(b, int):
                return a ^ b
            a, b = b, a
        if b == 0:
            return a
        if isinstance(b, int):
            mask, deps = a.mask | b, a.deps
        else:
            if same_value(a, b):
                return 0
            if settled and (a.deps ^ b.deps) & RAW:
                raw, other = (a, b) if a.deps & RAW else (b, a)
                if (known := self.settle(raw)) is not raw:
                    return self.xor(known, other)
            if a.serial < b.serial:
                a, b = b, a
            mask, deps = a.mask | b.mask, a.deps | b.deps
        if deps & (OPAQUE | CALLER):
            return self._spoil("a sum", mask, a, b)
        return self._make("xor", (a, b), mask)

    def beside(self, rest: Lane, known: Lane) -> Lane:
        """Return two lanes as one. They share no bit, and `known` can be recovered."""
        if not (isinstance(rest, Term) and rest.deps & (OPAQUE | CALLER)):
            return self.xor(rest, known)
        if rest.mask & mask_of(known):
            raise AssertionError("a part beside another that shares bits with it")
        if rest.op != "opaque":
            rest = self._spoil("part", rest.mask, rest)
        return self._make(BESIDE, (rest, known), rest.mask | mask_of(known), OPAQUE)

    def equal(self, a: Lane, mask: int) -> Lane:
        """Return bits that are all ones exactly if a is 0; nothing else is known of them."""
        if isinstance(a, int) or a.deps & (OPAQUE | CALLER):
            return self.opaque(UNKNOWN[EQUAL], a, mask=mask)
        return self._make(EQUAL, (a, mask), mask, OPAQUE)

    def moves(self, a: Lane, moves: Moves) -> Lane:
        """Return the linear map `moves` of a (`ghashgen.algebra.ops.forms.Moves`)."""
        while True:
            if isinstance(a, int):
                return apply_moves(a, moves)
            if len(moves) == 1 and moves[0][0] == 0 and not a.mask & ~moves[0][1]:
                return a
            mask = moved_mask(a.mask, moves)
            if not mask:
                return 0
            if a.op == OR and len(moves) == 1:
                # Bits of an OR are the ORs of these bits; no part of one is an OR itself.
                first, second = (self.moves(part, moves) for part in parts_of(a))
                return self.either(first, second)
            # Overlapping loads are separated again: nothing of one part remains.
            parts = a.args if a.op in ("xor", BESIDE) else ()
            left = [x for x in map(as_lane, parts) if moved_mask(mask_of(x), moves)]
            if len(left) != 1:
                break
            # No recursion here: sums nest as deep as code is long.
            a = left[0]
        if a.deps & (OPAQUE | CALLER):
            return self._spoil("part", mask, a)
        return self._make("moves", (a, moves), mask)

    def bytes(self, a: Lane, sources: tuple[int, ...]) -> Lane:
        """Return the lane whose byte k is byte sources[k] of a, or zero for -1."""
        return self.moves(a, byte_moves(sources))

    def keep(self, a: Lane, mask: int) -> Lane:
        """Return the bits of a that the constant mask selects."""
        return self.moves(a, ((0, mask),))

    def clmul(self, a: Lane, half_a: int, b: Lane, half_b: int) -> Lane:
        """Return the carry-less product of one 64-bit half of each."""
        a, b = self.factors(a, b)
        first, second = mask_of(a) >> 64 * half_a & MASK64, mask_of(b) >> 64 * half_b & MASK64
        if not first or not second:
            return 0
        if isinstance(a, int) and isinstance(b, int):
            return clmul(first, second)
        if deps_of(a, b) & (OPAQUE | CALLER):
            return self._spoil("a product", MASK128 >> 1, a, b)
        if rank(b) < rank(a):
            a, half_a, b, half_b = b, half_b, a, half_a
        return self._make("clmul", (a, half_a, b, half_b), MASK128 >> 1)

    def _settled(self, lane: Lane) -> Lane:
        return self.settle(lane) if isinstance(lane, Term) and lane.deps & RAW else lane

    def apply(self, name: str, *parts: Lane) -> Lane:
        """Return a family's function of whole lanes: a term of the kind `name`.

        It is opaque if the family has no such kind or a part is opaque.
        """
        lanes = [self.plain(self.name(self._settled(lane))) for lane in parts]
        spoiled = self._spoiled(name, MASK128, *lanes)
        if spoiled is not None:
            return spoiled
        if name not in self.kinds or self.kinds[name] in KINDS:
            return self.opaque(f"{name}, of which the statement says nothing", *lanes)
        return self._make(name, tuple(lanes), MASK128)

    def linear(self, form: Form, deps: int) -> Lane:
        """Return the one term of polynomials of degree 1 in variables, entries and sums of words.

        `deps` are the dependences of their values.
        """
        if not form.linear:
            return form.constant
        items = tuple(sorted(form.linear.items()))
        mask = form.constant
        for _, packed in items:
            mask |= rows_present(packed)
        return self._make("linear", (form.constant, items, deps), mask, deps)

    def plain(self, lane: Lane) -> Lane:
        """Return a lane with polynomials of degree 1 as the one term of these polynomials.

        Any other lane stays as it is, with a family's function or an opaque value in it, too.
        """
        if not isinstance(lane, Term):
            return lane
        found = self._plain.get(lane)
        if found is None:
            found = lane
            if not lane.deps & (RAW | OPAQUE | CALLER) and self._is_simple(lane):
                form = self.form(lane)
                found = lane if form.quadratic else self.linear(form, lane.deps)
            self._plain[lane] = found
        return found

    def _is_simple(self, lane: Term) -> bool:
        """Return whether a term is made of variables and entries by linear operations only."""
        for term in parts_first(lane, self._simple):
            self._simple[term] = term.op in SIMPLE and all(self._simple[p] for p in parts_of(term))
        return self._simple[lane]

    def add_words(self, a: Lane, b: Lane, sign: int = 1) -> Lane:
        """Return a + sign·b in 32-bit words, modulo 2^32.

        Exact if one of each two words is a constant (b's for a subtraction); otherwise opaque.
        """
        spoiled = self._spoiled("an addition", MASK128, a, b)
        if spoiled is not None:
            return spoiled
        lanes = [self.plain(self.name(self._settled(lane))) for lane in (a, b)]
        if any(isinstance(lane, Term) and lane.op != "linear" for lane in lanes):
            return self.opaque("an addition modulo 2^32 to a value that is not linear", a, b)
        key = lanes[0], lanes[1], sign
        if key not in self._added:
            form = self.words.lanes(self.form(lanes[0]), self.form(lanes[1]), sign)
            self._added[key] = None if form is None else self.linear(form, deps_of(*lanes))
        found = self._added[key]
        return self.opaque("an addition of secrets", a, b) if found is None else found

    def either(self, a: Lane, b: Lane) -> Lane:
        """Return a OR b if it is linear: one is constant, or they agree where they overlap."""
        if same_value(a, b):
            return a
        if isinstance(a, int):
            a, b = b, a
        if isinstance(b, int):
            return self.xor(self.keep(a, MASK128 ^ b), b)
        assert isinstance(a, Term)
        overlap = a.mask & b.mask
        if not overlap or self._agree(a, b, overlap):
            return self.xor(a, self.keep(b, MASK128 ^ overlap))
        mask = a.mask | b.mask
        # It has no polynomial of degree 2. But it is 0 only if both are.
        return self._spoiled("an OR", mask, a, b) or self._make(OR, (a, b), mask, OPAQUE)

    def _agree(self, a: Term, b: Term, bits: int) -> bool:
        """Return whether two terms hold the same polynomials in these bits."""
        if (first := self.try_form(a)) is None or (second := self.try_form(b)) is None:
            return False
        return (first ^ second).mask(bits) == Form(128)

    def both(self, a: Lane, b: Lane) -> Lane:
        """Return a AND b if it is linear: one is constant, or both are the same."""
        if same_value(a, b):
            return a
        if isinstance(b, int):
            return self.keep(a, b)
        if isinstance(a, int):
            return self.keep(b, a)
        mask = a.mask & b.mask
        if not mask:
            return 0
        return self._spoiled("an AND", mask, a, b) or self.opaque(
            "a bitwise AND of two secrets", a, b, mask=mask
        )

    def form(self, lane: Lane) -> Form:
        """Return the 128 polynomials of a lane.

        Raises:
            NotPolynomialError: it is opaque, or of degree above 2.
        """
        if isinstance(lane, int):
            return constant(lane, 128)
        if lane.form is None:
            for term in parts_first(lane, Evaluated()):
                term.form = self.kinds[term.op].form(self, term)
        assert lane.form is not None
        return lane.form

    def try_form(self, lane: Lane) -> Form | None:
        """Return the 128 polynomials of a lane, or None if it has none."""
        try:
            return self.form(lane)
        except NotPolynomialError:
            return None
