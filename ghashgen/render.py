"""Rendering: compiled functions and a target become the text of one file.

The template holds the envelope (banner, sections, notes); every instruction comes from here.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from ghashgen.abi import GPR_NAMES
from ghashgen.ir import Constant, Mem, Op
from ghashgen.kernel import Kernel
from ghashgen.passes.pipeline import Compiled, compile_kernel
from ghashgen.target import Target
from ghashgen.templates import environment
from ghashgen.uarch.schedules import WRITTEN

COMMENT_COLUMN = 52

PROTOTYPES: Mapping[str, str] = {
    "init": "void {symbol}(void *table, const uint8_t h[16])",
    "mul": "void {symbol}(const void *table, uint8_t x[16])",
    "update": "void {symbol}(const void *table, uint8_t x[16], const uint8_t *in, size_t len)",
    "power": "void {symbol}(const void *table, uint8_t y[16], uint64_t m)",
    "combine": "void {symbol}(uint8_t x[16], const uint8_t y[16], const uint8_t p[16])",
}
"""C prototypes of the emitted functions; the last two are those of kernels with segments."""

PURPOSES: Mapping[str, str] = {
    "init": "fill the table from the hash subkey h",
    "mul": "x = x·H",
    "update": "x = GHASH continued over len bytes, the last block zero-padded",
    "power": "y = H^m, for every m from 0",
    "combine": "x = x·p + y: p = H^m of power, y the hash of a segment of m blocks from state 0",
}
"""What each function does, in one line."""


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


@dataclass(frozen=True)
class Listing:
    """The text of an emitted file and what its generator knows about it."""

    kernel: Kernel
    target: Target
    text: str
    features: tuple[str, ...]
    functions: tuple[RenderedFunction, ...]
    compiled: Mapping[str, Compiled]


def features_of(kernel: Kernel, compiled: Mapping[str, Compiled]) -> tuple[str, ...]:
    """Return the CPUID features that the instructions really used need, sorted."""
    rows = kernel.set.rows
    needed = {
        feature
        for function in compiled.values()
        for op in function.function.program.ops
        for feature in rows[op.code].features
    }
    return tuple(sorted(needed))


def regenerate_command(kernel: Kernel, target: Target) -> str:
    """Return the command that emits this file again."""
    if kernel.alias:
        words = ["ghashgen generate", f"--name {kernel.alias}"]
    else:
        words = [
            "ghashgen generate",
            f"--isa {kernel.isa} --multiply {kernel.multiply} --reduce {kernel.reduce}",
            f"--blocks {kernel.blocks} --order {kernel.order} --op {kernel.op}",
            f"--fold {kernel.fold} --swap {kernel.swap} --powers {kernel.powers}",
            f"--pipeline {kernel.pipeline} --schedule {kernel.schedule}",
            f"--{'wipe' if kernel.wipe else 'no-wipe'}",
        ]
        words += ["--segments"] if kernel.segments else []
    words += [f"--abi {target.abi.name}"] if target.abi.name != "sysv" else []
    words += [f"--prefix {target.prefix}"] if target.prefix else []
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


def _registers(kernel: Kernel, compiled: Compiled) -> str:
    function = compiled.function
    vectors = f"xmm{_ranges(function.vectors)}" if function.vectors else ""
    generals = " ".join(GPR_NAMES[number] for number in function.generals)
    return ", ".join(part for part in (vectors, generals) if part)


def _ranges(numbers: tuple[int, ...]) -> str:
    """Return 0-3,7 for (0, 1, 2, 3, 7)."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and parts[-1][-1] == number - 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in parts)


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


def class_counts(kernel: Kernel, ops: tuple[Op, ...]) -> dict[str, int]:
    """Count operations by audit class; a memory operand of a computing instruction is no load."""
    counts = Counter(kernel.set.rows[op.code].audit_class for op in ops)
    return dict(sorted(counts.items()))


def render(kernel: Kernel, target: Target) -> Listing:
    """Compile a kernel and return its file."""
    return listing(kernel, target, compile_kernel(kernel, target.abi))


def listing(kernel: Kernel, target: Target, compiled: Mapping[str, Compiled]) -> Listing:
    """Return the file of functions that were compiled for the target's calling convention."""
    functions = []
    for name, item in compiled.items():
        symbol = target.symbol(f"{kernel.name}_{name}")
        functions.append(
            RenderedFunction(
                name=name,
                symbol=symbol,
                prototype=PROTOTYPES[name].format(symbol=symbol),
                purpose=PURPOSES[name],
                lines=_lines(kernel, target, symbol, item),
                stack_bytes=item.function.stack_bytes,
                spill_slots=item.function.spill_slots,
                registers=_registers(kernel, item),
            )
        )
    features = features_of(kernel, compiled)
    group = next(b for b in compiled["update"].function.program.blocks if b.label == "group")
    text = (
        environment()
        .get_template(target.syntax.template)
        .render(
            kernel=kernel,
            target=target,
            symbol=target.symbol(kernel.name),
            features=features,
            functions=functions,
            constants=_constants(compiled),
            group=class_counts(kernel, group.ops),
            group_total=len(group.ops),
            scheduled={
                name: item.order for name, item in compiled.items() if kernel.schedule != WRITTEN
            },
            command=regenerate_command(kernel, target),
        )
    )
    return Listing(kernel, target, text, features, tuple(functions), compiled)
