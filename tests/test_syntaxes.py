"""Every syntax is the same bytes, whoever assembles it, and says how to unwind at every one."""

from __future__ import annotations

import json
import random
import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner
from compiling import emitted_text
from iced_x86 import Decoder, Instruction, Mnemonic, OpKind, Register, RegisterExt
from test_isa import FORMS, Form
from unwinding import wrong_frames

from ghashgen.arch.objects import read_object
from ghashgen.arch.registry import syntaxes
from ghashgen.arch.syntax import Names
from ghashgen.arch.x86_64 import gas
from ghashgen.arch.x86_64.formats import ELF
from ghashgen.cli.verbs.generate import COMMAND as GENERATE
from ghashgen.cost.audit import audit
from ghashgen.ir.program import Mem, Operand, PReg, RegClass
from ghashgen.kernels.families import functions_of
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import target
from ghashgen.output.artefact import make
from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import (
    Tool,
    assemble_text,
    compile_c,
    find_assembler,
    find_cc,
    find_gas,
)

GAS = ("gas", "gas-att")
each_syntax = pytest.mark.parametrize("syntax", GAS)


def found(name: str) -> Tool:
    """An assembler of these syntaxes by its program's name; without it the test is skipped."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GHASHGEN_AS", name)
        try:
            return find_gas()
        except GhashgenError:
            pytest.skip(f"no {name} here")


@pytest.fixture(params=["as", "clang"])
def assembler(request: pytest.FixtureRequest) -> Tool:
    return found(request.param)


# rows


def varied(form: Form, rng: random.Random) -> Form:
    """The same form on other registers, addresses and numbers: lengths of all kinds."""
    vectors = form.isa.vector_registers
    changed: dict[PReg, PReg] = {}

    def register(old: PReg, general: Sequence[int] = range(16)) -> PReg:
        choices = {
            RegClass.VEC: range(vectors),
            RegClass.GPR: [n for n in general if n != 4],
            RegClass.MASK: range(1, 8),
        }
        # An idiom names one register twice.
        return changed.setdefault(old, PReg(old.cls, rng.choice(choices[old.cls])))

    def operand(old: Operand) -> Operand:
        if isinstance(old, PReg):
            return register(old)
        if isinstance(old, Mem):
            if rng.random() < 0.2:
                return Mem(symbol="constant")
            base = PReg(RegClass.GPR, rng.randrange(16))
            index = register(PReg(RegClass.GPR, 99)) if rng.random() < 0.5 else None
            scale = rng.choice((1, 2, 4, 8)) if index else 1
            disp = rng.choice((0, 16, 112, 127, 128, 256, 4096, -16, -128, -129, 64 * 127))
            return Mem(base=base, index=index, scale=scale, disp=disp, align=16)
        if form.row.key == "mov.ones":
            return -1
        if isinstance(old, int) and form.row.mnemonic in ("add", "sub", "and", "cmp"):
            return rng.choice((1, 16, 127, 128, 255, 256, 65536))
        return old

    return replace(form, op=form.op.on(*map(operand, form.op.operands)))


RNG = random.Random(1)
LINES = [
    *(form for form in FORMS if form.row.key != "mov.ones"),
    *(varied(form, RNG) for form in FORMS for _ in range(12)),
]
"""Every row of every set, with every kind of operand, on many registers and addresses.

MOV.ONES has the number -1 alone: of another one NASM makes a MOV to the 32-bit register."""


def text_of_rows(syntax: str) -> str:
    how, names = syntaxes()[syntax], Names("rows", "rows", ELF)
    lines = ["    " + how.instruction(form.op, form.row, names) for form in LINES]
    if syntax == "nasm":
        head = ["default rel", "section .rodata", "rows_constant: dq 0, 0", "section .text"]
        return "\n".join([*head, "global rows", "rows:", ".here:", *lines, ""])
    head = [how.opening, ".section .rodata", ".Lrows_constant: .quad 0, 0", ".text"]
    return "\n".join([*head, ".globl rows", "rows:", ".Lrows_here:", *lines, ""])


@pytest.fixture(scope="module")
def rows_of_nasm() -> bytes:
    nasm = find_assembler("nasm")
    return read_object(assemble_text(nasm, "rows", text_of_rows("nasm"), "elf64")).code


def different(theirs: bytes, ours: bytes) -> list[str]:
    """Which rows became other bytes."""
    one, two = ([code[i.ip : i.next_ip] for i in Decoder(64, code)] for code in (theirs, ours))
    if len(one) != len(LINES) or len(two) != len(LINES):
        return [f"{len(one)} and {len(two)} instructions of {len(LINES)}"]
    pairs = zip(LINES, one, two, strict=True)
    return [f"{form}: {a.hex()}, not {b.hex()}" for form, a, b in pairs if a != b]


@each_syntax
def test_every_row_is_the_same_bytes_in_every_syntax(
    syntax: str, assembler: Tool, rows_of_nasm: bytes
) -> None:
    code = read_object(assemble_text(assembler, "rows", text_of_rows(syntax), "elf64")).code
    assert different(code, rows_of_nasm) == []


@each_syntax
def test_another_encoding_of_the_same_row_is_noticed(
    syntax: str, assembler: Tool, rows_of_nasm: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Left to choose, both assemblers shorten a copy from a high register to a low one."""
    monkeypatch.setattr(gas, "forced", lambda op, row: "")
    code = read_object(assemble_text(assembler, "rows", text_of_rows(syntax), "elf64")).code
    lines = different(code, rows_of_nasm)
    copies = [line for line in lines if "vmovdqa.copy" in line]
    assert copies
    # Jumps over shorter copies are shorter too.
    assert all(re.match(r"\S+-l-128:", line) for line in lines if line not in copies)


