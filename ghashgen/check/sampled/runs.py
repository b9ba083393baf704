"""Runs subjects at random points: in the harness, or in the emulator."""

import json
import struct
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from queue import Queue
from typing import Literal

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.check.sampled import cells, points
from ghashgen.check.sampled.points import Point, Structure
from ghashgen.check.sampled.subject import (
    BITS,
    SEED,
    Function,
    Plan,
    Sampled,
    Subject,
    least_bits,
    points_for,
)
from ghashgen.run.emulate import Buffer, Call, Emulator, Image, Series, Turn
from ghashgen.run.emulate.image import load_object
from ghashgen.run.emulate.series import LONGEST_BUFFER
from ghashgen.run.harness import Harness
from ghashgen.support.errors import GhashgenError

EMULATED_INSTRUCTIONS = 8_000_000
"""Instructions that the points of an emulated kernel may execute. Emulation is 1,000 times
slower.
"""

FEWEST, MOST = 8, 2048
"""Least and most points at a length for an emulated kernel, whatever the cost."""

_PARTS = 16
"""The bound is chosen in steps of this part of a bit."""

_LARGEST = 2**32 - 1

_KINDS = {name: number for number, name in enumerate(("-", "0", "R", *cells.LINEAR))}


def _job(
    subjects: Sequence[Subject],
    plans: Sequence[Plan] | None,
    seed: str,
    dumped: int,
    bits: int = BITS,
) -> bytes:
    """Return a job for harness/sampled.c; without plans it only makes points and runs nothing."""
    first = subjects[0]
    s = first.structure
    bound, top = max(x.bound for x in subjects), max(x.top for x in subjects)
    head = [int(first.op == "polyval"), s.blocks, s.lanes, len(s.rest), *s.rest]
    maps = cells.images(first.order, first.op)
    head += [top, bound, dumped, 0, len(subjects), len(maps)]
    parts = [b"GHP1", points.seed(seed), _numbers(head), *maps]
    for i, subject in enumerate(subjects):
        name = subject.name.encode()
        parts += [_numbers([int(plans is not None), len(name)]), name]
        numbers = [subject.table_bytes, len(subject.cells)]
        for c in subject.cells:
            numbers += [_KINDS[c.kind], c.power, c.step]
        if plans is None:
            numbers += [0] * (bound + 3)
        else:
            p = plans[i]
            numbers += [points_for(d, bits) if d else 0 for d in (p.mul, p.combine)]
            numbers += [
                points_for(p.update[n], bits) if n in p.update else 0 for n in range(bound + 1)
            ]
        parts.append(_numbers(numbers))
    return b"".join(parts)


def _numbers(values: Sequence[int]) -> bytes:
    return struct.pack(f"<{len(values)}I", *(min(v, _LARGEST) for v in values))


def _point(line: str) -> Point:
    body = json.loads(line)
    tables = tuple(bytes.fromhex(text) for text in body.pop("tables"))
    data = {name: bytes.fromhex(text) for name, text in body.items()}

    def blocks(name: str) -> tuple[bytes, ...]:
        text = data.pop(name)
        return tuple(text[i : i + BLOCK_BYTES] for i in range(0, len(text), BLOCK_BYTES))

    return Point(powers=blocks("powers"), update=blocks("update"), tables=tables, **data)


def _telling(structure: Structure) -> list[int]:
    """Return the lengths at which the harness's answers are compared with the field."""
    group = BLOCK_BYTES * structure.blocks
    around = [at + by for at in (16, group, 2 * group) for by in (-1, 0, 1)]
    return sorted({0, 1, *around, group + 40, structure.longest} - {-1})


def draw(harness: Harness, subjects: Sequence[Subject], count: int, seed: str) -> list[Point]:
    """Return points for subjects of one op, order and structure, compared with the field.

    Raises:
        GhashgenError: the harness and the field disagree.
    """
    lines = harness.sampled(_job(subjects, None, seed, count))
    drawn = [_point(line) for line in lines]
    if len(drawn) != count:
        raise GhashgenError(f"{len(drawn)} points were made, not {count}", "report this")
    _hold(drawn[:1], subjects)
    return drawn


