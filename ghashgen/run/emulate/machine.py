"""The emulated computer: physical memory, page tables, and running one call.

Only the worker process uses it. One Bochs CPU runs in long mode at privilege level 3, with paging,
no-execute and write protection, and no operating system: the first exception ends a run.

Instructions are not observed one by one. Every taken branch reports (from, to), and between two
taken branches execution is straight. So the multiset of straight runs [start, last] says how often
each instruction retired, at the cost of one callback for each taken branch.
"""

import importlib
import mmap
import struct
from collections.abc import Sequence
from ctypes import addressof, c_char
from dataclasses import dataclass
from typing import Any

from iced_x86 import Decoder

from ghashgen.run.emulate import layout, stub
from ghashgen.run.emulate.layout import PAGE, Span
from ghashgen.run.emulate.registers import FIXED_FLAGS, REGISTERS_BYTES

LIBRARY = "bochscpu._bochscpu"

_ARENA_BYTES = 1 << 28
_ARENA_GPA = 0x1000_0000
_MAP_NORESERVE = 0x4000
_PRESENT, _WRITABLE, _USER, _ACCESSED_DIRTY, _NO_EXECUTE = 1, 2, 4, 0x60, 1 << 63
_TABLE_FLAGS = _PRESENT | _WRITABLE | _USER | _ACCESSED_DIRTY
_PAGE_FLAGS = _PRESENT | _USER | _ACCESSED_DIRTY

# PG AM WP NE ET MP PE; PAE OSFXSR OSXMMEXCPT OSXSAVE; SCE LME LMA NXE.
_CR0, _CR4, _EFER = 0x8005_0033, 0x4_0620, 0xD01
# x87, SSE, AVX, opmask, ZMM_Hi256, Hi16_ZMM (Intel SDM volume 1, 13.1).
_XCR0 = 0xE7
_TRAP_FLAG = 0x100
_UNDEFINED = 6  # #UD, which ends the exit stub
_INVALID_OPCODE = b"\x06"
_CODE_SELECTOR, _CODE_ATTRIBUTES = 0x33, 0x22FB
_DATA_SELECTOR, _DATA_ATTRIBUTES = 0x2B, 0xCF3

_ACCESS_KIND = {0: "read", 1: "write", 2: "execute", 3: "read-write"}


class OutOfMemoryError(Exception):
    """The arena of guest memory is used up; a new worker has a new one."""


@dataclass(frozen=True)
class Run:
    """What one run left behind; addresses are guest addresses."""

    stop: str  # "returned", "exception", "budget"
    vector: int
    error_code: int
    fault_address: int
    rip: int
    run_start: int  # first instruction of the straight run that the fault interrupts
    block: bytes
    runs: list[tuple[int, int, int]]  # (first instruction, last instruction, times)
    accesses: list[tuple[str, int, int]]


class _Arena:
    """Guest-physical memory: one lazily committed host mapping; pages are handed out in order."""

    def __init__(self, library: Any) -> None:
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE
        self.bytes = mmap.mmap(-1, _ARENA_BYTES, flags=flags)
        self._host = addressof(c_char.from_buffer(self.bytes))
        self._insert = library.memory.page_insert
        self._next = 0

    def take(self, pages: int) -> int:
        """Return the offset of `pages` new zero pages."""
        at = self._next
        if at + pages * PAGE > _ARENA_BYTES:
            raise OutOfMemoryError
        self._next = at + pages * PAGE
        for page in range(at, self._next, PAGE):
            self._insert(_ARENA_GPA + page, self._host + page)
        return at

    def map(self, root: int, address: int, at: int, flags: int) -> None:
        """Map the page at guest address `address` to arena offset `at` in the tables of `root`."""
        table = root
        for level in (39, 30, 21):
            entry_at = table + 8 * (address >> level & 511)
            (entry,) = struct.unpack_from("<Q", self.bytes, entry_at)
            if not entry:
                entry = self.take(1) + _ARENA_GPA | _TABLE_FLAGS
                struct.pack_into("<Q", self.bytes, entry_at, entry)
            table = (entry & ~0xFFF) - _ARENA_GPA
        entry_at = table + 8 * (address >> 12 & 511)
        struct.pack_into("<Q", self.bytes, entry_at, at + _ARENA_GPA | flags)


@dataclass(frozen=True)
class _LoadedImage:
    root: int
    templates: tuple[tuple[int, bytes], ...]  # writable sections: arena offset, initial bytes
    code: tuple[tuple[int, bytes], ...]


