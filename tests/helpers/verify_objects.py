"""Assembles the hand-written kernels of asm_verify, as they are or with a planted fault."""

import tempfile
from functools import cache
from pathlib import Path

from ghashgen.algebra.field.bitorder import (
    Order,
    element_from_register,
    register_from_block,
    register_from_element,
    twist,
)
from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.support.toolchain import assemble

ASM = Path(__file__).parents[1] / "asm_verify"


@cache
def assembled(text: str) -> bytes:
    """Return the ELF64 object of a nasm source."""
    with tempfile.TemporaryDirectory() as folder:
        source, obj = Path(folder) / "kernel.asm", Path(folder) / "kernel.o"
        source.write_text(text)
        assemble(find_nasm(), source, obj, "elf64")
        return obj.read_bytes()


def edited(name: str, old: str, new: str, occurrence: int = 0) -> bytes:
    """Return the object of a kernel in which one occurrence of a text is replaced."""
    text = (ASM / f"{name}.asm").read_text()
    parts = text.split(old)
    assert len(parts) > occurrence + 1, f"{name}.asm has no such text: {old!r}"
    changed = old.join(parts[: occurrence + 1]) + new + old.join(parts[occurrence + 1 :])
    assert changed != text
    return assembled(changed)


def original(name: str) -> bytes:
    """Return the object of a kernel."""
    return assembled((ASM / f"{name}.asm").read_text())


def twisted_register(h: bytes) -> int:
    """Return B_1, in reflected order, for a hash subkey of 16 bytes."""
    order = Order.REFLECTED
    element = element_from_register(register_from_block(h, order), order)
    return register_from_element(twist(element, order), order)
