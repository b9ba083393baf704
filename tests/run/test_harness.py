"""The harness catches every planted fault, passes what is right, and refuses what it cannot run."""

import dataclasses
import functools
import json
import platform
import random
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from helpers.cpus import AS_FOUND, CPUS, cpuinfo, lacking, too_little

from ghashgen.algebra.field.ghash import ghash_padded, multiply_blocks
from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.arch.x86_64.features import FEATURES
from ghashgen.run.harness import Finding, Harness, MissingFeatures, Report, Vector, build
from ghashgen.run.table import PORTABLE_KERNELS, HarnessKernel
from ghashgen.support import programs
from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import assemble, compile_c

pytestmark = [
    pytest.mark.skipif(
        platform.machine() not in ("x86_64", "AMD64"), reason="the planted kernels are x86-64 code"
    ),
    pytest.mark.cpu,
]

SOURCE = Path(__file__).parents[1] / "asm" / "bitwise.asm"
BLOCKS = 3
MAX_LENGTH = (2 * BLOCKS + 1) * 16 + 15


@dataclass(frozen=True)
class Planted:
    """A fault, the categories that must fail because of it, and words of the first's detail."""

    define: str
    categories: tuple[str, ...]
    words: str
    abi: str = "sysv"
    value: str = "1"
    needs: tuple[str, ...] = ("sse2",)
    table_align: int = 16

    @property
    def name(self) -> str:
        return f"{self.define}_{self.value}_{self.abi}".lower()


AVX = ("sse2", "avx")
AVX512 = ("sse2", "avx", "avx512f")

FAULTS = (
    Planted("READ_PAST", ("input_bounds",), "read at in+0, 1 byte past the end (len=0), by update"),
    Planted("READ_PAST", ("input_bounds",), "1 byte past the end (len=0), by update", "win64"),
    Planted("READ_BEFORE", ("input_bounds",), "read at in-1, 1 byte before the start"),
    Planted("WRITE_INPUT", ("input_bounds",), "write at in+0, inside it (len=1)"),
    Planted("KEY_PAST", ("input_bounds",), "init, table ends at a guard page: read at h+16"),
    Planted("TABLE_PAST", ("table_bounds",), "write at table+16, 1 byte past the end (len=16)"),
    Planted("TABLE_BEFORE", ("table_bounds",), "write at table-1, 1 byte before the start"),
    Planted("TABLE_PAST_IN_PAGE", ("table_bounds",), "write at table+16, 1 byte past the end"),
    Planted("WRITE_TABLE", ("table_bounds",), "write at table+0, inside it (len=16)"),
    Planted("STATE_PAST", ("state_bounds",), "write at x+16, 1 byte past the end (len=16)"),
    Planted("STATE_PAST_IN_PAGE", ("state_bounds",), "write at x+16, 1 byte past the end"),
    Planted("STATE_BEFORE", ("state_bounds",), "write at x-1, 1 byte before the start"),
    Planted("STATE_READ_PAST", ("state_bounds",), "read at x+16, 1 byte past the end"),
    Planted("ALIGNED_LOAD", ("alignment",), "update of 17 bytes, in 0 from the guard page"),
    Planted("TABLE_ALIGNED_32", ("alignment",), "general protection fault"),
    Planted("TABLE_ALIGNED_16", ("alignment",), "general protection fault", table_align=8),
    Planted("INIT_AT_32", ("alignment",), "init, table 32 past a multiple of 64: not the bytes"),
    Planted("UPDATE_AT_32", ("alignment",), "update of 5 bytes", table_align=8),
    Planted("WRONG_WHEN_ODD", ("alignment",), "update of 17 bytes"),
    Planted("RBX", ("abi",), "update of 0 bytes"),
    Planted("RBX", ("abi",), "rbx changed", "win64"),
    Planted("RBP", ("abi",), "rbp changed"),
    Planted("R12", ("abi",), "r12 changed"),
    Planted("INIT_R13", ("abi",), "init, table ends at a guard page: r13 changed"),
    Planted("RSI", ("abi",), "rsi changed", "win64"),
    Planted("XMM6", ("abi",), "xmm6 changed", "win64"),
    Planted("DIRECTION", ("abi",), "direction flag set"),
    Planted("MXCSR", ("abi",), "MXCSR control bits changed"),
    Planted("X87", ("abi",), "x87 control word changed"),
    Planted("RSP", ("abi",), "rsp not restored"),
    Planted("RSP", ("abi",), "rsp not restored", "win64"),
    Planted("RETURN", ("abi",), "by update"),
    Planted("CALLER_STACK", ("abi",), "caller's stack written"),
    Planted("CALLER_STACK", ("abi",), "caller's stack written", "win64"),
    Planted("SHADOW", ("abi",), "caller's stack written"),
    Planted("STACK_OVERFLOW", ("abi",), "write at stack-"),
    Planted("DIRTY_YMM", ("abi",), "upper vector halves dirty", needs=AVX),
    Planted("DIRTY_YMM", ("abi",), "upper vector halves dirty", "win64", needs=AVX),
    Planted("DIRTY_ZMM", ("abi",), "upper vector halves dirty", needs=AVX512),
    Planted("WRONG_LENGTH", ("results",), "update of 47 bytes", value="47"),
    Planted("WRONG_LENGTH", ("results",), "update of 0 bytes", value="0"),
    Planted("WRONG_LENGTH", ("results",), f"update of {MAX_LENGTH} bytes", value=str(MAX_LENGTH)),
    Planted("MUL_WRONG", ("results",), "mul, x 0 from the guard page at its end: got "),
    Planted("ILLEGAL", ("results",), "illegal instruction"),
    Planted("ENDLESS", ("results",), "update of 40 bytes"),
    Planted("WILD", ("results",), "read at an address outside every buffer, by update+"),
    Planted("RELIES_ON_RAX", ("results",), "update of 0 bytes"),
    Planted("RELIES_ON_XMM5", ("results",), "update of 0 bytes"),
    Planted("RELIES_ON_YMM_UPPER", ("results",), "upper vector halves in use", needs=AVX),
)

