"""Calls any function with its buffers at every allowed place: bounds, convention, alignment.

Everything is derived from the `Function`. Read-only buffers are write-protected. Each buffer lies
against a forbidden page, by its end and by its beginning, and then at every distance that its
promised alignment allows, up to a cache line. The results must not depend on the places. The values
are arbitrary: other trials check whether results are right.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import shake_256
from types import MappingProxyType
from typing import Any

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.kernels.core import CipherKey, Counted, Fixed, Function, Param, Table, Word
from ghashgen.run.arguments import Arguments, Memory, Values, answered, in_place
from ghashgen.run.callee import Callee, Exported, arguments_of
from ghashgen.run.harness import Called
from ghashgen.support.errors import GhashgenError

LINE = 64
"""Bytes of a cache line."""

Caller = Callable[[str, Sequence[Arguments], bool], Sequence[Called]]
"""(function, calls, whether upper halves are dirty) → what they left. Raises GhashgenError if a
call faults.
"""

_NUMBERS = (0, 1, 77, 2**64 - 1)
"""Public numbers that count nothing."""


@dataclass(frozen=True)
class Batch:
    """Calls that differ in one thing, and the positions of the calls with the same answers."""

    what: str
    calls: Sequence[Arguments]
    like: Sequence[int]
    dirty: bool = False


def lengths(blocks: int) -> tuple[int, ...]:
    """Return lengths in bytes that cover the paths of a message."""
    group = BLOCK_BYTES * blocks
    around = (group - 1, group, group + 1, group + BLOCK_BYTES, 2 * group - 1, 2 * group)
    few = range(2 * BLOCK_BYTES + 2)
    return tuple(sorted({*few, *around, 2 * group + 21, 3 * group + 8 * blocks + 7}))


def in_rows(among: Sequence[int], multiple: int) -> Sequence[int]:
    """Return lengths of as many rows of `multiple` bytes as these lengths have whole blocks.

    A function without rows, whose multiple is 1, gets the lengths unchanged.
    """
    if multiple == 1:
        return among
    return tuple(dict.fromkeys(multiple * (length // BLOCK_BYTES) for length in among))


def numbers_for(param: Param, among: Sequence[int]) -> Sequence[int]:
    """Return the numbers that a parameter allows; if none, the first allowed number."""
    if not param.allowed:
        return among
    return [n for n in among if n in param.allowed] or param.allowed[: len(among)]


def faults(
    callee: Callee,
    call: Caller,
    functions: Sequence[str],
    chosen: Mapping[str, Sequence[Arguments]] = MappingProxyType({}),
) -> list[str]:
    """Return what is wrong with calls of these functions, one line each.

    Functions that fill the table are called first. `chosen` has calls by function that must also
    be made at every distance, because arbitrary bytes would take only one path.
    """
    table = shake_256(b"table").digest(callee.table_bytes)
    out: list[str] = []
    for own in sorted(callee.exported.values(), key=lambda each: not _filled(each.function)):
        function = own.function
        given = [each for each in chosen.get(function.name, ()) if own.takes(each)]
        cases = [*given, *_cases(callee, own, table)]
        if filled := _filled(function):
            try:
                (left,) = call(function.name, cases[:1], False)
                table = left.buffers[filled]
            except GhashgenError as error:
                out.append(str(error))
        if cases and function.name in functions:
            few = sorted({0, min(5, len(cases) - 1), len(cases) - 1})
            out += _faults_of(own, cases, range(len(given)) or few, call, callee.table_align)
    return out


def _filled(function: Function[Any]) -> str:
    """Return the name of the table parameter that a function fills, or ""."""
    tables = (p.name for p in function.params if isinstance(p.size, Table) and p.written)
    return next(tables, "")


def _bytes(function: Function[Any], name: str, case: int, size: int) -> bytes:
    """Return arbitrary bytes, the same in every run."""
    return shake_256(f"{function.name} {name} {case}".encode()).digest(size)


def _cases(callee: Callee, own: Exported, table: bytes) -> Iterator[Arguments]:
    """Yield a call for every length or other number; every buffer ends as near a page as
    allowed.
    """
    function = own.function
    if any(isinstance(p.size, Counted) and p.size.ctype != "uint8_t" for p in function.params):
        # Records hold addresses, which arbitrary bytes are not.
        return
    by_name = {p.name: p for p in function.params}
    counters = {p.size.by: p.size.unit for p in function.params if isinstance(p.size, Counted)}
    numbers = [p for p in function.params if isinstance(p.size, Word) and not p.secret]
    all_lengths = in_rows(lengths(callee.blocks), own.multiple)
    count = len(all_lengths) if counters else len(_NUMBERS) if numbers else 1
    for case in range(count):
        values: dict[str, bytes | int] = {}
        for i, (name, unit) in enumerate(counters.items()):
            # Two lengths of one call differ: the second runs through them in another order.
            counts = numbers_for(by_name[name], [length // unit for length in all_lengths])
            values[name] = counts[(case + 7 * i * case + 3 * i) % len(counts)]
        made = _values(callee, function, values, table, case)
        yield arguments_of(callee, function.name, made)


def _values(
    callee: Callee,
    function: Function[Any],
    counted: Mapping[str, int | bytes],
    table: bytes,
    case: int,
) -> Values:
    out = dict(counted)
    for param in function.params:
        match param.size:
            case Table() if not param.written:
                out[param.name] = table
            case Fixed(size):
                out[param.name] = _bytes(function, param.name, case, size)
            case CipherKey():
                out[param.name] = _bytes(function, param.name, case, callee.key_bytes)
            case Counted(by, unit):
                size = unit * int(counted[by])
                out[param.name] = _bytes(function, param.name, case, size)
            case Word() if param.secret:
                out[param.name] = int.from_bytes(_bytes(function, param.name, case, 8), "little")
            case Word():
                fitting = numbers_for(param, _NUMBERS)
                out.setdefault(param.name, fitting[case % len(fitting)])
    # So bytes that a function leaves unchanged are the same in place.
    return out | {p.name: out[p.may_be] for p in function.params if p.may_be}


def _faults_of(
    own: Exported, cases: list[Arguments], few: Sequence[int], call: Caller, table_align: int
) -> Iterator[str]:
    function = own.function
    try:
        wanted = [_answer(function, left) for left in _left(function, cases, call, False)]
    except GhashgenError as error:
        yield f"buffers against the pages behind them: {error}"
        return
    for batch in _batches(own, cases, few, table_align):
        try:
            left = _left(function, batch.calls, call, batch.dirty)
        except GhashgenError as error:
            yield f"{batch.what}: {error}"
            continue
        for i, one in zip(batch.like, left, strict=True):
            if _answer(function, one) != wanted[i]:
                yield f"{function.name}, {batch.what}: another result, case {i}"
                break


def _left(
    function: Function[Any], calls: Sequence[Arguments], call: Caller, dirty: bool
) -> Sequence[Called]:
    """Return what calls left.

    Raises:
        GhashgenError: one faults, writes beside a buffer, or violates the convention.
    """
    found = call(function.name, calls, dirty)
    for number, left in enumerate(found):
        if left.violations:
            raise GhashgenError(f"call {number}, {function.name}: {left.violations}")
    return found


def _answer(function: Function[Any], left: Called) -> object:
    return answered(function, left.buffers, left.register)


def _batches(
    own: Exported, cases: list[Arguments], few: Sequence[int], table_align: int
) -> Iterator[Batch]:
    """Yield the calls again: against pages by their beginnings, and a few with each buffer at all
    distances.
    """
    every, function = range(len(cases)), own.function
    may_share = {name for p in function.params if p.may_be for name in (p.name, p.may_be)}
    starts = [[_moved(x, 0, True) for x in case] for case in cases]
    yield Batch("buffers against the pages before them", starts, every)
    yield Batch("upper halves of vector registers in use", starts, every, dirty=True)
    if may_share:
        for side, apart in (("behind", cases), ("before", starts)):
            shared = [in_place(function, call) for call in apart]
            yield Batch(f"in place, against the pages {side}", shared, every)
    for at, param in enumerate(function.params):
        if isinstance(param.size, Word):
            continue
        align = table_align if isinstance(param.size, Table) else param.align
        for at_start in (False, True):
            calls, like = [], []
            for i in few:
                memory = cases[i][at]
                assert isinstance(memory, Memory)
                least = 0 if at_start else memory.gap
                for distance in range(least, least + LINE, align):
                    moved = _moved(memory, distance, at_start)
                    calls.append([*cases[i][:at], moved, *cases[i][at + 1 :]])
                    like.append(i)
            side = "after" if at_start else "before"
            yield Batch(f"{param.name} at every distance {side} a page's edge", calls, like)


def _moved(value: int | Memory, gap: int, at_start: bool) -> int | Memory:
    if isinstance(value, int):
        return value
    # What its addresses point to moves as far.
    held = tuple((at, replace(one, gap=gap, at_start=at_start)) for at, one in value.pointers)
    return replace(value, gap=gap, at_start=at_start, pointers=held)