def _hold(drawn: Iterable[Point], subjects: Sequence[Subject]) -> None:
    first = subjects[0]
    lengths = [n for n in _telling(first.structure) if n <= max(s.bound for s in subjects)]
    for point in drawn:
        tables = [subject.cells for subject in subjects]
        points.check(point, first.structure, first.order, first.op, tables, lengths)


def natively(
    harness: Harness,
    subjects: Sequence[Subject],
    plans: Sequence[Plan],
    seed: str = SEED,
    bits: int = BITS,
) -> list[Sampled]:
    """Run subjects of one op, order and structure, which the harness knows by name.

    Raises:
        GhashgenError: the harness cannot run them, or disagrees with the field.
    """
    first, *lines = harness.sampled(_job(subjects, plans, seed, 1, bits))
    _hold([_point(first)], subjects)
    answers = [json.loads(line) for line in lines]
    if [answer["kernel"] for answer in answers] != [subject.name for subject in subjects]:
        raise GhashgenError("the harness ran other kernels than asked", "report this")
    out = []
    for answer, p in zip(answers, plans, strict=True):
        least, weakest = least_bits(p, lambda d: points_for(d, bits))
        wrong = f"{answer['wrong']} wrong at random points, first {answer['first']}"
        failures = (wrong,) if answer["wrong"] else ()
        out.append(
            Sampled(
                answer["kernel"], "native", answer["calls"], least, weakest, p.highest, failures
            )
        )
    return out


def affordable(p: Plan, instructions: int) -> Callable[[int], int]:
    """Return the number of points at a length, by its degree, that `instructions` allow in all.

    All lengths should reach the same bound, because a kernel's bound is the weakest. Lengths whose
    degree would need more than MOST points fall behind, and FEWEST points are always run.
    """

    def points(degree: int, bits: float) -> int:
        return min(max(points_for(degree, bits), FEWEST), MOST)

    def cost(bits: float) -> int:
        return sum(points(degree, bits) * n for degree, n in p.instructions.items())

    steps = range(_PARTS * BITS)
    step = bisect_right(steps, instructions, key=lambda step: cost((step + 1) / _PARTS))
    return lambda degree: points(degree, step / _PARTS)


def emulated(
    harness: Harness,
    free: "Queue[Emulator]",
    subject: Subject,
    p: Plan,
    seed: str = SEED,
    count: Callable[[int], int] | None = None,
) -> Sampled:
    """Run a subject in an emulator from `free`, with `count` points at a length, by its degree.

    Without `count`, EMULATED_INSTRUCTIONS decides. The first point of every length is a separate
    call between unmapped pages; the others lie side by side and share a run.

    Raises:
        GhashgenError: the harness disagrees with the field, or the emulator does not answer.
    """
    count = count or affordable(p, EMULATED_INSTRUCTIONS)
    drawn = draw(harness, [subject], max(count(degree) for _, degree in p.calls()), seed)
    image = load_object(subject.obj)
    failures: list[str] = []
    calls = 0
    emulator = free.get()
    try:
        for name, function in subject.functions.items():
            lengths = list(p.update) if name == "update" else [0]
            degrees = p.update if name == "update" else {0: getattr(p, name)}
            wanted = {n: count(degrees[n]) for n in lengths}
            run = _Run(emulator, image, subject, name, function)
            failures += run.guarded(drawn[0], lengths)
            failures += run.together(drawn, wanted)
            calls += sum(wanted.values())
    finally:
        free.put(emulator)
    bits, weakest = least_bits(p, count)
    return Sampled(subject.name, "emulated", calls, bits, weakest, p.highest, tuple(failures))


