"""Shared by GNU as syntaxes on every architecture: the assemblers, and CFI.

Clang's assembler takes the same directives.
"""

from collections.abc import Mapping
from types import MappingProxyType

from ghashgen.arch.syntax import Names
from ghashgen.support.toolchain import Assembler, Dialect

Unwind = Mapping[str, tuple[str, ...]]
"""Directives by the code of the IR's `Directive`, with placeholders for its numbers and
register.
"""

CFI: Unwind = MappingProxyType(
    {
        "enter": (".cfi_startproc",),
        "pushed": (".cfi_def_cfa_offset {0}", ".cfi_offset {register}, -{0}"),
        "grown": (".cfi_def_cfa_offset {1}",),
        "saved": (".cfi_offset {register}, -{1}",),
        "remember": (".cfi_remember_state",),
        "recall": (".cfi_restore_state",),
        "restored": (".cfi_restore {register}",),
        "shrunk": (".cfi_def_cfa_offset {1}",),
        "popped": (".cfi_def_cfa_offset {0}", ".cfi_restore {register}"),
        "leave": (".cfi_endproc",),
    }
)
"""DWARF: rows for every place where the frame changes."""


def exported(symbol: str, names: Names) -> tuple[str, ...]:
    """Return the lines that let other objects call a function. COFF exports nothing by itself."""
    hides = ".hidden" if names.fmt.elf else ".private_extern"
    kept = names.hidden and names.fmt.unwind != "seh"
    return (f".globl {symbol}", *([f"{hides} {symbol}"] if kept else []))


def gnu(name: str, target: str, formats: Mapping[str, tuple[str, ...]]) -> Dialect:
    """Return GNU as, if its target begins with these words."""
    says = rf"GNU assembler[^\n]* (\S+)\n.* target of `{target}"
    return Dialect(name, says, tuple(formats.items()))


def clang(name: str, targets: Mapping[str, str]) -> Dialect:
    """Return Clang, with its target for each object format."""
    formats = {fmt: (f"--target={to}", "-c", "-x", "assembler") for fmt, to in targets.items()}
    return Dialect(name, r"[^\n]*clang version (\S+)", tuple(formats.items()))


def gnu_or_clang(machine: str, variable: str, package: str, *dialects: Dialect) -> Assembler:
    """Return how to find an assembler of these syntaxes, GNU as before Clang."""
    programs = (f"{machine}-linux-gnu-as", "as", "clang")
    return Assembler(f"GNU as or Clang for {machine}", variable, package, programs, dialects)
