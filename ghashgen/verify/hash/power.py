"""power for every exponent: square and multiply from the lowest bit up, by induction.

At the head of its loop the function has a factor P, a product R and the bits m that are left. With
v·p the field product of `ghashgen.verify.hash.entries`, shown:

1. m = 0 from the entry: the result is R_0, the unit, by execution; so are H^1 and H^2, which the
   induction covers too, but which name a wrong bit where it would only fail;
2. every m in [1, 2^64 - 1] from the entry: control reaches the head with P = B_1, R = R_0 and m;
   every branch on the way is decided by that range alone;
3. once around from arbitrary P (the variables B0), R (the variables X) and m, in these cases:
       m = 1              the function returns R·P, or is at the head with R' = R·P and m' = 0;
       m = 2k,     k >= 1   it is at the head with P' = P·P, R' = R,   m' = k;
       m = 2k + 1, k >= 1   it is at the head with P' = P·P, R' = R·P, m' = k;
       m = 0, if it occurs: the function returns R.
   k is an unknown in [1, 2^63 - 1]: the same run serves all its values, and a branch that they do
   not decide alike is refused.

So from the head the function returns R·P^m: by induction on m, since R·(P·P)^k = R·P^2k in a field.
From the entry that is R_0·H^m. Data are exact forms as everywhere; m' < m, so the loop ends.

A head's state is the key of `ghashgen.verify.engine.cut`, with B0, X and one unknown in the places
that hold P, R and m. Everything else must be the same after the turn as before it.
"""

from dataclasses import dataclass

from ghashgen.algebra.ops.forms import VAR_BITS, Form, constant, variable
from ghashgen.verify.core.lengths import Claim
from ghashgen.verify.core.refutation import Category, Refutation, unsupported
from ghashgen.verify.core.term import Lane, Term, secret
from ghashgen.verify.core.values import M64, Affine, Number, UndecidedError, Value
from ghashgen.verify.engine.cut import LEFT, STALE, cut_key, forget, unknowns
from ghashgen.verify.engine.family import Kept
from ghashgen.verify.engine.prover import Prover
from ghashgen.verify.hash.entry import FACTOR, STATE, HashEntry
from ghashgen.verify.hash.naming import Naming
from ghashgen.verify.machine.memory import STACK
from ghashgen.verify.machine.target import MASK, VECTOR

NUMBER = "exponent"

EXPONENTS = Claim(1, M64, NUMBER)
"""The exponents of the claim."""

HALF = "half the exponent"
"""The unknown k of the cases 2k and 2k + 1."""

EXECUTED = 3
"""How many exponents from 0 are executed."""


HashProver = Prover[HashEntry]


@dataclass(frozen=True)
class Cases:
    """The exponents of a claim as the induction divides them.

    `half` is k, the rest of 2k and of 2k + 1.
    """

    any: Affine
    even: Affine
    odd: Affine
    half: Affine

    @classmethod
    def of(cls, claim: Claim) -> "Cases":
        """Return the cases of a claim.

        Raises:
            Refutation: they do not cover it.
        """
        high = claim.last >> 1
        even, odd = Affine(2, 0, 1, high, HALF), Affine(2, 1, 1, high, HALF)
        if claim.missing((0, 1), (even, odd)) is not None or odd.greatest > claim.last:
            raise unsupported("power: exponents that do not end with an odd one")
        return cls(claim.above(1), even, odd, Affine(1, 0, 1, high, HALF))


@dataclass(frozen=True)
class Head:
    """The loop's head: its address, where P, R and m are, and the key of everything else."""

    address: int
    factors: tuple[int, ...]
    products: tuple[int, ...]
    counters: tuple[int, ...]
    key: tuple[object, ...]


@dataclass(frozen=True)
class Arrival:
    """A run's arrival at the head: its values of P, R and m."""

    factors: tuple[Lane, ...]
    products: tuple[Lane, ...]
    counters: tuple[Value, ...]


def prove_power(prover: HashProver, naming: Naming, claim: Claim) -> None:
    """Prove power for every exponent of the claim.

    Raises:
        Refutation: it does not hold, or the loop is not of a known kind.
    """
    with prover.judging("power: "):
        _every_exponent(prover, naming, Cases.of(claim))


def _every_exponent(prover: HashProver, naming: Naming, cases: Cases) -> None:
    algebra = naming.algebra
    executed = (
        constant(algebra.unit, VAR_BITS),
        algebra.power_result(variable("B1")),
        algebra.power_result(algebra.powers_product(1, 1)),
    )
    for m, wanted in zip(range(EXECUTED), executed, strict=True):
        entry = prover.start({NUMBER: m})
        entry.result = wanted
        prover.run(entry, prover.entry_address, lambda address: False)
        prover.check_end(entry)
    head = _reach(prover, _Find(prover, naming, cases.any))
    R, RP, PP = variable(STATE), algebra.product(STATE, FACTOR), algebra.powers_product(0, 0)
    last = _turn(prover, naming, head, cases.any, 1, RP)
    if last is not None:
        _same(prover, last, None, RP, 0)
        if _turn(prover, naming, head, cases.any, 0, R) is not None:
            raise unsupported("power: another turn with no bit left", head.address)
    for case, product in ((cases.even, R), (cases.odd, RP)):
        found = _turn(prover, naming, head, cases.any, case, None)
        if found is None:
            raise Refutation(Category.FUNCTION, "the loop ends before the last bit of the exponent")
        _same(prover, found, PP, product, cases.half)


