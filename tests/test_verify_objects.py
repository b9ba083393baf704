"""Objects made by hand to fool the prover: each is refused for what is wrong with it.

Every file of asm_attack/objects is wrong with FAULT defined and right without: the wrong object is
refused by the right word, its twin is proved. Where a wrong object is wrong whatever the CPU, it is
linked and run as well. What assemblers do not write is made by editing an object's bytes.
"""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from elf_patching import Patch

from ghashgen.algebra.field.bitorder import Order
from ghashgen.algebra.field.ghash import multiply_blocks
from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import find_nasm
from ghashgen.verify.core.refutation import Category
from ghashgen.verify.hash.entries import twisted_register
from ghashgen.verify.hash.spec import FunctionSpec, KernelSpec
from ghashgen.verify.prove import prove_object
from ghashgen.verify.x86_64.elf import load_image

FOLDER = Path(__file__).with_name("asm_attack") / "objects"

UNSUPPORTED, MEMORY, ABI, TIME = (
    Category.UNSUPPORTED, Category.MEMORY, Category.ABI, Category.CONSTANT_TIME,
)  # fmt: skip
FUNCTION = Category.FUNCTION

ELF = None
"""The object is refused when it is read, before any function of it."""

ATTACKS: dict[str, tuple[Category | None, str]] = {
    # Addresses are a section and an offset.
    "address_absolute": (MEMORY, "the absolute address 0x10010"),
    "address_as_number": (UNSUPPORTED, "in a vector register"),
    "address_compared": (UNSUPPORTED, "depends on where a (section|buffer) lies"),
    "address_difference": (UNSUPPORTED, "addresses in different buffers"),
    "address_distance": (MEMORY, "of section .rodata that end 4112 beyond it"),
    "address_other_code": (UNSUPPORTED, "a jump out of its section that no relocation tells of"),
    "address_rounded": (UNSUPPORTED, "rounded beyond its known alignment"),
    "address_size": (UNSUPPORTED, "a prefix that its opcode does not ask for"),
    "address_tested": (UNSUPPORTED, "the low bits of an address"),
    "address_truncated": (UNSUPPORTED, "the low bits of an address"),
    "address_unrelocated": (MEMORY, "section .text, which holds no constants"),
    "code_address": (ABI, "an address that is computed"),
    "code_as_data": (MEMORY, "section .text, which holds no constants"),
    "code_table": (ABI, "an address that is computed"),
    "constant_of_linker": (UNSUPPORTED, "a constant that is what only a linker completes"),
    # What a linker may do with an object.
    "constant_preemptible": (ELF, "another definition may take its place"),
    "function_indirect": (ELF, "STT_GNU_IFUNC"),
    "function_unique": (ELF, "STB_GNU_UNIQUE"),
    "function_weak": (ELF, "STB_WEAK.*another definition may take its place"),
    "helper_preemptible": (UNSUPPORTED, "helper, which is neither local nor hidden"),
    "helper_weak": (ELF, "another definition may take its place"),
    "section_code_writable": (ELF, "flags WRITE ALLOC EXECINSTR"),
    "section_excluded": (ELF, "flags ALLOC EXCLUDE"),
    "section_group": (ELF, "SHT_GROUP"),
    "section_linkonce": (ELF, "may treat it by its name"),
    "section_merge": (ELF, "flags ALLOC MERGE"),
    "section_note": (MEMORY, ".note.constants, which holds no constants"),
    "section_retained": (ELF, "flags ALLOC GNU_RETAIN"),
    "section_tls": (ELF, "flags WRITE ALLOC TLS"),
    "section_unwind": (MEMORY, ".eh_frame, which holds no constants"),
    "section_writable": (MEMORY, ".data, which holds no constants"),
    "section_zero": (ELF, "type SHT_NOBITS, flags ALLOC"),
    # Encodings that are read in two ways.
    "encoding_66_call": (UNSUPPORTED, "Intel and AMD read it differently"),
    "encoding_66_condition": (UNSUPPORTED, "Intel and AMD read it differently"),
    "encoding_66_jump": (UNSUPPORTED, "Intel and AMD read it differently"),
    "encoding_address_size_nop": (UNSUPPORTED, "a prefix that its opcode does not ask for"),
    "encoding_bnd_jump": (UNSUPPORTED, "a prefix that its opcode does not ask for"),
    "encoding_dead_rex": (UNSUPPORTED, "a prefix that another one makes void"),
    "encoding_immediate": (UNSUPPORTED, "bits of its immediate that have no meaning"),
    "encoding_nop_prefixes": (UNSUPPORTED, "a prefix that its opcode does not ask for"),
    "encoding_rep_ret": (UNSUPPORTED, "a prefix that its opcode does not ask for"),
    "encoding_rex_w": (UNSUPPORTED, "another encoding of it is the usual one"),
    "encoding_segment": (UNSUPPORTED, "a prefix that its opcode does not ask for"),
    "encoding_vex_w": (UNSUPPORTED, "another encoding of it is the usual one"),
    # Calls and returns.
    "call_and_pop": (ABI, "a return address is read"),
    "call_dropped": (ABI, "elsewhere than at its CALL's return address"),
    "call_overwritten": (ABI, "a return address is read"),
    "push_and_ret": (ABI, "elsewhere than at its CALL's return address"),
    "ret_with_count": (ABI, "RET imm16"),
    "return_by_jump": (ABI, "a return address is read"),
    "return_by_memory": (ABI, "an address that is computed"),
    "return_copied": (ABI, "a return address is read"),
    "return_minus_one": (ABI, "a return address is read"),
    "return_pushed": (ABI, "a return address is read"),
    "return_written": (MEMORY, "store to a return address"),
    # Marks and frames.
    "endbr_missing": (ABI, "does not begin with ENDBR64"),
    "endbr_second": (ABI, "does not begin with ENDBR64"),
    "frame_of_pages": (ABI, "not touched in order"),
    "frame_over_a_page": (ABI, "not touched in order"),
    # Time.
    "nop_secret": (TIME, "an address depends on a secret"),
    "prefetch_secret": (TIME, "an address depends on a secret"),
    "prefetch_secret_index": (TIME, "an address depends on a secret"),
    "store_masked_off": (TIME, "an address depends on a secret"),
}

