"""weave: interleaves the streams of a region, each spread evenly over it.

A builder records independent computations one after another, such as the AES rounds of one group
and GHASH of another, and names them (`ir.program.Stream`). Operation i of n in a stream, as
recorded or in an order that needs few registers (`lean`), goes to (i + 1/2)/n of the stream's part
of the region. Operations outside streams keep their relative places. So at any point, only the
streams' own registers at that point are live. If an operation must wait for one of another stream,
the ones behind it wait too.
"""

import heapq
import itertools
from dataclasses import replace

from ghashgen.compiler.liveness import liveness
from ghashgen.compiler.schedule.abstract import abstract
from ghashgen.compiler.schedule.graph import Graph, region_graph
from ghashgen.compiler.schedule.lean import lean
from ghashgen.compiler.schedule.regions import all_regions, reorder
from ghashgen.compiler.schedule.replay import replay
from ghashgen.ir.program import CODES, Program, Stream


def numbered(program: Program) -> Program:
    """Return the program with each operation's position as its `origin`, for the replay."""
    count = itertools.count()
    return replace(
        program,
        blocks=tuple(
            replace(block, ops=tuple(replace(op, origin=next(count)) for op in block.ops))
            for block in program.blocks
        ),
    )


def weave(program: Program, lanes: int) -> Program:
    """Return an abstract program with the streams of every region interleaved and `numbered`;
    unchanged if it has none.
    """
    if not any(op.stream for op in program.ops):
        return program
    program, machine = numbered(program), abstract(lanes)
    live = liveness(program, CODES)
    blocks = list(program.blocks)
    for region in all_regions(program, machine):
        ties = region_graph(program, region, machine, live)
        if len({op.stream for op in ties.ops} - {None}) > 1:
            blocks[region.block] = reorder(blocks[region.block], region, woven(ties))
    return replace(program, blocks=tuple(blocks))


def rewoven(before: Program, after: Program, lanes: int) -> None:
    """Verify by replay that `weave` changed only the order.

    Raises:
        ScheduleError: it changed more.
    """
    if after is not before:
        replay(numbered(before), after, abstract(lanes))


def places(ties: Graph) -> list[float]:
    """Return the wanted place of each operation of a region, from 0 to 1."""
    streams: dict[Stream | None, list[int]] = {}
    for i, op in enumerate(ties.ops):
        streams.setdefault(op.stream, []).append(i)
    others = streams.pop(None, [])
    out = [0.0] * len(ties.ops)
    for stream, members in streams.items():
        assert stream is not None
        for at, i in enumerate(lean(ties, members) if stream.lean else members):
            out[i] = stream.start + (stream.end - stream.start) * (at + 0.5) / len(members)
    total = len(ties.ops) - len(others)
    for before, i in enumerate(others):
        out[i] = (i - before) / total
    return out


def woven(ties: Graph) -> tuple[int, ...]:
    """Return the order: of the operations that can be placed, always the one with the first
    place.
    """
    place = places(ties)
    missing = [len(found) for found in ties.before]
    after: list[list[int]] = [[] for _ in ties.ops]
    for i, found in enumerate(ties.before):
        for j in sorted(found):
            after[j].append(i)
    ready = [(place[i], i) for i, count in enumerate(missing) if not count]
    heapq.heapify(ready)
    order = []
    while ready:
        _, i = heapq.heappop(ready)
        order.append(i)
        for j in after[i]:
            missing[j] -= 1
            if not missing[j]:
                heapq.heappush(ready, (place[j], j))
    return tuple(order)
