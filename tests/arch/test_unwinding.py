"""Files say how to unwind at every instruction, for ELF and for Windows."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.compiling import emitted_text
from helpers.installed import need_programs
from helpers.syntaxes import OF_AES, SAMPLE, both, each_syntax, elf_of, found
from helpers.unwinding import STEPPED, by_tables, described_text, wrong_frames
from helpers.unwinding_windows import LD, linked
from helpers.unwinding_windows import wrong_frames as windows_wrong_frames

from ghashgen.arch.elf import read_elf
from ghashgen.arch.objects import read_object
from ghashgen.arch.x86_64.assemblers import find_gas
from ghashgen.kernels.core import Point
from ghashgen.kernels.families import functions_of
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import target
from ghashgen.support.toolchain import Tool, assemble_text

COMPACT = GcmKernel(256, "avx", "winograd", "clmul1", 4, compact=True)
FRAMED = (
    *SAMPLE,
    OF_AES[1],
    Kernel("avx512", "k", "clmul1", 48, wipe=True),
    GcmKernel(256, "avx", "winograd", "clmul1", 2, wipe=True),
    COMPACT,
)
"""A frame that takes displacements beyond a byte; functions of many arguments and returns, and such
as jump into another one's code.
"""


@both
@pytest.mark.parametrize("kernel", FRAMED, ids=lambda kernel: kernel.name)
def test_every_instruction_can_be_unwound(
    kernel: Point, abi: str, assembler: Tool, nasm: Tool
) -> None:
    by_gas = elf_of(kernel, abi, "gas", assembler)
    assert wrong_frames(by_gas, abi) == []
    by_nasm = assemble_text(nasm, "k", described_text(kernel, abi, "elf64"), "elf64")
    assert by_tables(by_nasm) == by_tables(by_gas)
    assert read_object(by_nasm).code == read_object(by_gas).code


@both
def test_frames_of_all_kinds_were_among_them(abi: str) -> None:
    texts = [emitted_text(kernel, target(abi, "elf64", syntax="gas")) for kernel in SAMPLE]
    said = set(re.findall(r"\.cfi_\w+", "\n".join(texts)))
    assert {".cfi_startproc", ".cfi_endproc", ".cfi_def_cfa_offset"} <= said
    if abi == "win64":
        assert {".cfi_offset", ".cfi_restore", ".cfi_remember_state", ".cfi_restore_state"} <= said


FAULTS = {
    "a register said to be elsewhere": (r"\.cfi_offset (\w+), -(\d+)", r".cfi_offset \1, -8"),
    "a frame that is not said": (r"\.cfi_def_cfa_offset \d+\n", "\n"),
    "a restored register not said": (r"\.cfi_restore \w+\n", "\n"),
    "a return's frame kept below it": (r"\.cfi_restore_state\n", "\n"),
    "a function without a description": (
        r"(?s)\.cfi_startproc(.*?)\.cfi_endproc",
        lambda found: re.sub(r"\.cfi_\w+.*", "", found[1]),
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_description_is_noticed(fault: str) -> None:
    kernel = SAMPLE[6]
    text = emitted_text(kernel, target("win64", "elf64", syntax="gas"))
    pattern, wrong = FAULTS[fault]
    changed = re.sub(pattern, wrong, text, count=1)  # type: ignore[arg-type]
    assert changed != text
    tool = find_gas()
    assert wrong_frames(assemble_text(tool, "k", text, "elf64"), "win64") == []
    assert wrong_frames(assemble_text(tool, "k", changed, "elf64"), "win64")


@both
def test_a_description_changes_neither_code_nor_constants(abi: str, nasm: Tool) -> None:
    bare = read_elf(elf_of(STEPPED, abi, "nasm", nasm))
    told = read_elf(assemble_text(nasm, "k", described_text(STEPPED, abi, "elf64"), "elf64"))
    added = {section.name for section in told.sections} - {s.name for s in bare.sections}
    assert added == {".eh_frame", ".rela.eh_frame"}
    for name in (".text", ".rodata", ".note.gnu.property"):
        (one, other) = (elf.sections[elf.named(name) or 0].content for elf in (bare, told))
        assert one == other
    one, other = (
        [
            (each.at, each.type, each.symbol.name, each.symbol.value, each.addend)
            for each in elf.relocations
            if each.section == elf.named(".text")
        ]
        for elf in (bare, told)
    )
    assert one == other


FAULTS_OF_DATA = {
    "a frame that is 8 bytes off": ("db 0x0e, 0x30 ", "db 0x0e, 0x38 "),
    "a register that is missing": ("0x8c, 0x04 ", "0x00, 0x00 "),
    "a register said to be elsewhere": ("0x86, 0x03 ", "0x86, 0x02 "),
    "a change that comes late": (r"(\.frame3)( - \S+\.frame2)", r"\1 + 1\2"),
    "a range that is too short": (r"(    dd \S+_seal\.end - \S+)", r"\1 - 1"),
    "a function that is another one": (r"(    dd \S+)_seal( - \$)", r"\1_open\2"),
}


@pytest.mark.parametrize("fault", FAULTS_OF_DATA)
def test_a_wrong_description_in_data_is_noticed(fault: str, nasm: Tool) -> None:
    text = described_text(STEPPED, "sysv", "elf64")
    changed = re.sub(*FAULTS_OF_DATA[fault], text, count=1)
    assert changed != text
    assert wrong_frames(assemble_text(nasm, "k", changed, "elf64"), "sysv")


@each_syntax
def test_the_entry_stands_behind_the_beginning_of_its_description(syntax: str) -> None:
    text = emitted_text(SAMPLE[1], target(syntax=syntax))
    starts = re.findall(r"^(\w+):\n +\.cfi_startproc\n +endbr64\n", text, re.M)
    assert starts == [f"{SAMPLE[1].name}_{name}" for name in functions_of(SAMPLE[1])]


WINDOWS = (SAMPLE[1], *SAMPLE[5:8], STEPPED)


def windows_text(kernel: Point, syntax: str) -> str:
    if syntax == "nasm":
        return described_text(kernel, "win64", "win64")
    return emitted_text(kernel, target(fmt="win64", syntax=syntax))


@pytest.mark.parametrize("program", ["x86_64-w64-mingw32-as", "clang", "nasm"])
@pytest.mark.parametrize("kernel", WINDOWS, ids=lambda kernel: kernel.name)
def test_windows_unwinds_every_instruction(
    kernel: Point, program: str, nasm: Tool, tmp_path: Path
) -> None:
    need_programs(LD)
    tool, syntax = (nasm, "nasm") if program == "nasm" else (found(program), "gas")
    ours, text = read_object(elf_of(kernel, "win64", "nasm", nasm)), windows_text(kernel, syntax)

    def wrong(text: str) -> list[str]:
        return windows_wrong_frames(ours, linked(assemble_text(tool, "k", text, "win64"), tmp_path))

    assert wrong(text) == []
    for fault in FAULTS_OF_WINDOWS[syntax]:
        changed = re.sub(*fault, text, count=1)
        assert changed == text or wrong(changed)


FAULTS_OF_WINDOWS = {
    "gas": ((r"(\.seh_savexmm xmm\d+), \d+", r"\1, 256"),),
    "nasm": (
        (r"dw \d+\n", "dw 16\n"),
        (r"(\.frame2 - \w+), ", r"\1 + 1, "),
        (r"(    dd \w+\.end) wrt", r"\1 - 1 wrt"),
    ),
}


def test_windows_takes_a_jump_out_of_a_function_for_its_end(nasm: Tool, tmp_path: Path) -> None:
    need_programs(LD)
    coff = assemble_text(nasm, "k", windows_text(COMPACT, "nasm"), "win64")
    ours = read_object(elf_of(COMPACT, "win64", "nasm", nasm))
    wrong = windows_wrong_frames(ours, linked(coff, tmp_path))
    assert len(wrong) == 3
    assert all(" jmp " in line for line in wrong)


def test_only_files_that_ask_for_it_are_described() -> None:
    bare = target("win64")
    assert bare.tables is None
    assert replace(bare, unwind=True).tables is not None
    assert replace(target(fmt="macho64"), unwind=True).tables is None
    assert replace(target(syntax="gas"), unwind=True).tables is None
