"""The second line behind the induction: faults planted in the first one, which it has to find."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from attacking import proof
from verify_objects import ASM, assembled, original

from ghashgen.verify.core.lengths import Claim
from ghashgen.verify.core.refutation import Category
from ghashgen.verify.core.terms import RAW, Lane, Term
from ghashgen.verify.core.values import Affine
from ghashgen.verify.hash import cut, induction, setup
from ghashgen.verify.hash.behind import FAR, FAR_TURNS, NEAR, PARTS, sample
from ghashgen.verify.hash.naming import PARTIAL, Naming
from ghashgen.verify.hash.spec import load_spec
from ghashgen.verify.hash.theorem import Prover
from ghashgen.verify.prove import Proof, prove_object

FIRST = 160
"""Bytes: the first length that foreign_ghash is not executed for."""


def update(obj: bytes) -> Proof:
    """Return the verdict on foreign_ghash alone."""
    spec = load_spec(ASM / "foreign.toml")
    functions = tuple(f for f in spec.functions if f.operation == "update")
    return prove_object(obj, replace(spec, functions=functions))


def found(verdict: Proof) -> int:
    """Return the length at which the second line finds a fault of the prover."""
    refutation = verdict.refutation
    assert refutation is not None, "the second line is blind"
    assert refutation.category is Category.PROVER, str(refutation)
    assert "a fault of the prover, please report it" in verdict.report()
    assert refutation.length is not None
    assert refutation.length >= FIRST
    return refutation.length


def test_a_cut_that_keeps_what_it_should_forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes behind the least length are the tail of every length, and stay so across the cut."""
    kept, cell = cut._kept, setup.data_cell

    def keeps(value: object, renamed: object) -> object:
        raw = isinstance(value, Term) and value.deps & RAW
        return value if raw else kept(value, renamed)  # type: ignore[arg-type]

    def tail(entry: setup.Entry, naming: Naming, index: int) -> Lane | None:
        if isinstance(entry.length, Affine) and 16 * (index + 1) > entry.length.least:
            return naming.terms.moves(naming.terms.variable(PARTIAL, RAW), naming.algebra.memory)
        return cell(entry, naming, index)

    right = proof("tail_kept", True, "update", length_multiple=1).refutation
    assert right is not None
    assert right.category is Category.FUNCTION
    monkeypatch.setattr(cut, "_kept", keeps)
    monkeypatch.setattr(setup, "data_cell", tail)
    assert found(proof("tail_kept", True, "update", length_multiple=1)) in (197, 261)
    assert proof("tail_kept", False, "update", length_multiple=1).proved


def trap() -> bytes:
    """Return foreign_ghash so that it is wrong from 512 bytes on."""
    text = (ASM / "foreign.asm").read_text()
    begin = "    sub         rcx, 64\n    jb          .single\n"
    assert begin in text
    return assembled(text.replace(begin, f"    cmp rcx, 512\n    jae .done\n{begin}"))


def test_a_descent_that_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def shown(prover: Prover, length: Affine) -> list[Affine]:
        return [length, *below(prover, length)]

    def below(prover: Prover, length: Affine) -> Iterator[Affine]:
        yield replace(length, low=0)

    monkeypatch.setattr(induction, "_descend", shown)
    assert found(update(trap())) >= 512


def test_a_claim_that_believes_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the lengths executed are shown; whatever is missing is not noticed."""
    monkeypatch.setattr(induction, "_all_lengths", lambda prover, claim: [])
    monkeypatch.setattr(Claim, "missing", lambda self, numbers, progressions: None)
    assert found(update(trap())) >= 512


def test_its_cost_is_told() -> None:
    verdict = update(original("foreign"))
    (function,) = verdict.functions
    behind = function.behind
    assert behind is not None
    assert behind.lengths == 8 + FAR
    assert behind.instructions > 0
    assert f"behind the induction: {behind.lengths} lengths up to {behind.greatest}" in (
        verdict.report()
    )
    assert verdict.as_data()["functions"][0]["behind"]["lengths"] == behind.lengths


def test_nothing_is_run_behind_chosen_lengths() -> None:
    spec = load_spec(ASM / "foreign.toml")
    verdict = prove_object(original("foreign"), spec, lengths=[0, 16])
    assert [function.behind for function in verdict.functions] == [None] * len(spec.functions)


@pytest.mark.parametrize("blocks", [1, 2, 4, 8, 48])
@pytest.mark.parametrize("step", [1, 16])
def test_the_sample(blocks: int, step: int) -> None:
    group, first = 16 * blocks, 16 * (2 * blocks + 2)
    claim = Claim(step, (1 << 62) - 1)
    lengths = sample(claim, first, group, "one")
    assert lengths == sample(claim, first, group, "one")
    assert lengths == sorted(set(lengths))
    assert all(n % step == 0 and first <= n <= FAR_TURNS * group for n in lengths)
    near = [n for n in lengths if n < first + 2 * group]
    assert len(lengths) - len(near) == FAR
    if 2 * group // step <= NEAR:
        assert near == list(range(first, first + 2 * group, step))
    else:
        residues, every = {n % group for n in near}, group // step
        assert len(residues) == len(near) == (every if every <= NEAR else PARTS)
        assert lengths != sample(claim, first, group, "another")
    assert sample(Claim(step, first), first, group, "one") in ([], [first])
