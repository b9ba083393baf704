"""Words of 32 bits with constants added: equal sums have equal names, and the right values."""

import random

import pytest

from ghashgen.algebra.ops.forms import Form, variable
from ghashgen.algebra.ops.monomials import evaluate
from ghashgen.check.attack.sums import with_sums
from ghashgen.verify.core.term import (
    DATA,
    MASK128,
    OPAQUE,
    RAW,
    SECRET,
    TABLE,
    Kind,
    Lane,
    NotPolynomialError,
    Term,
    secret,
)
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.search.renaming import replaced
from ghashgen.verify.search.variables import Variables

M32 = (1 << 32) - 1
SWAP = tuple(range(15, -1, -1))


@pytest.fixture
def terms() -> Terms:
    kind = Kind("box", lambda pool, part: variable("S"), lambda pool, part: pool.apply("box", part))
    return Terms(lambda name, number: variable(f"{name}{number}"), kinds=(kind,))


def term(lane: Lane) -> Term:
    assert isinstance(lane, Term)
    return lane


def words(*values: int) -> int:
    return sum((value & M32) << 32 * k for k, value in enumerate(values))


def test_sums_with_constants_are_one_term(terms: Terms) -> None:
    n = terms.variable("N")
    once = terms.add_words(terms.add_words(n, words(1, 2)), words(4, 0, 9))
    assert once is terms.add_words(n, words(5, 2, 9))
    assert once is terms.add_words(words(5, 2, 9), n)
    assert once is not terms.add_words(n, words(5, 2, 8))
    # Modulo 2^32, word by word: no carry from one to the next, and minus one is plus 2^32 - 1.
    assert terms.form(terms.add_words(once, words(-5, -2, -9))) == variable("N")
    assert terms.add_words(once, words(1), -1) is terms.add_words(n, words(4, 2, 9))
    assert terms.add_words(n, words(1 << 31)) is terms.add_words(n, words(1 << 31), -1)
    assert terms.form(terms.add_words(n, 0)) == variable("N")


def test_a_word_is_its_polynomials_wherever_it_stands(terms: Terms) -> None:
    n = terms.variable("N")
    low = terms.keep(n, M32)
    moved = terms.moves(terms.add_words(low, 7), ((96, M32 << 96),))
    assert terms.form(terms.moves(moved, ((-96, M32),))) == terms.form(terms.add_words(low, 7))
    # A sum that stands in another place is known again there.
    assert terms.add_words(moved, words(0, 0, 0, 1)) is terms.add_words(
        terms.moves(low, ((96, M32 << 96),)), words(0, 0, 0, 8)
    )
    # Of other bytes it is another word: a carry goes the other way.
    backwards = terms.bytes(terms.add_words(n, words(1)), SWAP)
    assert terms.form(backwards) != terms.form(
        terms.add_words(terms.bytes(n, SWAP), words(0, 0, 0, 1 << 24))
    )


def test_constants_in_a_lane_are_added_up(terms: Terms) -> None:
    lane = terms.xor(terms.keep(terms.variable("N"), M32), words(0, 0xFFFFFFFF, 3))
    total = terms.add_words(lane, words(0, 1, 1))
    assert terms.form(total) == terms.form(terms.xor(terms.keep(terms.variable("N"), M32), 4 << 64))
    assert terms.add_words(words(M32, 5), words(1, 1)) == words(0, 6)


def test_what_cannot_be_followed_is_opaque(terms: Terms) -> None:
    n, m = terms.variable("N"), terms.variable("M")
    product = terms.clmul(n, 0, m, 0)
    raw = terms.variable("P", RAW)
    cases = [
        terms.add_words(n, m),
        terms.add_words(words(3), n, -1),
        terms.add_words(product, 1),
        terms.add_words(terms.apply("box", n), 1),
        terms.add_words(raw, 1),
        terms.add_words(terms.caller("rax"), 1),
        terms.add_words(terms.opaque("lost", n), 1),
    ]
    for found in cases:
        assert term(found).deps & OPAQUE
        with pytest.raises(NotPolynomialError):
            terms.form(found)


