"""Objects made by hand to fool the prover: each is refused for what is wrong with it.

Every file of asm_attack/objects is wrong with FAULT defined and right without: the wrong object is
refused by the right word, its twin is proved. Where a wrong object is wrong whatever the CPU, it is
linked and run as well.
"""

import shutil
import subprocess
from pathlib import Path

import pytest
from helpers.attack_objects import ELF, FOLDER, assemble, refused, source, verdict
from helpers.elf_patching import Patch
from helpers.installed import need_programs
from helpers.verify_objects import twisted_register

from ghashgen.algebra.field.ghash import multiply_blocks
from ghashgen.verify.core.refutation import Category

UNSUPPORTED, MEMORY, ABI, TIME = (
    Category.UNSUPPORTED, Category.MEMORY, Category.ABI, Category.CONSTANT_TIME,
)  # fmt: skip
FUNCTION = Category.FUNCTION

ATTACKS: dict[str, tuple[Category | None, str]] = {
    # Addresses are a section and an offset.
    "address_absolute": (MEMORY, "address 65552, which is no buffer"),
    "address_as_number": (UNSUPPORTED, "in a vector register"),
    "address_compared": (UNSUPPORTED, "depends on where a buffer or a section lies"),
    "address_difference": (UNSUPPORTED, "a sum or a difference of these addresses"),
    "address_distance": (MEMORY, "of section .rodata that end 4112 beyond it"),
    "address_other_code": (UNSUPPORTED, "a jump out of its section without a relocation"),
    "address_rounded": (UNSUPPORTED, "rounded beyond its known alignment"),
    "address_size": (UNSUPPORTED, "a prefix that its opcode does not ask for"),
    "address_tested": (UNSUPPORTED, "the low bits of an address"),
    "address_truncated": (UNSUPPORTED, "the low bits of an address"),
    "address_unrelocated": (MEMORY, "section .text, which is no buffer and no constants"),
    "code_address": (UNSUPPORTED, "no row for JMP_RM64"),
    "code_as_data": (MEMORY, "section .text, which is no buffer and no constants"),
    "code_table": (UNSUPPORTED, "no row for JMP_RM64"),
    "constant_of_linker": (UNSUPPORTED, "a constant that is what only a linker completes"),
    # What a linker may do with an object.
    "constant_end": (ELF, "'_end'.*a name that linkers define"),
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
    "section_merge": (MEMORY, r"of section .rodata.cst16\+0x0 that end 16 beyond it"),
    "section_merge_wide": (MEMORY, r"of section .rodata.cst8\+0x0 that end 8 beyond it"),
    "section_note": (ELF, "may treat it by its name"),
    "section_pages": (UNSUPPORTED, "rounded beyond its known alignment"),
    "section_retained": (ELF, "flags ALLOC GNU_RETAIN"),
    "section_split_stack": (ELF, "may treat it by its name"),
    "section_tls": (ELF, "flags WRITE ALLOC TLS"),
    "section_unwind": (MEMORY, ".eh_frame, which is no buffer and no constants"),
    "section_writable": (MEMORY, ".data, which is no buffer and no constants"),
    "section_zero": (ELF, "type SHT_NOBITS, flags ALLOC"),
    # Encodings that are read in two ways.
    "encoding_66_call": (UNSUPPORTED, "Intel and AMD read it differently"),
    "encoding_66_condition": (UNSUPPORTED, "Intel and AMD read it differently"),
    "encoding_66_jump": (UNSUPPORTED, "Intel and AMD read it differently"),
    "encoding_address_size_nop": (UNSUPPORTED, "a prefix that its opcode does not ask for"),
    "encoding_bnd_jump": (UNSUPPORTED, "a prefix that its opcode does not ask for"),
    "encoding_dead_rex": (UNSUPPORTED, "a prefix that another one overrides"),
    "encoding_immediate": (UNSUPPORTED, "meaningless bits set in its immediate"),
    "encoding_nop_prefixes": (UNSUPPORTED, "a prefix that its opcode does not ask for"),
    "encoding_rep_ret": (UNSUPPORTED, "a prefix that its opcode does not ask for"),
    "encoding_rex_w": (UNSUPPORTED, "not its usual encoding"),
    "encoding_segment": (UNSUPPORTED, "a prefix that its opcode does not ask for"),
    "encoding_vex_w": (UNSUPPORTED, "not its usual encoding"),
    # Values of which not all is known.
    "compared_twice": (FUNCTION, "a comparison of secrets"),
    # Calls and returns.
    "call_and_pop": (ABI, "a return address is read"),
    "call_dropped": (ABI, "elsewhere than at its CALL's return address"),
    "call_overwritten": (ABI, "a return address is read"),
    "push_and_ret": (ABI, "elsewhere than at its CALL's return address"),
    "ret_with_count": (UNSUPPORTED, "no row for RETNQ_IMM16"),
    "return_by_jump": (ABI, "a return address is read"),
    "return_by_memory": (UNSUPPORTED, "no row for JMP_RM64"),
    "return_copied": (ABI, "a return address is read"),
    "return_difference": (ABI, "a return address is read"),
    "return_minus_one": (ABI, "a return address is read"),
    "return_pushed": (ABI, "a return address is read"),
    "return_written": (MEMORY, "store to a return address"),
    # Marks and frames.
    "endbr_missing": (ABI, "does not begin with ENDBR64"),
    "endbr_other_note": (ELF, "may treat it by its name"),
    "endbr_second": (ABI, "does not begin with ENDBR64"),
    "frame_of_pages": (ABI, "not touched in order"),
    "frame_over_a_page": (ABI, "not touched in order"),
    # Time.
    "prefetch_secret": (TIME, "an address depends on a secret"),
    "prefetch_secret_index": (TIME, "an address depends on a secret"),
    "store_masked_off": (TIME, "an address depends on a secret"),
}

