"""AArch64 kernels run by qemu-user against pyca and CAVP, between guard pages; faults are seen."""

import json
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from helpers.aarch64 import WHERE, gas, machine
from helpers.verbs import called, refused

from ghashgen.arch.aarch64 import ARCH
from ghashgen.arch.aarch64.abi import AAPCS64
from ghashgen.arch.aarch64.assemblers import GAS
from ghashgen.arch.features import FEATURES_OFF
from ghashgen.arch.objects import read_object
from ghashgen.check.validation.runners import native
from ghashgen.check.validation.validate import validate
from ghashgen.compiler.pipeline import compile_kernel, compile_programs
from ghashgen.kernels.families import functions_of
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import arch_of, target
from ghashgen.output.artefact import finish, make
from ghashgen.output.generate import generate
from ghashgen.run.built import build as built_kernels
from ghashgen.run.harness import Harness, build
from ghashgen.run.machine import Machine
from ghashgen.run.table import HarnessKernel
from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import Tool, assemble_text, find_assembler

__all__ = ["gas", "machine"]

KERNELS = (
    Kernel("pmull", "k", "clmul1", 4),
    Kernel("pmull", "winograd", "clmul1", 8, segments=True),
    Kernel("pmull", "karatsuba", "shift-xor", 3, wipe=True),
    Kernel("pmull", "karatsuba", "clmul2", 5, pipeline="ahead"),
    Kernel("pmull", "schoolbook", "clmul3", 2),
    Kernel("pmull", "schoolbook", "clmul2", 1, order="natural"),
    Kernel("pmull", "k", "clmul1", 6, op="polyval"),
)
"""Every multiply scheme and every reduction, both orders, both operations, odd group sizes."""

SUBJECT = Kernel("pmull", "k", "clmul1", 2)
"""What faults are planted in."""


def test_kernels_agree_with_pyca_and_cavp_at_every_length(
    gas: Tool, machine: Machine, tmp_path: Path, harness_folder: Path
) -> None:
    built = built_kernels(KERNELS, WHERE, tmp_path / "none", tmp_path)
    runner = native(built, harness_folder)
    assert runner.how == machine.how
    results = validate(built, lambda item: runner, lambda item: None)
    assert [(r.name, r.failures) for r in results if not r.ok] == []
    assert {r.how for r in results} == {machine.how}
    assert all(r.cases > (200 if "polyval" in r.name else 5000) for r in results)


@dataclass(frozen=True)
class Planted:
    """A fault: a line put before the last return of update, and what must be said of it."""

    name: str
    lines: str
    category: str
    words: str


FAULTS = (
    *(
        Planted(f"x{number}", f"add x{number}, x{number}, #1", "abi", f"x{number} changed")
        for number in (18, 19, 24, 28, 29)
    ),
    *(
        Planted(f"d{number}", f"movi v{number}.2d, #0", "abi", f"d{number} changed")
        for number in (8, 11, 15)
    ),
    Planted("sp", "sub sp, sp, #16", "abi", "sp not restored"),
    Planted("caller", "str xzr, [sp]", "abi", "caller's stack written"),
    Planted("fpcr", "mov x9, #0x400000\n    msr fpcr, x9", "abi", "FPCR changed"),
    Planted("wild", "mov x30, #4096", "abi", "jump at an address outside every buffer"),
    Planted("state_past", "ldrb w9, [x1, #16]", "state_bounds", "read at x+16"),
    Planted("state_written", "strb wzr, [x1, #16]", "state_bounds", "write at x+16"),
    Planted("table_past", f"ldrb w9, [x20, #{SUBJECT.table_bytes}]", "table_bounds", "table+"),
    Planted("result", "strb wzr, [x1]", "results", "got"),
    Planted("illegal", "udf #0", "results", "illegal instruction"),
    Planted("endless", "1: b 1b", "results", "no return"),
)

ALLOWED = (
    Planted("none", "nop", "", ""),
    Planted("upper", "mov x9, v8.d[0]\n    movi v8.2d, #0\n    fmov d8, x9", "", ""),
    Planted("flags", "cmp x9, #1", "", ""),
    Planted("free", "mov x16, #1\n    mov x17, #1\n    movi v31.2d, #0", "", ""),
)
"""What looks like a fault and is allowed: v8 to v15 above 64 bits, NZCV, x16, x17."""