# What looks like a fault and is allowed.
ALLOWED = (
    Planted("NONE", (), ""),
    Planted("NONE", (), "", "win64"),
    Planted("TABLE_ALIGNED_16", (), "", "win64"),
    Planted("ANY_TABLE", (), "", table_align=1),
    Planted("RSI", (), ""),
    Planted("XMM6", (), ""),
    Planted("SHADOW", (), "", "win64"),
    Planted("MXCSR_STATUS", (), ""),
    Planted("CLEAN_YMM", (), "", needs=AVX),
    Planted("VEX128", (), "", needs=AVX),
    Planted("CLEAN_ZMM", (), "", needs=AVX512),
)


def planted_kernel(planted: Planted, folder: Path) -> HarnessKernel:
    obj = folder / f"{planted.name}.o"
    defines = {"NAME": planted.name, f"FAULT_{planted.define}": planted.value}
    if planted.abi == "win64":
        defines["WIN64"] = "1"
    assemble(find_nasm(), SOURCE, obj, defines=defines)
    return HarnessKernel.of_stranger(
        planted.name,
        obj,
        planted.needs,
        abi=planted.abi,
        blocks=BLOCKS,
        table_bytes=16,
        table_align=planted.table_align,
    )


@pytest.fixture(scope="module")
def harness(folder: Path) -> Harness:
    return build([planted_kernel(planted, folder) for planted in (*FAULTS, *ALLOWED)], folder)


@functools.cache
def checked(harness: Harness, name: str, cpu: str) -> Report:
    return harness.check(name)


@pytest.mark.parametrize("planted", FAULTS, ids=lambda planted: planted.name)
def test_planted_fault_is_reported_in_its_category(
    harness: Harness, planted: Planted, as_cpu: str
) -> None:
    if too_little(as_cpu, planted.needs, lambda: harness.check(planted.name)):
        return
    report = checked(harness, planted.name, as_cpu)
    assert not report.ok
    assert tuple(finding.category for finding in report.failed) == planted.categories, report
    assert planted.words in report.failed[0].detail
    assert report.failed[0].failures > 0


@pytest.mark.parametrize("planted", ALLOWED, ids=lambda planted: planted.name)
def test_right_kernel_passes(harness: Harness, planted: Planted, as_cpu: str) -> None:
    if too_little(as_cpu, planted.needs, lambda: harness.check(planted.name)):
        return
    report = checked(harness, planted.name, as_cpu)
    assert report.ok, report
    assert not report.failed
    assert not report.unfinished
    assert report.calls > 2 * MAX_LENGTH


@pytest.mark.cpu(AS_FOUND)
def test_upper_halves_in_use_but_zero_are_caught(folder: Path) -> None:
    """XINUSE shows what the values do not."""
    if lacking(AVX) or not {"xgetbv1", "GenuineIntel"} <= cpuinfo():
        pytest.skip("needs AVX and a precise XINUSE (xgetbv1), which only Intel is known to have")
    planted = Planted("DIRTY_ZERO", ("abi",), "upper vector halves dirty", needs=AVX)
    report = build([planted_kernel(planted, folder)], folder).check(planted.name)
    assert [finding.category for finding in report.failed] == ["abi"]
    assert planted.words in report.failed[0].detail