class Machine:
    """One emulated CPU and its memory.

    Raises:
        ImportError: the Bochs library is not installed or does not load.
    """

    def __init__(self) -> None:
        self._library = importlib.import_module(LIBRARY)
        self._session = self._library.Session()
        self._session.missing_page_handler = lambda _gpa: None
        self._arena = _Arena(self._library)
        self._images: list[_LoadedImage] = []
        self._current = -1
        self._windows: dict[int, int] = {}
        self._run_lengths: dict[tuple[int, int, int], int] = {}
        self._shared_root = self._arena.take(1)
        self._map_private()

    # Memory.

    def _map_private(self) -> None:
        arena, root, no_execute = self._arena, self._shared_root, _NO_EXECUTE
        self._stack = arena.take(layout.STACK_PAGES)
        for page in range(layout.STACK_PAGES):
            arena.map(
                root,
                layout.STACK_BOTTOM + page * PAGE,
                self._stack + page * PAGE,
                _PAGE_FLAGS | _WRITABLE | no_execute,
            )
        code = arena.take(1)
        arena.map(root, layout.STUB_CODE, code, _PAGE_FLAGS)
        self._entry, entry_bytes = stub.entry_stub()
        self._series, series_bytes = stub.series_stub()
        self._exit, exit_bytes = stub.exit_stub()
        end = layout.STUB_CODE
        for address, text in (
            (self._entry, entry_bytes),
            (self._series, series_bytes),
            (self._exit, exit_bytes),
        ):
            assert end <= address, "the stubs overlap"
            end = address + len(text)
            at = code + address - layout.STUB_CODE
            arena.bytes[at : at + len(text)] = text
        self._in, self._out, scratch = (arena.take(1) for _ in range(3))
        for address, at in (
            (layout.STUB_IN, self._in),
            (layout.STUB_OUT, self._out),
            (layout.STUB_SCRATCH, scratch),
        ):
            arena.map(root, address, at, _PAGE_FLAGS | _WRITABLE | no_execute)
        # The buffers' part of the tree exists before the first image copies the root's entries.
        arena.map(root, layout.BUFFER_BASE, 0, 0)

    def add_image(self, segments: list[tuple[int, str, bytes]]) -> int:
        """Map the segments (address, "x", "w" or "r", bytes) in a new address space."""
        arena = self._arena
        root = arena.take(1)
        shared = self._shared_root
        for address in (layout.BUFFER_BASE, layout.PRIVATE_BASE):
            entry = 8 * (address >> 39)
            arena.bytes[root + entry : root + entry + 8] = arena.bytes[
                shared + entry : shared + entry + 8
            ]
        flags = {
            "x": _PAGE_FLAGS,
            "w": _PAGE_FLAGS | _WRITABLE | _NO_EXECUTE,
            "r": _PAGE_FLAGS | _NO_EXECUTE,
        }
        templates, code = [], []
        for address, kind, content in segments:
            pages = -(-len(content) // PAGE)
            at = arena.take(pages)
            for page in range(pages):
                arena.map(root, address + page * PAGE, at + page * PAGE, flags[kind])
            if kind == "x":
                # Running past the end of a section is an invalid opcode, not `add [rax], al`.
                arena.bytes[at : at + pages * PAGE] = _INVALID_OPCODE * (pages * PAGE)
            arena.bytes[at : at + len(content)] = content
            if kind == "w":
                templates.append((at, content))
            if kind == "x":
                code.append((address, content))
        self._images.append(_LoadedImage(root, tuple(templates), tuple(code)))
        return len(self._images) - 1

    def buffer_memory(self, span: Span) -> int:
        """Return the arena offset of a buffer's first page, mapped.

        Each number of pages with each protection has its own window and pages, and mappings never
        change, so the TLB need not be flushed.
        """
        at = self._windows.get(span.pages_at)
        if at is None:
            at = self._windows[span.pages_at] = self._arena.take(span.pages)
            flags = _PAGE_FLAGS | _NO_EXECUTE | (_WRITABLE if span.writable else 0)
            for page in range(span.pages):
                self._arena.map(
                    self._shared_root, span.pages_at + page * PAGE, at + page * PAGE, flags
                )
        return at

    @property
    def memory(self) -> mmap.mmap:
        """The arena's bytes."""
        return self._arena.bytes

    @property
    def stack_memory(self) -> int:
        """Return the arena offset of the lowest stack page."""
        return self._stack

    # Running.

    def _load_state(self, root: int) -> None:
        library, cpu = self._library, self._session.cpu
        state = cpu.state
        state.cr0, state.cr4, state.efer, state.xcr0 = _CR0, _CR4, _EFER, _XCR0
        state.cr3 = root + _ARENA_GPA
        state.rflags = FIXED_FLAGS
        segments = {}
        for name, selector, attributes in (
            ("code", _CODE_SELECTOR, _CODE_ATTRIBUTES),
            ("data", _DATA_SELECTOR, _DATA_ATTRIBUTES),
        ):
            segment = library.Segment()
            segment.present, segment.selector, segment.attr = True, selector, attributes
            segment.base, segment.limit = 0, 0xFFFF_FFFF
            segments[name] = segment
        state.cs = segments["code"]
        state.ds = state.es = state.ss = state.fs = state.gs = segments["data"]
        cpu.state = state

    def _run_length(self, image: int, start: int, last: int) -> int:
        """Return the number of instructions in the straight run from `start` to the one at
        `last`.
        """
        key = (image, start, last)
        known = self._run_lengths.get(key)
        if known is None:
            known = 1
            for base, content in self._images[image].code:
                if base <= start < base + len(content):
                    # Every instruction but the last one starts before `last`.
                    decoder = Decoder(64, content[start - base : last - base], ip=start)
                    known = 1 + sum(1 for _ in decoder)
            self._run_lengths[key] = known
        return known

    def _enter(self, image: int, target: int, block: bytes) -> None:
        """Prepare what the entry stub loads, and the image's own memory."""
        loaded = self._images[image]
        memory = self._arena.bytes
        if self._current != image:
            self._load_state(loaded.root)
            self._current = image
        for at, content in loaded.templates:
            memory[at : at + len(content)] = content
        memory[self._in : self._in + stub.SERIES_AT] = block + struct.pack("<Q", target)

    def run(self, image: int, target: int, block: bytes, budget: int, trace: bool) -> Run:
        """Load `block`, call `target` in `image`, and store the registers when it ends."""
        self._enter(image, target, block)
        memory = self._arena.bytes
        session = self._session
        cpu = session.cpu
        stop = session.stop
        length_of = self._run_length
        runs: dict[tuple[int, int], int] = {}
        accesses: list[tuple[str, int, int]] = []
        start, left = self._entry, budget
        exception = (-1, 0)
        failure: list[Exception] = []

        def branch(last: int, to: int) -> None:
            nonlocal start, left
            key = (start, last)
            runs[key] = runs.get(key, 0) + 1
            if start < layout.IMAGE_LIMIT:
                left -= length_of(image, start, last)
            start = to
            if left <= 0 and to != self._exit:
                stop()

        def guarded(last: int, to: int) -> None:
            # An exception must not unwind through the library's frames.
            try:
                branch(last, to)
            except Exception as problem:
                failure.append(problem)
                stop()

        def on_exception(_session: Any, _cpu: int, vector: int, error_code: int) -> None:
            nonlocal exception
            exception = (vector, error_code)
            stop()

        def on_access(
            _session: Any, _cpu: int, lin: int, _phy: int, size: int, _type: int, kind: int
        ) -> None:
            accesses.append((_ACCESS_KIND.get(kind, "read"), lin, size))

        hook = self._library.Hook()
        hook.cnear_branch_taken = lambda _s, _c, last, to: guarded(last, to)
        hook.ucnear_branch = lambda _s, _c, _what, last, to: guarded(last, to)
        hook.exception = on_exception
        if trace:
            hook.lin_access = on_access
        self._go(cpu, self._entry, [hook])

        vector, error_code = exception
        rip, fault_address, run_start = cpu.rip, cpu.cr2, start
        if failure:
            raise failure[0]
        if vector == _UNDEFINED and self._in_stub(rip):
            reason = "returned"
        else:
            reason = "exception" if vector >= 0 else "budget"
            # With the trap flag on, storing the registers would itself trap.
            cpu.rflags &= ~_TRAP_FLAG
            quiet = self._library.Hook()
            quiet.exception = lambda _s, _c, _v, _e: stop()
            self._go(cpu, self._exit, [quiet])
        return Run(
            stop=reason,
            vector=vector,
            error_code=error_code,
            fault_address=fault_address,
            rip=rip,
            run_start=run_start,
            block=memory[self._out : self._out + REGISTERS_BYTES],
            runs=[(a, b, n) for (a, b), n in runs.items() if a < layout.IMAGE_LIMIT],
            accesses=[a for a in accesses if a[1] < layout.STUB_CODE],
        )

    def run_series(
        self, image: int, target: int, block: bytes, words: Sequence[int], budget: int
    ) -> tuple[int, bool]:
        """Call `target` repeatedly; `words` are calls, rsp, and the series stub's arguments.

        Return how many calls returned, and whether all did. It gives up after `budget` taken
        branches.
        """
        self._enter(image, self._series, block)
        calls, rsp, *arguments = words
        at = self._in + stub.SERIES_AT
        memory = self._arena.bytes
        memory[at : at + 8 * stub.SERIES_WORDS] = struct.pack(
            f"<{stub.SERIES_WORDS}Q", calls, target, rsp, *arguments
        )
        stop = self._session.stop
        left, vector = budget, -1

        def branch(*_: Any) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                stop()

        def on_exception(_session: Any, _cpu: int, number: int, _code: int) -> None:
            nonlocal vector
            vector = number
            stop()

        hook = self._library.Hook()
        hook.cnear_branch_taken = branch
        hook.ucnear_branch = branch
        hook.exception = on_exception
        cpu = self._session.cpu
        self._go(cpu, self._entry, [hook])
        (begun,) = struct.unpack_from("<q", memory, at)
        ok = vector == _UNDEFINED and self._in_stub(cpu.rip) and begun == -1
        if not ok:
            cpu.rflags &= ~_TRAP_FLAG
        return (calls if ok else max(calls - begun - 1, 0)), ok

    def _in_stub(self, rip: int) -> bool:
        return self._exit <= rip < layout.STUB_CODE + PAGE

    def _go(self, cpu: Any, rip: int, hooks: list[Any]) -> None:
        cpu.rip = rip
        self._session.run(hooks)