def test_a_sum_is_as_secret_as_what_is_added_to(terms: Terms) -> None:
    assert term(terms.add_words(terms.variable("N"), 1)).deps == DATA | SECRET
    assert term(terms.add_words(terms.entry("K", 1), 1)).deps == TABLE | SECRET
    assert secret(terms.add_words(terms.xor(terms.entry("K", 1), terms.variable("N")), 1))


def test_only_words_that_may_be_set_are_in_the_mask(terms: Terms) -> None:
    low = terms.keep(terms.variable("N"), M32)
    assert term(terms.add_words(low, 5)).mask == M32
    assert term(terms.add_words(low, words(5, 6))).mask == M32 | 6 << 32


def test_variables_in_a_sum_are_renamed(terms: Terms) -> None:
    entry = terms.entry("K", 2)
    lane = term(terms.add_words(terms.xor(terms.variable("N"), entry), words(9, 0, 1)))
    assert Variables(terms).of(lane) == {"N"}

    def other(name: str) -> Lane:
        return terms.variable("M")

    expected = terms.add_words(terms.xor(terms.variable("M"), entry), words(9, 0, 1))
    assert replaced(terms, lane, other) is expected
    # A sum in the place of a variable, inside a sum and a function.
    boxed = term(terms.apply("box", terms.add_words(terms.variable("N"), words(9))))
    back = replaced(terms, boxed, lambda name: terms.add_words(terms.variable(name), words(-9)))
    assert back is terms.apply("box", terms.variable("N"))
    # A lane that is no sum, and moved bits of one.
    swapped = terms.bytes(terms.add_words(terms.variable("N"), words(1)), SWAP)
    found = term(terms.plain(terms.xor(swapped, terms.variable("I"))))
    assert Variables(terms).of(found) == {"N", "I"}
    names = {"N": terms.bytes(terms.variable("N"), SWAP), "I": terms.variable("J")}
    wanted = terms.xor(
        terms.bytes(terms.add_words(names["N"], words(1)), SWAP), terms.variable("J")
    )
    assert replaced(terms, found, names.__getitem__) is terms.plain(wanted)


def test_values_of_sums(terms: Terms) -> None:
    rng = random.Random(7)
    for _ in range(50):
        n, c, d = (rng.choice([0, M32, rng.getrandbits(128)]) for _ in range(3))
        lane = terms.bytes(terms.add_words(terms.variable("N"), c), SWAP)
        total = terms.add_words(lane, d)
        values = with_sums(terms.words, {"N": n})

        def add(a: int, b: int) -> int:
            return words(*((a >> 32 * k) + (b >> 32 * k) for k in range(4)))

        turned = int.from_bytes(add(n, c).to_bytes(16, "big"), "little")
        assert evaluate(terms.form(total), values) == add(turned, d)


def test_plain_lanes_are_named_by_their_polynomials(terms: Terms) -> None:
    a, b, entry = terms.variable("A"), terms.variable("B"), terms.entry("K", 1)
    left = terms.xor(terms.xor(a, b), terms.xor(entry, 5))
    right = terms.xor(terms.xor(entry, a), terms.xor(5, b))
    assert left is not right
    assert terms.plain(left) is terms.plain(right) is not left
    assert terms.plain(terms.xor(left, right)) == 0
    product = terms.xor(terms.clmul(a, 0, b, 0), a)
    boxed = terms.xor(terms.apply("box", a), a)
    raw = terms.variable("P", RAW)
    for lane in (product, boxed, raw, terms.caller("rax"), terms.opaque("lost", a), MASK128):
        assert terms.plain(lane) is lane


def test_a_sum_meets_no_other_variable_of_its_name(terms: Terms) -> None:
    form = terms.form(terms.add_words(terms.variable("N"), 1))
    assert sorted(form.linear) == ["+0", "N"]
    assert Form(128) != form