# kernels

SAMPLE = (
    *(Kernel(isa, "k", "clmul1", 4) for isa in ("sse", "avx", "avx2", "avx512vl", "avx512")),
    Kernel("sse", "karatsuba", "shift-xor", 2, wipe=True),
    Kernel("avx", "winograd", "clmul1", 16, wipe=True, segments=True),
    Kernel("avx", "k", "clmul1", 16, pipeline="ahead"),
    Kernel("avx", "k", "clmul1", 8, swap="stack"),
    Kernel("avx2", "winograd", "clmul1", 16, wipe=True),
    Kernel("avx2", "k", "clmul1", 8, op="polyval"),
    Kernel("avx512", "schoolbook", "clmul2", 16, order="natural", segments=True),
)
both = pytest.mark.parametrize("abi", ["sysv", "win64"])
samples = pytest.mark.parametrize("kernel", SAMPLE, ids=lambda kernel: kernel.name)


def elf_of(kernel: Kernel, abi: str, syntax: str, tool: Tool) -> bytes:
    text = emitted_text(kernel, target(abi, "elf64", syntax=syntax))
    return assemble_text(tool, kernel.name, text, "elf64")


@both
@samples
@each_syntax
def test_kernels_are_the_same_bytes_in_every_syntax(
    kernel: Kernel, abi: str, syntax: str, assembler: Tool, nasm: Tool
) -> None:
    ours = read_object(elf_of(kernel, abi, "nasm", nasm))
    theirs = read_object(elf_of(kernel, abi, syntax, assembler))
    assert theirs.code == ours.code
    assert theirs.functions == ours.functions
    # Nothing is looked up by a label that only one of them keeps.
    assert set(theirs.symbols) == {f"{kernel.name}_{name}" for name in functions_of(kernel)}
    assert len(ours.symbols) > len(theirs.symbols)
    assert audit(kernel, kernel.name, theirs) == audit(kernel, kernel.name, ours)


@each_syntax
def test_the_preprocessor_of_c_leaves_a_file_as_it_is(syntax: str, tmp_path: Path) -> None:
    kernel = SAMPLE[5]
    where = target(syntax=syntax)
    source = tmp_path / f"{kernel.name}.{where.syntax.suffix}"
    source.write_text(emitted_text(kernel, where), encoding="utf-8")
    compile_c(find_cc(), source, tmp_path / "k.o")
    code = read_object((tmp_path / "k.o").read_bytes()).code
    assert code == make(kernel, target(), find_assembler("nasm")).code


def coff_section(data: bytes, wanted: bytes) -> bytes:
    """A section of a COFF object."""
    machine, sections = struct.unpack_from("<HH", data)
    assert machine == 0x8664
    for at in range(20, 20 + 40 * sections, 40):
        size, start = struct.unpack_from("<II", data, at + 16)
        if data[at : at + 8].rstrip(b"\0") == wanted:
            return data[start : start + size]
    raise AssertionError(f"no {wanted.decode()}")


def macho_text(data: bytes) -> bytes:
    """The __text of a Mach-O object."""
    magic, cpu = struct.unpack_from("<II", data)
    assert (magic, cpu) == (0xFEEDFACF, 0x1000007)
    at = data.index(b"__text\0")
    size, start = struct.unpack_from("<QI", data, at + 40)
    return data[start : start + size]


def unlinked(code: bytes) -> list[str]:
    """Instructions, displacements that a linker fills in aside."""
    decoder, out = Decoder(64, code, ip=0), []
    for i in decoder:
        data = bytearray(code[i.ip : i.next_ip])
        if i.is_ip_rel_memory_operand:
            at = decoder.get_constant_offsets(i).displacement_offset
            data[at : at + 4] = bytes(4)
        out.append(data.hex())
    return out


