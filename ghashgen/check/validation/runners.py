"""Ways to run a kernel: on this CPU, or in the emulator if the CPU lacks features."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from queue import Queue
from types import MappingProxyType
from typing import Protocol

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.check.validation.cases import ZERO
from ghashgen.check.validation.placements import faults
from ghashgen.kernels.core import Point
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.run.arguments import Answer, Arguments, Values, answered
from ghashgen.run.built import Built
from ghashgen.run.callee import Callee, Exported, arguments_of
from ghashgen.run.emulate import CallResult, Emulator
from ghashgen.run.emulate.calls import call_of
from ghashgen.run.emulate.convention import RESULT, abi_faults, abi_name
from ghashgen.run.emulate.image import Image, load_object
from ghashgen.run.harness import Called, Harness, Vector
from ghashgen.run.harness import build as build_harness
from ghashgen.support.errors import GhashgenError

CHECKED = ("init", "mul", "update", "power", "combine")
"""The hash functions that `harness/check.c` knows, including their results."""

SAMPLE = 16
"""Of the cases that do not depend on the group size, one in this many is run, unless all are."""

Chosen = Mapping[str, Sequence[Arguments]]
NOTHING: Chosen = MappingProxyType({})


class Runner(Protocol):
    """Runs vectors through one kernel's exported functions."""

    @property
    def how(self) -> str:
        """native, emulated, or the name of a backend."""
        ...

    @property
    def sample(self) -> int:
        """Run one in this many of the cases that do not depend on the group size."""
        ...

    def updates(self, built: Built[Point], vectors: Sequence[Vector]) -> list[bytes]:
        """Return the final state of each vector after init and one update for each chunk."""
        ...

    def products(self, built: Built[Point], vectors: Sequence[Vector]) -> list[bytes]:
        """Return x·H of each vector after init."""
        ...

    def segments(self, built: Built[Point], vectors: Sequence[Vector]) -> list[bytes]:
        """Return the final state of each vector, with every chunk hashed apart and combined."""
        ...

    def powers(self, built: Built[Point], vectors: Sequence[Vector]) -> list[bytes]:
        """Return H^m of each vector; m is the first 8 bytes of x, little-endian."""
        ...

    def calls(self, callee: Callee, function: str, values: Sequence[Values]) -> list[Answer]:
        """Return what the function writes and returns, for each set of values."""
        ...

    def answers(self, callee: Callee, function: str, calls: Sequence[Arguments]) -> list[Answer]:
        """Return the same for given calls."""
        ...

    def check(self, callee: Callee, chosen: Chosen = NOTHING) -> list[str]:
        """Return what is wrong with bounds, alignment and calling convention, one line each.

        `chosen` has calls, by function, to make at every place in addition to arbitrary ones.
        """
        ...


@dataclass(frozen=True)
class Native:
    """This CPU, through the C harness: guard pages, calling convention, alignments."""

    harness: Harness
    how: str = "native"
    sample: int = 1

    def updates(self, built: Built[Point], vectors: Sequence[Vector]) -> list[bytes]:
        """Run the harness on the vectors."""
        return self.harness.run(built.kernel.name, vectors)

    def products(self, built: Built[Point], vectors: Sequence[Vector]) -> list[bytes]:
        """Run NAME_mul in the harness."""
        return self.harness.mul(built.kernel.name, vectors)

    def segments(self, built: Built[Point], vectors: Sequence[Vector]) -> list[bytes]:
        """Hash and combine in the harness."""
        return self.harness.segments(built.kernel.name, vectors)

    def powers(self, built: Built[Point], vectors: Sequence[Vector]) -> list[bytes]:
        """Run NAME_power in the harness."""
        return self.harness.power(built.kernel.name, vectors)

    def calls(self, callee: Callee, function: str, values: Sequence[Values]) -> list[Answer]:
        """Call the function in the harness, between guard pages and by its convention."""
        return self.answers(
            callee, function, [arguments_of(callee, function, each) for each in values]
        )

    def answers(self, callee: Callee, function: str, calls: Sequence[Arguments]) -> list[Answer]:
        """Make the calls in the same way."""
        own = callee.exported[function]
        called = self._called(callee.name, own, calls, False)
        for number, one in enumerate(called):
            if one.violations:
                raise GhashgenError(f"call {number}, {own.symbol}: {one.violations}")
        return [answered(own.function, one.buffers, one.register) for one in called]

    def check(self, callee: Callee, chosen: Chosen = NOTHING) -> list[str]:
        """Run the harness's sweep of a hash, and call all other functions at every place."""
        swept = self.swept(callee)[1] if _is_hash(callee) else []
        return [*swept, *self.placed(callee, chosen)]

    def swept(self, callee: Callee) -> tuple[int, list[str]]:
        """Run the harness's sweep of a hash; return the number of calls and the faults."""
        report = self.harness.check(callee.name)
        faulty = (f for f in report.findings if not f.ok)
        return report.calls, [f"{f.category}: {f.detail or 'did not run'}" for f in faulty]

    def placed(self, callee: Callee, chosen: Chosen = NOTHING) -> list[str]:
        """Call the functions that the sweep does not know at every place."""
        exported, functions = callee.exported, list(callee.exported)
        if _is_hash(callee):
            functions = [function for function in functions if function not in CHECKED]

        def call(function: str, calls: Sequence[Arguments], dirty: bool) -> Sequence[Called]:
            return self._called(callee.name, exported[function], calls, dirty)

        return faults(callee, call, functions, chosen) if functions else []

    def _called(
        self, name: str, own: Exported, calls: Sequence[Arguments], dirty: bool
    ) -> Sequence[Called]:
        given = [own.given(call) for call in calls]
        return self.harness.call(name, own.function.name, given, dirty)


