"""The schemes on integers against the field, their budgets by counting, and toys that plug in."""

import importlib
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ghashgen.algebra.field import gf2, gf128
from ghashgen.algebra.field.bitorder import (
    Order,
    block_from_register,
    element_from_register,
    register_from_block,
    register_from_element,
)
from ghashgen.algebra.field.bitorder import twist as field_twist
from ghashgen.algebra.field.ghash import ghash_padded
from ghashgen.algebra.identities import IdentityFailure, prove, prove_all, theorems
from ghashgen.algebra.identities import products as product_theorems
from ghashgen.algebra.ops.integers import IntegerOps
from ghashgen.algebra.schemes import aggregate, registry
from ghashgen.algebra.schemes import multiply as multiply_package
from ghashgen.algebra.schemes import reduce as reduce_package
from ghashgen.algebra.schemes.core import Multiply, Reduce, Shape
from ghashgen.algebra.schemes.twist import twist

TOYS = Path(__file__).parents[1] / "toys"
EDGES = (0, 1, 2, 1 << 63, 1 << 64, (1 << 64) - 1, 1 << 127, (1 << 128) - 1, 0x87)
OPS = IntegerOps()


def fitting() -> list[tuple[Multiply, Reduce, Order]]:
    return [
        (multiply, reduce, order)
        for multiply in registry.multiplies().values()
        for reduce in registry.reduces().values()
        if reduce.shape is multiply.shape
        for order in reduce.orders
    ]


PAIRS = [
    pytest.param(*pair, id="-".join((pair[0].name, pair[1].name, pair[2]))) for pair in fitting()
]
pairs = pytest.mark.parametrize(("multiply", "reduce", "order"), PAIRS)
operands = st.one_of(st.sampled_from(EDGES), st.integers(0, (1 << 128) - 1))
derandomized = settings(derandomize=True, max_examples=25, deadline=None, database=None)


def table(
    multiply: Multiply, reduce: Reduce, order: Order, H: int, count: int
) -> dict[int, tuple[int, ...]]:
    """The table entries of H^1 … H^count, R_i last where the scheme has a key term."""
    out, R, power = {}, 0, 1
    for i in range(1, count + 1):
        power = gf128.mul(power, H)
        B = twist(OPS, register_from_element(power, order), order)
        entries = multiply.derive(OPS, B, order)
        if multiply.key_term is not None:
            R ^= aggregate.key_constant(OPS, multiply, reduce, order, entries)
            entries = (*entries, R)
        out[i] = entries
    return out


def group_of(
    ops: IntegerOps, multiply: Multiply, reduce: Reduce, order: Order, H: int, words: list[int]
) -> int:
    state, *blocks = words
    powers = table(multiply, reduce, order, H, len(blocks))
    loads = [lambda block=block: block for block in blocks]
    return aggregate.group(ops, multiply, reduce, order, state, loads, powers.__getitem__)


@pytest.mark.parametrize(
    ("found", "package", "papers"),
    [
        (registry.multiplies, multiply_package, {"k", "karatsuba", "schoolbook", "winograd"}),
        (registry.reduces, reduce_package, {"clmul1", "clmul2", "clmul3", "shift-xor"}),
    ],
    ids=["multiply", "reduce"],
)
def test_a_scheme_has_the_name_of_its_file(
    found: Callable[[], Mapping[str, object]], package: ModuleType, papers: set[str]
) -> None:
    files = (path for folder in package.__path__ for path in Path(folder).glob("[a-z]*.py"))
    assert set(found()) == {path.stem.replace("_", "-") for path in files}
    assert papers <= set(found())


def test_every_scheme_has_a_partner() -> None:
    paired = {pair.values[i].name for pair in PAIRS for i in (0, 1)}
    assert paired == {*registry.multiplies(), *registry.reduces()}


@pytest.mark.parametrize("order", list(Order))
@given(H=operands)
@derandomized
def test_twist_is_the_fields(H: int, order: Order) -> None:
    register = twist(OPS, register_from_element(H, order), order)
    assert register == register_from_element(field_twist(H, order), order)


@pairs
@given(a=operands, h=operands)
@derandomized
def test_one_block_is_the_field_product(
    a: int, h: int, multiply: Multiply, reduce: Reduce, order: Order
) -> None:
    register = group_of(OPS, multiply, reduce, order, h, [0, register_from_element(a, order)])
    assert element_from_register(register, order) == gf128.mul(a, h)


