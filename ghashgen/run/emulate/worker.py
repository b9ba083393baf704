"""The worker process: `python -m ghashgen.run.emulate.worker`.

It reads request frames on standard input and answers each with one frame on what was standard
output when it started (frames.py).  The library prints to descriptors 1 and 2 and crashes when
the interpreter shuts down, hence the moved descriptor and the `os._exit`.

Requests:
    {"op": "image", "segments": [[address, kind, length], ...]} + contents  ->  {"image": id}
    {"op": "calls", "image": id, "calls": [call, ...]} + parts              ->  {"runs": [...]}
    {"op": "series", "image": id, "turns": [[calls, values], ...], ...} + parts -> {"turns": [...]}
Parts of a call or a series: register block, bytes at the stack pointer, contents of each buffer.
Parts of a run: register block, contents of each writable buffer, the stack that was written to.
Parts of a turn: contents of each writable buffer.
"""

import os
import sys
from functools import lru_cache
from typing import Any, BinaryIO

from ghashgen.run.emulate import layout
from ghashgen.run.emulate.frames import read_frame, write_frame
from ghashgen.run.emulate.layout import PAGE, Span
from ghashgen.run.emulate.machine import Machine, OutOfMemoryError
from ghashgen.run.emulate.registers import REGISTERS_BYTES, garbage


class _Reader:
    """Cuts the bytes of a request into its parts."""

    def __init__(self, payload: bytes) -> None:
        self._payload = payload
        self._at = 0

    def take(self, length: int) -> bytes:
        part = self._payload[self._at : self._at + length]
        self._at += length
        return part


def first_difference(a: bytes, b: bytes) -> int | None:
    """Return the index of the first byte in which two strings of equal length differ."""
    if a == b:
        return None
    mixed = int.from_bytes(a, "little") ^ int.from_bytes(b, "little")
    return ((mixed & -mixed).bit_length() - 1) // 8


def _stray_write(memory: Any, at: int, span: Span, page_fill: bytes) -> int | None:
    """Return the offset from the buffer of a byte changed outside it but within its pages."""
    before = span.base - span.pages_at
    fill = page_fill * span.pages
    end = before + span.length
    changed = first_difference(memory[at : at + before], fill[:before])
    if changed is not None:
        return changed - before
    changed = first_difference(memory[at + end : at + span.pages * PAGE], fill[end:])
    return None if changed is None else span.length + changed


@lru_cache(maxsize=16)
def _stack(seed: int, length: int) -> bytes:
    """Return the first bytes, from the lowest address, of the stack before a call."""
    return (garbage(seed, "stack", PAGE) * layout.STACK_PAGES)[:length]


def _fill_stack(machine: Machine, call: dict[str, Any], parts: _Reader) -> int:
    """Fill the stack and return the arena offset of the stack pointer's place."""
    memory, stack_at = machine.memory, machine.stack_memory
    stack = _stack(call["seed"], layout.STACK_PAGES * PAGE)
    entry_at = stack_at + int(call["rsp"]) - layout.STACK_BOTTOM
    memory[stack_at : stack_at + len(stack)] = stack
    memory[entry_at : entry_at + call["stack"]] = parts.take(call["stack"])
    return entry_at


def _fill(machine: Machine, span: Span, page_fill: bytes, content: bytes) -> None:
    """Fill a buffer, and the rest of its pages with garbage."""
    memory, at = machine.memory, machine.buffer_memory(span)
    memory[at : at + span.pages * PAGE] = page_fill * span.pages
    content_at = at + span.base - span.pages_at
    memory[content_at : content_at + span.length] = content


def _written(machine: Machine, span: Span, page_fill: bytes) -> tuple[bytes, int | None]:
    """Return a buffer's content after a run, and the place of a stray write in its pages."""
    memory, at = machine.memory, machine.buffer_memory(span)
    content_at = at + span.base - span.pages_at
    content = memory[content_at : content_at + span.length]
    return content, _stray_write(memory, at, span, page_fill)


def _call(machine: Machine, image: int, call: dict[str, Any], parts: _Reader) -> Any:
    memory = machine.memory
    seed = call["seed"]
    block = parts.take(REGISTERS_BYTES)
    stack_at = machine.stack_memory
    entry_at = _fill_stack(machine, call, parts)
    page_fill = garbage(seed, "page", PAGE)
    spans = [Span(*numbers) for numbers in call["buffers"]]
    for span in spans:
        _fill(machine, span, page_fill, parts.take(span.length))

    run = machine.run(image, call["target"], block, call["budget"], call["trace"])

    strays = []
    answer = [run.block]
    for span in spans:
        if span.writable:
            content, stray = _written(machine, span, page_fill)
            answer.append(content)
            if stray is not None:
                strays.append((span.index, stray))
    below = entry_at - stack_at
    lowest = first_difference(memory[stack_at:entry_at], _stack(seed, below))
    used = 0 if lowest is None else below - lowest // 8 * 8
    answer.append(memory[entry_at - used : entry_at])
    header = run.__dict__ | {"block": None, "strays": strays, "used": used}
    return header, b"".join(answer)


def _series(machine: Machine, series: dict[str, Any], parts: _Reader) -> tuple[Any, bytes]:
    block = parts.take(REGISTERS_BYTES)
    _fill_stack(machine, series, parts)
    page_fill = garbage(series["seed"], "page", PAGE)
    contents = [(Span(*numbers), parts.take(numbers[2])) for numbers in series["buffers"]]
    for span, content in contents:
        _fill(machine, span, page_fill, content)
    # The series stub's own call pushes the return address.
    rsp = series["rsp"] + 8
    turns, answer = [], []
    for calls, values in series["turns"]:
        words = [calls, rsp, *values, *series["strides"]]
        done, ok = machine.run_series(
            series["image"], series["target"], block, words, series["budget"]
        )
        for span, content in contents:
            if span.writable:
                written, stray = _written(machine, span, page_fill)
                answer.append(written)
                ok = ok and stray is None
                _fill(machine, span, page_fill, content)
        turns.append((done, ok))
    return {"turns": turns}, b"".join(answer)


def _answer(machine: Machine, header: dict[str, Any], payload: bytes) -> tuple[Any, bytes]:
    parts = _Reader(payload)
    if header["op"] == "image":
        segments = [(a, kind, parts.take(length)) for a, kind, length in header["segments"]]
        return {"image": machine.add_image(segments)}, b""
    if header["op"] == "series":
        return _series(machine, header, parts)
    answers = [_call(machine, header["image"], call, parts) for call in header["calls"]]
    return {"runs": [run for run, _ in answers]}, b"".join(part for _, part in answers)


def serve(machine: Machine, requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests until the client closes its side."""
    while True:
        try:
            header, payload = read_frame(requests)
        except EOFError:
            return
        try:
            answer, parts = _answer(machine, header, payload)
        except OutOfMemoryError:
            answer, parts = {"error": "memory"}, b""
        except Exception as problem:
            answer, parts = {"error": f"{type(problem).__name__}: {problem}"}, b""
        write_frame(answers, answer, parts)


def main() -> None:
    """Serve one client, then leave without the interpreter's shutdown."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        machine = Machine()
    except ImportError as problem:
        write_frame(answers, {"error": "import", "detail": str(problem)})
        os._exit(0)
    write_frame(answers, {"ready": True})
    try:
        serve(machine, sys.stdin.buffer, answers)
    except OSError:
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    main()
