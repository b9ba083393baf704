"""A question about the length that leads out of a program, computed in any width.

For some lengths the answer is computed here, without the prover's rows. So a trap can be chosen
that never springs at a length that the prover executes, but perhaps at greater ones.
"""

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ghashgen.check.attack.program_text import CONDITIONS, M64, part

Flags = tuple[bool | None, bool | None, bool | None, bool | None]
"""CF, ZF, SF, OF; None if the manual leaves it undefined."""

CHECKED = (*range(0, 1100, 16), *(1 << k for k in range(11, 62)), *(3 << k for k in range(10, 60)))
"""Lengths at which a trap is computed, besides those that are executed."""


@dataclass(frozen=True)
class Step:
    """One instruction on the register `t`, a copy of the length."""

    name: str
    bits: int
    value: int

    def text(self, register: str) -> str:
        """Return it in nasm's syntax."""
        low = part(register, self.bits)
        match self.name:
            case "lea":
                return f"lea {low}, [{register} + {self.value}]"
            case "movzx":
                return f"movzx {part(register, 32)}, {low}"
            case "neg" | "not" | "inc" | "dec":
                return f"{self.name} {low}"
            case "mov":
                return f"mov {low}, {low}"
            case "itself":
                return f"test {low}, {low}"
        return f"{self.name} {low}, {self.value}"

    def run(self, register: int, flags: Flags) -> tuple[int, Flags]:
        """Return the register and the flags after it."""
        mask = (1 << self.bits) - 1
        a, b = register & mask, self.value & mask
        match self.name:
            case "add" | "inc" | "lea":
                b = 1 if self.name == "inc" else b
                result = a + b & mask
                carry: bool | None = a + b > mask
                after = _flags(result, self.bits, carry, (a ^ result) & (b ^ result))
            case "sub" | "cmp" | "dec" | "neg":
                b = 1 if self.name == "dec" else b
                a, b = (0, a) if self.name == "neg" else (a, b)
                result = a - b & mask
                after = _flags(result, self.bits, a < b, (a ^ b) & (a ^ result))
            case "and" | "test" | "itself":
                result = a if self.name == "itself" else a & b
                after = _flags(result, self.bits, False, 0)
            case "shl" | "shr":
                count = self.value
                result = (a << count if self.name == "shl" else a >> count) & mask
                out = a >> (self.bits - count if self.name == "shl" else count - 1) & 1
                after = (bool(out), result == 0, bool(result >> self.bits - 1), None)
            case _:
                result = a ^ mask if self.name == "not" else a
                after = flags
        if self.name in ("inc", "dec"):
            after = (flags[0], *after[1:])
        if self.name in ("lea", "movzx", "mov", "not"):
            after = flags
        if self.name in ("cmp", "test", "itself"):
            return register, after
        if self.bits >= 32 or self.name == "movzx":
            return result, after
        return register & ~mask & M64 | result, after


def _flags(result: int, bits: int, carry: bool | None, overflow: int) -> Flags:
    top = bits - 1
    return carry, result == 0, bool(result >> top & 1), bool(overflow >> top & 1)


TESTS: dict[str, Callable[[Flags], bool | None]] = {
    "o": lambda f: f[3],
    "b": lambda f: f[0],
    "e": lambda f: f[1],
    "be": lambda f: None if f[0] is None or f[1] is None else f[0] or f[1],
    "s": lambda f: f[2],
    "l": lambda f: None if f[3] is None else f[2] != f[3],
    "le": lambda f: None if f[3] is None else f[1] or f[2] != f[3],
}

OPPOSITE = {"no": "o", "ae": "b", "ne": "e", "a": "be", "ns": "s", "ge": "l", "g": "le"}


def holds(condition: str, flags: Flags) -> bool | None:
    """Return whether a condition holds, None if it is undefined."""
    if condition in TESTS:
        return TESTS[condition](flags)
    other = TESTS[OPPOSITE[condition]](flags)
    return None if other is None else not other


EDGES = (0, 1, 15, 16, 31, 32, 48, 63, 64, 80, 96, 127, 128, 160, 192, 255, 256, 512, 4096)


def _value(rng: random.Random, bits: int) -> int:
    wide = min(bits, 32)
    pick = rng.choice(EDGES)
    match rng.randrange(6):
        case 0 | 3:
            pick = -pick
        case 1:
            pick = (1 << wide - 1) - 1 - rng.choice(EDGES)
        case 2:
            pick = (1 << rng.randrange(wide)) - rng.randrange(2)
    # As a signed immediate of this size.
    pick &= (1 << wide) - 1
    return pick - (1 << wide) if pick >> wide - 1 else pick


def _step(rng: random.Random, last: bool) -> Step:
    bits = rng.choice((64, 64, 64, 64, 64, 32, 16, 8))
    if last:
        name = rng.choice((*["cmp"] * 5, "sub", "add", "test", "itself", "shl", "shr", "and",
                           "dec", "inc", "neg"))  # fmt: skip
    else:
        name = rng.choice(("add", "sub", "shl", "shr", "and", "neg", "inc", "dec", "not", "lea",
                           "movzx", "mov"))  # fmt: skip
    if name == "lea" and bits < 32:
        bits = 64
    if name == "movzx":
        bits = rng.choice((8, 16))
    if name == "mov" and bits != 32:
        bits = 32
    value = rng.randrange(1, min(bits, 32)) if name in ("shl", "shr") else _value(rng, bits)
    return Step(name, bits, value)


@dataclass(frozen=True)
class Trap:
    """Steps on a copy of the length, asked for lengths from `low` on, and below `high` if set."""

    steps: tuple[Step, ...]
    condition: str
    low: int
    high: int | None

    def asked(self, length: int) -> bool:
        """Return whether a length reaches the question."""
        return self.low <= length and (self.high is None or length < self.high)

    def sprung(self, length: int) -> bool | None:
        """Return whether the length leads out of the program."""
        if not self.asked(length):
            return False
        return holds(self.condition, flags_of(self.steps, length))


def flags_of(steps: Iterable[Step], length: int) -> Flags:
    """Return the flags after the steps; `holds` asks only about flags that a step has set."""
    flags: Flags = (None, None, None, None)
    for step in steps:
        length, flags = step.run(length, flags)
    return flags


def make(rng: random.Random, group: int) -> Trap:
    """Return a trap, usually one that springs at every length that reaches it, or at none.

    The prover refuses every question with two answers among the great lengths. It can get wrong one
    with a single answer; that is asked behind the executed lengths, so that only the answer
    decides.
    """
    behind = 2 * group + 32
    # Beyond some groups a length is only an unknown number.
    low = rng.choice((0, group, behind, *[3 * group, 4 * group] * 3))
    bounds = (low + 16, low + 32, low + group)
    high = rng.choice([None, None, *(bound for bound in bounds if bound <= 4 * group)])
    wild = rng.random() < 0.1
    while True:
        steps = tuple(_step(rng, False) for _ in range(rng.choice((0, 0, 0, 1, 1, 2))))
        steps += (_step(rng, True),)
        if wild:
            return Trap(steps, rng.choice(CONDITIONS), low, high)
        always, never = [], []
        for condition in CONDITIONS:
            trap = Trap(steps, condition, low, high)
            answers = {trap.sprung(length) for length in CHECKED if trap.asked(length)}
            if answers == {True}:
                always.append(trap)
            elif answers == {False}:
                never.append(trap)
        springs = low >= behind and rng.random() < 0.5
        if springs and always:
            return rng.choice(always)
        if never and not springs:
            return rng.choice(never)