@pytest.mark.parametrize("multiply", list(registry.multiplies().values()), ids=lambda m: m.name)
@pytest.mark.parametrize("order", list(Order))
@given(A=operands, B=operands)
@derandomized
def test_wide_products_are_the_exact_carry_less_product(
    A: int, B: int, multiply: Multiply, order: Order
) -> None:
    acc = aggregate.accumulate(OPS, multiply, order, {}, A, multiply.derive(OPS, B, order))
    lo, hi = multiply.recombine(OPS, acc, order)
    exact = gf2.clmul(A, B)
    if multiply.shape is Shape.WIDE:
        assert lo ^ hi << 128 == exact
    else:
        assert lo < 1 << 128
        assert hi < 1 << 128


@pairs
def test_groups_are_ghash(multiply: Multiply, reduce: Reduce, order: Order) -> None:
    for n in (1, 2, 3, 8, 17, 48):
        data = bytes((7 * i * i + n) & 255 for i in range(16 * n + 32))
        h, state, message = data[:16], data[16:32], data[32:]
        words = [state, *(message[i : i + 16] for i in range(0, 16 * n, 16))]
        registers = [register_from_block(word, order) for word in words]
        H = element_from_register(register_from_block(h, order), order)
        register = group_of(OPS, multiply, reduce, order, H, registers)
        assert block_from_register(register, order) == ghash_padded(h, state, message)


@pairs
def test_edge_operands_are_the_field_product(
    multiply: Multiply, reduce: Reduce, order: Order
) -> None:
    for h in EDGES:
        for a in EDGES:
            words = [0, register_from_element(a, order)]
            register = group_of(OPS, multiply, reduce, order, h, words)
            assert element_from_register(register, order) == gf128.mul(a, h)


SHUFFLES = ("swap64", "shl_bytes", "shr_bytes", "join_low", "join_high")
CLASSES = {
    "clmul": "clmul",
    "xor": "xor",
    "shl64": "shift",
    "shr64": "shift",
    "spread_top": "other",
    "and_const": "other",
    **dict.fromkeys(SHUFFLES, "shuffle"),
}


class CountingOps(IntegerOps):
    """Integer operations that count themselves, by method."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()

    def __getattribute__(self, name: str) -> object:
        if name in CLASSES:
            self.calls[name] += 1
        return super().__getattribute__(name)

    def classes(self) -> Counter[str]:
        out: Counter[str] = Counter()
        for name, count in self.calls.items():
            out[CLASSES[name]] += count
        return out


def test_counting_ops_count() -> None:
    ops = CountingOps()
    assert ops.xor(ops.swap64(1), ops.clmul(3, 3, (0, 0))) == 1 << 64 ^ 5
    assert ops.calls == {"xor": 1, "swap64": 1, "clmul": 1}
    assert ops.classes() == {"xor": 1, "shuffle": 1, "clmul": 1}


@pairs
def test_parts_use_their_budget_exactly(multiply: Multiply, reduce: Reduce, order: Order) -> None:
    entries = multiply.derive(OPS, 5, order)
    block, ends, reduction = CountingOps(), CountingOps(), CountingOps()
    contributions = multiply.products(block, 3, entries, order)
    assert block.classes() == multiply.budget.block
    assert {name for name, _ in contributions} == set(multiply.accumulators)
    multiply.recombine(ends, dict.fromkeys(multiply.accumulators, 9), order)
    assert ends.classes() == multiply.budget.group
    reduce.apply(reduction, 1, 2, order)
    assert reduction.classes() == reduce.budget.group
    assert not reduce.budget.block
    assert len(entries) == len(multiply.entries)


@pairs
@pytest.mark.parametrize("n", [1, 8])
def test_a_group_uses_its_budget_exactly(
    n: int, multiply: Multiply, reduce: Reduce, order: Order
) -> None:
    ops = CountingOps()
    group_of(ops, multiply, reduce, order, 3, [1, *range(2, 2 + n)])
    contributions = len(multiply.products(OPS, 3, multiply.derive(OPS, 5, order), order))
    expected: Counter[str] = Counter()
    for _ in range(n):
        expected.update(multiply.budget.block)
    expected.update(multiply.budget.group)
    expected.update(reduce.budget.group)
    # Into the accumulators; the state onto its block; R_n off the result.
    expected["xor"] += n * contributions - len(multiply.accumulators)
    expected["xor"] += 1 + (multiply.key_term is not None)
    assert ops.classes() == expected


@pytest.mark.parametrize(
    ("multiply", "reduce", "count"),
    [
        ("schoolbook", "clmul3", {"clmul": 7, "xor": 6, "shl_bytes": 3, "shr_bytes": 2}),
        ("k", "clmul1", {"clmul": 5, "xor": 4, "swap64": 1}),
    ],
)
def test_single_blocks_of_table_11(multiply: str, reduce: str, count: dict[str, int]) -> None:
    scheme, reduction = registry.multiplies()[multiply], registry.reduces()[reduce]
    entries = scheme.derive(OPS, 5, Order.REFLECTED)
    ops = CountingOps()
    acc = aggregate.accumulate(ops, scheme, Order.REFLECTED, {}, 3, entries)
    aggregate.finish(ops, scheme, reduction, Order.REFLECTED, acc, None)
    assert ops.calls == count
    assert ops.calls.total() == (18 if multiply == "schoolbook" else 10)


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Scheme files of the tests, seen as if they lay in the package."""
    before = set(sys.modules)
    packages = {"multiply": multiply_package, "reduce": reduce_package}
    for name, package in packages.items():
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(TOYS / name)])
    importlib.invalidate_caches()
    yield
    for module in set(sys.modules) - before:
        if ".toy_" in module:
            parent, _, name = module.rpartition(".")
            delattr(sys.modules[parent], name)
            del sys.modules[module]


