"""What the tests of AArch64 share: its tools, or a word on which is missing, and runs by qemu."""

import subprocess
from pathlib import Path

import pytest

from ghashgen.arch.aarch64 import ARCH
from ghashgen.arch.aarch64.assemblers import GAS
from ghashgen.arch.aarch64.sets.pmull import ISA
from ghashgen.arch.aarch64.syntax.gas import SYNTAX
from ghashgen.arch.syntax import Names
from ghashgen.compiler.frame import Function
from ghashgen.ir.program import Op
from ghashgen.kernels.target import Target, target
from ghashgen.run.machine import Machine, machine_for
from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import Tool, assemble_text, compile_c, find_assembler, link

WHERE: Target = target(arch=ARCH.name)


@pytest.fixture(scope="session")
def gas() -> Tool:
    """GNU as or clang for AArch64."""
    try:
        return find_assembler(GAS)
    except GhashgenError as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def machine() -> Machine:
    """What runs programs of AArch64 here."""
    try:
        return machine_for(ARCH)
    except GhashgenError as missing:
        pytest.skip(str(missing))


def lines(function: Function, symbol: str) -> str:
    """Return the text of a function, without the file around it."""
    names = Names(symbol, symbol, ARCH.default_format)
    out = [SYNTAX.opening, ".section .rodata"]
    for constant in function.constants:
        out += [".p2align 4", f".L{symbol}_{constant.name}:"]
        out.append(".byte " + ", ".join(map(str, constant.data)))
    out.append(".text")
    for line in function.lines:
        if isinstance(line, Op):
            out.append(SYNTAX.instruction(line, ISA.rows[line.code], names))
        else:
            out += SYNTAX.directive(line, names)
    return "\n".join([*out, ""])


CALLER = """
#include <stdio.h>
#include <string.h>
extern void subject(void *out, const void *in);
static unsigned char in[{bytes}], out[{room}];
int main(void)
{{
    if (fread(in, 1, sizeof in, stdin) != sizeof in)
        return 1;
    subject(out, in);
    return fwrite(out, 1, sizeof out, stdout) != sizeof out;
}}
"""


def run(
    gas: Tool, machine: Machine, folder: Path, function: Function, data: bytes, room: int
) -> bytes:
    """Call a function of (out, in) on some bytes; return `room` bytes of out."""
    obj, main, caller = folder / "subject.o", folder / "main.o", folder / "main.c"
    obj.write_bytes(assemble_text(gas, "subject", lines(function, "subject"), "elf64"))
    caller.write_text(CALLER.format(bytes=len(data), room=room))
    compile_c(machine.cc, caller, main, flags=("-O1", "-fPIE"))
    program = folder / "main"
    link(machine.cc, [main, obj], program, flags=machine.linked_as)
    command = [*machine.command, str(program)]
    return subprocess.run(command, input=data, capture_output=True, check=True).stdout