RUN_WRONG = (
    "address_as_number", "address_compared", "address_difference",
    "address_other_code", "address_truncated", "address_unrelocated", "function_indirect",
    "return_minus_one",
)  # fmt: skip
"""Wrong wherever they are linked and loaded as position-independent programs are."""

H, X = bytes(range(1, 17)), bytes(range(200, 216))


def statement(abi: str = "sysv") -> KernelSpec:
    mul = FunctionSpec("mul", "attack_mul", ("state", "table"))
    return KernelSpec("attack", abi, Order.REFLECTED, 1, (("B", 1),), 16, (mul,))


def source(name: str) -> Path:
    return next(p for p in (FOLDER / f"{name}.asm", FOLDER / f"{name}.s") if p.exists())


def assemble(path: Path, folder: Path, fault: bool) -> Path:
    out = folder / f"{path.stem}{'-wrong' * fault}.o"
    if path.suffix == ".asm":
        define = ["-dFAULT"] if fault else []
        command = [*find_nasm().command, "-f", "elf64", f"-I{FOLDER}/", *define]
    else:
        if shutil.which("as") is None:
            pytest.skip("GNU as, for what of ELF nasm cannot write, is missing")
        define = ["--defsym", "FAULT=1"] if fault else []
        command = ["as", "--64", f"-I{FOLDER}", *define]
    subprocess.run([*command, str(path), "-o", str(out)], check=True, capture_output=True)
    return out


def verdict(data: bytes, abi: str = "sysv") -> tuple[Category | None, str]:
    """Return the category and the words of a refusal; FUNCTION and "" for a right object."""
    try:
        refutation = prove_object(data, statement(abi)).refutation
    except GhashgenError as error:
        return ELF, str(error)
    return (FUNCTION, "") if refutation is None else (refutation.category, str(refutation))


def refused(data: bytes, category: Category | None, words: str, abi: str = "sysv") -> None:
    found, said = verdict(data, abi)
    assert said, "it is proved"
    assert re.search(words, said), said
    assert found is category, said


def test_every_file_is_an_attack() -> None:
    assert {p.stem for p in FOLDER.iterdir() if p.suffix in (".asm", ".s")} == set(ATTACKS)


@pytest.mark.parametrize("name", sorted(ATTACKS))
def test_a_wrong_object_is_refused_and_its_twin_is_proved(name: str, tmp_path: Path) -> None:
    abi = "win64" if name.startswith("frame") else "sysv"
    category, words = ATTACKS[name]
    refused(assemble(source(name), tmp_path, True).read_bytes(), category, words, abi)
    assert verdict(assemble(source(name), tmp_path, False).read_bytes(), abi) == (FUNCTION, "")