def test_endless_kernel_leaves_no_category_passed(harness: Harness, as_cpu: str) -> None:
    report = checked(harness, "endless_1_sysv", as_cpu)
    assert "no return within its time" in report.failed[0].detail
    assert len(report.unfinished) == 5
    assert not any(finding.ok for finding in report.findings)
    assert all("not finished" in finding.detail for finding in report.unfinished)


def test_run_reports_a_fault_and_gives_no_state(harness: Harness) -> None:
    vectors = [Vector(bytes(16), bytes(16)), Vector(bytes(16), bytes(16), (bytes(5),))]
    with pytest.raises(GhashgenError, match=r"vector 1, update: read at in\+5, 1 byte past") as e:
        harness.run("read_past_1_sysv", vectors)
    assert not isinstance(e.value, MissingFeatures)


def random_vectors(seed: int, lengths: list[tuple[int, ...]]) -> list[Vector]:
    draw = random.Random(seed)
    return [
        Vector(draw.randbytes(16), draw.randbytes(16), tuple(draw.randbytes(n) for n in chunks))
        for chunks in lengths
    ]


def specified_state(vector: Vector) -> bytes:
    state = vector.x
    for chunk in vector.chunks:
        state = ghash_padded(vector.h, state, chunk)
    return state


RUNNABLE = (*PORTABLE_KERNELS, "none_1_sysv", "none_1_win64")


@pytest.mark.parametrize("name", RUNNABLE)
def test_run_gives_the_specified_states(harness: Harness, name: str) -> None:
    lengths = [(n,) for n in range(50)] + [(), (0,), (16, 5, 0, 33), (3, 3), (5000, 17)]
    vectors = random_vectors(1, lengths)
    assert harness.run(name, vectors) == [specified_state(vector) for vector in vectors]


@pytest.mark.parametrize("name", RUNNABLE)
def test_mul_gives_the_product(harness: Harness, name: str) -> None:
    one = b"\x80" + bytes(15)
    last = bytes(15) + b"\x01"
    edges = [Vector(h, x) for h in (bytes(16), one, last) for x in (bytes(16), one, last)]
    vectors = [*edges, *random_vectors(2, [()] * 100)]
    expected = [multiply_blocks(vector.x, vector.h) for vector in vectors]
    assert harness.mul(name, vectors) == expected


@pytest.mark.parametrize("name", PORTABLE_KERNELS)
def test_portable_kernel_passes_its_check(harness: Harness, name: str) -> None:
    report = harness.check(name)
    assert report.ok, report


def test_mul_refuses_chunks(harness: Harness) -> None:
    with pytest.raises(GhashgenError, match="mul takes no chunks"):
        harness.mul("ref_4bit", [Vector(bytes(16), bytes(16), (b"a",))])


def test_unknown_name_is_refused(harness: Harness) -> None:
    with pytest.raises(GhashgenError, match="no kernel is named nonesuch"):
        harness.run("nonesuch", [])


@pytest.mark.parametrize("data", [b"", b"GHV2\0\0\0\0", b"GHV1\x01\0\0\0" + bytes(31)])
def test_malformed_input_is_refused(harness: Harness, data: bytes) -> None:
    result = subprocess.run(
        [harness.program, "run", "ref_4bit"], input=data, capture_output=True, check=False
    )
    assert result.returncode == 2
    assert result.stdout == b""
    assert result.stderr.startswith(b"ghashgen-harness: standard input ")


def test_vector_of_wrong_size_is_refused() -> None:
    with pytest.raises(GhashgenError, match="h of 15"):
        Vector(bytes(15), bytes(16))


def test_list_names_every_kernel_and_its_needs(harness: Harness) -> None:
    listed = harness.list()
    assert tuple(row.name for row in listed) == (
        *PORTABLE_KERNELS,
        *(planted.name for planted in (*FAULTS, *ALLOWED)),
    )
    right = next(row for row in listed if row.name == "none_1_win64")
    assert (right.isa, right.abi, right.blocks) == ("stranger", "win64", BLOCKS)
    assert right.needs == ("sse2",)
    assert right.missing == ()


def test_features_are_those_that_the_package_knows(harness: Harness) -> None:
    assert tuple(harness.features()) == FEATURES


