"""Random points see planted faults, in kernels of this project and in objects of strangers."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from queue import Queue

import pytest
from click.testing import CliRunner
from helpers.cpus import AS_FOUND, NO_PCLMULQDQ, lacking
from helpers.emulating import needs_emulator
from helpers.sampling import NARROW, SSE, subject_of_kernel, text_of
from helpers.verbs import called

from ghashgen.algebra.field.bitorder import Order, element_from_block
from ghashgen.algebra.field.ghash import ghash_padded
from ghashgen.algebra.field.powers import power
from ghashgen.check.sampled import runs, stranger
from ghashgen.check.sampled.cells import Cell, linear_cell
from ghashgen.check.sampled.points import Structure
from ghashgen.check.sampled.subject import (
    SEED,
    Function,
    Plan,
    Sampled,
    Subject,
    bits_of_a_point,
    plan,
    points_for,
)
from ghashgen.cli.verbs.prove_object import COMMAND
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.run.emulate import Emulator
from ghashgen.run.harness import Harness, Vector, build
from ghashgen.run.table import HarnessKernel
from ghashgen.support.errors import GhashgenError

pytestmark = needs_emulator


# -- planted faults ------------------------------------------------------------------------------


Planted = Callable[[str], Sampled]


@pytest.fixture
def run(object_of: Callable[[str], bytes], folder: Path) -> Iterator[Callable[..., Sampled]]:
    """Run a kernel's text, natively where this CPU can, else emulated, as from a seed `emulate`."""
    with Emulator() as emulator:
        free: Queue[Emulator] = Queue()
        free.put(emulator)

        def once(kernel: Kernel, text: str, emulate: str = "") -> Sampled:
            obj = folder / f"{kernel.name}-{abs(hash(text))}.o"
            obj.write_bytes(object_of(text))
            subject = replace(subject_of_kernel(kernel), obj=obj)
            degrees = plan(subject)
            if emulate or lacking(SSE):
                return runs.emulated(build([], folder), free, subject, degrees, emulate or SEED)
            return runs.natively(_harness(kernel, obj, folder), [subject], [degrees])[0]

        yield once


def _harness(kernel: Kernel, obj: Path, folder: Path) -> Harness:
    return build([HarnessKernel.of_kernel(kernel, obj, SSE, abi="sysv")], folder)


def _planted(kernel: Kernel, old: str, new: str, after: str = "_update:") -> str:
    """Return a kernel's text with one line changed behind a label."""
    text = text_of(kernel)
    at = text.index(old, text.index(f"\n{kernel.name}{after}"))
    return text[:at] + new + text[at + len(old) :]


@pytest.mark.cpu(AS_FOUND, NO_PCLMULQDQ)
def test_the_kernel_itself_agrees(run: Callable[..., Sampled]) -> None:
    result = run(NARROW, text_of(NARROW))
    assert result.ok, result.failures
    assert result.degree == 4
    if result.how == "native":
        assert result.bits >= 128


PRODUCT = "pclmulqdq xmm2, [rdi + 80], 0x00 ; C2·H^3"
FAULTS = {
    "a wrong power at one position": (PRODUCT, PRODUCT.replace("80", "64")),
    "a wrong half of a product": (PRODUCT, PRODUCT.replace("0x00", "0x10")),
    "swapped halves": ("pshufd xmm2, xmm10, 0x4e ; reduce", "pshufd xmm2, xmm10, 0xe4 ; reduce"),
}


@pytest.mark.cpu(AS_FOUND, NO_PCLMULQDQ)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_seen(run: Callable[..., Sampled], fault: str) -> None:
    result = run(NARROW, _planted(NARROW, *FAULTS[fault]))
    assert not result.ok
    assert "update of" in result.failures[0]


@pytest.mark.cpu(AS_FOUND, NO_PCLMULQDQ)
def test_a_wrong_bit_of_a_constant_is_seen(run: Callable[..., Sampled]) -> None:
    text = text_of(NARROW)
    row = "0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xc2"
    assert text.count(row) == 1
    result = run(NARROW, text.replace(row, row.replace("0xc2", "0xc3")))
    assert not result.ok


