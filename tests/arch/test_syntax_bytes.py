"""The syntax `bytes`: the object is that of GNU as, and the assembler needs to know nothing."""

import re
from dataclasses import replace

import pytest
from helpers.compiling import emitted_text
from helpers.syntaxes import OF_AES, SAMPLE, elf_of, found

from ghashgen.arch.elf import read_elf
from ghashgen.arch.x86_64.syntax.bytes import encoded
from ghashgen.kernels.core import Point
from ghashgen.kernels.target import target
from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import assemble_text

KERNELS = (SAMPLE[0], SAMPLE[4], SAMPLE[7], OF_AES[0], OF_AES[4])
"""Legacy, VEX and EVEX code, with constants of each width, and AES-GCM with all functions."""
kernels = pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)


def parts(data: bytes) -> tuple[object, ...]:
    """What of an object runs: code, constants, relocations, and where functions lie."""
    elf = read_elf(data)
    sections = {name: elf.named(name) for name in (".text", ".rodata")}
    functions = sorted((s.name, s.value, s.size) for s in elf.symbols if s.name and s.section)
    return (
        {n: elf.sections[at].content for n, at in sections.items() if at is not None},
        [(r.at, r.type, r.addend) for r in elf.relocations],
        functions,
    )


@kernels
@pytest.mark.parametrize("name", ["as", "clang"])
def test_the_object_is_that_of_gnu_as(kernel: Point, name: str) -> None:
    made = parts(elf_of(kernel, "sysv", "bytes", found(name)))
    assert made == parts(elf_of(kernel, "sysv", "gas", found("as")))


@kernels
def test_an_assembler_that_knows_no_instruction_takes_it(kernel: Point) -> None:
    """GNU as is told to know those of the first x86-64 without SSE, as an old one would."""
    text = emitted_text(kernel, target("sysv", "elf64", syntax="bytes"))
    gas = emitted_text(kernel, target("sysv", "elf64", syntax="gas"))
    old = ".arch generic64\n.arch .nosse\n"
    tool = found("as")
    assert assemble_text(tool, kernel.name, old + text, "elf64")
    with pytest.raises(GhashgenError, match="failed"):
        assemble_text(tool, kernel.name, old + gas, "elf64")


def test_each_line_names_its_instruction() -> None:
    where = target("sysv", "elf64", syntax="bytes")
    lines = emitted_text(OF_AES[4], where).partition(".text")[2].splitlines()
    code = [line for line in lines if line.startswith("    .byte") and "#" in line]
    assert len(code) > 1000
    assert all(re.fullmatch(r"    (\.(byte|long) [^;#]+(; ?)?)+\s+# [a-z{].*", e) for e in code)
    # What is no instruction: directives, labels, padding, remarks.
    others = [line for line in lines if line.strip() and line not in code]
    assert all(re.match(r"\s*(\.|//|\w+:$)", line) for line in others)


def test_a_wrong_displacement_is_another_object() -> None:
    def wrong(*words: object) -> str:
        return encoded(*words).replace(" - . - 4", " - . - 5")  # type: ignore[arg-type]

    kernel = KERNELS[1]
    as_is = target("sysv", "elf64", syntax="bytes")
    other = replace(as_is, syntax=replace(as_is.syntax, encoded=wrong))
    tool, objects = found("as"), []
    for where in (as_is, other):
        text = emitted_text(kernel, where)
        objects.append(parts(assemble_text(tool, kernel.name, text, "elf64")))
    assert objects[0] != objects[1]
