"""Why a result differs from its definition, in words for the person who mends the kernel.

    proof = prove_object(...)
    explain(proof.refutation)

The prover calls nothing here: it has already refused, and remembers what it compared. This module
only adds words to the refutation, and cannot affect a proof.
"""

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.ops.forms import Form
from ghashgen.algebra.ops.monomials import monomials_of
from ghashgen.verify.core.explanation import Explanation
from ghashgen.verify.core.kinds import NUMBER_LETTER
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.core.term import Lane, NotPolynomialError, Term, parts_of
from ghashgen.verify.core.words import LETTER as SUM_LETTER
from ghashgen.verify.meaning import letters
from ghashgen.verify.meaning.names import Names

Pair = tuple[str, str]

SPOKEN = {
    letters.ROUND_KEY_LETTER: "round key {}",
    letters.KEY_LETTER: "the key",
    letters.BOX_LETTER: "a value of the S-box",
    letters.IV: "the first 96 bits of the counter block",
    letters.COUNTER: "the counter",
    SUM_LETTER: "the counter",
    letters.NONCE: "block {} of the IV",
    letters.AAD: "block {} of the AAD",
    letters.MASK: "E_K(J_0)",
    letters.LENGTHS: "the block of lengths",
    letters.RIGHT: "the right tag",
    letters.GIVEN: "the tag that was given",
    NUMBER_LETTER: "the lengths",
    letters.TEXT: "block {} of the text",
    letters.CIPHERTEXT: "block {}",
    letters.STATE: "the state on entry",
    letters.ADDEND: "the addend",
    "B": "H^{}",
    "P": "the partial block",
    "u": "what a loop keeps, {}",
}
"""What variables are called, by their letter; {} stands for the number."""

INSTEAD = {
    "andpd": "pand", "andps": "pand", "movapd": "movdqa", "movaps": "movdqa", "movupd": "movdqu",
    "movups": "movdqu", "orpd": "por", "orps": "por", "xorpd": "pxor", "xorps": "pxor",
}  # fmt: skip
"""Floating-point instructions that compilers use for integers, and equivalents."""

NO_ROW = {
    "no row for JMP_RM64": "where an address that is computed leads is no part of the proof",
    "no row for CALL_RM64": "where an address that is computed leads is no part of the proof",
    "no row for RETNQ_IMM16": "it takes from the caller's stack what the caller did not push",
}
"""Forms that no kernel may execute, and why they have no row."""

BLOCKS = "CTVD"
"""The letters of blocks, whose names have their place in bytes."""


def spoken(name: str) -> str:
    """Return a variable in words."""
    if name == "B0":
        return "the factor"
    name = _numbered(name)
    return SPOKEN.get(name[0], "the state so far").format(name[1:])


def _numbered(name: str) -> str:
    """Return a block's variable with its number in place of its place."""
    if name[0] in BLOCKS and name[1:].isdecimal():
        return f"{name[0]}{int(name[1:]) // BLOCK_BYTES + 1}"
    return name


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


def _first_difference(got: Form, wanted: Form) -> int:
    """Return the lowest bit that differs."""
    delta = got ^ wanted
    return next(bit for bit in range(delta.width) if delta.slice(bit, 1) != Form(1))


def _dotted(form: Form, bit: int) -> set[tuple[str, ...]]:
    """Return the monomials of a bit as ("B3.17", "C2.5"): bit 17 of B3 times bit 5 of C2."""
    return {
        tuple(f"{_numbered(name)}.{k}" for name, k in factors)
        for factors in monomials_of(form, bit)
    }


def _parts(names: Names, pair: Pair) -> frozenset[Pair]:
    """Return a product as those of the values that its second factor is a sum of.

    The prover has freed its forms. Those computed again name the same sums anew.
    """
    power, name = pair
    if name not in names.defined or not power[1:].isdecimal():
        return frozenset({pair})
    inner = ((f"B{int(power[1:]) + m}", v) for v, m in names.defined[name])
    return frozenset(part for one in inner for part in _parts(names, one))


def _origin(names: Names, lane: Lane, pair: Pair | tuple[str], wanted: Form) -> int | None:
    """Return the earliest instruction whose value contains the product that should not occur."""
    if not isinstance(lane, Term) or len(pair) != 2 or pair in wanted.quadratic:
        return None

    wrong = _parts(names, pair)
    best: Term | None = None
    stack, seen = [lane], set()
    while stack:
        term = stack.pop()
        if term in seen:
            continue
        seen.add(term)
        if term.op == "clmul":
            try:
                form = names.terms.form(term)
            except NotPolynomialError:
                continue
            if any(wrong <= _parts(names, p) for p in form.quadratic) and (
                best is None or term.serial < best.serial
            ):
                best = term
        stack.extend(parts_of(term))
    return best.at if best else None


def _remedy(name: str) -> str:
    """Return what to write for an instruction that is not on the timing list."""
    plain = name.removeprefix("v")
    vex = name[: len(name) - len(plain)]
    other = f": use {vex}{INSTEAD[plain]}" if plain in INSTEAD else ""
    return other + (", or let a compiler (-mavx)" if other and not vex else "")


def explain(refutation: Refutation | None) -> None:
    """Explain where a result differs from its definition, if that is the reason of a refutation.

    Results that do not come from a hash function are not explained. Where another instruction would
    do, name it.
    """
    if refutation is not None and refutation.message.endswith("data-independent timing"):
        refutation.message += _remedy(refutation.message.split()[0])
    if refutation is not None and (why := NO_ROW.get(refutation.message)):
        refutation.message += f": {why}"
    if refutation is None or refutation.difference is None:
        return
    names = getattr(refutation.difference.meaning, "names", None)
    if not isinstance(names, Names):
        return
    difference, refutation.difference = refutation.difference, None
    got, wanted = difference.got, difference.wanted
    if got == wanted:
        return
    bit = _first_difference(got, wanted)
    ours, theirs = _dotted(got, bit), _dotted(wanted, bit)
    extra, missing = sorted(ours - theirs), sorted(theirs - ours)
    pairs = _differing_pairs(got, wanted)
    said = "; ".join(_say(pair, got, wanted) for pair in pairs[:3])
    if len(pairs) > 3:
        said += f"; and {len(pairs) - 3} more"
    found = (_origin(names, difference.lane, pair, wanted) for pair in pairs)
    at = min((at for at in found if at is not None), default=None)
    sample = " · ".join((extra or missing)[0]) or "1"
    refutation.message += f": {said or 'a constant differs'} (bit {bit}, monomial {sample})"
    if at is not None:
        refutation.at, refutation.instruction = at, difference.instruction(at)
    refutation.explanation = Explanation(
        bit, extra[0] if extra else None, missing[0] if missing else None, said, at
    )
