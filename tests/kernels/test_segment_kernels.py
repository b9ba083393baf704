"""Kernels with segments: what they emit and compute, and that planted faults are rejected."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from helpers.compiling import emitted_text
from helpers.cpus import too_little
from helpers.verify_objects import assembled

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.field.ghash import ghash_padded
from ghashgen.algebra.field.polyval import polyval
from ghashgen.arch.x86_64.abi import SYSV
from ghashgen.check.proofs import statement
from ghashgen.check.validation.cases import Case, long_messages
from ghashgen.check.validation.runners import native
from ghashgen.check.validation.segments import power_of, powers, resplit
from ghashgen.kernels.families import functions_of
from ghashgen.kernels.hash.catalogue import catalogue
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import runnable, target
from ghashgen.run.built import build
from ghashgen.run.harness import Harness, Vector
from ghashgen.support.errors import GhashgenError
from ghashgen.support.paths import project_root
from ghashgen.verify.core.refutation import Category
from ghashgen.verify.prove import Proof, prove_object

SMALL = Kernel("avx", "winograd", "clmul1", 1, segments=True)
PLAIN = Kernel("avx", "k", "clmul1", 1, segments=True)
NEEDS = ("avx", "pclmulqdq")
FUNCTION = Category.FUNCTION


def text(kernel: Kernel) -> str:
    return emitted_text(kernel, target())


def proof(kernel: Kernel, source: str, *operations: str) -> Proof:
    spec = statement(kernel, kernel.name, SYSV.name)
    functions = tuple(f for f in spec.functions if f.operation in operations)
    return prove_object(assembled(source), replace(spec, functions=functions))


def test_only_kernels_with_segments_export_the_two_functions() -> None:
    assert list(functions_of(SMALL)) == ["init", "mul", "update", "power", "combine"]
    assert list(functions_of(replace(SMALL, segments=False))) == ["init", "mul", "update"]
    assert "_power" not in text(replace(SMALL, segments=False))
    assert SMALL.name == "ghash_avx_winograd_clmul1_x1_segments"


def test_the_catalogue_has_one_an_isa_and_one_that_wipes() -> None:
    found = {(k.isa, k.wipe) for k in catalogue() if k.segments}
    assert found == {(isa, w) for isa in ("sse", "avx", "avx2", "avx512vl", "avx512")
                     for w in (False, True)}  # fmt: skip


@pytest.mark.parametrize(
    "kernel",
    [
        *(replace(SMALL, isa=isa) for isa in ("sse", "avx", "avx2", "avx512vl", "avx512")),
        replace(PLAIN, op="polyval"),
        replace(PLAIN, isa="avx2", order="natural", wipe=True),
        *(replace(PLAIN, multiply=m, reduce="clmul2") for m in ("karatsuba", "schoolbook")),
    ],
    ids=lambda kernel: kernel.name,
)
@pytest.mark.parametrize("abi", ["sysv", "win64"])
def test_power_and_combine_are_proved(kernel: Kernel, abi: str) -> None:
    spec = statement(kernel, kernel.name, abi)
    functions = tuple(f for f in spec.functions if f.operation in ("power", "combine"))
    obj = assembled(emitted_text(kernel, runnable(abi)))
    found = prove_object(obj, replace(spec, functions=functions))
    assert found.refutation is None
    whats = {t.what for t in found.theorems}
    assert ("wipe" in whats) is kernel.wipe
    assert {"function", "memory", "constant-time", "abi"} <= whats
    covered = {t.lengths for t in found.theorems if t.symbol.endswith("_power")}
    assert covered == {"exponent = 0..18446744073709551615"}


def body(source: str, function: str) -> tuple[str, str, str]:
    """Split a listing around one function."""
    start = source.index(f"{function}:\n")
    end = source.index("\n.end:", start)
    return source[:start], source[start:end], source[end:]


def block(lines: str, subject: str) -> list[str]:
    return [line for line in lines.splitlines() if f"; {subject}" in line]


def squares_first(lines: str) -> str:
    """P = P·P, then R = R·P by the squared P: the key is derived after the squaring."""
    head, square = lines.index(".bit:"), block(lines, "P = P·P")
    without = "\n".join(line for line in lines.splitlines() if line not in square)
    keys = block(lines, "key of P")
    at = without.index(".bit:") + len(".bit:\n")
    assert head > 0
    assert keys
    return without[:at] + "\n".join([*keys, *square]) + "\n" + without[at:]


def edit(old: str, new: str) -> Callable[[str], str]:
    def change(lines: str) -> str:
        assert old in lines, old
        return lines.replace(old, new, 1)

    return change


def drop(subject: str) -> Callable[[str], str]:
    def change(lines: str) -> str:
        gone = block(lines, subject)
        assert gone
        return "\n".join(line for line in lines.splitlines() if line not in gone)

    return change


def zero_result(lines: str) -> str:
    """m = 0 leaves 0 instead of 1."""
    first = next(line for line in lines.splitlines() if "R = H^0" in line)
    return lines.replace(first, "    vpxor xmm1, xmm1, xmm1")


FAULTS = {
    "R multiplied by the squared P": ("power", squares_first, FUNCTION),
    "the squaring lost": ("power", drop("P = P·P"), FUNCTION),
    "the multiplication lost": ("power", drop("R = R·P"), FUNCTION),
    "one bit short": ("power", edit("cmp         rdx, 0x01\n    jae", "cmp rdx, 2\n    jae"),
                      FUNCTION),
    "the bit of m mistaken": ("power", edit("je          .even", "jne         .even"), FUNCTION),
    "two bits a turn": ("power", edit("shr         rdx, 0x01", "shr         rdx, 0x02"), None),
    "no bit taken": ("power", edit("shr         rdx, 0x01", "shr         rdx, 0x00"),
                     Category.UNSUPPORTED),
    "0 for m = 0": ("power", zero_result, FUNCTION),
    "m = 1 taken for 0": ("power", edit("cmp         rdx, 0x01", "cmp         rdx, 0x02"), None),
    "y not added": ("combine", drop("X·P + Y"), FUNCTION),
    "p for y": ("combine", edit("[rsi]", "[rdx]"), FUNCTION),
    "p written": ("combine", edit("vmovdqu     [rdi]", "vmovdqu     [rdx]"), Category.MEMORY),
    "a branch on p": ("combine", edit("    endbr64", "    endbr64\n    cmp qword [rdx], 0\n"
                                      "    je .block\n.block:"), Category.CONSTANT_TIME),
    "a branch on the product": ("power", edit(".even:", "vmovq rax, xmm1\n test rax, rax\n"
                                              " jz .even\n.even:"), Category.CONSTANT_TIME),
    "rbx clobbered": ("power", edit(".bit:", ".bit:\n    mov rbx, rdx"), Category.ABI),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_a_planted_fault_is_rejected(name: str) -> None:
    function, change, category = FAULTS[name]
    before, lines, after = body(text(SMALL), f"{SMALL.name}_{function}")
    changed = change(lines)
    assert changed != lines
    refutation = proof(SMALL, before + changed + after, function).refutation
    assert refutation is not None
    assert category is None or refutation.category in (category, Category.UNSUPPORTED)
    assert refutation.symbol == f"{SMALL.name}_{function}"


def test_a_result_that_is_written_in_the_loop_only_is_rejected() -> None:
    """Stored before the last multiplication: right for m = 0, stale for every other m."""
    before, lines, after = body(text(SMALL), f"{SMALL.name}_power")
    store = "\n".join(block(lines, "Y"))
    early = lines.replace(store, "")
    # The register that the store uses holds a constant here.
    store = store.replace("xmm0", "xmm15")
    early = early.replace(".bit:", ".bit:\n" + store)
    early = early.replace("    jb ", store + "\n    cmp rdx, 1\n    jb ", 1)
    assert store
    assert early != lines
    refutation = proof(SMALL, before + early + after, "power").refutation
    assert refutation is not None
    assert refutation.category is FUNCTION


def test_a_carry_from_an_unknown_exponent_is_that_of_its_lowest_bit() -> None:
    """SHR and JNC instead of AND and JE is proved; with JC it is not."""
    before, lines, after = body(text(SMALL), f"{SMALL.name}_power")
    start = lines.index("    mov         rax, rdx")
    end = lines.index("    je          .even")
    lines = lines[:start] + "    shr rdx, 1\n" + lines[end:]
    lines = lines.replace("    je          .even", "    jnc .even", 1)
    late = next(line for line in lines.splitlines() if "shr         rdx, 0x01" in line)
    right = lines.replace(late, "")
    assert proof(SMALL, before + right + after, "power").refutation is None
    wrong = right.replace("jnc .even", "jc .even")
    assert proof(SMALL, before + wrong + after, "power").refutation is not None


@pytest.fixture(scope="module")
def harness(tmp_path_factory: pytest.TempPathFactory, harness_folder: Path) -> Harness:
    folder = tmp_path_factory.mktemp("segments")
    kernels = (SMALL, replace(PLAIN, op="polyval"), replace(SMALL, segments=False))
    made = build(kernels, target(), project_root() / "generated", folder)
    return native(made, harness_folder).harness


@pytest.mark.cpu
@pytest.mark.parametrize("op", ["ghash", "polyval"])
def test_segments_agree_with_the_specification(op: str, harness: Harness, as_cpu: str) -> None:
    kernel = SMALL if op == "ghash" else replace(PLAIN, op="polyval")
    if too_little(as_cpu, NEEDS, lambda: harness.segments(kernel.name, [])):
        return
    h, x = bytes(range(1, 17)), bytes(range(200, 216))
    data = bytes(7 * k & 0xFF for k in range(150))
    cuts = [(0, 48, 48, 96, 150), (0, 0, 150), (0, 150, 150), (0, 16, 32, 64, 128, 150)]
    vectors = [Vector(h, x, tuple(data[a:b] for a, b in pairwise(c))) for c in cuts]
    want = harness.run(kernel.name, [Vector(h, x, (data,))])
    assert harness.segments(kernel.name, vectors) == want * len(vectors)
    if op == "ghash":
        assert want == [ghash_padded(h, x, data)]
    else:
        start = harness.run(kernel.name, [Vector(h, bytes(16), (data[:144],))])
        assert start == [polyval(h, data[:144])]


@pytest.mark.parametrize("op", ["ghash", "polyval"])
def test_the_first_power_is_the_subkey_and_powers_add(op: str) -> None:
    h = bytes(range(3, 19))
    assert power_of(h, 1, op) == h
    assert power_of(h, (1 << 64) - 1, op) != power_of(h, 0, op)


@pytest.mark.cpu
def test_a_kernel_without_segments_is_refused(harness: Harness, as_cpu: str) -> None:
    name = replace(SMALL, segments=False).name
    if too_little(as_cpu, NEEDS, lambda: harness.segments(name, [])):
        return
    with pytest.raises(GhashgenError, match="has no power and combine"):
        harness.segments(name, [])


@pytest.mark.cpu
def test_a_wrong_combination_would_be_noticed(
    tmp_path: Path, as_cpu: str, harness_folder: Path
) -> None:
    """A kernel whose power is one block too high fails its validation."""
    built = build((SMALL,), target(), project_root() / "generated", tmp_path)[0]
    before, lines, after = body(text(SMALL), f"{SMALL.name}_power")
    wrong = lines.replace("    endbr64", "    endbr64\n    inc rdx", 1)
    built.obj.unlink()
    obj = tmp_path / "wrong.o"
    obj.write_bytes(assembled(before + wrong + after))
    item = replace(built, obj=obj)
    runner = native([item], harness_folder)
    if too_little(as_cpu, NEEDS, lambda: runner.check(item)):
        return
    cases = powers("ghash")[:8]
    got = runner.powers(item, [case.vector for case in cases])
    assert not any(case.accepts(state) for case, state in zip(cases, got, strict=True))
    split = list(resplit(long_messages(1), 4))
    got = runner.segments(item, [case.vector for case in split])
    assert not any(case.accepts(state) for case, state in zip(split, got, strict=True))
    assert any(line.startswith("results") for line in runner.check(item))


def test_resplit_covers_empty_and_partial_segments() -> None:
    case = Case(Vector(bytes(16), bytes(16), (bytes(37),)), "37 bytes", expected=bytes(16))
    pieces = [len(p) for c in resplit([case] * 64, 64) for p in c.vector.chunks]
    assert 0 in pieces
    assert any(n % BLOCK_BYTES for n in pieces)
    assert all(sum(map(len, c.vector.chunks)) == 37 for c in resplit([case] * 64, 64))
