"""Bursts of messages by port tables: the least cycles of one message in `seal_many`, `open_many`.

The emulator runs a burst and one twice as long, of equal messages. What the longer one executes in
addition is what its additional messages take, whatever loops they run through. So the bound is that
of the steady state, and says nothing about a burst's start and end.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.arch.decoder import Decoder
from ghashgen.arch.objects import read_object
from ghashgen.arch.registry import uarches
from ghashgen.cost.bound import Bound, histogram_bound
from ghashgen.cost.histogram import Histogram, histogram
from ghashgen.kernels.core import Point
from ghashgen.kernels.gcm.parts.records import IN_RECORDS, WORD_BYTES, WORDS
from ghashgen.lab.model.rows import LABEL, binds
from ghashgen.lab.standing import Standing
from ghashgen.records.core import BURST, SEAL_BURSTS
from ghashgen.records.cpus import CORES, core_of
from ghashgen.records.goals import Book
from ghashgen.run.arguments import Memory
from ghashgen.run.built import Built
from ghashgen.run.emulate import CallResult, Emulator
from ghashgen.run.emulate.calls import call_of
from ghashgen.run.emulate.image import Image
from ghashgen.run.emulate.outcome import decode_run
from ghashgen.support.errors import GhashgenError

FUNCTIONS = dict(zip(("seal_many", "open_many"), SEAL_BURSTS, strict=True))
"""The functions, and the modes that measure them."""

IV_BYTES = AAD_BYTES = 12
"""As `bench` measures."""

_BUDGET = 10_000_000


@dataclass(frozen=True)
class Work:
    """What BURST messages of one length execute in a kernel."""

    name: str
    key: int
    """AES key size in bits."""
    mode: str
    size: int
    """Bytes of text."""
    features: tuple[str, ...]
    body: Histogram


@dataclass(frozen=True)
class Burst:
    """A message of a burst on a microarchitecture."""

    work: Work
    bound: Bound
    binds: str
    goal: float | None
    """The goal on this core, in cycles."""
    measured: float | None
    """The cycles of a record of this core."""

    @property
    def cycles(self) -> float:
        """The bound, for one message."""
        return self.bound.cycles / BURST

    def as_json(self) -> dict[str, Any]:
        """Return the figures; cycles of one message."""
        return {
            "is": LABEL,
            "kernel": self.work.name,
            "key": self.work.key,
            "mode": self.work.mode,
            "bytes": self.work.size,
            "bound": self.cycles,
            "bound_by": self.binds,
            "goal": self.goal,
            "measured": self.measured,
            "no_data": list(self.bound.no_data),
        }


def works(
    built: Sequence[Built[Point]],
    sizes: Sequence[int],
    on_done: Callable[[object], None] = lambda item: None,
) -> tuple[Work, ...]:
    """Return what a message takes in kernels that process many, for each size in bytes.

    Raises:
        GhashgenError: the emulator is missing, or the code faults in it.
    """
    out: list[Work] = []
    with Emulator() as emulator:
        for item in built:
            image, code = emulator.load(item.obj), read_object(item.obj.read_bytes())
            own = (i for name in FUNCTIONS for i in code.function(f"{item.symbol}_{name}"))
            key, needs = 8 * item.key_bytes, code.decoder.needs(own)
            for size in sizes:
                for function, body in _bodies(emulator, image, item, size).items():
                    out.append(Work(item.name, key, FUNCTIONS[function], size, needs, body))
            on_done(item)
    return tuple(out)


def _bodies(
    emulator: Emulator, image: Image, item: Built[Point], size: int
) -> dict[str, Histogram]:
    """Return by function what BURST more messages execute."""
    decoder = item.kernel.instruction_set.arch.decoder
    text, tag, out = b"\x5a" * size, bytes(BLOCK_BYTES), {}
    for function in FUNCTIONS:
        ran = [_run(emulator, image, item, function, count, text, tag) for count in (1, 2)]
        counts = [_executed(decoder, image, one) for one in ran]
        out[function] = Histogram(*map(_minus, *((c.forms, c.pairs) for c in reversed(counts))))
        # What was sealed is opened next: under the same garbage for a context.
        text, tag = ran[0].buffers.get("out", b""), ran[0].buffers.get("tag", b"")
    return out


def _run(
    emulator: Emulator,
    image: Image,
    item: Built[Point],
    function: str,
    bursts: int,
    text: bytes,
    tag: bytes,
) -> CallResult:
    """Call a function for a number of bursts, whose messages are equal and share their buffers."""
    buffers = {
        "iv": Memory("iv", bytes(IV_BYTES), False, 0),
        "aad": Memory("aad", bytes(AAD_BYTES), False, 0),
        "in": Memory("in", text, False, 0),
        "out": Memory("out", len(text), True, 0),
        "tag": Memory("tag", tag, True, 0),
    }
    words = {"len": len(text), "aad_len": AAD_BYTES, "iv_len": IV_BYTES, "tag_len": BLOCK_BYTES}
    record = b"".join(words.get(word, 0).to_bytes(WORD_BYTES, "little") for word in WORDS)
    count = bursts * BURST
    pointers = tuple(
        (at * len(record) + WORD_BYTES * WORDS.index(word), memory)
        for at in range(count)
        for word, memory in buffers.items()
    )
    given = item.arguments(function, {"ctx": item.table_bytes, IN_RECORDS: record * count})
    given = tuple(
        replace(x, pointers=pointers) if isinstance(x, Memory) and x.name == IN_RECORDS else x
        for x in given
    )
    call = replace(call_of(given, "sysv"), budget=_BUDGET)
    [result] = emulator.call_many(image, f"{item.symbol}_{function}", [call])
    if not result.outcome.ok:
        cause = f"{item.name} fails in the emulator: {result.outcome}"
        raise GhashgenError(cause, "run ghashgen validate for this kernel")
    return result


def _executed(decoder: Decoder, image: Image, result: CallResult) -> Histogram:
    forms: Counter[str] = Counter()
    pairs: Counter[tuple[str, str]] = Counter()
    for start, last, times in result.runs:
        run = histogram(decoder, decode_run(image, start, last))
        for total, own in ((forms, run.forms), (pairs, run.pairs)):
            total.update({what: times * number for what, number in own.items()})  # type: ignore
    return Histogram(forms, pairs)


def _minus(more: Mapping[Any, int], less: Mapping[Any, int]) -> Mapping[Any, int]:
    return {
        what: n - less.get(what, 0) for what, n in sorted(more.items()) if n > less.get(what, 0)
    }


def bursts(
    found: Sequence[Work], goals: Book, standings: Sequence[Standing]
) -> dict[str, tuple[Burst, ...]]:
    """Return, by microarchitecture, the kernel with the lowest bounds for each key and length."""
    titles = {core.uarch: core.title for core in CORES if core.uarch}
    out: dict[str, tuple[Burst, ...]] = {}
    for name, uarch in uarches().items():
        kernels: dict[tuple[int, int], dict[str, list[Burst]]] = {}
        for work in found:
            if uarch.without(work.features):
                continue
            bound = histogram_bound(work.body, uarch)
            goal = _goal(goals, titles.get(name, ""), work)
            measured = min(_measured(standings, name, work), default=None)
            own = kernels.setdefault((work.key, work.size), {}).setdefault(work.name, [])
            own.append(Burst(work, bound, binds(bound, uarch), goal, measured))
        lowest = [min(each.values(), key=_together) for each in kernels.values()]
        if lowest:
            out[name] = tuple(sorted((one for both in lowest for one in both), key=_place))
    return out


def _together(both: Sequence[Burst]) -> tuple[float, str]:
    """Return the bounds of a kernel's functions in all, and its name for those alike."""
    return sum(one.cycles for one in both), both[0].work.name


def _place(one: Burst) -> tuple[int, int, int]:
    return one.work.key, SEAL_BURSTS.index(one.work.mode), one.work.size


def _goal(goals: Book, core: str, work: Work) -> float | None:
    wanted = (work.key, work.mode, work.size)
    found = [
        goal.cycles
        for kind in goals.kinds
        if kind.core == core
        for goal in kind.each
        if (goal.key, goal.mode, goal.size) == wanted and goal.cycles is not None
    ]
    return found[0] if found else None


def _measured(standings: Sequence[Standing], uarch: str, work: Work) -> Iterator[float]:
    for one in standings:
        core = core_of(one.record.results.machine.cpu)
        cell = one.record.results.cell(work.name, work.size, work.mode)
        if core is not None and core.uarch == uarch and cell is not None:
            yield cell.cycles
