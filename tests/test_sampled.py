"""Random points: the bound, the field's formulas, the harness's, degrees, and planted faults."""

from __future__ import annotations

import itertools
import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from queue import Queue

import pytest
from click.testing import CliRunner
from cpus import AS_FOUND, NO_PCLMULQDQ, lacking
from emulating import needs_emulator

from ghashgen.algebra.field.bitorder import Order, block_from_element, element_from_block
from ghashgen.algebra.field.gf128 import power
from ghashgen.algebra.field.ghash import ghash_padded
from ghashgen.algebra.field.polyval import byte_reverse, mulX_GHASH, polyval
from ghashgen.check.sampled import points, runs, stranger
from ghashgen.check.sampled.control import Refused
from ghashgen.check.sampled.points import LINEAR, Cell, Point, Structure, cell
from ghashgen.check.sampled.subject import (
    SAMPLED,
    Function,
    Sampled,
    Subject,
    plan,
    points_for,
    structure_of,
)
from ghashgen.cli.verbs.prove_object import COMMAND
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import runnable
from ghashgen.output.render import render
from ghashgen.run.emulate import Buffer, Call, Emulator
from ghashgen.run.emulate.image import load_object
from ghashgen.run.harness import Harness, HarnessKernel, Vector, build
from ghashgen.support.errors import GhashgenError
from ghashgen.support.paths import project_root
from ghashgen.verify.hash.entries import Algebra

pytestmark = needs_emulator

NARROW = Kernel("sse", "k", "clmul1", 4)
SSE = ("sse2", "ssse3", "pclmulqdq")


# -- the bound -----------------------------------------------------------------------------------


@pytest.mark.parametrize("degree", [2, 3, 4, 5, 6, 8])
def test_so_many_points_are_enough_and_one_less_is_not(degree: int) -> None:
    count = points_for(degree)
    unseen = 1 - Fraction(1, 2**degree)
    assert unseen**count <= Fraction(1, 2**128) < unseen ** (count - 1)
    assert degree != 4 or count <= 1400


def test_soundness_states_these_numbers() -> None:
    text = (project_root() / "SOUNDNESS.md").read_text()
    rows = re.findall(r"^\| (\d+) \| ([\d,]+) \|$", text, re.MULTILINE)
    assert [int(degree) for degree, _ in rows] == [2, 3, 4, 5, 6, 8, 16]
    for degree, count in rows:
        assert int(count.replace(",", "")) == points_for(int(degree))


def test_polynomials_of_a_degree_differ_at_one_point_of_two_to_the_degree() -> None:
    """The lemma for every polynomial of 4 variables; and where a smaller share would be claimed."""
    variables = 4
    inputs = list(itertools.product((0, 1), repeat=variables))
    for degree in range(variables + 1):
        monomials = [
            sum(1 << k for k, point in enumerate(inputs) if all(point[v] for v in chosen))
            for d in range(degree + 1)
            for chosen in itertools.combinations(range(variables), d)
        ]
        least, value = 2**variables, 0
        for number in range(1, 2 ** len(monomials)):
            # Gray code: one monomial more or less each time.
            value ^= monomials[(number & -number).bit_length() - 1]
            least = min(least, value.bit_count())
        assert least == 2 ** (variables - degree)


def test_the_probability_is_rounded_up() -> None:
    def bound(bits: float) -> str:
        return Sampled("k", "native", 1, bits, "mul", 2).bound

    assert (bound(128.9), bound(0.0457), bound(4)) == ("2^-128", "0.969", "2^-4")


# -- the field -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("order", "op"), [*((order, "ghash") for order in Order), (Order.REFLECTED, "polyval")]
)
def test_cells_are_what_the_prover_takes_them_for(order: Order, op: str) -> None:
    """Two formulas written apart: in the field here, in registers there."""
    algebra, rng = Algebra(order, op), random.Random(5)
    powers = [rng.randbytes(16) for _ in range(5)]
    values = {
        f"B{i}": int.from_bytes(
            points.linear_cell("B", element_from_block(block), order, op), "little"
        )
        for i, block in enumerate(powers, 1)
    }
    cells = [Cell(kind, i) for kind in (*LINEAR, "R") for i in range(1, 6)]
    cells += [Cell("R", 5, 2), Cell("R", 4, 2), Cell("R", 5, 4)]
    found = points.table(cells, powers, order, op)
    for c, got in zip(cells, found, strict=True):
        kind = c.kind if c.step == 1 else f"R/{c.step}"
        assert int.from_bytes(got, "little") == algebra.entry(kind, c.power).evaluate(values), c


