"""Ways to run a kernel: on this CPU, or in the emulator where the CPU lacks what it needs."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from queue import Queue
from typing import Literal, Protocol

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.arch.x86_64.abi import ABIS
from ghashgen.arch.x86_64.registers import GPR_NAMES
from ghashgen.check.validation.cases import ZERO
from ghashgen.run.built import Built
from ghashgen.run.emulate import Buffer, Call, CallResult, Emulator, Registers
from ghashgen.run.emulate.image import Image, load_object
from ghashgen.run.harness import Harness, Vector
from ghashgen.run.harness import build as build_harness
from ghashgen.support.errors import GhashgenError

LINE = 64
"""Bytes of a cache line: the table is run at every place in one that its promise allows."""


class Runner(Protocol):
    """Runs vectors through one kernel's exported functions."""

    @property
    def how(self) -> str:
        """native, emulated, or the name of a backend."""
        ...

    @property
    def sample(self) -> int:
        """Run every so manieth of the cases that have nothing to do with the group size."""
        ...

    def updates(self, built: Built, vectors: Sequence[Vector]) -> list[bytes]:
        """Return the final state of each vector after init and one update a chunk."""
        ...

    def products(self, built: Built, vectors: Sequence[Vector]) -> list[bytes]:
        """Return x·H of each vector after init."""
        ...

    def segments(self, built: Built, vectors: Sequence[Vector]) -> list[bytes]:
        """Return the final state of each vector, every chunk hashed apart and combined."""
        ...

    def powers(self, built: Built, vectors: Sequence[Vector]) -> list[bytes]:
        """Return H^m of each vector; m is the first 8 bytes of x, little-endian."""
        ...

    def check(self, built: Built) -> list[str]:
        """Return what is wrong with bounds, alignment and calling convention, one line each."""
        ...


@dataclass(frozen=True)
class Native:
    """This CPU, through the C harness: guard pages, calling convention, alignments."""

    harness: Harness
    how: str = "native"
    sample: int = 1

    def updates(self, built: Built, vectors: Sequence[Vector]) -> list[bytes]:
        """Run the harness on the vectors."""
        return self.harness.run(built.kernel.name, vectors)

    def products(self, built: Built, vectors: Sequence[Vector]) -> list[bytes]:
        """Run NAME_mul in the harness."""
        return self.harness.mul(built.kernel.name, vectors)

    def segments(self, built: Built, vectors: Sequence[Vector]) -> list[bytes]:
        """Hash and combine in the harness."""
        return self.harness.segments(built.kernel.name, vectors)

    def powers(self, built: Built, vectors: Sequence[Vector]) -> list[bytes]:
        """Run NAME_power in the harness."""
        return self.harness.power(built.kernel.name, vectors)

    def check(self, built: Built) -> list[str]:
        """Run the harness's own sweep."""
        report = self.harness.check(built.kernel.name)
        return [f"{f.category}: {f.detail or 'did not run'}" for f in report.findings if not f.ok]