@dataclass(frozen=True)
class _Run:
    """One function of a subject in an emulator."""

    emulator: Emulator
    image: Image
    subject: Subject
    name: str
    function: Function

    def _right(self, point: Point, length: int) -> bytes:
        right: bytes = point.update[length] if self.name == "update" else getattr(point, self.name)
        return right

    def _wrong(self, number: int, length: int, why: str) -> str:
        what = f"update of {length} bytes" if self.name == "update" else self.name
        return f"{what}, point {number}: {why}"

    def guarded(self, point: Point, lengths: Sequence[int], number: int = 0) -> list[str]:
        """Return what is wrong at one point, with a separate call for each length."""
        calls = [self._call(point, n) for n in lengths]
        answers = self.emulator.call_many(self.image, self.function.symbol, calls)
        out = []
        for n, answer in zip(lengths, answers, strict=True):
            right = self._right(point, n)
            if not answer.outcome.ok:
                out.append(self._wrong(number, n, answer.outcome.text))
            elif answer.buffers["state"] != right:
                got = answer.buffers["state"].hex()
                out.append(self._wrong(number, n, f"got {got}, expected {right.hex()}"))
        return out

    def together(self, drawn: Sequence[Point], wanted: Mapping[int, int]) -> list[str]:
        """Return what is wrong at all points but the first, with `wanted` points for each
        length.
        """
        out: list[str] = []
        longest = max(wanted)
        size = max(len(content) for content, _ in self._contents(drawn[0], longest).values())
        step = max(LONGEST_BUFFER // max(size, 1), 1)
        for first in range(1, max(wanted.values()), step):
            lengths = [n for n, count in wanted.items() if count > first]
            points = drawn[first : min(first + step, max(wanted.values()))]
            out += self._series(points, first, {n: wanted[n] - first for n in lengths}, longest)
        return out

    def _series(
        self, points: Sequence[Point], first: int, wanted: Mapping[int, int], longest: int
    ) -> list[str]:
        pieces = [self._contents(point, longest) for point in points]
        series = Series(
            len(points),
            [
                Buffer(name, b"".join(each[name][0] for each in pieces), writable)
                for name, (_, writable) in pieces[0].items()
            ],
            [Turn(min(count, len(points)), self._arguments(n)) for n, count in wanted.items()],
            self._abi,
        )
        out: list[str] = []
        results = self.emulator.call_series(self.image, self.function.symbol, series)
        for n, turn, result in zip(wanted, series.turns, results, strict=True):
            states = result.buffers["state"]
            for k, point in enumerate(points[: turn.calls]):
                got = states[BLOCK_BYTES * k : BLOCK_BYTES * (k + 1)]
                if k < result.done and got != (right := self._right(point, n)):
                    why = f"got {got.hex()}, expected {right.hex()}"
                    out.append(self._wrong(first + k, n, why))
            if not result.ok:
                # Repeat the call that ended the turn, or the last one, alone to get the reason in
                # words.
                k = min(result.done, turn.calls - 1)
                alone = self.guarded(points[k], [n], first + k)
                why = "does not return, or writes elsewhere, with other points around it"
                out += alone or [self._wrong(first + k, n, why)]
        return out

    @property
    def _abi(self) -> Literal["sysv", "win64"]:
        return "win64" if self.subject.abi == "win64" else "sysv"

    def _contents(self, point: Point, length: int) -> dict[str, tuple[bytes, bool]]:
        """Return each buffer's contents in a call, and whether it is written."""
        contents = {
            "table": (point.tables[0], False),
            "state": (point.x, True),
            "input": (point.data[:length], False),
            "addend": (point.y, False),
            "factor": (point.p, False),
        }
        return {name: contents[name] for name in self.function.parameters if name != "length"}

    def _arguments(self, length: int) -> tuple[int | str, ...]:
        function = self.function
        return tuple(length // function.unit if n == "length" else n for n in function.parameters)

    def _call(self, point: Point, length: int) -> Call:
        buffers = [
            Buffer(name, content, writable)
            for name, (content, writable) in self._contents(point, length).items()
        ]
        return Call(self._arguments(length), tuple(buffers), abi=self._abi)
