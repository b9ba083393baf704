"""Parameters beyond the registers: compiled, rechecked, and called natively in both conventions."""

import platform
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ghashgen.arch.core import Abi
from ghashgen.arch.registry import isas
from ghashgen.arch.rows import Isa
from ghashgen.arch.syntax import Names
from ghashgen.arch.x86_64 import ARCH
from ghashgen.arch.x86_64.abi import SYSV, WIN64
from ghashgen.arch.x86_64.syntax.nasm import SYNTAX
from ghashgen.compiler.allocate import allocate
from ghashgen.compiler.arrive import arrive
from ghashgen.compiler.frame import Function, frame
from ghashgen.compiler.recheck import AllocationError, recheck
from ghashgen.compiler.select import select
from ghashgen.ir.builder import Builder
from ghashgen.ir.program import Argument, Mem, Op, Program, RegClass, VReg
from ghashgen.support.programs import program as build
from ghashgen.support.toolchain import Tool, assemble_text, find_cc

# The baseline of every x86-64 CPU, so that any can run it.
SSE = isas()["sse"]
NAMES = ("a", "b", "out", "c", "d", "e", "n")
conventions = pytest.mark.parametrize("abi", [SYSV, WIN64], ids=lambda abi: abi.name)


def toy(kept: int = 0) -> Program:
    """out = a + b + c + d + e, blocks by address, + n; `kept` registers live throughout."""
    b = Builder("toy", NAMES)
    held = [b.gpr("gpr_const", 16 * i) for i in range(kept)]
    first, second, out, *others, n = b.params
    # All are loaded before any is added, so that few registers do not suffice.
    blocks = [b.load(Mem(base=base), "block") for base in (first, second, *others)]
    total = b.from_gpr(n)
    for block in blocks:
        total = b.xor(total, block)
    for index in held:
        b.store(Mem(base=out, index=index), total)
    b.store(Mem(base=out), total)
    return b.program()


def compiled(program: Program, isa: Isa, abi: Abi, vectors: int | None = None) -> Function:
    selected = select(program, isa)
    allocation = allocate(selected, isa, abi, vectors)
    recheck(selected, allocation.program, allocation.slots, isa, abi)
    return frame(allocation, isa, abi, wipe=False)


def loads(program: Program) -> list[tuple[object, ...]]:
    return [op.operands for op in program.ops if op.code == "gpr_load64"]


def test_what_the_registers_do_not_hold_is_loaded_at_the_entry() -> None:
    program = toy()
    registers = program.params
    assert loads(arrive(program, SYSV)) == [(registers[6], Argument(0))]
    assert loads(arrive(program, WIN64)) == [(registers[4 + i], Argument(i)) for i in range(3)]


def test_a_parameter_that_nothing_reads_is_not_loaded() -> None:
    b = Builder("toy", NAMES)
    b.store(Mem(base=b.params[-1]), b.zero())
    assert loads(arrive(b.program(), WIN64)) == [(b.params[-1], Argument(2))]


def test_a_function_whose_parameters_all_fit_stays_as_it_is() -> None:
    b = Builder("toy", NAMES[:4])
    b.store(Mem(base=b.params[-1]), b.zero())
    program = b.program()
    assert arrive(program, WIN64) is program


def wrong_place(op: Op) -> Op:
    """Load another parameter of the stack."""
    places = (
        Argument(1 - x.index) if isinstance(x, Argument) and x.index < 2 else x for x in op.operands
    )
    return op.on(*places)


def wrong_register(op: Op) -> Op:
    """Load into a register that nothing asks for."""
    if not any(isinstance(x, Argument) for x in op.operands):
        return op
    return op.on(VReg(RegClass.GPR, 999), op.operands[1])


@pytest.mark.parametrize("fault", [wrong_place, wrong_register])
def test_a_parameter_from_the_wrong_place_is_noticed(fault: Callable[[Op], Op]) -> None:
    program = arrive(toy(), WIN64)
    first, *rest = program.blocks
    faulty = replace(program, blocks=(replace(first, ops=tuple(map(fault, first.ops))), *rest))
    with pytest.raises(AllocationError, match="which does not hold it"):
        compiled(faulty, SSE, WIN64)


