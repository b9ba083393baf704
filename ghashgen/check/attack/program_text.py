"""The building blocks of random programs: nasm macros, registers, instructions with variants.

A `Text` collects lines. A method that emits something needed picks at random among correct ways,
and, if a kind of change is due, now and then a wrong one.
"""

import random
from collections.abc import Iterator

HEAD = """
default rel
bits 64

section .rodata align=16
reverse_bytes: db 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0
fold_constant: dq 0xc200000000000000, 0

section .text

; The products of xmm0 and a key, added to (xmm3, xmm4, xmm5). Uses xmm6 and xmm7.
%macro ADD_PRODUCT 1
    movdqa      xmm6, xmm0
    pclmulqdq   xmm6, %1, 0x00
    pxor        xmm3, xmm6
    movdqa      xmm6, xmm0
    pclmulqdq   xmm6, %1, 0x01
    pxor        xmm4, xmm6
    movdqa      xmm7, xmm0
    pclmulqdq   xmm7, %1, 0x10
    pxor        xmm4, xmm7
    pclmulqdq   xmm0, %1, 0x11
    pxor        xmm5, xmm0
%endmacro

; xmm0 = the reduced sum, by two folds of 64 bits; xmm2 is the fold constant.
%macro REDUCE 0
    movdqa      xmm6, xmm4
    pslldq      xmm6, 8
    psrldq      xmm4, 8
    pxor        xmm3, xmm6
    pxor        xmm5, xmm4
    pshufd      xmm6, xmm3, 0x4e
    pclmulqdq   xmm3, xmm2, 0x00
    pxor        xmm3, xmm6
    pshufd      xmm6, xmm3, 0x4e
    pclmulqdq   xmm3, xmm2, 0x00
    pxor        xmm3, xmm6
    movdqa      xmm0, xmm3
    pxor        xmm0, xmm5
%endmacro

%macro CLEAR_SUMS 0
    pxor        xmm3, xmm3
    pxor        xmm4, xmm4
    pxor        xmm5, xmm5
%endmacro
"""
"""Products and reduction, which no change touches. xmm1 reverses bytes, xmm2 folds, xmm8 is the
accumulator, xmm0 and xmm3 to xmm7 are scratch.
"""

FOOT = "\nsection .note.GNU-stack noalloc noexec nowrite progbits\n"

LEGACY = ("ax", "cx", "dx", "bx", "sp", "bp", "si", "di")

FREE = ("rax", "r8", "r9", "r10", "r11")
"""Registers that a function may use freely."""

SAVED = ("rbx", "rbp", "r12", "r13", "r14", "r15")

CONDITIONS = ("o", "no", "b", "ae", "e", "ne", "be", "a", "s", "ns", "l", "ge", "le", "g")

M64 = (1 << 64) - 1


def part(register: str, bits: int) -> str:
    """Return the name of the low `bits` of a 64-bit register."""
    if bits == 64:
        return register
    if register[1].isdigit():
        return register + {32: "d", 16: "w", 8: "b"}[bits]
    name = register[1:]
    if bits == 8:
        return name[0] + "l" if name in LEGACY[:4] else name + "l"
    return "e" + name if bits == 32 else name


