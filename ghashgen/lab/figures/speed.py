"""Cycles per byte by message size: the kernel to take, and the fastest function of each library.

Every point is a cell of a record in docs/bench. A peer's name begins with its library's; LIBRARIES
has the library's full name.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, log2
from types import MappingProxyType

from ghashgen.lab.figures.svg import LARGE, SMALL, WIDTH, document, path, rect, text
from ghashgen.lab.speeds.core import Speed
from ghashgen.lab.standing import Standing
from ghashgen.records.core import Results, size_name
from ghashgen.records.records import Record

LIBRARIES: Mapping[str, str] = MappingProxyType(
    {
        "boringssl": "BoringSSL",
        "ipsecmb": "Intel ipsec-mb",
        "openssl": "OpenSSL",
        "openssl4": "OpenSSL",
    }
)
"""Beginning of a peer's name -> its library."""

OURS = "ghashgen"
STYLES = (("vermilion", "5 3"), ("green", "2 3"), ("purple", "8 3 2 3"), ("olive", "1 4"))
"""Colour and dashes of the libraries, in the order of their names; ours is blue and solid."""

SHOWN = "speed.svg"
"""The file of README's chart: of the machine with the most CPU features."""

LEFT, RIGHT, TOP, HEIGHT = 56, 32, 58, 262
BELOW = 66


@dataclass(frozen=True)
class Curve:
    """One line: its name, and (size, cycles per byte), ascending by size."""

    name: str
    points: tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class Chart:
    """What is drawn."""

    title: str
    curves: tuple[Curve, ...]
    """Ours first."""
    ratios: tuple[tuple[int, float], ...]
    """By size, the best peer's time divided by our kernel's."""


def chart(speed: Speed, one: Standing, key: int) -> Chart:
    """Return a family's data of a record; with a key of so many bits, or 0."""
    results, mode = one.record.results, speed.mode
    sizes = [size for found, size in results.rows() if found == mode]
    both = [found for size in sizes if (found := one.pair(size, mode, key))]
    ours = Curve(OURS, tuple((p.kernel.size, p.kernel.per_byte) for p in both))
    theirs = _libraries(results, [p.kernel.size for p in both], mode, key)
    ratios = tuple((p.kernel.size, p.ratio) for p in both)
    what = speed.chart.format(key=key)
    return Chart(f"{what} on {one.record.title}", (ours, *theirs), ratios)


def file_of(speed: Speed, record: Record, key: int) -> str:
    """Return the file of a record's chart, likewise."""
    return f"{speed.file.format(key=key)}-{record.slug}.svg"


def _libraries(results: Results, sizes: Sequence[int], mode: str, key: int) -> Iterator[Curve]:
    found: dict[str, dict[int, float]] = {}
    for size in sizes:
        for cell in results.of_kind(("peer",), size, mode, key):
            prefix = cell.name.partition("_")[0]
            library = found.setdefault(LIBRARIES.get(prefix, prefix), {})
            library[size] = min(cell.per_byte, library.get(size, cell.per_byte))
    for name in sorted(found):
        yield Curve(name, tuple(sorted(found[name].items())))


def draw(shown: Chart) -> str:
    """Return the chart as SVG; both axes are logarithmic."""
    sizes = [size for size, _ in shown.ratios]
    values = [value for curve in shown.curves for _, value in curve.points]
    low, high = floor(log2(min(values)) * 2) / 2, ceil(log2(max(values)) * 2) / 2
    first, last = log2(sizes[0]), log2(sizes[-1])
    wide = WIDTH - LEFT - RIGHT - 14

    def x(size: float) -> float:
        return LEFT + 14 + wide * (log2(size) - first) / (last - first)

    def y(value: float) -> float:
        return TOP + HEIGHT * (high - log2(value)) / (high - low)

    parts = [
        text(14, 24, shown.title, size=LARGE, style="bold"),
        text(14, 44, "core cycles per byte, by message size; lower is faster; log scales", "muted",
             size=SMALL),
    ]  # fmt: skip
    for step in range(ceil(low), floor(high) + 1):
        parts.append(path([(LEFT, y(2**step)), (WIDTH - RIGHT, y(2**step))], "line", 1))
        parts.append(text(LEFT - 8, y(2**step) + 4.5, f"{2.0**step:g}", "muted", "end", size=SMALL))
    ends = [size for size in sizes if size.bit_count() == 1 and size.bit_length() % 4 == 1]
    below = TOP + HEIGHT
    parts += [text(x(s), below + 19, size_name(s), "muted", "middle", SMALL) for s in ends]
    ratio = dict(shown.ratios)
    parts += [
        text(x(s), below + 54, f"{ratio[s]:.2f}", "blue", "middle", SMALL, "bold") for s in ends
    ]
    parts.append(
        text(
            LEFT - 38,
            below + 37,
            "time of the fastest library, relative to ours:",
            "muted",
            size=SMALL,
        )
    )
    for number, curve in enumerate(shown.curves):
        parts += _line(curve, number, x, y)
    return document(
        f"{shown.title}: cycles of a byte over message sizes, ours beside other libraries'.",
        below + BELOW,
        parts,
    )


def _line(
    curve: Curve, number: int, x: Callable[[float], float], y: Callable[[float], float]
) -> Iterator[str]:
    colour, dash = ("blue", "") if number == 0 else STYLES[(number - 1) % len(STYLES)]
    width = 3 if number == 0 else 2
    yield path([(x(size), y(value)) for size, value in curve.points], colour, width, dash)
    at, down = WIDTH - RIGHT - 176, TOP + 16 + 21 * number
    yield rect(at - 8, down - 15, 188, 21, "ground")
    yield path([(at, down - 4), (at + 40, down - 4)], colour, width, dash)
    yield text(at + 50, down, curve.name, colour, style="bold" if number == 0 else "")
