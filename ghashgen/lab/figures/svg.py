"""Shapes of a figure: SVG elements as text, and the document around them.

A figure has its own background, so that it is legible on any page. Its colours follow
`prefers-color-scheme`, which GitHub and browsers pass on to images. It is WIDTH wide, so that its
smallest text is legible on a phone. Every number is rounded: the same values give the same bytes.
"""

from collections.abc import Iterable, Mapping
from html import escape
from types import MappingProxyType

WIDTH = 520
"""Width of every figure in its own units; a phone shows it at two thirds."""

SMALL, NORMAL, LARGE = 13, 14, 15
"""Sizes of text."""

COLOURS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "ground": ("#ffffff", "#14181f"),
        "ink": ("#1a1d21", "#e6e9ee"),
        "muted": ("#545b65", "#a5aebb"),
        "line": ("#c9ced4", "#3d4652"),
        "blue": ("#0b5cad", "#6cb0ff"),
        "vermilion": ("#b04300", "#ff9b5e"),
        "green": ("#00705a", "#4fcfae"),
        "purple": ("#8a3b7a", "#e295d3"),
        "olive": ("#6b6100", "#d3c55a"),
        "pale-blue": ("#dbe9f8", "#17314f"),
        "pale-vermilion": ("#fbe3d5", "#4a2713"),
        "pale-green": ("#d5efe8", "#12382f"),
        "pale-grey": ("#eceef1", "#262d37"),
    }
)
"""The fill of each class in light and dark mode; colour-blind readers can distinguish them."""

_FONT = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif"
_MONO = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"


def number(value: float) -> str:
    """Return a number for SVG, to a tenth."""
    return f"{round(value, 1) + 0.0:g}"


def text(
    x: float,
    y: float,
    words: str,
    colour: str = "ink",
    anchor: str = "start",
    size: int = NORMAL,
    style: str = "",
) -> str:
    """Return words; `style` may be bold or mono."""
    classes = f"{colour} {style}".strip()
    return (
        f'<text class="{classes}" x="{number(x)}" y="{number(y)}" font-size="{size}" '
        f'text-anchor="{anchor}">{escape(words)}</text>'
    )


def rect(x: float, y: float, width: float, height: float, colour: str, radius: float = 0) -> str:
    """Return a filled rectangle."""
    rounded = f' rx="{number(radius)}"' if radius else ""
    return (
        f'<rect class="{colour}" x="{number(x)}" y="{number(y)}" width="{number(width)}" '
        f'height="{number(height)}"{rounded}/>'
    )


def box(
    x: float, y: float, width: float, height: float, words: str, colour: str, size: int = NORMAL
) -> str:
    """Return a rectangle of a pale colour with words in its middle."""
    return rect(x, y, width, height, colour, 4) + text(
        x + width / 2, y + height / 2 + size * 0.35, words, anchor="middle", size=size
    )


def path(
    points: Iterable[tuple[float, float]], colour: str, width: float = 1.5, dash: str = ""
) -> str:
    """Return an open line through points."""
    first, *rest = [f"{number(x)} {number(y)}" for x, y in points]
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<path class="stroke {colour}-line" stroke-width="{number(width)}"{dashed} '
        f'd="M{first}{"".join(f"L{point}" for point in rest)}"/>'
    )


def arrow(points: Iterable[tuple[float, float]]) -> str:
    """Return a line through points with a head at its end."""
    found = list(points)
    (x0, y0), (x1, y1) = found[-2:]
    along = (x1 > x0) - (x1 < x0), (y1 > y0) - (y1 < y0)
    across = along[1], along[0]
    head = [
        (x1 - 7 * along[0] + side * 4 * across[0], y1 - 7 * along[1] + side * 4 * across[1])
        for side in (1, -1)
    ]
    return path(found, "muted") + path([head[0], (x1, y1), head[1]], "muted")


def _rules(day: int) -> str:
    rules = [
        f".{name}{{fill:{pair[day]}}}.{name}-line{{stroke:{pair[day]}}}"
        for name, pair in COLOURS.items()
    ]
    return "".join(rules)


def document(title: str, height: float, parts: Iterable[str]) -> str:
    """Return a figure; `title` describes it in a sentence for readers who cannot see it."""
    body = "\n".join(parts)
    tall = number(height)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{tall}" \
viewBox="0 0 {WIDTH} {tall}" role="img">
<title>{escape(title)}</title>
<style>
text{{font-family:{_FONT}}}.mono{{font-family:{_MONO}}}.bold{{font-weight:600}}
.stroke{{fill:none;stroke-linejoin:round;stroke-linecap:round}}
{_rules(0)}
@media (prefers-color-scheme:dark){{{_rules(1)}}}
</style>
<rect class="ground" width="{WIDTH}" height="{tall}" rx="6"/>
{body}
</svg>
"""
