"""Runs subjects at random points: in the harness, or in the emulator."""

import json
import struct
from collections.abc import Iterable, Sequence
from queue import Queue
from typing import Literal

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.check.sampled import points
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
from ghashgen.run.emulate import Buffer, Call, Emulator
from ghashgen.run.emulate.image import load_object
from ghashgen.run.harness import Harness
from ghashgen.support.errors import GhashgenError

EMULATED_POINTS = 8
"""Points at every length where a kernel is emulated: a call takes 10,000 times as long."""

_MOST = 2**32 - 1

_KINDS = {name: number for number, name in enumerate((*points.LINEAR, "R", "0", "-"))}


def _job(
    subjects: Sequence[Subject],
    plans: Sequence[Plan] | None,
    seed: str,
    dumped: int,
    bits: int = BITS,
) -> bytes:
    """Return a job of harness/sampled.c; without plans nothing is run, and points are only made."""
    first = subjects[0]
    s = first.structure
    bound, top = max(x.bound for x in subjects), max(x.top for x in subjects)
    head = [int(first.op == "polyval"), s.blocks, s.lanes, len(s.rest), *s.rest]
    head += [top, bound, dumped, 0, len(subjects)]
    parts = [b"GHP1", points.seed(seed), _numbers(head), points.images(first.order, first.op)]
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
    return struct.pack(f"<{len(values)}I", *(min(v, _MOST) for v in values))


def _point(line: str) -> Point:
    body = json.loads(line)
    tables = tuple(bytes.fromhex(text) for text in body.pop("tables"))
    data = {name: bytes.fromhex(text) for name, text in body.items()}

    def blocks(name: str) -> tuple[bytes, ...]:
        text = data.pop(name)
        return tuple(text[i : i + BLOCK_BYTES] for i in range(0, len(text), BLOCK_BYTES))

    return Point(powers=blocks("powers"), update=blocks("update"), tables=tables, **data)


def _telling(structure: Structure) -> list[int]:
    """Return the lengths at which the harness's answers are held against the field."""
    group = BLOCK_BYTES * structure.blocks
    around = [at + by for at in (16, group, 2 * group) for by in (-1, 0, 1)]
    return sorted({0, 1, *around, group + 40, structure.longest} - {-1})


def draw(harness: Harness, subjects: Sequence[Subject], count: int, seed: str) -> list[Point]:
    """Return points for subjects of one op, order and structure, held against the field.

    Raises:
        GhashgenError: the harness and the field disagree.
    """
    lines = harness.sampled(_job(subjects, None, seed, count))
    drawn = [_point(line) for line in lines]
    if len(drawn) != count:
        raise GhashgenError(f"{len(drawn)} points were made, not {count}", "this is a fault here")
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
    """Run subjects of one op, order and structure, which the harness holds by their names.

    Raises:
        GhashgenError: the harness cannot run them, or disagrees with the field.
    """
    first, *lines = harness.sampled(_job(subjects, plans, seed, 1, bits))
    _hold([_point(first)], subjects)
    answers = [json.loads(line) for line in lines]
    if [answer["kernel"] for answer in answers] != [subject.name for subject in subjects]:
        raise GhashgenError("the harness ran other kernels than asked", "this is a fault here")
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


def emulated(
    harness: Harness,
    free: "Queue[Emulator]",
    subject: Subject,
    p: Plan,
    seed: str = SEED,
    count: int = EMULATED_POINTS,
) -> Sampled:
    """Run a subject in an emulator of `free`, at so many points for each length.

    Raises:
        GhashgenError: the harness disagrees with the field.
    """
    drawn = draw(harness, [subject], count, seed)
    image = load_object(subject.obj)
    failures: list[str] = []
    calls = 0
    emulator = free.get()
    try:
        for name, function in subject.functions.items():
            lengths = list(p.update) if name == "update" else [0]
            asked = [(number, n) for number in range(count) for n in lengths]
            answers = emulator.call_many(
                image, function.symbol, [_call(subject, function, drawn[k], n) for k, n in asked]
            )
            for (number, n), answer in zip(asked, answers, strict=True):
                calls += 1
                point = drawn[number]
                right = point.update[n] if name == "update" else getattr(point, name)
                what = f"update of {n} bytes" if name == "update" else name
                if not answer.outcome.ok:
                    failures.append(f"{what}, point {number}: {answer.outcome.text}")
                elif answer.buffers["state"] != right:
                    got = answer.buffers["state"].hex()
                    failures.append(f"{what}, point {number}: got {got}, expected {right.hex()}")
    finally:
        free.put(emulator)
    bits, weakest = least_bits(p, lambda degree: count)
    return Sampled(subject.name, "emulated", calls, bits, weakest, p.highest, tuple(failures))


def _call(subject: Subject, function: Function, point: Point, length: int) -> Call:
    contents = {
        "table": Buffer("table", point.tables[0]),
        "state": Buffer("state", point.x, writable=True),
        "input": Buffer("input", point.data[:length]),
        "addend": Buffer("addend", point.y),
        "factor": Buffer("factor", point.p),
    }
    used = [name for name in function.parameters if name != "length"]
    abi: Literal["sysv", "win64"] = "win64" if subject.abi == "win64" else "sysv"
    return Call(
        tuple(length // function.unit if n == "length" else n for n in function.parameters),
        tuple(contents[name] for name in used),
        abi=abi,
    )
