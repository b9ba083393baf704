"""Emitted files: deterministic, honest about their contents, well-formed objects."""

import io
import os
import platform
import re
import struct
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import NoteSection, SymbolTableSection
from helpers.compiling import Assembled
from iced_x86 import CpuidFeature, Instruction

from ghashgen.arch.x86_64 import ARCH
from ghashgen.arch.x86_64.abi import WIN64
from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.arch.x86_64.formats import FORMATS
from ghashgen.kernels.families import functions_of
from ghashgen.kernels.hash.catalogue import PAPER
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import Target, target
from ghashgen.output.artefact import Artefact, make, sha256
from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import Tool, assemble_text

mnemonic = ARCH.decoder.mnemonic


SAMPLE = (
    Kernel("avx", "winograd", "clmul1", 5),
    Kernel("sse", "karatsuba", "shift-xor", 2, wipe=True),
    Kernel("avx512", "k", "clmul1", 8, order="natural"),
    PAPER[0],
)
samples = pytest.mark.parametrize("kernel", SAMPLE, ids=lambda kernel: kernel.name)

BASE = {
    "INTEL8086", "INTEL186", "INTEL286", "INTEL386", "X64", "CET_IBT", "MULTIBYTENOP", "INTEL486",
}  # fmt: skip
FEATURES = {v: k for k, v in vars(CpuidFeature).items() if isinstance(v, int) and k.isupper()}


def emitted(kernel: Kernel, where: Target) -> Artefact:
    """The file, banner and all."""
    return make(kernel, where, find_nasm())


def in_another_process(seed: str) -> list[str]:
    """Hashes of the sample's texts, rendered where strings hash differently."""
    code = (
        "import test_render as t\n"
        "for kernel in t.SAMPLE: print(t.sha256(t.emitted(kernel, t.Target()).text.encode()))"
    )
    path = os.pathsep.join(map(str, Path(__file__).parents[:3]))
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_same_kernel_same_bytes_in_every_process() -> None:
    here = [sha256(emitted(kernel, Target()).text.encode()) for kernel in SAMPLE]
    assert in_another_process("1") == here
    assert in_another_process("2") == here


@samples
def test_nothing_says_when_where_or_by_whom_a_file_was_made(kernel: Kernel) -> None:
    text = emitted(kernel, Target()).text
    assert not re.search(r"\b(19|20)\d\d-\d\d-\d\d|\d\d:\d\d", text.partition("SP 800-38D")[2])
    assert str(Path(__file__).parents[2]) not in text
    assert platform.node() not in text or len(platform.node()) < 4
    assert Path.home().name not in text


def test_the_banner_counts_what_the_bytes_hold(shipped: Mapping[str, Assembled]) -> None:
    for item in shipped.values():
        line = next(line for line in item.text.splitlines() if line.startswith("; group "))
        found = re.fullmatch(r"; group\s+(\d+) instructions: (.*)", line)
        assert found
        claimed = {name: int(count) for name, count in re.findall(r"(\w+) (\d+)", found[2])}
        counted = {name: n for name, n in item.audit.group.classes.items() if n}
        assert claimed == counted, item.symbol
        assert int(found[1]) == item.audit.group.instructions


def test_the_banner_names_every_cpu_feature_of_the_bytes(shipped: Mapping[str, Assembled]) -> None:
    for item in shipped.values():
        named = {name.upper() for name in item.features}
        line = next(line for line in item.text.splitlines() if line.startswith("; cpu "))
        assert tuple(line.split()[2:]) == item.features
        for instruction in instructions(item):
            needed = {FEATURES[number] for number in instruction.cpuid_features()} - BASE
            # Every CPU with AVX512F has AVX2 and AVX.
            implied = {"AVX2", "AVX"} if "AVX512F" in named else set()
            assert needed <= named | implied, (item.symbol, mnemonic(instruction))


def instructions(item: Assembled) -> list[Instruction]:
    """The instructions of the functions, without the padding between them."""
    symbols = [f"{item.symbol}_{name}" for name in functions_of(item.kernel)]
    return [x for symbol in symbols for x in item.code.function(symbol)]


def test_the_banner_names_the_registers_that_the_bytes_write(
    shipped: Mapping[str, Assembled],
) -> None:
    for item in shipped.values():
        for function in item.functions:
            vectors = [r for r in item.audit.registers[function.name] if r.startswith("xmm")]
            numbers: list[int] = []
            ranges = re.search(r"xmm([\d,-]+)", function.registers)
            for part in ranges[1].rstrip(",").split(",") if ranges else []:
                first, _, last = part.partition("-")
                numbers.extend(range(int(first), int(last or first) + 1))
            if "vzeroupper" not in item.audit.functions[function.name].mnemonics:
                assert [f"xmm{n}" for n in numbers] == vectors
            generals = {r for r in function.registers.split() if r.startswith("r")}
            counted = item.audit.registers[function.name]
            assert generals == {r for r in counted if r.startswith("r")}


def test_every_line_that_multiplies_or_adds_says_what(shipped: Mapping[str, Assembled]) -> None:
    for item in shipped.values():
        for line in item.text.splitlines():
            if re.match(r"\s+v?(pclmulqdq|pternlog)", line):
                assert ";" in line, f"{item.symbol}: {line}"


@samples
def test_a_prefix_changes_symbols_alone(kernel: Kernel) -> None:
    plain, prefixed = (emitted(kernel, target(prefix=p)).text for p in ("", "my_"))
    assert prefixed.count(f"my_{kernel.name}") == plain.count(kernel.name) - (
        1 if kernel.alias else 0
    )
    without = prefixed.replace(f"my_{kernel.name}", kernel.name).replace(" --prefix my_", "")
    # Longer operands may move the column of a comment.
    assert re.sub(" +;", " ;", without) == re.sub(" +;", " ;", plain)