@pytest.mark.cpu(AS_FOUND)
def test_a_cell_right_for_one_key_only(run: Callable[..., Sampled], folder: Path) -> None:
    """The cell of H^2 is a constant, that of one key: with this key every length is right."""
    if lacking(SSE):
        pytest.skip("this CPU has no PCLMULQDQ")
    kernel = Kernel("sse", "k", "clmul1", 4)
    h = bytes(range(16))
    H = element_from_block(h)
    constant = linear_cell("B", power(H, 2), Order.REFLECTED, "ghash")
    B2 = 16 * kernel.layout.cells.index("B2")
    body, tail = text_of(kernel).split(f"\n{kernel.name}_update:")
    assert f"[rdi + {B2}]" in tail
    data = ", ".join(f"{byte:#04x}" for byte in constant)
    text = f"{body}\n{kernel.name}_update:" + tail.replace(f"[rdi + {B2}]", "[rel planted]")
    text += f"\nsection .rodata\nalign 16\nplanted: db {data}\n"
    result = run(kernel, text)
    assert not result.ok
    obj = folder / f"{kernel.name}-{abs(hash(text))}.o"
    vectors = [Vector(h, bytes(16), (bytes(range(n)),)) for n in range(144)]
    states = _harness(kernel, obj, folder).run(kernel.name, vectors)
    assert states == [ghash_padded(h, bytes(16), bytes(range(n))) for n in range(144)]


RARE = """
 movdqa xmm5, {x}
 psrlq xmm5, 1
 pand xmm5, {x}
 movdqa xmm6, xmm5
 psrlq xmm6, 2
 pand xmm6, xmm5
 psllq xmm6, 63
 pxor {x}, xmm6
"""
"""Adds the product of four bits of x to another: wrong for one input in sixteen, in either half."""


MONOMIAL = """
 movq xmm5, [rsi]
 movdqa xmm6, xmm5
 psrlq xmm6, 1
 pand xmm5, xmm6
 movdqa xmm6, xmm5
 psrlq xmm6, 2
 pand xmm6, xmm5
 psllq xmm6, 63
 pxor {x}, xmm6
"""
"""Adds the product of four bits of the state as it was: one monomial, of degree 4."""


def _with(piece: str) -> str:
    """Return a kernel's text with `piece` before mul stores the state, which is x in it."""
    text = text_of(NARROW)
    at = text.index("\n.store:", text.index(f"\n{NARROW.name}_mul:"))
    line = text[at:].splitlines()[2].strip()
    assert line.startswith("pshufb")
    at += len("\n.store:")
    return text[:at] + piece.format(x=line.split()[1].rstrip(",")) + text[at:]


@pytest.mark.cpu(AS_FOUND)
def test_a_rare_fault_is_seen_and_raises_the_degree(run: Callable[..., Sampled]) -> None:
    """At every length one input in sixteen is wrong: one vector a length would often miss it."""
    if lacking(SSE):
        pytest.skip("this CPU has no PCLMULQDQ")
    result = run(NARROW, _with(RARE))
    assert not result.ok
    assert "mul, point" in result.failures[0]
    wrong = int(result.failures[0].split()[0])
    # Four bits of degree 2; so many points were run, and one in eight of them is wrong.
    assert result.degree == 8
    assert 0 < wrong < points_for(8) / 6


@pytest.mark.cpu(AS_FOUND)
def test_an_emulated_kernel_is_run_at_enough_points_for_one_monomial(
    run: Callable[..., Sampled],
) -> None:
    """One input in sixteen is wrong: eight points see none of them three times out of five."""
    result = run(NARROW, _with(MONOMIAL), emulate="3")
    assert (result.how, result.degree) == ("emulated", 4)
    seen = [int(re.fullmatch(r"mul, point (\d+): .*", text)[1]) for text in result.failures]  # type: ignore[index]
    # The points are those of the seed, always the same.
    assert min(seen) >= 8
    assert result.bits > 16


