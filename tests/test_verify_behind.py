"""The second line behind the inductions: faults planted in the first one, which it has to find."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import pytest
from attacking import proof
from compiling import emitted_text
from verify_objects import ASM, assembled, original

from ghashgen.check.proofs import statement
from ghashgen.check.statements import load_spec
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import runnable
from ghashgen.verify.core import values
from ghashgen.verify.core.lengths import Claim
from ghashgen.verify.core.refutation import Category, Refutation
from ghashgen.verify.core.term import RAW, Lane, Term
from ghashgen.verify.core.values import Affine, Value
from ghashgen.verify.engine import cut, induction, keeping, stretches
from ghashgen.verify.engine.behind import FAR, FAR_TURNS, NEAR, PARTS, TURNS, sample
from ghashgen.verify.engine.induction import Course
from ghashgen.verify.engine.prover import Prover
from ghashgen.verify.hash import entry as setup
from ghashgen.verify.hash import operations, power
from ghashgen.verify.hash.exponents import ANY, SMALL, exponents
from ghashgen.verify.hash.naming import PARTIAL, Naming
from ghashgen.verify.hash.power import HashProver
from ghashgen.verify.machine import flags
from ghashgen.verify.prove import Proof, prove_object
from ghashgen.verify.x86_64.elf import load_image

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
    assert "a fault of the prover; please report it" in verdict.report()
    assert refutation.length is not None
    assert refutation.length >= FIRST
    return refutation.length


def test_a_cut_that_keeps_what_it_should_forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes behind the least length are the tail of every length, and stay so across the cut."""
    kept, cell = keeping.kept, setup.data_cell

    def keeps(value: Value, place: keeping.Place, renamed: Mapping[Term, Lane]) -> Value | None:
        raw = isinstance(value, Term) and value.deps & RAW
        return value if raw else kept(value, place, renamed)

    def tail(entry: setup.HashEntry, naming: Naming, index: int) -> Lane | None:
        length = entry.numbers["length"]
        if isinstance(length, Affine) and 16 * (index + 1) > length.least:
            return naming.terms.moves(naming.terms.variable(PARTIAL, RAW), naming.algebra.memory)
        return cell(entry, naming, index)

    right = proof("tail_kept", True, "update", length_multiple=1).refutation
    assert right is not None
    assert right.category is Category.FUNCTION
    monkeypatch.setattr(cut, "kept", keeps)
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
    def shown(prover: HashProver, course: Course, length: Affine) -> list[Affine]:
        return [length, *below(length)]

    def below(length: Affine) -> Iterator[Affine]:
        yield replace(length, low=0)

    monkeypatch.setattr(induction, "_descend", shown)
    assert found(update(trap())) >= 512


