"""Shared by GNU as syntaxes on x86-64: directives, Windows unwinding, forced encodings.

Clang's assembler takes the same. An assembler may choose among several encodings of an instruction.
If GNU as or Clang would choose another than NASM, a prefix in braces forces NASM's.
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from ghashgen.arch.gnu import CFI, Unwind, exported
from ghashgen.arch.rows import Row
from ghashgen.arch.syntax import Names
from ghashgen.arch.x86_64.nops import NOPS
from ghashgen.arch.x86_64.registers import register_name
from ghashgen.ir.program import Directive, Label, Op, PReg

_LOW = 8
"""Registers below this need no prefix bit."""

_TWO_OPCODES = frozenset({"vmovdqa"})
"""VEX-encoded copies."""

SEH: Unwind = MappingProxyType(
    {
        "enter": (".seh_proc {symbol}",),
        "pushed": (".seh_pushreg {register}",),
        "grown": (".seh_stackalloc {0}",),
        "saved": (".seh_savexmm {register}, {0}",),
        "body": (".seh_endprologue",),
        "leave": (".seh_endproc",),
    }
)
"""Windows: only the prologue; epilogues are recognised by their instructions."""

UNWIND: Mapping[str, Unwind] = MappingProxyType({"cfi": CFI, "seh": SEH})
"""By `ObjectFormat.unwind`."""


def unwind(line: Directive, names: Names, mark: str) -> tuple[str, ...]:
    """Return the lines of an unwind directive; `mark` goes before a register."""
    forms = UNWIND[names.fmt.unwind].get(line.code, ())
    register = line.operands[0] if line.operands else None
    name = mark + register_name(register, ("q", "x"), 128) if isinstance(register, PReg) else ""
    symbol = names.fmt.symbol_prefix + names.symbol
    return tuple(
        "    " + form.format(*line.numbers(), register=name, symbol=symbol) for form in forms
    )


def directive(line: Directive, names: Names, mark: str) -> tuple[str, ...]:
    """Return the lines of a directive; `mark` goes before a register."""
    symbol = names.fmt.symbol_prefix + names.symbol
    match line.code:
        case "export":
            return (*exported(symbol, names), *_typed(symbol, names))
        case "align":
            return (f".p2align {line.numbers()[0].bit_length() - 1}",)
        case "fill":
            # NASM aligns with one-byte NOPs, which .p2align cannot produce.
            return (f".fill {line.numbers()[0]}, 1, 0x90",)
        case "entry":
            return (f"{symbol}:",)
        case "label":
            return (f"{local(line.label(), names)}:",)
        case "pad":
            data = NOPS[line.numbers()[0]].split()
            return ("    .byte       " + ", ".join(f"0x{byte}" for byte in data),)
        case "end":
            return (f".size {symbol}, . - {symbol}",) if names.fmt.elf else ()
    return unwind(line, names, mark)


def _typed(symbol: str, names: Names) -> tuple[str, ...]:
    if names.fmt.elf:
        return (f".type {symbol}, @function",)
    # In COFF: storage class external, a function.
    return (f".def {symbol}; .scl 2; .type 32; .endef",) if names.fmt.unwind == "seh" else ()


def local(label: str, names: Names) -> str:
    """Return a label that does not enter the symbol table."""
    return f"{names.fmt.local}{names.symbol}_{label}"


def target(label: Label, names: Names) -> str:
    """Return where a jump goes, perhaps in another function."""
    symbol = f"{names.constants}_{label.of}" if label.of else names.symbol
    return local(label.name, replace(names, symbol=symbol))


def constant(name: str, names: Names) -> str:
    """Return the label of a constant, which does not enter the symbol table either."""
    return f"{names.fmt.local}{names.constants}_{name}"


def forced(op: Op, row: Row) -> str:
    """Return the prefix that forces NASM's encoding, or "" if assemblers have no choice.

    A copy between vector registers has two opcodes. NASM always uses the load's; the others use the
    store's if that makes the VEX prefix one byte shorter.
    """
    if not (row.copy and row.mnemonic in _TWO_OPCODES):
        return ""
    into, source = op.operands
    high = isinstance(source, PReg) and source.index >= _LOW
    low = isinstance(into, PReg) and into.index < _LOW
    return "{vex3} " if high and low else ""
