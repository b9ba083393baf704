"""Why two forms differ, in the words of somebody who has to mend the kernel."""

from ghashgen.algebra.ops.forms import Form
from ghashgen.verify.core.refutation import Category, Difference, Refutation
from ghashgen.verify.core.terms import Lane, NotPolynomialError, Term
from ghashgen.verify.hash.naming import Naming

Pair = tuple[str, str]


def spoken(name: str) -> str:
    """Return a variable in words."""
    number = name[1:]
    if name in ("B0", "Y"):
        return "the factor" if name == "B0" else "the addend"
    match name[0]:
        case "B":
            return f"H^{number}"
        case "C":
            return f"block {number}"
        case "P":
            return "the partial block"
        case "X":
            return "the state on entry"
        case "Y":
            return "the state at the last loop head"
    return "the state so far"


def _differing_pairs(got: Form, wanted: Form) -> list[Pair | tuple[str]]:
    pairs: list[Pair | tuple[str]] = [
        pair
        for pair in sorted(set(got.quadratic) | set(wanted.quadratic))
        if got.quadratic.get(pair, 0) != wanted.quadratic.get(pair, 0)
    ]
    pairs += [
        (name,)
        for name in sorted(set(got.linear) | set(wanted.linear))
        if got.linear.get(name, 0) != wanted.linear.get(name, 0)
    ]
    return pairs


def _say(pair: Pair | tuple[str], got: Form, wanted: Form) -> str:
    what = " times ".join(spoken(name) for name in reversed(pair))
    table_got = got.quadratic if len(pair) == 2 else got.linear
    table_wanted = wanted.quadratic if len(pair) == 2 else wanted.linear
    if pair not in table_wanted and pair[0] not in table_wanted:
        return f"{what} should not occur"
    if pair not in table_got and pair[0] not in table_got:
        return f"{what} is missing"
    return f"{what} enters with a wrong value"


def _monomial(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return ("B3.17", "C2.5") for ("B317", "C25"): the bit index after a dot."""
    return names


def first_difference(got: Form, wanted: Form) -> tuple[int, set[tuple[str, ...]]]:
    """Return the lowest bit that differs and the monomials in which it does."""
    delta = got ^ wanted
    for bit in range(delta.width):
        one = delta.slice(bit, 1)
        if one.constant or one.linear or one.quadratic:
            return bit, dotted_terms(one)
    raise ValueError("the forms are equal")


def dotted_terms(one: Form) -> set[tuple[str, ...]]:
    """Return the monomials of a one-bit form as ("B3.17", "C2.5")."""
    out: set[tuple[str, ...]] = set()
    if one.constant:
        out.add(())
    for name, row in one.linear.items():
        out.update((f"{name}.{u}",) for u in range(128) if row >> u & 1)
    for (g, h), row in one.quadratic.items():
        for u in range(128):
            inner = row >> 128 * u & (1 << 128) - 1
            out.update((f"{g}.{u}", f"{h}.{v}") for v in range(128) if inner >> v & 1)
    return out


def _origin(naming: Naming, lane: Lane, pair: Pair | tuple[str], wanted: Form) -> int | None:
    """Return the earliest instruction whose value holds a product that should not occur."""
    if not isinstance(lane, Term) or len(pair) != 2 or pair in wanted.quadratic:
        return None
    best: Term | None = None
    stack, seen = [lane], set()
    while stack:
        term = stack.pop()
        if term in seen:
            continue
        seen.add(term)
        if term.op == "clmul":
            try:
                form = naming.terms.form(term)
            except NotPolynomialError:
                continue
            if pair in form.quadratic and (best is None or term.serial < best.serial):
                best = term
        stack.extend(t for t in term.args if isinstance(t, Term))
    return best.at if best else None


def explain(naming: Naming, lane: Lane, got: Form, wanted: Form, name: str) -> Refutation:
    """Return the refutation that tells where a value differs from its definition."""
    bit, monomials = first_difference(got, wanted)
    one_got = dotted_terms(got.slice(bit, 1))
    extra = sorted(monomials & one_got)
    missing = sorted(monomials - one_got)
    pairs = _differing_pairs(got, wanted)
    said = "; ".join(_say(pair, got, wanted) for pair in pairs[:3])
    if len(pairs) > 3:
        said += f"; and {len(pairs) - 3} more"
    origins = [at for pair in pairs if (at := _origin(naming, lane, pair, wanted)) is not None]
    at = min(origins) if origins else None
    sample = " · ".join((extra or missing)[0]) or "1"
    message = f"{name} is wrong: {said or 'a constant differs'} (bit {bit}, monomial {sample})"
    difference = Difference(
        bit, extra[0] if extra else None, missing[0] if missing else None, said, at
    )
    return Refutation(Category.FUNCTION, message, at=at, difference=difference)
