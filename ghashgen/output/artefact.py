"""An artefact: a kernel as it ships, its assembled bytes, and what was counted in them.

`make` is the only way to one: nothing else prints, places or assembles what is emitted.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from msgspec import UNSET

from ghashgen.arch.objects import ObjectCode, read_object
from ghashgen.compiler.frame import Function
from ghashgen.compiler.pipeline import Compiled, Measure
from ghashgen.cost.audit import Audit, Region, audit
from ghashgen.kernels.core import Fixed, Point
from ghashgen.kernels.families import family_of, functions_of
from ghashgen.kernels.manifest import (
    Counted,
    Counts,
    Entry,
    Left,
    Object,
    Parts,
    TableEntry,
    axes_in,
)
from ghashgen.kernels.target import Target, require_fit
from ghashgen.output.backend import Hold
from ghashgen.output.backends import PREPARE
from ghashgen.output.render import RenderedFunction, draft, regenerate_command, render
from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import Tool, assemble_text


@dataclass(frozen=True)
class Artefact:
    """Everything that is emitted for one kernel."""

    kernel: Point
    target: Target
    text: str
    functions: tuple[RenderedFunction, ...]
    code: bytes
    """The bytes of .text, before relocation."""
    audit: Audit

    @property
    def file(self) -> str:
        """Path below the output folder."""
        name = self.target.symbol(self.kernel.name)
        return f"{self.kernel.instruction_set.name}/{name}.{self.target.syntax.suffix}"


def make(kernel: Point, target: Target, assembler: Tool) -> Artefact:
    """Compile, place, assemble, audit and render one kernel.

    Raises:
        GhashgenError: the assembler fails or does not fit the syntax, placement does not settle, a
            kernel that should wipe does not, or the back end cannot make the kernel.
    """
    prepared = PREPARE[target.backend](kernel, target)
    return finish(kernel, target, assembler, prepared.compiling, prepared.hold)


def finish(
    kernel: Point,
    target: Target,
    assembler: Tool,
    compiling: Callable[[Measure], Mapping[str, Compiled]],
    hold: Hold | None = None,
) -> Artefact:
    """Finish a kernel whose functions `compiling` compiles; `hold` checks the assembled object.

    It assembles twice, once only to measure: emitting the draft's bytes would mean that we encode
    jumps ourselves.

    Raises:
        GhashgenError: as `make`.
    """
    require_fit((kernel,), target)
    # Only ELF is read here. The bytes do not depend on the container.
    as_elf = replace(target, fmt=kernel.instruction_set.arch.default_format)
    exported = functions_of(kernel)

    def assembled(functions: Mapping[str, Function]) -> bytes:
        text = draft(kernel, as_elf, functions)
        return assemble_text(assembler, kernel.name, text, as_elf.fmt.name)

    def lengths(code: ObjectCode, name: str) -> tuple[int, ...]:
        body = code.function(exported[name].symbol_in(target.symbol(kernel.name)))
        return tuple(map(code.decoder.length, body))

    def measure(functions: Mapping[str, Function]) -> dict[str, tuple[int, ...]]:
        code = read_object(assembled(functions))
        return {name: lengths(code, name) for name in functions}

    compiled = compiling(measure)
    functions = {name: item.function for name, item in compiled.items()}
    data = assembled(functions)
    code = read_object(data)
    for name, function in functions.items():
        if lengths(code, name) != function.lengths:
            raise GhashgenError(
                f"{kernel.name}_{name}: instruction lengths changed after placement",
                "report this kernel and the version of the assembler",
            )
    if hold is not None:
        hold(compiled, data)
    counted = audit(kernel, target.symbol(kernel.name), code)
    if kernel.wipe and any(left.names for left in counted.left.values()):
        raise GhashgenError(f"{kernel.name} does not wipe all secrets", "report this kernel")
    rendered = render(kernel, target, compiled, counted, code)
    return Artefact(kernel, target, rendered.text, rendered.functions, code.code, counted)


def sha256(data: bytes) -> str:
    """Return the SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def _counted(region: Region) -> Counted:
    return Counted(region.instructions, dict(region.classes), region.memory_operands)


def _parts(kernel: Point) -> dict[str, Parts]:
    """Return the memory of a kernel's parameters that has parts."""
    params = (param for function in functions_of(kernel).values() for param in function.params)
    return {
        param.name: Parts(param.size.count, dict(param.size.parts))
        for param in params
        if isinstance(param.size, Fixed) and param.size.parts
    }


def manifest_entry(artefact: Artefact, assembler: Tool) -> Entry:
    """Return the kernel's entry in MANIFEST.json."""
    kernel, target, counted = artefact.kernel, artefact.target, artefact.audit
    align = target.table_align_of(kernel)
    return Entry(
        name=kernel.name,
        axes=axes_in(kernel, target.abi.name, target.syntax.name, target.backend),
        cpu_features=tuple(counted.features),
        symbols={item.name: item.symbol for item in artefact.functions},
        prototypes={item.name: item.prototype for item in artefact.functions},
        table=TableEntry(
            bytes=kernel.layout.size,
            align=align,
            best_align=max(kernel.best_align, align),
            top_power=kernel.layout.top,
            arrays=dict(kernel.layout.arrays),
            cells=kernel.layout.cells,
        ),
        parts=_parts(kernel) or UNSET,
        stack_bytes=dict(counted.stack_bytes),
        spill_slots={item.name: item.spill_slots for item in artefact.functions},
        registers={name: tuple(used) for name, used in counted.registers.items()},
        left={
            name: Left(tuple(left.registers), left.stack_bytes)
            for name, left in counted.left.items()
        },
        counts=Counts(
            group=_counted(counted.group),
            single_block=_counted(counted.single),
            functions={name: _counted(body) for name, body in counted.functions.items()},
        ),
        code_bytes=dict(counted.code_bytes),
        file=artefact.file,
        sha256=sha256(artefact.text.encode()),
        object=Object(sha256(artefact.code), assembler.said),
        proved=UNSET if kernel.instruction_set.arch.proved else False,
        theorems=tuple(family_of(kernel).theorems(kernel)),
        regenerate=regenerate_command(kernel, target),
    )
