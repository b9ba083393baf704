"""PeachPy as a second backend: the same results, the same instructions."""

import ast
import random
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from helpers.compiling import PAIRS
from helpers.cpus import AS_FOUND, need

from ghashgen.algebra.field.ghash import ghash_padded, multiply_blocks
from ghashgen.arch.x86_64.abi import SYSV
from ghashgen.compiler.pipeline import compile_kernel
from ghashgen.ir.program import Block, Label, Mem, Op, Program, RegClass, VReg
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.output.peachpy.instructions import Encoded
from ghashgen.output.peachpy.tool import WORKER, find, require
from ghashgen.run.harness import Vector
from ghashgen.run.peachpy import Session, assembled, compile_function, differences, multiset, run
from ghashgen.support.errors import GhashgenError

KERNELS = [
    *(Kernel("avx", multiply, reduce, n) for n in (1, 4, 8) for multiply, reduce in PAIRS),
    Kernel("avx", "winograd", "clmul1", 16),
]
SMALL = Kernel("avx", "schoolbook", "clmul2", 1)
PLANTED = replace(SMALL, alias="planted")
"""The same kernel under a name of its own, for programs with a fault."""
ENDBR64 = bytes.fromhex("f30f1efa")


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    try:
        tool = require()
    except GhashgenError as missing:
        pytest.skip(str(missing))
    with Session(tool) as made:
        yield made


@pytest.fixture
def avx() -> None:
    """Skips where the kernels cannot run; for tests with the marker `cpu`."""
    need(("avx", "pclmulqdq"))


@cache
def cases(blocks: int) -> tuple[tuple[Vector, ...], tuple[bytes, ...]]:
    """Vectors of every length to two groups, a block and a part, and their final states."""
    rng = random.Random(blocks)
    vectors = tuple(
        Vector(rng.randbytes(16), rng.randbytes(16), (rng.randbytes(length),))
        for length in range((2 * blocks + 1) * 16 + 16)
    )
    return vectors, tuple(ghash_padded(v.h, v.x, v.chunks[0]) for v in vectors)


@cache
def selected(kernel: Kernel) -> Mapping[str, Program]:
    return {name: item.selected for name, item in compile_kernel(kernel, SYSV).items()}


def compared(kernel: Kernel, functions: Mapping[str, Encoded]) -> list[str]:
    nasm = assembled(kernel)
    return [
        line
        for name, program in selected(kernel).items()
        if name in functions
        for line in differences(nasm[name], functions[name], program, kernel)
    ]


def changed(program: Program, code: str, **operands: object) -> Program:
    """Replace operands ("o0", "o1", …) of the first operation of this row."""
    at = next(i for i, op in enumerate(program.ops) if op.code == code)
    blocks, position = [], 0
    for block in program.blocks:
        ops = list(block.ops)
        if position <= at < position + len(ops):
            op = ops[at - position]
            new = [operands.get(f"o{i}", operand) for i, operand in enumerate(op.operands)]
            ops[at - position] = replace(op, operands=tuple(new))  # type: ignore[arg-type]
        position += len(block.ops)
        blocks.append(replace(block, ops=tuple(ops)))
    return replace(program, blocks=tuple(blocks))


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_peachpys_kernel_agrees_with_the_standard_and_with_nasms(
    session: Session, kernel: Kernel, avx: None
) -> None:
    functions = session.load(kernel, selected(kernel))
    assert list(functions) == ["init", "mul", "update"]
    assert compared(kernel, functions) == []
    vectors, expected = cases(kernel.blocks)
    assert session.run(kernel, vectors) == list(expected)
    products = [multiply_blocks(v.x, v.h) for v in vectors[:20]]
    assert session.multiply(kernel, vectors[:20]) == products


@pytest.mark.cpu(AS_FOUND)
def test_several_updates_continue_the_state(session: Session, avx: None) -> None:
    kernel = Kernel("avx", "karatsuba", "clmul2", 4)
    rng = random.Random(7)
    chunks = tuple(rng.randbytes(n) for n in (0, 64, 16, 5000, 160, 7))
    vectors = [Vector(rng.randbytes(16), rng.randbytes(16), chunks), Vector(bytes(16), bytes(16))]
    state = vectors[0].x
    for chunk in chunks:
        state = ghash_padded(vectors[0].h, state, chunk)
    assert run(kernel, vectors) == [state, bytes(16)]