CONTAINERS: dict[str, tuple[str, str, Callable[[bytes], bytes]]] = {
    "GNU as, COFF": ("x86_64-w64-mingw32-as", "win64", partial(coff_section, wanted=b".text")),
    "Clang, COFF": ("clang", "win64", partial(coff_section, wanted=b".text")),
    "Clang, Mach-O": ("clang", "macho64", macho_text),
}


@each_syntax
@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("kernel", SAMPLE[4:7], ids=lambda kernel: kernel.name)
def test_other_containers_hold_the_same_instructions(
    kernel: Kernel, container: str, syntax: str, nasm: Tool
) -> None:
    name, fmt, text = CONTAINERS[container]
    tool, where = found(name), target(fmt=fmt, syntax=syntax)
    data = assemble_text(tool, kernel.name, emitted_text(kernel, where), fmt)
    ours = read_object(elf_of(kernel, where.abi.name, "nasm", nasm)).code
    wanted = unlinked(ours)
    assert unlinked(text(data))[: len(wanted)] == wanted
    symbol = where.fmt.symbol_prefix + f"{kernel.name}_update"
    assert symbol.encode() in data
    assert (b".xdata" in data) == (fmt == "win64")
    assert (b"__eh_frame" in data) == (fmt == "macho64")


# unwinding

FRAMED = (*SAMPLE, Kernel("avx512", "k", "clmul1", 48, wipe=True))
"""The last one's frame takes displacements beyond a byte."""


@both
@pytest.mark.parametrize("kernel", FRAMED, ids=lambda kernel: kernel.name)
def test_every_instruction_can_be_unwound(kernel: Kernel, abi: str, assembler: Tool) -> None:
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


# files


def generated(out: Path, *options: str) -> dict[str, str]:
    done = CliRunner().invoke(
        GENERATE, ["--name", "ghash_avx_k_clmul1_x8", "--out", str(out), *options]
    )
    assert done.exit_code == 0, done.output
    return {
        str(path.relative_to(out)): path.read_text(encoding="utf-8")
        for path in out.rglob("*")
        if path.is_file()
    }


@each_syntax
def test_a_folder_says_which_syntax_it_is_in(syntax: str, tmp_path: Path) -> None:
    files, plain = generated(tmp_path / "a", "--syntax", syntax), generated(tmp_path / "b")
    name = "avx/ghash_avx_k_clmul1_x8"
    assert f"{name}.S" in files
    assert f"{name}.asm" not in files
    assert files["ghashgen.h"] == plain["ghashgen.h"]
    (entry,), (other,) = (json.loads(each["MANIFEST.json"])["kernels"] for each in (files, plain))
    assert (entry["axes"]["syntax"], entry["file"]) == (syntax, f"{name}.S")
    assert entry["object"]["text_sha256"] == other["object"]["text_sha256"]
    assert re.fullmatch(r"(as|clang) \d+\.\S+", entry["object"]["assembler"])
    assert entry["regenerate"] == f"{other['regenerate']} --syntax {syntax}"
    differing = {key for key in entry if entry[key] != other[key]}
    assert differing == {"axes", "file", "sha256", "object", "regenerate"}
    text, command = files[f"{name}.S"], entry["regenerate"]
    assert f"//   {command}\n" in text
    assert not re.search(r"^;|^\s*#", text, re.M)
    again = CliRunner().invoke(GENERATE, [*command.split()[2:], "--out", "-"])
    assert again.output == text


def test_a_kernel_has_one_file_in_a_folder(tmp_path: Path) -> None:
    generated(tmp_path)
    files = generated(tmp_path, "--syntax", "gas")
    assert [name for name in files if name.startswith("avx/")] == ["avx/ghash_avx_k_clmul1_x8.S"]


def test_the_checked_in_catalogue_is_of_one_syntax() -> None:
    done = CliRunner().invoke(GENERATE, ["--name", "ghash_avx_k_clmul1_x8", "--syntax", "gas"])
    assert isinstance(done.exception, GhashgenError)
    assert "give --out" in str(done.exception)


def test_a_program_that_is_no_assembler_of_gas_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GHASHGEN_AS", "no-such-program")
    with pytest.raises(GhashgenError, match="no assembler found for gas under the name no-such"):
        find_gas()


def test_an_assembler_says_which_containers_it_writes() -> None:
    tool = found("as")
    with pytest.raises(GhashgenError, match="does not write macho64; it writes elf64"):
        assemble_text(tool, "k", "", "macho64")
