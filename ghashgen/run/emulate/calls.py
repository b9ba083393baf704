"""A call: its buffers, its arguments, and where a calling convention puts them."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, NamedTuple

from ghashgen.run.arguments import Arguments, Memory, buffers_of
from ghashgen.run.emulate.layout import RETURN_ADDRESS, STACK_TOP, Place, Span, place_buffer
from ghashgen.run.emulate.registers import GPR_AT, GPR_NAMES, K_AT, ZMM_AT, garbage, sentinel_block
from ghashgen.support.errors import GhashgenError

Abi = Literal["sysv", "win64"]
DEFAULT_BUDGET = 1_000_000


class _Convention(NamedTuple):
    registers: tuple[str, ...]
    home_bytes: int


# System V AMD64 psABI 3.2.3; Microsoft x64 calling convention (32 bytes of home space).
CONVENTIONS: Mapping[str, _Convention] = {
    "sysv": _Convention(("rdi", "rsi", "rdx", "rcx", "r8", "r9"), 0),
    "win64": _Convention(("rcx", "rdx", "r8", "r9"), 32),
}


@dataclass(frozen=True)
class Buffer:
    """Memory for the function, between unmapped pages.

    `content` is the initial bytes, or a length for a buffer of garbage. With `place` "end" the last
    byte is `offset` bytes before an unmapped page, so over-reads fault; with "start" the first byte
    is `offset` bytes after one, so under-reads fault. The rest of the pages holds garbage that must
    not change.
    """

    name: str
    content: bytes | int
    writable: bool = False
    place: Place = "end"
    offset: int = 0
    pointers: Sequence[tuple[int, str]] = ()
    """Places in it that hold the addresses of other buffers, 8 bytes each."""


@dataclass(frozen=True)
class Call:
    """One call; arguments are integers or names of buffers, "name" or "name+offset".

    `registers` sets rax…r15, zmm0…zmm31 and k0…k7 before the call (arguments win; rsp cannot be
    set). All other registers hold garbage that depends only on `seed`. The run ends at the first
    taken branch after `budget` instructions. `count` requests instruction counts, `trace` every
    memory access (slow).
    """

    args: Sequence[int | str] = ()
    buffers: Sequence[Buffer] = ()
    abi: Abi = "sysv"
    seed: int = 0
    budget: int = DEFAULT_BUDGET
    count: bool = False
    trace: bool = False
    registers: Mapping[str, int] = field(default_factory=dict)


def call_of(arguments: Arguments, abi: Abi, trace: bool = False) -> Call:
    """Return the call for some arguments, with each buffer `gap` bytes from an unmapped page."""
    buffers = buffers_of(arguments)
    if huge := [x.name for x in buffers if x.zeros]:
        raise GhashgenError(f"the emulator has no memory for {huge[0]}", "run it natively")
    return Call(
        tuple(x.name if isinstance(x, Memory) else x for x in arguments),
        tuple(
            Buffer(
                x.name,
                x.content,
                x.writable,
                "start" if x.at_start else "end",
                x.gap,
                tuple((at, other.name) for at, other in x.pointers),
            )
            for x in buffers
        ),
        abi=abi,
        trace=trace,
    )


@dataclass(frozen=True)
class Prepared:
    """A call with addresses: `block` goes to the registers, `stack` to memory at `rsp`."""

    call: Call
    spans: Mapping[str, Span]
    contents: Mapping[str, bytes]
    block: bytes
    rsp: int
    stack: bytes


def with_addresses(
    content: bytes, buffer: Buffer, spans: Mapping[str, Span], sign: Literal[1, -1]
) -> bytes:
    """Return a buffer's content with the addresses that it holds added, or subtracted."""
    out = bytearray(content)
    for at, name in buffer.pointers:
        word = int.from_bytes(out[at : at + 8], "little") + sign * spans[name].base
        out[at : at + 8] = (word % 2**64).to_bytes(8, "little")
    return bytes(out)


@lru_cache(maxsize=256)
def _register_place(name: str) -> tuple[int, int]:
    """Return offset in the block and size in bytes of a register that a call may set."""
    if name in GPR_NAMES and name != "rsp":
        return GPR_AT + 8 * GPR_NAMES.index(name), 8
    for prefix, number, at, size in (("zmm", 32, ZMM_AT, 64), ("k", 8, K_AT, 8)):
        index = name.removeprefix(prefix)
        if name.startswith(prefix) and index.isdecimal() and int(index) < number:
            return at + size * int(index), size
    raise GhashgenError(
        f"register {name!r} cannot be set", "use rax…r15 except rsp, zmm0…zmm31, k0…k7"
    )


def _argument(value: int | str, spans: Mapping[str, Span]) -> int:
    if isinstance(value, int):
        return value % 2**64
    name, _, offset = value.partition("+")
    if name not in spans:
        known = ", ".join(spans) or "none"
        raise GhashgenError(
            f"argument {value!r} is not the name of a buffer", f"buffers are: {known}"
        )
    return spans[name].base + int(offset or "0", 0)


def prepare(call: Call) -> Prepared:
    """Place the buffers and arguments of a call.

    Raises:
        GhashgenError: the name of an ABI, register, or buffer is unknown, or a buffer does not fit.
    """
    if call.abi not in CONVENTIONS:
        raise GhashgenError(f"unknown calling convention {call.abi!r}", "use sysv or win64")
    convention = CONVENTIONS[call.abi]
    spans: dict[str, Span] = {}
    contents: dict[str, bytes] = {}
    for index, buffer in enumerate(call.buffers):
        if buffer.name in spans:
            raise GhashgenError(f"two buffers are called {buffer.name!r}", "rename one")
        content = buffer.content
        if isinstance(content, int):
            content = garbage(call.seed, f"buffer {buffer.name}", content)
        contents[buffer.name] = content
        spans[buffer.name] = place_buffer(
            index, len(content), buffer.writable, buffer.place, buffer.offset
        )
    for buffer in call.buffers:
        contents[buffer.name] = with_addresses(contents[buffer.name], buffer, spans, 1)

    values = [_argument(value, spans) for value in call.args]
    in_registers = dict(zip(convention.registers, values, strict=False))
    on_stack = values[len(convention.registers) :]
    block = bytearray(sentinel_block(call.seed))
    for name, value in {**call.registers, **in_registers}.items():
        at, size = _register_place(name)
        block[at : at + size] = (value % 2 ** (8 * size)).to_bytes(size, "little")

    above = garbage(call.seed, "home", convention.home_bytes)
    above += struct.pack(f"<{len(on_stack)}Q", *on_stack)
    # rsp + 8 is a multiple of 16 at entry in both conventions.
    rsp = (STACK_TOP - len(above)) // 16 * 16 - 8
    at = GPR_AT + 8 * GPR_NAMES.index("rsp")
    block[at : at + 8] = rsp.to_bytes(8, "little")
    stack = RETURN_ADDRESS.to_bytes(8, "little") + above
    return Prepared(call, spans, contents, bytes(block), rsp, stack)
