"""A stitched loop on its ports: one turn in the model of a core, with a cell for every uop.

The loop is a kernel's own, decoded from its assembled bytes. Ports, uops and latencies come from
the core's table (`arch/x86_64/uarch/`), and `cost.simulate` says when each uop runs. This is a
model, not a measurement.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ghashgen.arch.objects import read_object
from ghashgen.arch.registry import uarches
from ghashgen.arch.uarch import Uarch
from ghashgen.cost.audit import loop
from ghashgen.cost.decoded import work_of
from ghashgen.cost.simulate import Slots, Work, least, simulate, turns_for
from ghashgen.kernels.core import Point
from ghashgen.kernels.families import loop_of
from ghashgen.kernels.target import target
from ghashgen.lab.figures.svg import LARGE, SMALL, WIDTH, document, rect, text
from ghashgen.support.toolchain import assemble_text, find_assembler

KERNEL, CORE = "gcm128_avx512_winograd_clmul1_x32", "zen5"
"""The kernel and the core in the figure."""

KINDS = (("aes", "blue", "AES rounds"), ("clmul", "vermilion", "carry-less products"))
"""Part of a mnemonic, the colour of its uops, and their name in the figure."""
REST = ("olive", "everything else")

LEFT, TOP, TALL = 74, 86, 15


@dataclass(frozen=True)
class Uop:
    """Where one uop runs."""

    port: str
    cycle: int
    """Counted from the turn's first cycle."""
    form: str


@dataclass(frozen=True)
class Turn:
    """One turn of a loop in the steady state."""

    cycles: float
    """Cycles of a turn in the model."""
    least: float
    """Minimum by ports and front end, whatever the order."""
    uops: tuple[Uop, ...]


def body_of(kernel: Point, source: str) -> list[object]:
    """Return the instructions of a kernel's loop, from the text of its file."""
    where = target()
    data = assemble_text(
        find_assembler(where.syntax.assembler), kernel.name, source, where.fmt.name
    )
    return loop(read_object(data), f"{kernel.name}_{loop_of(kernel)}")


def turn(body: Sequence[object], uarch: Uarch) -> Turn:
    """Return a turn in the middle of many, as the model runs it."""
    found: list[Uop] = []

    def watch(item: Work, slots: Slots) -> None:
        found.extend(Uop(port, cycle, item.form) for port, cycle in slots)

    work = work_of(body, uarch)
    turns = turns_for(len(work))
    ends = simulate(work, uarch, turns, uarch.window, watch)
    half = turns // 2
    cycles = (ends[-1] - ends[half - 1]) / (turns - half)
    # By then the window is full, and no turn is missing behind it.
    first = ends[half - 1] - uarch.window // uarch.issue
    shown = [
        Uop(uop.port, uop.cycle - first, uop.form)
        for uop in found
        if first <= uop.cycle < first + round(cycles)
    ]
    return Turn(cycles, least(work, uarch), tuple(shown))


def colour(form: str) -> str:
    """Return the colour of an instruction's uops."""
    return next((shade for word, shade, _ in KINDS if word in form), REST[0])


def draw(kernel: Point, source: str) -> str:
    """Return the figure of a kernel's loop, from the text of its file."""
    uarch = uarches()[CORE]
    shown = turn(body_of(kernel, source), uarch)
    ports = [port for port in uarch.ports if any(uop.port == port for uop in shown.uops)]
    return document(
        f"One turn of the loop of {kernel.name} on the ports of {uarch.title}: AES rounds and "
        "carry-less products run side by side. A model, no measurement.",
        TOP + len(ports) * TALL + 66,
        _parts(kernel, uarch, shown, ports),
    )


def _parts(kernel: Point, uarch: Uarch, shown: Turn, ports: Sequence[str]) -> Iterator[str]:
    cycles = round(shown.cycles)
    wide = (WIDTH - LEFT - 14) / cycles
    yield text(14, 26, f"AES and GHASH in one loop, on the ports of {uarch.title}", size=LARGE,
               style="bold")  # fmt: skip
    yield text(14, 46, f"{kernel.name}: a turn takes {kernel.blocks} blocks", "muted", size=SMALL)
    yield text(14, 64, "A column is a cycle, a cell a uop. A model, not a measurement.", "muted",
               size=SMALL)  # fmt: skip
    for row, port in enumerate(ports):
        y = TOP + row * TALL
        yield text(LEFT - 8, y + 12, port, "muted", "end", SMALL)
        yield rect(LEFT, y + 1, cycles * wide, TALL - 2, "pale-grey")
        for uop in sorted(shown.uops, key=lambda uop: (uop.cycle, uop.form)):
            if uop.port == port:
                yield rect(LEFT + uop.cycle * wide, y + 1, wide - 0.6, TALL - 2, colour(uop.form))
    below = TOP + len(ports) * TALL
    yield text(
        LEFT, below + 20,
        f"{cycles} cycles a turn; ports and issue alone need {shown.least:.0f}", "ink", size=SMALL,
    )  # fmt: skip
    x = float(LEFT)
    for shade, words in (*((shade, words) for _, shade, words in KINDS), REST):
        yield rect(x, below + 34, 12, 12, shade)
        yield text(x + 18, below + 45, words, size=SMALL)
        x += 34 + 8 * len(words)