# What no assembler writes.


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
            ("MERGE", MERGE), ("TLS", TLS), ("COMPRESSED", COMPRESSED), ("GROUP", GROUP),
            ("EXCLUDE", EXCLUDE), ("0x1000", UNKNOWN),
        )
    },
    "constants not allocated": (
        lambda p: p.section(".rodata", flags=0), UNSUPPORTED, "what only a linker completes"
    ),
    "constants that may be written": (
        lambda p: p.section(".rodata", flags=3), MEMORY, "which holds no constants"
    ),
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
        UNSUPPORTED, "something else than a reference",
    ),
    "a relocation to nothing": (
        lambda p: p.relocation(0, symbol=0), UNSUPPORTED, "what another object defines"
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
    "an unknown visibility": (lambda p: p.symbol("attack_mul", other=5), ELF, "a visibility"),
    "two functions of one name": (
        two_functions, ELF, "two global symbols"
    ),
    "another system's object": (lambda p: p.header(7, 9), ELF, "assemble for System V"),
    "flags of the file": (lambda p: p.header(48, 1), ELF, "assemble for System V"),
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


# Running them.

DRIVER = """
#include <stdint.h>
#include <string.h>
void attack_mul(uint8_t x[16], const uint8_t table[16]);
int main(void)
{
    _Alignas(16) uint8_t x[16] = {%s}, wanted[16] = {%s};
    _Alignas(16) const uint8_t table[16] = {%s};
    attack_mul(x, table);
    return memcmp(x, wanted, 16) != 0;
}
"""


def can_run() -> None:
    cpuinfo = Path("/proc/cpuinfo")
    flags = cpuinfo.read_text().split() if cpuinfo.exists() else []
    if not {"pclmulqdq", "ssse3"} <= set(flags):
        pytest.skip("a CPU with PCLMULQDQ and SSSE3 is missing")
    if shutil.which("cc") is None:
        pytest.skip("a C compiler to link and run objects is missing")


def driver(folder: Path) -> Path:
    def bytes_of(data: bytes) -> str:
        return ", ".join(str(byte) for byte in data)

    table = twisted_register(H, Order.REFLECTED).to_bytes(16, "little")
    path = folder / "driver.c"
    path.write_text(DRIVER % (bytes_of(X), bytes_of(multiply_blocks(X, H)), bytes_of(table)))
    return path


def runs(folder: Path, *objects: Path, shared: tuple[Path, ...] = ()) -> bool:
    """Link a position-independent program and run it; True if its result is right."""
    out = folder / "program"
    files = [str(path) for path in (driver(folder), *objects, *shared)]
    link = ["cc", "-O1", "-pie", "-fPIE", "-w", *files, "-o", str(out), f"-Wl,-rpath,{folder}"]
    subprocess.run(link, check=True, capture_output=True)
    return subprocess.run([str(out)], check=False, timeout=60).returncode == 0


@pytest.mark.parametrize("name", RUN_WRONG)
def test_a_wrong_object_is_wrong_when_run(name: str, tmp_path: Path) -> None:
    can_run()
    assert runs(tmp_path, assemble(source(name), tmp_path, False))
    assert not runs(tmp_path, assemble(source(name), tmp_path, True))


OTHERS = {
    "function_weak": ".globl attack_mul\nattack_mul: ret",
    "constant_preemptible": ".section .rodata\n.balign 16\n.globl fold_constant\n"
    "fold_constant: .quad 1, 2",
    "section_group": '.section .rodata.group, "aG", @progbits, attack_constants, comdat\n'
    ".balign 16\n.quad 1, 2, 3, 4",
    "section_linkonce": '.section .gnu.linkonce.r.constants, "a", @progbits\n.balign 16\n'
    ".quad 1, 2, 3, 4",
}
"""Another object of the same program, which is linked first."""


@pytest.mark.parametrize("name", OTHERS)
def test_a_wrong_object_is_wrong_when_linked_with_another(name: str, tmp_path: Path) -> None:
    can_run()
    other = tmp_path / "other.s"
    other.write_text(OTHERS[name] + '\n.section .note.GNU-stack, "", @progbits\n')
    wrong = assemble(source(name), tmp_path, True)
    linked = assemble(other, tmp_path, False)
    assert runs(tmp_path, wrong)
    try:
        right = runs(tmp_path, linked, wrong)
    except subprocess.CalledProcessError as error:
        assert b"discarded" in error.stderr, error.stderr  # noqa: PT017 - a linker's refusal
        right = False
    assert not right


def test_a_helper_in_a_shared_library_is_another_ones(tmp_path: Path) -> None:
    can_run()
    other = tmp_path / "other.s"
    other.write_text('.globl helper\nhelper: ret\n.section .note.GNU-stack, "", @progbits\n')
    first = assemble(other, tmp_path, False)
    library = tmp_path / "libattack.so"
    for fault in (False, True):
        obj = assemble(source("helper_preemptible"), tmp_path, fault)
        subprocess.run(["cc", "-shared", str(obj), "-o", str(library)], check=True)
        assert runs(tmp_path, first, shared=(library,)) is not fault
