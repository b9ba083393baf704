"""Draws small programs: a loop or two over a length, with arithmetic, stores and spills around.

f(state, area, length): 64 bytes that may be read and written, `length` bytes likewise. Registers of
numbers are rax, rcx, r8 and r9; of addresses, r10 and r11; xmm0 to xmm3 hold data.
"""

import random
from collections.abc import Iterator, Sequence

from ghashgen.check.attack.toy.run import Op

NUMBERS, SIZES, LANES = ("rax", "rcx", "r8", "r9"), (16, 16, 32, 8, 1), 4

EXITS = (*["b"] * 10, "be", "l", "le", "e", "s", "a", "ge")
BACK = {"b": "ae", "be": "a", "l": "ge", "le": "g", "e": "ne", "s": "ns", "a": "be", "ge": "l"}


class _Maker:
    def __init__(self, rng: random.Random) -> None:
        self.rng, self.labels = rng, 0

    def label(self) -> str:
        """Return a new label."""
        self.labels += 1
        return f"l{self.labels}"

    def data(self) -> Op:
        """Return an instruction on data or on where it lies."""
        rng = self.rng
        k, at = rng.randrange(4), 16 * rng.randrange(LANES)
        base, at = rng.choice((("rdi", at),) * 9 + (("rsi", 0), *[("rsp", -16 - at)] * 2))
        return rng.choice((
            ("load", k, base, at), ("load", k, base, at), *[("store", base, at, k)] * 4,
            ("pxor", k, rng.randrange(4)), ("movdqa", k, rng.randrange(4)),
            ("keep", "rsp", -8 * rng.randrange(1, 5), rng.choice((*NUMBERS, "rdi", "rsi", "rdx"))),
            ("fetch", rng.choice((*NUMBERS, "rdi")), "rsp", -8 * rng.randrange(1, 5)),
        ))  # fmt: skip

    def number(self) -> Op:
        """Return an instruction on numbers."""
        rng = self.rng
        r, bits = rng.choice(NUMBERS), rng.choice((64, 64, 64, 32))
        x = rng.choice((*NUMBERS, "rdx", rng.choice((0, 1, 2, 15, 16, 32))))
        return rng.choice((
            ("mov", bits, r, x), ("mov", 64, r, x), (rng.choice(("add", "sub")), bits, r, x),
            ("and", 64, r, rng.choice((1, 15, -16))), (rng.choice(("inc", "dec")), bits, r),
            ("shr", 64, r, rng.choice((1, 4))),
            ("lea", r, "rdx", None, 1, rng.choice((-16, -1, 1, 16))),
            ("lea", r, r, rng.choice(NUMBERS), rng.choice((1, 2)), rng.choice((0, 1, -16))),
        ))  # fmt: skip

    def some(self, most: int) -> Iterator[Op]:
        """Yield a few instructions."""
        for _ in range(self.rng.randrange(most + 1)):
            yield self.data() if self.rng.randrange(5) < 3 else self.number()

    def loop(self) -> Iterator[Op]:
        """Yield a loop that takes some bytes each turn, nearly always."""
        rng, size = self.rng, self.rng.choice(SIZES)
        out, head = self.label(), self.label()
        leaves = rng.choice(EXITS)
        step = size if rng.randrange(16) else rng.choice(SIZES)
        compared = 64 if rng.randrange(10) else 32
        yield ("cmp", compared, "rdx", size)
        yield ("j", leaves, out)
        if rng.randrange(4) == 0:
            yield from self.some(2)
        yield ("label", head)
        inside = list(self.some(3))
        if size >= 16 and rng.randrange(3):
            inside.append(("load", rng.randrange(4), "rsi", 0))
        if rng.randrange(3):
            inside.append(("add", 64, "rsi", size))
        rng.shuffle(inside)
        yield from inside
        if rng.randrange(6):
            yield ("sub", 64, "rdx", step)
            yield ("cmp", compared, "rdx", size)
            yield ("j", BACK[leaves], head)
        else:
            # What is left is known by the flags of the subtraction alone.
            yield ("sub", 64, "rdx", step)
            yield ("j", rng.choice(("ae", "ne", "a", "ns")), head)
        yield ("label", out)


def program(rng: random.Random) -> list[Op]:
    """Return a program."""
    maker = _Maker(rng)
    out: list[Op] = [("mov", 64, "rax", rng.choice((0, 0, 1, 2)))]
    pushed = rng.choice(("", "", "", "rbx"))
    if pushed:
        out += [("push", pushed), ("mov", 64, pushed, "rdx")]
    out += [("load", k, "rdi", 16 * rng.randrange(LANES)) for k in range(2)]
    out += maker.some(4)
    if rng.randrange(3) == 0:
        out.append(("label", "first"))
        out += maker.some(2)
    for _ in range(rng.choice((1, 1, 1, 2))):
        out += [*maker.loop(), *maker.some(2)]
    if rng.randrange(4):
        out.append(("label", "last"))
        out += maker.some(1)
    if rng.randrange(2):
        out.append(("mov", 64, "rax", rng.choice((0, 1))))
    return [*out, *([("pop", pushed)] if pushed else []), ("ret",)]


def text(program: Sequence[Op]) -> str:
    """Return a program as nasm reads it."""
    return "".join(f"{_line(op)}\n" for op in program)


def _line(op: Op) -> str:
    def register(name: object, bits: object) -> str:
        if isinstance(name, int) or bits == 64:
            return str(name)
        name = str(name)
        return f"e{name[1:]}" if name[1:].isalpha() else f"{name}d"

    match op:
        case ["label", name]:
            return f".{name}:"
        case ["j", condition, label]:
            return f"j{condition} .{label}"
        case [("mov" | "add" | "sub" | "cmp" | "and") as name, bits, a, b]:
            return f"{name} {register(a, bits)}, {register(b, bits)}"
        case [("inc" | "dec") as name, bits, a]:
            return f"{name} {register(a, bits)}"
        case ["shr", bits, a, count]:
            return f"shr {register(a, bits)}, {count}"
        case ["lea", a, base, index, scale, disp]:
            more = f" + {index}*{scale}" if index else ""
            return f"lea {a}, [{base}{more} + {disp}]"
        case ["load", k, base, disp]:
            return f"movdqu xmm{k}, [{base} + {disp}]"
        case ["store", base, disp, k]:
            return f"movdqu [{base} + {disp}], xmm{k}"
        case [("pxor" | "movdqa") as name, k, x]:
            return f"{name} xmm{k}, xmm{x}"
        case ["keep", base, disp, x]:
            return f"mov [{base} + {disp}], {x}"
        case ["fetch", to, base, disp]:
            return f"mov {to}, [{base} + {disp}]"
    return " ".join(map(str, op))
