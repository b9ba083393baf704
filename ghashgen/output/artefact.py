"""An artefact: a rendered kernel, its assembled object, and what was counted in the bytes."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from ghashgen.cost.audit import Audit, Region
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.manifest import Counted, Counts, Entry, Left, Object, TableEntry, axes_in
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


def _counted(region: Region) -> Counted:
    return Counted(region.instructions, dict(region.classes), region.memory_operands)


def manifest_entry(artefact: Artefact, nasm: Tool) -> Entry:
    """Return the kernel's entry in MANIFEST.json."""
    kernel, target, counted = artefact.kernel, artefact.target, artefact.audit
    align = target.table_align_of(kernel)
    return Entry(
        name=kernel.name,
        axes=axes_in(kernel, target.abi.name, target.syntax.name),
        cpu_features=tuple(counted.features),
        symbols=dict(artefact.symbols),
        table=TableEntry(
            bytes=kernel.table_bytes,
            align=align,
            best_align=max(kernel.best_align, align),
            top_power=kernel.layout.top,
            arrays=dict(kernel.layout.arrays),
            cells=kernel.layout.cells,
        ),
        stack_bytes=dict(counted.stack_bytes),
        spill_slots=dict(artefact.spill_slots),
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
        object=Object(sha256(artefact.code), f"nasm {nasm.version}"),
        theorems=theorems_for(kernel),
        regenerate=regenerate_command(kernel, target),
    )


def theorems_for(kernel: Kernel) -> tuple[str, ...]:
    """Return the names of the identities that the kernel rests on (`ghashgen prove`)."""
    order = kernel.order
    names = [
        f"multiply-{kernel.multiply}-{order}",
        f"reduce-{kernel.reduce}-{order}",
        f"aggregate-{kernel.multiply}-{kernel.reduce}-{order}",
        "horner-n",
    ]
    return tuple(sorted(names))