@dataclass(frozen=True)
class Emulated:
    """The emulated CPU: every buffer ends at an unmapped page, and faults are exact.

    `free` holds the emulators that nobody uses; each thread takes one for a batch of calls.
    """

    free: "Queue[Emulator]"
    how: str = "emulated"
    sample: int = 16

    def updates(self, built: Built, vectors: Sequence[Vector]) -> list[bytes]:
        """Call init and update for every vector, chunk by chunk."""
        return self._run(built, vectors, "update")

    def products(self, built: Built, vectors: Sequence[Vector]) -> list[bytes]:
        """Call init and mul for every vector."""
        return self._run(built, vectors, "mul")

    def segments(self, built: Built, vectors: Sequence[Vector]) -> list[bytes]:
        """Call update from state 0, power and combine for every chunk."""
        tables = self._tables(built, vectors)
        states = [vector.x for vector in vectors]
        abi = abi_name(built)
        for turn in range(max((len(v.chunks) for v in vectors), default=0)):
            active = [i for i, v in enumerate(vectors) if turn < len(v.chunks)]
            chunks = [vectors[i].chunks[turn] for i in active]
            zero = [Vector(vectors[i].h, ZERO, (vectors[i].chunks[turn],)) for i in active]
            hashes = self._run(built, zero, "update")
            factors = self._powers(
                built,
                [tables[vectors[i].h] for i in active],
                [-(-len(chunk) // BLOCK_BYTES) for chunk in chunks],
            )
            calls = []
            for i, y, p in zip(active, hashes, factors, strict=True):
                x = Buffer("x", states[i], writable=True)
                buffers = (x, Buffer("y", y), Buffer("p", p))
                calls.append(Call(("x", "y", "p"), buffers, abi=abi))
            for i, state in zip(active, self._batch(built, "combine", calls, "x"), strict=True):
                states[i] = state
        return states

    def powers(self, built: Built, vectors: Sequence[Vector]) -> list[bytes]:
        """Call power for every vector."""
        tables = self._tables(built, vectors)
        exponents = [int.from_bytes(vector.x[:8], "little") for vector in vectors]
        return self._powers(built, [tables[vector.h] for vector in vectors], exponents)

    def _powers(self, built: Built, tables: list[bytes], exponents: list[int]) -> list[bytes]:
        calls = [
            Call(
                ("table", "y", m),
                (_table(built, table), Buffer("y", BLOCK_BYTES, writable=True)),
                abi=abi_name(built),
            )
            for table, m in zip(tables, exponents, strict=True)
        ]
        return self._batch(built, "power", calls, "y")

    def check(self, built: Built) -> list[str]:
        """Compare the registers before and after, and tables at other places.

        Memory was checked by every call above.
        """
        key = bytes(range(BLOCK_BYTES))
        name, out = built.kernel.name, self._misplaced(built)
        for length in (0, 1, 8 * BLOCK_BYTES + 5, (2 * built.kernel.blocks + 1) * BLOCK_BYTES + 3):
            vector = Vector(key, key, (bytes(length),))
            for function, answer in self._observe(built, vector):
                for fault in abi_faults(built.abi, answer.before, answer.after):
                    out.append(f"{name}_{function}, {length} bytes: {fault}")
        return out

    def _observe(self, built: Built, vector: Vector) -> list[tuple[str, CallResult]]:
        """Call every function once, for its registers."""
        abi = abi_name(built)
        table = _table(built)
        x = Buffer("x", vector.x, writable=True)
        chunk = vector.chunks[0]
        data = Buffer("in", chunk)
        calls = [
            ("init", Call(("table", "h"), (table, Buffer("h", vector.h)), abi=abi)),
            ("mul", Call(("table", "x"), (table, x), abi=abi)),
            ("update", Call(("table", "x", "in", len(chunk)), (table, x, data), abi=abi)),
        ]
        if built.kernel.segments:
            y = Buffer("y", BLOCK_BYTES, writable=True)
            others = (Buffer("y", vector.h), Buffer("p", vector.h))
            calls += [
                ("power", Call(("table", "y", len(chunk)), (table, y), abi=abi)),
                ("combine", Call(("x", "y", "p"), (x, *others), abi=abi)),
            ]
        return [(name, self._many(built, name, [call])[0]) for name, call in calls]

    def _run(self, built: Built, vectors: Sequence[Vector], function: str) -> list[bytes]:
        tables = self._tables(built, vectors)
        states = [vector.x for vector in vectors]
        turns = 1 if function == "mul" else max((len(v.chunks) for v in vectors), default=0)
        for turn in range(turns):
            active = [i for i, v in enumerate(vectors) if function == "mul" or turn < len(v.chunks)]
            calls = []
            for i in active:
                buffers = [
                    _table(built, tables[vectors[i].h]),
                    Buffer("x", states[i], writable=True),
                ]
                args: tuple[int | str, ...] = ("table", "x")
                if function == "update":
                    chunk = vectors[i].chunks[turn]
                    buffers.append(Buffer("in", chunk))
                    args = ("table", "x", "in", len(chunk))
                calls.append(Call(args, tuple(buffers), abi=abi_name(built)))
            for i, state in zip(active, self._batch(built, function, calls, "x"), strict=True):
                states[i] = state
        return states

    def _tables(self, built: Built, vectors: Sequence[Vector]) -> dict[bytes, bytes]:
        """Return the table of every hash subkey."""
        keys = list(dict.fromkeys(vector.h for vector in vectors))
        inits = [
            Call(("table", "h"), (_table(built), Buffer("h", h)), abi=abi_name(built)) for h in keys
        ]
        return dict(zip(keys, self._batch(built, "init", inits, "table"), strict=True))

    def _misplaced(self, built: Built) -> list[str]:
        """Return where in a line init writes another table, or a copied table serves worse."""
        key, abi, out = bytes(range(BLOCK_BYTES)), abi_name(built), []
        residues = range(0, LINE, built.table_align)
        h = Buffer("h", key)
        tables = self._batch(
            built,
            "init",
            [Call(("table", "h"), (_table(built, residue=r), h), abi=abi) for r in residues],
            "table",
        )
        out += [
            f"init, table {residue} past a multiple of {LINE}: another table"
            for residue, table in zip(residues, tables, strict=True)
            if table != tables[0]
        ]
        for length in (5, (2 * built.kernel.blocks + 1) * BLOCK_BYTES + 3):
            data, x = Buffer("in", bytes(length)), Buffer("x", key, writable=True)
            calls = [
                Call(("table", "x", "in", length), (_table(built, tables[0], r), x, data), abi=abi)
                for r in residues
            ]
            states = self._batch(built, "update", calls, "x")
            out += [
                f"update of {length} bytes, table {residue} past a multiple of {LINE}: wrong"
                for residue, state in zip(residues, states, strict=True)
                if state != states[0]
            ]
        return out

    def _batch(self, built: Built, function: str, calls: list[Call], result: str) -> list[bytes]:
        return [answer.buffers[result] for answer in self._many(built, function, calls)]

    def _many(self, built: Built, function: str, calls: list[Call]) -> list[CallResult]:
        symbol = f"{built.symbol}_{function}"
        image = _image(built.obj.read_bytes())
        emulator = self.free.get()
        try:
            answers = emulator.call_many(image, symbol, calls)
        finally:
            self.free.put(emulator)
        for answer in answers:
            if not answer.outcome.ok:
                raise GhashgenError(f"{symbol}: {answer.outcome.text}")
        return answers


def _table(built: Built, content: bytes | None = None, residue: int | None = None) -> Buffer:
    """Return the buffer of a table, to be filled or as it is.

    It ends at an unmapped page as closely as its alignment allows, or, to be at a `residue` modulo
    a line, up to a line before one.
    """
    length = built.kernel.table_bytes
    offset = -length % built.table_align if residue is None else (-residue - length) % LINE
    return Buffer("table", length if content is None else content, content is None, "end", offset)


@lru_cache(maxsize=64)
def _image(obj: bytes) -> Image:
    """Return an object laid out; a worker keeps what it has loaded as long as it is this value."""
    return load_object(obj)


DIRECTION_FLAG = 0x400


def abi_faults(abi: str, before: Registers, after: Registers) -> list[str]:
    """Return what a call left changed that its convention keeps, and dirty upper halves."""
    convention = ABIS[abi]
    kept = [GPR_NAMES[number] for number in convention.saved]
    out = [f"{name} changed" for name in kept if before[name] != after[name]]
    # On entry rsp points to the return address, which RET takes.
    if after.rsp != before.rsp + 8:
        out.append("rsp is not restored")
    out += [
        f"xmm{number} changed"
        for number in convention.saved_vectors
        if before.xmm(number) != after.xmm(number)
    ]
    # Registers 16-31 have no legacy form: their upper parts slow nobody down. A legacy instruction
    # leaves the upper part of the caller's as it was.
    wide = [number for number in range(16) if after.zmm[number] >> 128]
    dirty = [number for number in wide if before.zmm[number] >> 128 != after.zmm[number] >> 128]
    out += [f"the upper part of vector register {number} is in use" for number in dirty]
    if after.rflags & DIRECTION_FLAG:
        out.append("the direction flag is set")
    if before.mxcsr != after.mxcsr:
        out.append("mxcsr changed")
    return out


def abi_name(built: Built) -> Literal["sysv", "win64"]:
    """Return the calling convention as the emulator names it."""
    return "win64" if built.abi == "win64" else "sysv"


def native(kernels: Sequence[Built], folder: Path) -> Native:
    """Build the harness with these kernels."""
    return Native(build_harness([built.harness_kernel for built in kernels], folder))


def missing_features(harness: Harness, built: Built) -> tuple[str, ...]:
    """Return the features that the kernel needs and this machine lacks."""
    present = harness.features()
    return tuple(name for name in built.features if not present.get(name, False))