@pytest.mark.cpu(AS_FOUND)
def test_a_swapped_immediate_is_caught_by_results_and_by_instructions(
    session: Session, avx: None
) -> None:
    good = selected(SMALL)
    clmul = next(op for op in good["update"].ops if op.code == "vpclmulqdq")
    bad = {
        **good,
        "update": changed(good["update"], "vpclmulqdq", o3=0x11 - int(clmul.operands[3])),
    }  # type: ignore[arg-type]
    vectors, expected = cases(1)
    assert session.run(SMALL, vectors) == list(expected)
    functions = session.load(PLANTED, bad)
    assert session.run(PLANTED, vectors) != list(expected)
    nasm = assembled(SMALL)["update"]
    lines = compared(SMALL, functions)
    assert len(lines) == 2
    assert all("vpclmulqdq" in line and " update: 1x only from " in line for line in lines)
    ours = multiset(nasm.code, nasm.constants)
    theirs = multiset(functions["update"].code, functions["update"].constants)
    assert {shape[0] for shape in ours - theirs} >= {"vpclmulqdq"}


def plant_constant(program: Program) -> Program:
    name, constant = next(iter(sorted(program.constants.items())))
    wrong = replace(constant, data=bytes(reversed(constant.data)))
    return replace(program, constants={**program.constants, name: wrong})


def plant_order(program: Program) -> Program:
    """Exchange two independent instructions: the first loads of X and of a constant."""
    first, *rest = program.blocks
    a, b, *ops = first.ops
    return replace(program, blocks=(replace(first, ops=(b, a, *ops)), *rest))


def plant_copy(program: Program) -> Program:
    first, *rest = program.blocks
    copy = Op("mov.copy", (VReg(RegClass.GPR, 999), program.params[0]))
    return replace(program, blocks=(replace(first, ops=(copy, *first.ops)), *rest))


@pytest.mark.parametrize(
    ("plant", "words"),
    [
        (plant_constant, "1x only from nasm: vmovdqu x128, m128[0f0e"),
        (plant_order, "order or branch target differs at 0"),
        (plant_copy, "PeachPy has copies"),
        (lambda p: changed(p, "jb", o0=Label("store")), "order or branch target differs"),
        (lambda p: changed(p, "vmovdqu.store", o0=Mem(base=p.params[1], disp=16)), "base + 16"),
        (lambda p: changed(p, "cmp", o1=128), "only from PeachPy: cmp r64, immediate32to64 128"),
    ],
    ids=["constant", "order", "copy", "target", "displacement", "immediate"],
)
def test_differences_catches_a_planted_fault(session: Session, plant, words: str) -> None:  # type: ignore[no-untyped-def]
    program = plant(selected(SMALL)["update"])
    lines = compared(SMALL, session.load(PLANTED, {"update": program}))
    assert any(words in line for line in lines), lines


EMPTY = Program("f", (), (Block("entry", (Op("ret"),)),), {})


@pytest.mark.parametrize(
    ("nasm", "peachpy", "words"),
    [
        ("f30f1efa 53 4154 415c 5b c3", "55 c5f877 5d c3", ""),
        ("53 5b c3", "c5f877 c3", "nasm's code does not begin with endbr64"),
        ("f30f1efa c3", "c3", "PeachPy's code has no vzeroupper before ret"),
        ("f30f1efa c3", "c5f877 c5f877 c3", "1x only from PeachPy: vzeroupper"),
        ("f30f1efa c3", "55 53 c5f877 5d 5b c3", "PeachPy's code does not restore rbp rbx"),
        ("f30f1efa c3", "56 c5f877 5e c3", "PeachPy's code saves rsi, which is not callee-saved"),
    ],
)
def test_what_differences_leaves_out_is_checked(nasm: str, peachpy: str, words: str) -> None:
    lines = differences(
        Encoded("f", bytes.fromhex(nasm), {}),
        Encoded("f", bytes.fromhex(peachpy), {}),
        EMPTY,
        SMALL,
    )
    assert bool(lines) == bool(words)
    assert any(words in line for line in lines) or not words


def test_a_constant_without_relocation_is_no_agreement() -> None:
    load = bytes.fromhex("c5fa6f0500000000")
    nasm = Encoded("f", ENDBR64 + load + b"\xc3", {})
    peachpy = Encoded("f", load + bytes.fromhex("c5f877c3"), {})
    lines = differences(nasm, peachpy, EMPTY, SMALL)
    assert [line.split(": ")[1] for line in lines] == [
        "nasm's code reads a constant that no relocation names",
        "PeachPy's code reads a constant that no relocation names",
    ]


