"""A series: many calls of one function in one run of the emulated CPU.

A call through `Emulator.call_many` takes some 100 microseconds besides its own instructions: stack
and pages are filled with garbage and compared, 2 KiB of registers are copied each way, and every
taken branch is recorded. A series avoids this: a loop of guest code (stub.series_stub) calls the
function, and each call takes the next piece of every buffer. The result has the final contents of
the buffers, any fault, and the number of the call that caused it.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ghashgen.run.emulate.calls import (
    CONVENTIONS,
    DEFAULT_BUDGET,
    Abi,
    Buffer,
    Call,
    Prepared,
    prepare,
)
from ghashgen.run.emulate.layout import MAX_BUFFER_PAGES, PAGE
from ghashgen.run.emulate.registers import GPR_AT, GPR_NAMES
from ghashgen.run.emulate.stub import SERIES_REGISTERS
from ghashgen.support.errors import GhashgenError

LONGEST_BUFFER = MAX_BUFFER_PAGES * PAGE
"""Largest total size in bytes of a buffer's pieces."""


@dataclass(frozen=True)
class Turn:
    """Calls with the first `calls` pieces of each buffer and these arguments."""

    calls: int
    args: Sequence[int | str]
    """Numbers, the same in every call, and names of buffers; all turns must have buffers in the
    same places.
    """


@dataclass(frozen=True)
class Series:
    """Turns over the same buffers; each turn starts from the initial contents.

    A buffer consists of `pieces` pieces of equal size and ends at an unmapped page. A turn ends at
    the latest at its taken branch number `budget`.
    """

    pieces: int
    buffers: Sequence[Buffer]
    turns: Sequence[Turn]
    abi: Abi = "sysv"
    seed: int = 0
    budget: int = DEFAULT_BUDGET


@dataclass(frozen=True)
class TurnResult:
    """How a turn ended: after `done` calls; `ok` if these are all and nothing went wrong.

    `buffers` holds the final bytes of all pieces of every writable buffer.
    """

    done: int
    ok: bool
    buffers: Mapping[str, bytes]


@dataclass(frozen=True)
class PreparedSeries:
    """A series with addresses, as sent to the worker."""

    header: Mapping[str, Any]
    payload: bytes
    writable: Mapping[str, int]
    """The size in bytes of each writable buffer, by name."""


def prepare_series(series: Series, target: int) -> PreparedSeries:
    """Place the buffers of a series and the arguments of its turns.

    Raises:
        GhashgenError: as `prepare`; or a buffer does not consist of equal pieces, a turn has more
            calls than there are pieces, or an argument does not fit in a register.
    """
    if not series.turns:
        raise GhashgenError("a series without turns", "give it one")
    sizes: dict[str, int] = {}
    for buffer in series.buffers:
        size = buffer.content if isinstance(buffer.content, int) else len(buffer.content)
        if series.pieces < 1 or size % series.pieces:
            raise GhashgenError(
                f"{buffer.name}: {size} bytes are not {series.pieces} equal pieces",
                "give every call a piece of its own",
            )
        sizes[buffer.name] = size // series.pieces
    for turn in series.turns:
        if not 0 < turn.calls <= series.pieces:
            raise GhashgenError(f"{turn.calls} calls of {series.pieces} pieces", "ask for fewer")
    first = _prepared(series, series.turns[0])
    strides = _strides(series, series.turns[0], sizes)
    if any(_strides(series, turn, sizes) != strides for turn in series.turns):
        raise GhashgenError(
            "turns of a series differ in which arguments are buffers", "make it two series"
        )
    header = {
        "op": "series",
        "target": target,
        "seed": series.seed,
        "budget": series.budget,
        "rsp": first.rsp,
        "stack": len(first.stack),
        "buffers": [
            [s.index, s.base, s.length, s.pages_at, s.pages, s.writable]
            for s in first.spans.values()
        ],
        "strides": strides,
        "turns": [[turn.calls, _values(_prepared(series, turn))] for turn in series.turns],
    }
    payload = b"".join((first.block, first.stack, *first.contents.values()))
    return PreparedSeries(
        header, payload, {name: s.length for name, s in first.spans.items() if s.writable}
    )


def _prepared(series: Series, turn: Turn) -> Prepared:
    return prepare(Call(turn.args, series.buffers, series.abi, series.seed))


def _values(prepared: Prepared) -> list[int]:
    """Return the values of SERIES_REGISTERS in a turn's first call."""
    general = struct.unpack_from("<16Q", prepared.block, GPR_AT)
    return [general[GPR_NAMES.index(name)] for name in SERIES_REGISTERS]


def _strides(series: Series, turn: Turn, sizes: Mapping[str, int]) -> list[int]:
    """Return by how much each of SERIES_REGISTERS grows from call to call."""
    registers = CONVENTIONS[series.abi].registers
    if len(turn.args) > len(registers):
        raise GhashgenError(
            f"{len(turn.args)} arguments do not fit in {len(registers)} registers",
            "run such calls one by one",
        )
    strides = dict.fromkeys(SERIES_REGISTERS, 0)
    for register, value in zip(registers, turn.args, strict=False):
        if isinstance(value, str):
            strides[register] = sizes[value.partition("+")[0]]
    return list(strides.values())


def turn_results(
    prepared: PreparedSeries, answer: Mapping[str, Any], payload: bytes
) -> list[TurnResult]:
    """Return the results of a series from the worker's answer."""
    results = []
    at = 0
    for done, ok in answer["turns"]:
        buffers = {}
        for name, length in prepared.writable.items():
            buffers[name] = payload[at : at + length]
            at += length
        results.append(TurnResult(done, ok, buffers))
    return results
