"""The Go package without C: its bytes beside the proved ones, and with faults."""

import json
import os
import re
import shutil
import struct
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.cpus import AS_FOUND, need, need_x86
from helpers.installed import need_programs

from ghashgen.arch.elf import read_elf
from ghashgen.arch.objects import read_object
from ghashgen.check import vendoring
from ghashgen.check.evidence import Evidence
from ghashgen.kernels.core import Point
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import target
from ghashgen.output.folder import write
from ghashgen.output.hosts import go_asm
from ghashgen.output.hosts.registry import hosts
from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import assemble_text, find_assembler

HOST = hosts()["go-asm"]
KERNELS = (
    GcmKernel(128, "sse", "winograd", "clmul1", 2),
    GcmKernel(128, "avx", "winograd", "clmul1", 2),
    GcmKernel(256, "avx2", "k", "clmul1", 4, short=True),
    GcmKernel(128, "avx512", "winograd", "clmul1", 8),
)
"""Kernels of every encoding: SSE, VEX, EVEX."""
NAMES = tuple(kernel.name for kernel in KERNELS)


def made(*kernels: Point, abi: str = "sysv") -> vendoring.Prepared:
    order = vendoring.Order(kernels, (target(abi=abi, syntax=HOST.syntax),), HOST, ())
    return vendoring.prepare(order, Path("nowhere"), False)


@pytest.fixture(scope="module")
def prepared() -> vendoring.Prepared:
    return made(*KERNELS)


@pytest.fixture(scope="module")
def module(
    prepared: vendoring.Prepared, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Path]:
    """A copy of the package."""
    folder = tmp_path_factory.mktemp("go-asm")
    write(folder, prepared.files, (), "--into")

    def copied(name: str) -> Path:
        return Path(shutil.copytree(folder, folder.parent / name))

    return copied


