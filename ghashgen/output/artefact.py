"""An artefact: a rendered kernel, its assembled object, and what was counted in the bytes."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ghashgen.cost.audit import Audit, Region
from ghashgen.kernels.families import family_of
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import Target
from ghashgen.output.place import place
from ghashgen.output.render import regenerate_command, render
from ghashgen.support.toolchain import Tool


@dataclass(frozen=True)
class Artefact:
    """Everything that is emitted for one kernel."""

    kernel: Kernel
    target: Target
    text: str
    symbols: Mapping[str, str]
    code: bytes
    """The bytes of .text, before relocation."""
    audit: Audit
    spill_slots: Mapping[str, int]

    @property
    def file(self) -> str:
        """Path below the output folder."""
        name = self.target.symbol(self.kernel.name)
        return f"{self.kernel.isa}/{name}.{self.target.syntax.suffix}"


def make(kernel: Kernel, target: Target, nasm: Tool) -> Artefact:
    """Compile, render, assemble and audit one kernel."""
    placed = place(render(kernel, target), nasm)
    listing = placed.listing
    return Artefact(
        kernel=kernel,
        target=target,
        text=listing.text,
        symbols={function.name: function.symbol for function in listing.functions},
        code=placed.code.code,
        audit=placed.audit,
        spill_slots={function.name: function.spill_slots for function in listing.functions},
    )


def sha256(data: bytes) -> str:
    """Return the SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def _counts(region: Region) -> dict[str, Any]:
    return {
        "instructions": region.instructions,
        "classes": dict(region.classes),
        "memory_operands": region.memory_operands,
    }


def manifest_entry(artefact: Artefact, nasm: Tool) -> dict[str, Any]:
    """Return the kernel's entry in MANIFEST.json."""
    kernel, target, counted = artefact.kernel, artefact.target, artefact.audit
    axes = {key: value for key, value in asdict(kernel).items() if key != "alias"}
    return {
        "name": kernel.name,
        "axes": {**axes, "abi": target.abi.name, "syntax": target.syntax.name},
        "cpu_features": list(counted.features),
        "symbols": dict(artefact.symbols),
        "table": {
            "bytes": kernel.table_bytes,
            "align": target.table_align_of(kernel),
            "best_align": max(kernel.best_align, target.table_align_of(kernel)),
            "top_power": kernel.layout.top,
            "arrays": dict(kernel.layout.arrays),
            "cells": list(kernel.layout.cells),
        },
        "stack_bytes": dict(counted.stack_bytes),
        "spill_slots": dict(artefact.spill_slots),
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
        "object": {"text_sha256": sha256(artefact.code), "assembler": f"nasm {nasm.version}"},
        "theorems": family_of(kernel).theorems(kernel),
        "regenerate": regenerate_command(kernel, target),
    }
