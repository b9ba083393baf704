"""The unwind tables of ELF and of COFF, as data for NASM.

They say what GNU as makes of `.cfi_*` and `.seh_*` for the same directives of the IR.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from ghashgen.arch.core import ObjectFormat
from ghashgen.arch.unwinding import Step, Tables
from ghashgen.arch.x86_64.registers import register_name
from ghashgen.ir.program import Directive, PReg, RegClass

DWARF = (0, 2, 1, 3, 7, 6, 4, 5, *range(8, 16))
"""DWARF's numbers of the general registers, by hardware number (System V AMD64 psABI, 3.6.2)."""

DWARF_XMM0 = 17
"""DWARF's number of xmm0; the next registers follow."""

WORD = 8
"""The unit of places and sizes, in bytes."""

_COMMENT_COLUMN = 52

_STEPS = Mapping[str, tuple[Step, ...]]


def _said(text: str, comment: str) -> str:
    return f"    {text:<{_COMMENT_COLUMN - 6}}  ; {comment}"


def _name(register: PReg) -> str:
    return register_name(register, ("q", "x"), 128)


def _cfa(above: int) -> tuple[list[int], str]:
    return [0x0E, *_uleb(above)], f"CFA = rsp + {above}"


def _offset(register: PReg, below: int) -> tuple[list[int], str]:
    return [0x80 | _dwarf(register), *_uleb(below // WORD)], f"{_name(register)} at CFA - {below}"


def _restore(register: PReg) -> tuple[list[int], str]:
    return [0xC0 | _dwarf(register)], f"{_name(register)} restored"


def _uleb(number: int) -> list[int]:
    high = number >> 7
    return [number & 0x7F | 0x80, *_uleb(high)] if high else [number]


def _dwarf(register: PReg) -> int:
    general = register.cls is RegClass.GPR
    return DWARF[register.index] if general else DWARF_XMM0 + register.index


_CFI: Mapping[str, Callable[[Directive], list[tuple[list[int], str]]]] = MappingProxyType(
    {
        "pushed": lambda d: [_cfa(d.numbers()[0]), _offset(d.register(), d.numbers()[0])],
        "grown": lambda d: [_cfa(d.numbers()[1])],
        "saved": lambda d: [_offset(d.register(), d.numbers()[1])],
        "remember": lambda d: [([0x0A], "remember")],
        "recall": lambda d: [([0x0B], "as remembered")],
        "restored": lambda d: [_restore(d.register())],
        "shrunk": lambda d: [_cfa(d.numbers()[1])],
        "popped": lambda d: [_cfa(d.numbers()[0]), _restore(d.register())],
    }
)
"""Call frame instructions, and what they say (DWARF 5, section 6.4.2)."""


def _eh_frame(functions: _STEPS) -> tuple[str, ...]:
    """Return .eh_frame: what all descriptions share, then one of each function."""
    common = f"{next(iter(functions))}_unwind_common"
    lines = [
        "; how to unwind: call frame information, a description for each function",
        "section .eh_frame progbits alloc noexec nowrite align=8",
        f"{common}:",
        "    dd .end - .id",
        ".id:",
        "    dd 0",
        _said('db 1, "zR", 0, 1, 0x78, 16, 1, 0x1b', "factors 1 and -8, return address is 16"),
        _said("db 0x0c, 7, 8, 0x90, 1", "CFA = rsp + 8, return address at CFA - 8"),
        "    align 8, db 0",
        ".end:",
    ]
    for symbol, steps in functions.items():
        lines += [
            f"{symbol}_unwind:",
            "    dd .end - .id",
            ".id:",
            f"    dd $ - {common}",
            f"    dd {symbol} - $",
            f"    dd {symbol}.end - {symbol}",
            "    db 0",
        ]
        before = symbol
        for step in steps:
            here = f"{symbol}.{step.label}"
            lines += ["    db 0x04", f"    dd {here} - {before}"]
            before = here
            said = [each for change in step.changes for each in _CFI[change.code](change)]
            data = ", ".join(f"{byte:#04x}" for instruction, _ in said for byte in instruction)
            lines.append(_said(f"db {data}", ", ".join(words for _, words in said)))
        lines += ["    align 8, db 0", ".end:"]
    return tuple(lines)


def _grown(size: int) -> tuple[int, list[int]]:
    return (2 | (size // WORD - 1) << 4, []) if size <= 16 * WORD else (1, [size // WORD])


_SEH: Mapping[str, Callable[[Directive], tuple[tuple[int, list[int]], str]]] = MappingProxyType(
    {
        "pushed": lambda d: ((d.register().index << 4, []), f"push {_name(d.register())}"),
        "grown": lambda d: (_grown(d.numbers()[0]), f"sub rsp, {d.numbers()[0]}"),
        "saved": lambda d: (
            (8 | d.register().index << 4, [d.numbers()[0] // 16]),
            f"{_name(d.register())} at rsp + {d.numbers()[0]}",
        ),
    }
)
"""Unwind codes: a byte, perhaps a word after it, and what they say (Microsoft, "x64 exception
handling").
"""


def _xdata(functions: _STEPS) -> tuple[str, ...]:
    """Return .xdata, each prologue from its end to its beginning, and .pdata, who has which.

    Windows recognises epilogues by their instructions.
    """
    lines = [
        "; how to unwind: unwind codes, each prologue backwards",
        "section .xdata rdata align=4",
    ]
    for symbol, steps in functions.items():
        codes = [
            (step.label, *_SEH[change.code](change))
            for step in steps
            for change in step.changes
            if change.code != "body"
        ]
        slots = sum(1 + len(words) for _, (_, words), _ in codes)
        size = f"{symbol}.{steps[-1].label} - {symbol}"
        lines += [f"{symbol}_unwind:", _said(f"db 1, {size}, {slots}, 0", "bytes, codes")]
        for label, (code, words), what in reversed(codes):
            lines.append(_said(f"db {symbol}.{label} - {symbol}, {code:#04x}", what))
            lines += [f"    dw {word}" for word in words]
        lines += ["    dw 0"] if slots % 2 else []
    lines += ["", "section .pdata rdata align=4"]
    for symbol in functions:
        places = (symbol, f"{symbol}.end", f"{symbol}_unwind")
        lines += [f"    dd {place} wrt ..imagebase" for place in places]
    return tuple(lines)


_TABLES = {
    "elf64": Tables(frozenset(_CFI), _eh_frame),
    "win64": Tables(frozenset({*_SEH, "body"}), _xdata),
}


def tables(fmt: ObjectFormat) -> Tables | None:
    """Return a format's tables. In Mach-O, NASM cannot write the distance between two sections."""
    return _TABLES.get(fmt.name)
