"""Renders placed functions for a target as the text of one file.

The template holds the envelope (banner, sections, notes); every line of a function comes from here.
The banner states what was found in the assembled bytes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ghashgen.arch.core import Arch
from ghashgen.arch.objects import ObjectCode
from ghashgen.arch.schedules import WRITTEN
from ghashgen.arch.syntax import Names
from ghashgen.compiler.frame import Function
from ghashgen.compiler.pipeline import Compiled
from ghashgen.cost.audit import Audit
from ghashgen.cost.left import Left
from ghashgen.ir.program import Constant, Op, RegClass
from ghashgen.kernels.core import Point
from ghashgen.kernels.families import DEFAULT, family_of, functions_of, own_name
from ghashgen.kernels.target import BACKENDS, OWN, Target
from ghashgen.support.templates import environment

COMMENT_COLUMN = 52


@dataclass(frozen=True)
class RenderedFunction:
    """What a file says about one function."""

    name: str
    symbol: str
    prototype: str
    purpose: str
    stack_bytes: int
    spill_slots: int
    registers: str
    left: str
    """Where secrets may remain when it returns, "" if nowhere."""


@dataclass(frozen=True)
class Rendered:
    """The text of an emitted file, and what it says about its functions."""

    text: str
    functions: tuple[RenderedFunction, ...]


def regenerate_command(kernel: Point, target: Target) -> str:
    """Return the command that emits this file again."""
    return command("generate", kernel, target)


def command(verb: str, kernel: Point, target: Target) -> str:
    """Return the command line of a verb for this kernel and target; only generate takes a
    format.
    """
    words = [f"ghashgen {verb}"]
    if name := own_name(kernel):
        words += [f"--name {name}"]
    else:
        words += [f"--family {kernel.family}"] if kernel.family != DEFAULT else []
        axes = (axis for axis in family_of(kernel).axes if axis.mentioned(kernel))
        words += [axis.option(getattr(kernel, axis.name)) for axis in axes]
    arch = kernel.instruction_set.arch
    if (target.abi, target.fmt) != (arch.default_abi, arch.default_format):
        words += [f"--abi {target.abi.name}"]
        words += [f"--format {target.fmt.name}"] if verb == "generate" else []
    words += [f"--syntax {target.syntax.name}"] if target.syntax.name != arch.syntax else []
    words += [f"--backend {target.backend}"] if target.backend != OWN else []
    words += [f"--prefix {target.prefix}"] if target.prefix else []
    align = target.table_align_of(kernel)
    words += [f"--table-align {align}"] if align != kernel.instruction_set.operand_align else []
    return " ".join(words)


def _lines(
    kernel: Point, target: Target, name: str, function: Function, code: ObjectCode | None = None
) -> tuple[str, ...]:
    """Return a function's lines; with its bytes, as the syntax prints them."""
    syntax, rows = target.syntax, kernel.instruction_set.rows
    base = target.symbol(kernel.name)
    names = Names(functions_of(kernel)[name].symbol_in(base), base, target.fmt, target.hidden)
    encodings = iter(() if code is None else _encodings(names.symbol, function, code))
    lines: list[str] = []
    for line in function.lines:
        if isinstance(line, Op):
            text = syntax.instruction(line, rows[line.code], names)
            if code is not None and syntax.encoded is not None:
                text = syntax.encoded(line, text, next(encodings), names)
            lines.append(_line(f"    {text}", line.comment, syntax.comment))
        else:
            said = syntax.directive(line, names)
            lines.extend(_line(text, line.comment, syntax.comment) for text in said)
    return tuple(lines)


def _encodings(symbol: str, function: Function, code: ObjectCode) -> Iterator[bytes]:
    """Yield the bytes of each operation; padding, which has lengths too, is none."""
    at, lengths = code.functions[symbol][0], iter(function.lengths)
    for line in function.lines:
        if isinstance(line, Op) or line.code == "pad":
            end = at + next(lengths)
            if isinstance(line, Op):
                yield code.code[at:end]
            at = end


def _line(text: str, comment: str, mark: str) -> str:
    return f"{text:<{COMMENT_COLUMN - 2}}  {mark} {comment}" if comment else text


def _registers(arch: Arch, function: Function) -> str:
    parts = (
        arch.registers[RegClass.VEC].listed(function.vectors),
        arch.registers[RegClass.GPR].listed(function.generals),
    )
    return ", ".join(part for part in parts if part)


def places(arch: Arch, left: Left) -> str:
    """Return in words where secrets remain: "xmm0-3, rax, 64 bytes of stack", or ""."""
    stack = f"{left.stack_bytes} bytes of stack" if left.stack_bytes else ""
    return ", ".join(part for part in (arch.listed(left.registers), stack) if part)


def _constants(functions: Mapping[str, Function]) -> list[Constant]:
    """Return the distinct constants of all functions, by name.

    Raises:
        ValueError: two functions give one name two values.
    """
    used: dict[str, Constant] = {}
    for constant in (c for function in functions.values() for c in function.constants):
        if used.setdefault(constant.name, constant) != constant:
            raise ValueError(f"two values for the constant {constant.name}")
    return [used[name] for name in sorted(used)]


def draft(kernel: Point, target: Target, functions: Mapping[str, Function]) -> str:
    """Return the file to assemble first, without what only its bytes can tell."""
    lines = {name: _lines(kernel, target, name, item) for name, item in functions.items()}
    return (
        environment()
        .get_template(target.syntax.template)
        .render(
            kernel=kernel,
            target=target,
            symbol=target.symbol(kernel.name),
            counted=None,
            lines=lines,
            constants=_constants(functions),
        )
    )


def render(
    kernel: Point,
    target: Target,
    compiled: Mapping[str, Compiled],
    counted: Audit,
    code: ObjectCode,
) -> Rendered:
    """Return the file that ships: placed functions, and what was found in their bytes."""
    arch, exported = kernel.instruction_set.arch, functions_of(kernel)
    functions = {name: item.function for name, item in compiled.items()}
    said = tuple(
        RenderedFunction(
            name=name,
            symbol=(symbol := exported[name].symbol_in(target.symbol(kernel.name))),
            prototype=exported[name].prototype(symbol),
            purpose=exported[name].purpose(kernel),
            stack_bytes=function.stack_bytes,
            spill_slots=function.spill_slots,
            registers=_registers(arch, function),
            left=places(arch, counted.left[name]),
        )
        for name, function in functions.items()
    )
    text = (
        environment()
        .get_template(target.syntax.template)
        .render(
            kernel=kernel,
            target=target,
            symbol=target.symbol(kernel.name),
            counted=counted,
            left=places(arch, _everywhere(arch, counted)),
            words=family_of(kernel).words(kernel),
            table=family_of(kernel).table,
            backend="" if target.backend == OWN else BACKENDS[target.backend],
            align=target.table_align_of(kernel),
            functions={item.name: item for item in said},
            lines={
                name: _lines(kernel, target, name, item, code) for name, item in functions.items()
            },
            constants=_constants(functions),
            scheduled={
                name: item.order for name, item in compiled.items() if kernel.schedule != WRITTEN
            },
            command=regenerate_command(kernel, target),
        )
    )
    return Rendered(text, said)


def _everywhere(arch: Arch, counted: Audit) -> Left:
    """Return the union of what the functions may leave behind."""
    found = {name for left in counted.left.values() for name in left.registers}
    ordered = tuple(sorted(found, key=arch.order))
    return Left(ordered, max(left.stack_bytes for left in counted.left.values()))