# -- what may be run where a point is dear -------------------------------------------------------


def test_points_that_can_be_paid_for_reach_the_same_bound_everywhere() -> None:
    p = Plan({0: 1, 16: 2, 40: 3, 80: 4}, 2, None, {1: 10, 2: 250, 3: 300, 4: 400})
    count = runs.affordable(p, 100_000)
    bits = {d: count(d) * bits_of_a_point(d) for d in (2, 3, 4)}
    assert max(bits.values()) - min(bits.values()) < bits_of_a_point(2)
    spent = sum(count(d) * n for d, n in p.instructions.items())
    assert 95_000 < spent <= 100_000
    assert [runs.affordable(p, 10**9)(d) for d in (2, 3, 4)] == [points_for(d) for d in (2, 3, 4)]


def test_few_points_are_run_whatever_they_cost_and_not_too_many_whatever_they_show() -> None:
    p = Plan({0: 1, 16: 2, 80: 16}, None, None, {1: 10, 2: 250, 16: 100})
    assert [runs.affordable(p, 1)(d) for d in (1, 2, 16)] == [runs.FEWEST] * 3
    assert runs.affordable(p, 10**9)(16) == runs.MOST


# -- objects of strangers ------------------------------------------------------------------------

ASM = Path(__file__).parents[1] / "asm_verify"


def _foreign(obj: Path) -> Subject:
    return Subject(
        name="foreign",
        obj=obj,
        abi="sysv",
        op="ghash",
        order=Order.REFLECTED,
        structure=Structure(4),
        cells=tuple(Cell("B", i) for i in range(1, 5)),
        table_bytes=64,
        functions={
            "mul": Function("foreign_gmult", ("state", "table")),
            "update": Function("foreign_ghash", ("state", "table", "input", "length"), 16),
        },
    )


@pytest.mark.cpu(AS_FOUND, NO_PCLMULQDQ)
def test_a_strangers_object_is_run_and_its_groups_found(
    object_of: Callable[[str], bytes], folder: Path
) -> None:
    obj = folder / "foreign.o"
    obj.write_bytes(object_of((ASM / "foreign.asm").read_text()))
    result, structure = stranger.run(_foreign(obj), 16, folder)
    assert result.ok
    assert structure == Structure(4, 1, (1,))
    stated, _ = stranger.run(_foreign(obj), 16, folder, groups=(4, 1))
    assert stated == result
    with pytest.raises(GhashgenError, match="agrees with none"):
        stranger.run(_foreign(obj), 16, folder, groups=(4, 2, 1))


@pytest.mark.cpu(AS_FOUND)
def test_prove_object_runs(object_of: Callable[[str], bytes], folder: Path) -> None:
    obj = folder / "stated.o"
    obj.write_bytes(object_of((ASM / "foreign.asm").read_text()))
    words = [str(obj), "--spec", str(ASM / "foreign.toml"), "--run"]
    done = called("prove-object", *words)
    assert "at random points with independent powers, groups of 4, then 1" in done.output
    done = CliRunner().invoke(COMMAND, [*words, "--json"])
    assert json.loads(done.stdout)["random_points"]["calls"] > 0
    done = CliRunner().invoke(COMMAND, [*words, "--groups", "1,4"])
    assert "write the largest first" in str(done.exception) + done.output


@pytest.mark.cpu(AS_FOUND, NO_PCLMULQDQ)
def test_a_wrong_object_of_a_stranger_agrees_with_no_structure(
    object_of: Callable[[str], bytes], folder: Path
) -> None:
    text = (ASM / "foreign.asm").read_text()
    obj = folder / "foreign_wrong.o"
    obj.write_bytes(object_of(text.replace("dq 0xc200000000000000, 0", "dq 0xc200000000000001, 0")))
    with pytest.raises(GhashgenError, match="agrees with none of the structures"):
        stranger.run(_foreign(obj), 16, folder)
