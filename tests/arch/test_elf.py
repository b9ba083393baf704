"""ELF objects as everything outside `verify` reads them; damaged ones are refused in a line."""

import re

import pytest
from helpers.verify_objects import assembled

from ghashgen.arch.elf import GLOBAL, read_elf
from ghashgen.arch.objects import read_object
from ghashgen.run.emulate.image import load_object
from ghashgen.support.errors import GhashgenError
from ghashgen.verify.x86_64.elf import load_image

TEXT = """
default rel
section .rodata
    dq 1
constant: dq 2, 3
section .text
global f:function (f.end - f)
f:  mov rax, [constant]
.inside:
    ret
.end:
section .bss
    resb 24
"""


@pytest.fixture(scope="module")
def obj() -> bytes:
    return assembled(TEXT)


def test_parts_of_an_object(obj: bytes) -> None:
    elf = read_elf(obj)
    assert (elf.machine, elf.type) == ("EM_X86_64", "ET_REL")
    text, data, bss = (elf.named(name) for name in (".text", ".rodata", ".bss"))
    assert text is not None
    assert data is not None
    assert bss is not None
    assert elf.sections[bss].content == bytes(24)
    (f,) = (symbol for symbol in elf.symbols if symbol.binding == GLOBAL)
    assert (f.name, f.section, f.value, f.size) == ("f", text, 0, 8)
    (entry,) = elf.relocations
    # R_X86_64_PC32 against .rodata: 8 bytes into it, less the 4 to the next instruction.
    assert (entry.section, entry.at, entry.type, entry.addend) == (text, 3, 2, 8 - 4)
    assert (entry.symbol.section, entry.symbol.value) == (data, 0)
    assert elf.named(".nothing") is None


def test_readers_agree(obj: bytes) -> None:
    code, image = read_object(obj), load_object(obj)
    assert code.functions == {"f": (0, 8)}
    assert code.symbols["f.inside"] == 7
    assert image.address_of("f.inside") == image.address_of("f") + 7
    laid = next(segment for segment in image.segments if segment.name == ".text")
    assert laid.content[:3] + laid.content[7:] == code.code[:3] + code.code[7:]


def test_what_the_prover_reads_every_reader_reads(obj: bytes) -> None:
    """Change every byte of the file in three ways: no reader refuses, or stops at, more than it."""
    read, refused = 0, set()
    for at, byte in enumerate(obj):
        for value in (byte ^ 1, byte ^ 0x80, 0xFF):
            changed = obj[:at] + bytes([value]) + obj[at + 1 :]
            proved = True
            try:
                load_image(changed)
            except GhashgenError:
                proved = False
            for reader in (read_object, load_object):
                try:
                    reader(changed)
                except GhashgenError as refusal:
                    if proved:
                        refused.add(re.sub("'[^ ]*'", "", refusal.cause))
            read += proved
    assert len(obj) < 2 * read < 6 * len(obj)
    # The prover lets sections of zeros have any size.
    assert refused == {"a section is too large or compressed"}


def patched(obj: bytes, section: str, at: int, content: bytes) -> bytes:
    start = obj.index(next(s.content for s in read_elf(obj).sections if s.name == section))
    return obj[: start + at] + content + obj[start + at + len(content) :]


def test_damaged_objects_are_refused(obj: bytes) -> None:
    with pytest.raises(GhashgenError, match="not an ELF object"):
        read_elf(b"MZ")
    with pytest.raises(GhashgenError, match="not an ELF64 object"):
        read_elf(obj[:4] + b"\x01" + obj[5:])
    # Elf64_Sym begins with the place of the name, Elf64_Rela has the symbol in bytes 12 to 15.
    with pytest.raises(GhashgenError, match="symbol table is damaged"):
        read_object(patched(obj, ".symtab", 24, b"\xff\xff\xff\x7f"))
    with pytest.raises(GhashgenError, match="names no symbol"):
        load_object(patched(obj, ".rela.text", 12, b"\xff\xff\xff\x7f"))
    with pytest.raises(GhashgenError, match="lies outside"):
        load_object(patched(obj, ".rela.text", 0, b"\xff\x00"))
    with pytest.raises(GhashgenError, match="the object is for EM_386"):
        read_object(obj[:18] + b"\x03" + obj[19:])
