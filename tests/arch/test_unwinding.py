"""Files say how to unwind at every instruction, for ELF and for Windows."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import replace

import pytest
from helpers.compiling import emitted_text
from helpers.syntaxes import OF_AES, SAMPLE, both, coff_section, each_syntax, elf_of, found
from helpers.unwinding import STEPPED, by_tables, described_text, wrong_frames
from iced_x86 import Instruction, Mnemonic, OpKind, Register, RegisterExt

from ghashgen.arch.elf import read_elf
from ghashgen.arch.objects import read_object
from ghashgen.arch.x86_64.assemblers import find_gas
from ghashgen.kernels.core import Point
from ghashgen.kernels.families import functions_of
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import target
from ghashgen.support.toolchain import Tool, assemble_text

FRAMED = (
    *SAMPLE,
    OF_AES[1],
    Kernel("avx512", "k", "clmul1", 48, wipe=True),
    GcmKernel(256, "avx", "winograd", "clmul1", 8, wipe=True),
    GcmKernel(256, "avx", "winograd", "clmul1", 4, compact=True),
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


Code = tuple[int, str, int, int]
"""What an instruction of a prologue does: where it ends, what, with which register, bytes."""


def codes_of_tables(xdata: bytes) -> list[list[Code]]:
    """The unwind codes of each function (Microsoft, "x64 exception handling")."""
    out, at = [], 0
    while at + 4 <= len(xdata):
        if xdata[at] == 0:  # no version: LLVM makes each at least 8 bytes long
            at += 4
            continue
        count, codes, i = xdata[at + 2], [], 0
        words = struct.unpack_from(f"<{count}H", xdata, at + 4)
        while i < count:
            offset, operation, info = words[i] & 255, words[i] >> 8 & 15, words[i] >> 12
            match operation:
                case 0:
                    codes.append((offset, "push", info, 8))
                case 1:
                    assert info == 0
                    i += 1
                    codes.append((offset, "sub", 4, 8 * words[i]))
                case 2:
                    codes.append((offset, "sub", 4, 8 * info + 8))
                case 8:
                    i += 1
                    codes.append((offset, "save", info, 16 * words[i]))
                case _:
                    raise AssertionError(f"unwind code {operation}")
            i += 1
        out.append(codes[::-1])
        at += 4 + 2 * (count + count % 2)
    return out


def codes_of_bytes(body: Sequence[Instruction]) -> list[Code]:
    """What the prologue does; it ends with the first instruction that is none of one."""
    out: list[Code] = []
    for i in body[1:]:
        end, on_stack = i.next_ip - body[0].ip, i.memory_base == Register.RSP
        if i.mnemonic == Mnemonic.PUSH:
            out.append((end, "push", RegisterExt.number(i.op0_register), 8))
        elif i.mnemonic == Mnemonic.SUB and i.op0_register == Register.RSP:
            out.append((end, "sub", 4, i.immediate(1)))
        elif on_stack and RegisterExt.is_xmm(i.op1_register) and i.op0_kind == OpKind.MEMORY:
            out.append((end, "save", RegisterExt.number(i.op1_register), i.memory_displacement))
        else:
            break
    return out


WINDOWS = pytest.mark.parametrize(
    "kernel", [SAMPLE[1], *SAMPLE[5:8]], ids=lambda kernel: kernel.name
)


@pytest.mark.parametrize("program", ["x86_64-w64-mingw32-as", "clang"])
@WINDOWS
def test_windows_unwinds_every_prologue(kernel: Kernel, program: str, nasm: Tool) -> None:
    text = emitted_text(kernel, target(fmt="win64", syntax="gas"))
    tool, ours = found(program), read_object(elf_of(kernel, "win64", "nasm", nasm))
    wanted = [
        codes_of_bytes(ours.function(f"{kernel.name}_{name}")) for name in functions_of(kernel)
    ]
    assert (
        codes_of_tables(coff_section(assemble_text(tool, "k", text, "win64"), b".xdata")) == wanted
    )
    assert any(wanted)
    wrong = re.sub(r"(\.seh_savexmm xmm\d+), \d+", r"\1, 256", text, count=1)
    assert wrong != text
    other = coff_section(assemble_text(tool, "k", wrong, "win64"), b".xdata")
    assert codes_of_tables(other) != wanted


@WINDOWS
def test_nasm_describes_prologues_as_gas_does(kernel: Kernel, nasm: Tool) -> None:
    by_gas, by_nasm = (
        assemble_text(tool, "k", text, "win64")
        for tool, text in (
            (
                found("x86_64-w64-mingw32-as"),
                emitted_text(kernel, target(fmt="win64", syntax="gas")),
            ),
            (nasm, described_text(kernel, "win64", "win64")),
        )
    )
    assert coff_section(by_nasm, b".xdata") == coff_section(by_gas, b".xdata")
    # Begin, end and description of each function: the places that relocations complete.
    assert coff_section(by_nasm, b".pdata") == coff_section(by_gas, b".pdata")


def test_only_files_that_ask_for_it_are_described() -> None:
    bare = target("win64")
    assert bare.tables is None
    assert replace(bare, unwind=True).tables is not None
    assert replace(target(fmt="macho64"), unwind=True).tables is None
    assert replace(target(syntax="gas"), unwind=True).tables is None