def planted(text: str, fault: Planted) -> str:
    """Return the file of the subject under another name, with a fault."""
    text = text.replace(SUBJECT.name, f"{SUBJECT.name}_{fault.name}")
    start = text.index(f"{SUBJECT.name}_{fault.name}_update:\n")
    at = text.rindex("    ret\n", start)
    lines = fault.lines
    if "x20" in lines:
        # Where the table is, before the kernel moves on.
        lines = lines.replace("x20", "x9")
        at = text.index("    hint", start)
        lines = lines.replace("ldrb w9, [x9", "ldrb w9, [x0")
    return f"{text[:at]}    {lines}\n{text[at:]}"


@pytest.fixture(scope="module")
def faulty(
    gas: Tool, machine: Machine, tmp_path_factory: pytest.TempPathFactory, harness_folder: Path
) -> Harness:
    """A harness with every planted fault."""
    folder = tmp_path_factory.mktemp("faulty")
    text = make(SUBJECT, WHERE, gas).text
    kernels = []
    for fault in (*FAULTS, *ALLOWED):
        name = f"{SUBJECT.name}_{fault.name}"
        obj = folder / f"{name}.o"
        obj.write_bytes(assemble_text(gas, name, planted(text, fault), "elf64"))
        needs = ("asimd", "pmull")
        kernels.append(
            HarnessKernel.of_kernel(SUBJECT, obj, needs, abi="aapcs64", symbol=name, name=name)
        )
    return build(kernels, harness_folder, ARCH)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_is_caught(faulty: Harness, fault: Planted) -> None:
    report = faulty.check(f"{SUBJECT.name}_{fault.name}")
    seen = {finding.category: finding.detail for finding in report.failed}
    assert fault.category in seen
    assert fault.words in seen[fault.category]


@pytest.mark.parametrize("fault", ALLOWED, ids=lambda fault: fault.name)
def test_what_is_allowed_passes(faulty: Harness, fault: Planted) -> None:
    report = faulty.check(f"{SUBJECT.name}_{fault.name}")
    assert report.ok, report
    assert report.calls > 1000


def test_saved_registers_are_kept(
    gas: Tool, machine: Machine, tmp_path: Path, harness_folder: Path
) -> None:
    """With few registers to use at will: v8 to v15 and x19 on are saved, and values spill."""
    kernel = Kernel("pmull", "winograd", "clmul1", 8)
    tight = replace(AAPCS64, volatile=(0, 1, 2, 3))

    def compiling(measure):  # type: ignore[no-untyped-def]
        programs = {name: f.program(kernel) for name, f in functions_of(kernel).items()}
        return compile_programs(programs, kernel, tight, 0, measure, vectors=11)

    made = finish(kernel, WHERE, gas, compiling)
    assert "stp     x19, x20" in made.text
    assert ".cfi_offset d8" in made.text
    assert max(f.spill_slots for f in made.functions) > 0
    obj = tmp_path / "tight.o"
    obj.write_bytes(assemble_text(gas, "tight", made.text, "elf64"))
    row = HarnessKernel.of_kernel(kernel, obj, ("pmull",), abi="aapcs64")
    assert build([row], harness_folder, ARCH).check(kernel.name).ok
    broken = made.text.replace("    ldp     x19, x20", "    ldp     x20, x19")
    assert broken != made.text
    obj.write_bytes(assemble_text(gas, "tight", broken, "elf64"))
    report = build([row], harness_folder, ARCH).check(kernel.name)
    assert "x19 changed" in report.failed[0].detail


def test_both_assemblers_make_the_same_bytes_and_clang_makes_mach_o(gas: Tool) -> None:
    try:
        clang = next(tool for tool in _clangs())
    except StopIteration:
        pytest.skip("clang is not installed")
    for kernel in KERNELS:
        text = make(kernel, WHERE, gas).text
        ours, theirs = (
            read_object(assemble_text(tool, kernel.name, text, "elf64")) for tool in (gas, clang)
        )
        assert ours.code == theirs.code
        assert ours.functions == theirs.functions
        mach_o = make(kernel, target(fmt="macho64", arch=ARCH.name), gas).text
        assert "@PAGEOFF" in mach_o
        assert assemble_text(clang, kernel.name, mach_o, "macho64")[:4] == b"\xcf\xfa\xed\xfe"


