"""Rendering: compiled functions and a target become the text of one file.

The template holds the envelope (banner, sections, notes); every instruction comes from here. The
banner states what was found in the assembled bytes, so a listing has none before it is assembled:
`output.place.place` adds it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from ghashgen.arch.core import Arch
from ghashgen.arch.x86_64.uarch.schedules import WRITTEN
from ghashgen.compiler.pipeline import Compiled, compile_kernel
from ghashgen.cost.audit import Audit
from ghashgen.cost.left import Left
from ghashgen.ir.program import Constant, Mem, RegClass
from ghashgen.kernels.families import family_of, functions_of
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import Target
from ghashgen.support.templates import environment

COMMENT_COLUMN = 52


@dataclass(frozen=True)
class RenderedFunction:
    """One function of a listing."""

    name: str
    symbol: str
    prototype: str
    purpose: str
    lines: tuple[str, ...]
    stack_bytes: int
    spill_slots: int
    registers: str
    left: str | None
    """Where secrets may be when it returns, "" if nowhere, None if its bytes are not known yet."""


@dataclass(frozen=True)
class Listing:
    """The text of an emitted file and what its generator knows about it."""

    kernel: Kernel
    target: Target
    text: str
    functions: tuple[RenderedFunction, ...]
    compiled: Mapping[str, Compiled]


def regenerate_command(kernel: Kernel, target: Target) -> str:
    """Return the command that emits this file again."""
    words = ["ghashgen generate"]
    if kernel.alias:
        words += [f"--name {kernel.alias}"]
    else:
        words += [axis.option(getattr(kernel, axis.name)) for axis in family_of(kernel).axes]
    arch = kernel.set.arch
    if (target.abi, target.fmt) != (arch.default_abi, arch.default_format):
        words += [f"--abi {target.abi.name} --format {target.fmt.name}"]
    words += [f"--prefix {target.prefix}"] if target.prefix else []
    align = target.table_align_of(kernel)
    words += [f"--table-align {align}"] if align != kernel.set.operand_align else []
    return " ".join(words)


def _line(text: str, comment: str, mark: str) -> str:
    return f"{text:<{COMMENT_COLUMN - 2}}  {mark} {comment}" if comment else text


def _lines(kernel: Kernel, target: Target, symbol: str, compiled: Compiled) -> tuple[str, ...]:
    syntax, rows = target.syntax, kernel.set.rows
    prefix = target.symbol(kernel.name)
    lines: list[str] = []
    for index, block in enumerate(compiled.function.program.blocks):
        if index:
            lines.append(syntax.label(symbol, block.label))
        for op in block.ops:
            text = "    " + syntax.instruction(op, rows[op.code], prefix)
            lines.append(_line(text, op.comment, syntax.comment))
    return tuple(lines)


def _registers(arch: Arch, compiled: Compiled) -> str:
    function, files = compiled.function, arch.registers
    parts = (
        files[RegClass.VEC].listed(function.vectors),
        files[RegClass.GPR].listed(function.generals),
    )
    return ", ".join(part for part in parts if part)


def places(arch: Arch, left: Left) -> str:
    """Return what is left behind in words: xmm0-3, rax, 64 bytes of stack; "" for nothing."""
    stack = f"{left.stack_bytes} bytes of stack" if left.stack_bytes else ""
    return ", ".join(part for part in (arch.listed(left.registers), stack) if part)


def _constants(compiled: Mapping[str, Compiled]) -> list[Constant]:
    used: dict[str, Constant] = {}
    for function in compiled.values():
        read = {
            operand.symbol
            for op in function.function.program.ops
            for operand in op.operands
            if isinstance(operand, Mem)
        }
        for name, constant in function.abstract.constants.items():
            if name in read:
                used[name] = constant
    return [used[name] for name in sorted(used)]


def render(kernel: Kernel, target: Target) -> Listing:
    """Compile a kernel and return what the assembler is given: its file without the banner."""
    return listing(
        kernel, target, compile_kernel(kernel, target.abi, target.table_align_of(kernel))
    )


def listing(
    kernel: Kernel,
    target: Target,
    compiled: Mapping[str, Compiled],
    counted: Audit | None = None,
) -> Listing:
    """Return the file of functions that were compiled for the target's calling convention.

    It has a banner if the audit of its assembled bytes is given.
    """
    rendered = []
    arch = kernel.set.arch
    for name, item in compiled.items():
        symbol = target.symbol(f"{kernel.name}_{name}")
        function = functions_of(kernel)[name]
        rendered.append(
            RenderedFunction(
                name=name,
                symbol=symbol,
                prototype=function.prototype(symbol),
                purpose=function.purpose(kernel),
                lines=_lines(kernel, target, symbol, item),
                stack_bytes=item.function.stack_bytes,
                spill_slots=item.function.spill_slots,
                registers=_registers(arch, item),
                left=None if counted is None else places(arch, counted.left[name]),
            )
        )
    text = (
        environment()
        .get_template(target.syntax.template)
        .render(
            kernel=kernel,
            target=target,
            symbol=target.symbol(kernel.name),
            counted=counted,
            left=None if counted is None else places(arch, _everywhere(arch, counted)),
            operation=kernel.definition,
            align=target.table_align_of(kernel),
            functions=rendered,
            constants=_constants(compiled),
            scheduled={
                name: item.order for name, item in compiled.items() if kernel.schedule != WRITTEN
            },
            command=regenerate_command(kernel, target),
        )
    )
    return Listing(kernel, target, text, tuple(rendered), compiled)


def _everywhere(arch: Arch, counted: Audit) -> Left:
    """Return what any function may leave behind."""
    found = {name for left in counted.left.values() for name in left.registers}
    ordered = tuple(sorted(found, key=arch.order))
    return Left(ordered, max(left.stack_bytes for left in counted.left.values()))