def _is_hash(callee: Callee) -> bool:
    """Return whether the harness has a sweep for it."""
    return isinstance(callee, Built) and callee.kernel.family == Kernel.family


@dataclass(frozen=True)
class Emulated:
    """The emulated CPU: every buffer ends at an unmapped page, and faults are exact.

    `free` holds idle emulators; each thread takes one for a batch of calls.
    """

    free: "Queue[Emulator]"
    how: str = "emulated"
    sample: int = SAMPLE

    def updates(self, built: Built[Point], vectors: Sequence[Vector]) -> list[bytes]:
        """Call init and update for every vector, chunk by chunk."""
        tables = self._tables(built, vectors)
        states = [vector.x for vector in vectors]
        for active in _turns(vectors):
            values: list[Values] = [
                {"table": tables[vectors[i].h], "x": states[i], "in": chunk} for i, chunk in active
            ]
            for (i, _), answer in zip(active, self.calls(built, "update", values), strict=True):
                states[i] = answer["x"]
        return states

    def products(self, built: Built[Point], vectors: Sequence[Vector]) -> list[bytes]:
        """Call init and mul for every vector."""
        tables = self._tables(built, vectors)
        values = [{"table": tables[vector.h], "x": vector.x} for vector in vectors]
        return [answer["x"] for answer in self.calls(built, "mul", values)]

    def segments(self, built: Built[Point], vectors: Sequence[Vector]) -> list[bytes]:
        """Call update from state 0, power and combine for every chunk."""
        tables = self._tables(built, vectors)
        states = [vector.x for vector in vectors]
        for active in _turns(vectors):
            own = [tables[vectors[i].h] for i, _ in active]
            chunks = [chunk for _, chunk in active]
            values: list[Values] = [
                {"table": t, "x": ZERO, "in": c} for t, c in zip(own, chunks, strict=True)
            ]
            hashes = self.calls(built, "update", values)
            blocks = [-(-len(chunk) // BLOCK_BYTES) for chunk in chunks]
            values = [{"table": t, "m": m} for t, m in zip(own, blocks, strict=True)]
            factors = self.calls(built, "power", values)
            values = [
                {"x": states[i], "y": y["x"], "p": p["y"]}
                for (i, _), y, p in zip(active, hashes, factors, strict=True)
            ]
            for (i, _), answer in zip(active, self.calls(built, "combine", values), strict=True):
                states[i] = answer["x"]
        return states

    def powers(self, built: Built[Point], vectors: Sequence[Vector]) -> list[bytes]:
        """Call power for every vector."""
        tables = self._tables(built, vectors)
        values: list[Values] = [
            {"table": tables[vector.h], "m": int.from_bytes(vector.x[:8], "little")}
            for vector in vectors
        ]
        return [answer["y"] for answer in self.calls(built, "power", values)]

    def calls(self, callee: Callee, function: str, values: Sequence[Values]) -> list[Answer]:
        """Call the function for each set of values."""
        return self.answers(
            callee, function, [arguments_of(callee, function, each) for each in values]
        )

    def answers(self, callee: Callee, function: str, calls: Sequence[Arguments]) -> list[Answer]:
        """Make the calls."""
        exported = callee.exported[function].function
        return [
            answered(exported, one.buffers, one.after[RESULT])
            for one in self._many(callee, function, calls)
        ]

    def check(self, callee: Callee, chosen: Chosen = NOTHING) -> list[str]:
        """Call all functions at every place, and compare the registers before and after."""

        def call(function: str, calls: Sequence[Arguments], dirty: bool) -> Sequence[Called]:
            del dirty  # they always are: registers hold garbage
            return [
                Called(
                    ", ".join(abi_faults(callee.abi, one.before, one.after)),
                    one.buffers,
                    one.after[RESULT],
                )
                for one in self._many(callee, function, calls)
            ]

        return faults(callee, call, list(callee.exported), chosen)

    def _tables(self, built: Built[Point], vectors: Sequence[Vector]) -> dict[bytes, bytes]:
        """Return the table of every hash subkey."""
        keys = list(dict.fromkeys(vector.h for vector in vectors))
        answers = self.calls(built, "init", [{"h": h} for h in keys])
        return {h: answer["table"] for h, answer in zip(keys, answers, strict=True)}

    def _many(self, callee: Callee, function: str, calls: Sequence[Arguments]) -> list[CallResult]:
        own = callee.exported[function]
        symbol, abi = own.symbol, abi_name(callee.abi)
        image = _image(callee.obj.read_bytes())
        given = [call_of(own.given(call), abi) for call in calls]
        emulator = self.free.get()
        try:
            answers = emulator.call_many(image, symbol, given)
        finally:
            self.free.put(emulator)
        for number, answer in enumerate(answers):
            if not answer.outcome.ok:
                raise GhashgenError(f"call {number}, {symbol}: {answer.outcome.text}")
        return answers


def _turns(vectors: Sequence[Vector]) -> Iterator[list[tuple[int, bytes]]]:
    """Yield, turn by turn, each vector's next chunk with its number."""
    for turn in range(max((len(vector.chunks) for vector in vectors), default=0)):
        yield [(i, v.chunks[turn]) for i, v in enumerate(vectors) if turn < len(v.chunks)]


@lru_cache(maxsize=64)
def _image(obj: bytes) -> Image:
    """Return an object's layout. A worker keeps what it has loaded while this value is the same."""
    return load_object(obj)


def native(kernels: Sequence[Built[Point]], folder: Path, sample: int = 1) -> Native:
    """Build the harness with these kernels, all of one architecture; `sample` as in `Runner`."""
    arch = kernels[0].kernel.instruction_set.arch if kernels else None
    harness = build_harness([built.harness_kernel for built in kernels], folder, arch)
    return Native(harness, harness.how, sample)
