"""Runs a small program on one length, by code that shares nothing with the rows.

A number is an int; an address, and what the caller left, a token with an offset. A byte is what it
is a sum of, and a constant: loads, stores and sums of 16 bytes are all that happens to data.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

Byte = tuple[frozenset[tuple[str, int]], int]
"""The bytes that one is a sum of, by name and number, and a constant beside them."""

Token = tuple[str, int]
"""A place in a region, or what the caller left in a register, and a number of bytes from there."""

Op = tuple[object, ...]
"""An instruction: its name and operands (`ghashgen.check.attack.toy.make`)."""

STATE_BYTES, RED_ZONE = 64, 128
SAVED = ("rbx", "rbp", "r12")
NAMES = ("rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12")


class WrongError(Exception):
    """The program does what no right one does."""


@dataclass
class Cpu:
    """The registers, flags and memory of one run."""

    length: int
    r: dict[str, int | Token] = field(default_factory=dict)
    v: list[tuple[Byte, ...]] = field(default_factory=list)
    flags: tuple[bool | None, ...] = (None,) * 4
    """CF, ZF, SF, OF; None: not defined, or the caller's."""
    bytes: dict[tuple[str, int], Byte] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.r = {name: (f"@{name}", 0) for name in NAMES}
        self.r |= {"rdi": ("state", 0), "rsi": ("area", 0), "rdx": self.length, "rsp": ("stack", 0)}
        self.v = [tuple((frozenset({(f"@v{k}", i)}), 0) for i in range(16)) for k in range(8)]

    def byte(self, region: str, at: int) -> Byte:
        """Return one byte of memory."""
        return self.bytes.get((region, at), (frozenset({(region, at)}), 0))

    def place(self, where: int | Token, size: int) -> Token:
        """Return where an access lies.

        Raises:
            WrongError: outside of every buffer.
        """
        if isinstance(where, int):
            raise WrongError("an address that is a number")
        region, at = where
        ends = {"state": (0, STATE_BYTES), "area": (0, self.length)}
        if region == "stack":
            sp = self.r["rsp"]
            assert not isinstance(sp, int)
            ends["stack"] = sp[1] - RED_ZONE, 0
        if region not in ends or at < ends[region][0] or at + size > ends[region][1]:
            raise WrongError(f"{size} bytes at {region} + {at}")
        return where

    def load(self, where: int | Token) -> tuple[Byte, ...]:
        """Return 16 bytes of memory."""
        region, at = self.place(where, 16)
        return tuple(self.byte(region, at + k) for k in range(16))

    def store(self, where: int | Token, value: Sequence[Byte]) -> None:
        """Write bytes to memory."""
        region, at = self.place(where, len(value))
        self.bytes |= {(region, at + k): one for k, one in enumerate(value)}

    def load_word(self, where: int | Token) -> int | Token:
        """Return 8 bytes of memory as they were stored.

        Raises:
            WrongError: they are not one value that was stored.
        """
        region, at = self.place(where, 8)
        found = [self.byte(region, at + k) for k in range(8)]
        if not any(parts for parts, _ in found):
            return int.from_bytes(bytes(constant for _, constant in found), "little")
        ((name, first),) = found[0][0] if len(found[0][0]) == 1 else {("", 0)}
        if name[:1] != "&" or first or found != list(self.word(0, name)):
            return f"part of {found[0]}", 0
        token, _, offset = name[1:].rpartition("|")
        return token, int(offset)

    def word(self, value: int | Token, name: str = "") -> tuple[Byte, ...]:
        """Return a register's 8 bytes in memory."""
        if isinstance(value, int) and not name:
            return tuple((frozenset(), one) for one in value.to_bytes(8, "little"))
        if not isinstance(value, int):
            name = f"&{value[0]}|{value[1]}"
        return tuple((frozenset({(name, k)}), 0) for k in range(8))


def signed(value: int, bits: int) -> int:
    """Return the signed number of a register."""
    return value - (1 << bits) if value >> bits - 1 else value


def moved(a: int | Token, by: int) -> int | Token:
    """Return a + by in 64 bits."""
    if isinstance(a, int):
        return (a + by) % (1 << 64)
    return a[0], a[1] + signed(by % (1 << 64), 64)


def arithmetic(cpu: Cpu, op: str, bits: int, a: int | Token, b: int | Token) -> int | Token:
    """Return a ± b, or a AND b, and set the flags."""
    cpu.flags = (None,) * 4
    if bits == 64 and not (isinstance(a, int) and isinstance(b, int)):
        if isinstance(b, int) and op in ("add", "sub"):
            return moved(a, b if op == "add" else -b)
        if isinstance(a, int) and op == "add":
            return moved(b, a)
        if not isinstance(a, int) and not isinstance(b, int) and a[0] == b[0] and op == "sub":
            below = a[1] < b[1] if a[0] in ("state", "area") else None
            cpu.flags = below, a[1] == b[1], None, None
            return (a[1] - b[1]) % (1 << 64)
        return "?", 0
    if not (isinstance(a, int) and isinstance(b, int)):
        return "?", 0
    ones = (1 << bits) - 1
    a, b = a & ones, b & ones
    if op == "and":
        total, both = a & b, signed(a & b, bits)
    else:
        sign = 1 if op == "add" else -1
        total, both = a + sign * b, signed(a, bits) + sign * signed(b, bits)
    result = total & ones
    cpu.flags = total != result, not result, bool(result >> bits - 1), both != signed(result, bits)
    return result