RUN_WRONG = (
    "address_as_number", "address_compared", "address_difference",
    "address_other_code", "address_truncated", "address_unrelocated", "function_indirect",
    "return_difference", "return_minus_one",
)  # fmt: skip
"""Wrong wherever they are linked and loaded as position-independent programs are."""

H, X = bytes(range(1, 17)), bytes(range(200, 216))


def test_every_file_is_an_attack() -> None:
    assert {p.stem for p in FOLDER.iterdir() if p.suffix in (".asm", ".s")} == set(ATTACKS)


@pytest.mark.parametrize("name", sorted(ATTACKS))
def test_a_wrong_object_is_refused_and_its_twin_is_proved(name: str, tmp_path: Path) -> None:
    abi = "win64" if name.startswith("frame") else "sysv"
    category, words = ATTACKS[name]
    refused(assemble(source(name), tmp_path, True).read_bytes(), category, words, abi)
    assert verdict(assemble(source(name), tmp_path, False).read_bytes(), abi) == (FUNCTION, "")


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
    need_programs("cc")


def driver(folder: Path) -> Path:
    def bytes_of(data: bytes) -> str:
        return ", ".join(str(byte) for byte in data)

    table = twisted_register(H).to_bytes(16, "little")
    path = folder / "driver.c"
    path.write_text(DRIVER % (bytes_of(X), bytes_of(multiply_blocks(X, H)), bytes_of(table)))
    return path


def runs(folder: Path, *objects: Path, shared: tuple[Path, ...] = (), linker: str = "") -> bool:
    """Link a position-independent program and run it; True if its result is right."""
    out = folder / "program"
    files = [str(path) for path in (driver(folder), *objects, *shared)]
    files += [f"-fuse-ld={linker}"] if linker else []
    link = ["cc", "-O1", "-pie", "-fPIE", "-w", *files, "-o", str(out), f"-Wl,-rpath,{folder}"]
    subprocess.run(link, check=True, capture_output=True)
    return subprocess.run([str(out)], check=False, timeout=60).returncode == 0


@pytest.mark.parametrize("name", RUN_WRONG)
def test_a_wrong_object_is_wrong_when_run(name: str, tmp_path: Path) -> None:
    can_run()
    assert runs(tmp_path, assemble(source(name), tmp_path, False))
    assert not runs(tmp_path, assemble(source(name), tmp_path, True))


def test_a_constant_under_a_name_of_the_linkers_is_elsewhere(tmp_path: Path) -> None:
    can_run()
    version = subprocess.run(["cc", "-Wl,--version"], check=False, capture_output=True, text=True)
    if "GNU ld" not in version.stdout:
        pytest.skip("the linker is not GNU ld, whose script assigns the name")
    assert runs(tmp_path, assemble(source("constant_end"), tmp_path, False))
    assert not runs(tmp_path, assemble(source("constant_end"), tmp_path, True))


OTHERS = {
    "function_weak": ".globl attack_mul\nattack_mul: ret",
    "constant_preemptible": ".section .rodata\n.balign 16\n.globl fold_constant\n"
    "fold_constant: .quad 1, 2",
    "section_merge": '.section .rodata.cst16, "aM", @progbits, 16\n.balign 16\n'
    ".byte 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0\n.quad 1, 2",
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


def test_gold_rewrites_how_a_function_of_a_split_stack_begins(tmp_path: Path) -> None:
    can_run()
    need_programs("ld.gold")
    other = tmp_path / "other.s"
    text = ".globl other\n.type other, @function\nother: ret\n"
    other.write_text(f'{text}.section .note.GNU-stack, "", @progbits\n')
    beside = assemble(other, tmp_path, False)
    for fault in (False, True):
        obj = assemble(source("section_split_stack"), tmp_path, fault)
        assert runs(tmp_path, obj, beside)
        assert runs(tmp_path, obj, beside, linker="gold") is not fault


def test_gold_takes_symbol_0_for_none(tmp_path: Path) -> None:
    can_run()
    need_programs("ld.gold")
    obj = assemble(source("return_minus_one"), tmp_path, False)
    assert runs(tmp_path, obj, linker="gold")
    wrong = Patch(bytearray(obj.read_bytes()))
    obj.write_bytes(wrong.symbol("", shndx=wrong.number(".rodata")).relocation(0, symbol=0).data)
    assert not runs(tmp_path, obj, linker="gold")


def test_gnu_ld_takes_any_note_for_a_promise(tmp_path: Path) -> None:
    if shutil.which("ld") is None or shutil.which("readelf") is None:
        pytest.skip("ld or readelf is missing")
    version = subprocess.run(["ld", "--version"], check=True, capture_output=True)
    if b"GNU ld" not in version.stdout:
        pytest.skip("the linker is not GNU ld")
    for fault in (False, True):
        obj, out = assemble(source("endbr_other_note"), tmp_path, fault), tmp_path / "program"
        subprocess.run(["ld", "-e", "attack_mul", str(obj), "-o", str(out)], check=True)
        notes = subprocess.run(["readelf", "-n", str(out)], check=True, capture_output=True)
        assert (b"IBT" in notes.stdout) is fault
