"""Files of GNU as say how to unwind at every instruction, for ELF and for Windows."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence

import pytest
from helpers.compiling import emitted_text
from helpers.syntaxes import OF_AES, SAMPLE, both, coff_section, each_syntax, elf_of, found
from helpers.unwinding import wrong_frames
from iced_x86 import Instruction, Mnemonic, OpKind, Register, RegisterExt

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
)
"""A frame that takes displacements beyond a byte; functions of many arguments and returns."""


@both
@pytest.mark.parametrize("kernel", FRAMED, ids=lambda kernel: kernel.name)
def test_every_instruction_can_be_unwound(kernel: Point, abi: str, assembler: Tool) -> None:
    assert wrong_frames(elf_of(kernel, abi, "gas", assembler), abi) == []


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


@pytest.mark.parametrize("program", ["x86_64-w64-mingw32-as", "clang"])
@pytest.mark.parametrize("kernel", [SAMPLE[1], *SAMPLE[5:8]], ids=lambda kernel: kernel.name)
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