def holds(flags: Sequence[bool | None], condition: str) -> bool:
    """Return whether a jump is taken.

    Raises:
        WrongError: that depends on flags that are not defined.
    """
    carry, zero, sign, overflow = flags
    needed = {"b": (carry,), "e": (zero,), "be": (carry, zero), "l": (sign, overflow),
              "le": (zero, sign, overflow), "s": (sign,)}  # fmt: skip
    opposite = {"ae": "b", "ne": "e", "a": "be", "ge": "l", "g": "le", "ns": "s"}
    name = opposite.get(condition, condition)
    if None in needed[name]:
        raise WrongError("a jump on flags that are not defined")
    value = {
        "b": carry, "e": zero, "be": carry or zero, "l": sign != overflow,
        "le": zero or sign != overflow, "s": sign,
    }[name]  # fmt: skip
    return bool(value) != (condition in opposite)


def run(program: Sequence[Op], length: int) -> Cpu:
    """Run a program; return what it leaves.

    Raises:
        WrongError: it does what no right program does, or does not end.
    """
    cpu, at = Cpu(length), 0
    labels = {op[1]: k for k, op in enumerate(program) if op[0] == "label"}
    for _ in range(200 + 60 * (length + 1)):
        following = step(cpu, program[at], at, labels)
        if following < 0:
            if cpu.r["rsp"] != ("stack", 0) or any(cpu.r[n] != (f"@{n}", 0) for n in SAVED):
                raise WrongError("a register that is not restored")
            return cpu
        at = following
    raise WrongError("no end")


def step(cpu: Cpu, op: Op, at: int, labels: Mapping[object, int]) -> int:
    """Execute one instruction; return the index of the next, -1 after the return."""
    r, v = cpu.r, cpu.v

    def value(x: object) -> int | Token:
        return x % (1 << 64) if isinstance(x, int) else r[str(x)]

    def where(base: object, disp: object) -> int | Token:
        assert isinstance(disp, int)
        return moved(r[str(base)], disp)

    match op:
        case ["mov", int(bits), str(to), x]:
            new = value(x)
            r[to] = new if bits == 64 else new % (1 << 32) if isinstance(new, int) else ("?", 0)
        case [("add" | "sub" | "and") as name, int(bits), str(to), x]:
            r[to] = arithmetic(cpu, str(name), bits, r[to], value(x))
        case ["cmp", int(bits), str(to), x]:
            arithmetic(cpu, "sub", bits, r[to], value(x))
        case [("inc" | "dec") as name, int(bits), str(to)]:
            carry = cpu.flags[0]
            r[to] = arithmetic(cpu, "add" if name == "inc" else "sub", bits, r[to], 1)
            cpu.flags = carry, *cpu.flags[1:]
        case ["shr", int(bits), str(to), int(count)]:
            old = r[to]
            if isinstance(old, int):
                old &= (1 << bits) - 1
                r[to], out = old >> count, bool(old >> count - 1 & 1)
                cpu.flags = out, not r[to], False, None
            else:
                r[to], cpu.flags = ("?", 0), (None,) * 4
        case ["lea", str(to), str(base), index, int(scale), int(disp)]:
            more = 0 if index is None else r[str(index)]
            if isinstance(more, int):
                r[to] = moved(r[base], scale * more + disp)
            else:
                r[to] = moved(more, disp + b) if isinstance(b := r[base], int) else ("?", 0)
        case ["j", str(condition), label]:
            return labels[label] if holds(cpu.flags, condition) else at + 1
        case ["load", int(k), base, disp]:
            v[k] = cpu.load(where(base, disp))
        case ["store", base, disp, int(k)]:
            cpu.store(where(base, disp), v[k])
        case ["movdqa", int(k), int(x)]:
            v[k] = v[x]
        case ["pxor", int(k), int(x)]:
            v[k] = tuple((a ^ b, m ^ n) for (a, m), (b, n) in zip(v[k], v[x], strict=True))
        case ["push", str(x)]:
            r["rsp"] = moved(r["rsp"], -8)
            cpu.store(r["rsp"], cpu.word(r[x]))
        case ["pop", str(to)]:
            new = cpu.load_word(r["rsp"])
            r["rsp"] = moved(r["rsp"], 8)
            r[to] = new
        case ["keep", base, disp, str(x)]:
            cpu.store(where(base, disp), cpu.word(r[x]))
        case ["fetch", str(to), base, disp]:
            r[to] = cpu.load_word(where(base, disp))
        case ["ret"]:
            return -1
        case ["label", _]:
            pass
        case _:
            raise AssertionError(op)
    return at + 1
