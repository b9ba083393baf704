"""Objects edited byte by byte, into what no assembler writes: each is refused."""

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from helpers.attack_objects import ELF, assemble, refused, source, verdict
from helpers.elf_patching import Patch

from ghashgen.verify.core.refutation import Category
from ghashgen.verify.x86_64.elf import load_image

UNSUPPORTED, MEMORY, ABI, TIME = (
    Category.UNSUPPORTED, Category.MEMORY, Category.ABI, Category.CONSTANT_TIME,
)  # fmt: skip
FUNCTION = Category.FUNCTION


@cache
def plain() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        return assemble(source("return_minus_one"), Path(folder), False).read_bytes()


def edit(change: Callable[[Patch], Patch]) -> bytes:
    return bytes(change(Patch(bytearray(plain()))).data)


MERGE, TLS, COMPRESSED, GROUP, EXCLUDE, UNKNOWN = 0x10, 0x400, 0x800, 0x200, 0x80000000, 0x1000
GLOBAL_FUNCTION = 0x12


def second_list(p: Patch) -> Patch:
    """Let a section that nobody needs be one more list of relocations of the code."""
    start = p.of_section(".rela.text", "offset")
    end = len(p.data)
    p.data += p.data[start : start + 24]
    return p.section(
        ".note.GNU-stack", type=4, offset=end, size=24, entsize=24, link=p.number(".symtab"),
        info=p.number(".text"),
    )  # fmt: skip


def two_functions(p: Patch) -> Patch:
    """Let the last local symbol be one more global one of the function's name."""
    p.symbol("fold_constant", name=p.name_of("attack_mul"), info=0x10)
    return p.section(".symtab", info=p.of_section(".symtab", "info") - 1)