def test_a_parameter_that_is_not_loaded_is_noticed() -> None:
    with pytest.raises(AllocationError, match="which does not hold it"):
        compiled(toy(), SSE, WIN64)


def test_an_allocation_that_loads_another_parameter_is_noticed() -> None:
    selected = select(arrive(toy(), WIN64), SSE)
    allocation = allocate(selected, SSE, WIN64)
    first, *rest = allocation.program.blocks
    faulty = replace(
        allocation.program, blocks=(replace(first, ops=tuple(map(wrong_place, first.ops))), *rest)
    )
    with pytest.raises(AllocationError, match="became"):
        recheck(selected, faulty, allocation.slots, SSE, WIN64)


def source(function: Function, isa: Isa) -> str:
    names = Names("toy", "toy", ARCH.default_format)
    lines = ["default rel", "section .text"]
    for line in function.lines:
        if isinstance(line, Op):
            lines.append(SYNTAX.instruction(line, isa.rows[line.code], names))
        else:
            lines += SYNTAX.directive(line, names)
    return "\n".join([*lines, "section .note.GNU-stack noalloc noexec nowrite progbits", ""])


DRIVER = """
#include <stdint.h>
#include <stdio.h>
#include <string.h>
typedef uint8_t block[16];
__attribute__((%s)) void toy(const block a, const block b, block *out, const block c,
                             const block d, const block e, uint64_t n);
int main(void) {
    block in[5], out[16], want;
    uint64_t n = 0x1122334455667788;
    memset(want, 0, 16);
    memcpy(want, &n, 8);
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 16; j++)
            want[j] ^= in[i][j] = (uint8_t)(31 * i + 7 * j + (i << j %% 8));
    memset(out, 0xaa, sizeof out);
    toy(in[0], in[1], out, in[2], in[3], in[4], n);
    for (int i = 0; i <= %d; i++)
        if (i == 0 || i < %d)
            for (int j = 0; j < 16; j++)
                if (out[i][j] != want[j])
                    return printf("block %%d, byte %%d\\n", i, j), 1;
    return puts("right"), 0;
}
"""

FRAMES = {"no frame": (None, 0), "spills": (2, 0), "pushes": (None, 5), "both": (2, 6)}
"""Vector registers allowed, general registers held: what lies between rsp and the parameters."""


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="x86-64 code")
@conventions
@pytest.mark.parametrize("shape", FRAMES)
def test_a_function_of_seven_parameters_runs(
    abi: Abi, shape: str, nasm: Tool, tmp_path: Path
) -> None:
    vectors, kept = FRAMES[shape]
    function = compiled(arrive(toy(kept), abi), SSE, abi, vectors)
    assert (function.spill_slots > 0) == (vectors is not None)
    assert (function.stack_bytes > 0) == (shape != "no frame")
    (tmp_path / "toy.o").write_bytes(assemble_text(nasm, "toy", source(function, SSE), "elf64"))
    convention = {"sysv": "sysv_abi", "win64": "ms_abi"}[abi.name]
    driver = tmp_path / "driver.c"
    driver.write_text(DRIVER % (convention, kept, kept), encoding="utf-8")
    made = build(find_cc(), "toy", [driver], [tmp_path / "toy.o"], tmp_path)
    ran = subprocess.run([made], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, "right\n")


@conventions
def test_the_address_of_a_parameter_is_that_of_the_convention(abi: Abi) -> None:
    function = compiled(arrive(toy(), abi), SSE, abi)
    stack = ARCH.stack_pointer
    found = [
        op.operands[1]
        for op in function.ops
        if op.code == "mov.load64" and isinstance(op.operands[1], Mem)
    ]
    assert all(mem.base is not None and mem.base.index == stack for mem in found)
    # Behind the return address; Win64 keeps 32 bytes for the callee there.
    first = {"sysv": 8, "win64": 40}[abi.name]
    assert [mem.disp - function.stack_bytes for mem in found] == [
        first + 8 * index for index in range(7 - len(abi.params))
    ]