@pytest.mark.parametrize("isa", ["sse", "avx2"])
@pytest.mark.parametrize("segments", [False, True])
def test_polyval_is_called_polyval(isa: str, segments: bool) -> None:
    kernel = Kernel(isa, "k", "clmul1", 2, op="polyval", segments=segments)
    text = emitted(kernel, Target()).text
    assert "; POLYVAL (RFC 8452, section 3), 2 blocks per group.\n" in text
    assert "byte order of RFC 8452\n" in text
    assert ";   continue POLYVAL x over len bytes" in text
    assert ";   x = dot(x, H)\n" in text
    assert not re.search(r"GHASH|800-38D", text)
    other = emitted(replace(kernel, op="ghash"), Target()).text
    assert "; GHASH (SP 800-38D, section 6.4), 2 blocks per group.\n" in other
    assert not re.search(r"POLYVAL|8452|dot\(", other)


def elf(item: Assembled) -> ELFFile:
    return ELFFile(io.BytesIO(item.elf))


def test_no_object_asks_for_an_executable_stack(shipped: Mapping[str, Assembled]) -> None:
    for item in shipped.values():
        note = elf(item).get_section_by_name(".note.GNU-stack")
        assert note is not None
        executable = 0x4
        assert not note["sh_flags"] & executable
        assert note["sh_size"] == 0


def test_objects_are_marked_for_ibt_and_shstk(shipped: Mapping[str, Assembled]) -> None:
    for item in shipped.values():
        section = elf(item).get_section_by_name(".note.gnu.property")
        assert isinstance(section, NoteSection)
        assert section["sh_addralign"] == 8
        (note,) = section.iter_notes()
        assert (note["n_name"], note["n_type"]) == ("GNU", "NT_GNU_PROPERTY_TYPE_0")
        # One property: X86_FEATURE_1_AND, 4 bytes, IBT and SHSTK, padding.
        assert struct.unpack("<IIII", section.data()[16:]) == (0xC0000002, 4, 3, 0)


def test_every_function_starts_with_endbr64(shipped: Mapping[str, Assembled]) -> None:
    for item in shipped.values():
        for name in functions_of(item.kernel):
            at = item.code.symbols[f"{item.symbol}_{name}"]
            assert item.code.code[at : at + 4] == bytes.fromhex("f30f1efa")
            assert at % 32 == 0


def test_functions_are_global_typed_and_sized(shipped: Mapping[str, Assembled]) -> None:
    for item in shipped.values():
        table = elf(item).get_section_by_name(".symtab")
        assert isinstance(table, SymbolTableSection)
        found = {}
        for symbol in table.iter_symbols():
            if symbol["st_info"]["bind"] == "STB_GLOBAL":
                assert symbol["st_info"]["type"] == "STT_FUNC"
                assert symbol["st_shndx"] != "SHN_UNDEF"
                found[symbol.name] = symbol["st_size"]
        assert found == {
            f"{item.symbol}_{name}": item.audit.code_bytes[name]
            for name in functions_of(item.kernel)
        }


def test_code_is_position_independent(shipped: Mapping[str, Assembled]) -> None:
    relative = 2  # R_X86_64_PC32
    for item in shipped.values():
        sections = [s for s in elf(item).iter_sections() if isinstance(s, RelocationSection)]
        kinds = {r["r_info_type"] for s in sections for r in s.iter_relocations()}
        assert kinds <= {relative}
        rodata = elf(item).get_section_by_name(".rodata")
        writable = 0x1
        assert rodata is None or not rodata["sh_flags"] & writable


@pytest.mark.parametrize("fmt", FORMATS)
@samples
def test_other_object_formats_assemble(kernel: Kernel, fmt: str, nasm: Tool) -> None:
    where = replace(target("win64" if fmt == "win64" else "sysv"), fmt=FORMATS[fmt])
    made = emitted(kernel, where)
    obj = assemble_text(nasm, kernel.name, made.text, fmt)
    magic = {"elf64": b"\x7fELF", "win64": b"\x64\x86", "macho64": b"\xcf\xfa\xed\xfe"}
    assert obj.startswith(magic[fmt])
    symbol = FORMATS[fmt].symbol_prefix + f"{kernel.name}_update"
    assert b"\0" + symbol.encode() + b"\0" in obj
    assert ("note.GNU-stack" in made.text) == (fmt == "elf64")


def test_the_convention_of_windows_brings_its_own_format() -> None:
    assert target("win64").fmt is FORMATS["win64"]
    assert target("win64").abi is WIN64
    assert target().fmt is FORMATS["elf64"]
    assert "abi        win64" in emitted(SAMPLE[0], target("win64")).text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"abi": "vectorcall"}, "unknown abi 'vectorcall'; choose one of sysv, win64"),
        ({"fmt": "elf32"}, "unknown format 'elf32'"),
        ({"syntax": "masm"}, "unknown syntax 'masm'; did you mean nasm? choose one of"),
        ({"prefix": "1st"}, "prefix '1st' is not a C identifier"),
        ({"prefix": "a-b"}, "not a C identifier"),
        ({"prefix": "é"}, "not a C identifier"),
    ],
)
def test_a_target_that_does_not_exist_is_refused(arguments: dict[str, str], words: str) -> None:
    with pytest.raises(GhashgenError, match=re.escape(words)):
        target(**arguments)