def go(folder: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run Go without a C compiler."""
    need_programs("go")
    env = {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", **more}
    done = subprocess.run(
        ["go", *words], cwd=folder, env=env, check=False, capture_output=True, text=True
    )
    if "requires go" in done.stderr:
        pytest.skip("this Go is too old: the package is not built")
    return done


def other_order(text: str) -> str:
    """Exchange the two operands of a sum: the same result by other bytes."""
    return re.sub(r"VPXOR (X1?\d), (?!\1,)(X1?\d), ", r"VPXOR \2, \1, ", text, count=1)


FAULTS: Mapping[str, tuple[str, Callable[[str], str], str]] = {
    "none": ("calls_amd64.go", lambda text: text, "--- PASS: TestCodeIsWhatWasProved"),
    "the same sum": (f"{NAMES[1]}_amd64.s", other_order, "not the proved bytes"),
    "a constant": (f"{NAMES[0]}_amd64.s",
        lambda text: re.sub(r"(?s)(.*LONG \$0x)0", r"\g<1>1", text), "not the proved bytes"),
    "another place": ("calls_amd64.s",
        lambda text: text.replace("MOVQ R13, 8(R12)", "MOVQ R13, 16(R12)", 1), "FAIL"),
    "a result": ("ghashgen.go", lambda text: text.replace("status != 0", "status < 0"),
        "a forgery is taken"),
}  # fmt: skip


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize("fault", FAULTS)
def test_the_package_has_the_proved_bytes_and_works(
    module: Callable[[str], Path], fault: str
) -> None:
    need_x86()
    need(("pclmulqdq", "sse2", "ssse3", "sse4_1", "aesni"))
    file, change, said = FAULTS[fault]
    folder = module(f"test {fault}")
    text = (folder / file).read_text(encoding="utf-8")
    assert (change(text) == text) == (fault == "none")
    (folder / file).write_text(change(text), encoding="utf-8")
    done = go(folder, "test", "-count=1", "-v", ".")
    assert said in done.stdout + done.stderr
    assert (done.returncode == 0) == (fault == "none"), done.stdout + done.stderr


@pytest.mark.cpu(AS_FOUND)
def test_a_trial_counts_the_calls_of_each_kernel(
    prepared: vendoring.Prepared, module: Callable[[str], Path], tmp_path: Path
) -> None:
    need(("avx", "pclmulqdq", "aesni"))
    folder, counts = module("counted"), tmp_path / "counts"
    symbols = [symbol for entry in prepared.entries for symbol in entry.symbols.values()]
    counts.write_bytes(bytes(8 * len(symbols)))
    for name, text in go_asm.counting(prepared.artefacts, prepared.files, symbols, counts).items():
        (folder / name).write_text(text)
    found = go(folder, "test", "-count=1", "-run", "TestOnNewStacks", ".")
    assert found.returncode == 0, found.stdout + found.stderr
    numbers = struct.unpack(f"<{len(symbols)}Q", counts.read_bytes())
    called = {s.rpartition("_"): n for s, n in zip(symbols, numbers, strict=True) if n}
    (kernel,) = {name for name, _, _ in called}
    assert kernel.startswith("gcm128_avx")
    assert {function: n for (_, _, function), n in called.items()} == dict.fromkeys(
        ("init", "seal", "open"), 1000
    )


@pytest.mark.parametrize("arch", ["amd64", "arm64"])
def test_go_vet_has_nothing_to_say(module: Callable[[str], Path], arch: str) -> None:
    done = go(module(f"vet {arch}"), "vet", ".", GOARCH=arch)
    assert (done.returncode, done.stderr) == (0, "")


def test_go_vet_sees_a_wrong_place(module: Callable[[str], Path]) -> None:
    folder = module("vet fault")
    path = folder / "calls_amd64.s"
    path.write_text(path.read_text().replace("iv_len+24(FP)", "iv_len+32(FP)", 1))
    done = go(folder, "vet", ".", GOARCH="amd64")
    assert "iv_len" in done.stderr
    assert done.returncode != 0


def test_frames_hold_the_stack_that_kernels_use(prepared: vendoring.Prepared) -> None:
    stack = max(size for entry in prepared.entries for size in entry.stack_bytes.values())
    text = prepared.files["calls_amd64.s"]
    frames = re.findall(r"TEXT ·call\w+\(SB\), 0, \$(\d+)-\d+(.*?)\n\n", text, re.DOTALL)
    assert len(frames) == 3
    for frame, body in frames:
        stacked = re.findall(r"MOVQ R13, (\d+)\(R12\)", body)
        (reach,) = map(int, re.findall(r"LEAQ (\d+)\(SP\), R12", body))
        # At worst R12 is 15 bytes lower; the return address lies below it.
        assert reach - 15 - 8 >= stack
        assert reach + 8 * len(stacked) <= int(frame)


def test_constants_are_where_the_code_reads_them(prepared: vendoring.Prepared) -> None:
    tool = find_assembler(prepared.order.target.syntax.assembler)
    for artefact in prepared.artefacts:
        data = assemble_text(tool, "kernel", artefact.text, "elf64")
        code, elf = read_object(data), read_elf(data)
        section = elf.named(".rodata")
        assert section is not None
        constants, image = elf.sections[section].content, go_asm._image(elf)
        start = len(image) - len(constants)
        assert image[start:] == constants
        assert start % 64 == 0
        places = {each.at: each.symbol.value + each.addend for each in elf.relocations}
        read = 0
        for at, found in code.decoder.decode(image[: len(code.code)]).items():
            if found.is_ip_rel_memory_operand:
                (own,) = (place for place in places if at < place < at + found.len)
                there = found.ip_rel_memory_address - start
                assert there == places[own] + at + found.len - own
                read += 1
        assert read == len(places) > 0


@pytest.mark.parametrize(
    ("kernel", "abi", "said"),
    [
        (GcmKernel(256, "avx", "k", "clmul1", 4, compact=True), "sysv", "keys of several sizes"),
        (KERNELS[0], "win64", "the convention win64"),
        (Kernel("sse", "k", "clmul1", 2), "sysv", "another family"),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_what_the_adapters_cannot_call_is_refused(kernel: Point, abi: str, said: str) -> None:
    with pytest.raises(GhashgenError, match=said):
        made(kernel, abi=abi)


def test_the_thread_pool_is_refused(prepared: vendoring.Prepared) -> None:
    with pytest.raises(GhashgenError, match="takes no C"):
        vendoring.prepare(replace(prepared.order, threads=True), Path("nowhere"), False)


def test_the_record_says_what_the_proofs_are_about(prepared: vendoring.Prepared) -> None:
    known = (Evidence(("init",)),) * len(prepared.artefacts)
    said = vendoring._said(prepared, known)
    assert "what your assembler makes of the\nfile: the folder's test compares that" in said
    assert "objcopy" not in said
    assert "prove-object" not in said


def test_the_layouts_name_the_files(prepared: vendoring.Prepared) -> None:
    kernels = json.loads(prepared.files["ghashgen.json"])["kernels"]
    assert {file for each in kernels for file in each["files"].values()} == {
        f"{name}_amd64.s" for name in NAMES
    }
    assert not [name for name in prepared.files if name.endswith((".c", ".h", ".S", ".asm"))]
    assert {*prepared.callers} == {"calls_amd64.go"}