class Text:
    """The lines of one function, and what was changed in it.

    `odds` says how likely each kind of change is where it applies.
    """

    def __init__(self, rng: random.Random, name: str, odds: dict[str, float]) -> None:
        self.rng = rng
        self.name = name
        self.odds = odds
        self.lines: list[str] = []
        self.changed: list[str] = []
        self.needs: set[str] = set()
        """CPU features needed besides SSSE3 and PCLMULQDQ, by the names of
        ghashgen.arch.x86_64.features.
        """
        self.free = list(FREE)
        self.aside = 0
        """Bytes between rsp and the end of what is put aside below the frame."""
        self._labels = self._count()

    @staticmethod
    def _count() -> Iterator[int]:
        number = 0
        while True:
            yield number
            number += 1

    def below(self, count: int) -> str:
        """Return the place `count` bytes below the frame; in the red zone, if there is one."""
        return f"[rsp - {count}]" if not self.aside else f"[rsp + {self.aside - count}]"

    def emit(self, *lines: str) -> None:
        """Add lines."""
        self.lines += [f"    {line}" for line in lines]

    def label(self) -> str:
        """Return a new local label."""
        return f".l{next(self._labels)}"

    def place(self, label: str) -> None:
        """Put a label here."""
        self.lines.append(f"{label}:")

    def maybe(self, odds: float) -> bool:
        """Return true with this probability."""
        return self.rng.random() < odds

    def change(self, kind: str) -> bool:
        """Return whether to make a change of this kind here, and count it."""
        if not self.maybe(self.odds.get(kind, 0.0)):
            return False
        self.changed.append(kind)
        return True

    def take(self) -> str:
        """Return a free register and mark it as used."""
        return self.free.pop(self.rng.randrange(len(self.free)))

    def give(self, register: str) -> None:
        """Make a register free again."""
        self.free.append(register)

    def amount(self, value: int) -> int:
        """Return an immediate, perhaps a little off."""
        if not self.change("count"):
            return value
        return value + self.rng.choice((1, -1, 16, -16, 8, value, -value // 2))

    def width(self) -> int:
        """Return the operand size for computing from a length."""
        return self.rng.choice((32, 32, 16, 8)) if self.change("width") else 64

    def add(self, register: str, value: int, narrow: bool = True) -> None:
        """Add a number to a register; flags may change."""
        value = self.amount(value)
        bits = self.width() if narrow else 64
        name = part(register, bits)
        if bits < 16 or not -128 <= value < 128:
            value = (value + 128) % 256 - 128 if bits == 8 else value
        match self.rng.randrange(3 if bits > 16 else 2):
            case 0:
                self.emit(f"add {name}, {value}")
            case 1:
                self.emit(f"sub {name}, {-value}")
            case _:
                self.emit(f"lea {name}, [{register} {'+' if value >= 0 else '-'} {abs(value)}]")

    def jump_if_below(self, register: str, bound: int, label: str, below: bool = True) -> None:
        """Jump if a length is below a bound, or if it is not."""
        bound = self.amount(bound)
        bits = self.width()
        name = part(register, bits)
        condition = "b" if below else "ae"
        form = self.rng.randrange(5)
        if bits == 8 and bound > 127:
            form = 0
        if form == 1 and bound > 0:
            self.emit(f"cmp {name}, {bound - 1}")
            condition = "be" if below else "a"
        elif form == 2 and bits >= 32 and self.free:
            scratch = self.rng.choice(self.free)
            self.emit(
                f"lea {part(scratch, bits)}, [{register} - {bound}]",
                f"test {part(scratch, bits)}, {part(scratch, bits)}",
            )
            condition = "s" if below else "ns"
        elif form == 3 and self.free:
            scratch = part(self.rng.choice(self.free), bits)
            self.emit(f"mov {scratch}, {name}", f"sub {scratch}, {bound}")
        else:
            self.emit(f"cmp {name}, {bound}")
            if form == 4:
                # A length is below 2^62.
                condition = "l" if below else "ge"
        self.jump(condition, label)

    def jump(self, condition: str, label: str) -> None:
        """Jump on a condition, perhaps with other instructions between the flags and the jump."""
        if self.free and self.maybe(0.1):
            # This leaves the flags alone.
            scratch = self.rng.choice(self.free)
            self.emit(self.rng.choice((f"mov {scratch}, rcx", f"lea {scratch}, [rsi + 8]")))
        if self.free and self.change("flags"):
            scratch = part(self.rng.choice(self.free), self.rng.choice((64, 32)))
            other = part(scratch, 64) if scratch[0] == "r" and scratch[-1] != "d" else scratch
            self.emit(
                self.rng.choice(
                    (f"inc {other}", f"dec {other}", f"not {other}", f"lea {other}, [rsi]")
                )
            )
        if self.change("condition"):
            condition = self.rng.choice(CONDITIONS)
        self.emit(f"j{condition} {label}")
