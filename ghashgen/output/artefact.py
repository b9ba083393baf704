"""An artefact: a kernel as it ships, its assembled bytes, and what was counted in them.

`make` is the one way to it: nothing else prints, places or assembles what is emitted.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from ghashgen.arch.objects import ObjectCode, read_object
from ghashgen.compiler.frame import Function
from ghashgen.compiler.pipeline import Compiled, Measure, compile_kernel
from ghashgen.cost.audit import Audit, Region, audit
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import Target
from ghashgen.output.render import RenderedFunction, draft, regenerate_command, render
from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import Tool, assemble_text


@dataclass(frozen=True)
class Artefact:
    """Everything that is emitted for one kernel."""

    kernel: Kernel
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
        return f"{self.kernel.isa}/{name}.{self.target.syntax.suffix}"


def make(kernel: Kernel, target: Target, assembler: Tool) -> Artefact:
    """Compile, place, assemble, audit and render one kernel.

    Raises:
        GhashgenError: the assembler fails or is none of the target's syntax, no padding settles, or
            a kernel that should wipe does not.
    """
    compiling = partial(compile_kernel, kernel, target.abi, target.table_align_of(kernel))
    return finish(kernel, target, assembler, compiling)


def finish(
    kernel: Kernel,
    target: Target,
    assembler: Tool,
    compiling: Callable[[Measure], Mapping[str, Compiled]],
) -> Artefact:
    """Do the same with functions that are compiled in a way of their own.

    Raises:
        GhashgenError: as `make`.
    """
    # What the bytes are does not depend on the container; only ELF is read here.
    as_elf = replace(target, fmt=kernel.set.arch.default_format)

    def assembled(functions: Mapping[str, Function]) -> ObjectCode:
        text = draft(kernel, as_elf, functions)
        return read_object(assemble_text(assembler, kernel.name, text, as_elf.fmt.name))

    def lengths(code: ObjectCode, name: str) -> tuple[int, ...]:
        body = code.function(target.symbol(f"{kernel.name}_{name}"))
        return tuple(map(code.decoder.length, body))

    def measure(functions: Mapping[str, Function]) -> dict[str, tuple[int, ...]]:
        code = assembled(functions)
        return {name: lengths(code, name) for name in functions}

    compiled = compiling(measure)
    functions = {name: item.function for name, item in compiled.items()}
    code = assembled(functions)
    for name, function in functions.items():
        if lengths(code, name) != function.lengths:
            raise GhashgenError(
                f"{kernel.name}_{name}: instructions have other lengths than they were placed by",
                "report this kernel, and the version of the assembler",
            )
    counted = audit(kernel, target.symbol(kernel.name), code)
    if kernel.wipe and any(left.names for left in counted.left.values()):
        raise GhashgenError(f"{kernel.name} does not wipe all", "report this kernel")
    rendered = render(kernel, target, compiled, counted)
    return Artefact(kernel, target, rendered.text, rendered.functions, code.code, counted)


def sha256(data: bytes) -> str:
    """Return the SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def _counts(region: Region) -> dict[str, Any]:
    return {
        "instructions": region.instructions,
        "classes": dict(region.classes),
        "memory_operands": region.memory_operands,
    }


def manifest_entry(artefact: Artefact, assembler: Tool) -> dict[str, Any]:
    """Return the kernel's entry in MANIFEST.json."""
    kernel, target, counted = artefact.kernel, artefact.target, artefact.audit
    axes = {key: value for key, value in asdict(kernel).items() if key != "alias"}
    return {
        "name": kernel.name,
        "axes": {**axes, "abi": target.abi.name, "syntax": target.syntax.name},
        "cpu_features": list(counted.features),
        "symbols": {item.name: item.symbol for item in artefact.functions},
        "table": {
            "bytes": kernel.table_bytes,
            "align": target.table_align_of(kernel),
            "best_align": max(kernel.best_align, target.table_align_of(kernel)),
            "top_power": kernel.layout.top,
            "arrays": dict(kernel.layout.arrays),
            "cells": list(kernel.layout.cells),
        },
        "stack_bytes": dict(counted.stack_bytes),
        "spill_slots": {item.name: item.spill_slots for item in artefact.functions},
        "registers": {name: list(used) for name, used in counted.registers.items()},
        "left": {
            name: {"registers": list(left.registers), "stack_bytes": left.stack_bytes}
            for name, left in counted.left.items()
        },
        "counts": {
            "group": _counts(counted.group),
            "single_block": _counts(counted.single),
            "functions": {name: _counts(body) for name, body in counted.functions.items()},
        },
        "code_bytes": dict(counted.code_bytes),
        "file": artefact.file,
        "sha256": sha256(artefact.text.encode()),
        "object": {"text_sha256": sha256(artefact.code), "assembler": assembler.said},
        "theorems": theorems_for(kernel),
        "regenerate": regenerate_command(kernel, target),
    }


def theorems_for(kernel: Kernel) -> list[str]:
    """Return the names of the identities that the kernel rests on (`ghashgen prove`)."""
    order = kernel.order
    names = [
        f"multiply-{kernel.multiply}-{order}",
        f"reduce-{kernel.reduce}-{order}",
        f"aggregate-{kernel.multiply}-{kernel.reduce}-{order}",
        "horner-n",
    ]
    return sorted(names)