def _same(prover: HashProver, found: Arrival, P: Form | None, R: Form, left: Number) -> None:
    """Compare P, R and m after a turn with their definitions; None: P is not used any more."""
    for lane in found.products:
        prover.compare(lane, R, "the product after a turn")
    if P is not None:
        for lane in found.factors:
            prover.compare(lane, P, "the factor after a turn")
    if any(value != left for value in found.counters):
        raise Refutation(Category.FUNCTION, "a turn does not halve the exponent", at=prover.at)


class _Find:
    """Finds the head: the first cut with P, R and m all in live registers.

    Which registers these are is a guess, which the turns of the loop confirm or not.
    """

    def __init__(self, prover: HashProver, naming: Naming, exponent: Affine) -> None:
        self.prover = prover
        self.naming = naming
        self.exponent = exponent
        self.entry = prover.start({NUMBER: exponent})
        self.head: Head | None = None

    def __call__(self, address: int) -> bool:
        prover, m = self.prover, self.entry.machine
        algebra, terms, H = self.naming.algebra, self.naming.terms, variable("B1")
        live = prover.flow.live.get(address, frozenset())
        vectors = {k: m.vec[k - VECTOR][0] for k in sorted(live) if VECTOR <= k < MASK}
        factors = tuple(k for k, lane in vectors.items() if terms.try_form(lane) == H)
        products = tuple(k for k, lane in vectors.items() if lane == algebra.unit)
        # In POLYVAL the unit is the constant of the fold too, but no turn writes that register.
        written = {n for at, ns in prover.flow.vector_writes.items() if at >= address for n in ns}
        products = tuple(k for k in products if k - VECTOR in written) or products
        counters = tuple(k for k in sorted(live) if k < VECTOR and m.gpr[k] == self.exponent)
        if not (factors and products and counters):
            return False
        places = (factors, products, counters)
        self.head = _settle(prover, self.naming, self.entry, self.exponent, address, places)
        return True


def _reach(prover: HashProver, find: _Find) -> Head:
    reason = ""
    try:
        prover.run(find.entry, prover.entry_address, find)
    except UndecidedError as error:
        reason = f": {error}"
    if find.head is None:
        raise unsupported(
            "power: no head of a loop at which registers hold H as a key operand, the unit, and "
            f"the exponent{reason}",
            prover.at,
        )
    return find.head


def _settle(
    prover: HashProver,
    naming: Naming,
    entry: HashEntry,
    exponent: Affine,
    address: int,
    places: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]],
) -> Head:
    """Put arbitrary P, R and m in their places, forget what is dead, and return the head."""
    m = entry.machine
    factors, products, counters = places
    R = naming.terms.variable(STATE)
    assert isinstance(R, Term)
    for k in factors:
        m.vec[k - VECTOR] = (naming.terms.entry("B", FACTOR), *m.vec[k - VECTOR][1:])
    for k in products:
        m.vec[k - VECTOR] = (R, *m.vec[k - VECTOR][1:])
    for k in counters:
        m.gpr[k] = exponent
    live = prover.flow.live[address]
    # The first turn finds the caller's value where later ones find their predecessor's.
    for k in (entry.abi.saved_numbers & prover.flow.written) - live:
        if k < VECTOR:
            hidden = secret(m.gpr[k])
            m.gpr[k] = naming.terms.lost(STALE if hidden else LEFT, hidden, 64)
        else:
            m.vec[k - VECTOR] = (naming.terms.lost(STALE, True), *m.vec[k - VECTOR][1:])
    entry.live = live
    forget(entry, prover.meaning, prover.flow, address, Kept({R: R}))
    others = [value for value, _ in m.memory.written[STACK].values()]
    others += [value for k, value in enumerate(m.gpr) if k not in counters]
    known = any(isinstance(flag, bool) for flag in m.flags.each())
    if known or unknowns(tuple(others)):
        raise unsupported("power: the exponent elsewhere than in registers", address)
    return Head(address, factors, products, counters, cut_key(entry, prover.meaning, address))


def _turn(
    prover: HashProver,
    naming: Naming,
    head: Head,
    any_exponent: Affine,
    exponent: Number,
    at_return: Form | None,
) -> Arrival | None:
    """Go once around from the head with `exponent` left; None if the function has returned.

    Compares the result at the return with `at_return` if that is given.
    """
    entry = _at_head(prover, naming, head, any_exponent)
    for k in head.counters:
        entry.machine.gpr[k] = exponent
    found: Arrival | None = None
    fresh = True

    def at_cut(address: int) -> bool:
        nonlocal found, fresh
        if address != head.address or fresh:
            fresh = False
            return False
        found = _arrival(prover, naming, entry, any_exponent, head)
        return True

    if prover.run(entry, head.address, at_cut):
        if at_return is not None:
            entry.result = at_return
            prover.check_end(entry)
        return None
    return found


def _at_head(prover: HashProver, naming: Naming, head: Head, exponent: Affine) -> HashEntry:
    find = _Find(prover, naming, exponent)
    if _reach(prover, find) != head:
        raise unsupported("power: the head is not the same in every run", head.address)
    return find.entry


def _arrival(
    prover: HashProver, naming: Naming, entry: HashEntry, exponent: Affine, head: Head
) -> Arrival:
    """Return P, R and m at the head, and check that everything else is unchanged."""
    m = entry.machine
    found = Arrival(
        tuple(m.vec[k - VECTOR][0] for k in head.factors),
        tuple(m.vec[k - VECTOR][0] for k in head.products),
        tuple(m.gpr[k] for k in head.counters),
    )
    places = (head.factors, head.products, head.counters)
    if _settle(prover, naming, entry, exponent, head.address, places) != head:
        raise unsupported("power: a turn of the loop changes more than P, R and m", head.address)
    return found