PATCHES: dict[str, tuple[Callable[[Patch], Patch], Category | None, str]] = {
    **{
        f"constants with flag {word}": (
            lambda p, flag=flag: p.section(".rodata", flags=2 | flag), ELF, f"flags ALLOC {word}"
        )
        for word, flag in (
            ("TLS", TLS), ("COMPRESSED", COMPRESSED), ("GROUP", GROUP),
            ("EXCLUDE", EXCLUDE), ("0x1000", UNKNOWN),
        )
    },
    "constants to be merged, of no size": (
        lambda p: p.section(".rodata", flags=2 | MERGE), ELF, "mergeable constants of 0 bytes"
    ),
    "constants to be merged, and part of one": (
        lambda p: p.section(".rodata", flags=2 | MERGE, entsize=64), ELF,
        "mergeable constants of 64 bytes, in 32",
    ),
    "constants to be merged, of any size": (
        lambda p: p.section(".rodata", flags=2 | MERGE, entsize=2), ELF,
        "mergeable constants of 2 bytes",
    ),
    "strings to be merged": (
        lambda p: p.section(".rodata", flags=2 | MERGE | 0x20, entsize=16), ELF,
        "flags ALLOC MERGE STRINGS",
    ),
    "constants to be merged, by the symbol of their section": (
        lambda p: p.section(".rodata", flags=2 | MERGE, entsize=16), ELF,
        "to mergeable constants that names none",
    ),
    "constants not allocated": (
        lambda p: p.section(".rodata", flags=0), ELF, "may treat it by its name"
    ),
    "constants that may be written": (
        lambda p: p.section(".rodata", flags=3), ELF, "may treat it by its name"
    ),
    "constants among what is written": (
        lambda p: p.renamed(".rodata", ".data.k").section(".data.k", flags=3),
        MEMORY, "which is no buffer and no constants",
    ),
    **{
        f"a section {name}": (
            lambda p, name=name, flags=flags: (
                p.renamed(".note.GNU-stack", name).section(name, type=1, flags=flags)
            ),
            ELF, f"section {name}: a linker may treat it by its name",
        )
        for name, flags in (
            (".gnu.lto_k", 0), (".gnu.warning.a", 0), (".ctors", 3), (".init_array", 3),
            (".init", 3), (".eh_framed", 3), (".debug", 0),
        )
    },
    "an array of initialisers": (lambda p: p.section(".rodata", type=14), ELF, "INIT_ARRAY"),
    "constants of no type": (lambda p: p.section(".rodata", type=0x80000001), ELF, "of type"),
    "a section in a list of writable ones": (
        lambda p: p.renamed(".rodata", ".data.k"), ELF, "may treat it by its name"
    ),
    "an alignment that is none": (lambda p: p.section(".rodata", addralign=24), ELF, "aligned to"),
    "less alignment than the code needs": (
        lambda p: p.section(".rodata", addralign=8), MEMORY, "16-byte alignment"
    ),
    "a section with an address": (lambda p: p.section(".rodata", addr=4096), ELF, "at address"),
    "constants cut off": (lambda p: p.section(".rodata", size=1 << 20), ELF, "overlaps|cut off"),
    "sections that overlap": (
        lambda p: p.section(".rodata", offset=p.of_section(".text", "offset")), ELF, "overlaps"
    ),
    "relocations without addends": (
        lambda p: p.section(".rela.text", type=9, entsize=16), ELF, "SHT_REL,"
    ),
    "two lists of relocations": (second_list, ELF, "two lists of relocations"),
    "a relocation through the GOT": (
        lambda p: p.relocation(0, type=9), ELF, "relocation type 9"
    ),
    "a relocation of 32 absolute bits": (
        lambda p: p.relocation(0, type=10), ELF, "relocation type 10"
    ),
    "an absolute relocation in code": (
        lambda p: p.relocation(0, type=1), UNSUPPORTED, "what only a linker completes"
    ),
    "a call's relocation for data": (
        lambda p: p.relocation(0, type=4), UNSUPPORTED, "a relocation of a call for data"
    ),
    "another addend": (
        lambda p: p.relocation(0, addend=p.of_relocation(0, "addend") + 16),
        FUNCTION, "the state is wrong",
    ),
    "an addend beyond the section": (
        lambda p: p.relocation(0, addend=p.of_relocation(0, "addend") + 32), MEMORY, "beyond it"
    ),
    "an addend before the section": (
        lambda p: p.relocation(0, addend=p.of_relocation(0, "addend") - 16), MEMORY, "before it"
    ),
    "an addend far away": (
        lambda p: p.relocation(0, addend=1 << 40), ELF, "out of reach"
    ),
    "a relocation at the end of the section": (
        lambda p: p.relocation(0, offset=p.of_section(".text", "size") - 2),
        ELF, "beyond the section",
    ),
    "two relocations of one field": (
        lambda p: p.relocation(1, offset=p.of_relocation(0, "offset")), ELF, "over another"
    ),
    "a relocation of an opcode": (
        lambda p: p.relocation(0, offset=p.of_relocation(0, "offset") - 2),
        UNSUPPORTED, "something other than a reference",
    ),
    "a relocation to nothing": (
        lambda p: p.relocation(0, symbol=0), UNSUPPORTED, "what another object defines"
    ),
    "a constant at the symbol that is none": (
        lambda p: p.symbol("", shndx=p.number(".rodata")).relocation(0, symbol=0),
        ELF, "number 0 is no symbol",
    ),
    "a function of threads": (lambda p: p.symbol("attack_mul", info=0x16), ELF, "STT_TLS"),
    "a common function": (lambda p: p.symbol("attack_mul", shndx=0xFFF2), ELF, "SHN_COMMON"),
    "a function at a number": (lambda p: p.symbol("attack_mul", shndx=0xFFF1), ELF, "SHN_ABS"),
    "a local function": (lambda p: p.symbol("attack_mul", info=0x02), ELF, "local among"),
    "a function in the list of local symbols": (
        lambda p: p.section(".symtab", info=p.of_section(".symtab", "info") + 1),
        ELF, "local among",
    ),
    "a function that is data": (lambda p: p.symbol("attack_mul", info=0x11), ELF, "no symbol"),
    "segments": (lambda p: p.header(56, 1), ELF, "with segments"),
    "a function beyond its section": (
        lambda p: p.symbol("attack_mul", value=1 << 20), ELF, "beyond its section"
    ),
    "a function larger than its section": (
        lambda p: p.symbol("attack_mul", size=1 << 20), ELF, "beyond its section"
    ),
    "a function among constants": (
        lambda p: p.symbol("attack_mul", shndx=p.number(".rodata")), ELF, "no symbol"
    ),
    "a function in a section that there is not": (
        lambda p: p.symbol("attack_mul", shndx=200), ELF, "a place that is not understood"
    ),
    "a visibility with more bits": (
        lambda p: p.symbol("attack_mul", other=0x40), ELF, "a visibility"
    ),
    "a section in the place of none": (lambda p: p.section("", type=8), ELF, "of number 0"),
    "headers of another size": (lambda p: p.header(52, 65), ELF, "the section headers"),
    "an unknown visibility": (lambda p: p.symbol("attack_mul", other=5), ELF, "a visibility"),
    "two functions of one name": (
        two_functions, ELF, "two global symbols"
    ),
    "another system's object": (lambda p: p.header(7, 9), ELF, "assemble for System V"),
    "flags of the file": (lambda p: p.header(48, 1), ELF, "assemble for System V"),
    "names in the code": (lambda p: p.header(62, p.number(".text")), ELF, "that are not strings"),
    "a name beyond its table": (
        lambda p: p.section(".rodata", name=1 << 20), ELF, "that are not strings"
    ),
    "a symbol's name beyond its table": (
        lambda p: p.symbol("fold_constant", name=p.of_section(".strtab", "size")),
        ELF, "the name of symbol . is damaged",
    ),
    "a symbol's name that does not end": (
        lambda p: p.section(".strtab", size=p.of_section(".strtab", "size") - 1),
        ELF, "the name of symbol . is damaged",
    ),
    "a symbol's name that is no text": (
        lambda p: p.header(p.of_section(".strtab", "offset") + p.name_of("fold_constant"), 0xFF),
        ELF, "the name of symbol . is damaged",
    ),
    "symbols of another size": (
        lambda p: p.section(".symtab", entsize=8), ELF, "not a table of whole entries"
    ),
    "relocations of another size": (
        lambda p: p.section(".rela.text", entsize=48), ELF, "not a table of whole entries"
    ),
    "half a relocation": (
        lambda p: p.section(".rela.text", size=p.of_section(".rela.text", "size") - 12),
        ELF, "not a table of whole entries",
    ),
    "a relocation to a symbol behind the last": (
        lambda p: p.relocation(0, symbol=p.of_section(".symtab", "size") // 24),
        ELF, "names no symbol",
    ),
    "another machine": (lambda p: p.header(18, 3), ELF, "a relocatable ELF64 object for x86-64"),
    "a program": (lambda p: p.header(16, 2), ELF, "a relocatable ELF64 object for x86-64"),
    "the other byte order": (lambda p: p.header(5, 2), ELF, "ELF"),
}  # fmt: skip


@pytest.mark.parametrize("name", PATCHES)
def test_a_patched_object_is_refused(name: str) -> None:
    change, category, words = PATCHES[name]
    refused(edit(change), category, words)


def test_what_is_edited_is_proved_as_it_was() -> None:
    assert verdict(plain()) == (FUNCTION, "")
    assert verdict(edit(lambda p: p.section(".rodata", addralign=4096))) == (FUNCTION, "")
    assert verdict(edit(lambda p: p.symbol("attack_mul", info=GLOBAL_FUNCTION))) == (FUNCTION, "")


def test_a_local_symbol_does_not_answer_for_a_global_one() -> None:
    """A local label of the same name, which a caller never reaches."""
    data = edit(lambda p: p.symbol("fold_constant", name=p.name_of("attack_mul")))
    assert verdict(data) == (FUNCTION, "")


SHORT = """%include "mul.inc"
section .rodata align=16
CONSTANTS
section .text
global attack_mul
attack_mul:
    LOAD_CONSTANTS
    jmp         short .there
.there:
    PRODUCT     rdi, rsi
    movdqa      xmm9, [fold_constant]
    ret
"""


def test_a_relocation_of_a_short_jump_is_refused(tmp_path: Path) -> None:
    """It is of 4 bytes, the field is of one."""
    path = tmp_path / "short.asm"
    path.write_text(SHORT)
    right = assemble(path, tmp_path, False).read_bytes()
    assert verdict(right) == (FUNCTION, "")
    patch = Patch(bytearray(right))
    assert patch.data[patch.of_section(".text", "offset") + 16] == 0xEB
    wrong = patch.relocation(2, offset=17, type=2)
    refused(bytes(wrong.data), UNSUPPORTED, "wider than what it completes|one instruction")


def test_a_file_cut_off_anywhere_is_refused() -> None:
    for size in range(0, len(plain()), 97):
        refused(plain()[:size], ELF, "ELF|overlaps|cut off|damaged")


def test_a_damaged_note_is_refused(tmp_path: Path) -> None:
    right = assemble(source("endbr_missing"), tmp_path, False).read_bytes()
    assert load_image(right).features == {"IBT", "SHSTK"}
    start = right.index(b"GNU\0")
    for at, value in ((start - 8, 12), (start - 8, 24), (start, ord("X")), (start + 8, 200)):
        wrong = bytearray(right)
        wrong[at] = value
        refused(bytes(wrong), ELF, "damaged .note.gnu.property")