STRUCTURES = (
    Structure(1),
    Structure(3),
    Structure(4, 2),
    Structure(8, 4),
    Structure(4, 1, (1,)),
    Structure(8, 1, (4, 1)),
)


def _point(powers: list[bytes], rng: random.Random) -> Point:
    x, y, p = (rng.randbytes(16) for _ in range(3))
    return Point(x, y, p, tuple(powers), rng.randbytes(400), b"", b"", (), ())


@pytest.mark.parametrize("structure", STRUCTURES, ids=lambda s: s.text)
def test_a_structure_is_the_hash_where_the_powers_are_powers(structure: Structure) -> None:
    rng = random.Random(6)
    h = rng.randbytes(16)
    H = element_from_block(h)
    point = _point([block_from_element(power(H, i)) for i in range(1, 9)], rng)
    for length in (0, 5, 16, 33, 64, 143, 160, 250, 400):
        expected = ghash_padded(h, point.x, point.data[:length])
        assert points.update(point, structure, "ghash", length) == expected


def test_polyval_is_polyval_where_the_powers_are_powers() -> None:
    rng = random.Random(7)
    h = rng.randbytes(16)
    H = element_from_block(mulX_GHASH(byte_reverse(h)))
    point = _point([block_from_element(power(H, i)) for i in range(1, 5)], rng)
    point = replace(point, x=bytes(16))
    assert points.update(point, Structure(4), "polyval", 160) == polyval(h, point.data[:160])
    for function, operand in ((points.product, h), (points.combined, point.p)):
        x, y = rng.randbytes(16), bytes(16) if function is points.product else point.y
        moved = polyval(operand, x)
        right = bytes(a ^ b for a, b in zip(moved, y, strict=True))
        assert function(replace(point, x=x), "polyval") == right


def test_degrees_of_structures_count_reductions() -> None:
    n = 16
    at = {1: 2, 256: 2, 257: 3, 512: 3, 513: 4, 543: 4}
    assert {length: Structure(n).degree(length) for length in at} == at
    assert Structure(1).degree(63) == 5
    assert Structure(8, 1, (4, 1)).groups(8 * 16 + 7 * 16 + 3) == [8, 4, 1, 1, 1, 1]


# -- the harness's points ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sampled")


def _subject(kernel: Kernel, structure: Structure | None = None) -> Subject:
    return Subject(
        name=kernel.name,
        obj=Path(),
        abi="sysv",
        op=kernel.op,
        order=kernel.bit_order,
        structure=structure or structure_of(kernel),
        cells=tuple(cell(text) for text in kernel.layout.cells),
        table_bytes=kernel.table_bytes,
        functions={
            name: Function(f"{kernel.name}_{name}", parameters)
            for name, parameters in SAMPLED.items()
            if name != "combine" or kernel.segments
        },
    )


DRAWN = (
    Kernel("sse", "winograd", "clmul1", 3),
    Kernel("sse", "karatsuba", "clmul2", 2, op="polyval"),
    Kernel("avx512", "winograd", "clmul1", 8, fold="end"),
    Kernel("avx512", "k", "clmul1", 6, order="natural"),
    Kernel("avx512", "winograd", "clmul1", 4, order="natural", fold="end"),
)


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize("kernel", DRAWN, ids=lambda k: k.name)
def test_the_harness_computes_what_the_field_does(kernel: Kernel, folder: Path) -> None:
    subject = _subject(kernel)
    drawn = runs.draw(build([], folder), [subject], 2, "field")
    assert drawn[0].powers != drawn[1].powers
    every = range(0, subject.bound + 1, 7)
    arguments = (subject.structure, subject.order, subject.op, [subject.cells], every)
    points.check(drawn[1], *arguments)
    for wrong in (
        replace(drawn[1], mul=drawn[0].mul),
        replace(drawn[1], combine=drawn[0].combine),
        replace(drawn[1], update=drawn[0].update),
        replace(drawn[1], tables=drawn[0].tables),
    ):
        with pytest.raises(GhashgenError, match="disagree"):
            points.check(wrong, *arguments)


@pytest.mark.cpu(AS_FOUND)
def test_pieces_of_a_rest_are_what_the_field_says(folder: Path) -> None:
    subject = _subject(Kernel("sse", "k", "clmul1", 8), Structure(8, 1, (4, 1)))
    (drawn,) = runs.draw(build([], folder), [subject], 1, "pieces")
    points.check(
        drawn, subject.structure, subject.order, "ghash", [subject.cells], range(0, 288, 5)
    )


