"""Finds leaks by emulation: calls with two secrets and equal lengths must behave alike.

Compared are the instructions executed, the address and size of every memory access, and for kernels
that wipe, the registers, flags and stack on return (except a returned number). The calls differ
only in the contents of their buffers, so any other difference comes from a secret.
"""

from collections.abc import Callable, Container, Iterable, Iterator

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.arch.x86_64 import ARCH
from ghashgen.check.validation.placements import in_rows, numbers_for
from ghashgen.kernels.core import (
    RESULT_TYPES,
    CipherKey,
    Counted,
    Fixed,
    Function,
    Keyed,
    Point,
    Table,
    Word,
)
from ghashgen.kernels.families import functions_of
from ghashgen.kernels.gcm.parts.params import KEY_LENGTH
from ghashgen.run.built import Built
from ghashgen.run.emulate import CallResult, Emulator, Image, Registers
from ghashgen.run.emulate.calls import call_of
from ghashgen.run.emulate.convention import abi_faults, abi_name
from ghashgen.run.emulate.registers import GPR_AT

SECRETS = (bytes(BLOCK_BYTES), bytes.fromhex("9d5be0a43c7f12866ea1d7c0f3482b95"))
"""All zero, for which a branch on data is likely to be taken, and a value without a pattern."""

Values = dict[str, bytes | int]
"""Parameters by name."""

Asked = tuple[str, str, Values]
"""A call: the function's name, a description, and the parameters except the table."""

More = Callable[[bytes], Iterable[Asked]]
"""(secret) → calls with it in addition to those made of every function. Their public numbers must
not depend on the secret.
"""


def repeated(secret: bytes, count: int) -> bytes:
    """Return `count` bytes of a secret, repeated."""
    return (secret * (count // len(secret) + 1))[:count]


def lengths(blocks: int) -> list[int]:
    """Return lengths in bytes that cover the paths of a message."""
    group = BLOCK_BYTES * blocks
    return [0, 5, 16, group - 1, group, group + 21, 3 * group + 16 * (blocks // 2) + 7]


def _numbers(function: Function[Point], kernel: Point) -> list[tuple[str, dict[str, int]]]:
    """Return the lengths or other public numbers to call a function with, each with a description.

    With several lengths, each runs through all values, one step ahead of the previous one.
    """
    by_name = {param.name: param for param in function.params}
    counters = list(
        dict.fromkeys(p.size.by for p in function.params if isinstance(p.size, Counted))
    )
    others = [p.name for p in function.params if isinstance(p.size, Word) and not p.secret]
    name = function.name
    known = in_rows(lengths(kernel.blocks), function.length_multiple(kernel))
    if not counters and not others:
        return [(name, {})]
    if not counters:
        return [(f"{name} of {n}", dict.fromkeys(others, n)) for n in (0, 1, 77, (1 << 64) - 1)]
    out = []
    for case in range(len(known)):
        numbers = dict.fromkeys(others, known[case])
        for step, counter in enumerate(counters):
            fitting = numbers_for(by_name[counter], known)
            numbers[counter] = fitting[(case + step) % len(fitting)]
        said = ", ".join(f"{counter} {numbers[counter]}" for counter in counters)
        one = f"{numbers[counters[0]]} bytes" if len(counters) == 1 else said
        out.append((f"{name} of {one}", numbers))
    return out


def _values(
    kernel: Point, function: Function[Point], numbers: dict[str, int], secret: bytes
) -> Values:
    """Return all parameters except the table: the repeated secret, and the numbers."""
    out: Values = {}
    for param in function.params:
        match param.size:
            case Word() if param.secret:
                out[param.name] = int.from_bytes(secret[:8])
            case Word():
                out[param.name] = numbers[param.name]
            case Fixed(count):
                out[param.name] = repeated(secret, count)
            case CipherKey():
                assert isinstance(kernel, Keyed)
                out[param.name] = repeated(secret, kernel.key_bytes)
            case Counted(by, unit):
                out[param.name] = repeated(secret, numbers[by] * unit)
    return out


def _calls(
    built: Built[Point], secret: bytes, more: More, without: Container[str], key_bytes: int
) -> Iterator[Asked]:
    """Yield the calls, beginning with those that fill the table."""
    exported = [f for f in functions_of(built.kernel).values() if f.name not in without]
    for function in sorted(exported, key=lambda f: not _fills(f)):
        for what, numbers in _numbers(function, built.kernel):
            sizes = [param.name for param in function.params if param.role == KEY_LENGTH.role]
            numbers |= dict.fromkeys(sizes, key_bytes)
            yield what, function.name, _values(built.kernel, function, numbers, secret)
    yield from more(secret)


def _fills(function: Function[Point]) -> bool:
    return any(isinstance(param.size, Table) and param.written for param in function.params)


def _observed(
    emulator: Emulator,
    image: Image,
    built: Built[Point],
    secret: bytes,
    more: More,
    without: Container[str],
    key_bytes: int,
) -> Iterator[tuple[str, Function[Point], CallResult]]:
    """Yield what every call with this secret did, beginning with init."""
    abi = abi_name(built.abi)
    table: bytes | int = built.kernel.layout.size
    for what, name, values in _calls(built, secret, more, without, key_bytes):
        function = functions_of(built.kernel)[name]
        tables = [param.name for param in function.params if isinstance(param.size, Table)]
        values |= dict.fromkeys(tables, table)
        call = call_of(built.arguments(name, values), abi, trace=True)
        done = emulator.call_many(image, f"{built.symbol}_{name}", [call])[0]
        if _fills(function):
            table = done.buffers[tables[0]]
        yield what, function, done


def leaks(
    emulator: Emulator,
    image: Image,
    built: Built[Point],
    more: More = lambda secret: (),
    without: Container[str] = (),
    key_bytes: int = 0,
) -> tuple[int, str]:
    """Return the number of calls, and the first difference, or "".

    Functions in `without` have buffers with public numbers; they are called only by `more`. A
    function that takes keys of several sizes gets one of `key_bytes`.
    """
    count = 0
    pairs = [
        _observed(emulator, image, built, secret, more, without, key_bytes) for secret in SECRETS
    ]
    for (what, function, one), (_, _, other) in zip(*pairs, strict=True):
        count += 2
        for wrong in _compared(built, function, one, other):
            return count, f"{what}: {wrong}"
    return count, ""


def _registers(function: Function[Point], after: Registers) -> bytes:
    """Return the registers without the bits of a returned number."""
    given = RESULT_TYPES[function.returns.ctype] // 8 if function.returns else 0
    at = GPR_AT + 8 * ARCH.result
    return after.block[:at] + bytes(given) + after.block[at + given :]


def _compared(
    built: Built[Point], function: Function[Point], one: CallResult, other: CallResult
) -> Iterator[str]:
    for result in (one, other):
        if not result.outcome.ok:
            yield result.outcome.text
        yield from abi_faults(built.abi, result.before, result.after)
    if one.runs != other.runs:
        yield "the way through the code depends on data"
    if one.accesses != other.accesses:
        yield "an address depends on data"
    if built.kernel.wipe:
        if _registers(function, one.after) != _registers(function, other.after):
            yield "a register depends on a secret on return"
        if one.stack != other.stack:
            yield "a stack slot depends on a secret on return"
