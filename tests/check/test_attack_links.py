"""The attack on the reader of objects: mangled tables, and what linkers make of them."""

import re
import shutil
from pathlib import Path

import pytest

from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.check.attack.core import Options, Outcome
from ghashgen.check.attack.parts import links
from ghashgen.support.toolchain import assemble_text
from ghashgen.verify.x86_64 import elf_kinds
from ghashgen.verify.x86_64.elf import load_image

pytestmark = pytest.mark.skipif(shutil.which("ld") is None, reason="no linker")


def made(text: str) -> bytes:
    return assemble_text(find_nasm(), "links", text, "elf64")


def said(data: bytes) -> str:
    return links.differs(load_image(data), links.Program(links._linked("ld", data)))


def test_mangled_objects_are_refused_or_are_in_programs_as_they_are_read(tmp_path: Path) -> None:
    options = Options(1, tmp_path)
    total = sum((links.work(options, number) for number in range(60)), start=Outcome())
    assert not total.findings
    assert total.refused["object"] > 10
    assert total.right > 10


def test_a_name_of_a_linkers_script_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that only its name makes another, where the reader knows no such names."""
    assert said(made(links.TEXT)) == ""
    wrong = made(re.sub(r"\binner\b", "_edata", links.TEXT))
    monkeypatch.setattr(elf_kinds, "OF_LINKERS", re.compile("none"))
    assert said(wrong) == "exported is elsewhere in .text"


def test_another_byte_or_another_place_is_found() -> None:
    data = made(links.TEXT)
    program = links.Program(links._linked("ld", data))
    for old, new, words in (
        ("1, 2, 3, 4", "1, 2, 3, 5", "of .rodata is another"),
        ("first + 16", "first + 8", "leads to .rodata"),
        ("align=4096", "align=8192", ""),
    ):
        found = links.differs(load_image(made(links.TEXT.replace(old, new))), program)
        assert (words in found) if words else not found, found
