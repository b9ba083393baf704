"""Runs functions on this CPU at many lengths; a separate process, because they may crash it.

It reads a pickled `Job`, as a dictionary, on stdin. Before each call it notes which one it is, so
that its parent knows where it ended; after each function it writes what was wrong. Every message
ends just before a page that faults, or starts just behind one. Input and table are read-only. The
thunk around a call compares the registers that a function has to keep.
"""

import ctypes
import mmap
import pickle
import signal
import struct
import sys
from typing import Any

PAGE = mmap.PAGESIZE
NONE, READ, WRITE, EXECUTE = 0, 1, 2, 4
AROUND = bytes(range(64, 128))
"""Bytes around the state, which must not change."""

BOTH_SIDES = 2048
"""Messages up to this length are put against both pages."""

NORESERVE = 0x4000

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def reserve(size: int) -> int:
    """Return the address of `size` zero bytes, a multiple of PAGE, between faulting pages."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NORESERVE
    start = libc.mmap(None, size + 2 * PAGE, NONE, flags, -1, 0)
    if start in (None, ctypes.c_void_p(-1).value):
        raise MemoryError(f"{size} bytes")
    protect(start + PAGE, size, READ | WRITE)
    return int(start) + PAGE


def protect(start: int, size: int, what: int) -> None:
    """Change the protection of pages."""
    if libc.mprotect(start, size, what):
        raise OSError(ctypes.get_errno(), "mprotect")


def pages(size: int) -> int:
    """Return a number of bytes rounded up to whole pages."""
    return -(-size // PAGE) * PAGE


class Place:
    """Code, table, state and message in memory, and calls."""

    def __init__(self, job: dict[str, Any]) -> None:
        code, thunk = job["code"], job["thunk"]
        self.code = reserve(pages(len(code)))
        ctypes.memmove(self.code, code, len(code))
        protect(self.code, pages(len(code)), READ | EXECUTE)
        around = reserve(PAGE)
        ctypes.memmove(around, thunk, len(thunk))
        # The thunk saves the stack pointer beside its code.
        protect(around, PAGE, READ | WRITE | EXECUTE)
        self.thunk = ctypes.CFUNCTYPE(ctypes.c_uint64, *[ctypes.c_uint64] * 5)(around)
        table = reserve(PAGE)
        self.table = table + PAGE - len(job["table"])
        ctypes.memmove(self.table, job["table"], len(job["table"]))
        protect(table, PAGE, READ)
        self.state = reserve(PAGE) + PAGE - 16
        self.message: bytes = job["message"]
        self.room = pages(max(len(self.message), PAGE))
        self.input = reserve(self.room)

    def call(self, entry: int, state: bytes, length: int, at_end: bool) -> str | None:
        """Return the state after a call, in hexadecimal, or what went wrong."""
        start = self.input + (self.room - length if at_end else 0)
        protect(self.input, self.room, READ | WRITE)
        ctypes.memmove(start, self.message, length)
        protect(self.input, self.room, READ)
        return self.called(entry, state, start, length)

    def called(self, entry: int, state: bytes, start: int, length: int) -> str:
        """Return what `call` returns, for a message already in place."""
        ctypes.memmove(self.state - len(AROUND), AROUND + state, len(AROUND) + 16)
        broken = self.thunk(self.code + entry, self.state, self.table, start, length)
        if broken:
            return f"registers to be kept were not: {broken:#x}"
        after = ctypes.string_at(self.state - len(AROUND), len(AROUND) + 16)
        if after[: len(AROUND)] != AROUND:
            return "a store before the state"
        return after[len(AROUND) :].hex()


def say(*words: object) -> None:
    """Write a line at once, in case the next call never returns."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Run every function of the job at every length."""
    job = pickle.load(sys.stdin.buffer)
    place, state = Place(job), job["state"]
    where = struct.Struct("<QQQ")
    # A file of three numbers, because it is written before every call.
    mark = mmap.mmap(job["mark"], where.size) if job["mark"] is not None else bytearray(where.size)
    for number, entry, lengths in job["functions"]:
        # CPU time of this process: waiting on a busy machine is not an endless loop.
        signal.setitimer(signal.ITIMER_PROF, job["seconds"])
        wrong = None
        for length in lengths:
            expected = job["expected"][length]
            sides = (True, False) if length <= BOTH_SIDES else (True,)
            for at_end in sides:
                where.pack_into(mark, 0, number, length, at_end)
                got = place.call(entry, state, length, at_end)
                if got != expected:
                    wrong = f"{length} {got} {expected}"
                    break
            if wrong:
                break
        for length, expected in job["zeros"].get(number, ()):
            if wrong:
                break
            where.pack_into(mark, 0, number, length, 1)
            try:
                room = reserve(pages(length))
            except MemoryError:
                say("short", number, length)
                continue
            protect(room, pages(length), READ)
            got = place.called(entry, state, room + pages(length) - length, length)
            libc.munmap(ctypes.c_void_p(room - PAGE), ctypes.c_size_t(pages(length) + 2 * PAGE))
            if got != expected:
                wrong = f"{length} {got} {expected}"
        signal.setitimer(signal.ITIMER_PROF, 0)
        say("wrong" if wrong else "right", number, wrong or len(lengths))


if __name__ == "__main__":
    main()