def test_registers_are_left_out_of_shapes_and_nothing_else() -> None:
    def one(code: str) -> str:
        (shape,) = multiset(bytes.fromhex(code))
        return f"{shape[0]} {', '.join(shape[1])}"

    # vpclmulqdq xmm1, xmm2, [rdi + 32], 0x10 and xmm9, xmm3, [r13 + 32], 0x10
    assert one("c4e3694 44f2010".replace(" ", "")) == one("c44361444d2010")
    assert one("c4e369444f2010") == "vpclmulqdq x128, x128, m128[base + 32], immediate8 16"
    assert one("c4e369444f2011") != one("c4e369444f2010")
    assert one("c5fa7e44f7f8") == "vmovq x128, m64[base + index*8 + -8]"


def test_the_same_bytes_from_every_process(session: Session) -> None:
    kernel = Kernel("avx", "karatsuba", "shift-xor", 2)
    update = selected(kernel)["update"]
    assert compile_function(update, kernel, "update") == session.load(kernel)["update"]


@pytest.mark.cpu(AS_FOUND)
def test_a_write_outside_a_buffer_is_reported(session: Session, avx: None) -> None:
    good = selected(SMALL)
    x = good["mul"].params[1]
    bad = {**good, "mul": changed(good["mul"], "vmovdqu.store", o0=Mem(base=x, disp=8))}
    session.load(PLANTED, bad)
    with pytest.raises(GhashgenError, match="wrote outside the buffer x"):
        session.multiply(PLANTED, [Vector(bytes(16), b"\x01" * 16)])


@pytest.mark.cpu(AS_FOUND)
def test_a_fault_ends_the_worker_and_not_the_session(session: Session, avx: None) -> None:
    good = selected(SMALL)
    null = VReg(RegClass.GPR, 998)
    first, *rest = changed(good["mul"], "vmovdqu.load", o1=Mem(base=null)).blocks
    first = replace(first, ops=(Op("mov.const", (null, 0)), *first.ops))
    session.load(PLANTED, {**good, "mul": replace(good["mul"], blocks=(first, *rest))})
    with pytest.raises(GhashgenError, match="planted: ended by SIGSEGV"):
        session.multiply(PLANTED, [Vector(bytes(16), bytes(16))])
    vectors, expected = cases(1)
    assert session.run(SMALL, vectors[:3]) == list(expected[:3])


def test_peachpy_does_not_spill_and_says_so(session: Session) -> None:
    base = VReg(RegClass.GPR, 1, "table")
    values = [VReg(RegClass.VEC, 2 + i) for i in range(17)]
    loads = [Op("vmovdqu.load", (value, Mem(base=base))) for value in values]
    stores = [Op("vmovdqu.store", (Mem(base=base), value)) for value in values]
    program = Program("f", (base,), (Block("entry", (*loads, *stores, Op("ret"))),), {})
    with pytest.raises(GhashgenError, match="ran out of registers and cannot spill; choose"):
        session.load(Kernel("avx", "k", "clmul1", 3), {"f": program})


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (Kernel("sse", "k", "clmul1", 1), "isa 'avx', not 'sse'; choose isa avx"),
        (Kernel("avx", "k", "clmul1", 1, wipe=True), "wipes nothing; choose a kernel without wipe"),
    ],
    ids=["sse", "wipe"],
)
def test_kernels_that_it_cannot_build_are_refused(kernel: Kernel, words: str) -> None:
    with pytest.raises(GhashgenError, match=words):
        run(kernel, [])


@pytest.mark.parametrize(
    ("python", "words"),
    [("/nonexistent/python", "No such file"), ("{bare}", "No module named 'peachpy")],
)
def test_a_missing_peachpy_is_named_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, python: str, words: str
) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n', encoding="utf-8")
    bare.chmod(0o755)
    monkeypatch.setenv("GHASHGEN_PEACHPY_PYTHON", python.format(bare=bare))
    assert find() is None
    with pytest.raises(GhashgenError, match=words) as refusal:
        run(SMALL, [Vector(bytes(16), bytes(16))])
    assert refusal.value.remedy == "apt-get install python3-peachpy"


def test_the_worker_runs_under_an_old_python_without_this_package() -> None:
    tree = ast.parse(WORKER.read_text(encoding="utf-8"), feature_version=(3, 9))
    roots = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            roots |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            roots.add((node.module or "").partition(".")[0])
    assert roots - set(sys.stdlib_module_names) == {"peachpy"}