def test_a_claim_that_believes_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the lengths executed are shown; whatever is missing is not noticed."""
    monkeypatch.setattr(induction, "_all_lengths", lambda prover, course: [])
    monkeypatch.setattr(Claim, "missing", lambda self, numbers, progressions: None)
    assert found(update(trap())) >= 512


def test_its_cost_is_told() -> None:
    verdict = update(original("foreign"))
    (function,) = verdict.functions
    behind = function.behind
    assert behind is not None
    assert (behind.unit, behind.numbers) == ("lengths", 8 + FAR)
    assert behind.instructions > behind.repeated > 0
    assert f"behind the induction: {behind.numbers} lengths up to {behind.greatest}" in (
        verdict.report()
    )
    assert verdict.as_data()["functions"][0]["behind"]["numbers"] == behind.numbers


def test_nothing_is_run_behind_chosen_lengths() -> None:
    spec = load_spec(ASM / "foreign.toml")
    verdict = prove_object(original("foreign"), spec, lengths=[0, 16])
    assert [function.behind for function in verdict.functions] == [None] * len(spec.functions)


@pytest.mark.parametrize("blocks", [1, 2, 4, 8, 48, 49, 200])
@pytest.mark.parametrize("step", [1, 16])
def test_the_sample(blocks: int, step: int) -> None:
    group, first = 16 * blocks, 16 * (2 * blocks + 2)
    claim = Claim(step, (1 << 62) - 1, "u")
    lengths = sample(claim, first, group, "one")
    assert lengths == sample(claim, first, group, "one")
    assert lengths == sorted(set(lengths))
    assert all(n % step == 0 and first <= n <= FAR_TURNS * group for n in lengths)
    near = [n for n in lengths if n < first + TURNS * group]
    assert len(lengths) - len(near) == FAR
    if TURNS * group // step <= NEAR:
        assert near == list(range(first, first + TURNS * group, step))
    else:
        assert len({n % group for n in near}) == len(near) == PARTS
        assert lengths != sample(claim, first, group, "another")
    assert sample(Claim(step, first, "u"), first, group, "one") in ([], [first])


def test_the_exponents() -> None:
    chosen = exponents(power.EXPONENTS, power.EXECUTED, "one")
    assert chosen == sorted(set(chosen))
    assert chosen[:SMALL] == list(range(power.EXECUTED, power.EXECUTED + SMALL))
    edges = {(1 << k) + d for k in range(2, 65) for d in (-1, 0, 1)}
    assert {m for m in edges if m < 1 << 64} <= set(chosen)
    assert chosen[-1] == (1 << 64) - 1
    others = set(chosen) ^ set(exponents(power.EXPONENTS, power.EXECUTED, "another"))
    assert len(others) == 2 * ANY
    assert all(bin(m).count("1") > 2 for m in others)


POWER = Kernel("avx", "winograd", "clmul1", 1, segments=True)


def raised(
    extra: str = "",
    kernel: Kernel = POWER,
    abi: str = "sysv",
    change: Callable[[str], str] = lambda text: text,
) -> Proof:
    """Return the verdict on a kernel's power, changed, with some lines put at its beginning."""
    text, name = emitted_text(kernel, runnable(abi)), f"{kernel.name}_power"
    before, start, after = text.partition(f"{name}:\n")
    head = "    endbr64\n"
    assert after.startswith(head)
    spec = statement(kernel, kernel.name, abi)
    functions = tuple(f for f in spec.functions if f.operation == "power")
    body, end, rest = after.removeprefix(head).partition("\n.end:")
    obj = assembled(before + start + head + extra + change(body) + end + rest)
    return prove_object(obj, replace(spec, functions=functions))


def disagreed(verdict: Proof) -> int:
    """Return the exponent at which the second line finds a fault of the prover."""
    refutation = verdict.refutation
    assert refutation is not None, "the second line is blind"
    assert refutation.category is Category.PROVER, str(refutation)
    assert refutation.exponent is not None
    assert f"(exponent {refutation.exponent})" in str(refutation)
    assert refutation.as_data()["exponent"] == refutation.exponent
    return refutation.exponent


NARROW = "    mov edx, edx\n"
"""Only 32 bits of the exponent are taken."""

NEGATIVE = "    test rdx, rdx\n    jns .every\n    ret\n.every:\n"
"""From 2^63 on, nothing is written."""


@pytest.mark.parametrize(
    "kernel",
    [
        # Those that test_segment_kernels.py has not.
        replace(POWER, isa="avx512", wipe=True),
        replace(POWER, multiply="karatsuba", reduce="clmul2", op="polyval", isa="avx512vl"),
        replace(POWER, multiply="schoolbook", reduce="clmul3"),
    ],
    ids=lambda kernel: kernel.name,
)
@pytest.mark.parametrize("abi", ["sysv", "win64"])
def test_power_has_a_second_line(kernel: Kernel, abi: str) -> None:
    verdict = raised(kernel=kernel, abi=abi)
    assert verdict.refutation is None, str(verdict.refutation)
    (function,) = verdict.functions
    behind = function.behind
    assert behind is not None
    assert behind.unit == "exponents"
    assert behind.numbers == len(exponents(power.EXPONENTS, power.EXECUTED, function.symbol))
    assert behind.greatest == (1 << 64) - 1
    assert f"{behind.numbers} exponents up to {behind.greatest}" in verdict.report()


def test_an_induction_of_power_that_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    right = raised(NARROW).refutation
    assert right is not None
    assert right.category is Category.UNSUPPORTED
    monkeypatch.setattr(operations, "prove_power", lambda prover, naming, claim: None)
    assert disagreed(raised(NARROW)) == 1 << 32
    assert disagreed(raised(NEGATIVE)) == 1 << 63
    assert raised().proved


