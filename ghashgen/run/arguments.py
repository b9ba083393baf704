"""Builds the arguments of a call from a function's parameters and values by name.

    arguments(update, {"table": table, "x": x, "in": message}, table_bytes, table_align)

A number that counts a buffer may be omitted: it follows from the buffer. Memory that the function
only fills may be omitted too: it holds garbage before the call.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ghashgen.kernels.core import CipherKey, Counted, Direction, Fixed, Function, Param, Table, Word
from ghashgen.support.errors import GhashgenError

Values = Mapping[str, bytes | int]
"""Memory and numbers by parameter name; for memory, a number means that many bytes of garbage."""


@dataclass(frozen=True)
class Memory:
    """A buffer of a call: its bytes, or a number of garbage bytes.

    It ends `gap` bytes before forbidden memory, or begins that many after it.
    """

    name: str
    content: bytes | int
    writable: bool
    gap: int
    at_start: bool = False
    zeros: int = 0
    """Zero bytes after the content of a read-only buffer; may exceed any real memory."""
    pointers: Sequence[tuple[int, "Memory"]] = ()
    """Places in it that hold the addresses of other buffers, 8 bytes each. Before the call its
    content is 0 there; what comes back is the difference to the address, so again 0."""

    def __hash__(self) -> int:
        # Calls look buffers up again and again, and those that others hold in each of them.
        return hash((self.name, self.content))

    @property
    def size(self) -> int:
        """Its size in bytes."""
        content = self.content if isinstance(self.content, int) else len(self.content)
        return content + self.zeros


Arguments = Sequence[int | Memory]
"""The arguments of one call: numbers and buffers, in the order of the parameters."""


def buffers_of(given: Arguments) -> list[Memory]:
    """Return the buffers of a call, each once, also those whose addresses others hold."""

    def held(one: Memory) -> Iterator[Memory]:
        yield one
        for _, other in one.pointers:
            yield from held(other)

    return list(dict.fromkeys(y for x in given if isinstance(x, Memory) for y in held(x)))


@dataclass(frozen=True)
class Answer:
    """What a call left: the memory that it may write, by parameter name, and its result."""

    buffers: Mapping[str, bytes]
    result: int | None = None
    """The returned number, or None if the function returns none."""

    def __getitem__(self, name: str) -> bytes:
        """Return the memory of a parameter."""
        return self.buffers[name]


def answered(function: Function[Any], buffers: Mapping[str, bytes], register: int) -> Answer:
    """Return the answer to a call, given the final buffers and result register."""
    unwritten = {param.name for param in function.params if not param.written}
    kept = {name: data for name, data in buffers.items() if name not in unwritten}
    return Answer(kept, function.returns.number(register) if function.returns else None)


def arguments(
    function: Function[Any], values: Values, table_bytes: int, table_align: int
) -> Arguments:
    """Return the arguments of a call, in the order of the parameters.

    Raises:
        GhashgenError: a value is missing, belongs to no parameter, or has a wrong size.
    """
    if unknown := sorted(values.keys() - {param.name for param in function.params}):
        raise GhashgenError(f"{function.name} has no parameter {unknown[0]!r}")
    out: list[int | Memory] = []
    for param in function.params:
        if isinstance(param.size, Word):
            out.append(_number(function, param, values))
            continue
        align = table_align if isinstance(param.size, Table) else param.align
        wanted = _bytes(function, param, values, table_bytes)
        content = values.get(param.name, wanted if param.direction is Direction.OUT else None)
        size = len(content) if isinstance(content, bytes) else content
        if content is None or size != wanted:
            raise GhashgenError(
                f"{function.name} needs {wanted} bytes for {param.name}, not {size or 'none'}"
            )
        out.append(Memory(param.name, content, param.written, -wanted % align))
    return tuple(out)


def in_place(function: Function[Any], given: Arguments) -> Arguments:
    """Return a call in which parameters that may share another's memory do so.

    Their previous content is lost.
    """
    at = {param.name: i for i, param in enumerate(function.params)}
    out = list(given)
    for i, param in enumerate(function.params):
        shared = out[at[param.may_be]] if param.may_be else None
        if isinstance(shared, Memory):
            out[i] = out[at[param.may_be]] = replace(shared, name=param.name, writable=True)
    return tuple(out)


def _number(function: Function[Any], param: Param, values: Values) -> int:
    """Return a given number, or the one that counts a given buffer."""
    given = values.get(param.name)
    if isinstance(given, int):
        return given
    for other in function.params:
        content = values.get(other.name)
        if (
            isinstance(other.size, Counted)
            and other.size.by == param.name
            and isinstance(content, bytes)
        ):
            return len(content) // other.size.unit
    raise GhashgenError(f"{function.name} lacks a value for {param.name}")


def _bytes(function: Function[Any], param: Param, values: Values, table_bytes: int) -> int:
    """Return the size of a parameter's memory in bytes."""
    match param.size:
        case Table():
            return table_bytes
        case Fixed(count):
            return count
        case CipherKey():
            given = values.get(param.name, b"")
            return given if isinstance(given, int) else len(given)
        case Counted(by, unit):
            counter = next(other for other in function.params if other.name == by)
            return unit * _number(function, counter, values)
    raise TypeError(f"{param.name} is passed by value")
