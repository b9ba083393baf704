"""The C table of the kernels that a harness is linked with, and its rows.

A row is derived from the kernel and its object; for another project's object it is given.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from ghashgen.kernels.core import Point
from ghashgen.kernels.families import axes_of, functions_of
from ghashgen.run.machine import Machine
from ghashgen.support.errors import GhashgenError
from ghashgen.support.files import write_whole
from ghashgen.support.programs import digest
from ghashgen.support.templates import environment

PORTABLE_KERNELS = ("ref_branching", "ref_bitwise", "ref_4bit", "ref_ctmul64")
"""The C kernels in every harness, in the order of ``Harness.list``."""

_SYMBOL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class HarnessKernel:
    """A row of the harness's C table, made by ``of_kernel`` or ``of_stranger``."""

    name: str
    op: str
    isa: str
    abi: str
    needs: tuple[str, ...]
    """CPU features."""
    blocks: int
    """Blocks in one unrolled group."""
    table_bytes: int
    table_align: int
    functions: tuple[str, ...]
    """Exported functions; the symbol of each is ``symbol_function``, or given in ``symbols``."""
    symbol: str
    """The beginning of its functions' names."""
    key_bits: int
    """Key size of the cipher in bits; 0 if there is none."""
    obj: Path
    """An ELF object that defines its functions."""
    symbols: Mapping[str, str] = field(default_factory=dict)
    """Symbols of functions by name, if they are not ``symbol_function``."""

    def symbol_of(self, function: str) -> str:
        """Return the symbol of a function."""
        return self.symbols.get(function, f"{self.symbol}_{function}")

    @classmethod
    def of_kernel(
        cls,
        kernel: Point,
        obj: Path,
        needs: Sequence[str],
        *,
        abi: str,
        table_align: int = 0,
        symbol: str = "",
        name: str = "",
    ) -> HarnessKernel:
        """Return the row of a kernel that is assembled in ``obj`` and needs these CPU features.

        Callers promise a table aligned to ``table_align`` bytes; 0 means what instructions need.
        ``symbol`` begins the names of its functions, and ``name`` is its name in the harness; both
        default to the kernel's name.
        """
        axes = axes_of(kernel)
        return cls(
            name=name or kernel.name,
            op=str(axes.get("op", kernel.family)),
            isa=kernel.instruction_set.name,
            abi=abi,
            needs=tuple(needs),
            blocks=kernel.blocks,
            table_bytes=kernel.layout.size,
            table_align=table_align or kernel.instruction_set.operand_align,
            functions=tuple(functions_of(kernel)),
            symbol=symbol or kernel.name,
            key_bits=int(axes.get("key", 0)),
            obj=obj,
            symbols={n: f.symbol for n, f in functions_of(kernel).items() if f.symbol},
        )

    @classmethod
    def of_stranger(
        cls,
        name: str,
        obj: Path,
        needs: Sequence[str],
        *,
        abi: str,
        blocks: int,
        table_bytes: int,
        table_align: int = 1,
        op: str = "ghash",
        functions: Sequence[str] = ("init", "mul", "update"),
        symbols: Mapping[str, str] = MappingProxyType({}),
    ) -> HarnessKernel:
        """Return the row of an object that is not our kernel, entirely as given."""
        return cls(
            name=name,
            op=op,
            isa="stranger",
            abi=abi,
            needs=tuple(needs),
            blocks=blocks,
            table_bytes=table_bytes,
            table_align=table_align,
            functions=tuple(functions),
            symbol=name,
            key_bits=0,
            obj=obj,
            symbols=symbols,
        )


def write_table(kernels: Sequence[HarnessKernel], out_dir: Path) -> Path:
    """Write the C table of the kernels into ``out_dir``, which is made, and return its path."""
    rows = [
        {
            "name": kernel.name,
            "op": kernel.op,
            "isa": kernel.isa,
            "abi": kernel.abi,
            "needs": " | ".join(f"CPU_{name.upper()}" for name in kernel.needs) or "0",
            "blocks": kernel.blocks,
            "table_bytes": kernel.table_bytes,
            "table_align": kernel.table_align,
            "key_bits": kernel.key_bits,
            "functions": {name: kernel.symbol_of(name) for name in kernel.functions},
        }
        for kernel in kernels
    ]
    text = environment().get_template("kernel_table.c.j2").render(kernels=rows, count=len(rows))
    path = out_dir / f"kernel_table-{digest([text])}.c"
    write_whole(path, text)
    return path


def check_linkable(kernels: Sequence[HarnessKernel], machine: Machine) -> None:
    """Refuse kernels that the C table cannot hold, and two with one name."""
    for kernel in kernels:
        _validate(kernel, machine)
    names = [*PORTABLE_KERNELS, *(kernel.name for kernel in kernels)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise GhashgenError(
            f"more than one kernel is named {twice[0]}", "names are symbols, so rename one"
        )


def _validate(kernel: HarnessKernel, machine: Machine) -> None:
    """Refuse what the C table cannot hold or the harness cannot check."""
    align = kernel.table_align
    wrong = {
        **{
            f"{name!r} is no symbol": not _SYMBOL.fullmatch(name)
            for name in (kernel.name, kernel.symbol, *kernel.symbols.values())
        },
        **{f"{f!r} is no function name": not _SYMBOL.fullmatch(f) for f in kernel.functions},
        f"its ISA {kernel.isa!r} is no plain name": not re.fullmatch(r"[\w.+-]+", kernel.isa),
        f"its ABI {kernel.abi} is none of {', '.join(machine.abis)}": (
            kernel.abi not in machine.abis
        ),
        f"it has {kernel.blocks} blocks in a group": kernel.blocks < 1,
        f"its table has {kernel.table_bytes} bytes": kernel.table_bytes < 1,
        # The harness places tables within pages of 4096 bytes.
        f"its table is aligned to {align}": not 1 <= align <= 2048 or align & (align - 1) != 0,
        **{
            f"{name} is not a CPU feature known here": name not in machine.features
            for name in kernel.needs
        },
    }
    for reason, applies in wrong.items():
        if applies:
            raise GhashgenError(f"kernel {kernel.name} cannot be linked: {reason}")