def test_an_exponent_that_is_never_too_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """A 32-bit move of an unknown exponent is taken for the exponent."""
    reduced = values.reduced
    monkeypatch.setattr(
        values.Ranges,
        "reduced",
        staticmethod(lambda a, bits: a if isinstance(a, Affine) else reduced(a, bits)),
    )
    assert disagreed(raised(NARROW)) == 1 << 32


def test_an_exponent_that_is_never_negative(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sign of an unknown exponent is taken for plus."""
    right = flags._negative
    monkeypatch.setattr(
        flags,
        "_negative",
        lambda facts, n, bits: (
            bits != 64 and right(facts, n, bits) if isinstance(n, Affine) else right(facts, n, bits)
        ),
    )
    assert disagreed(raised(NEGATIVE)) == 1 << 63


def test_turns_that_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(power, "_same", lambda *whatever: None)
    assert disagreed(raised(change=unsquared)) == 3
    assert raised().proved


def unsquared(text: str) -> str:
    """Return power without the squaring after a bit that is set: right for 0, 1 and 2."""
    shift = next(line for line in text.splitlines() if " shr " in line)
    assert text.count(".even:\n") == text.count(shift) == 1
    text = text.replace(".even:\n", "    jmp .halved\n.even:\n")
    return text.replace(shift, f".halved:\n{shift}")


def ran(prover: HashProver, lengths: list[int]) -> list[tuple[object, ...]]:
    """Return the registers, flags and state that each length leaves."""
    out: list[tuple[object, ...]] = []
    for length in lengths:
        entry = prover.start({"length": length})
        prover.run(entry, prover.entry_address, lambda address: False)
        prover.check_end(entry)
        m = entry.machine
        state = tuple(m.memory.written["state"].get(k) for k in range(16))
        out.append((*m.gpr, *m.vec, *m.mask, m.flags, m.upper_dirty, state))
    return out


@pytest.mark.parametrize(
    "kernel",
    [
        Kernel("sse", "karatsuba", "clmul2", 4),
        Kernel("avx", "winograd", "clmul1", 4, swap="stack"),
        Kernel("avx2", "winograd", "clmul1", 8, fold="end"),
        Kernel("avx512", "k", "clmul1", 8, wipe=True),
        Kernel("avx512vl", "winograd", "clmul1", 16, fold="end", pipeline="ahead"),
    ],
    ids=lambda kernel: kernel.name,
)
def test_stretches_change_nothing(kernel: Kernel) -> None:
    """A run that repeats stretches leaves the same terms as one that executes every row."""
    spec = statement(kernel, kernel.name, "sysv")
    function = next(f for f in spec.functions if f.operation == "update")
    image = load_image(assembled(emitted_text(kernel, runnable("sysv"))))
    prover: HashProver = Prover(image, spec, function, cutting=False)
    group = 16 * kernel.blocks
    lengths = list(range(2 * group - 40, 4 * group + 40))
    plain = ran(prover, lengths)
    executed = prover.executed
    known = stretches.Stretches(prover.flow, prover.meaning)
    prover.skip = known.skip
    prover.executed = 0
    assert ran(prover, lengths) == plain
    assert prover.executed + known.repeated == executed
    assert known.repeated > executed // 2


def over_read() -> bytes:
    """Return foreign_ghash so that at 512 bytes it loads a block too many, as longer ones may."""
    text = (ASM / "foreign.asm").read_text()
    begin = "    sub         rcx, 64\n    jb          .single\n"
    assert begin in text
    loads = "".join(f"    movdqu xmm7, [rdx + {at}]\n" for at in (512, 528, 544))
    extra = f"    cmp rcx, 512\n    jb .few\n{loads}.few:\n"
    return assembled(text.replace(begin, f"{extra}{begin}"))


def test_a_load_beyond_the_input_that_a_longer_message_permits() -> None:
    """The stretch is known from a length for which all that it loads is there."""
    spec = load_spec(ASM / "foreign.toml")
    function = next(f for f in spec.functions if f.operation == "update")
    prover: HashProver = Prover(load_image(over_read()), spec, function, cutting=False)
    prover.skip = stretches.Stretches(prover.flow, prover.meaning).skip
    prover.prove({"length": 1024})
    prover.prove({"length": 560})
    for length in (512, 528, 544):
        with pytest.raises(Refutation, match="beyond it"):
            prover.prove({"length": length})