@pytest.mark.cpu(AS_FOUND)
def test_a_seed_decides_the_points(folder: Path) -> None:
    subject, harness = _subject(NARROW), build([], folder)
    one, same, other = (runs.draw(harness, [subject], 1, s)[0] for s in ("1", "1", "2"))
    assert one == same
    assert one.powers != other.powers


# -- planted faults ------------------------------------------------------------------------------


def _text(kernel: Kernel) -> str:
    return render(kernel, runnable("sysv", "")).text


Planted = Callable[[str], Sampled]


@pytest.fixture
def run(object_of: Callable[[str], bytes], folder: Path) -> Iterator[Callable[..., Sampled]]:
    """Run a kernel's text, natively where this CPU can, else emulated."""
    with Emulator() as emulator:
        free: Queue[Emulator] = Queue()
        free.put(emulator)

        def once(kernel: Kernel, text: str, many: int = runs.EMULATED_POINTS) -> Sampled:
            obj = folder / f"{kernel.name}-{abs(hash(text))}.o"
            obj.write_bytes(object_of(text))
            subject = replace(_subject(kernel), obj=obj)
            degrees = plan(subject)
            if lacking(SSE):
                return runs.emulated(build([], folder), free, subject, degrees, count=many)
            return runs.natively(_harness(kernel, obj, folder), [subject], [degrees])[0]

        yield once


def _harness(kernel: Kernel, obj: Path, folder: Path) -> Harness:
    return build(
        [
            HarnessKernel(
                name=kernel.name,
                isa=kernel.isa,
                abi="sysv",
                needs=SSE,
                blocks=kernel.blocks,
                table_bytes=kernel.table_bytes,
                table_align=kernel.set.operand_align,
                obj=obj,
                segments=kernel.segments,
            )
        ],
        folder,
    )


def _planted(kernel: Kernel, old: str, new: str, after: str = "_update:") -> str:
    """Return a kernel's text with one line changed behind a label."""
    text = _text(kernel)
    at = text.index(old, text.index(f"\n{kernel.name}{after}"))
    return text[:at] + new + text[at + len(old) :]


@pytest.mark.cpu(AS_FOUND, NO_PCLMULQDQ)
def test_the_kernel_itself_agrees(run: Callable[..., Sampled]) -> None:
    result = run(NARROW, _text(NARROW))
    assert result.ok, result.failures
    assert result.degree == 4
    if result.how == "native":
        assert result.bits >= 128


PRODUCT = "pclmulqdq   xmm2, [rdi + 80], 0x00              ; C2·H^3"
FAULTS = {
    "a wrong power at one position": (PRODUCT, PRODUCT.replace("80", "64")),
    "a wrong half of a product": (PRODUCT, PRODUCT.replace("0x00", "0x10")),
    "swapped halves": (
        "pshufd      xmm2, xmm10, 0x4e                   ; reduce",
        "pshufd      xmm2, xmm10, 0xe4                   ; reduce",
    ),
}


@pytest.mark.cpu(AS_FOUND, NO_PCLMULQDQ)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_seen(run: Callable[..., Sampled], fault: str) -> None:
    result = run(NARROW, _planted(NARROW, *FAULTS[fault]))
    assert not result.ok
    assert "update of" in result.failures[0]


@pytest.mark.cpu(AS_FOUND, NO_PCLMULQDQ)
def test_a_wrong_bit_of_a_constant_is_seen(run: Callable[..., Sampled]) -> None:
    text = _text(NARROW)
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
    constant = points.linear_cell("B", power(H, 2), Order.REFLECTED, "ghash")
    B2 = 16 * kernel.layout.cells.index("B2")
    body, tail = _text(kernel).split(f"\n{kernel.name}_update:")
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
    movdqa      xmm5, {x}
    psrlq       xmm5, 1
    pand        xmm5, {x}
    movdqa      xmm6, xmm5
    psrlq       xmm6, 2
    pand        xmm6, xmm5
    psllq       xmm6, 63
    pxor        {x}, xmm6