TOY_THEOREMS = {
    "multiply-toy-five-reflected", "multiply-toy-five-natural", "reduce-toy-whole-natural",
    "aggregate-toy-five-clmul2-reflected", "aggregate-toy-five-clmul2-natural",
    "aggregate-toy-five-clmul3-reflected", "aggregate-toy-five-shift-xor-reflected",
    "aggregate-toy-five-shift-xor-natural", "aggregate-toy-five-toy-whole-natural",
    "aggregate-karatsuba-toy-whole-natural", "aggregate-schoolbook-toy-whole-natural",
}  # fmt: skip


@pytest.mark.usefixtures("toys")
def test_toys_show_up_and_are_proved() -> None:
    assert "toy-five" in registry.multiplies()
    assert "toy-whole" in registry.reduces()
    proofs = prove_all("*toy*", workers=1, max_blocks=4)
    assert {proof.name for proof in proofs} == TOY_THEOREMS
    assert all(proof.ok for proof in proofs)


@pytest.mark.usefixtures("toys")
def test_a_toy_with_a_planted_constant_fails() -> None:
    planted = [t for t in theorems(2) if "toy-whole" in t.name]
    assert len(planted) == 4
    for theorem in planted:
        for fault in (1, 0x80, 1 << 63):
            with pytest.raises(IdentityFailure, match=r"bit \d+ differs"):
                theorem.prove(fault)


def test_toys_are_gone_afterwards() -> None:
    assert "toy-five" not in registry.multiplies()
    assert not [name for name in sys.modules if name.startswith("ghashgen.") and ".toy_" in name]


def test_a_scheme_with_a_wrong_product_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    right = registry.multiplies()["schoolbook"]

    def products(ops, A, entries, order):  # type: ignore[no-untyped-def]
        lo_twice = right.products(ops, A, entries, order)[1]
        return (*right.products(ops, A, entries, order)[:3], ("MI", lo_twice[1]))

    wrong = replace(right, products=products)
    monkeypatch.setattr(registry, "multiplies", lambda: {"schoolbook": wrong})
    proofs = [prove(t) for t in product_theorems.theorems(2)]
    failed = {proof.name for proof in proofs if not proof.ok}
    assert failed == {p.name for p in proofs if p.name.startswith(("multiply-", "aggregate-"))}
    assert len(failed) == 2 + 5
    assert all("differs" in proof.detail for proof in proofs if not proof.ok)


def test_the_products_that_are_emitted_are_those_that_are_proved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A group multiplies what `prepare` returns: a fault there is one of the scheme."""
    right = registry.multiplies()["winograd"]
    assert right.multiply is not None
    multiply = right.multiply

    def exchanged(ops, operands, entries, order):  # type: ignore[no-untyped-def]
        A, T, U = operands
        return multiply(ops, (A, U, T), entries, order)

    wrong = replace(right, multiply=exchanged)
    monkeypatch.setattr(registry, "multiplies", lambda: {"winograd": wrong})
    proofs = [prove(t) for t in product_theorems.theorems(2)]
    failed = {proof.name for proof in proofs if not proof.ok}
    assert failed == {p.name for p in proofs if p.name.startswith(("multiply-", "aggregate-"))}
    assert failed
