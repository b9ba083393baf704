"""Two secrets, one message length: an emulated call must take the same way for both.

What is compared: the instructions executed, every address and size of memory accessed, and for
kernels that wipe what registers, flags and stack hold on return. Buffers hold other bytes in the
two calls, and nothing else differs; so whatever differs afterwards was made from a secret.
"""

from collections.abc import Iterator, Sequence
from typing import Literal

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.check.validation.runners import abi_faults
from ghashgen.run.built import Built
from ghashgen.run.emulate import Buffer, Call, CallResult, Emulator, Image

SECRETS = (bytes(BLOCK_BYTES), bytes.fromhex("9d5be0a43c7f12866ea1d7c0f3482b95"))
"""All zero, where a branch on data is likely to be taken, and no pattern at all."""


def lengths(blocks: int) -> list[int]:
    """Return lengths in bytes on the ways that a message can take."""
    group = BLOCK_BYTES * blocks
    return [0, 5, 16, group - 1, group, group + 21, 3 * group + 16 * (blocks // 2) + 7]


def _calls(
    built: Built, table: bytes, secret: bytes
) -> Iterator[tuple[str, str, Sequence[int | str], tuple[Buffer, ...]]]:
    """Yield (what, function, arguments, buffers)."""
    held = Buffer("table", table, offset=-len(table) % built.table_align)
    x = Buffer("x", secret, writable=True)
    yield "mul", "mul", ("table", "x"), (held, x)
    for length in lengths(built.kernel.blocks):
        data = Buffer("in", (secret * (length // BLOCK_BYTES + 1))[:length])
        what = f"update of {length} bytes"
        yield what, "update", ("table", "x", "in", length), (held, x, data)
    if built.kernel.segments:
        y = Buffer("y", BLOCK_BYTES, writable=True)
        for m in (0, 1, 77, (1 << 64) - 1):
            yield f"power of {m}", "power", ("table", "y", m), (held, y)
        others = (Buffer("y", secret), Buffer("p", secret))
        yield "combine", "combine", ("x", "y", "p"), (x, *others)


def _observed(
    emulator: Emulator, image: Image, built: Built, secret: bytes
) -> Iterator[tuple[str, CallResult]]:
    """Yield what every call with this secret did, init's first."""
    abi: Literal["sysv", "win64"] = "win64" if built.abi == "win64" else "sysv"
    name, size = built.kernel.name, built.kernel.table_bytes
    room = Buffer("table", bytes(size), writable=True, offset=-size % built.table_align)
    first = Call(("table", "h"), (room, Buffer("h", secret)), abi=abi, trace=True)
    done = emulator.call_many(image, f"{name}_init", [first])[0]
    yield "init", done
    for what, function, arguments, buffers in _calls(built, done.buffers["table"], secret):
        call = Call(arguments, buffers, abi=abi, trace=True)
        yield what, emulator.call_many(image, f"{name}_{function}", [call])[0]


def leaks(emulator: Emulator, image: Image, built: Built) -> tuple[int, str]:
    """Return how many calls were made, and the first thing that is wrong with one, else ""."""
    count = 0
    pairs = [_observed(emulator, image, built, secret) for secret in SECRETS]
    for (what, one), (_, other) in zip(*pairs, strict=True):
        count += 2
        for wrong in _compared(built, one, other):
            return count, f"{what}: {wrong}"
    return count, ""


def _compared(built: Built, one: CallResult, other: CallResult) -> Iterator[str]:
    for result in (one, other):
        if not result.outcome.ok:
            yield result.outcome.text
        yield from abi_faults(built.abi, result.before, result.after)
    if one.runs != other.runs:
        yield "the way through the code depends on data"
    if one.accesses != other.accesses:
        yield "an address depends on data"
    if built.kernel.wipe:
        if one.after.block != other.after.block:
            yield "a register depends on a secret on return"
        if one.stack != other.stack:
            yield "a stack slot depends on a secret on return"