"""
"""Adds the product of four bits of x to another: wrong for one input in sixteen, in either half."""


@pytest.mark.cpu(AS_FOUND)
def test_a_rare_fault_is_seen_and_raises_the_degree(run: Callable[..., Sampled]) -> None:
    """At every length one input in sixteen is wrong: one vector a length would often miss it."""
    if lacking(SSE):
        pytest.skip("this CPU has no PCLMULQDQ")
    text = _text(NARROW)
    at = text.index("\n.store:", text.index(f"\n{NARROW.name}_mul:"))
    line = text[at:].splitlines()[2].strip()
    assert line.startswith("pshufb")
    rare = RARE.format(x=line.split()[1].rstrip(","))
    at += len("\n.store:")
    result = run(NARROW, text[:at] + rare + text[at:])
    assert not result.ok
    assert "mul, point" in result.failures[0]
    wrong = int(result.failures[0].split()[0])
    # Four bits of degree 2; so many points were run, and one in eight of them is wrong.
    assert result.degree == 8
    assert 0 < wrong < points_for(8) / 6


# -- degrees -------------------------------------------------------------------------------------


def _plan(object_of: Callable[[str], bytes], folder: Path, body: str) -> int | None:
    obj = folder / f"piece-{abs(hash(body))}.o"
    obj.write_bytes(object_of(f"section .text\nglobal k_mul\nk_mul:\n{body}\n"))
    subject = replace(
        _subject(NARROW), obj=obj, functions={"mul": Function("k_mul", ("table", "state"))}
    )
    return plan(subject).mul


LOAD = "movdqu xmm0, [rsi]\nmovdqu xmm1, [rdi]\n"
STORE = "movdqu [rsi], xmm0\nret"
DEGREES = {
    "pxor xmm0, xmm1": 2,
    "pclmulqdq xmm0, xmm1, 0\npclmulqdq xmm0, xmm1, 0": 3,
    "pclmulqdq xmm0, xmm0, 0x10\npclmulqdq xmm0, xmm0, 0x10": 4,
    "pclmulqdq xmm0, xmm1, 0\npxor xmm1, xmm1\npclmulqdq xmm0, xmm1, 0": 2,
    "movdqu [rsp - 24], xmm1\npclmulqdq xmm0, [rsp - 24], 0\npclmulqdq xmm0, xmm1, 0": 3,
    "vpternlogq xmm0, xmm1, [rdi + 16], 0x80": 3,
    "vpternlogq xmm0, xmm1, [rdi + 16], 0x96": 2,
    "vpternlogq xmm0, xmm1, [rdi + 16], 0xca": 2,
    "vmovdqu xmm0, [rsi]\nvpermq ymm0, ymm0, 0x4e\npclmulqdq xmm0, xmm1, 0": 2,
    "mov eax, 3\nkmovq k1, rax\nvmovdqu8 xmm0{k1}{z}, [rsi]\npclmulqdq xmm0, xmm0, 0": 2,
    "mov eax, 3\nkmovq k1, rax\npclmulqdq xmm0, xmm1, 0\nvmovdqu8 xmm0{k1}, [rsi]": 2,
    "vpternlogq xmm0, xmm0, xmm9, 0xff\npclmulqdq xmm0, xmm1, 0": 2,
    "mov rax, [rsi]\nmovq xmm0, rax\npand xmm0, xmm1\npand xmm0, xmm1": 3,
    "push rbx\nmov rbx, 3\n.l: pclmulqdq xmm0, xmm1, 0\ndec rbx\njnz .l\npop rbx": 4,
}
"""Pieces, and their degree; 2 at least, that of the right result."""


@pytest.mark.parametrize("body", DEGREES)
def test_degree_of_a_piece(object_of: Callable[[str], bytes], folder: Path, body: str) -> None:
    assert _plan(object_of, folder, LOAD + body + "\n" + STORE) == DEGREES[body]


REFUSED = {
    "mov rax, [rsi]\ntest rax, rax\njz .a\npxor xmm0, xmm1\n.a:": "depends on data",
    "mov rax, [rsi]\nand eax, 15\nmovdqu xmm0, [rdi + rax]": "depends on data",
    "movq rax, xmm0\nadd rax, 1\nmovq xmm0, rax": "depends on data",
    "pshufb xmm1, xmm0": "order that depends on data",
    "psllq xmm1, xmm0": "count that depends on data",
    "vmovdqu ymm1, [rdi]\nvpermq ymm0, ymm1, ymm1": "order that depends on data",
    "vzeroall": "not on the list",
    "rdtsc": "not on the list",
    "cld": "not on the list",
    "hlt": "",
    "syscall": "not on the list",
    "retf": "not on the list",
    "iretq": "not on the list",
    "ret 8": "not on the list",
    "lock add rax, 1": "",
    "pmovmskb eax, xmm0": "not on the list",
    "maskmovdqu xmm0, xmm1": "",
    "rep movsb": "",
    "jrcxz .a\n.a:": "not on the list",
    "mov rax, [fs:0]": "another segment",
    "movdqu xmm0, [esi]": "fewer than 64 bits",
    "paddq xmm0, xmm1": "not on the list",
    "vpcmpeqb xmm0, xmm0, xmm1": "not on the list",
    "vpgatherqq xmm0, [rdi + xmm1], xmm2": "",
    "pxor xmm0, xmm9": "what the caller left",
    "pxor xmm0, [rsp - 32]": "what the caller left",
    "movq xmm0, rbx": "what the caller left",
    "kmovq k1, rax\nvmovdqu8 xmm0{k2}{z}, [rdi]": "depends on data",
    "movdqu xmm0, [rdi + 4096]": "outside of the buffers",
    "movdqu [rdi], xmm0": "outside of state and stack",
    "add qword [rsp - 8], 1": "memory as an operand",
    "cmp al, 3": "fewer than 32 bits",
    "db 0x66\njmp .a\n.a:": "operand-size prefix",
    "mov rax, [rsp]\ndec rax\njmp rax": "",
    "pop rax\ndec rax\npush rax": "leaves the code",
    "shl rcx, 1\njc .a\n.a:": "depends on data",
    "shl rcx, 1\njo .a\n.a:": "depends on data",
    "jz .a\n.a:": "depends on data",
    "js .a\n.a:": "depends on data",
    ".l: jmp .l": "does not return",
}


@pytest.mark.parametrize("body", REFUSED)
def test_what_has_no_degree_is_refused(
    object_of: Callable[[str], bytes], folder: Path, body: str
) -> None:
    with pytest.raises(Refused) as refusal:
        _plan(object_of, folder, LOAD + body + "\n" + STORE)
    assert REFUSED[body] in str(refusal.value)


HELD = (
    (Kernel("avx", "k", "clmul1", 1), "mul", 0),
    (Kernel("avx", "winograd", "clmul1", 2), "update", 40),
    (Kernel("avx512", "winograd", "clmul1", 4), "update", 64),
    (Kernel("avx512vl", "karatsuba", "clmul2", 2, order="natural"), "update", 40),
)


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize(("kernel", "name", "length"), HELD, ids=lambda v: getattr(v, "name", v))
def test_derivatives_beyond_the_degree_vanish(
    kernel: Kernel,
    name: str,
    length: int,
    object_of: Callable[[str], bytes],
    emulator: Emulator,
    folder: Path,
) -> None:
    """The sum over a cube of d + 1 directions is 0 for a polynomial of degree d, and over one of d
    not: the bound of a right kernel's result, which is its structure's degree, is no fiction."""
    obj = folder / f"{kernel.name}.o"
    obj.write_bytes(object_of(_text(kernel)))
    subject = replace(_subject(kernel), obj=obj)
    degree = subject.structure.degree(length) if name == "update" else 2
    degrees = plan(subject)
    assert degree <= (degrees.update[length] if name == "update" else degrees.mul or 0)
    rng = random.Random(8)
    powers, size = max(kernel.blocks, subject.top), 16 + length
    image = load_object(obj)

    def results(directions: int) -> int:
        start, *ways = [rng.randbytes(size + 16 * powers) for _ in range(directions + 1)]
        calls = []
        for chosen in itertools.product((0, 1), repeat=directions):
            value = int.from_bytes(start, "little")
            for use, way in zip(chosen, ways, strict=True):
                value ^= int.from_bytes(way, "little") * use
            at = value.to_bytes(len(start), "little")
            H = [at[size + 16 * i : size + 16 * (i + 1)] for i in range(powers)]
            table = b"".join(points.table(subject.cells, H, subject.order, "ghash"))
            buffers = [Buffer("table", table), Buffer("x", at[:16], writable=True)]
            arguments: tuple[int | str, ...] = ("table", "x")
            if name == "update":
                buffers.append(Buffer("in", at[16:size]))
                arguments = ("table", "x", "in", length)
            calls.append(Call(arguments, tuple(buffers)))
        total = 0
        for answer in emulator.call_many(image, f"{kernel.name}_{name}", calls):
            assert answer.outcome.ok, answer.outcome.text
            total ^= int.from_bytes(answer.buffers["x"], "little")
        return total

    assert results(degree + 1) == 0
    assert results(degree) != 0


# -- objects of strangers ------------------------------------------------------------------------

ASM = Path(__file__).parent / "asm_verify"


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
    done = CliRunner().invoke(COMMAND, words)
    assert done.exit_code == 0, done.output
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


def test_it_imports_nothing_of_the_prover() -> None:
    for path in (project_root() / "ghashgen" / "sampled").glob("*.py"):
        text = path.read_text()
        assert "from ghashgen.verify" not in text
        assert "import ghashgen.verify" not in text
