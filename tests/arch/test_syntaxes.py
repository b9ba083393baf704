"""Every syntax is the same bytes, whoever assembles it."""

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
from helpers.compiling import emitted_text
from helpers.forms import FORMS, Form
from helpers.syntaxes import (
    GAS,
    OF_AES,
    SAMPLE,
    both,
    coff_section,
    each_syntax,
    elf_of,
    found,
    samples,
)
from helpers.verbs import called, refused
from iced_x86 import Code, Decoder, OpKind

from ghashgen.arch.objects import read_object
from ghashgen.arch.registry import syntaxes
from ghashgen.arch.syntax import Names
from ghashgen.arch.x86_64 import gas
from ghashgen.arch.x86_64.assemblers import find_gas, find_nasm
from ghashgen.arch.x86_64.formats import ELF
from ghashgen.cli.verbs.generate import COMMAND as GENERATE
from ghashgen.cost.audit import audit
from ghashgen.ir.program import Mem, Operand, PReg, RegClass
from ghashgen.kernels.families import functions_of
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import target
from ghashgen.output.artefact import make
from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import Tool, assemble_text, compile_c, find_cc

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
        if form.row.key == "mov.const64" and isinstance(old, int):
            return rng.choice((1 << 32, (1 << 36) - 31, (1 << 61) - 1))
        if isinstance(old, int) and form.row.mnemonic in ("add", "sub", "and", "cmp"):
            return rng.choice((1, 16, 127, 128, 255, 256, 65536))
        return old

    return replace(form, op=form.op.on(*map(operand, form.op.operands)))


RNG = random.Random(1)
LINES = [
    *(form for form in FORMS if form.row.key not in ("mov.ones", "mov.const64")),
    *(varied(form, RNG) for form in FORMS for _ in range(12)),
]
"""Every row of every set, with every kind of operand, on many registers and addresses.

MOV.ONES has the number -1 alone, MOV.CONST64 those of more than 32 bits: of another one NASM makes
a MOV to the 32-bit register."""


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
    nasm = find_nasm()
    return read_object(assemble_text(nasm, "rows", text_of_rows("nasm"), "elf64")).code


EITHER = ("avx512-vmovq.load-x-m64-128", "avx512vl-vmovq.load-x-m64-128")
"""MOVQ from memory to a register above 15 has two opcodes: F3 7E, which Clang takes, and 66 6E."""


def is_same(form: str, theirs: bytes, ours: bytes) -> bool:
    """Return whether two encodings are one, or the two that Clang and NASM choose of a MOVQ."""
    return (by_nasms_opcode(theirs) if form in EITHER else theirs) == ours


def by_nasms_opcode(movq: bytes) -> bytes:
    """Return the MOVQ by 66 6E, if it is by F3 7E and in EVEX."""
    if movq[0] != 0x62 or (movq[2] & 3, movq[4]) != (2, 0x7E):
        return movq
    return bytes([*movq[:2], movq[2] - 1, movq[3], 0x6E, *movq[5:]])


def by_nasms_opcodes(code: bytes) -> bytes:
    """Return code with every MOVQ from memory to a register above 15 by 66 6E."""
    out = b""
    for i in Decoder(64, code, ip=0):
        one = code[i.ip : i.next_ip]
        movq = i.code == Code.EVEX_VMOVQ_XMM_XMMM64 and i.op1_kind == OpKind.MEMORY
        out += by_nasms_opcode(one) if movq else one
    return out


def different(theirs: bytes, ours: bytes) -> list[str]:
    """Which rows became other bytes."""
    one, two = ([code[i.ip : i.next_ip] for i in Decoder(64, code)] for code in (theirs, ours))
    if len(one) != len(LINES) or len(two) != len(LINES):
        return [f"{len(one)} and {len(two)} instructions of {len(LINES)}"]
    pairs = zip(LINES, one, two, strict=True)
    return [
        f"{form}: {a.hex()}, not {b.hex()}" for form, a, b in pairs if not is_same(str(form), a, b)
    ]


@each_syntax
def test_every_row_is_the_same_bytes_in_every_syntax(
    syntax: str, assembler: Tool, rows_of_nasm: bytes
) -> None:
    code = read_object(assemble_text(assembler, "rows", text_of_rows(syntax), "elf64")).code
    assert different(code, rows_of_nasm) == []


@pytest.mark.parametrize("form", EITHER)
def test_only_the_other_opcode_of_one_movq_is_let_through(form: str) -> None:
    """vmovq xmm18, [rax + 8]: by F3 7E and by 66 6E; another register, address or row is none."""
    clang, nasm = bytes.fromhex("62e1fe087e5001"), bytes.fromhex("62e1fd086e5001")
    assert is_same(form, clang, nasm)
    assert is_same(form, nasm, nasm)
    assert not is_same(form.replace("load", "store"), clang, nasm)
    for at in range(len(clang)):
        for bit in range(8):
            wrong = bytearray(clang)
            wrong[at] ^= 1 << bit
            assert not is_same(form, bytes(wrong), nasm), (at, bit)


def test_all_but_that_opcode_of_a_kernel_is_compared() -> None:
    """vmovq xmm18, [rax + 8]; vmovq xmm18, xmm1, which has one opcode; vpaddd, whose it is not."""
    rest = bytes.fromhex("62e1fe087ed1") + bytes.fromhex("62e17d08fed1")
    clang, nasm = bytes.fromhex("62e1fe087e5001") + rest, bytes.fromhex("62e1fd086e5001") + rest
    assert by_nasms_opcodes(clang) == nasm
    assert by_nasms_opcodes(nasm) == nasm


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


@pytest.mark.parametrize("kernel", OF_AES, ids=lambda kernel: kernel.name)
def test_aes_gcm_is_the_same_bytes_in_every_syntax(
    kernel: GcmKernel, assembler: Tool, nasm: Tool
) -> None:
    """By the convention whose turn it is: functions of many arguments, on the stack or not."""
    abi = ("sysv", "win64")[OF_AES.index(kernel) % 2]
    ours = read_object(elf_of(kernel, abi, "nasm", nasm))
    for syntax in GAS:
        theirs = read_object(elf_of(kernel, abi, syntax, assembler))
        assert by_nasms_opcodes(theirs.code) == ours.code, syntax
        assert theirs.functions == ours.functions, syntax


@each_syntax
def test_the_preprocessor_of_c_leaves_a_file_as_it_is(syntax: str, tmp_path: Path) -> None:
    kernel = SAMPLE[5]
    where = target(syntax=syntax)
    source = tmp_path / f"{kernel.name}.{where.syntax.suffix}"
    source.write_text(emitted_text(kernel, where), encoding="utf-8")
    compile_c(find_cc(), source, tmp_path / "k.o")
    code = read_object((tmp_path / "k.o").read_bytes()).code
    assert code == make(kernel, target(), find_nasm()).code


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


# files


def generated(out: Path, *options: str) -> dict[str, str]:
    called("generate", "--name", "ghash_avx_k_clmul1_x8", "--out", str(out), *options)
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
    assert "give --out" in refused("generate", "--name", "ghash_avx_k_clmul1_x8", "--syntax", "gas")


def test_a_program_that_is_no_assembler_of_gas_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GHASHGEN_AS", "no-such-program")
    with pytest.raises(
        GhashgenError, match="GNU as or Clang for x86_64 not found under the name no-such"
    ):
        find_gas()


def test_an_assembler_says_which_containers_it_writes() -> None:
    tool = found("as")
    with pytest.raises(GhashgenError, match="does not write macho64; it writes elf64"):
        assemble_text(tool, "k", "", "macho64")