# CPUID.1:ECX, EDX; CPUID.7:EBX, ECX, all bits set, and XCR0.
@pytest.mark.parametrize(
    ("xcr0", "without"),
    [
        ("e7", ()),
        # No ZMM state, no YMM state (bit 2), no XMM state in XCR0 (bit 1), no OSXSAVE.
        ("07", ("avx512",)),
        ("67", ("avx512",)),
        ("03", ("avx", "vpclmulqdq", "vaes")),
        ("e5", ("avx", "vpclmulqdq", "vaes")),
        ("0", ("avx", "vpclmulqdq", "vaes")),
    ],
)
def test_features_need_the_operating_system(
    harness: Harness, xcr0: str, without: tuple[str, ...]
) -> None:
    ones = "ffffffff"
    output = subprocess.check_output([harness.program, "decode", ones, ones, ones, ones, xcr0])
    expected = {name: not name.startswith(without) if without else True for name in FEATURES}
    assert json.loads(output) == expected


@pytest.mark.parametrize(
    ("registers", "features"),
    [
        (("2", "0", "0", "0"), {"pclmulqdq"}),
        # VPCLMULQDQ and VAES are bits of their own, and so are PCLMULQDQ and AES-NI.
        (("10000000", "0", "0", "600"), {"avx", "vpclmulqdq", "vaes"}),
        (("12000002", "4000000", "0", "0"), {"sse2", "pclmulqdq", "aesni", "avx"}),
        # The AVX-512 bits without AVX itself are not believed.
        (("0", "0", "c0030020", "2"), set()),
        (("80200", "0", "100", "100"), {"ssse3", "sse4_1", "bmi2", "gfni"}),
    ],
)
def test_features_by_register(
    harness: Harness, registers: tuple[str, ...], features: set[str]
) -> None:
    output = subprocess.check_output([harness.program, "decode", *registers, "e7"])
    assert {name for name, present in json.loads(output).items() if present} == features


@pytest.mark.parametrize("command", ["run", "mul", "check"])
@pytest.mark.cpu(*(cpu for cpu in CPUS if cpu != AS_FOUND))
def test_kernel_for_another_cpu_is_refused(harness: Harness, folder: Path, command: str) -> None:
    missing = lacking(FEATURES)
    kernel = planted_kernel(Planted("NONE", (), "", needs=("sse2", *missing[:2])), folder)
    other = build([kernel], folder)
    vectors = () if command == "check" else ([Vector(bytes(16), bytes(16))],)
    with pytest.raises(MissingFeatures, match=missing[0]) as refusal:
        getattr(other, command)(kernel.name, *vectors)
    assert refusal.value.features == missing[:2]
    listed = next(row for row in other.list() if row.name == kernel.name)
    assert listed.missing == missing[:2]


def test_build_is_repeatable_and_uses_again_what_it_made(
    harness: Harness, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "compile_c", compile_c)
    kernel = planted_kernel(ALLOWED[0], folder)
    first = build([kernel], folder)
    before = {path: path.stat().st_mtime_ns for path in folder.glob("*-*.o")}
    assert build([kernel], folder) == first
    assert {path: path.stat().st_mtime_ns for path in folder.glob("*-*.o")} == before
    elsewhere = build([kernel], folder / "another")
    assert elsewhere.program.name == first.program.name
    assert elsewhere.program.read_bytes() == first.program.read_bytes()
    assert not list(folder.glob("**/.*"))


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        ({"name": "a-b"}, "no symbol"),
        ({"isa": 'a"b'}, "no plain name"),
        ({"abi": "aapcs"}, "ABI aapcs is none of sysv, win64"),
        ({"needs": ("neon",)}, "neon is not a CPU feature"),
        ({"blocks": 0}, "0 blocks"),
        ({"table_bytes": 0}, "0 bytes"),
        ({"table_align": 24}, "aligned to 24"),
        ({"obj": Path("nonesuch.o")}, "nonesuch.o"),
        ({"name": "ref_4bit"}, "more than one kernel is named ref_4bit"),
        ({"symbol": "other"}, "other_"),
    ],
)
def test_kernel_that_cannot_be_linked_is_refused(
    harness: Harness, folder: Path, change: dict[str, object], cause: str
) -> None:
    kernel = dataclasses.replace(planted_kernel(ALLOWED[0], folder), **change)  # type: ignore[arg-type]
    with pytest.raises(GhashgenError, match=cause):
        build([kernel], folder)


def test_unfinished_finding_is_neither_failed_nor_passed() -> None:
    report = Report("k", (Finding("abi", False, False, 0, "not finished"),), 1)
    assert not report.ok
    assert report.failed == ()
    assert len(report.unfinished) == 1


def test_package_without_its_folders_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "ghashgen"
    package.mkdir()
    monkeypatch.setattr("ghashgen.support.paths.CARRIED", package / "carried")
    from ghashgen.support.paths import project_root

    with pytest.raises(GhashgenError, match="no folder harness or templates"):
        project_root()