def _clangs() -> list[Tool]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GHASHGEN_AS_AARCH64", "clang")
        try:
            return [find_assembler(GAS)]
        except GhashgenError:
            return []


def test_a_folder_of_kernels_says_that_they_are_not_proved(gas: Tool, tmp_path: Path) -> None:
    first, again = tmp_path / "first", tmp_path / "again"
    output = generate(KERNELS[:3], WHERE, first)
    assert generate(KERNELS[:3], WHERE, again).files == output.files
    assert sorted(output.files) == [
        "MANIFEST.json",
        "ghashgen.h",
        *sorted(f"pmull/{kernel.name}.S" for kernel in KERNELS[:3]),
    ]
    entries = json.loads(output.files["MANIFEST.json"])["kernels"]
    assert {entry["proved"] for entry in entries} == {False}
    assert {tuple(entry["cpu_features"]) for entry in entries} == {("asimd", "pmull")}
    assert "not proved" in output.files["ghashgen.h"]
    assert all("are not proved" in text for name, text in output.files.items() if "/" in name)
    wiped = next(entry for entry in entries if entry["axes"]["wipe"])
    assert wiped["left"]["update"] == {"registers": [], "stack_bytes": 0}


def test_the_command_line_refuses_in_one_line() -> None:
    said = refused("prove", "--isa", "pmull", "--blocks", "4")
    assert said == (
        "ghash_pmull_k_clmul1_x4 is for AArch64, which the prover does not read; "
        "run it: ghashgen validate --isa pmull"
    )
    assert "several architectures" in refused("audit", "--isa", "pmull", "--isa", "avx")
    for verb in (("bench", "--sizes", "16"), ("tune",)):
        assert refused(*verb, "--isa", "pmull", "--blocks", "4") == (
            "ghash_pmull_k_clmul1_x4 is for AArch64, and only x86-64 kernels are measured; "
            "choose another --isa; to run it, ghashgen validate --isa pmull"
        )
    assert "the prover does not read" in refused("attack", "--isa", "pmull", "--count", "1")
    ports = refused("audit", "--ports", "--isa", "pmull", "--blocks", "4")
    assert ports.endswith("which has no port tables; leave out --ports")
    assert "unknown abi 'sysv'" in refused("generate", "--isa", "pmull", "--abi", "sysv")
    assert "schedule" in refused("list", "--isa", "pmull", "--schedule", "zen4")
    listed = called("list", "--isa", "pmull", "--blocks", "4")
    assert "AArch64 kernels are not proved" in listed.output


def test_the_architecture_of_kernels() -> None:
    assert arch_of(()) == "x86_64"
    assert arch_of(KERNELS) == "aarch64"
    with pytest.raises(GhashgenError, match="several architectures"):
        arch_of((KERNELS[0], Kernel("avx", "k", "clmul1", 4)))


def test_nothing_is_spilled_that_ships() -> None:
    for kernel in KERNELS:
        for item in compile_kernel(kernel, AAPCS64).values():
            assert item.function.spill_slots == 0
            assert set(item.function.generals).isdisjoint({18, 29, 30})


def test_features_are_the_bits_of_hwcap(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What this CPU is to lack says nothing of another.
    monkeypatch.delenv(FEATURES_OFF)
    harness = build([], tmp_path, ARCH)

    def decoded(word: int) -> set[str]:
        command = [*harness.command, str(harness.program), "decode", f"{word:x}"]
        said: dict[str, bool] = json.loads(subprocess.check_output(command))
        assert tuple(said) == tuple(ARCH.features)
        return {name for name, there in said.items() if there}

    assert decoded(0) == set()
    # Linux, arch/arm64/include/uapi/asm/hwcap.h: HWCAP_ASIMD, HWCAP_PMULL, HWCAP_SHA3.
    for name, bit in {"asimd": 1 << 1, "pmull": 1 << 4, "sha3": 1 << 17}.items():
        assert decoded(bit) == {name}
        assert decoded(bit ^ 2**64 - 1) == set(ARCH.features) - {name}
