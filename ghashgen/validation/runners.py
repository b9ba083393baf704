"""Ways to run a kernel: on this CPU, or in the emulator where the CPU lacks what it needs."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from typing import Literal, Protocol

from ghashgen.built import Built
from ghashgen.emulate import Buffer, Call, Emulator
from ghashgen.errors import GhashgenError
from ghashgen.harness import Harness, Vector
from ghashgen.harness import build as build_harness


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

    def check(self, built: Built) -> list[str]:
        """Nothing more: every call above ran between unmapped pages and was checked on return."""
        return []

    def _run(self, built: Built, vectors: Sequence[Vector], function: str) -> list[bytes]:
        inits = [
            Call(("table", "h"), (self._table(built), Buffer("h", v.h)), abi=abi_name(built))
            for v in vectors
        ]
        tables = self._batch(built, "init", inits, "table")
        states = [vector.x for vector in vectors]
        turns = 1 if function == "mul" else max((len(v.chunks) for v in vectors), default=0)
        for turn in range(turns):
            active = [i for i, v in enumerate(vectors) if function == "mul" or turn < len(v.chunks)]
            calls = []
            for i in active:
                buffers = [Buffer("table", tables[i]), Buffer("x", states[i], writable=True)]
                args: tuple[int | str, ...] = ("table", "x")
                if function == "update":
                    chunk = vectors[i].chunks[turn]
                    buffers.append(Buffer("in", chunk))
                    args = ("table", "x", "in", len(chunk))
                calls.append(Call(args, tuple(buffers), abi=abi_name(built)))
            for i, state in zip(active, self._batch(built, function, calls, "x"), strict=True):
                states[i] = state
        return states

    @staticmethod
    def _table(built: Built) -> Buffer:
        return Buffer("table", built.kernel.table_bytes, writable=True)

    def _batch(self, built: Built, function: str, calls: list[Call], result: str) -> list[bytes]:
        symbol = f"{built.kernel.name}_{function}"
        emulator = self.free.get()
        try:
            answers = emulator.call_many(emulator.load(built.obj), symbol, calls)
        finally:
            self.free.put(emulator)
        for answer in answers:
            if not answer.outcome.ok:
                raise GhashgenError(f"{symbol}: {answer.outcome.text}")
        return [answer.buffers[result] for answer in answers]


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
