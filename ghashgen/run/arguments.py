"""The arguments of one call, from a function's parameters and the values by their names.

    arguments(update, {"table": table, "x": x, "in": message}, table_bytes, table_align)

What counts a buffer need not be given: it is as long as the buffer. What the function fills alone
need not be given either: it holds garbage before the call.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ghashgen.kernels.core import CipherKey, Counted, Direction, Fixed, Function, Param, Table, Word
from ghashgen.support.errors import GhashgenError

Values = Mapping[str, bytes | int]
"""Memory and numbers by the names of parameters; of memory, a number is bytes of garbage."""


@dataclass(frozen=True)
class Memory:
    """A buffer of a call: its bytes, or how many of garbage.

    It ends `gap` bytes before what must not be touched, or begins so many after it.
    """

    name: str
    content: bytes | int
    writable: bool
    gap: int
    at_start: bool = False
    zeros: int = 0
    """Zero bytes after its content, of one that is only read: as many as no memory could hold."""

    @property
    def size(self) -> int:
        """Bytes of it."""
        content = self.content if isinstance(self.content, int) else len(self.content)
        return content + self.zeros


Arguments = Sequence[int | Memory]
"""Of one call: numbers and buffers, in the order of the parameters."""


@dataclass(frozen=True)
class Answer:
    """What a call left: the memory that it may write to, by the names of parameters, its result."""

    buffers: Mapping[str, bytes]
    result: int | None = None
    """The number that the function returned, None of one that returns none."""

    def __getitem__(self, name: str) -> bytes:
        """Return the memory of a parameter."""
        return self.buffers[name]


def answered(function: Function[Any], buffers: Mapping[str, bytes], register: int) -> Answer:
    """Return the answer to a call that left this in the register of results."""
    written = {param.name for param in function.params if param.written}
    kept = {name: data for name, data in buffers.items() if name in written}
    return Answer(kept, function.returns.number(register) if function.returns else None)


def arguments(
    function: Function[Any], values: Values, table_bytes: int, table_align: int
) -> Arguments:
    """Return the arguments of a call, in the order of the parameters.

    Raises:
        GhashgenError: a value is missing, is of no parameter, or has not the size that it says.
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
                f"{function.name} is given {size or 'no'} bytes for {param.name}, not {wanted}"
            )
        out.append(Memory(param.name, content, param.written, -wanted % align))
    return tuple(out)


def in_place(function: Function[Any], given: Arguments) -> Arguments:
    """Return a call whose parameters that may be another one's memory are it.

    What they held before is lost.
    """
    at = {param.name: i for i, param in enumerate(function.params)}
    out = list(given)
    for i, param in enumerate(function.params):
        shared = out[at[param.may_be]] if param.may_be else None
        if isinstance(shared, Memory):
            out[i] = out[at[param.may_be]] = replace(shared, name=param.name, writable=True)
    return tuple(out)


def _number(function: Function[Any], param: Param, values: Values) -> int:
    """Return a number that was given, or what it must be to count a buffer that was."""
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
    raise GhashgenError(f"{function.name} is given nothing for {param.name}")


def _bytes(function: Function[Any], param: Param, values: Values, table_bytes: int) -> int:
    """Return how many bytes the memory of a parameter has."""
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
